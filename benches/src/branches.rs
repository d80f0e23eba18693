//! Detection of additional work in a branch of a server by `prestan compare --inside`: WsgiDAV with
//! one more fsync in PUT, with one more stat for each member in PROPFIND, and unchanged.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use testbed::real::Recipe;

use crate::comparison::Attainment;
use crate::load::{self, Prestan};
use crate::machine::BenchMachine;
use crate::table::BenchTable;
use crate::{BenchReport, BenchSize};

/// The server. Its branches are Python modules that change it at its start.
const SERVER: &str = "wsgidav";
/// Time of each comparison.
const BUDGET: &str = "60s";

/// Additional work of a branch.
struct Branch {
    name: &'static str,
    /// The rows that it changes.
    rows: &'static [&'static str],
    call: &'static str,
    /// Number for each operation.
    by: f64,
    options: &'static [&'static str],
}

const BRANCHES: [Branch; 2] = [
    Branch {
        name: "fsync",
        rows: &["Put1K"],
        call: "fsync",
        by: 1.0,
        options: &["--only", "Put1K,Get1K,Lock,PropfindLiveMult"],
    },
    Branch {
        name: "stat",
        rows: &["Depth1", "Allprop"],
        call: "stat",
        by: 10.0,
        options: &[
            "--suite",
            "listing",
            "--param",
            "members=10",
            "--only",
            "Depth0*,Depth1*,Allprop*",
        ],
    },
];

/// All results.
#[derive(Debug, Serialize, Deserialize)]
pub struct BranchesReport {
    machine: BenchMachine,
    branches: Vec<FoundBranch>,
    /// Comparisons of the server with itself.
    with_itself: u32,
    /// Differences found in them, and in rows that a branch does not change.
    wrong: Vec<String>,
    /// Comparisons of the server with itself that found a difference.
    wrong_with_itself: u32,
}

/// A branch of the server.
#[derive(Debug, Serialize, Deserialize)]
struct FoundBranch {
    /// The call, and the rows.
    what: String,
    comparisons: u32,
    /// Comparisons that found it in each row, as a fact.
    found: u32,
}

/// Runs all comparisons.
pub fn run(prestan: &Prestan, size: BenchSize) -> Result<BranchesReport> {
    // With each branch, and of the server with itself: 80 minutes in full.
    let (with_branch, with_itself) = size.of((20, 40), (2, 2));
    let is_installed = Recipe::named(SERVER).is_some_and(|it| it.installed().is_ok());
    ensure!(
        is_installed,
        "{SERVER} is not installed (cargo xtask setup --peers)"
    );
    let mut report = BranchesReport {
        machine: BenchMachine::this(),
        branches: Vec::new(),
        with_itself,
        wrong: Vec::new(),
        wrong_with_itself: 0,
    };
    for branch in &BRANCHES {
        let mut found = FoundBranch {
            what: format!(
                "{} more {} in {}",
                branch.by,
                branch.call,
                branch.rows.join(" and ")
            ),
            comparisons: with_branch,
            found: 0,
        };
        for number in 1..=with_branch {
            let differences = compare(prestan, &branch.server(), branch.options)?;
            let (right, wrong): (Vec<_>, Vec<_>) = differences
                .into_iter()
                .partition(|difference| branch.is(difference));
            let is_found = |row: &&str| right.iter().any(|found_row| found_row.row == *row);
            found.found += u32::from(branch.rows.iter().all(is_found));
            report.wrong.extend(
                wrong
                    .iter()
                    .filter(|found_row| !branch.rows.contains(&&*found_row.row))
                    .map(Difference::text),
            );
            eprintln!(
                "branches: {}, {} of {number} found",
                found.what, found.found
            );
        }
        report.branches.push(found);
    }
    for number in 1..=with_itself {
        let branch = &BRANCHES[number as usize % BRANCHES.len()];
        let differences = compare(prestan, SERVER, branch.options)?;
        report.wrong_with_itself += u32::from(!differences.is_empty());
        report
            .wrong
            .extend(differences.iter().map(Difference::text));
        eprintln!(
            "branches: itself, {} of {number} differ",
            report.wrong_with_itself
        );
    }
    Ok(report)
}

/// A difference found by a comparison.
struct Difference {
    row: String,
    /// A call, or `cpu`.
    what: String,
    by: f64,
    is_fact: bool,
}

impl Difference {
    fn text(&self) -> String {
        format!("{}: {} {:+}", self.row, self.what, self.by)
    }
}

impl Branch {
    /// The server with its additional work, as an argument of `--server`.
    fn server(&self) -> String {
        let modules = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("branches")
            .join(self.name);
        format!("{SERVER},env.PYTHONPATH={}", modules.display())
    }

    fn is(&self, difference: &Difference) -> bool {
        self.rows.contains(&&*difference.row)
            && difference.what == self.call
            && difference.is_fact
            && difference.by == self.by
    }
}

/// Compares the server with another for a minute.
fn compare(prestan: &Prestan, other: &str, options: &[&str]) -> Result<Vec<Difference>> {
    let kept_in = tempfile::tempdir()?;
    let mut command = prestan.command();
    command.args(["compare", "--server", SERVER, "--server", other, "--inside"]);
    command
        .args(["--for", BUDGET, "--quiet", "--json", "-"])
        .args(options)
        .arg("--save")
        .arg(kept_in.path());
    let finished = load::run(&mut command)?;
    let document: Value = serde_json::from_str(&finished.stdout).context("read the comparison")?;
    let rows = document["tests"].as_array().context("a list of tests")?;
    let mut differences = Vec::new();
    for row in rows {
        let name = row["measure"].as_str().context("the name of a row")?;
        let inside = &row["inside"];
        let mut add = |what: &str, by: Option<f64>, value: &Value, is_fact: bool| {
            if matches!(value["verdict"].as_str(), Some("more" | "less")) {
                differences.push(Difference {
                    row: name.to_owned(),
                    what: what.to_owned(),
                    by: by.unwrap_or(f64::NAN),
                    is_fact,
                });
            }
        };
        for cost in inside["costs"].as_array().into_iter().flatten() {
            let (what, more) = match cost["cost"].as_str().unwrap_or_default() {
                "processor" => {
                    let ratio = cost["compared"]["ratio"].as_f64();
                    ("cpu", ratio.map(|ratio| ratio - 1.0))
                }
                call => {
                    let both = cost["b"].as_f64().zip(cost["a"].as_f64());
                    (call, both.map(|(b, a)| b - a))
                }
            };
            add(what, more, cost, cost["is_fact"] == true);
        }
    }
    Ok(differences)
}

impl BenchReport for BranchesReport {
    fn machine(&self) -> &BenchMachine {
        &self.machine
    }

    fn tables(&self) -> Vec<BenchTable> {
        let mut table = BenchTable::new(
            &format!(
                "prestan compare --inside, {BUDGET} each, of WsgiDAV with what a branch does more"
            ),
            &["", "measured", "wanted", ""],
        );
        let mut row = |what: String, measured: u32, wanted: String, holds: bool| {
            let verdict = Attainment::of(holds).name().to_owned();
            table.row(vec![what, measured.to_string(), wanted, verdict]);
        };
        for branch in &self.branches {
            let all = branch.comparisons;
            let what = format!("{}: found as a fact, in {all} comparisons", branch.what);
            row(what, branch.found, all.to_string(), branch.found == all);
        }
        let most = self.with_itself.div_ceil(20);
        row(
            format!(
                "nothing: comparisons of {} that found something all the same",
                self.with_itself
            ),
            self.wrong_with_itself,
            format!("at most {most}"),
            self.wrong_with_itself <= most,
        );
        vec![table]
    }
}
