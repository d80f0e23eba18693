//! Correctness of `prestan compare`: two processes of one server, and one that is 5 % slower.
//!
//! Real servers are compared with themselves, started by `--server`. The demo server is compared
//! with one that does additional work, without sleeping, in one test: as much as makes it 5 %
//! slower on average over all comparisons. Work also has an indirect cost (a client that waits
//! longer sleeps more deeply), so the necessary amount is learned from the earlier comparisons.

use std::env;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use testbed::real::Recipe;
use testbed::{DemoServer, Root, Slowdown};

use crate::comparison::Attainment;
use crate::load::{self, Prestan};
use crate::machine::BenchMachine;
use crate::table::BenchTable;
use crate::{BenchReport, BenchSize};

/// Servers that are compared with themselves, if installed.
const SERVERS: [&str; 6] = ["nginx", "apache", "dufs", "lighttpd", "rclone", "wsgidav"];
/// The tests that are made slower, one after the other. Their rows have the same names, and take
/// less than a millisecond.
const SLOWED: [&str; 5] = [
    "PropfindDeadMult",
    "Get1K",
    "Put1K",
    "PropfindLiveSingle",
    "Get64K",
];
/// Relative slowdown.
const BY: f64 = 0.05;
/// Comparisons that only measure the necessary amount of work.
const PILOTS: u32 = 5;
/// Largest share of wrong comparisons of equal servers.
const ALPHA: f64 = 0.05;
/// Time of a comparison that may find a difference, as by default.
const BUDGET: &str = "60s";
/// Time of a comparison of equal servers: the error rate does not depend on it, and twice as many
/// comparisons are more precise.
const BUDGET_OF_ITSELF: &str = "15s";
/// Longest comparison in seconds: its budget, and the time to end.
const LONGEST: f64 = 65.0;

/// All results.
#[derive(Debug, Serialize, Deserialize)]
pub struct VerdictsReport {
    machine: BenchMachine,
    /// Two processes of one server, with all tests of the suite.
    itself: ComparisonSeries,
    /// Comparisons with A and B exchanged: rows whose verdict is not the opposite.
    not_turned: usize,
    /// Comparisons of the runs of A with themselves: rows that are not the same.
    not_same: usize,
    /// A server that is slower in one test.
    slowed: ComparisonSeries,
}

/// Comparisons of one kind.
#[derive(Debug, Default, Serialize, Deserialize)]
struct ComparisonSeries {
    comparisons: usize,
    /// Rows of all of them.
    rows: usize,
    /// Verdicts *faster* and *slower* of equal rows.
    wrong: Vec<String>,
    /// Verdicts *slower* of the slower row.
    found: usize,
    /// The longest comparison, in seconds.
    longest_s: f64,
    /// Work added to B in each of them, relative to A's measured time, in percent.
    added_percent: Vec<f64>,
    /// Measured slowdown of B in each of them, in percent.
    slower_percent: Vec<f64>,
}

/// Serves a temporary directory until the process is ended; requests of one test take longer.
pub fn serve(port: u16, slowed: Option<(&str, u64)>) -> Result<()> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let slowdown = slowed.map(|(test, nanos)| Slowdown {
        of: format!("({test})"),
        by: Duration::from_nanos(nanos),
    });
    let server = DemoServer::start_slowed(Root::Temporary, address, slowdown);
    let _server = server.context("start the demo server")?;
    loop {
        std::thread::park();
    }
}

/// Runs all comparisons.
pub fn run(prestan: &Prestan, size: BenchSize) -> Result<VerdictsReport> {
    // Of servers with themselves, and of a server with a slower one: 70 minutes, or 20.
    let (of_itself, of_slower) = size.of((100_u32, 40), (20, 10));
    let save = tempfile::tempdir()?;
    let kept_in = save.path().to_str().context("a directory with a name")?;
    let compare = |sides: &[&str], budget: &str| -> Result<(Value, f64)> {
        let mut command = prestan.command();
        command
            .arg("compare")
            .args(sides)
            .args(["--for", budget, "--quiet", "--json", "-", "--save", kept_in]);
        let finished = load::run(&mut command)?;
        let document = serde_json::from_str(&finished.stdout).context("read the comparison")?;
        Ok((document, finished.wall.as_secs_f64()))
    };

    let is_installed = |name: &&str| Recipe::named(name).is_some_and(|it| it.installed().is_ok());
    let servers: Vec<&str> = SERVERS.into_iter().filter(is_installed).collect();
    let mut itself = ComparisonSeries::default();
    let (mut not_turned, mut not_same) = (0, 0);
    for (number, server) in (1..=of_itself).zip(servers.iter().cycle()) {
        eprintln!("verdicts: two processes of {server}, {number} of {of_itself}");
        let sides = ["--server", server, "--server", server];
        let (document, seconds) = compare(&sides, BUDGET_OF_ITSELF)?;
        itself.add(&document, seconds, |_| false)?;
        if number == 1 {
            let runs = [kept(&document["a"])?, kept(&document["b"][0])?];
            let recorded = |sides: [&str; 2]| {
                let mut command = prestan.command();
                command.arg("compare").args(sides).args(["--json", "-"]);
                let finished = load::run(&mut command)?;
                serde_json::from_str::<Value>(&finished.stdout).context("read the comparison")
            };
            not_turned = turned_wrong(&document, &recorded([&runs[1], &runs[0]])?)?;
            let same_run = recorded([&runs[0], &runs[0]])?;
            // Tests that neither supports, or whose times the load generator may have changed, have
            // no verdict on times.
            let has_times = |row: &&Value| {
                row["times"].is_string() && row["disqualified_pairs"].as_u64() == Some(0)
            };
            let compared = rows(&same_run)?.filter(has_times);
            not_same = compared.filter(|row| row["verdict"] != "same").count();
        }
        clear(save.path())?;
    }

    let program = env::current_exe().context("where this program is")?;
    let program = program.display();
    let plain = format!("exec {program} serve {{{{ port }}}}");
    let (mut slowed, mut pilots) = (ComparisonSeries::default(), ComparisonSeries::default());
    let mut means_us = [100.0; SLOWED.len()];
    for number in 0..PILOTS + of_slower {
        let is_pilot = number < PILOTS;
        let at = number as usize % SLOWED.len();
        let test = SLOWED[at];
        eprintln!(
            "verdicts: {test} is slower, {} of {} with {PILOTS} to learn from",
            number + 1,
            PILOTS + of_slower
        );
        let added_us = means_us[at] * BY / price([&pilots, &slowed]);
        let slow = format!("{plain} --slow {test} --by-ns {}", (added_us * 1e3) as u64);
        let (document, seconds) = compare(&["--start-a", &plain, "--start-b", &slow], BUDGET)?;
        let series = if is_pilot { &mut pilots } else { &mut slowed };
        series.add(&document, seconds, |name| name == test)?;
        let (mean_us, ratio) = slowed_row(&document, test)?;
        means_us[at] = mean_us;
        series.added_percent.push(added_us / mean_us * 100.0);
        series.slower_percent.push((ratio - 1.0) * 100.0);
        for row in rows(&document)? {
            let (name, verdict) = (&row["measure"], &row["verdict"]);
            eprintln!("  {name}: {verdict}, {} {}", row["ratio"], row["ci95"]);
        }
        clear(save.path())?;
    }
    Ok(VerdictsReport {
        machine: BenchMachine::this(),
        itself,
        not_turned,
        not_same,
        slowed,
    })
}

/// The slowed test: mean of A in microseconds, and the ratio of B.
fn slowed_row(document: &Value, test: &str) -> Result<(f64, f64)> {
    let mut rows = rows(document)?.filter(|row| row["measure"] == test);
    let row = rows.next().context("the test that is to be slower")?;
    let mean = row["a_says"]["mean_us"].as_f64();
    let both = mean.zip(row["ratio"].as_f64());
    both.context("the mean and the ratio of the test that is to be slower")
}

/// Slowdown of a server for each percent of added work.
fn price(known: [&ComparisonSeries; 2]) -> f64 {
    let added: f64 = known.iter().flat_map(|series| &series.added_percent).sum();
    let slower: f64 = known.iter().flat_map(|series| &series.slower_percent).sum();
    if added > 0.0 {
        // If the first comparisons find nothing, the next must not stop because of that.
        (slower / added).clamp(0.5, 5.0)
    } else {
        1.0
    }
}

/// Removes runs that are not needed any more.
fn clear(directory: &Path) -> Result<()> {
    for entry in std::fs::read_dir(directory)? {
        std::fs::remove_dir_all(entry?.path())?;
    }
    Ok(())
}

/// Directories of the runs of a server, as arguments of `compare`.
fn kept(server: &Value) -> Result<String> {
    let runs = server["runs"].as_array().context("a list of runs")?;
    let runs: Option<Vec<&str>> = runs.iter().map(Value::as_str).collect();
    Ok(runs.context("paths of runs")?.join(","))
}

fn rows(document: &Value) -> Result<impl Iterator<Item = &Value>> {
    let rows = document["tests"].as_array().context("a list of tests")?;
    Ok(rows.iter())
}

/// Rows that did not change their sign.
fn turned_wrong(there: &Value, back: &Value) -> Result<usize> {
    let is_opposite = |(there, back): &(&Value, &Value)| {
        let product = there["ratio"].as_f64().zip(back["ratio"].as_f64());
        let turned = product.is_none_or(|(there, back)| (there * back - 1.0).abs() < 1e-9);
        let verdict = match there["verdict"].as_str() {
            Some("faster") => "slower",
            Some("slower") => "faster",
            other => other.unwrap_or_default(),
        };
        turned && back["verdict"] == verdict
    };
    let pairs = rows(there)?.zip(rows(back)?);
    Ok(pairs.filter(|pair| !is_opposite(pair)).count())
}

impl ComparisonSeries {
    fn add(
        &mut self,
        document: &Value,
        seconds: f64,
        is_slower: impl Fn(&str) -> bool,
    ) -> Result<()> {
        self.comparisons += 1;
        self.longest_s = self.longest_s.max(seconds);
        for row in rows(document)? {
            let name = row["measure"].as_str().unwrap_or_default();
            let verdict = row["verdict"].as_str().unwrap_or_default();
            self.rows += 1;
            match (verdict, is_slower(name)) {
                ("slower", true) => self.found += 1,
                ("slower" | "faster", _) => {
                    self.wrong
                        .push(format!("{name} {verdict} {}", row["ratio"]));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

impl BenchReport for VerdictsReport {
    fn machine(&self) -> &BenchMachine {
        &self.machine
    }

    fn tables(&self) -> Vec<BenchTable> {
        let mut table = BenchTable::new(
            "prestan compare, of servers of which the truth is known",
            &["", "measured", "wanted", ""],
        );
        let mut row = |what: String, measured: String, wanted: String, holds: bool| {
            let verdict = Attainment::of(holds).name().to_owned();
            table.row(vec![what, measured, wanted, verdict]);
        };
        let ComparisonSeries {
            comparisons,
            rows,
            wrong,
            ..
        } = &self.itself;
        let most = comparisons.div_ceil(20);
        row(
            format!(
                "false verdicts, {comparisons} comparisons of two processes of one server, {rows} rows"
            ),
            wrong.len().to_string(),
            format!("at most {most}"),
            wrong.len() <= most,
        );
        let slowed = &self.slowed;
        let least = slowed.comparisons * 95 / 100;
        // One in twenty comparisons may be wrong; one in a hundred series has more than this
        // number.
        let expected = slowed.comparisons as f64 * ALPHA;
        let by_chance = (expected + 2.33 * (expected * (1.0 - ALPHA)).sqrt()) as usize;
        let mean = |percents: &[f64]| percents.iter().sum::<f64>() / percents.len().max(1) as f64;
        let (slower, added) = (mean(&slowed.slower_percent), mean(&slowed.added_percent));
        row(
            format!(
                "{slower:.1} % slower (mean; {added:.1} % more work) in one row of the suite: found"
            ),
            format!("{} of {}", slowed.found, slowed.comparisons),
            format!("at least {least}"),
            slowed.found >= least,
        );
        row(
            "false verdicts of its other rows".to_owned(),
            slowed.wrong.len().to_string(),
            format!("{expected:.0} on average, {by_chance} at most"),
            slowed.wrong.len() <= by_chance,
        );
        row(
            "the longest of these, in seconds".to_owned(),
            format!("{:.0}", slowed.longest_s),
            format!("at most {LONGEST:.0}"),
            slowed.longest_s <= LONGEST,
        );
        let unexpected = [
            ("rows that do not turn round with A and B", self.not_turned),
            (
                "rows of a run that are not the same as themselves",
                self.not_same,
            ),
        ];
        for (what, count) in unexpected {
            row(
                what.to_owned(),
                count.to_string(),
                "0".to_owned(),
                count == 0,
            );
        }
        vec![table]
    }
}
