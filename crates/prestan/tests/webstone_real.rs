//! `prestan webstone` against Apache and nginx: the report agrees with the server's own access log,
//! request for request and byte for byte.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use record::Run;
use support::Prestan;
use support::faulty::checked;
use support::load::kept;
use testbed::real::Recipe;
use testbed::{RealServer, need_or};

/// Number, status and bytes of every measured request that a log has.
///
/// `"METHOD PATH HTTP/1.1" STATUS TIME BYTES "SUITE: NUMBER (WHAT)"`
fn measured(log: &str) -> BTreeMap<u64, (u16, u64)> {
    let line = |line: &str| {
        let (_, rest) = line.split_once("\" ")?;
        let (numbers, label) = rest.split_once(" \"")?;
        let mut numbers = numbers.split(' ');
        let (status, _, bytes) = (numbers.next()?, numbers.next()?, numbers.next()?);
        let number = label
            .strip_prefix("webstone-general: ")?
            .split(' ')
            .next()?;
        let number: u64 = number.parse().ok()?;
        // Warming up has no number.
        (number > 0).then_some((number, (status.parse().ok()?, bytes.parse().ok()?)))
    };
    log.lines().filter_map(line).collect()
}

fn recorded(run: &Run) -> BTreeMap<u64, (u16, u64)> {
    let samples = run.samples.iter();
    samples
        .map(|sample| {
            (
                sample.number,
                (sample.status.unwrap(), sample.bytes_received),
            )
        })
        .collect()
}

/// Servers write their logs when they like.
fn assert_log_tells_the_same(log: &Path, run: &Run) {
    let expected = recorded(run);
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        let told = measured(&fs::read_to_string(log).unwrap_or_default());
        if told == expected {
            return;
        }
        if Instant::now() > deadline {
            let differs = expected
                .iter()
                .find(|(number, what)| told.get(number) != Some(what));
            let told = differs.map(|(number, _)| told.get(number));
            panic!(
                "{} in the run; {differs:?} is in the log as {told:?}",
                expected.len()
            );
        }
        thread::park_timeout(Duration::from_millis(20)); // between two looks at the file
    }
}

fn agrees_with_its_log(name: &str, options: &[&str]) {
    let recipe = Recipe::named(name).unwrap();
    let Some(_) = need_or(recipe.installed()) else {
        return;
    };
    let server = RealServer::start(recipe).unwrap_or_else(|error| panic!("{error}"));
    let outcome = Prestan::new()
        .args(["webstone", "general", &server.url(), "--prepare"])
        .args(["--children", "24", "--duration", "2s", "--json", "-"])
        .args(options)
        .run();
    assert_eq!(outcome.code, 0, "{name}: {outcome}");
    let (result, run) = (checked(&outcome), kept(&outcome));
    assert_log_tells_the_same(&server.logs().access.unwrap(), &run);
    // The sums of the report are those of the samples, and with that of the log.
    let webstone = &result["webstone"];
    let both = |what: &str| {
        let number = |part: &str| webstone[part][what].as_u64().unwrap();
        number("retrieved") + number("left_out")
    };
    let logged = recorded(&run);
    assert_eq!(both("files"), logged.len() as u64, "{name}: {outcome}");
    let bytes: u64 = logged.values().map(|(_, bytes)| bytes).sum();
    assert_eq!(both("bytes"), bytes, "{name}: {outcome}");
    assert_eq!(both("errors"), 0, "{name}: {outcome}");
    assert!(webstone["number"].as_f64().unwrap() > 0.0, "{name}");
    let left = fs::read_dir(server.storage()).unwrap().flatten();
    let left: Vec<_> = left.map(|entry| entry.file_name()).collect();
    let is_ours = |name: &&std::ffi::OsString| name.to_string_lossy().starts_with("Prestan");
    assert!(left.iter().all(|name| !is_ours(&name)), "{name}: {left:?}");
}

#[test]
fn apache_and_its_log_agree() {
    agrees_with_its_log("apache", &[]);
    agrees_with_its_log("apache", &["--classic"]);
}

#[test]
fn nginx_and_its_log_agree() {
    agrees_with_its_log("nginx", &[]);
    agrees_with_its_log("nginx", &["--parallel", "4"]);
}
