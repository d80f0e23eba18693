//! `prestan compare`: servers side by side, and recorded runs.

use std::time::Duration;

use serde_json::Value;
use testbed::fault::{Fault, Rule};

use crate::support::faulty::{Faulty, run_of, unwrapped};
use crate::support::load::plain;
use crate::support::rows::row;
use crate::support::{Outcome, Prestan};

/// A short comparison of these tests.
fn compare(sides: &[&str], only: &str) -> Prestan {
    let prestan = prestan!("compare").args(sides);
    prestan!(prestan => "--only {only} --warmup 1 -p 3 -d 2 -w 2")
}

fn with_json(prestan: Prestan) -> Outcome {
    prestan!(prestan => "--json -").run()
}

/// The verdict of a row.
fn verdict(document: &Value, name: &str) -> Value {
    row(document, name)["verdict"].clone()
}
/// A server that takes so much longer for one test.
fn slow(test: &str, delay: Duration) -> Faulty {
    let rule = Rule::new(Fault::Delay(delay)).tag(&format!("({test})"));
    Faulty::new(|builder| builder.rule(rule))
}

#[test]
fn what_is_slower_is_found_and_may_fail_a_build() {
    let (a, b) = (plain(), slow("Get1K", Duration::from_millis(20)));
    let sides = [&*a.url(), &*b.url()];
    let outcome = prestan!(compare(&sides, "Get1K,Put1K") => "-r 5 --repeat 5 --run-id week --fail-if 'slower 5%' \
        --junit junit.xml --json -")
        .ends(1);
    let document = outcome.json();
    let get = row(&document, "Get1K");
    assert_eq!(get["verdict"], "slower", "{get:#}");
    let (a_us, b_us) = (&get["a_says"]["mean_us"], &get["b_says"]["mean_us"]);
    let difference = b_us.as_f64().unwrap() - a_us.as_f64().unwrap();
    assert!((19_000.0..60_000.0).contains(&difference), "{get:#}");
    assert!(get["ci95"][0].as_f64().unwrap() > 1.0, "{get:#}");
    // The 5 % are for occasional false alarms; none is near 20 ms.
    let put = row(&document, "Put1K")["ratio"].as_f64().unwrap();
    assert!(put < 5.0, "{document:#}");
    assert_eq!(document["b"][0]["pairs"], 5);
    for server in [&a, &b] {
        assert_eq!(server.left(), [""; 0]);
    }

    let xml = outcome.read("junit.xml");
    let mut cases = xml.split("<testcase ");
    let case = cases.find(|case| case.contains("name=\"Get1K\""));
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
    let url = server.url();
    // One round is one batch, on a busy machine as well.
    let turns = prestan!(compare(&[&url, &url], "Get1K,Lock") => "-r 1 --repeat 2 --run-id turns");
    with_json(turns).ended(0);
    // The measured requests of every run, in the order in which the server saw them.
    let mut order: Vec<String> = Vec::new();
    for exchange in server.exchanges() {
        let mut tests = ["Get1K", "Lock"].into_iter();
        let test = tests.find(|test| exchange.label().ends_with(&format!("({test})")));
        let run = exchange.path.split("PrestanTest-turns-").nth(1);
        if let (Some(test), Some(run)) = (test, run) {
            order.push(format!("{test} {}", &run[..2]));
        }
    }
    order.dedup();
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
    let recorded = |server: &Faulty, only: &str| {
        let outcome = run_of(&server.url(), only, 30).run();
        // The run is gone with its home.
        let run = outcome.run().display().to_string();
        (outcome, run)
    };
    let (_first, a) = recorded(&fast, "Get1K,Put1K");
    let (_second, b) = recorded(&server, "Get1K,Put1K");
    let compared = |sides: &[&str]| with_json(prestan!("compare").args(sides));

    let there = compared(&[&a, &b]).json();
    assert_eq!(verdict(&there, "Get1K"), "inconclusive");
    let get = row(&there, "Get1K");
    assert_eq!(get["ci95"], Value::Null);
    assert!(get["ratio"].as_f64().unwrap() > 2.0, "{there:#}");
    let says = there["b"][0]["caveats"].to_string();
    assert!(says.contains("one run of each"), "{says}");
    // Several runs of one server, and three servers.
    let [ab, ba] = [format!("{a},{b}"), format!("{b},{a}")];
    let many = compared(&[&ab, &ab, &ba]).ended(0);
    assert_eq!(many.json()["b"].as_array().unwrap().len(), 2);
    assert_eq!(many.json()["tests"].as_array().unwrap().len(), 4);
    assert_eq!(many.json()["a"]["name"], format!("{a} (2 runs) #1"));

    let url = fast.url();
    let table = "
        A B,B => as many of both
        A --server apache => is recorded, and --server apache would be measured now
        A B --fail-if 'slower 5%' => --fail-if needs several runs of each server
        A => only one side is given
        A B --only Get1K => nothing is measured: leave out
        A B --repeat 3 => nothing is measured: leave out
        A B --insecure => nothing is measured: leave out
        URL URL --fail-if 'slower 1%' => times that differ by 2% count as the same
        URL URL --fail-if 'slower(Get1K) > 5 % or brokn'
          => ↵  slower(Get1K) > 5 % or brokn↵                         ^
        URL URL --fail-if 'broken or slower(Get1K1K) > 5 %' => nothing is measured as `Get1K1K`
        URL URL --fail-if 'p99 > 5 ms' => `p99` is about one server, and this compares two
        URL URL --fail-if 'slower >' => ↵  slower >↵          ^
    ";
    for [line, says] in cases::rows(table) {
        let words = line.split(' ').map(|word| match word {
            "A" => a.clone(),
            "B" => b.clone(),
            "B,B" => format!("{b},{b}"),
            "URL" => url.clone(),
            word => word.to_owned(),
        });
        let line = words.collect::<Vec<_>>().join(" ");
        prestan!("compare").words(&line).ends(2).stderr_has(says);
    }
    let nothing = prestan!("compare").ends(2);
    nothing.stderr_has("nothing to compare is given");
    // The command in the message works.
    let mixed = prestan!("compare {a} {url}").ends(2);
    let lines: Vec<&str> = mixed.stderr.lines().map(str::trim).collect();
    let words = |line: &str| -> Vec<String> {
        let words = line.split_whitespace().skip(1);
        words
            .map(|word| word.trim_matches('\'').to_owned())
            .collect()
    };
    let line = lines.iter().find(|line| line.starts_with("prestan run"));
    let prestan = Prestan::new().args(words(line.unwrap_or_else(|| panic!("{mixed}"))));
    let measured = prestan!(prestan => "--json - --quiet").ends(0);
    prestan!("compare {a} {} --json -", measured.run()).ends(0);

    let (_other, other) = recorded(&fast, "Get1K");
    let refused = prestan!("compare {a} {other}").ends(2);
    refused.stderr_has("the set of tests is Put1K, Get1K in one");
}

#[test]
fn a_server_that_is_not_there_ends_it_at_once_and_cleanly() {
    let server = plain();
    let sides = [&*server.url(), "http://127.0.0.1:1/"];
    let outcome = prestan!(compare(&sides, "Get1K") => "--repeat 3").ends(4);
    outcome.stderr_has("connection refused");
    assert_eq!(server.left(), [""; 0]);
}

/// Response times end with the first byte: a slow body shows in total times.
#[test]
fn a_slow_body_is_reported_and_total_times_are_compared() {
    let late = Rule::new(Fault::Trickle(Duration::from_micros(20))).tag("(Get1K)");
    let (a, b) = (plain(), Faulty::new(|builder| builder.rule(late)));
    let sides = [&*a.url(), &*b.url()];
    let outcome = prestan!(compare(&sides, "Get1K") => "--repeat 3 -r 10").ends(0);
    let says = "median total times (to the last byte of the response) differ by more";
    assert!(unwrapped(&outcome.stdout).contains(says), "{outcome}");
    let total =
        prestan!(compare(&sides, "Get1K") => "--repeat 3 -r 10 --times total --json -").ends(0);
    let document = total.json();
    assert_eq!(document["b"][0]["since"], "started", "{document:#}");
    let ratio = document["tests"][0]["ratio"].as_f64().unwrap();
    assert!(ratio > 5.0, "{document:#}");
    let caveats = &document["b"][0]["caveats"];
    let is_silent = !caveats.to_string().contains("total times");
    assert!(caveats.is_array() && is_silent, "{caveats}");
    // And each run of such a server has a note.
    let alone = run_of(&b.url(), "Get1K", 10).run();
    let notes = alone.json()["tests"][0]["notes"].to_string();
    let says = "after the first byte of the response";
    assert!(notes.contains(says), "{alone}");
}
