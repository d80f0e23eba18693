//! The binary against servers that change during a run: they fill up, end, do not respond, do not
//! release resources. Measurements until then are saved, and leftovers are reported.

use std::time::{Duration, Instant};

use crate::support::Outcome;
use crate::support::faulty::{Faulty, IMPATIENT, checked, count, evidence, run_of, status};
use crate::support::rows::row;
use serde_json::Value;
use testbed::fault::{Fault, Rule};

#[test]
fn a_disk_that_is_full_from_some_test_on() {
    let full = Rule::new(status(507, &[], "")).method("PUT").tag("64K");
    let faulty = Faulty::new(|builder| builder.rule(full));
    let outcome = faulty.prestan("Put1K,Put64K,Get64K,MkCol").run();
    let result = checked(&outcome);
    assert_eq!(outcome.code, 1, "{outcome}");
    for (test, status) in [("Put1K", "ok"), ("MkCol", "ok"), ("Get64K", "failed")] {
        assert_eq!(row(&result, test)["status"], status, "{result:#}");
    }
    let put = row(&result, "Put64K");
    assert_eq!((count(put, "refused"), count(put, "ok")), (3, 0), "{put:#}");
    // The resource of GET never existed: the set-up has the reason, and nothing was measured.
    let get = row(&result, "Get64K");
    assert_eq!(get["operations"], 0, "{get:#}");
    let reason = "PUT res: 507 Insufficient Storage";
    assert!(evidence(get).contains(reason), "{get:#}");
    assert_eq!(faulty.left(), [""; 0]);
}

/// Starts a run, waits until it is amid the measured part of Get1K, and then lets `end` end it.
fn in_the_middle(users: &str, end: impl FnOnce(&mut Option<Faulty>)) -> (Outcome, Duration) {
    // Slow enough to be running at the end.
    let slow = Rule::new(Fault::Delay(Duration::from_millis(2))).tag("(Get1K)");
    let mut faulty = Some(Faulty::new(|builder| builder.rule(slow)));
    let server = faulty.as_ref().unwrap();
    let run = prestan!(run_of(&server.url(), "Put1K,Get1K,Delete", 500) => "-c {users}");
    let mut running = run.args(IMPATIENT).spawn();
    while server.measured("Get1K").len() < 10 {
        assert!(!running.has_ended());
        std::thread::yield_now();
    }
    end(&mut faulty);
    let ended = Instant::now();
    (running.wait(), ended.elapsed())
}

#[test]
fn a_server_that_dies_in_mid_run() {
    let (outcome, _) = in_the_middle("1", |faulty| drop(faulty.take()));
    let result = checked(&outcome);
    assert_eq!(outcome.code, 4, "{outcome}");
    assert_eq!(row(&result, "Put1K")["status"], "ok", "{result:#}");

    let get = row(&result, "Get1K");
    assert_eq!(get["status"], "failed", "{get:#}");
    // What was measured until then.
    assert!(count(get, "ok") >= 9, "{get:#}");
    assert!(count(get, "connect_failed") >= 4, "{get:#}");
    for part in [
        "5 operations in a row had no response",
        "GET res: connecting failed",
    ] {
        assert!(evidence(get).contains(part), "{get:#}");
    }

    // The next test cannot connect, and the run ends there.
    assert_eq!(result["complete"]["state"], "aborted");
    let reason = result["complete"]["reason"].as_str().unwrap();
    assert!(reason.contains("MKCOL"), "{reason}");
    assert!(reason.contains("refused"), "{reason}");
    outcome.stderr_has(reason);
    assert_eq!(row(&result, "Delete")["operations"], 0);
    is_named_as_left(&outcome, &result);
}

#[test]
fn a_server_that_dies_while_several_users_are_at_work() {
    let (outcome, _) = in_the_middle("5", |faulty| drop(faulty.take()));
    let result = checked(&outcome);
    assert_eq!(outcome.code, 4, "{outcome}");
    // No user waits for the others endlessly.
    assert_eq!(result["complete"]["state"], "aborted");
    assert_eq!(row(&result, "Get1K")["status"], "failed");
    is_named_as_left(&outcome, &result);
}

#[test]
fn a_server_that_falls_silent_in_mid_run() {
    let mut kept = None;
    let (outcome, took) = in_the_middle("1", |faulty| {
        let server = kept.insert(faulty.take().unwrap());
        server.server.add_rule(Rule::new(Fault::Hang));
    });
    let result = checked(&outcome);
    assert_eq!(outcome.code, 1, "{outcome}");
    let get = row(&result, "Get1K");
    assert_eq!(get["status"], "failed", "{get:#}");
    assert!(count(get, "ok") >= 9, "{get:#}");
    assert_eq!(count(get, "timeout"), 5, "{get:#}");
    assert_eq!(result["complete"]["state"], "aborted");
    is_named_as_left(&outcome, &result);
    // Five requests without a response, and one for each way to continue or to clean up. With the
    // time limit of a removal it would be 3 s each.
    assert!(took < Duration::from_secs(6), "{took:?}");
}

/// Leftovers are reported in the result and on standard error.
fn is_named_as_left(outcome: &Outcome, result: &Value) {
    let left = result["left_behind"].as_array().unwrap();
    assert_eq!(left.len(), 1, "{result:#}");
    assert_eq!(left[0]["own"], true);
    let url = left[0]["url"].as_str().unwrap();
    assert!(url.contains("/PrestanTest-"), "{url}");
    outcome.stderr_has(url);
}

#[test]
fn what_goes_wrong_before_measuring_stops_that_test_alone() {
    let garbage = Fault::Garbage(b"what?\r\n\r\n".to_vec());
    let table = [
        (Fault::Hang, "no complete response within 300ms"),
        (
            Fault::CloseBeforeResponse,
            "the server ended the connection",
        ),
        (garbage, "the response is not HTTP"),
        (
            status(500, &[], ""),
            "500 Internal Server Error; expected 2xx",
        ),
    ];
    for (fault, says) in table {
        let rule = Rule::new(fault).method("PUT").tag("(Get1K set-up)");
        let faulty = Faulty::new(|builder| builder.rule(rule));
        let outcome = faulty.prestan("Put1K,Get1K,Copy").args(IMPATIENT).run();
        let result = checked(&outcome);
        assert_eq!(outcome.code, 1, "{outcome}");
        let get = row(&result, "Get1K");
        assert_eq!(get["status"], "failed", "{get:#}");
        assert_eq!(get["operations"], 0, "{get:#}");
        let says = format!("PUT res: {says}");
        assert!(evidence(get).contains(&says), "{get:#}");
        for other in ["Put1K", "Copy"] {
            assert_eq!(row(&result, other)["status"], "ok");
        }
        assert_eq!(faulty.left(), [""; 0]);
    }
}

#[test]
fn a_lock_that_is_not_given_back_is_released_in_the_end() {
    let refuses = Rule::new(status(500, &[], "")).tag("(UnLock)");
    let faulty = Faulty::new(|builder| builder.rule(refuses));
    let outcome = faulty.prestan("Lock,UnLock").run();
    let result = checked(&outcome);
    assert_eq!(outcome.code, 1, "{outcome}");
    let unlock = row(&result, "UnLock");
    assert_eq!(count(unlock, "wrong_status"), 1, "{unlock:#}");
    // The resource is locked now, and the next LOCK meets that.
    assert_eq!(count(row(&result, "Lock"), "refused"), 2, "{result:#}");
    assert_eq!(result["left_behind"], Value::Array(vec![]));
    assert_eq!(faulty.left(), [""; 0]);
}

#[test]
fn what_cannot_be_removed_is_named_and_can_be_removed_later() {
    let keeps = Rule::new(status(403, &[], "")).method("DELETE");
    let faulty = Faulty::new(|builder| builder.rule(keeps));
    let outcome = faulty.prestan("Get1K").run();
    let result = checked(&outcome);
    assert_eq!(row(&result, "Get1K")["status"], "ok", "{result:#}");
    is_named_as_left(&outcome, &result);
    let reason = result["left_behind"][0]["reason"].as_str().unwrap();
    assert!(reason.contains("DELETE returned 403"), "{reason}");
    assert_eq!(faulty.left().len(), 1);

    faulty.server.clear_rules();
    prestan!(outcome.again() => "clean {faulty}").ends(0);
    assert_eq!(faulty.left(), [""; 0]);
}
