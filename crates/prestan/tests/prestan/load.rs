//! `prestan load`: closed and open loops count exactly their operations, and end correctly.

use insta::assert_snapshot;
use record::{Outcome as Ended, Run, Sample};

use crate::support::load::{begun, counted, ended, file, operations, plain, seen};
use crate::support::rows::row;
use crate::support::shape::shape;

#[test]
fn a_closed_loop_does_exactly_what_it_was_asked() {
    let server = plain();
    let url = file(&server, "a.txt");
    let outcome = prestan!("load GET {url} --json - -c 3 --requests 60 --warmup 2").ends(0);
    let (result, run) = counted(&outcome);
    assert_eq!(operations(row(&result, "GET")), 60);
    assert_eq!(ended(&run, Ended::Ok), 60);
    // The server's own count: the probe, and the warm-up of each user.
    assert_eq!(server.exchanges().len(), 1 + 60 + 3 * 2);
    assert_eq!(seen(&server, "GET").len(), 60 + 3 * 2);
    for user in 0..3 {
        assert!(run.samples.iter().any(|sample| sample.user == user));
    }
    assert_eq!(result["load"]["pace"]["model"], "closed");
    assert_eq!(result["load"]["requests"], 60);
    assert_eq!(result["tests"][0]["planned_us"], serde_json::Value::Null);
}

#[test]
fn whatever_comes_first_ends_a_run() {
    let server = plain();
    let url = file(&server, "a.txt");
    let by_time = prestan!("load GET {url} --json - --requests 1000000 --duration 300ms").ends(0);
    let (result, _) = counted(&by_time);
    let window = result["tests"][0]["window_s"].as_f64().unwrap();
    assert!((0.3..3.0).contains(&window), "{window}");

    for pace in ["--duration 100s", "--rate 500"] {
        let by_number = prestan!("load GET {url} --json - --requests 20").words(pace);
        assert_eq!(counted(&by_number.ends(0)).1.samples.len(), 20);
    }
}

#[test]
fn a_goal_ends_a_run_early() {
    let server = plain();
    let url = file(&server, "a.txt");
    let outcome = prestan!("load GET {url} --json - --until 'p50 ±50%' -c 4").ends(0);
    let (result, _) = counted(&outcome);
    assert_eq!(result["load"]["until"], "p50 ±50%");
    // Ten minutes is the limit.
    let window = result["tests"][0]["window_s"].as_f64().unwrap();
    assert!((0.9..60.0).contains(&window), "{window}");
    outcome.stderr_lacks("was not reached");
}

#[test]
fn a_goal_that_is_not_reached_is_said_here_and_in_the_report() {
    let server = plain();
    let url = file(&server, "a.txt");
    let outcome =
        prestan!("load GET {url} --json - --until 'p99.9 +-0.1%' --duration 300ms").ends(0);
    let said = "--until 'p99.9 ±0.1%' was not reached before the run ended";
    outcome.stderr_has(said);
    let (result, _) = counted(&outcome);
    let mut warnings = result["warnings"].as_array().unwrap().iter();
    let found = warnings.any(|warning| warning["text"].as_str().unwrap().contains(said));
    assert!(found, "{result:#}");
}

#[test]
fn an_open_loop_keeps_its_schedule() {
    let server = plain();
    let url = file(&server, "a.txt");
    let outcome = prestan!(
        "load GET {url} --json - --stages 20/s@500ms,100/s@500ms --arrivals constant -c 8"
    )
    .ends(0);
    let (result, run) = counted(&outcome);
    assert_eq!(run.samples.len(), 10 + 50);
    assert_eq!(row(&result, "GET")["planned_us"]["n"], 60);
    assert_eq!(seen(&server, "GET").len(), 60 + 8 * 3);

    let slow = (0..10).map(|number| number * 50_000_000);
    let fast = (0..50).map(|number| 500_000_000 + number * 10_000_000);
    let mut planned = offsets(&run);
    planned.sort_unstable();
    for (planned, expected) in planned.iter().zip(slow.chain(fast)) {
        assert!(planned.abs_diff(expected) <= 1, "{planned} {expected}");
    }
    // Nothing begins before its time.
    let is_late = |sample: &Sample| sample.moments.started >= sample.moments.planned;
    assert!(run.samples.iter().all(is_late));
}

/// Planned moments, counted from the beginning of the schedule, by number.
fn offsets(run: &Run) -> Vec<u64> {
    let origin = begun(run);
    let mut samples: Vec<&Sample> = run.samples.iter().collect();
    samples.sort_unstable_by_key(|sample| sample.number);
    let planned = samples.into_iter().map(|sample| sample.moments.planned);
    planned.map(|planned| planned - origin).collect()
}

#[test]
fn a_seed_gives_the_same_schedule_whatever_serves_it() {
    let server = plain();
    let url = file(&server, "a.txt");
    let with = |options: &str| {
        let load = prestan!("load GET {url} --json - --rate 200 --duration 300ms");
        offsets(&counted(&load.words(options).ends(0)).1)
    };
    let first = with("--seed 7 -c 2");
    assert!(first.len() > 20, "{}", first.len());
    assert_eq!(with("--seed 7 -c 9 --threads 2"), first);
    assert_ne!(with("--seed 8 -c 2"), first);
}

#[test]
fn shape_of_the_reports() {
    let server = plain();
    let url = file(&server, "a.txt");
    let text = |options: &str| {
        let prestan = prestan!("load GET {url} --run-id shape --save run").words(options);
        let outcome = prestan.env("COLUMNS", "160").ends(0);
        shape(&outcome.stdout)
    };
    assert_snapshot!("closed", text("-c 1 --requests 200"));
    let open = "--rate 100 --duration 300ms --arrivals constant -c 4";
    assert_snapshot!("open", text(open));
}

/// No user begins before the window does, however the threads are woken.
#[test]
fn few_requests_of_users_on_several_threads_all_count() {
    let server = plain();
    let url = file(&server, "a.txt");
    for _ in 0..5 {
        let outcome =
            prestan!("load GET {url} --json - -c 8 --threads 4 --requests 12 --warmup 0").ends(0);
        assert_eq!(outcome.json()["tests"][0]["operations"], 12, "{outcome}");
    }
}
