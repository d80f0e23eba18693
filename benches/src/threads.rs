//! Effect of more worker threads on a machine that load generator and server share.
//!
//! The same closed loop with one thread and with several, in turns and in alternating order, so
//! that changes of the machine affect both.

use std::fs;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use testbed::RealServer;
use testbed::real::Recipe;

use crate::cost::{interval, ratios};
use crate::load::{self, Prestan};
use crate::machine::BenchMachine;
use crate::numbers::Median;
use crate::server::FILE_BYTES;
use crate::table::BenchTable;
use crate::{BenchReport, BenchSize};

const SERVERS: [&str; 2] = ["nginx", "apache"];
const USERS: u32 = 64;

/// All results.
#[derive(Debug, Serialize, Deserialize)]
pub struct ThreadsReport {
    machine: BenchMachine,
    /// Number of threads compared with one.
    threads: u32,
    /// Pairs of runs.
    rounds: usize,
    servers: Vec<ThreadsTrial>,
}

/// A server under load from one thread and from several.
#[derive(Debug, Serialize, Deserialize)]
struct ThreadsTrial {
    server: String,
    /// Requests per second with several threads, relative to one.
    throughput: Median,
    /// p99 of the total time, the same way.
    p99: Median,
    /// Runs that were inconclusive with one thread, and with several.
    inconclusive: (usize, usize),
}

/// Result of one run.
#[derive(Debug, Clone, Copy, PartialEq)]
struct ThreadsRun {
    per_second: f64,
    p99: f64,
    is_inconclusive: bool,
}

/// Measures with one thread and with as many as there are processors.
pub fn run(prestan: &Prestan, size: BenchSize) -> Result<ThreadsReport> {
    let (rounds, seconds) = size.of((20, 2), (3, 1));
    let threads = std::thread::available_parallelism().context("count the processors")?;
    let threads = u32::try_from(threads.get()).unwrap_or(u32::MAX).max(2);
    let mut machine = BenchMachine::this();
    let trials = SERVERS.map(|name| trial(prestan, name, threads, (rounds, seconds), &mut machine));
    Ok(ThreadsReport {
        servers: trials.into_iter().collect::<Result<_>>()?,
        machine,
        threads,
        rounds,
    })
}

fn trial(
    prestan: &Prestan,
    name: &str,
    threads: u32,
    (rounds, seconds): (usize, u32),
    machine: &mut BenchMachine,
) -> Result<ThreadsTrial> {
    eprintln!("threads: {name}");
    let recipe = Recipe::named(name).with_context(|| format!("no recipe {name}"))?;
    let server = RealServer::start(recipe)?;
    machine.add(&format!("{name} {}", server.installed().version));
    let file = server.storage().join("1k.bin");
    fs::write(&file, [b'x'; FILE_BYTES]).with_context(|| format!("write {}", file.display()))?;
    let url = format!("{}1k.bin", server.url());
    let measure = |threads| outcome(prestan, &url, threads, seconds);
    let (mut one, mut several) = (Vec::new(), Vec::new());
    for round in 0..rounds {
        if round % 2 == 0 {
            one.push(measure(1)?);
            several.push(measure(threads)?);
        } else {
            several.push(measure(threads)?);
            one.push(measure(1)?);
        }
    }
    ThreadsTrial::of(name, &one, &several).context("no rounds")
}

fn outcome(prestan: &Prestan, url: &str, threads: u32, seconds: u32) -> Result<ThreadsRun> {
    let mut command = prestan.command();
    command
        .args(["load", "GET", url, "--quiet", "--clock", "user"])
        .args(["--users", &USERS.to_string()])
        .args(["--threads", &threads.to_string()])
        .args(["--duration", &format!("{seconds}s")])
        .args(["--no-save", "--json", "-"]);
    let stdout = load::run(&mut command)?.stdout;
    let document: Value = serde_json::from_str(&stdout).context("read prestan's JSON document")?;
    ThreadsRun::of(&document).context("prestan's JSON document has no throughput")
}

impl ThreadsRun {
    fn of(document: &Value) -> Option<ThreadsRun> {
        let row = &document["tests"][0];
        Some(ThreadsRun {
            per_second: row["per_second"].as_f64()?,
            p99: row["total_us"]["p99"].as_f64()?,
            is_inconclusive: document["conclusion"] == "inconclusive",
        })
    }
}

impl ThreadsTrial {
    fn of(server: &str, one: &[ThreadsRun], several: &[ThreadsRun]) -> Option<ThreadsTrial> {
        let ratio = |figure: fn(&ThreadsRun) -> f64| {
            let figures = |runs: &[ThreadsRun]| runs.iter().map(figure).collect::<Vec<_>>();
            Median::of(&ratios(&figures(several), &figures(one)))
        };
        let inconclusive =
            |measured: &[ThreadsRun]| measured.iter().filter(|run| run.is_inconclusive).count();
        Some(ThreadsTrial {
            server: server.to_owned(),
            throughput: ratio(|run| run.per_second)?,
            p99: ratio(|run| run.p99)?,
            inconclusive: (inconclusive(one), inconclusive(several)),
        })
    }
}

impl BenchReport for ThreadsReport {
    fn machine(&self) -> &BenchMachine {
        &self.machine
    }

    fn tables(&self) -> Vec<BenchTable> {
        let title = format!(
            "{} worker threads of the load generator beside one, on the machine of the server ({USERS} users, GET of \
             1 KiB, {} pairs of runs; median of the ratios, with the 95 % interval of the sign test in brackets)",
            self.threads, self.rounds
        );
        let heads = [
            "server",
            "requests/s",
            "p99",
            "inconclusive with one",
            "with several",
        ];
        let mut table = BenchTable::new(&title, &heads);
        for trial in &self.servers {
            let (one, several) = trial.inconclusive;
            table.row(vec![
                trial.server.clone(),
                interval(trial.throughput),
                interval(trial.p99),
                format!("{one} of {}", self.rounds),
                format!("{several} of {}", self.rounds),
            ]);
        }
        vec![table]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_compared_in_pairs() {
        let run = |per_second: f64, verdict: &str| {
            let row = serde_json::json!({"per_second": per_second, "total_us": {"p99": 2.0}});
            ThreadsRun::of(&serde_json::json!({"conclusion": verdict, "tests": [row]})).unwrap()
        };
        let one = [run(100.0, "inconclusive"), run(10.0, "conclusive")];
        let several = [run(200.0, "conclusive"), run(20.0, "conclusive")];
        let trial = ThreadsTrial::of("nginx", &one, &several).unwrap();
        assert_eq!((trial.throughput.low, trial.throughput.high), (2.0, 2.0));
        assert_eq!((trial.p99.value, trial.inconclusive), (1.0, (1, 0)));
        assert_eq!(ThreadsRun::of(&serde_json::json!({"tests": []})), None);
        let report = ThreadsReport {
            machine: BenchMachine::this(),
            threads: 2,
            rounds: 2,
            servers: vec![trial],
        };
        let table = report.tables()[0].to_string();
        assert!(
            table.contains("2.00 [2.00, 2.00]") && table.contains("1 of 2"),
            "{table}"
        );
    }
}
