//! `cargo xtask fuzz`: feeds every fuzz target with mutated input for a while.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::project::{cargo, root};
use crate::setup;

/// The targets, and directories of initial inputs.
const TARGETS: [(&str, Option<&str>); 18] = [
    ("bare", None),
    ("response", None),
    ("http2", None),
    ("frames", None),
    ("capture", Some("crates/trace/tests/captures")),
    ("connections", Some("crates/trace/tests/captures")),
    ("flow", None),
    ("chunked", None),
    ("html", None),
    ("multistatus", None),
    ("challenge", None),
    ("netrc", None),
    ("constraint", None),
    ("suite", Some("suites")),
    ("experiment", Some("experiments")),
    ("filelist", None),
    ("rundir", None),
    ("report", None),
];

/// Default time of each target.
const USUAL: Duration = Duration::from_secs(60);
/// An input that takes longer is a failure: a hang.
const HANG: Duration = Duration::from_secs(10);
/// An input that takes more memory is a failure, too.
const MEMORY_MIB: u32 = 2048;

/// Runs `[TARGET ...] [--seconds N]` of the command line.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let (mut targets, mut time) = (Vec::new(), USUAL);
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--seconds" => {
                let seconds = words.next().context("--seconds needs a number")?;
                let seconds = seconds
                    .parse()
                    .with_context(|| format!("--seconds {seconds}"))?;
                time = Duration::from_secs(seconds);
            }
            name => targets.push(target(name)?),
        }
    }
    if targets.is_empty() {
        targets = TARGETS.to_vec();
    }
    setup::published(setup::CARGO_FUZZ)?;
    // All of them, even if the first fails.
    let failed: Vec<&str> = targets
        .into_iter()
        .filter_map(|(name, seeds)| {
            let error = fuzz(name, seeds, time).err()?;
            message!("xtask: {error:#}");
            Some(name)
        })
        .collect();
    if !failed.is_empty() {
        bail!(
            "fuzzing found something in {}; the inputs are in fuzz/artifacts/TARGET/",
            failed.join(", ")
        );
    }
    Ok(())
}

fn target(name: &str) -> Result<(&'static str, Option<&'static str>)> {
    let known = TARGETS.into_iter().find(|(target, _)| *target == name);
    known.with_context(|| {
        let names = TARGETS.map(|(target, _)| target);
        format!("{name} is no fuzz target; there are {}", names.join(", "))
    })
}

fn fuzz(name: &str, seeds: Option<&str>, time: Duration) -> Result<()> {
    let corpus = Path::new("fuzz/corpus").join(name).display().to_string();
    let mut arguments = ["fuzz", "run", "--features=libfuzzer", name]
        .map(str::to_owned)
        .to_vec();
    if let Some(seeds) = seeds {
        // New inputs go to the first directory, which cargo-fuzz makes only if it is the only one.
        fs::create_dir_all(root()?.join(&corpus)).with_context(|| format!("making {corpus}"))?;
        arguments.extend([corpus, seeds.to_owned()]);
    }
    arguments.extend([
        "--".to_owned(),
        format!("-max_total_time={}", time.as_secs()),
        format!("-timeout={}", HANG.as_secs()),
        format!("-rss_limit_mb={MEMORY_MIB}"),
        "-print_final_stats=1".to_owned(),
    ]);
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    // The sanitizer and the counters of libFuzzer are unstable options of the compiler; this lets
    // the stable one accept them.
    cargo(
        &arguments,
        &[("RUSTC_BOOTSTRAP", "1".into()), ("PATH", setup::path()?)],
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_target_is_run() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"))
            .parent()
            .expect("xtask is in the project");
        let files = std::fs::read_dir(root.join("fuzz/fuzz_targets")).expect("there are targets");
        let mut names: Vec<String> = files
            .map(|file| file.expect("a readable directory").path())
            .map(|path| {
                path.file_stem()
                    .unwrap_or_default()
                    .to_string_lossy()
                    .into_owned()
            })
            .collect();
        names.sort();
        let mut known = TARGETS.map(|(name, _)| name);
        known.sort_unstable();
        assert_eq!(names, known);
        let manifest = std::fs::read_to_string(root.join("fuzz/Cargo.toml")).expect("a manifest");
        let readme = std::fs::read_to_string(root.join("fuzz/README.md")).expect("a README");
        for name in known {
            assert!(manifest.contains(&format!("name = \"{name}\"")), "{name}");
            assert!(readme.contains(&format!("| {name} ")), "{name}");
        }
        assert!(target("nonsense").is_err());
    }
}
