//! The suite `http-versions`, other uses of connections by test, and verification of responses.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use serde_json::Value;
use testbed::fault::{Fault, Rule, ServedExchange};
use testbed::need_or;

use crate::support::faulty::{Faulty, status};
use crate::support::load::{kept, plain};
use crate::support::real::{is_installed, started};
use crate::support::rows::{names, row};
use crate::support::{Outcome, Prestan};

/// Connections of a download of each page: of 13 files and of 6.
const CONNECTIONS: [(&str, u64); 12] = [
    ("Serial_13", 13),
    ("Parallel_13", 13),
    ("Persistent_13", 1),
    ("Pipelined_13", 1),
    ("Kept4_13", 4),
    ("Kept1_13", 1),
    ("Serial_6", 6),
    ("Parallel_6", 6),
    ("Persistent_6", 1),
    ("Pipelined_6", 1),
    ("Kept4_6", 4),
    ("Kept1_6", 1),
];

/// Times each page is downloaded.
const DOWNLOADS: u64 = 4;

fn run(url: &str) -> Prestan {
    prestan!("run http-versions {url} -r 4 --json -")
}

/// Result of each page.
fn pages(outcome: &Outcome) -> BTreeMap<String, Value> {
    let document = outcome.json();
    let pages = document["webstone"]["pages"].as_array().unwrap();
    let page = |page: &Value| {
        let name = page["name"].as_str().unwrap().to_owned();
        (name, page["retrieved"].clone())
    };
    pages.iter().map(page).collect()
}

fn assert_connections(outcome: &Outcome) {
    assert_eq!(outcome.code, 0, "{outcome}");
    let pages = pages(outcome);
    let document = outcome.json();
    for (name, each) in CONNECTIONS {
        let page = &pages[name];
        let number = |what: &str| page[what].as_u64().unwrap();
        assert_eq!(number("pages"), DOWNLOADS, "{name}: {outcome}");
        assert_eq!(number("errors"), 0, "{name}: {outcome}");
        assert_eq!(number("connects"), each * DOWNLOADS, "{name}: {outcome}");
        let site = if name.ends_with("13") {
            80_000
        } else {
            545_000
        };
        assert_eq!(number("body_bytes"), site * DOWNLOADS, "{name}");
        // A connection takes its SYN, the acknowledgement of the other one, and a request.
        let (sent, received) = (number("segments_sent"), number("segments_received"));
        assert!(sent >= 3 * each * DOWNLOADS, "{name}: {sent}");
        assert!(received >= 2 * each * DOWNLOADS, "{name}: {received}");
        let connects = &row(&document, name)["connects"];
        assert_eq!(connects["count"], each * DOWNLOADS, "{name}");
        assert_eq!(connects["segments_sent"], sent, "{name}");
    }
    let segments = |name: &str| pages[name]["segments_sent"].as_u64().unwrap();
    let serial = segments("Serial_13");
    assert!(serial > 2 * segments("Persistent_13"), "{outcome}");
    assert!(serial > segments("Pipelined_13"), "{outcome}");
    let verdicts = document["constraints"].as_array().unwrap();
    assert_eq!(verdicts.len(), 4, "{outcome}");
    let all_pass = verdicts.iter().all(|one| one["verdict"] == "pass");
    assert!(all_pass, "{outcome}");
    let warned = document["warnings"].to_string();
    assert!(!warned.contains("opened a new connection"), "{warned}");
}

/// The report agrees with the record of the server.
#[test]
fn every_case_opens_the_connections_that_it_is_about() {
    let server = plain();
    let outcome = run(&server.url()).run();
    assert_connections(&outcome);
    let run = kept(&outcome);
    for (name, each) in CONNECTIONS {
        let seen = server.measured(name);
        let connections: BTreeSet<u64> = seen.iter().map(|one| one.connection).collect();
        assert_eq!(connections.len() as u64, each * DOWNLOADS, "{name}");
        let test = run.plan.tests.iter().find(|test| test.name == name);
        let http = test.unwrap().http.unwrap();
        let is_kept = |one: &ServedExchange| one.header("connection") == Some("keep-alive");
        let keeps = seen.iter().all(is_kept);
        assert_eq!(keeps, name.starts_with("Kept"), "{name}");
        let protocols: BTreeSet<_> = seen.iter().filter_map(|one| one.header("host")).collect();
        assert_eq!(protocols.len(), 1, "{name}: {http}");
    }
}

#[test]
fn the_cases_are_the_same_on_nginx() {
    let Some(server) = started("nginx") else {
        return;
    };
    let outcome = run(&server.url()).run();
    assert_connections(&outcome);
    // In text, a line for each page with the time of one download.
    let printed = prestan!(outcome.again() => "report").env("COLUMNS", "130");
    let printed = printed.run();
    let mut lines = printed.stdout.lines();
    let line = lines.find(|line| line.starts_with("Kept4_13 "));
    let words: Vec<&str> = line.unwrap_or_default().split_whitespace().collect();
    assert_eq!(words.get(1), Some(&"4"), "{printed}");
    assert!(words.len() > 10, "{printed}");
}

/// Streams of one connection instead of a pipeline. The other cases are about HTTP/1, and are
/// refused before anything is sent.
#[test]
fn two_of_the_cases_are_there_with_http_2() {
    if !is_installed("apache") {
        return;
    }
    let of = |only: &str| {
        prestan!(
            "run http-versions --server apache,http=2 --param version=2 --only {only} -r 4 --json -"
        )
        .run()
    };
    let outcome = of("Persistent_13,Pipelined_13").ended(0);
    for (name, page) in pages(&outcome) {
        assert_eq!(page["pages"], DOWNLOADS, "{name}: {outcome}");
        assert_eq!(page["connects"], DOWNLOADS, "{name}: {outcome}");
    }
    of("Persistent_13,Kept1_13").ended(2).stderr_has("Kept1_13");
}

/// A second opinion on the one connection that is kept: the real wget, which has one for all files.
#[test]
fn wget_keeps_one_connection_as_the_case_does() {
    let server = plain();
    let site = server.demo.root();
    for (name, size) in [("index.html", 29_000), ("a.gif", 600), ("b.gif", 13_000)] {
        std::fs::write(site.join(name), vec![b'x'; size]).unwrap();
    }
    let urls = ["index.html", "a.gif", "b.gif"].map(|name| format!("{server}{name}"));
    // How many connections were opened for the three files.
    let fetched = |options: &[&str]| {
        let before = server.exchanges().len();
        let mut wget = Command::new("wget");
        wget.args(["-q", "-O", "/dev/null", "--no-proxy"]);
        wget.args(options).args(&urls);
        wget.status().ok().filter(|status| status.success())?;
        let seen = server.exchanges().split_off(before);
        assert_eq!(seen.len(), 3);
        let connections: BTreeSet<u64> = seen.iter().map(|one| one.connection).collect();
        Some(connections.len())
    };
    let kept = fetched(&[]).ok_or("wget is not installed, or failed".to_owned());
    let Some(kept) = need_or(kept) else { return };
    assert_eq!(kept, 1);
    assert_eq!(fetched(&["--no-http-keep-alive"]), Some(3));
}

#[test]
fn all_cases_compete_on_demand() {
    let server = plain();
    let outcome = prestan!(run(&server.url()) => "--only *_13 --compete --save kept").ends(0);
    let document = outcome.json();
    assert_eq!(names(&document), ["Serial_13"]);
    let beside = document["beside"].as_array().unwrap();
    let names: Vec<&str> = beside
        .iter()
        .filter_map(|load| load["name"].as_str())
        .collect();
    let expected: Vec<&str> = CONNECTIONS[1..6].iter().map(|(name, _)| *name).collect();
    assert_eq!(names, expected);
    for (load, (name, each)) in beside.iter().zip(&CONNECTIONS[1..6]) {
        let result = &load["result"];
        let retrieved = &result["webstone"]["pages"][0]["retrieved"];
        let number = |what: &str| retrieved[what].as_u64().unwrap();
        let pages = number("pages");
        assert!(pages > 0 && number("errors") == 0, "{name}: {result}");
        // Visits at the edges of the window are counted by their end, with all of their
        // connections.
        assert_eq!(number("connects"), each * pages, "{name}: {result}");
    }
    // Of one test there is nothing to compete with.
    let alone = prestan!(run(&server.url()) => "--only Kept1_6 --compete").ends(2);
    alone.stderr_has("--compete: of http-versions only one test");
}

#[test]
fn tests_that_use_connections_differently_are_no_load() {
    let server = plain();
    let refused = prestan!("load --mix http-versions --writes {server}").ends(2);
    refused.stderr_has("Serial_13 and Parallel_13 use connections in different ways");
    assert_eq!(server.server.connections(), 0);
}

/// Pages of two files; of the second, the server changes the content without changing its length.
const TWO: &str = "
suite: two
tests:
  - name: Two
    http: {keep: page}
    setup:
      - {PUT: a, body: {size: 300}}
      - {PUT: b, body: {text: 'the content that was sent'}}
    loop:
      - page: Two
        measure: Two
        steps:
          - {GET: a, expect: {body: {size: 300}}}
          - {GET: b, expect: {body: {text: 'the content that was sent'}}}
";

fn verified(server: &Faulty, command: &str, verify: &str) -> (Outcome, Value) {
    let prestan = Prestan::new();
    prestan.file("two.yaml", TWO);
    let prestan = prestan.words(command);
    let outcome = prestan!(prestan => "{server} --warmup 0 --json - --verify {verify}").run();
    let outcomes = row(&outcome.json(), "Two")["outcomes"].clone();
    (outcome, outcomes)
}

#[test]
fn as_much_is_verified_as_is_wanted() {
    let change = || Fault::RewriteBody {
        from: "content".to_owned(),
        to: "CONTENT".to_owned(),
    };
    // From the third response on; all users that verify a body have verified the first one.
    let change = || Rule::new(change()).method("GET").path("/b").from(3);
    let server = Faulty::new(|builder| builder.rule(change()));
    let again = || {
        server.server.clear_rules();
        server.server.add_rule(change());
    };
    for (verify, wrong) in [("full", 8), ("first", 0), ("head", 0), ("none", 0)] {
        again();
        let (outcome, outcomes) = verified(&server, "run two.yaml -r 10", verify);
        assert_eq!(outcome.code, i32::from(wrong > 0), "{verify}: {outcome}");
        assert_eq!(outcomes["wrong_body"], wrong, "{verify}: {outcome}");
        assert_eq!(outcomes["ok"], 20 - wrong, "{verify}: {outcome}");
        let plan = kept(&outcome).plan;
        assert_eq!(plan.measures[0].verify.name(), verify);
    }
    // A load reads as much.
    for (verify, wrong) in [("full", 8), ("first", 0)] {
        again();
        let (outcome, outcomes) = verified(&server, "load --mix two.yaml --writes -n 10", verify);
        assert_eq!(outcomes["wrong_body"], wrong, "{verify}: {outcome}");
    }
    // `head` detects an error, `none` does not.
    for (verify, wrong) in [("head", 10), ("none", 0)] {
        server.server.clear_rules();
        let gone = Rule::new(status(404, &[], "gone")).method("GET").path("/b");
        server.server.add_rule(gone);
        let (outcome, outcomes) = verified(&server, "run two.yaml -r 10", verify);
        assert_eq!(outcomes["wrong_status"], wrong, "{verify}: {outcome}");
    }
}

#[test]
fn a_body_that_nobody_knows_cannot_be_verified() {
    let server = plain();
    let refused = prestan!("load {server} --verify full").ends(2);
    refused.stderr_has("the content of the response to GET is not known");
    let unknown = prestan!("load {server} --verify all").run();
    unknown.stderr_has("write full, first, head or none");
}

/// A failure of a connection in the middle of a page is a failure of one of its files, and the next
/// page is not affected.
#[test]
fn a_connection_that_dies_in_a_page_costs_that_page() {
    for (case, fault) in [
        ("Persistent_13", Fault::Reset),
        ("Pipelined_13", Fault::CloseAfterBytes(300)),
        ("Kept4_13", Fault::CloseAfterBytes(300)),
        ("Parallel_13", Fault::Reset),
        ("Pipelined_13", Fault::Garbage(b"no HTTP".to_vec())),
        ("Pipelined_13", Fault::Hang),
        ("Kept4_13", Fault::Hang),
    ] {
        // The second measured download, after one to warm up.
        let rule = Rule::new(fault.clone()).tag(&format!("({case})"));
        let rule = rule.path("i12").nth(2);
        let server = Faulty::new(|builder| builder.rule(rule));
        let outcome = prestan!(run(&server.url()) => "--only {case} --warmup 1 --timeout 4s").run();
        let page = &pages(&outcome)[case];
        let ended = |what: &str| page[what].as_u64().unwrap();
        let downloads = ended("pages") + ended("errors");
        assert_eq!(downloads, DOWNLOADS, "{case} {fault:?}: {outcome}");
        // A request that may be repeated is, where its connection had worked; none that waited in
        // vain is.
        if fault == Fault::Hang {
            assert_eq!(ended("errors"), 1, "{case} {fault:?}: {outcome}");
        }
        assert!(ended("errors") <= 1, "{case} {fault:?}: {outcome}");
        let connects = ended("connects");
        assert!(connects >= DOWNLOADS, "{case} {fault:?}: {outcome}");
    }
}
