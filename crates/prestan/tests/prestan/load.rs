//! `prestan load`: closed and open loops count exactly what they did, and end when they should.

use std::time::Duration;

use crate::support::faulty::Faulty;
use crate::support::load::{at_least, begun, counted, ended, file, operations, plain, seen};
use crate::support::rows::row;
use crate::support::shape::shape;
use insta::assert_snapshot;
use record::{EventKind, Outcome as Ended, Sample};
use testbed::fault::{Fault, Rule};

#[test]
fn a_closed_loop_does_exactly_what_it_was_asked() {
    let server = plain();
    let url = file(&server, "a.txt");
    let outcome = prestan!("load GET {url} --json - -c 3 --requests 60 --warmup 2").run();

    assert_eq!(outcome.code, 0, "{outcome}");
    let (result, run) = counted(&outcome);
    assert_eq!(operations(row(&result, "GET")), 60);
    assert_eq!(ended(&run, Ended::Ok), 60);
    // The server's own count: the probe, and what each user did to warm up.
    assert_eq!(server.server.exchanges().len(), 1 + 60 + 3 * 2);
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
        let by_number = prestan!("load GET {url} --json - --requests 20")
            .words(pace)
            .ends(0);
        assert_eq!(counted(&by_number).1.samples.len(), 20);
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
    assert!(!outcome.stderr.contains("was not reached"), "{outcome}");
}

#[test]
fn a_goal_that_is_not_reached_is_said_here_and_in_the_report() {
    let server = plain();
    let url = file(&server, "a.txt");
    let outcome =
        prestan!("load GET {url} --json - --until 'p99.9 +-0.1%' --duration 300ms").ends(0);
    let said = "--until 'p99.9 ±0.1%' was not reached before the run ended";
    assert!(outcome.stderr.contains(said), "{outcome}");
    let (result, _) = counted(&outcome);
    let warnings = result["warnings"].as_array().unwrap();
    let found = warnings
        .iter()
        .any(|warning| warning["text"].as_str().unwrap().contains(said));
    assert!(found, "{warnings:#?}");
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

    let expected = (0..10)
        .map(|i| i * 50_000_000)
        .chain((0..50).map(|i| 500_000_000 + i * 10_000_000));
    let mut planned = offsets(&run);
    planned.sort_unstable();
    for (planned, expected) in planned.iter().zip(expected) {
        assert!(planned.abs_diff(expected) <= 1, "{planned} {expected}");
    }
    // Nothing begins before its time.
    let moments = run.samples.iter().map(|sample| sample.moments);
    assert!(
        moments
            .into_iter()
            .all(|moments| moments.started >= moments.planned)
    );
}

/// Planned moments, counted from the beginning of the schedule, by number.
fn offsets(run: &record::Run) -> Vec<u64> {
    let origin = begun(run);
    let mut planned: Vec<(u64, u64)> = run
        .samples
        .iter()
        .map(|sample| (sample.number, sample.moments.planned - origin))
        .collect();
    planned.sort_unstable();
    planned.into_iter().map(|(_, offset)| offset).collect()
}

#[test]
fn a_seed_gives_the_same_schedule_whatever_serves_it() {
    let server = plain();
    let url = file(&server, "a.txt");
    let with = |options: &str| {
        let outcome = prestan!("load GET {url} --json - --rate 200 --duration 300ms")
            .words(options)
            .ends(0);
        offsets(&counted(&outcome).1)
    };
    let first = with("--seed 7 -c 2");
    assert!(first.len() > 20, "{}", first.len());
    assert_eq!(with("--seed 7 -c 9 --threads 2"), first);
    assert_ne!(with("--seed 8 -c 2"), first);
}

#[test]
fn a_stall_of_the_server_shows_from_the_planned_moments_on() {
    // The 60th request is somewhere in the middle, and waits for 200 ms.
    let stall = Rule::new(Fault::Delay(Duration::from_millis(200))).method("GET");
    let server = Faulty::new(|builder| builder.rule(stall.nth(60)));
    let url = file(&server, "a.txt");
    let outcome =
        prestan!("load GET {url} --json - --rate 100 --duration 1200ms -c 1 --arrivals constant")
            .ends(0);
    let (result, run) = counted(&outcome);
    assert_eq!(run.samples.len(), 120);

    // The twenty that were planned meanwhile waited for 200, 190, 180... ms, and a tool that
    // counts from sent sees one of them.
    let planned = at_least(&run, 50, |sample| sample.moments.from_planned());
    let sent = at_least(&run, 50, |sample| sample.moments.response());
    assert!(planned >= 14, "{planned}\n{outcome}");
    assert!(
        sent >= 1 && sent * 3 < planned,
        "{sent} {planned}\n{outcome}"
    );
    let get = row(&result, "GET");
    let p90 = |times: &str| get[times]["p90"].as_f64().unwrap();
    assert!(p90("planned_us") > 50_000.0, "{get:#}");
    assert!(p90("response_us") < p90("planned_us"), "{get:#}");
    assert!(
        get["planned_us"]["max"].as_f64().unwrap() >= 200_000.0,
        "{get:#}"
    );
}

#[test]
fn what_cannot_wait_is_dropped_and_counted() {
    let slow = Fault::AnswerAfter(Duration::from_millis(100));
    let server = Faulty::new(|builder| builder.rule(Rule::new(slow).method("GET")));
    let url = file(&server, "a.txt");
    let outcome = prestan!(
        "load GET {url} --json - --rate 50 --duration 1s -c 1 --max-waiting 1 --arrivals constant"
    )
    .ends(1);
    let (result, run) = counted(&outcome);
    assert_eq!(run.samples.len(), 50);
    let dropped = ended(&run, Ended::Dropped);
    assert!(dropped >= 30, "{dropped}");
    assert_eq!(seen(&server, "GET").len(), 50 - dropped + 3);
    assert_eq!(row(&result, "GET")["outcomes"]["dropped"], dropped);
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
    assert_snapshot!(
        "open",
        text("--rate 100 --duration 300ms --arrivals constant -c 4")
    );
}

/// One request takes 600 ms, and begins in the window: it counts, and the others go on meanwhile.
#[test]
fn what_begins_in_the_window_counts_and_ends_under_the_same_load() {
    let slow = || Rule::new(Fault::Delay(Duration::from_millis(600)));
    // Of some hundred, since each user waits for 2 ms each time.
    let every = Rule::new(Fault::AnswerAfter(Duration::from_millis(2))).method("GET");
    let server = Faulty::new(|builder| builder.rule(slow().method("GET").nth(150)).rule(every));
    let url = file(&server, "a.txt");
    let outcome = prestan!("load GET {url} --json - -c 3 --duration 400ms --warmup 0").ends(0);
    let (result, run) = counted(&outcome);
    let started = begun(&run);
    let ended = run.events.iter().find_map(|event| match event.kind {
        EventKind::MeasuringEnded { .. } => Some(event.at),
        _ => None,
    });
    let ended = ended.unwrap();
    assert_eq!(
        ended - started,
        400_000_000,
        "the window is as long as asked for"
    );
    let total = |sample: &&Sample| sample.moments.total().unwrap_or(0) > 590_000_000;
    let slow = run.samples.iter().find(total).unwrap();
    let moments = slow.moments;
    assert!((started..=ended).contains(&moments.started), "{moments:?}");
    let most = result["tests"][0]["total_us"]["max"].as_f64().unwrap();
    assert!(most > 590_000.0, "{most}");
    // All users were at work before the window, and the two others until its end, uncounted.
    let begin = |sample: &&Sample| sample.moments.started;
    let before = run.samples.iter().filter(|sample| begin(sample) < started);
    assert!(before.count() >= 3, "{outcome}");
    let last = run
        .samples
        .iter()
        .map(|sample| begin(&sample))
        .max()
        .unwrap();
    let end = moments.done.unwrap();
    assert!(
        last + 100_000_000 > end && last < end + 100_000_000,
        "{last} {end}"
    );
    let counts = run.samples.iter().map(|sample| begin(&sample));
    let counts = counts
        .filter(|begin| (started..=ended).contains(begin))
        .count();
    assert_eq!(result["tests"][0]["operations"], counts);
}

/// No user begins before the window does, however the threads are woken.
#[test]
fn few_requests_of_users_on_several_threads_all_count() {
    let server = plain();
    let url = file(&server, "a.txt");
    for seed in 0..15 {
        let seed = seed.to_string();
        let outcome = prestan!(
            "load GET {url} --json - -c 8 --threads 4 --requests 12 --warmup 0 --seed {seed}"
        )
        .ends(0);
        let (result, _) = counted(&outcome);
        assert_eq!(result["tests"][0]["operations"], 12, "{outcome}");
    }
}

/// Two users on two threads; the first request takes 700 ms, and the user of the other thread does
/// all others meanwhile.
#[test]
fn an_open_loop_on_several_threads_has_one_queue() {
    let slow = Rule::new(Fault::Delay(Duration::from_millis(700))).method("GET");
    let server = Faulty::new(|builder| builder.rule(slow.nth(1)));
    let url = file(&server, "a.txt");
    let outcome = prestan!(
        "load GET {url} --json - -c 2 --threads 2 --rate 50 --arrivals constant --duration 1s \
        --warmup 0"
    )
    .ends(0);
    let (_, run) = counted(&outcome);
    assert_eq!(run.samples.len(), 50);
    // With a queue for each thread, some seventeen would have waited for the first.
    let waited = at_least(&run, 250, |sample| sample.moments.from_planned());
    assert_eq!(waited, 1, "{outcome}");
}
