//! `cargo xtask nightly`: everything that takes too long for every change.
//!
//! ```text
//! tests         those that are ignored because they are long, on all real servers
//! fuzz          every target for a minute
//! bench         all benchmarks, in full
//! dist          what is published, twice from nothing: it works, and has the same bytes
//! dependencies  the rules of deny.toml, and the advisories of RustSec
//! docs          the documents as a web site
//! links         addresses in the documents
//! ```
//!
//! Each step is done, whatever becomes of those before it. What came of them goes to
//! `docs/NIGHTLY.md`.

use std::fs;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, bail};

use crate::project::{cargo, cargo_with, output, root};
use crate::{bench, dist, docs, fuzz, setup};

/// Name, and what it does.
type Step = (&'static str, fn() -> Result<()>);

const STEPS: [Step; 7] = [
    ("tests", tests),
    ("fuzz", || fuzz::run(&[])),
    ("bench", benchmarks),
    ("dist", dist::run_twice),
    ("dependencies", dependencies),
    ("docs", docs::run),
    ("links", links),
];

const BENCHMARKS: [&[&str]; 10] = [
    &["accuracy"],
    &["branches"],
    &["cost"],
    &["inside"],
    &["pages"],
    &["scale", "--full"],
    &["suite"],
    &["threads"],
    &["verdicts"],
    &["verify"],
];

/// Documents whose links lead somewhere.
const DOCUMENTS: [&str; 5] = [
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "docs",
    "servers",
];

/// Does the steps that are named, or all.
pub(crate) fn run(names: &[String]) -> Result<()> {
    if let Some(unknown) = names
        .iter()
        .find(|name| STEPS.iter().all(|(step, _)| step != name))
    {
        let names = STEPS.map(|(step, _)| step).join(", ");
        bail!("nightly has the steps {names}, and not {unknown}");
    }
    setup::run()?;
    setup::peers()?;
    let wanted = STEPS
        .into_iter()
        .filter(|(step, _)| names.is_empty() || names.iter().any(|name| name == step));
    let mut report = format!(
        "# The last nightly run\n\n`cargo xtask nightly` wrote this on {}, at commit {}.\n\n\
         | step | outcome | minutes |\n|---|---|---:|\n",
        output("date", &["-u", "+%Y-%m-%d"])?,
        output("git", &["rev-parse", "--short", "HEAD"])?,
    );
    let mut failed = Vec::new();
    for (step, perform) in wanted {
        let begun = Instant::now();
        let outcome = match perform() {
            Ok(()) => "passed".to_owned(),
            Err(error) => {
                eprintln!("xtask: {step}: {error:#}");
                failed.push(step);
                format!("failed: {error:#}").replace(['|', '\n'], " ")
            }
        };
        let minutes = begun.elapsed().as_secs_f64() / 60.0;
        report += &format!("| {step} | {outcome} | {minutes:.0} |\n");
    }
    let path = root()?.join("docs/NIGHTLY.md");
    fs::write(&path, report).with_context(|| format!("write {}", path.display()))?;
    if failed.is_empty() {
        Ok(())
    } else {
        bail!("failed: {}; see {}", failed.join(", "), path.display())
    }
}

fn tests() -> Result<()> {
    let tests = ["test", "--workspace", "--no-fail-fast", "--features=prestan/png", "--"];
    // As in CI: a missing server is a failure.
    cargo(
        &[&tests[..], &["--include-ignored"]].concat(),
        &[("CI", "1")],
    )
}

fn benchmarks() -> Result<()> {
    let failed: Vec<String> = BENCHMARKS
        .into_iter()
        .filter_map(|arguments| {
            let arguments: Vec<String> = arguments.iter().map(ToString::to_string).collect();
            let error = bench::run(&arguments).err()?;
            eprintln!("xtask: {error:#}");
            Some(arguments.join(" "))
        })
        .collect();
    if failed.is_empty() {
        Ok(())
    } else {
        bail!("{} did not go through", failed.join(", "))
    }
}

/// The rules of `deny.toml`, and the advisories of RustSec, whose database is fetched first.
fn dependencies() -> Result<()> {
    setup::cargo_deny()?;
    let path = [("PATH", setup::path()?)];
    cargo_with(&["deny", "check", "bans", "licenses", "sources"], &path)?;
    cargo_with(&["deny", "fetch", "db"], &path)
        .context("no advisory was read: their database cannot be fetched")?;
    cargo_with(&["deny", "--offline", "check", "advisories"], &path)
}

/// Asks for every address once.
fn links() -> Result<()> {
    let root = root()?;
    let mut texts = Vec::new();
    for place in DOCUMENTS {
        let path = root.join(place);
        let files = if path.is_dir() {
            fs::read_dir(&path)?
                .flatten()
                .map(|entry| entry.path())
                .collect()
        } else {
            vec![path]
        };
        let documents = files
            .iter()
            .filter(|file| file.extension().is_some_and(|end| end == "md"));
        for file in documents {
            texts.push(
                fs::read_to_string(file).with_context(|| format!("read {}", file.display()))?,
            );
        }
    }
    let mut all: Vec<&str> = texts.iter().flat_map(|text| addresses(text)).collect();
    all.sort_unstable();
    all.dedup();
    let broken: Vec<&str> = all
        .into_iter()
        .filter(|address| !answers(address))
        .collect();
    if broken.is_empty() {
        Ok(())
    } else {
        bail!("no page at {}", broken.join(" "))
    }
}

/// Addresses that links of a document lead to.
fn addresses(text: &str) -> impl Iterator<Item = &str> {
    let links = text.split("](").skip(1);
    let links = links.filter_map(|rest| rest.split([')', ' ', '#']).next());
    links.filter(|link| link.starts_with("https://") || link.starts_with("http://"))
}

fn answers(address: &str) -> bool {
    let seconds = ["--max-time", "30", "--retry", "2"];
    let quiet = ["--silent", "--fail", "--location", "--output", "/dev/null"];
    let status = Command::new("curl")
        .args(quiet)
        .args(seconds)
        .arg("--")
        .arg(address)
        .status();
    status.is_ok_and(|status| status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_those_of_links() {
        let text = "[a](https://a.example/x#y) `http://127.0.0.1/` [b](b.md) [c](http://c.example)";
        let found: Vec<&str> = addresses(text).collect();
        assert_eq!(found, ["https://a.example/x", "http://c.example"]);
        assert!(run(&["nonsense".to_owned()]).is_err());
    }
}
