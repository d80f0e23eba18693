//! The binary against habits of real servers: connections that end, responses of many shapes,
//! missing methods. None of it is a failure of the run.

use std::time::Duration;

use record::EventKind;
use serde_json::Value;
use testbed::fault::{Builder, Fault, Rule};

use crate::support::Outcome;
use crate::support::faulty::{Faulty, checked, count, evidence, run_of, short_run, status};
use crate::support::load::{kept, plain};
use crate::support::rows::{of_prestan, row, rows};

/// Runs these tests against a server with these rules, and makes sure that nothing is left.
fn run_with(rules: impl IntoIterator<Item = Rule>, only: &str) -> (Faulty, Outcome, Value) {
    let faulty = Faulty::new(|builder| rules.into_iter().fold(builder, Builder::rule));
    let outcome = faulty.prestan(only).run();
    let result = checked(&outcome);
    assert_eq!(result["complete"]["state"], "complete", "{outcome}");
    assert_eq!(faulty.left(), [""; 0]);
    (faulty, outcome, result)
}

/// The same, and no test fails.
#[track_caller]
fn goes_well(rules: impl IntoIterator<Item = Rule>, only: &str) -> (Faulty, Outcome, Value) {
    let (faulty, outcome, result) = run_with(rules, only);
    assert_eq!(outcome.code, 0, "{outcome}");
    (faulty, outcome, result)
}

fn connects(row: &Value) -> u64 {
    row["connects"]["count"].as_u64().unwrap()
}

fn resent(row: &Value) -> u64 {
    row["connects"]["resent"].as_u64().unwrap()
}

#[test]
fn responses_of_every_shape_are_ok() {
    // All 23 tests, each shape for itself; a small trickle, because every byte is a wake-up.
    let shapes = [
        vec![Fault::Interim100(3)],
        vec![Fault::Chunked],
        vec![Fault::Http10],
        vec![Fault::Chunked, Fault::Interim100(1)],
        vec![Fault::DropHeader("ETag".to_owned())],
    ];
    for shape in shapes {
        let rules = shape.into_iter().map(Rule::new);
        let (.., result) = goes_well(rules, "*");
        assert_eq!(rows(&result).len(), of_prestan().len());
    }
}

#[test]
fn a_response_byte_by_byte_is_ok_and_its_first_byte_counts() {
    // About 1200 bytes with a pause after each: the transfer takes more than 60 ms, the response
    // time does not.
    let pause = Duration::from_micros(50);
    let trickle = Rule::new(Fault::Trickle(pause)).tag("(Get1K)");
    let (.., result) = goes_well([trickle], "Get1K,PropfindLiveMult");
    let get = row(&result, "Get1K");
    let p50 = |time: &str| get[time]["p50"].as_f64().unwrap();
    let transfer_us = p50("total_us") - p50("response_us");
    assert!(transfer_us > 1024.0 * 50.0, "{get:#}");
    assert!(p50("response_us") < 30_000.0, "{get:#}");
}

#[test]
fn a_connection_that_ends_after_three_requests() {
    for announced in [true, false] {
        let fault = Fault::CloseAfterRequests {
            requests: 3,
            announced,
        };
        let (faulty, _, result) = goes_well([Rule::new(fault)], "Put1K,Get1K,Delete,MkCol");
        for row in rows(&result) {
            assert_eq!(row["status"], "ok", "{row:#}");
        }
        // The rows agree with the record of the server.
        for test in ["Put1K", "Get1K", "Delete", "MkCol"] {
            let exchanges = faulty.measured(test);
            let row = row(&result, test);
            assert_eq!(row["operations"], exchanges.len() as u64);
            let firsts = faulty.firsts_on_connections();
            let opened = exchanges.iter().filter(|one| firsts.contains(one)).count();
            assert_eq!(connects(row), opened as u64, "{announced}: {row:#}");
        }
        let all: u64 = rows(&result).iter().map(connects).sum();
        assert!(all > 2, "{result:#}");
    }
}

/// LOCK must not be repeated, so it must not be sent on a connection that is about to end.
#[test]
fn a_server_that_closes_silently_after_each_204() {
    let close = Rule::new(Fault::CloseAfterStatus(204));
    let faulty = Faulty::new(|builder| builder.rule(close));
    let tests = "Put1K,Lock,UnLock,Delete";
    let outcome = run_of(&faulty.url(), tests, 25).ends(0);
    let result = checked(&outcome);
    for test in tests.split(',') {
        let row = row(&result, test);
        assert_eq!(row["status"], "ok", "{row:#}");
        assert_eq!(count(row, "ok"), 25, "{row:#}");
    }
    assert_eq!(faulty.measured("Lock").len(), 25);
    assert_eq!(resent(row(&result, "Lock")), 0);
    let events = kept(&outcome).events;
    let closed = events.iter().find_map(|event| match event.kind {
        EventKind::ClosedSilently {
            status,
            noticed,
            lost,
        } => Some((status, noticed + lost)),
        _ => None,
    });
    assert!(matches!(closed, Some((204, 25..))), "{closed:?}");
    assert_eq!(faulty.left(), [""; 0]);
}

#[test]
fn a_kept_connection_that_dies_is_opened_again_and_the_request_sent_again() {
    // Every second GET fails before its response, but never one on a new connection.
    let dies = Rule::new(Fault::CloseBeforeResponse).tag("(Get1K)");
    let faulty = Faulty::new(|builder| builder.rule(dies.every(2)));
    let outcome = run_of(&faulty.url(), "Get1K", 9).ends(0);
    let result = checked(&outcome);
    let get = row(&result, "Get1K");
    // Requests 2, 4, 6, ... in the server's count; each is repeated as 3, 5, 7, ...
    let counts = (count(get, "ok"), resent(get), connects(get));
    assert_eq!(counts, (9, 8, 8), "{get:#}");
    assert_eq!(faulty.measured("Get1K").len(), 9 + 8);
    assert_eq!(faulty.left(), [""; 0]);
}

#[test]
fn a_lock_is_never_sent_twice() {
    let dies = Rule::new(Fault::CloseBeforeResponse).tag("(Lock)").nth(2);
    let (faulty, outcome, result) = run_with([dies], "Lock,UnLock");
    assert_eq!(outcome.code, 1, "{outcome}");
    let lock = row(&result, "Lock");
    let counts = (count(lock, "ok"), count(lock, "reset"), resent(lock));
    assert_eq!(counts, (2, 1, 0), "{lock:#}");
    assert_eq!(faulty.measured("Lock").len(), 3);
    // A lock that was not got cannot be given back: planned, not sent, and counted.
    let unlock = row(&result, "UnLock");
    let counts = (count(unlock, "ok"), count(unlock, "dropped"));
    assert_eq!(counts, (2, 1), "{unlock:#}");
    assert_eq!(faulty.measured("UnLock").len(), 2);
}

#[test]
fn more_bytes_than_said_do_no_harm_and_are_noted() {
    let longer = Rule::new(Fault::LongerThanSaid).tag("(Get1K)");
    let (.., result) = goes_well([longer], "Put1K,Get1K,Get1024K");
    let get = row(&result, "Get1K");
    assert_eq!((count(get, "ok"), connects(get)), (3, 2), "{get:#}");
    let notes = get["notes"].to_string();
    assert!(notes.contains("more bytes than"), "{get:#}");
    assert!(notes.contains("RFC 9112"), "{get:#}");
    for other in ["Put1K", "Get1024K"] {
        let notes = row(&result, other)["notes"].to_string();
        assert!(!notes.contains("more bytes than"), "{result:#}");
    }
}

/// A method that is missing, and the tests that cannot be done without it.
#[test]
fn a_method_that_is_missing_is_not_supported() {
    let deep = ["PropfindDeadMult", "PropfindDeadSingle"];
    let patch = ["ProppatchMult", "ProppatchSingle"];
    let live = ["PropfindLiveMult", "PropfindLiveSingle"];
    let locks = ["Lock", "UnLock", "LockCol", "UnLockCol"];
    let table: [(&str, u16, Vec<&str>); 5] = [
        ("PROPPATCH", 405, [patch, deep].concat()),
        ("PROPPATCH", 501, [patch, deep].concat()),
        ("LOCK", 501, locks.to_vec()),
        ("LOCK", 405, locks.to_vec()),
        ("PROPFIND", 405, [deep, live].concat()),
    ];
    for (method, code, missing) in table {
        let rule = Rule::new(status(code, &[], "")).method(method);
        let (.., result) = goes_well([rule], "*");
        for row in rows(&result) {
            let test = row["measure"].as_str().unwrap();
            if !missing.contains(&test) {
                assert_eq!(row["status"], "ok", "{method} {code}: {row:#}");
                continue;
            }
            // The method of the row is missing, or one before it.
            let is_of_row = row["method"] == method;
            let word = if is_of_row {
                "not_supported"
            } else {
                "skipped"
            };
            assert_eq!(row["status"], word, "{method} {code}: {row:#}");
            assert!(row["response_us"].is_null(), "{row:#}");
            for part in [
                &*format!("{method} "),
                &format!(": {code} "),
                "OPTIONS lists",
            ] {
                assert!(evidence(row).contains(part), "{row:#}");
            }
        }
    }
}

/// A server without COPY of collections: their DELETE is not missing, it was never requested.
#[test]
fn a_row_whose_set_up_is_missing_is_skipped_and_says_what_it_needs() {
    let refused = || Rule::new(status(403, &[], "")).method("COPY");
    let rules = [refused().path("_col"), refused().path("source/")];
    let (_, outcome, result) = goes_well(rules, "Delete,*Col");
    let table = "
        Delete => ok =>
        MkCol => ok =>
        CopyCol => not_supported => COPY copy_col/: 403 Forbidden
        DeleteCol => skipped
          => needs COPY, which the server does not support here: COPY source/: 403 Forbidden
    ";
    for [name, status, evidence] in cases::rows(table) {
        let row = row(&result, name);
        assert_eq!(row["status"], status, "{row:#}");
        let found = row["evidence"].as_str().unwrap_or_default();
        assert!(found.starts_with(evidence), "{name}: {found}");
    }
    let text = prestan!(outcome.again() => "report").run().stdout;
    let mut lines = text.lines();
    let row = lines.find(|line| line.starts_with("DeleteCol ")).unwrap();
    assert!(row.contains(" skipped "), "{text}");
    assert!(row.contains(" needs COPY"), "{text}");
}

#[test]
fn a_server_that_does_not_say_that_it_is_webdav() {
    let silent = Rule::new(Fault::DropHeader("DAV".to_owned()));
    let tests = "Propp*,Put1K,CopyCol,Lock,UnLockCol";
    let (.., result) = goes_well([silent.clone()], tests);
    // According to PROPFIND, it has locks.
    for test in ["ProppatchSingle", "Put1K", "CopyCol", "Lock", "UnLockCol"] {
        assert_eq!(row(&result, test)["status"], "ok", "{result:#}");
    }
    let response = "<multistatus xmlns=\"DAV:\"><response><href>/</href><propstat><prop><supportedlock/></prop>\
                    <status>HTTP/1.1 200 OK</status></propstat></response></multistatus>";
    let without = Rule::new(status(207, &[], response)).tag("(probe)");
    let (.., result) = goes_well([silent, without.method("PROPFIND")], tests);
    assert_eq!(row(&result, "Put1K")["status"], "ok", "{result:#}");
    for test in ["Lock", "UnLockCol"] {
        let lock = row(&result, test);
        assert_eq!(lock["status"], "not_supported");
        let reason = "OPTIONS gives no DAV header";
        assert!(evidence(lock).contains(reason), "{lock:#}");
    }
}

#[test]
fn a_server_of_class_1_has_no_locks() {
    let options = status(200, &[("DAV", "1")], "");
    let options = Rule::new(options).method("OPTIONS");
    let (faulty, _, result) = goes_well([options], "Put1K,*Lock*");
    assert_eq!(result["server"]["dav"], serde_json::json!(["1"]));
    for test in ["Lock", "UnLock", "LockCol", "UnLockCol"] {
        let lock = row(&result, test);
        assert_eq!(lock["status"], "not_supported");
        assert!(evidence(lock).contains("class 2"), "{lock:#}");
        assert!(evidence(lock).contains("`DAV: 1`"), "{lock:#}");
    }
    let is_tried = faulty.exchanges().iter().any(|one| one.method == "LOCK");
    assert!(!is_tried, "it was tried all the same");
}

#[test]
fn redirects_are_explained_and_never_followed() {
    let elsewhere = plain();
    let moved = status(302, &[("Location", &elsewhere.url())], "");
    let (_, outcome, result) = run_with([Rule::new(moved).tag("(Get1K)")], "Get1K");
    assert_eq!(outcome.code, 1, "{outcome}");
    let get = row(&result, "Get1K");
    assert!(evidence(get).contains(&elsewhere.url()), "{get:#}");
    let says = "redirects are not followed";
    assert!(evidence(get).contains(says), "{get:#}");
    assert_eq!(elsewhere.exchanges().len(), 0);
}

#[test]
fn a_collection_of_that_name_is_not_touched() {
    let faulty = plain();
    let taken = faulty.demo.root().join("PrestanTest-mine");
    std::fs::create_dir(&taken).unwrap();
    std::fs::write(taken.join("thesis"), "years of work").unwrap();
    let outcome = prestan!(short_run(&faulty.url(), "Put1K") => "--run-id mine").ends(4);
    outcome.stderr_has("PrestanTest-mine/ is there already");
    outcome.stderr_has("--run-id");
    outcome.stderr_has("prestan clean");
    checked(&outcome);
    let thesis = std::fs::read_to_string(taken.join("thesis")).unwrap();
    assert_eq!(thesis, "years of work");
    let reads = ["OPTIONS", "PROPFIND", "GET", "HEAD"];
    let exchanges = faulty.exchanges();
    let only_reads = exchanges.iter().all(|one| reads.contains(&&*one.method));
    assert!(only_reads, "{exchanges:#?}");
}
