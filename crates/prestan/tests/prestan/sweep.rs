//! `prestan sweep`: known laws, implemented by the server.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use crate::support::faulty::{Faulty, PASSWORD, no_secret_in, status, with_credentials};
use crate::support::load::{plain, until};
use rustix::process::Signal;
use serde_json::{Value, json};
use tempfile::TempDir;
use testbed::fault::{Fault, Rule};

/// GET of a resource with its duration in its name, and of one without.
const SUITE: &str = r#"
suite: known
params: {requests: 4, k: 1, other: 1}
tests:
  - name: Slow
    setup:
      - PUT: "k{{ k }}-{{ other }}"
        body: {size: 1KiB}
    loop:
      - GET: "k{{ k }}-{{ other }}"
        measure: Slow
"#;

/// A suite in a file.
fn suite(text: &str) -> (TempDir, PathBuf) {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("suite.yaml");
    fs::write(&path, text).unwrap();
    (directory, path)
}

/// Takes 8 ms for each unit of `k`.
fn linear() -> Faulty {
    Faulty::new(|mut builder| {
        for k in [1, 2, 4, 8] {
            let delay = Fault::AnswerAfter(Duration::from_millis(8 * k));
            builder = builder.rule(Rule::new(delay).method("GET").path(&format!("/k{k}-")));
        }
        builder
    })
}

#[test]
fn a_known_law_is_found() {
    let (server, (_directory, suite)) = (linear(), suite(SUITE));
    let (url, suite) = (server.url(), suite.to_string_lossy().into_owned());
    let outcome = prestan!(
        "sweep {url} --suite {suite} --vary k=8,1,2,4 --vary other=1,3 --repeat 3 --warmup 0 --json -"
    )
    .ends(0);
    outcome.stderr_has("8 points, 24 runs: 96 rounds");
    let document = outcome.json();
    let values = serde_json::json!([1.0, 2.0, 4.0, 8.0]);
    assert_eq!(document["vary"][0]["values"], values);
    let slow = &document["tests"][0]["servers"][0];
    assert_eq!(slow["points"].as_array().unwrap().len(), 8);
    let effects = slow["effects"].as_array().unwrap();
    assert_eq!(effects[0]["verdict"], "grows", "{slow:#}");
    assert_ne!(effects[1]["verdict"], "grows", "{slow:#}");
    let ratio = effects[0]["ratio"].as_f64().unwrap();
    assert!((6.5..8.5).contains(&ratio), "{slow:#}");
    let term = &slow["law"]["terms"][0];
    assert_eq!(term["param"], "k", "{slow:#}");
    assert_eq!(term["shape"], "linear", "{slow:#}");
    let per_unit = term["per_unit_us"].as_f64().unwrap();
    assert!((7_000.0..9_000.0).contains(&per_unit), "{slow:#}");
    let words = slow["words"].as_str().unwrap();
    assert!(words.starts_with("grows with k: "), "{words}");
    assert!(words.contains("per unit of k (linear, "), "{words}");
    assert_eq!(server.left(), [""; 0]);
}

#[test]
fn a_point_that_fails_the_condition_or_a_constraint_of_the_suite_is_named() {
    let fails = Rule::new(status(507, &[], "")).method("GET").path("/k8-");
    let server = Faulty::new(|builder| builder.rule(fails));
    let swept = |constraint: &str, condition: &str| {
        let (_directory, suite) = suite(&format!("{SUITE}constraints:\n  own: {constraint}\n"));
        let sweep = prestan!("sweep {server} --suite {} --vary k=1,8 --repeat 2", suite);
        prestan!(sweep => "--warmup 0 --fail-if")
            .words(condition)
            .run()
    };
    // Counts are known, regardless of the load generator.
    let failed = swept("failures(Slow) == 0", "'failures > 0'").ended(1);
    for by in ["--fail-if", "constraint own"] {
        failed.stderr_has(&format!("{by} at k=8 of {server} (2 of 2 runs)"));
    }
    let kept = swept("operations(Slow) < 1000", "'operations > 1000'");
    assert_eq!((kept.code, kept.inconclusive), (0, false), "{kept}");
    // Four operations are too few for it.
    let few = "p99(Slow) < 1 s or failures(Slow) > 0";
    let undecided = swept(few, "'operations > 1000'");
    assert!(undecided.inconclusive, "{undecided}");
    let passed = swept(few, "'p99 > 1 s' --inconclusive pass");
    assert_eq!((passed.code, passed.inconclusive), (0, false), "{passed}");
    let mistyped = swept(few, "'min(Slwo) > 1 s'").ended(2);
    mistyped.stderr_has("did you mean `Slow`?");
    assert_eq!(server.left(), [""; 0]);
}

#[test]
fn users_are_varied_and_a_failing_point_is_left_out() {
    let fails = Rule::new(status(507, &[], ""));
    let server = Faulty::new(|builder| builder.rule(fails.method("GET").path("/k2-")));
    let (_directory, suite) = suite(SUITE);
    let (url, suite) = (server.url(), suite.to_string_lossy().into_owned());
    let document = prestan!(
        "sweep {url} --suite {suite} --vary k=1,2,3 --vary users=1,3 --design one --repeat 2 -r \
        5 --quiet --json -"
    )
    .run()
    .json();
    let points = &document["tests"][0]["servers"][0]["points"];
    let points = points.as_array().unwrap();
    // One at a time: three of k, and one more of users.
    let state = |point: &Value| {
        let params = &point["params"];
        json!([params["k"], params["users"], point["status"]])
    };
    let states: Vec<Value> = points.iter().map(state).collect();
    let expected = [
        json!([1.0, 1.0, "ok"]),
        json!([1.0, 3.0, "ok"]),
        json!([2.0, 1.0, "failed"]),
        json!([3.0, 1.0, "ok"]),
    ];
    assert_eq!(states, expected);
    assert_eq!(points[2]["mean_us"], Value::Null);
    // Twice five for each user; users that have finished go on until the last one has.
    assert!(server.measured("Slow").len() >= 6 * 10);
}

#[test]
fn a_mix_at_several_rates() {
    let server = plain();
    let mix = "suite: mix\nneeds: http\ntests:\n  - name: Mix\n    loop:\n      - GET: file\n        measure: Get\n";
    let (_directory, suite) = suite(mix);
    fs::write(server.demo.root().join("file"), "some text").unwrap();
    let (url, suite) = (server.url(), suite.to_string_lossy().into_owned());
    let outcome = prestan!(
        "sweep {url} --suite {suite} --mix --duration 300ms --vary \
        rate=50,100 --repeat 2 --json -"
    )
    .ends(0);
    outcome.stderr_has("1 s of measuring");
    let document = outcome.json();
    // One connection would be a queue, with a law of its own.
    let connections = server.firsts_on_connections();
    let of_a_run = connections.iter().filter(|first| first.method == "GET");
    assert!(of_a_run.count() >= 4 * 64, "{outcome}");
    let points = &document["tests"][0]["servers"][0]["points"];
    let operations = [0, 1].map(|point| points[point]["operations"].as_u64().unwrap());
    assert!((10..60).contains(&operations[0]), "{document:#}");
    assert!((30..110).contains(&operations[1]), "{document:#}");
}

#[test]
fn what_makes_no_sense_is_refused_before_anything_is_sent() {
    let server = plain();
    let table = "
        --vary users=1,2 --vary concurrency=3,4 => `users` is varied twice
        --vary width=1,2 -w 50 => `width` is varied, and has a value of its own
        --vary width=1,2 --json nowhere/sweep.json => writing nowhere/sweep.json would fail, so nothing was done
        --quiet => --vary
        --vary width => width=10,30,100
        --vary width=10 => at least two values
        --vary width=10,x => `x` is neither a number nor a size
        --vary width=1,1KiB,1024 => twice
        --vary width=1,2 --vary width=3,4 => varied twice
        --vary rate=10,20 => needs --mix
        --vary users=1,1.5 => `users=1.5` is no number of users
        --vary nonsense=1,2 => nonsense
    ";
    for [arguments, says] in cases::rows(table) {
        let code = if says.contains("would fail") { 1 } else { 2 };
        let outcome = prestan!("sweep {server}").words(arguments).run();
        outcome.ended(code).stderr_has(says);
    }
    assert!(server.exchanges().is_empty());
}

#[test]
fn ctrl_c_shows_what_is_known_and_cleans_up() {
    let (server, (_directory, suite)) = (linear(), suite(SUITE));
    let suite = suite.display();
    let sweep = prestan!("sweep {server} --suite {suite} --vary k=1,2 --repeat 50 -r 5");
    let running = with_credentials(sweep).spawn();
    // Two points with three rounds to warm up and five more, five repeats and a bit.
    until("five repeats are done", || {
        server.measured("Slow").len() > 5 * 16 + 3
    });
    let outcome = running.end_by(Signal::INT);
    outcome.stdout_has("Incomplete: the sweep was interrupted in repeat ");
    outcome.stdout_has("grows with k");
    assert_eq!(server.left(), [""; 0]);
    no_secret_in(&outcome, &[PASSWORD]);
}
