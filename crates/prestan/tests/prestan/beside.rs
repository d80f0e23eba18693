//! Loads that go on beside a run.

use std::time::Duration;

use testbed::fault::{Fault, Rule, ServedExchange};

use crate::support::faulty::{Faulty, status};
use crate::support::load::{plain, send, until};
use crate::support::{Outcome, Prestan};
use rustix::process::Signal;

const READING: &str = "
suite: reading
needs: http
tests:
  - name: Read
    loop: [{PROPFIND: '', depth: 0, measure: Look}]
";

const WRITING: &str = "
suite: writing
tests:
  - name: Write
    loop:
      - PUT: doc
        body: {size: 1KiB}
        measure: Write
      - think: {constant: 5ms}
";

const LOCKING: &str = "
suite: locking
tests:
  - name: Lock
    needs: class 2
    loop: [{LOCK: doc, measure: Lock}]
";

/// A run of a test of 2004 with these loads beside it, of which each is a suite in a file of that
/// name.
fn run(url: &str, beside: &[&str], options: &[&str]) -> Prestan {
    let prestan = Prestan::new();
    prestan.file("reading", READING);
    prestan.file("writing", WRITING);
    prestan.file("locking", LOCKING);
    let home = prestan.home().to_owned();
    let mut prestan = prestan!(prestan => "run prestan {url} --only Get1K");
    for load in beside {
        prestan = prestan!(prestan => "--beside {}/{load}", home);
    }
    let requests = if options.contains(&"-r") {
        &[][..]
    } else {
        &["-r", "40"]
    };
    prestan!(prestan => "--run-id main --json -")
        .args(requests.iter().copied())
        .args(options.iter().copied())
}

/// The results of the loads, by their names.
fn loads(outcome: &Outcome) -> Vec<(String, serde_json::Value)> {
    let document = outcome.json();
    let loads = document["beside"].as_array().cloned().unwrap_or_default();
    let of = |load: &serde_json::Value| {
        let name = load["name"].as_str().unwrap().to_owned();
        (name, load["result"].clone())
    };
    loads.iter().map(of).collect()
}

#[test]
fn loads_are_at_work_while_a_run_measures_and_are_reported_apart() {
    // The measurement takes 400 ms, in which a rate of 200 per second sends some requests.
    let slow = Rule::new(Fault::Delay(Duration::from_millis(10))).tag("(Get1K)");
    let server = Faulty::new(|builder| builder.rule(slow));
    let beside = ["reading,name=readers,users=2,rate=200", "writing"];
    let outcome = run(&server.server.url(), &beside, &["--save", "kept"]).ends(0);
    let found = loads(&outcome);
    let names: Vec<&str> = found.iter().map(|(name, _)| &**name).collect();
    assert_eq!(names, ["readers", "writing"]);
    for (name, result) in &found {
        let row = &result["tests"][0];
        assert!(
            row["outcomes"]["ok"].as_u64() > Some(0),
            "{name}: {outcome}"
        );
        assert_eq!(row["outcomes"]["dropped"], 0, "{name}: {outcome}");
    }
    // Its rows are separate.
    let document = outcome.json();
    assert_eq!(document["tests"].as_array().unwrap().len(), 1, "{outcome}");
    assert_eq!(document["tests"][0]["operations"], 40, "{outcome}");

    // Before, during and after the measurement, others sent requests.
    let exchanges = server.server.exchanges();
    let of = |part: &str| {
        let is_matching = |exchange: &&_| is_of(exchange, part);
        let places = exchanges
            .iter()
            .enumerate()
            .filter(|(_, one)| is_matching(one));
        places.map(|(place, _)| place).collect::<Vec<usize>>()
    };
    let (own, look, write) = (of("(Get1K)"), of("(Look)"), of("(Write)"));
    // A schedule may begin with a pause, a closed loop does not.
    assert!(write[0] < own[0], "it was at work before");
    for other in [&look, &write] {
        assert!(other.iter().any(|place| (own[0]..own[39]).contains(place)));
    }
    // Nothing is left behind by any run.
    assert_eq!(server.left(), [] as [&str; 0], "{outcome}");

    // All of it can be read again, and a run without these loads is no match.
    let again = prestan!(outcome.again() => "report kept --json -").run();
    assert_eq!(again.json(), document, "{again}");
    let text = prestan!(outcome.again() => "report kept").run();
    for line in [
        "Beside the run: readers, suite reading, open loop, Poisson arrivals: 200/s, users: 2",
        "Beside the run: writing, suite writing, closed loop, users: 1",
    ] {
        text.stdout_has(line);
    }
    prestan!(outcome.again() => "run prestan {server} --only Get1K -r 40 --save alone").run();
    let compared = prestan!(outcome.again() => "compare kept alone").ends(2);
    compared.stderr_has("the load beside the run");
}

fn is_of(exchange: &ServedExchange, part: &str) -> bool {
    let label = exchange.header("x-prestan").unwrap_or_default();
    label.ends_with(part)
}

#[test]
fn a_load_that_fails_fails_the_run_and_one_that_cannot_begin_ends_it() {
    let broken = Rule::new(status(500, &[], "")).tag("(Look)").nth(3);
    let server = Faulty::new(|builder| builder.rule(broken));
    let outcome = run(&server.server.url(), &["reading"], &[]).ends(1);
    assert_eq!(
        loads(&outcome)[0].1["tests"][0]["status"],
        "failed",
        "{outcome}"
    );

    let refused = Rule::new(status(507, &[], ""))
        .method("MKCOL")
        .path("main-writing");
    let server = Faulty::new(|builder| builder.rule(refused));
    let outcome = run(&server.server.url(), &["reading", "writing"], &[]).ends(4);
    outcome.stderr_has("the load writing beside the run did not begin");
    let measured = server.server.exchanges().into_iter();
    assert_eq!(measured.filter(|one| is_of(one, "(Get1K)")).count(), 0);
    assert_eq!(server.left(), [] as [&str; 0], "{outcome}");
}

#[test]
fn a_load_of_which_nothing_can_be_done_does_not_begin() {
    let class_1 = Rule::new(status(200, &[("DAV", "1")], "")).method("OPTIONS");
    let server = Faulty::new(|builder| builder.rule(class_1));
    for beside in ["locking", "locking,rate=50"] {
        let outcome = run(&server.server.url(), &[beside], &[]).run();
        assert_eq!(outcome.code, 4, "{beside}: {outcome}");
        outcome.stderr_has("the load locking beside the run did not begin");
    }
    let measured = server.server.exchanges().into_iter();
    assert_eq!(measured.filter(|one| is_of(one, "(Get1K)")).count(), 0);
}

/// Requests that wait when the run has ended are no load beside it.
#[test]
fn a_rate_that_the_server_does_not_take_ends_soon_after_the_run_and_fails() {
    let slow = Rule::new(Fault::AnswerAfter(Duration::from_millis(200))).tag("(Look)");
    let server = Faulty::new(|builder| builder.rule(slow));
    let url = server.server.url();
    let outcome = run(&url, &["reading,users=1,rate=1000"], &["-r", "400"]).run();
    // Operations dropped by a stalled load generator are no failures.
    assert!(outcome.code == 1 || outcome.inconclusive, "{outcome}");
    let row = &loads(&outcome)[0].1["tests"][0];
    assert!(row["outcomes"]["dropped"].as_u64() > Some(0), "{outcome}");
    let exchanges = server.server.exchanges();
    let last = |part: &str| {
        let matching = exchanges.iter().filter(|one| is_of(one, part));
        matching.map(|one| one.request_end).max().unwrap()
    };
    let behind = last("(Look)").saturating_duration_since(last("(Get1K)"));
    assert!(behind < Duration::from_secs(8), "{behind:?}");
}

#[test]
fn a_record_that_is_there_is_not_touched() {
    let server = plain();
    let first = run(&server.server.url(), &[], &["--save", "kept"]).ends(0);
    let again =
        prestan!(first.again() => "run prestan {server} --beside listing --save kept").run();
    assert_ne!(again.code, 0, "{again}");
    assert!(!first.home().join("kept/beside").exists(), "{again}");
}

/// Leftovers of a killed load are known from its record even if the server lists nothing.
#[test]
fn what_a_load_left_is_cleaned_up_though_the_server_lists_nothing() {
    let keeps = Rule::new(status(403, &[], ""))
        .method("DELETE")
        .path("main-writing");
    let server = Faulty::new(|builder| builder.rule(keeps));
    let url = server.server.url();
    let outcome = run(&url, &["writing"], &[]).run();
    let left = outcome.stderr.contains("PrestanTest-main-writing/");
    assert!(left, "{outcome}");
    server.server.clear_rules();
    server.server.add_rule(
        Rule::new(status(403, &[], ""))
            .method("PROPFIND")
            .tag("clean"),
    );
    let cleaned = prestan!(outcome.again() => "clean {url}").ends(0);
    assert_eq!(server.left(), [] as [&str; 0], "{cleaned}");
}

#[test]
fn ctrl_c_ends_all_of_them_and_leaves_nothing() {
    let slow = Rule::new(Fault::Delay(Duration::from_millis(50))).tag("(Get1K)");
    let server = Faulty::new(|builder| builder.rule(slow));
    let options = ["--save", "kept", "-r", "100000"];
    let running = run(&server.server.url(), &["writing,users=3"], &options).spawn();
    until("it measures", || {
        server
            .server
            .exchanges()
            .iter()
            .any(|one| is_of(one, "(Get1K)"))
    });
    send(&running, Signal::INT);
    let outcome = running.ends(-Signal::INT.as_raw());
    assert_eq!(server.left(), [] as [&str; 0], "{outcome}");
}

/// With the name of the run before it, more than a collection may be called.
const LONG: &str = "reading,name=a123456789b123456789c123456789d123456789e123456789f123456789";

#[test]
fn what_makes_no_sense_beside_a_run_is_refused() {
    let server = plain();
    for (beside, said) in [
        (&["reading,users=0"][..], "users=0"),
        (&["absent"], "absent failed: No such file or directory"),
        (&["reading", "reading"], "another load called reading"),
        (&["reading,speed=3"], "use name=NAME"),
        (&[LONG], "too long for the name of a run"),
    ] {
        let outcome = run(&server.server.url(), beside, &[]).ends(2);
        outcome.stderr_has(said);
    }
    assert_eq!(server.server.exchanges().len(), 0);
}

#[test]
fn a_round_trip_beside_other_runs_is_not_called_idle() {
    let server = plain();
    let url = server.server.url();
    let is_told = |result: &serde_json::Value| {
        assert_eq!(result["server"]["same_machine"], "loopback", "{result:#}");
        result["server"].get("round_trip").is_some()
    };
    let alone = run(&url, &[], &["-r", "5"]).run();
    assert!(is_told(&alone.json()), "{alone}");
    let beside = run(&url, &["reading", "writing"], &["-r", "5"]).run();
    assert!(!is_told(&beside.json()), "{beside}");
    let loads = loads(&beside);
    assert!(
        loads.len() == 2 && !loads.iter().any(|(_, load)| is_told(load)),
        "{beside}"
    );

    let compared = |options: &str| {
        let compared = prestan!("compare {url} {url} --only Get1K -r 3")
            .words(options)
            .run();
        let runs = compared.runs();
        assert!(runs.len() >= 2, "{compared}");
        let env = |run: std::path::PathBuf| std::fs::read_to_string(run.join("env.json")).unwrap();
        let told = runs
            .into_iter()
            .map(env)
            .filter(|env| env.contains("round_trip"));
        told.count()
    };
    assert_eq!(compared("--repeat 2"), 0);
}
