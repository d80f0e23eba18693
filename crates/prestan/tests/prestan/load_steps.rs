//! Suites under load: set-up, locks, saved tokens, pauses and clean-up, in every kind of loop.

use record::{EventKind, Outcome as Ended};
use rustix::process::Signal;

use crate::support::faulty::{Faulty, count, evidence, status};
use crate::support::load::{ended, kept, operations, plain, until};
use crate::support::rows::row;
use crate::support::{Outcome, Prestan};
use testbed::fault::{Rule, ServedExchange};

/// An editor: it locks, reads, thinks, writes under its lock, and unlocks.
const EDITING: &str = r#"
suite: editing
tests:
  - name: Edit
    needs: class 2
    setup:
      - PUT: doc
        body: {size: 1KiB}
    loop:
      - LOCK: doc
        depth: 0
        timeout: 60s
        body:
          xml: |
            <?xml version="1.0" encoding="utf-8"?>
            <lockinfo xmlns="DAV:"><lockscope><exclusive/></lockscope><locktype><write/></locktype></lockinfo>
        save: {token: lock-token}
        measure: Lock
      - GET: doc
      - think: {constant: PAUSE}
      - PUT: doc
        headers: {If: "({{ token }})"}
        body: {size: 1KiB}
        measure: Save
      - UNLOCK: doc
        headers: {Lock-Token: "{{ token }}"}
        measure: Unlock
    cleanup:
      - DELETE: doc
"#;

fn editing(server: &Faulty, pause: &str, options: &str) -> Prestan {
    let prestan = Prestan::new();
    let suite = prestan.file("editing.yaml", &EDITING.replace("PAUSE", pause));
    prestan!(prestan => "load --mix {} {server} --writes --json -", suite).words(options)
}

/// Requests for the document with this method and the purpose in `X-Prestan`.
fn to_the_document(server: &Faulty, method: &str, purpose: &str) -> Vec<ServedExchange> {
    let mut exchanges = server.exchanges();
    exchanges.retain(|one| {
        one.method == method && one.path.ends_with("/doc") && one.label().contains(purpose)
    });
    exchanges
}

#[track_caller]
fn all_well(outcome: &Outcome, server: &Faulty) {
    assert_eq!(outcome.code, 0, "{outcome}");
    outcome.stderr_lacks("clean-up");
    assert_eq!(server.left(), [""; 0], "{outcome}");
    let run = kept(outcome);
    assert_eq!(ended(&run, Ended::Ok), run.samples.len(), "{outcome}");
}

#[test]
fn a_closed_loop_does_the_steps_of_a_suite_as_often_as_asked() {
    let server = plain();
    let outcome = editing(&server, "1ms", "-c 3 --requests 30 --warmup 2").run();
    all_well(&outcome, &server);
    for measure in ["Lock", "Save", "Unlock"] {
        assert_eq!(operations(row(&outcome.json(), measure)), 30, "{outcome}");
    }
    for (method, purpose, times) in [
        ("PUT", "(Edit set-up)", 3),
        ("DELETE", "(Edit clean-up)", 3),
        ("GET", "(Edit not measured)", 30),
        ("GET", "(Edit warm-up)", 6),
        ("LOCK", "(Lock)", 30 + 6),
        ("UNLOCK", "(Unlock)", 30 + 6),
    ] {
        let seen = to_the_document(&server, method, purpose);
        assert_eq!(seen.len(), times, "{method} {purpose}");
    }
}

#[test]
fn users_share_what_one_of_them_has_set_up() {
    let server = plain();
    let suite = r#"
suite: reading
tests:
  - name: Shared
    shared: true
    setup:
      - PUT: page
        body: {size: 1KiB}
    loop:
      - GET: page
        expect: {length: 1KiB}
        measure: Get
  - name: Own
    setup:
      - PUT: "own{{ user }}"
        body: {size: 64}
    loop:
      - PROPFIND: "own{{ user }}"
        depth: 0
        measure: Find
"#;
    let prestan = Prestan::new();
    let suite = prestan.file("reading.yaml", suite);
    let outcome = prestan!(prestan => "load --mix {} {server} --writes --json - -c 5 --requests 200 --threads 2", suite)
        .run();
    all_well(&outcome, &server);
    let set_up = |path: &str| {
        let exchanges = server.exchanges();
        let is_it = |one: &&ServedExchange| one.method == "PUT" && one.path.contains(path);
        exchanges.iter().filter(is_it).count()
    };
    assert_eq!((set_up("Shared-shared/page"), set_up("/own")), (1, 5));
    // Tests are drawn evenly: five standard deviations.
    let get = operations(row(&outcome.json(), "Get"));
    assert!(get.abs_diff(100) <= 36, "{get}");
    assert_eq!(operations(row(&outcome.json(), "Find")), 200 - get);
    // All rows have the window of the load, and their rates.
    for measure in ["Get", "Find"] {
        assert!(row(&outcome.json(), measure)["per_second"].is_f64());
    }
}

#[test]
fn what_cannot_be_done_without_a_step_is_dropped_and_says_why() {
    let refused = Rule::new(status(507, &[], "")).method("GET");
    let rule = refused.path("doc").nth(4);
    let server = Faulty::new(|builder| builder.rule(rule));
    let outcome = editing(&server, "1ms", "--requests 10 --warmup 0").ends(1);
    let document = outcome.json();
    for measure in ["Save", "Unlock"] {
        let row = row(&document, measure);
        assert_eq!((count(row, "ok"), count(row, "dropped")), (9, 1), "{row:#}");
        let why = "not sent, because GET doc: 507";
        assert!(evidence(row).contains(why), "{row:#}");
    }
    // The lock is released in the end.
    assert_eq!(server.left(), [""; 0]);
}

#[test]
fn a_test_that_the_server_cannot_do_is_not_supported() {
    let rule = Rule::new(status(200, &[("DAV", "1")], "")).method("OPTIONS");
    let server = Faulty::new(|builder| builder.rule(rule));
    for pace in ["--requests 5", "--rate 50 --duration 200ms"] {
        let outcome = editing(&server, "1ms", pace).ends(0);
        let document = outcome.json();
        for measure in ["Lock", "Save", "Unlock"] {
            let status = &row(&document, measure)["status"];
            assert_eq!(status, "not_supported", "{outcome}");
        }
        assert!(to_the_document(&server, "LOCK", "").is_empty());
        assert_eq!(server.left(), [""; 0]);
    }
}

#[test]
fn ctrl_c_in_a_pause_of_a_load_releases_the_locks() {
    let server = plain();
    let running = editing(&server, "1h", "-c 3 --duration 1h --warmup 0").spawn();
    until("the locks are held", || {
        to_the_document(&server, "LOCK", "(Lock)").len() == 3
    });
    let outcome = running.end_by(Signal::INT);
    assert_eq!(server.left(), [""; 0]);
    let run = kept(&outcome);
    let interrupted = |kind: &EventKind| matches!(kind, EventKind::Interrupted);
    assert!(run.events.iter().any(|event| interrupted(&event.kind)));
}

#[test]
fn search_and_sweep_do_the_steps_of_a_suite() {
    let server = plain();
    let prestan = Prestan::new();
    let suite = prestan.file("editing.yaml", &EDITING.replace("PAUSE", "1ms"));
    let search = prestan!(prestan => "search --mix {} {server} --writes --find users --while 'p50 < 10s' --to 2 \
        --duration 50ms", suite)
        .run();
    assert!([0, 3].contains(&search.code), "{search}");
    assert_eq!(server.left(), [""; 0]);
    prestan!(search.again() => "sweep {server} --mix --writes --suite {} --duration 200ms --repeat 2 --vary \
        rate=20,40 --json -", suite)
    .ends(0);
    assert_eq!(server.left(), [""; 0]);
    let released = to_the_document(&server, "UNLOCK", "(Unlock)").len();
    let taken = to_the_document(&server, "LOCK", "(Lock)").len();
    assert!(taken > 10 && taken == released, "{taken} {released}");
}

#[test]
fn what_cannot_be_a_load_is_refused_before_anything_is_sent() {
    let server = plain();
    let outcome = editing(&server, "1ms", "--pipeline 4").ends(2);
    outcome.stderr_has("the loop of Edit has steps that follow one another");
    assert_eq!(server.exchanges().len(), 0);

    let check = prestan!(outcome.again() => "suites check editing.yaml").ends(0);
    check.stdout_has("not with --pipeline");
}
