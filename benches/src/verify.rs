//! Cost of verifying responses, in pages per second.
//!
//! One user downloads a page repeatedly, so the rate shows all of its work between two pages: with
//! several users, verifying the page of one would overlap with the waiting of the others. Round by
//! round, as in `cost`; each kind of verification is compared with `none` in its round.

use std::fs;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::comparison::Attainment;
use crate::cost::{interval, order, ratios};
use crate::load::{self, Prestan};
use crate::machine::BenchMachine;
use crate::numbers::Median;
use crate::server::BenchServer;
use crate::table::BenchTable;
use crate::{BenchReport, BenchSize};

/// The pages, by the sizes of their files in bytes: those of the suite `http-versions`.
const PAGES: [(&str, &[u32]); 2] = [
    (
        "13 files, 80 kB",
        &[
            29_000, 600, 1_000, 1_400, 1_800, 2_200, 2_600, 3_200, 4_400, 5_600, 6_800, 8_400,
            13_000,
        ],
    ),
    (
        "6 files, 545 kB",
        &[2_000, 12_000, 132_750, 132_750, 132_750, 132_750],
    ),
];
/// Kinds of verification; the others are compared with the first.
const WAYS: [&str; 4] = ["none", "head", "first", "full"];
/// The kind with the requirement [`AT_LEAST`].
const JUDGED: &str = "full";
/// Least page rate, relative to that without verification.
const AT_LEAST: f64 = 0.9;

/// All results.
#[derive(Debug, Serialize, Deserialize)]
pub struct VerifyReport {
    machine: BenchMachine,
    rounds: usize,
    /// Seconds of each kind in each round.
    seconds: u64,
    /// The pages, each with every kind of verification.
    ways: Vec<VerifiedPage>,
}

/// A page with one kind of verification, such as `full`.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct VerifiedPage {
    page: String,
    verify: String,
    per_second: Median,
    /// Multiple of the rate without verification, round by round.
    of_none: Median,
    verdict: Option<Attainment>,
}

/// Measures everything.
pub fn run(prestan: &Prestan, size: BenchSize) -> Result<VerifyReport> {
    let (rounds, seconds) = size.of((11, 3), (3, 1));
    let nginx = BenchServer::nginx()?;
    let suites = tempfile::tempdir()?;
    let mut ways = Vec::new();
    for (page, sizes) in PAGES {
        let suite = suites.path().join("page.yaml");
        fs::write(&suite, suite_of(sizes)).context("write a suite")?;
        for (index, size) in sizes.iter().enumerate() {
            let content = suite::filled(suite::Fill::Text, *size as usize);
            let path = nginx.storage().join(name(sizes.len(), index));
            fs::write(path, content).context("write a file of a page")?;
        }
        let rate = |verify: &str| {
            let mut command = prestan.command();
            command
                .args(["load", "--mix"])
                .arg(&suite)
                .args([&nginx.root(), "--quiet", "--no-save", "--json", "-"])
                .args(["--duration", &format!("{seconds}s")])
                .args(["--verify", verify]);
            pages_a_second(&load::run(&mut command)?.stdout)
        };
        // Not measured: warms up the server.
        rate(JUDGED)?;
        let mut rates = vec![Vec::new(); WAYS.len()];
        for round in 0..rounds {
            eprintln!("verify: {page}, round {} of {rounds}", round + 1);
            for index in order(round, WAYS.len()) {
                rates[index].push(rate(WAYS[index])?);
            }
        }
        ways.extend(verified(page, &rates).context("no rounds")?);
    }
    let mut machine = BenchMachine::this();
    machine.add(&nginx.version());
    Ok(VerifyReport {
        machine,
        rounds,
        seconds,
        ways,
    })
}

/// Name of a file of a page with `files` files: nginx keeps files open, so no two pages share any.
fn name(files: usize, index: usize) -> String {
    format!("page-{files}-{index}.bin")
}

/// A suite of one page with files of these sizes, which only reads.
fn suite_of(sizes: &[u32]) -> String {
    let file = |(index, size): (usize, &u32)| {
        let name = name(sizes.len(), index);
        format!("          - {{GET: {name}, expect: {{body: {{size: {size}}}}}}}\n")
    };
    let files: String = sizes.iter().enumerate().map(file).collect();
    format!(
        "suite: page\nneeds: http\ntests:\n  - name: Page\n    loop:\n      - page: Page\n        \
         measure: Page\n        steps:\n{files}"
    )
}

fn pages_a_second(document: &str) -> Result<f64> {
    let result: Value = serde_json::from_str(document).context("read the result")?;
    let webstone = &result["webstone"];
    let errors = webstone["retrieved"]["errors"].as_u64();
    anyhow::ensure!(errors == Some(0), "pages failed: {errors:?}");
    Ok(webstone["number"].as_f64().context("the number")? / 60.0)
}

/// `None` without rounds.
fn verified(page: &str, rates: &[Vec<f64>]) -> Option<Vec<VerifiedPage>> {
    let none = rates.first()?;
    let ways = WAYS.iter().zip(rates);
    ways.map(|(verify, rates)| {
        let of_none = Median::of(&ratios(rates, none))?;
        Some(VerifiedPage {
            page: page.to_owned(),
            verify: (*verify).to_owned(),
            per_second: Median::of(rates)?,
            of_none,
            verdict: (*verify == JUDGED).then(|| Attainment::of(of_none.value >= AT_LEAST)),
        })
    })
    .collect()
}

impl BenchReport for VerifyReport {
    fn machine(&self) -> &BenchMachine {
        &self.machine
    }

    fn tables(&self) -> Vec<BenchTable> {
        let mut table = BenchTable::new(
            &format!(
                "Pages a second of one user on a persistent connection to nginx ({} rounds of {} s; median, \
                 with the 95 % interval of the sign test in brackets)",
                self.rounds, self.seconds
            ),
            &["page", "verify", "pages/s", "of none", "wanted"],
        );
        for way in &self.ways {
            let wanted = way
                .verdict
                .map(|verdict| format!("at least {AT_LEAST:.2} times: {}", verdict.name()));
            table.row(vec![
                way.page.clone(),
                way.verify.clone(),
                format!("{:.0}", way.per_second.value),
                interval(way.of_none),
                wanted.unwrap_or_default(),
            ]);
        }
        vec![table]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suites_have_the_pages() {
        for (page, sizes) in PAGES {
            let text = suite_of(sizes);
            let spec = suite::parse("page", &text).unwrap();
            let overrides = suite::Overrides::default();
            let plan = suite::resolve("page", &text, &spec, &overrides).unwrap();
            let found = &plan.pages[0];
            let kilobytes = found.bytes.unwrap() / 1000;
            assert_eq!(format!("{} files, {kilobytes} kB", found.files.len()), page);
        }
    }

    #[test]
    fn a_way_is_held_to_the_rate_without_verification_in_its_round() {
        let rates = [
            [100.0, 200.0, 50.0],
            [99.0; 3],
            [98.0; 3],
            [91.0, 178.0, 46.0],
        ];
        let ways = verified("P", &rates.map(Vec::from)).unwrap();
        assert_eq!(ways[3].of_none.value, 0.91);
        assert_eq!(ways[3].verdict, Some(Attainment::Ok));
        assert_eq!((ways[0].of_none.value, ways[0].verdict), (1.0, None));
        assert!(verified("P", &[]).is_none());
    }
}
