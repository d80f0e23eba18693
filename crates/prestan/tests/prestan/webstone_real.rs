//! `prestan webstone` against Apache and nginx: the report agrees with the server's own access log,
//! request for request and byte for byte.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use record::Run;

use crate::support::faulty::checked;
use crate::support::load::kept;
use crate::support::names_in;
use crate::support::real::started;

/// Number, status and bytes of a request.
type Request = (u64, u16, u64);

/// Every measured request in a log, in the order of the numbers.
///
/// `"METHOD PATH HTTP/1.1" STATUS TIME BYTES "SUITE: NUMBER (WHAT)"`
fn measured(log: &str) -> Vec<Request> {
    let line = |line: &str| {
        let (_, label) = line.split_once(" \"webstone-general: ")?;
        let (number, _) = label.split_once(' ')?;
        let number: u64 = number.parse().unwrap();
        let (_, rest) = line.split_once("\" ").unwrap();
        let mut numbers = rest.split(' ');
        let status = numbers.next().unwrap().parse().unwrap();
        let bytes = numbers.nth(1).unwrap().parse().unwrap();
        // Warming up has no number.
        (number > 0).then_some((number, status, bytes))
    };
    // A line that is being written is no line yet.
    let whole = log.rfind('\n').map_or("", |end| &log[..end]);
    let mut requests: Vec<Request> = whole.lines().filter_map(line).collect();
    requests.sort_unstable();
    requests
}

fn recorded(run: &Run) -> Vec<Request> {
    let request = |sample: &record::Sample| {
        let (number, bytes) = (sample.number, sample.bytes_received);
        (number, sample.status.unwrap(), bytes)
    };
    let mut requests: Vec<Request> = run.samples.iter().map(request).collect();
    requests.sort_unstable();
    requests
}

/// Servers write their logs when they like.
fn assert_log_tells_the_same(log: &Path, run: &Run) {
    let expected = recorded(run);
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        let logged = measured(&fs::read_to_string(log).unwrap_or_default());
        if logged == expected {
            return;
        }
        if Instant::now() > deadline {
            let differs = expected
                .iter()
                .zip(&logged)
                .find(|(one, other)| one != other);
            let (here, there) = (expected.len(), logged.len());
            panic!("{here} in the run, {there} in the log; the first that differ: {differs:?}");
        }
        thread::park_timeout(Duration::from_millis(20)); // between two looks at the file
    }
}

fn agrees_with_its_log(name: &str, options: &str) {
    let Some(server) = started(name) else { return };
    let url = server.url();
    let webstone =
        prestan!("webstone general {url} --prepare --children 24 --duration 2s --json -");
    let outcome = webstone.words(options).ends(0);
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
    let bytes: u64 = logged.iter().map(|(_, _, bytes)| bytes).sum();
    assert_eq!(both("bytes"), bytes, "{name}: {outcome}");
    assert_eq!(both("errors"), 0, "{name}: {outcome}");
    assert!(webstone["number"].as_f64().unwrap() > 0.0, "{name}");
    let left = names_in(&server.storage());
    let is_ours = |name: &String| name.starts_with("Prestan");
    assert!(!left.iter().any(is_ours), "{name}: {left:?}");
}

#[test]
fn apache_and_its_log_agree() {
    agrees_with_its_log("apache", "");
    agrees_with_its_log("apache", "--classic");
}

#[test]
fn nginx_and_its_log_agree() {
    agrees_with_its_log("nginx", "");
    agrees_with_its_log("nginx", "--parallel 4");
    agrees_with_its_log("nginx", "--pipeline 4");
}

#[test]
fn the_log_agrees_where_a_file_is_missing() {
    let Some(server) = started("nginx") else {
        return;
    };
    prestan!("webstone general --generate {}", server.storage()).ends(0);
    fs::remove_file(server.storage().join("file50k.gif")).unwrap();
    let url = server.url();
    let outcome = prestan!("webstone general {url} --json - --children 8 --duration 1s").ends(1);
    let (result, run) = (checked(&outcome), kept(&outcome));
    assert_log_tells_the_same(&server.logs().access.unwrap(), &run);
    let retrieved = &result["webstone"]["retrieved"];
    let missing = &result["webstone"]["pages"][3]["retrieved"];
    assert_eq!(missing["pages"], 0, "{outcome}");
    assert!(missing["errors"].as_u64().unwrap() > 0, "{outcome}");
    assert_eq!(retrieved["errors"], missing["errors"], "{outcome}");
    let (apart, of_page) = (&retrieved["bytes_apart"], &missing["bytes_apart"]);
    assert_eq!(apart, of_page, "{outcome}");
}
