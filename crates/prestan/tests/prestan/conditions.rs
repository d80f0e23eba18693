//! Conditions of steps, constraints that end a run, and figures of parts of a run.

use std::time::Duration;

use record::{EndedBy, EventKind, Outcome as Ended};
use serde_json::{Value, json};

use crate::roles::{load_of, row, run, verdict, write};
use crate::support::Outcome;
use crate::support::load::{ended, kept, plain, reading};

const STEPS: &str = "
      - when: operations(Read, last 60 s) > 100 and p50(Read) > 1 ns
        steps:
          - HEAD: doc
            measure: Late
          - end: WHAT
        else:
          - GET: doc
            measure: Early
  - name: Afterwards
    setup:
      - PUT: doc
        body: {size: 1KiB}
    loop:
      - GET: doc
        measure: After
";

fn steered(ends: &str, options: &str) -> Outcome {
    let text = reading("", &STEPS.replace("WHAT", ends));
    run(&plain(), &text, options)
}

/// The reasons for which a run ended early.
fn reasons(outcome: &Outcome) -> Value {
    outcome.json()["ended_early"].clone()
}

#[test]
fn a_condition_chooses_steps_and_ends_a_test_or_the_run() {
    let test = steered("test", "-r 20000 --only Reading");
    let (read, late) = (row(&test, "Read"), row(&test, "Late"));
    assert_eq!(late["operations"], 1, "{test}");
    let done = read["operations"].as_u64().unwrap();
    assert!((100..20_000).contains(&done), "{test}");
    assert_eq!(reasons(&test)[0], "a step of the suite ended its test");

    let whole = steered("run", "-r 20000");
    assert_eq!(row(&whole, "After")["status"], "skipped", "{whole}");
    let events = kept(&whole).events;
    let by_step = EndedBy::Step { test: None };
    let ended = EventKind::EndedEarly { by: by_step };
    assert_eq!(events.iter().filter(|event| event.kind == ended).count(), 1);
}

#[test]
fn a_hopeless_run_is_ended_by_its_constraint() {
    const PLANNED: u64 = 200_000;
    let constraints = "constraints:
  few: {expression: operations(Read) < 20, abort: true}
  all: {expression: operations(Read) >= 200000, abort: true}
";
    // Counts are known, regardless of the load generator; the second one may still be reached until
    // the end.
    let server = plain();
    let text = reading(constraints, "");
    let outcome = run(&server, &text, &format!("-r {PLANNED}")).ended(1);
    assert_eq!(verdict(&outcome, "few"), "fail", "{outcome}");
    let reason = "the constraint `few` failed, and ended the run";
    assert_eq!(reasons(&outcome), json!([reason]));
    let done = row(&outcome, "Read")["operations"].as_u64().unwrap();
    assert!((1..PLANNED).contains(&done), "{outcome}");
    assert_eq!(server.left(), [""; 0]);
}

#[test]
fn a_load_is_ended_by_a_constraint_that_cannot_be_fulfilled() {
    let constraints = "constraints:
  fast: {expression: max(Read) < 1 ns, abort: true}
  enough: {expression: operations(Read) > 1000000000, abort: true}
";
    let (_directory, path) = write(&reading(constraints, ""));
    let server = plain();
    let begun = std::time::Instant::now();
    let path = path.display();
    let outcome = prestan!("load --writes --mix {path} {server} --duration 60s -q --json -").run();
    assert!(begun.elapsed() < Duration::from_secs(40), "{outcome}");
    assert_eq!(outcome.code, 1, "{outcome}");
    // A constraint that may still be fulfilled ends nothing.
    let reason = "the constraint `fast` failed, and ended the run";
    assert_eq!(reasons(&outcome), json!([reason]));
    let run = kept(&outcome);
    assert_eq!(ended(&run, Ended::Ok), run.samples.len(), "{outcome}");
    assert_eq!(server.left(), [""; 0]);
}

#[test]
fn a_step_ends_a_load() {
    let steps = "
      - GET: ''
        measure: Get
      - when: operations(Get) > 20
        steps: [{end: test}]
";
    let begun = std::time::Instant::now();
    let outcome = load_of(&plain(), steps, "40s");
    assert!(begun.elapsed() < Duration::from_secs(30), "{outcome}");
    let reason = "a step of the suite ended the run";
    assert_eq!(reasons(&outcome), json!([reason]));
}

#[test]
fn a_condition_on_what_is_not_selected_is_refused() {
    let outcome = steered("test", "--only Afterwards,Early").ended(2);
    outcome.stderr_has("names what is not selected");
}
