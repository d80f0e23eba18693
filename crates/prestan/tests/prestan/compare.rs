//! `prestan compare`: servers side by side, and recorded runs.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::support::faulty::Faulty;
use crate::support::load::plain;
use crate::support::{Outcome, Prestan};
use serde_json::Value;
use testbed::fault::{Fault, Rule};

/// A short comparison of these tests.
fn compare(sides: &[&str], only: &str) -> Prestan {
    let prestan = prestan!("compare").args(sides);
    prestan!(prestan => "--only {only} --warmup 1 -p 3 -d 2 -w 2")
}

fn with_json(prestan: Prestan) -> Outcome {
    prestan!(prestan => "--json -").run()
}

/// Verdicts by the names of the rows.
fn verdicts(document: &Value) -> BTreeMap<String, String> {
    let tests = document["tests"].as_array().unwrap().iter();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    tests
        .map(|test| (text(&test["measure"]), text(&test["verdict"])))
        .collect()
}

fn test<'a>(document: &'a Value, name: &str) -> &'a Value {
    let mut tests = document["tests"].as_array().unwrap().iter();
    tests.find(|test| test["measure"] == name).unwrap()
}

/// A server that takes so much longer for one test.
fn slow(test: &str, delay: Duration) -> Faulty {
    let rule = Rule::new(Fault::Delay(delay)).tag(&format!("({test})"));
    Faulty::new(|builder| builder.rule(rule))
}

#[test]
fn what_is_slower_is_found_and_may_fail_a_build() {
    let (a, b) = (plain(), slow("Get1K", Duration::from_millis(20)));
    let sides = [&*a.server.url(), &*b.server.url()];
    let outcome = prestan!(compare(&sides, "Get1K,Put1K") => "-r 5 --repeat 5 --run-id week --fail-if 'slower 5%' \
        --junit junit.xml --json -")
        .ends(1);
    let document = outcome.json();
    let get = test(&document, "Get1K");
    assert_eq!(get["verdict"], "slower", "{get:#}");
    let (a_us, b_us) = (&get["a_says"]["mean_us"], &get["b_says"]["mean_us"]);
    let difference = b_us.as_f64().unwrap() - a_us.as_f64().unwrap();
    assert!((19_000.0..60_000.0).contains(&difference), "{get:#}");
    assert!(get["ci95"][0].as_f64().unwrap() > 1.0, "{get:#}");
    // The 5 % are for occasional false alarms; none is near 20 ms.
    let put = test(&document, "Put1K")["ratio"].as_f64().unwrap();
    assert!(put < 5.0, "{document:#}");
    assert_eq!(document["b"][0]["pairs"], 5);
    for server in [&a, &b] {
        assert_eq!(server.left(), [""; 0]);
    }

    let xml = std::fs::read_to_string(outcome.home().join("junit.xml")).unwrap();
    let case = xml
        .split("<testcase ")
        .find(|case| case.contains("name=\"Get1K\""));
    let failure = "<failure message=\"Get1K: slower";
    assert!(case.is_some_and(|case| case.contains(failure)), "{xml}");
    assert!(xml.contains("<testsuites tests=\"2\" failures=\""), "{xml}");
    outcome.stderr_has("prestan: failed: ");
    outcome.stderr_has("Get1K (slower)");
    // It would have to be more than ten thousand times slower.
    prestan!(outcome.again() => "compare week --fail-if 'slower 1000000%'").ends(0);
}

#[test]
fn runs_take_turns_test_by_test() {
    let server = plain();
    let url = server.server.url();
    // One round is one batch, on a busy machine as well.
    with_json(prestan!(compare(&[&url, &url], "Get1K,Lock") => "-r 1 --repeat 2 --run-id turns"))
        .ended(0);
    // The measured requests of every run, in the order in which the server saw them.
    let mut blocks: Vec<(String, String)> = Vec::new();
    for exchange in server.server.exchanges() {
        let label = exchange.header("x-prestan").unwrap_or_default();
        let test = ["Get1K", "Lock"]
            .into_iter()
            .find(|test| label.ends_with(&format!("({test})")));
        let run = exchange.path.split("PrestanTest-turns-").nth(1);
        if let (Some(test), Some(run)) = (test, run) {
            blocks.push((test.to_owned(), run[..2].to_owned()));
        }
    }
    blocks.dedup();
    let order: Vec<String> = blocks
        .iter()
        .map(|(test, run)| format!("{test} {run}"))
        .collect();
    let expected = [
        "Get1K a1", "Get1K b1", "Lock b1", "Lock a1", "Get1K b2", "Get1K a2", "Lock a2", "Lock b2",
    ];
    assert_eq!(order, expected);
    assert_eq!(server.left(), [""; 0]);
}

#[test]
fn recorded_runs_are_compared_too() {
    let server = slow("Get1K", Duration::from_millis(10));
    let fast = plain();
    let first = crate::support::faulty::run_of(&fast.server.url(), "Get1K,Put1K", 30).run();
    let path = |outcome: &Outcome| outcome.run().display().to_string();
    let second = crate::support::faulty::run_of(&server.server.url(), "Get1K,Put1K", 30).run();
    let (a, b) = (path(&first), path(&second));
    let compared = |sides: &[&str]| with_json(prestan!("compare").args(sides));

    let there = compared(&[&a, &b]).json();
    assert_eq!(verdicts(&there)["Get1K"], "inconclusive");
    let get = test(&there, "Get1K");
    assert_eq!(get["ci95"], Value::Null);
    assert!(get["ratio"].as_f64().unwrap() > 2.0, "{there:#}");
    let says = there["b"][0]["caveats"].to_string();
    assert!(says.contains("one run of each"), "{says}");
    // Several runs of one server, and three servers.
    let many = compared(&[
        &format!("{a},{b}"),
        &format!("{a},{b}"),
        &format!("{b},{a}"),
    ])
    .ended(0);
    assert_eq!(many.json()["b"].as_array().unwrap().len(), 2);
    assert_eq!(many.json()["tests"].as_array().unwrap().len(), 4);
    assert_eq!(many.json()["a"]["name"], format!("{a} (2 runs) #1"));

    let url = fast.server.url();
    for (sides, says) in [
        (format!("{a} {b},{b}"), "as many of both"),
        (
            format!("{a} --server apache"),
            "is recorded, and --server apache would be measured now",
        ),
        (
            format!("{a} {b} --fail-if 'slower 5%'"),
            "--fail-if needs several runs of each server",
        ),
        (a.clone(), "only one side is given"),
        (
            format!("{a} {b} --only Get1K"),
            "nothing is measured: leave out",
        ),
        (
            format!("{a} {b} --repeat 3"),
            "nothing is measured: leave out",
        ),
        (
            format!("{a} {b} --insecure"),
            "nothing is measured: leave out",
        ),
        (
            format!("{url} {url} --fail-if 'slower 1%'"),
            "times that differ by 2% count as the same",
        ),
        (
            format!("{url} {url} --fail-if 'slower(Get1K) > 5 % or brokn'"),
            "  slower(Get1K) > 5 % or brokn\n                         ^",
        ),
        (
            format!("{url} {url} --fail-if 'broken or slower(Get1K1K) > 5 %'"),
            "nothing is measured as `Get1K1K`",
        ),
        (
            format!("{url} {url} --fail-if 'p99 > 5 ms'"),
            "`p99` is about one server, and this compares two",
        ),
        (
            format!("{url} {url} --fail-if 'slower >'"),
            "  slower >\n          ^",
        ),
        ("".to_owned(), "nothing to compare is given"),
    ] {
        prestan!("compare").words(&sides).ends(2).stderr_has(says);
    }
    // The command in the message works.
    let url = fast.server.url();
    let mixed = prestan!("compare {a} {url}").ends(2);
    let lines: Vec<&str> = mixed.stderr.lines().map(str::trim).collect();
    let words = |line: &str| -> Vec<String> {
        let words = line.split_whitespace().skip(1);
        words
            .map(|word| word.trim_matches('\'').to_owned())
            .collect()
    };
    let typed = |start: &str| -> Vec<String> {
        let line = lines.iter().find(|line| line.starts_with(start));
        words(line.unwrap_or_else(|| panic!("no {start} in {mixed}")))
    };
    let prestan = Prestan::new().args(typed("prestan run"));
    let measured = prestan!(prestan => "--json - --quiet").ends(0);
    prestan!("compare {a} {} --json -", path(&measured)).ends(0);

    let other = crate::support::faulty::run_of(&fast.server.url(), "Get1K", 30).run();
    let refused = prestan!("compare {a} {}", path(&other)).ends(2);
    refused.stderr_has("the set of tests is Put1K, Get1K in one");
}

#[test]
fn a_server_that_is_not_there_ends_it_at_once_and_cleanly() {
    let server = plain();
    let sides = [&*server.server.url(), "http://127.0.0.1:1/"];
    let outcome = prestan!(compare(&sides, "Get1K") => "--repeat 3").ends(4);
    outcome.stderr_has("connection refused");
    assert_eq!(server.left(), [""; 0]);
}

/// Response times end with the first byte: a slow body shows in total times.
#[test]
fn a_slow_body_is_reported_and_total_times_are_compared() {
    let late = Rule::new(Fault::Trickle(Duration::from_micros(20))).tag("(Get1K)");
    let (a, b) = (plain(), Faulty::new(|builder| builder.rule(late)));
    let sides = [&*a.server.url(), &*b.server.url()];
    let outcome = prestan!(compare(&sides, "Get1K") => "--repeat 3 -r 10").ends(0);
    let says = "median total times (to the last byte of the response) differ by more";
    let text = outcome
        .stdout
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    assert!(text.contains(says), "{outcome}");
    let total =
        prestan!(compare(&sides, "Get1K") => "--repeat 3 -r 10 --times total --json -").ends(0);
    let document = total.json();
    assert_eq!(document["b"][0]["since"], "started", "{document:#}");
    let ratio = document["tests"][0]["ratio"].as_f64().unwrap();
    assert!(ratio > 5.0, "{document:#}");
    assert!(
        document["b"][0]["caveats"]
            .as_array()
            .unwrap()
            .iter()
            .all(|told| { !told.as_str().unwrap().contains("total times") })
    );
    // And each run of such a server has a note.
    let alone = crate::support::faulty::run_of(&b.server.url(), "Get1K", 10).run();
    let notes = alone.json()["tests"][0]["notes"].to_string();
    assert!(
        notes.contains("after the first byte of the response"),
        "{alone}"
    );
}
