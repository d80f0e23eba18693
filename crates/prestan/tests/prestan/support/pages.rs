//! Runs with pages: a list for tests, and common properties.

use std::collections::BTreeSet;
use std::path::Path;

use record::{Outcome as Ended, Run};
use serde_json::Value;

use super::faulty::{Faulty, checked};
use super::load::{ended, kept, plain};
use super::{Outcome, Prestan};

/// Two pages: one of three files, one of two.
pub(crate) const LIST: &str = "# pages\n2\n3 3\n/file1k.html\n/d/file2k.gif\n/file500.html 500\n1 2\n/file4k.html\n/file1k.html\n";

/// `prestan webstone LIST URL`, with its own list and JSON on standard output.
pub(crate) fn webstone(url: &str) -> Prestan {
    lasting(url, "400ms")
}

/// The same for so long.
pub(crate) fn lasting(url: &str, duration: &str) -> Prestan {
    prestan!(listed() => "{url} --json - --duration {duration}")
}

/// `prestan webstone LIST`, with its own list and nothing else.
pub(crate) fn listed() -> Prestan {
    let prestan = Prestan::new();
    let list = prestan.file("pages.list", LIST);
    prestan!(prestan => "webstone {}", list)
}

/// Writes the files of the list into a directory.
pub(crate) fn generate(directory: &Path) {
    let outcome = prestan!(listed() => "--generate {}", directory).ends(0);
    let says = "4 files, 7668 bytes, are in ";
    assert!(outcome.stdout.starts_with(says), "{outcome}");
}

/// The demo server with all files behind a fault server.
pub(crate) fn furnished() -> Faulty {
    let server = plain();
    generate(server.demo.root());
    server
}

/// Properties of every run with pages: the sums are those of the samples.
#[track_caller]
pub(crate) fn counted(outcome: &Outcome) -> (Value, Run) {
    let result = checked(outcome);
    let run = kept(outcome);
    let webstone = &result["webstone"];
    let both =
        |what: &str| number(&webstone["retrieved"][what]) + number(&webstone["left_out"][what]);
    let samples = &run.samples;
    let ok = ended(&run, Ended::Ok);
    assert_eq!(both("files"), ok as u64, "{outcome}");
    assert_eq!(
        both("failed_files"),
        (samples.len() - ok) as u64,
        "{outcome}"
    );
    let bytes: u64 = samples.iter().map(|sample| sample.bytes_received).sum();
    assert_eq!(both("bytes") + both("bytes_apart"), bytes, "{outcome}");
    let sent: u64 = samples.iter().map(|sample| sample.bytes_sent).sum();
    assert_eq!(both("bytes_sent"), sent, "{outcome}");
    let visits: BTreeSet<u64> = samples.iter().map(|one| one.visit.unwrap()).collect();
    assert_eq!(
        both("pages") + both("errors"),
        visits.len() as u64,
        "{outcome}"
    );
    let pages = webstone["pages"].as_array().unwrap().iter();
    let of_pages: u64 = pages.map(|page| number(&page["retrieved"]["pages"])).sum();
    assert_eq!(
        of_pages,
        number(&webstone["retrieved"]["pages"]),
        "{outcome}"
    );
    let rate = of_pages as f64 / webstone["seconds"].as_f64().unwrap() * 60.0;
    let deviation = (webstone["number"].as_f64().unwrap() - rate).abs();
    assert!(deviation <= 0.001 + rate * 1e-9, "{outcome}");
    (result, run)
}

#[track_caller]
pub(crate) fn number(value: &Value) -> u64 {
    value
        .as_u64()
        .unwrap_or_else(|| panic!("no number: {value}"))
}
