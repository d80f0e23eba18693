//! `cargo xtask nightly`: everything that takes too long for every change.
//!
//! ```text
//! tests         those that are ignored because they are long, on all real servers
//! tests-of-docs those in the documents of types
//! speed         those of speed and memory, with optimised code, one after the other
//! fuzz          every target for a minute
//! bench-...     each benchmark; `bench` names all of them
//! dist          what is published, twice from nothing: it works, and has the same bytes
//! install       each of these files in a bare root, and its program run there
//! dependencies  the rules of deny.toml, and the advisories of RustSec
//! docs          the documents as a web site
//! links         addresses in the documents
//! ```
//!
//! Each step is executed even if earlier ones fail. The results go to `docs/NIGHTLY.md`, which
//! keeps the last result of the other steps; a scheduled run publishes the page as an artefact and
//! commits nothing. Steps that need the internet are marked as not run without it.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};

use crate::project::{cargo, output, root};
use crate::test::interruption::Interruption;
use crate::test::{self, TestChoice, TestRequest};
use crate::{bench, dist, docs, fuzz, setup};

/// Name and action of a step.
type Step = (&'static str, fn() -> Result<()>);

const STEPS: [Step; 19] = [
    ("tests", tests),
    ("tests-of-docs", || {
        cargo(&["test", "--workspace", "--doc"], &[])
    }),
    ("speed", || all_tests(TestChoice::Optimised)),
    ("fuzz", || fuzz::run(&[])),
    ("bench-accuracy", || benchmark(&["accuracy"])),
    // In full, these two take an hour and more each, which is only for the figures of the
    // documents.
    ("bench-branches", || benchmark(&["branches", "--quick"])),
    ("bench-cost", || benchmark(&["cost"])),
    ("bench-inside", || benchmark(&["inside"])),
    ("bench-pages", || benchmark(&["pages"])),
    ("bench-scale", || benchmark(&["scale", "--full"])),
    ("bench-suite", || benchmark(&["suite"])),
    ("bench-threads", || benchmark(&["threads"])),
    ("bench-verdicts", || benchmark(&["verdicts", "--quick"])),
    ("bench-verify", || benchmark(&["verify"])),
    ("dist", dist::run_twice),
    ("install", dist::install),
    ("dependencies", dependencies),
    ("docs", docs::run),
    ("links", links),
];

/// Documents whose links are checked.
const DOCUMENTS: &str = "README.md ARCHITECTURE.md CONTRIBUTING.md docs servers";

/// Executes the named steps, or all.
pub(crate) fn run(names: &[String]) -> Result<()> {
    let is_unknown = |name: &&String| STEPS.iter().all(|(step, _)| !is_named(step, name));
    if let Some(unknown) = names.iter().find(is_unknown) {
        let names = STEPS.map(|(step, _)| step).join(", ");
        bail!("nightly has the steps {names}, and not {unknown}");
    }
    setup::run()?;
    let commit = output("git", &["rev-parse", "--short", "HEAD"])?;
    let date = output("date", &["-u", "+%Y-%m-%d"])?;
    let path = root()?.join("docs/NIGHTLY.md");
    let mut results = NightlyResults::read(&fs::read_to_string(&path).unwrap_or_default());
    let wanted = STEPS
        .into_iter()
        .filter(|(step, _)| names.is_empty() || names.iter().any(|name| is_named(step, name)));
    let mut failed = Vec::new();
    let interruption = Interruption::listen()?;
    for (step, perform) in wanted {
        let begun = Instant::now();
        let performed = perform();
        if interruption.has_come() {
            bail!("interrupted in {step}, of which nothing is written");
        }
        let outcome = match performed {
            Ok(()) => "passed".to_owned(),
            Err(error) if error.is::<NotRun>() => format!("not run: {error:#}"),
            Err(error) => {
                message!("xtask: {step}: {error:#}");
                failed.push(step);
                format!("failed: {error:#}")
            }
        };
        let minutes = begun.elapsed().as_secs_f64() / 60.0;
        let outcome = outcome.replace(['|', '\n'], " ");
        let cells = format!("{outcome} | {minutes:.0} | {commit} | {date}");
        results.set(step, cells);
        // After each step: completed results are saved even if the next one is interrupted.
        fs::write(&path, results.page()).with_context(|| format!("write {}", path.display()))?;
    }
    let list = failed.join(", ");
    ensure!(failed.is_empty(), "failed: {list}; see {}", path.display());
    Ok(())
}

/// `bench` selects all steps that begin with `bench-`, and `tests` also those of documents.
fn is_named(step: &str, name: &str) -> bool {
    let rest = step.strip_prefix(name);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
}

/// A step could not be executed on this machine: no result about the project.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct NotRun(&'static str);

/// The last result of each step: outcome, minutes, commit and date, as cells of a table.
#[derive(Debug)]
struct NightlyResults(Vec<(&'static str, String)>);

impl NightlyResults {
    /// Results from a page; steps that are missing on it were not run.
    fn read(page: &str) -> NightlyResults {
        let known = |step: &str| {
            let start = format!("| {step} | ");
            let mut lines = page.lines();
            let row = lines.find_map(|line| line.strip_prefix(&start)?.strip_suffix(" |"));
            row.unwrap_or("not run | | |").to_owned()
        };
        NightlyResults(STEPS.map(|(step, _)| (step, known(step))).to_vec())
    }

    fn set(&mut self, step: &str, cells: String) {
        if let Some((_, known)) = self.0.iter_mut().find(|(name, _)| *name == step) {
            *known = cells;
        }
    }

    fn page(&self) -> String {
        let rows = self
            .0
            .iter()
            .map(|(step, cells)| format!("| {step} | {cells} |\n"));
        format!(
            "# The last nightly run\n\n`cargo xtask nightly [STEP...]` writes the rows of the steps that it does. In the \
             repository are those of runs by hand;\neach scheduled run (`.github/workflows/nightly.yml`) has this page as its \
             artefact `nightly`.\n\n\
             | step | outcome | minutes | commit | date |\n|---|---|---:|---|---|\n{}",
            rows.collect::<String>()
        )
    }
}

fn tests() -> Result<()> {
    setup::crates()?;
    all_tests(TestChoice::WithIgnored)
}

fn all_tests(choice: TestChoice) -> Result<()> {
    test::run(TestRequest {
        choice,
        // As in CI: a missing server is a failure.
        environment: vec![("CI", "1".into())],
        ..TestRequest::default()
    })
}

fn benchmark(arguments: &[&str]) -> Result<()> {
    setup::peers()?;
    let arguments: Vec<String> = arguments.iter().map(ToString::to_string).collect();
    bench::run(&arguments)
}

/// The rules of `deny.toml`, and the advisories of RustSec, whose database is fetched first.
fn dependencies() -> Result<()> {
    setup::published(setup::CARGO_DENY)?;
    let path = [("PATH", setup::path()?)];
    cargo(&["deny", "check", "bans", "licenses", "sources"], &path)?;
    if cargo(&["deny", "fetch", "db"], &path).is_err() {
        bail!(NotRun(
            "licences and sources are right; the database of advisories cannot be fetched"
        ));
    }
    cargo(&["deny", "--offline", "check", "advisories"], &path)
}

/// Requests every address once.
fn links() -> Result<()> {
    let root = root()?;
    let mut texts = Vec::new();
    for name in DOCUMENTS.split(' ') {
        let path = root.join(name);
        let files = if path.is_dir() {
            let entries = fs::read_dir(&path)?.flatten();
            entries.map(|entry| entry.path()).collect()
        } else {
            vec![path]
        };
        let is_document = |file: &&PathBuf| file.extension().is_some_and(|end| end == "md");
        for file in files.iter().filter(is_document) {
            let text = fs::read_to_string(file);
            texts.push(text.with_context(|| format!("read {}", file.display()))?);
        }
    }
    let mut all: Vec<&str> = texts.iter().flat_map(|text| addresses(text)).collect();
    all.sort_unstable();
    all.dedup();
    if !all.iter().any(|address| answers(address)) {
        bail!(NotRun("no address can be reached from this machine"));
    }
    all.retain(|address| !answers(address));
    ensure!(all.is_empty(), "no page at {}", all.join(" "));
    Ok(())
}

/// Addresses in links of a document.
fn addresses(text: &str) -> impl Iterator<Item = &str> {
    let links = text.split("](").skip(1);
    let links = links.filter_map(|rest| rest.split([')', ' ', '#']).next());
    links.filter(|link| link.starts_with("https://") || link.starts_with("http://"))
}

fn answers(address: &str) -> bool {
    let seconds = ["--max-time", "30", "--retry", "2"];
    let quiet = ["--silent", "--fail", "--location", "--output", "/dev/null"];
    let mut curl = Command::new("curl");
    let status = curl
        .args(quiet)
        .args(seconds)
        .args(["--", address])
        .status();
    status.is_ok_and(|status| status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_of_other_steps_are_kept() {
        let mut results = NightlyResults::read(
            "| bench-cost | failed: x | 3 | abc | 2026-01-02 |\n| other | passed |\n",
        );
        results.set("fuzz", "passed | 18 | def | 2026-01-03".to_owned());
        let page = results.page();
        let says = "| bench-cost | failed: x | 3 | abc | 2026-01-02 |\n";
        assert!(page.contains(says), "{page}");
        let says = "| fuzz | passed | 18 | def | 2026-01-03 |\n";
        assert!(page.contains(says), "{page}");
        assert!(page.contains("| links | not run | | | |\n"), "{page}");
        assert!(!page.contains("other"), "{page}");
        assert_eq!(NightlyResults::read(&page).page(), page);
        // The page in the repository has this format.
        let kept = fs::read_to_string(root().unwrap().join("docs/NIGHTLY.md")).unwrap();
        assert_eq!(NightlyResults::read(&kept).page(), kept);
    }

    #[test]
    fn addresses_are_those_of_links() {
        let text = "[a](https://a.example/x#y) `http://127.0.0.1/` [b](b.md) [c](http://c.example)";
        let found: Vec<&str> = addresses(text).collect();
        assert_eq!(found, ["https://a.example/x", "http://c.example"]);
    }

    #[test]
    fn a_name_is_that_of_a_step_or_of_its_kind() {
        assert!(run(&["nonsense".to_owned()]).is_err());
        assert!(is_named("bench-cost", "bench") && is_named("bench-cost", "bench-cost"));
        assert!(!is_named("bench-cost", "bench-c") && !is_named("tests", "bench"));
    }
}
