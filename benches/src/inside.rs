//! Effect of `--inside` on response times: the same tests with and without `--pid`, in turns; also
//! as a user who may not read counters of whole processes.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use testbed::RealServer;
use testbed::real::Recipe;

use crate::comparison::Attainment;
use crate::cost::{interval, order, ratios};
use crate::load::{self, Prestan};
use crate::machine::BenchMachine;
use crate::numbers::Median;
use crate::table::BenchTable;
use crate::{BenchReport, BenchSize};

/// The servers: one with two processes, and one with two hundred threads.
const SERVERS: [&str; 2] = ["nginx", "apache"];
/// Tests of both servers. PUT alternates with DELETE, so that counters are read at each of them.
const TESTS: [&str; 2] = ["Put1K", "Get1K"];
/// Largest acceptable factor of response times.
const AT_MOST: f64 = 1.01;
/// Without this capability, two files of each thread are read.
const OF_TASK_STATS: &str = "net_admin";

/// All results.
#[derive(Debug, Serialize, Deserialize)]
pub struct InsideReport {
    machine: BenchMachine,
    rounds: usize,
    /// Operations of each test in each round, each way.
    requests: u32,
    tests: Vec<WatchedTest>,
}

/// A test of a server.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct WatchedTest {
    server: String,
    test: String,
    /// Median of the response times without `--pid`, in microseconds.
    without_us: Median,
    /// Medians with `--pid`, as a multiple of those, round by round.
    of_without: Median,
    /// The same when two files of each thread are read.
    by_thread: Median,
    /// Result of the requirement for root.
    verdict: Attainment,
}

/// Ways of looking into a server.
#[derive(Debug, Clone, Copy)]
enum Look {
    Not,
    AsRoot,
    ByThread,
}

/// Order of measurements and results.
const LOOKS: [Look; 3] = [Look::Not, Look::AsRoot, Look::ByThread];

/// The medians of each round, by [`LOOKS`].
type FoundMedians = [Vec<BTreeMap<String, f64>>; LOOKS.len()];

/// Measures everything.
pub fn run(prestan: &Prestan, size: BenchSize) -> Result<InsideReport> {
    let (rounds, requests) = size.of((101, 400), (5, 100));
    let mut machine = BenchMachine::this();
    let mut tests = Vec::new();
    for name in SERVERS {
        let recipe = Recipe::named(name).with_context(|| format!("{name} is no recipe"))?;
        let server = RealServer::start(recipe)?;
        machine.add(&format!("{name} {}", server.installed().version));
        let measure = |look: Look| medians(prestan, &server, requests, look);
        // Not measured: warms up the server.
        measure(Look::Not)?;
        let mut found = FoundMedians::default();
        for round in 0..rounds {
            eprintln!("inside: {name}, round {} of {rounds}", round + 1);
            for way in order(round, LOOKS.len()) {
                found[way].push(measure(LOOKS[way])?);
            }
        }
        tests.extend(watched(name, &found)?);
    }
    Ok(InsideReport {
        machine,
        rounds,
        requests,
        tests,
    })
}

/// Medians of the response times of each test, in microseconds.
fn medians(
    prestan: &Prestan,
    server: &RealServer,
    requests: u32,
    look: Look,
) -> Result<BTreeMap<String, f64>> {
    let mut command = match look {
        Look::ByThread => prestan.command_without(OF_TASK_STATS),
        Look::Not | Look::AsRoot => prestan.command(),
    };
    command
        .args(["run", "prestan", &server.url(), "--only", &TESTS.join(",")])
        .args(["--requests", &requests.to_string(), "--quiet", "--no-save"])
        .args(["--json", "-"]);
    if !matches!(look, Look::Not) {
        command.args(["--pid", &server.pid().to_string()]);
    }
    let document = load::run(&mut command)?.stdout;
    let result: Value = serde_json::from_str(&document).context("read the result")?;
    let rows = result["tests"].as_array().context("no rows")?;
    let median = |row: &Value| {
        let name = row["measure"].as_str()?.to_owned();
        Some((name, row["response_us"]["p50"].as_f64()?))
    };
    let medians: BTreeMap<String, f64> = rows.iter().filter_map(median).collect();
    ensure!(
        medians.len() == TESTS.len(),
        "not all tests have response times: {document}"
    );
    Ok(medians)
}

fn watched(server: &str, found: &FoundMedians) -> Result<Vec<WatchedTest>> {
    let of_test = |test: &&str| {
        let of_way =
            |way: usize| -> Vec<f64> { found[way].iter().map(|times| times[*test]).collect() };
        let without = of_way(0);
        let of_without = |way| Median::of(&ratios(&of_way(way), &without)).context("no rounds");
        let (of_without, by_thread) = (of_without(1)?, of_without(2)?);
        Ok(WatchedTest {
            server: server.to_owned(),
            test: (*test).to_owned(),
            without_us: Median::of(&without).context("no rounds")?,
            of_without,
            by_thread,
            verdict: Attainment::of(of_without.value <= AT_MOST),
        })
    };
    TESTS.iter().map(of_test).collect()
}

impl BenchReport for InsideReport {
    fn machine(&self) -> &BenchMachine {
        &self.machine
    }

    fn tables(&self) -> Vec<BenchTable> {
        let mut table = BenchTable::new(
            &format!(
                "Median response times of a suite with `--pid`, as a multiple of those without ({} rounds of {} operations; \
                 median, with the 95 % interval of the sign test in brackets)",
                self.rounds, self.requests
            ),
            &[
                "server",
                "test",
                "without, µs",
                "with",
                "with, without CAP_NET_ADMIN",
                "wanted",
            ],
        );
        for test in &self.tests {
            let ratio = |median: Median| {
                format!(
                    "{:.3} [{:.3}, {:.3}]",
                    median.value, median.low, median.high
                )
            };
            table.row(vec![
                test.server.clone(),
                test.test.clone(),
                interval(test.without_us),
                ratio(test.of_without),
                ratio(test.by_thread),
                format!("with at most {AT_MOST:.2} times: {}", test.verdict.name()),
            ]);
        }
        vec![table]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_costs_too_much_is_not_ok() {
        let round = |put: f64| -> BTreeMap<String, f64> {
            let lean = TESTS.iter().map(|test| ((*test).to_owned(), 100.0));
            lean.chain([("Put1K".to_owned(), put)]).collect()
        };
        let found = [
            vec![round(100.0); 3],
            vec![round(101.5), round(101.2), round(100.2)],
            vec![round(120.0); 3],
        ];
        let tests = watched("nginx", &found).expect("there are rounds");
        assert_eq!(
            (tests[0].of_without.value, tests[0].verdict),
            (1.012, Attainment::Missed)
        );
        assert_eq!(tests[0].by_thread.value, 1.2);
        assert_eq!(
            (tests[1].of_without.value, tests[1].verdict),
            (1.0, Attainment::Ok)
        );
        assert!(watched("nginx", &FoundMedians::default()).is_err());
    }
}
