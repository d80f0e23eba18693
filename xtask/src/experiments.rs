//! `cargo xtask experiments`: measures all built-in experiments, and puts their findings into
//! `docs/FINDINGS.md`.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use crate::project::{between, build_release, root};

const PAGE: &str = "docs/FINDINGS.md";
const BEGIN: &str = "<!-- findings -->\n";
const END: &str = "<!-- /findings -->";
/// Status of `lab run` for a finished campaign: only its report is needed then.
const REFUSED: i32 = 2;

/// Measures these experiments, or all; with `--full` all of their cells. A campaign in
/// `target/experiments` is resumed, and only reported if it is finished.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let root = root()?;
    let is_full = arguments.iter().any(|argument| argument == "--full");
    let is_name = |argument: &&String| *argument != "--full";
    let names: Vec<&String> = arguments.iter().filter(is_name).collect();
    let known = built_in(root)?;
    if let Some(name) = names.iter().find(|name| !known.contains(**name)) {
        bail!("experiments knows no {name}; known: {}", known.join(", "));
    }
    let program = build_release(&["prestan"])?.join("prestan");
    let directory = root.join("target/experiments");
    fs::create_dir_all(&directory)?;
    let is_chosen = |name: &&String| names.is_empty() || names.contains(name);
    for name in known.iter().filter(is_chosen) {
        measure(&program, &directory, name, is_full)?;
    }
    let page = root.join(PAGE);
    let text = fs::read_to_string(&page).with_context(|| format!("reading {PAGE}"))?;
    let found = known.iter().map(|name| findings(&directory, name));
    let found: Result<Vec<String>> = found.collect();
    fs::write(&page, between(&text, (BEGIN, END), &found?.concat())?)?;
    Ok(())
}

/// The names of the experiments, in the order of the page.
fn built_in(root: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(root.join("experiments"))? {
        let path = entry?.path();
        let stem = path.file_stem();
        names.extend(stem.map(|stem| stem.to_string_lossy().into_owned()));
    }
    names.sort_unstable();
    Ok(names)
}

fn measure(program: &Path, directory: &Path, name: &str, is_full: bool) -> Result<()> {
    let campaign = directory.join(name);
    let markdown = directory.join(name).with_extension("md");
    let prestan = |arguments: &[&str]| {
        let mut prestan = Command::new(program);
        prestan.arg("lab").args(arguments);
        prestan.arg("--markdown").arg(&markdown);
        prestan
    };
    let mut run = prestan(&["run", name]);
    run.arg("--save").arg(&campaign);
    run.args(is_full.then_some("--full"));
    let status = run.status().context("starting the experiment")?;
    if status.code() == Some(REFUSED) {
        let mut report = prestan(&["report"]);
        let status = report.arg(&campaign).status()?;
        ensure!(status.success(), "{name} has no report ({status})");
        return Ok(());
    }
    ensure!(status.success(), "{name} was not measured ({status})");
    Ok(())
}

/// Findings of a measured experiment.
fn findings(directory: &Path, name: &str) -> Result<String> {
    let path = directory.join(name).with_extension("md");
    if !path.exists() {
        return Ok(String::new());
    }
    Ok(fs::read_to_string(path)? + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_stand_between_their_marks() {
        let page = "a\n<!-- findings -->\nold\n<!-- /findings -->\nb\n";
        let new = between(page, (BEGIN, END), "new\n\n").unwrap();
        let expected = "a\n<!-- findings -->\n\nnew\n\n<!-- /findings -->\nb\n";
        assert_eq!(new, expected);
        assert!(between("a\n<!-- findings -->\nold\n", (BEGIN, END), "new").is_err());
    }
}
