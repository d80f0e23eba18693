//! Loads that go on beside a run.

use std::time::Duration;

use testbed::fault::{Fault, Rule};

use crate::support::faulty::{Faulty, status};
use crate::support::load::{plain, until};
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
fn run(url: &str, beside: &[&str], options: &str) -> Prestan {
    let prestan = Prestan::new();
    prestan.file("reading", READING);
    prestan.file("writing", WRITING);
    prestan.file("locking", LOCKING);
    let mut prestan = prestan!(prestan => "run prestan {url} --only Get1K");
    for load in beside {
        prestan = prestan!(prestan => "--beside ./{load}");
    }
    let requests = if options.contains("-r ") { "" } else { "-r 40" };
    prestan!(prestan => "--run-id main --json -")
        .words(requests)
        .words(options)
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
    let outcome = run(&server.url(), &beside, "--save kept").ends(0);
    let found = loads(&outcome);
    let names: Vec<&str> = found.iter().map(|(name, _)| &**name).collect();
    assert_eq!(names, ["readers", "writing"]);
    for (name, result) in &found {
        let row = &result["tests"][0];
        let ok = row["outcomes"]["ok"].as_u64();
        assert!(ok > Some(0), "{name}: {outcome}");
        assert_eq!(row["outcomes"]["dropped"], 0, "{name}: {outcome}");
    }
    // Its rows are separate.
    let document = outcome.json();
    assert_eq!(document["tests"].as_array().unwrap().len(), 1, "{outcome}");
    assert_eq!(document["tests"][0]["operations"], 40, "{outcome}");

    // Before, during and after the measurement, others sent requests.
    let exchanges = server.exchanges();
    let indices = |part: &str| -> Vec<usize> {
        let matching = exchanges
            .iter()
            .enumerate()
            .filter(|(_, one)| one.label().ends_with(part));
        matching.map(|(index, _)| index).collect()
    };
    let (get, look, write) = (indices("(Get1K)"), indices("(Look)"), indices("(Write)"));
    // A schedule may begin with a pause, a closed loop does not.
    assert!(write[0] < get[0], "it was at work before");
    for other in [&look, &write] {
        assert!(other.iter().any(|index| (get[0]..get[39]).contains(index)));
    }
    // Nothing is left behind by any run.
    assert_eq!(server.left(), [""; 0], "{outcome}");

    // All of it can be read again, and a run without these loads is no match.
    let again = prestan!(outcome.again() => "report kept --json -").run();
    assert_eq!(again.json(), document, "{again}");
    let text = prestan!(outcome.again() => "report kept").run();
    text.stdout_has(
        "Beside the run: readers, suite reading, open loop, Poisson arrivals: 200/s, users: 2",
    );
    text.stdout_has("Beside the run: writing, suite writing, closed loop, users: 1");
    prestan!(outcome.again() => "run prestan {server} --only Get1K -r 40 --save alone").run();
    let compared = prestan!(outcome.again() => "compare kept alone").ends(2);
    compared.stderr_has("the load beside the run");
}

#[test]
fn a_load_that_fails_fails_the_run_and_one_that_cannot_begin_ends_it() {
    let broken = Rule::new(status(500, &[], "")).tag("(Look)").nth(3);
    let server = Faulty::new(|builder| builder.rule(broken));
    let outcome = run(&server.url(), &["reading"], "").ends(1);
    let row = &loads(&outcome)[0].1["tests"][0];
    assert_eq!(row["status"], "failed", "{outcome}");

    let refused = Rule::new(status(507, &[], "")).method("MKCOL");
    let refused = refused.path("main-writing");
    let server = Faulty::new(|builder| builder.rule(refused));
    let outcome = run(&server.url(), &["reading", "writing"], "").ends(4);
    outcome.stderr_has("the load writing beside the run did not begin");
    assert_eq!(server.measured("Get1K").len(), 0);
    assert_eq!(server.left(), [""; 0], "{outcome}");
}

#[test]
fn a_load_of_which_nothing_can_be_done_does_not_begin() {
    let class_1 = Rule::new(status(200, &[("DAV", "1")], "")).method("OPTIONS");
    let server = Faulty::new(|builder| builder.rule(class_1));
    for beside in ["locking", "locking,rate=50"] {
        let outcome = run(&server.url(), &[beside], "").ends(4);
        outcome.stderr_has("the load locking beside the run did not begin");
    }
    assert_eq!(server.measured("Get1K").len(), 0);
}

/// Requests that wait when the run has ended are no load beside it.
#[test]
fn a_rate_that_the_server_does_not_take_ends_soon_after_the_run_and_fails() {
    let slow = Rule::new(Fault::AnswerAfter(Duration::from_millis(200))).tag("(Look)");
    let server = Faulty::new(|builder| builder.rule(slow));
    let outcome = run(&server.url(), &["reading,users=1,rate=1000"], "-r 400").run();
    // Operations dropped by a stalled load generator are no failures.
    assert!(outcome.code == 1 || outcome.inconclusive, "{outcome}");
    let row = &loads(&outcome)[0].1["tests"][0];
    assert!(row["outcomes"]["dropped"].as_u64() > Some(0), "{outcome}");
    let last = |test: &str| {
        let ends = server.measured(test).into_iter().map(|one| one.request_end);
        ends.max().unwrap()
    };
    let behind = last("Look").saturating_duration_since(last("Get1K"));
    assert!(behind < Duration::from_secs(8), "{behind:?}");
}

#[test]
fn a_record_that_is_there_is_not_touched() {
    let server = plain();
    let first = run(&server.url(), &[], "--save kept").ends(0);
    let again =
        prestan!(first.again() => "run prestan {server} --beside listing --save kept").run();
    assert_ne!(again.code, 0, "{again}");
    assert!(!first.home().join("kept/beside").exists(), "{again}");
}

/// Leftovers of a killed load are known from its record even if the server lists nothing.
#[test]
fn what_a_load_left_is_cleaned_up_though_the_server_lists_nothing() {
    let refused = |method| Rule::new(status(403, &[], "")).method(method);
    let keeps = refused("DELETE").path("main-writing");
    let server = Faulty::new(|builder| builder.rule(keeps));
    let url = server.url();
    let outcome = run(&url, &["writing"], "").run();
    outcome.stderr_has("PrestanTest-main-writing/");
    server.server.clear_rules();
    server.server.add_rule(refused("PROPFIND").tag("clean"));
    let cleaned = prestan!(outcome.again() => "clean {url}").ends(0);
    assert_eq!(server.left(), [""; 0], "{cleaned}");
}

#[test]
fn ctrl_c_ends_all_of_them_and_leaves_nothing() {
    let slow = Rule::new(Fault::Delay(Duration::from_millis(50))).tag("(Get1K)");
    let server = Faulty::new(|builder| builder.rule(slow));
    let options = "--save kept -r 100000";
    let running = run(&server.url(), &["writing,users=3"], options).spawn();
    until("it measures", || !server.measured("Get1K").is_empty());
    let outcome = running.end_by(Signal::INT);
    assert_eq!(server.left(), [""; 0], "{outcome}");
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
        let outcome = run(&server.url(), beside, "").ends(2);
        outcome.stderr_has(said);
    }
    assert_eq!(server.exchanges().len(), 0);
}

#[test]
fn a_round_trip_beside_other_runs_is_not_called_idle() {
    let server = plain();
    let url = server.url();
    let has_round_trip = |result: &serde_json::Value| {
        assert_eq!(result["server"]["same_machine"], "loopback", "{result:#}");
        result["server"].get("round_trip").is_some()
    };
    let alone = run(&url, &[], "-r 5").run();
    assert!(has_round_trip(&alone.json()), "{alone}");
    let beside = run(&url, &["reading", "writing"], "-r 5").run();
    assert!(!has_round_trip(&beside.json()), "{beside}");
    let loads = loads(&beside);
    assert_eq!(loads.len(), 2, "{beside}");
    assert!(
        !loads.iter().any(|(_, load)| has_round_trip(load)),
        "{beside}"
    );

    let compared = prestan!("compare {url} {url} --only Get1K -r 3 --repeat 2").run();
    let runs = compared.runs();
    assert!(runs.len() >= 2, "{compared}");
    for run in runs {
        let env = std::fs::read_to_string(run.join("env.json")).unwrap();
        assert!(!env.contains("round_trip"), "{env}");
    }
}
