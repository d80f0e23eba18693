//! Constraints of suites and of the command line: results of runs.

use std::path::PathBuf;
use std::time::Duration;

use tempfile::TempDir;
use testbed::fault::{Fault, Rule};

use crate::roles::verdict;
use crate::support::Outcome;
use crate::support::faulty::Faulty;
use crate::support::load::{file, plain};
use crate::support::rows::lacks_estimates;

const TESTS: &str = "
tests:
  - name: Files
    setup:
      - PUT: f
        body: {size: 1KiB}
    loop:
      - GET: f
        measure: Get
  - name: Writes
    loop:
      - PUT: g
        body: {size: 1KiB}
        measure: Put
";

/// A suite with these constraints, in a directory of its own.
fn suite(constraints: &[&str]) -> (TempDir, PathBuf) {
    let lines: String = constraints
        .iter()
        .map(|line| format!("  {line}\n"))
        .collect();
    let text =
        format!("suite: slo\nparams: {{requests: 300, least: 2}}\nconstraints:\n{lines}{TESTS}");
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("slo.yaml");
    std::fs::write(&path, text).unwrap();
    (directory, path)
}

fn run(server: &Faulty, constraints: &[&str], options: &str) -> Outcome {
    let (_directory, path) = suite(constraints);
    prestan!("run {} {server} -q --json -", path)
        .words(options)
        .env("PRESTAN_USER", "ann")
        .env("PRESTAN_PASSWORD", "s3cret")
        .env("GITHUB_ACTIONS", "true")
        .run()
}

#[test]
fn a_fine_server_passes() {
    let server = plain();
    let constraints = [
        "fast: p90(Get) < 10 s",
        "copies: mean(Put) < 1000 * mean(Get) + 10 s",
        "clean: failures == 0 and failure_rate < 10 %",
        "counted: operations(Get) >= least * 100 and connections < 300",
        "all: fast and copies and clean and counted",
    ];
    let outcome = run(&server, &constraints, "").ended(0);
    let is_busy = lacks_estimates(&outcome.json());
    for name in ["fast", "copies", "clean", "counted", "all"] {
        let verdict = verdict(&outcome, name);
        // On a machine that is too busy, only counts are known.
        let is_unknown = is_busy && name != "counted" && verdict == "inconclusive";
        assert!(verdict == "pass" || is_unknown, "{name}: {outcome}");
    }
    assert_eq!(server.left(), [""; 0]);
}

#[test]
fn a_slow_server_fails_and_is_named_everywhere() {
    // The shortest time is known even on a busy machine, and is no estimate.
    let slow = Rule::new(Fault::Delay(Duration::from_millis(40))).tag("(Get)");
    let server = Faulty::new(|builder| builder.rule(slow));
    let constraints = ["fast: min(Get) < 1 ms", "fine: p50(Put) < 10 s"];
    let outcome = run(&server, &constraints, "-r 20 --junit junit.xml").ended(1);
    assert_eq!(verdict(&outcome, "fast"), "fail");
    assert_eq!(outcome.json()["conclusion"], "fail");
    outcome.stderr_has("prestan: failed: constraint fast");
    outcome.stderr_has("::error title=prestan::fast: fail (min(Get) < 1 ms)");
    let reading = &outcome.json()["constraints"][0]["readings"][0];
    assert_eq!(reading["characteristic"], "min(Get)");
    assert!(reading["value"].as_f64().unwrap() >= 40_000.0, "{reading}");

    let xml = outcome.read("junit.xml");
    assert!(xml.contains("name=\"fast\" time=\"0.000000\">\n      <failure message=\"fast: fail (min(Get) &lt; 1 ms); min(Get) is "), "{xml}");
    let begins =
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites tests=\"4\" failures=\"1\"";
    assert!(xml.starts_with(begins), "{xml}");

    let text = prestan!(outcome.again() => "report").run();
    text.stdout_has("\n- fast: fail (min(Get) < 1 ms); min(Get) is ");

    // The record can be judged by others.
    let judged = |constraints: &str| outcome.judged_by(constraints);
    let loose = judged("constraints:\n  loose: min(Get) < 10 s\n").ended(0);
    assert_eq!(verdict(&loose, "loose"), "pass");
    judged("constraints:\n  strict: min(Get) < 2 ms\n").ended(1);
    let judged_if = |condition: &str| {
        prestan!(outcome.again() => "report --fail-if {condition} --json -").run()
    };
    // Its own constraint remains.
    let passed = judged_if("max(Get) > 10 s or failures > 0").ended(1);
    assert_eq!(verdict(&passed, "fast"), "fail", "{passed}");
    assert_eq!(verdict(&passed, "--fail-if"), "pass");
    let failed = judged_if("min(Get) > 2 ms");
    assert_eq!(verdict(&failed, "--fail-if"), "fail", "{failed}");
    let mistyped = judged_if("p50(Got) > 2 ms").ended(2);
    mistyped.stderr_has("did you mean `Get`?\n\n  p50(Got) > 2 ms\n  ^");

    let unknown = judged("constraints:\n  strict: p50(Got) < 2 ms\n").ended(2);
    unknown.stderr_has("judge.yaml:2:11: nothing is measured as `Got`; did you mean `Get`?");
    judged("suite: empty\n").stderr_has("no constraint");
    let missing = prestan!(outcome.again() => "report --judge nothing.yaml --json -").run();
    missing.stderr_has("reading nothing.yaml failed");
}

#[test]
fn what_is_inconclusive_may_pass() {
    // A row that is inconclusive for the machine is so for any bound.
    let outcome = run(&plain(), &["half: mean(Get) < 10 s"], "-r 100");
    let row = &outcome.json()["tests"][0];
    let mean = row["response_us"]["mean"].as_f64().unwrap();
    let again = outcome.again();
    let constraint = format!("constraints:\n  at: mean(Get) < {mean} us\n");
    again.file("judge.yaml", &constraint);
    let judged = prestan!(again => "report --judge judge.yaml").run();
    assert!(judged.inconclusive, "{judged}");
    let begins = "Inconclusive: constraint at.\n";
    assert!(judged.stdout.starts_with(begins), "{judged}");
    let passed = prestan!(outcome.again() => "report --inconclusive pass --judge judge.yaml").run();
    assert_eq!((passed.code, passed.inconclusive), (0, false), "{passed}");
}

#[test]
fn what_is_not_selected_is_not_judged() {
    let server = plain();
    let constraints = [
        "fast: p50(Get) < 10 s",
        "put: p50(Put) < 1 ns",
        "both: fast and put",
    ];
    let outcome = run(&server, &constraints, "--only Get -r 30").ended(0);
    let names = outcome.json()["constraints"].as_array().unwrap().len();
    assert_eq!(names, 1, "{outcome}");
}

#[test]
fn mistakes_are_found_before_anything_is_sent() {
    let server = plain();
    let outcome = run(&server, &["fast: p99(Gte) < 5 ms"], "").ended(2);
    outcome.stderr_has("slo.yaml:4:9: nothing is measured as `Gte`; did you mean `Get`?");
    assert!(server.exchanges().is_empty());
}

#[test]
fn a_load_fails_by_its_condition() {
    let server = plain();
    let url = file(&server, "a.txt");
    let judged = |condition: &str| {
        prestan!("load GET {url} --json - --requests 500 -q --fail-if {condition}").run()
    };
    let passed = judged("p90 > 10 s or failures > 0").ended(0);
    assert_eq!(passed.json()["constraints"][0]["sense"], "fails_if");
    let failed = judged("p90 > 1 ns");
    assert!(failed.code == 1 || failed.inconclusive, "{failed}");
    let broken = judged("p90 > 50").ended(2);
    broken.stderr_has("has no unit; write 50 ms");
    let unreadable = judged("p90 > 50 parsecs").ended(2);
    unreadable.stderr_has("`parsecs` is no unit");
}

#[test]
fn expressions_of_a_file_are_formatted() {
    let (_directory, path) = suite(&["fast: p99( Get )<5ms  # soon"]);
    let format = |options: &str| prestan!("suites fmt").words(options).arg(&path).run();
    let text = || std::fs::read_to_string(&path).unwrap();
    let before = text();
    format("--check").ended(1).stderr_has("is not formatted");
    assert_eq!(text(), before);
    assert_eq!(format("").code, 0);
    assert_eq!(text(), before.replace("p99( Get )<5ms", "p99(Get) < 5 ms"));
    assert_eq!(format("--check").code, 0);
    std::fs::write(&path, before.replace("<5ms", "<")).unwrap();
    format("").ended(2).stderr_has("slo.yaml:4:");
}

#[test]
fn several_runs_are_drawn_and_not_judged() {
    let server = plain();
    let constraints = ["fast: p50(Get) < 10 s"];
    let outcome = run(&server, &constraints, "-r 5 --run-id one");
    let drawn = |options: &str| {
        prestan!(outcome.again() => "report one one --html both.html")
            .words(options)
            .run()
    };
    let refused = "
        --junit j.xml => several runs are drawn side by side
        --layout brief => several runs are drawn side by side
        --inconclusive fail => --inconclusive is about a run that is judged
        --fail-if 'p50 > 1 s' => --judge and --fail-if are for one run
    ";
    for [options, says] in cases::rows(refused) {
        drawn(options).ended(2).stderr_has(says);
        assert!(!outcome.home().join("both.html").exists());
    }
    drawn("").ended(0);
}
