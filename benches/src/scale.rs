//! Cost of many users in processor time and memory, and accuracy of a schedule.

use std::process::Command;

use anyhow::{Context, Result, bail};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::BenchReport;
use crate::child::{self, FinishedChild};
use crate::comparison::Attainment;
use crate::load::{self, Prestan, RequestedClock};
use crate::machine::BenchMachine;
use crate::numbers::Median;
use crate::server::BenchServer;
use crate::table::{BenchTable, micros};

/// Open files of ten thousand connections, with a reserve, here and at the server.
const FILES: u64 = 16 * 1024;

/// Requests a second of the schedule.
const RATE: u32 = 10_000;

/// Connections of the schedule.
const CONNECTIONS: u32 = 64;

const KIB: f64 = 1024.0;
const MIB: f64 = 1024.0 * KIB;

/// Size of the benchmark.
#[derive(Debug, Clone, Copy)]
pub struct ScaleSize {
    users: &'static [u32],
    requests: u64,
    rounds: usize,
    seconds: u32,
}

impl ScaleSize {
    /// The size for the documents.
    pub const FULL: ScaleSize = ScaleSize {
        users: &[1, 10, 100, 1000, 10_000],
        requests: 150_000,
        rounds: 3,
        seconds: 10,
    };

    /// A short version.
    pub const QUICK: ScaleSize = ScaleSize {
        users: &[1, 100, 1000],
        requests: 20_000,
        rounds: 1,
        seconds: 2,
    };
}

/// All results.
#[derive(Debug, Serialize, Deserialize)]
pub struct ScaleReport {
    machine: BenchMachine,
    /// Requests of each run with users.
    requests: u64,
    /// Users, few to many.
    users: Vec<ClosedLoop>,
    schedule: OpenLoop,
    /// Ten million operations, if requested.
    long: Option<Long>,
}

/// A number of users.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct ClosedLoop {
    users: u32,
    /// Processor time per request in microseconds, without the cost of connecting.
    cpu: Median,
    /// The same including it.
    cpu_gross: Median,
    /// Peak memory in bytes.
    peak: Median,
}

/// An open loop.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct OpenLoop {
    /// Planned operations per second.
    rate: u32,
    seconds: u32,
    /// Lateness in microseconds.
    p50: f64,
    p99: f64,
}

/// A long run.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Long {
    requests: u64,
    /// Peak memory in bytes.
    peak: u64,
    seconds: f64,
}

/// Measures everything; with `long` also that many operations in one run.
pub fn run(prestan: &Prestan, size: ScaleSize, long: Option<u64>) -> Result<ScaleReport> {
    raise_open_files()?;
    let nginx = BenchServer::nginx()?;
    let mut machine = BenchMachine::this();
    machine.add(&nginx.version());
    let users = size.users.iter().map(|&users| {
        eprintln!("scale: {users} users");
        measure(prestan, &nginx, users, size)
    });
    let users = users.collect::<Result<_>>()?;
    let schedule = schedule(prestan, nginx.file_url(), size.seconds)?;
    let long = long.map(|requests| {
        eprintln!("scale: {requests} operations");
        let finished = closed(prestan, &nginx, CONNECTIONS, requests)?;
        Ok::<_, anyhow::Error>(Long {
            requests,
            peak: finished.peak_bytes,
            seconds: finished.wall.as_secs_f64(),
        })
    });
    Ok(ScaleReport {
        machine,
        requests: size.requests,
        users,
        schedule,
        long: long.transpose()?,
    })
}

fn measure(
    prestan: &Prestan,
    nginx: &BenchServer,
    users: u32,
    size: ScaleSize,
) -> Result<ClosedLoop> {
    let mut cpu = Vec::new();
    let mut cpu_gross = Vec::new();
    let mut peak = Vec::new();
    for _ in 0..size.rounds {
        // One request per user is the cost of connecting, starting and ending.
        let few = u64::from(users);
        let without = closed(prestan, nginx, users, few)?.cpu.as_secs_f64() * 1e6;
        let finished = closed(prestan, nginx, users, size.requests)?;
        let all = finished.cpu.as_secs_f64() * 1e6;
        cpu.push((all - without) / (size.requests - few) as f64);
        cpu_gross.push(all / size.requests as f64);
        peak.push(finished.peak_bytes as f64);
    }
    let median = |values: &[f64]| Median::of(values).context("no rounds");
    Ok(ClosedLoop {
        users,
        cpu: median(&cpu)?,
        cpu_gross: median(&cpu_gross)?,
        peak: median(&peak)?,
    })
}

fn closed(
    prestan: &Prestan,
    nginx: &BenchServer,
    users: u32,
    requests: u64,
) -> Result<FinishedChild> {
    let save = tempfile::tempdir()?;
    let closed = nginx.get(users, requests, RequestedClock::User);
    let mut command = prestan.closed(closed, &save.path().join("run"));
    let finished = load::run(command.args(["--threads", "1"]))?;
    // The peak memory of a child includes that of its parent at the start (`exec_mmap` in the
    // kernel).
    let ours = child::run(&mut Command::new("true"))?.peak_bytes;
    if finished.peak_bytes <= ours {
        bail!(
            "prestan's peak of {} bytes cannot be told from that of this program",
            finished.peak_bytes
        );
    }
    Ok(finished)
}

fn schedule(prestan: &Prestan, url: &str, seconds: u32) -> Result<OpenLoop> {
    let mut command = prestan.open(url, RATE, CONNECTIONS, seconds);
    let stdout = load::run(&mut command)?.stdout;
    let document: Value = serde_json::from_str(&stdout).context("read prestan's JSON document")?;
    let (p50, p99) = lateness(&document)
        .context("prestan's JSON document has no lateness in its generator block")?;
    Ok(OpenLoop {
        rate: RATE,
        seconds,
        p50,
        p99,
    })
}

/// Median and 99th percentile of the lateness of operations, in microseconds.
fn lateness(document: &Value) -> Option<(f64, f64)> {
    let lateness = &document["generator"][0]["lateness_us"];
    Some((lateness["p50"].as_f64()?, lateness["p99"].as_f64()?))
}

fn raise_open_files() -> Result<()> {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current.is_none_or(|current| current >= FILES) {
        return Ok(());
    }
    let raised = Rlimit {
        current: Some(FILES),
        maximum: maximum.map(|maximum| maximum.max(FILES)),
    };
    setrlimit(Resource::Nofile, raised)
        .with_context(|| format!("allow {FILES} open files (`ulimit -n` says {current:?})"))
}

impl BenchReport for ScaleReport {
    fn machine(&self) -> &BenchMachine {
        &self.machine
    }

    fn tables(&self) -> Vec<BenchTable> {
        let mut wanted = BenchTable::new(
            "Scale, wanted and measured",
            &["", "measured", "wanted", ""],
        );
        for (what, measured, bound, verdict) in self.wanted() {
            wanted.row(vec![what, measured, bound, verdict.name().to_owned()]);
        }
        vec![self.by_users(), wanted]
    }
}

impl ScaleReport {
    fn by_users(&self) -> BenchTable {
        let title = format!(
            "Users, {} requests of 1 KiB in all, user clock, one thread",
            self.requests
        );
        let heads = [
            "users",
            "µs a request",
            "with connecting",
            "peak MiB",
            "KiB a user",
        ];
        let mut table = BenchTable::new(&title, &heads);
        for users in &self.users {
            table.row(vec![
                users.users.to_string(),
                micros(users.cpu.value),
                micros(users.cpu_gross.value),
                format!("{:.1}", users.peak.value / MIB),
                self.kib_a_user(users)
                    .map_or_else(String::new, |kib| format!("{kib:.1}")),
            ]);
        }
        table
    }

    /// Memory that each user adds to a run with one user. A few users add less than the difference
    /// between runs.
    fn kib_a_user(&self, users: &ClosedLoop) -> Option<f64> {
        let one = self.with(1).filter(|_| users.users >= 100)?;
        let more = users.peak.value - one.peak.value;
        Some(more / f64::from(users.users) / KIB)
    }

    fn with(&self, users: u32) -> Option<&ClosedLoop> {
        self.users.iter().find(|one| one.users == users)
    }

    /// Name, measured value, bound, result.
    fn wanted(&self) -> Vec<(String, String, String, Attainment)> {
        let mut wanted = Vec::new();
        let mut add = |what: String, value: f64, unit: &str, bound: f64| {
            wanted.push((
                what,
                format!("{value:.3}{unit}"),
                format!("at most {bound}{unit}"),
                Attainment::of(value <= bound),
            ));
        };
        if let (Some(many), Some(some)) = (self.with(10_000), self.with(100)) {
            let ratio = many.cpu.value / some.cpu.value;
            add(
                "a request with 10,000 users, of one with 100".to_owned(),
                ratio,
                "",
                1.3,
            );
        }
        if let Some((users, kib)) = self
            .users
            .last()
            .and_then(|users| Some((users, self.kib_a_user(users)?)))
        {
            let what = format!("memory a user, with {} of them", users.users);
            add(what, kib, " KiB", 24.0);
        }
        let OpenLoop { rate, p50, p99, .. } = self.schedule;
        let what = format!("lateness, p99, {rate} a second (p50 {} µs)", micros(p50));
        add(what, p99, " µs", 50.0);
        if let Some(long) = self.long {
            let what = format!("memory of {} operations", long.requests);
            add(what, long.peak as f64 / MIB, " MiB", 300.0);
        }
        wanted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn users(users: u32, cpu: f64, peak_kib: f64) -> ClosedLoop {
        let median = |value| Median::of(&[value]).unwrap();
        ClosedLoop {
            users,
            cpu: median(cpu),
            cpu_gross: median(cpu),
            peak: median(peak_kib * KIB),
        }
    }

    #[test]
    fn lateness_is_that_of_the_generator() {
        let late = serde_json::json!({"n": 9, "p50": 1.5, "p99": 40.0, "max": 80.0});
        let document = serde_json::json!({"generator": [{"lateness_us": late}]});
        assert_eq!(lateness(&document), Some((1.5, 40.0)));
        let closed = serde_json::json!({"generator": [{"lateness_us": null}]});
        assert_eq!(lateness(&closed), None);
    }

    #[test]
    fn what_is_wanted_can_be_missed() {
        let report = |cpu, peak_kib, p99, long| ScaleReport {
            machine: BenchMachine::this(),
            requests: 1,
            users: vec![
                users(1, 9.0, 1000.0),
                users(100, 10.0, 2000.0),
                users(10_000, cpu, peak_kib),
            ],
            schedule: OpenLoop {
                rate: RATE,
                seconds: 1,
                p50: 1.0,
                p99,
            },
            long: Some(Long {
                requests: 1,
                peak: long,
                seconds: 1.0,
            }),
        };
        let verdicts = |report: ScaleReport| {
            let wanted = report.wanted().into_iter();
            wanted.map(|(_, _, _, verdict)| verdict).collect::<Vec<_>>()
        };
        let good = report(13.0, 241_000.0, 50.0, 300 << 20);
        assert_eq!(verdicts(good), [Attainment::Ok; 4]);
        let bad = report(13.1, 241_100.0, 50.1, 301 << 20);
        assert_eq!(verdicts(bad), [Attainment::Missed; 4]);
    }
}
