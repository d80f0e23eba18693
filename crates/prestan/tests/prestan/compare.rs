//! `prestan compare`: servers side by side, and recorded runs.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use crate::support::faulty::{Faulty, PASSWORD, no_secret_in, status};
use crate::support::load::{plain, send, until};
use crate::support::{Outcome, Prestan};
use rustix::process::Signal;
use serde_json::Value;
use testbed::fault::{Fault, Rule};

/// Rounds before those of the first run that count.
const WARM_UP: u64 = 1;

/// A short comparison of these tests.
fn compare(sides: &[&str], only: &str) -> Prestan {
    let warm_up = WARM_UP.to_string();
    prestan!("compare").args(sides).args([
        "--only", only, "--warmup", &warm_up, "-p", "3", "-d", "2", "-w", "2",
    ])
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
    let run = |options: &[&str]| {
        with_json(prestan!(compare(&sides, "Get1K,Put1K") => "-r 5 --repeat 5").args(options))
    };
    let outcome = run(&[]);
    assert_eq!(outcome.code, 0, "{outcome}");
    let document = outcome.json();
    let get = test(&document, "Get1K");
    assert_eq!(get["verdict"], "slower", "{get:#}");
    let (a_us, b_us) = (&get["a_says"]["mean_us"], &get["b_says"]["mean_us"]);
    let difference = b_us.as_f64().unwrap() - a_us.as_f64().unwrap();
    assert!((19_000.0..60_000.0).contains(&difference), "{get:#}");
    assert!(get["ci95"][0].as_f64().unwrap() > 1.0, "{get:#}");
    // A false alarm now and then is what the 5 % are for; nothing near to the 20 ms is.
    let put = test(&document, "Put1K")["ratio"].as_f64().unwrap();
    assert!(put < 5.0, "{document:#}");
    assert_eq!(document["b"][0]["pairs"], 5);
    for server in [&a, &b] {
        assert_eq!(server.left(), [""; 0]);
    }

    let directory = tempfile::tempdir().unwrap();
    let junit = directory.path().join("junit.xml");
    let written = ["--junit", junit.to_str().unwrap()];
    let bad = run(&[&["--fail-if", "slower 5%"], &written[..]].concat());
    assert_eq!(bad.code, 1, "{bad}");
    let xml = std::fs::read_to_string(&junit).unwrap();
    let case = xml
        .split("<testcase ")
        .find(|case| case.contains("name=\"Get1K\""));
    let failure = "<failure message=\"Get1K: slower";
    assert!(case.is_some_and(|case| case.contains(failure)), "{xml}");
    assert!(xml.contains("<testsuites tests=\"2\" failures=\""), "{xml}");
    assert!(
        bad.stderr.contains("prestan: failed: ") && bad.stderr.contains("Get1K (slower)"),
        "{bad}"
    );
    // It would have to be a hundred times as slow, and more.
    let good = run(&[
        "--fail-if",
        "slower 100%",
        "--only",
        "Put1K",
        "--skip",
        "Get1K",
    ]);
    assert_eq!(good.code, 0, "{good}");
}

#[test]
fn a_gate_looks_at_times_beside_failures_and_names_what_it_cannot_judge() {
    // Slow always, and one operation of all runs fails.
    let slow = Rule::new(Fault::Delay(Duration::from_millis(20))).tag("(Get1K)");
    let once = Rule::new(status(500, &[], "")).tag("(Get1K)").nth(1);
    let (a, b) = (
        plain(),
        Faulty::new(|builder| builder.rule(once).rule(slow)),
    );
    let run = |gate: &str| {
        with_json(prestan!(
            "compare {a} {b} --only Get1K -r 5 --repeat 5 --warmup 0 --fail-if {gate}"
        ))
    };
    let failed = run("slower 5%");
    assert_eq!(failed.code, 1, "{failed}");
    let document = failed.json();
    let get = test(&document, "Get1K");
    assert_eq!(
        (&get["verdict"], &get["times"], &get["failures"]["verdict"]),
        (&"slower".into(), &"slower".into(), &"inconclusive".into()),
        "{get:#}"
    );
    assert_eq!(get["b_says"]["failed"], 1);

    // As quick in the first pair, slow in the second: two pairs that differ so much say nothing.
    let run = |gate: &str| {
        let late = Rule::new(Fault::Delay(Duration::from_millis(20)));
        let late = late.tag("(Get1K)").from(1 + WARM_UP + 3);
        let b = Faulty::new(|builder| builder.rule(late));
        let prestan = compare(&[&a.server.url(), &b.server.url()], "Get1K");
        prestan!(prestan => "-r 3 --repeat 2 --fail-if {gate}").run()
    };
    let open = run("slower 0.1%");
    assert_eq!(open.code, 2, "{open}");
    let open = run("slower 2%");
    assert_eq!(open.code, 0, "{open}");
    assert!(
        open.stderr.contains("undecided") && open.stderr.contains("Get1K"),
        "{open}"
    );
    let closed = run("slower 2%, undecided");
    assert_eq!(closed.code, 1, "{closed}");
}

#[test]
fn runs_take_turns_test_by_test() {
    let server = plain();
    let url = server.server.url();
    // One round is one batch, on a busy machine as well.
    let outcome = with_json(
        prestan!(compare(&[&url, &url], "Get1K,Lock") => "-r 1 --repeat 2 --run-id turns"),
    );
    assert_eq!(outcome.code, 0, "{outcome}");
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
fn what_fails_with_one_is_said() {
    let broken = Rule::new(status(500, &[], "")).tag("(Get1K)");
    let unable = Rule::new(status(405, &[], "")).method("LOCK");
    let (a, b) = (
        plain(),
        Faulty::new(|builder| builder.rule(broken).rule(unable)),
    );
    let sides = [&*a.server.url(), &*b.server.url()];
    let options = ["-r", "3", "--repeat", "2", "--fail-if", "slower 500%"];
    let outcome = compare(&sides, "Get1K,Lock").args(options).ends(1);
    for says in [
        "fails with B: 6 of 6 failed",
        "only A can do it",
        "Get1K (broken)",
        "Lock (lost)",
    ] {
        let said = format!("{}{}", outcome.stdout, outcome.stderr);
        assert!(said.contains(says), "{says}: {outcome}");
    }
    let back = with_json(compare(&[sides[1], sides[0]], "Get1K,Lock").args(&options[..4]));
    assert_eq!(verdicts(&back.json())["Get1K"], "repaired");
    assert_eq!(verdicts(&back.json())["Lock"], "gained");
}

/// Makes the load generator the bottleneck of all tests of a recorded run.
fn saturate(run: &Path) {
    let file = run.join("events.jsonl");
    let events = std::fs::read_to_string(&file).unwrap();
    let changed = events.lines().map(|line| {
        let mut event: Value = serde_json::from_str(line).unwrap();
        if event["event"] == "generator" {
            let workers = event["workers"].as_u64().unwrap();
            event["wall"] = Value::from(1_000_000_000_u64);
            event["cpu"] = Value::from(workers * 1_000_000_000);
        }
        event.to_string() + "\n"
    });
    std::fs::write(&file, changed.collect::<String>()).unwrap();
}

#[test]
fn rows_of_which_too_little_is_left_are_inconclusive_and_hide_no_failure() {
    let server = plain();
    let broken =
        Faulty::new(|builder| builder.rule(Rule::new(status(500, &[], "")).tag("(Put1K)")));
    let run = |server: &Faulty, tests: &str| {
        crate::support::faulty::run_of(&server.server.url(), tests, 30).run()
    };
    let outcomes = [
        run(&server, "Get1K,Put1K"),
        run(&server, "Get1K,Put1K"),
        run(&server, "Get1K,Put1K"),
        run(&server, "Get1K,Put1K"),
        run(&broken, "Get1K,Put1K"),
        run(&broken, "Get1K,Put1K"),
    ];
    let paths = outcomes
        .each_ref()
        .map(|outcome| outcome.run().display().to_string());
    let [a1, a2, b1, b2, bad1, bad2] = &paths;
    saturate(Path::new(b1));
    saturate(Path::new(bad1));
    let compared = |b: String, options: &str| {
        prestan!("compare {a1},{a2} {b}")
            .words(options)
            .env("COLUMNS", "160")
            .run()
    };
    let alike = compared(format!("{b1},{b2}"), "");
    assert!(alike.inconclusive, "{alike}");
    assert!(alike.stdout.contains("of 1 of 2 pairs"), "{alike}");
    let gated = compared(format!("{b1},{b2}"), "--fail-if 'slower 5%'");
    assert!(gated.inconclusive, "{gated}");
    let gated = compared(format!("{bad1},{bad2}"), "--fail-if 'slower 5%'");
    assert_eq!(gated.code, 1, "{gated}");
    assert!(gated.stderr.contains("Put1K (broken)"), "{gated}");
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
    assert_eq!(test(&there, "Get1K")["ci95"], Value::Null);
    let says = there["b"][0]["caveats"].to_string();
    assert!(says.contains("one run of each"), "{says}");
    let back = compared(&[&b, &a]).json();
    let product = |test: &Value, back: &Value| {
        test["ratio"].as_f64().unwrap() * back["ratio"].as_f64().unwrap()
    };
    let one = product(test(&there, "Get1K"), test(&back, "Get1K"));
    // Each has six significant digits: it is off by half of the last one at most, a share of 5e-6.
    assert!((one - 1.0).abs() < 1.1e-5, "{one}");
    assert!(
        test(&there, "Get1K")["ratio"].as_f64().unwrap() > 2.0,
        "{there:#}"
    );

    // A run beside itself has the ratio 1, everywhere.
    let itself = compared(&[&a, &a]).json();
    let rows = itself["tests"].as_array().unwrap();
    assert!(rows.iter().all(|row| row["ratio"] == 1.0), "{itself:#}");
    // Several runs of one server, and three servers.
    let many = compared(&[
        &format!("{a},{b}"),
        &format!("{a},{b}"),
        &format!("{b},{a}"),
    ]);
    assert_eq!(many.code, 0, "{many}");
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
        let refused = prestan!("compare").words(&sides).ends(2);
        assert!(refused.stderr.contains(says), "{says}: {refused}");
    }
    // What the refusal says to type does what it says.
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
    assert!(
        refused
            .stderr
            .contains("the set of tests is Put1K, Get1K in one"),
        "{refused}"
    );
}

#[test]
fn a_server_that_is_not_there_ends_it_at_once_and_cleanly() {
    let server = plain();
    let sides = [&*server.server.url(), "http://127.0.0.1:1/"];
    let outcome = prestan!(compare(&sides, "Get1K") => "--repeat 3").ends(4);
    assert!(outcome.stderr.contains("connection refused"), "{outcome}");
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

/// The run of the other server says why it ended, and a gate that it has no result.
#[test]
fn a_server_that_dies_ends_the_run_of_the_other() {
    let (a, b) = (plain(), plain());
    let sides = [&*a.server.url(), &*b.server.url()];
    let running =
        prestan!(compare(&sides, "Get1K,Put1K") => "-r 2000 --repeat 2 --fail-if 'slower 5%'")
            .spawn();
    // The next test finds no server, which aborts the run.
    until("it measures its first test", || {
        b.measured("Get1K").len() + b.measured("Put1K").len() > 5
    });
    drop(b);
    let outcome = running.ends(1);
    let partner = "the run of another server in this block ended early";
    assert!(!outcome.stderr.contains(partner), "{outcome}");
    let says = "--fail-if has no result, because the measurement ended early";
    assert!(outcome.stderr.contains(says), "{outcome}");
    let texts = outcome.runs().into_iter().map(|run| {
        let report = prestan!("report {}", run).run();
        report.stdout
    });
    let of_partner = texts.filter(|text| text.contains(partner)).count();
    assert_eq!(of_partner, 1, "{outcome}");
    assert_eq!(a.left(), [""; 0]);
}

#[test]
fn ctrl_c_ends_all_runs_and_cleans_up_behind_them() {
    let (a, b) = (plain(), plain());
    let sides = [&*a.server.url(), &*b.server.url()];
    let running = prestan!(compare(&sides, "Get1K,Put1K") => "-r 100000 --repeat 2")
        .env("PRESTAN_USER", "ann")
        .env("PRESTAN_PASSWORD", PASSWORD)
        .spawn();
    until("it measures", || {
        a.measured("Get1K").len() + a.measured("Put1K").len() > 5
    });
    send(&running, Signal::INT);
    let outcome = running.ends(-Signal::INT.as_raw());
    assert!(
        outcome.stderr.contains("was interrupted; `prestan report"),
        "{outcome}"
    );
    // What both have done of a test is told; one run of each has no verdict.
    let said = &outcome.stdout;
    assert!(
        !said.contains("slower by") && !said.contains("faster by"),
        "{outcome}"
    );
    for server in [&a, &b] {
        assert_eq!(server.left(), [""; 0]);
    }
    no_secret_in(&outcome, &[PASSWORD]);
}
