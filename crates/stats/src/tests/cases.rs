//! Runs with one thing in them each, and what the summary must say about it.

use record::{Clock, Connect, EventKind, LeftBehind, MeasureId, Outcome, Run, Sample, TestId};

use super::op;
use crate::testing::{self, RunBuilder, US};
use crate::{
    ClockSummary, Completeness, Conclusion, Note, Status, StatusReason, Summary, TestSummary,
    summarise,
};

/// A run of one test with one row, `Put1K`.
fn put(users: u32) -> RunBuilder {
    RunBuilder::new(users).test("Put1K", &[("Put1K", "PUT")])
}

fn only(run: &Run) -> TestSummary {
    let mut tests = summarise(run).tests;
    assert_eq!(tests.len(), 1);
    tests.remove(0)
}

#[test]
fn a_single_user_counts_everything() {
    let row = only(&put(1).ok("Put1K", 10, |i| 100 + i).build());
    assert_eq!((row.status, row.evidence.as_ref()), (Status::Ok, None));
    assert_eq!((row.operations(), row.left_out(), row.early), (10, 0, 0));
    let response = row.response.unwrap();
    assert_eq!(
        (response.n, response.min, response.max),
        (10, 100 * US, 109 * US)
    );
    assert_eq!(response.mean, 104.5 * US as f64);
    let total = row.total.unwrap();
    assert_eq!(
        total.mean,
        134.5 * US as f64,
        "10 us to send and 20 us of transfer more"
    );
    assert_eq!((row.bytes_sent, row.bytes_received), (3000, 5000));
    // The ten operations follow one another without a pause.
    assert_eq!(row.window_s, Some(1345e-6));
    assert!((row.per_second().unwrap() - 10.0 / 1345e-6).abs() < 1e-6);
}

#[test]
fn only_the_common_window_counts_and_the_rest_is_counted_beside_it() {
    let run = put(2)
        .sample("Put1K", op(0, 0, 10))
        .sample("Put1K", op(0, 10, 20))
        .sample("Put1K", op(0, 20, 30))
        .sample("Put1K", op(1, 5, 15))
        .sample("Put1K", op(1, 15, 42))
        .sample("Put1K", op(1, 42, 43))
        .build();
    let summary = summarise(&run);
    let row = &summary.tests[0];
    // The window is 5..=30: the first of user 0 begins before it, the last of user 1 after.
    assert_eq!(
        (row.operations(), row.left_out(), summary.left_out()),
        (4, 2, 2)
    );
    let response = row.response.unwrap();
    assert_eq!((response.n, response.min, response.max), (4, 10, 27));
    assert_eq!(row.window_s, Some(25e-9));
}

#[test]
fn rows_of_one_test_share_a_window_and_tests_do_not() {
    let run = RunBuilder::new(2)
        .test("Locks", &[("Lock", "LOCK"), ("UnLock", "UNLOCK")])
        .test("Put1K", &[("Put1K", "PUT")])
        .sample("Lock", op(0, 0, 10))
        .sample("UnLock", op(0, 50, 60))
        .sample("Lock", op(1, 20, 30))
        .sample("UnLock", op(1, 30, 40))
        .sample("Put1K", op(0, 1000, 1010))
        .sample("Put1K", op(1, 1000, 1010))
        .build();
    let summary = summarise(&run);
    let counted: Vec<_> = summary
        .tests
        .iter()
        .map(|t| (t.operations(), t.left_out()))
        .collect();
    assert_eq!(counted, [(1, 1), (1, 1), (2, 0)]);
    assert_eq!(summary.tests[0].window_s, summary.tests[1].window_s);
}

#[test]
fn a_user_without_operations_empties_the_window() {
    let row = only(&put(2).sample("Put1K", op(0, 0, 10)).build());
    assert_eq!((row.operations(), row.left_out()), (0, 1));
    assert_eq!((row.response, row.total, row.window_s), (None, None, None));
    assert_eq!(
        row.status,
        Status::Ok,
        "nothing failed; the warning tells the rest"
    );
}

#[test]
fn failed_operations_are_in_no_time_and_in_no_rate() {
    let slow_failure = |builder: RunBuilder| {
        let mut failed = op(0, 10_000 * US, 900_000 * US);
        failed.outcome = Outcome::WrongStatus;
        failed.connect = testing::connect(5, Some(7));
        builder.sample("Put1K", failed)
    };
    let good = only(&put(1).ok("Put1K", 10, |_| 100).build());
    let bad = only(&slow_failure(put(1).ok("Put1K", 10, |_| 100)).build());
    assert_eq!(bad.status, Status::Failed);
    assert_eq!(bad.evidence, Some(StatusReason::Failed(bad.outcomes)));
    assert_eq!(
        (bad.operations(), bad.outcomes.ok(), bad.failed()),
        (11, 10, 1)
    );
    assert_eq!((bad.response, bad.total), (good.response, good.total));
    assert_eq!(
        (bad.connects.count, bad.connects.tcp, bad.connects.tls),
        (1, None, None)
    );
    assert!((bad.per_second().unwrap() - 10.0 / 0.9).abs() < 1e-9);
}

#[test]
fn a_failure_outside_the_window_still_fails_the_test() {
    let mut early = op(0, 0, 10);
    early.outcome = Outcome::Timeout;
    let both = |builder: RunBuilder| {
        builder
            .sample("Put1K", op(1, 5, 25))
            .sample("Put1K", op(0, 10, 25))
    };
    assert_eq!(only(&both(put(2)).build()).status, Status::Ok);
    let row = only(&both(put(2)).sample("Put1K", early).build());
    assert_eq!(
        (row.outcomes.failed(), row.left_out_outcomes.failed()),
        (0, 1)
    );
    assert_eq!((row.status, row.failed()), (Status::Failed, 1));
}

#[test]
fn an_answer_before_the_request_was_sent_has_no_response_time() {
    let mut early = op(0, 0, 100);
    early.moments.sent = Some(90);
    early.moments.first = Some(50);
    let row = only(
        &put(1)
            .sample("Put1K", early)
            .sample("Put1K", op(0, 100, 130))
            .build(),
    );
    assert_eq!((row.early, row.outcomes.ok()), (1, 2));
    assert_eq!((row.response.unwrap().n, row.total.unwrap().n), (1, 2));
}

#[test]
fn connections_are_measured_apart() {
    let connecting = |tcp, tls, resumed| Sample {
        connect: Some(Connect { tcp, tls, resumed }),
        ..op(0, 0, 10)
    };
    let resent = Sample {
        resent: true,
        ..connecting(40, None, None)
    };
    let row = only(
        &put(1)
            .sample("Put1K", connecting(20, Some(100), Some(false)))
            .sample("Put1K", connecting(20, Some(30), Some(true)))
            .sample("Put1K", connecting(20, Some(200), None))
            .sample("Put1K", resent)
            .sample("Put1K", op(0, 10, 20))
            .build(),
    );
    let connects = row.connects;
    assert_eq!((connects.count, connects.resent), (4, 1));
    let mean = |times: Option<crate::Distribution>| times.map(|times| (times.n, times.mean));
    assert_eq!(mean(connects.tcp), Some((4, 25.0)));
    // What is not known to be resumed counts as a full handshake.
    assert_eq!(mean(connects.tls), Some((2, 150.0)));
    assert_eq!(mean(connects.tls_resumed), Some((1, 30.0)));
}

#[test]
fn not_supported_comes_from_the_engine_or_from_every_answer() {
    let evidence = "LOCK is not in Allow, and was answered with 405";
    let found = put(1).event("Put1K", |test, _| EventKind::NotSupported {
        test,
        step: None,
        evidence: evidence.into(),
    });
    let row = only(&found.build());
    assert_eq!(
        (row.status, row.evidence),
        (
            Status::NotSupported,
            Some(StatusReason::Evidence(evidence.into()))
        )
    );
    let answers = put(1).ops("Put1K", 3, Outcome::Unsupported, |_| 0);
    assert_eq!(only(&answers.clone().build()).status, Status::NotSupported);
    let one_went_well = answers.ok("Put1K", 1, |_| 100);
    assert_eq!(only(&one_went_well.build()).status, Status::Failed);
}

#[test]
fn failures_are_described_with_who_and_how() {
    let failing = |users| {
        let base = put(users)
            .ok("Put1K", 1, |_| 100)
            .event("Put1K", |test, _| EventKind::TestFailed {
                test,
                evidence: "MKCOL gave 507".into(),
            });
        (0..9).fold(base, |builder, number| {
            builder.event("Put1K", |_, measure| EventKind::OperationFailed {
                measure,
                user: 1,
                number,
                outcome: Outcome::Refused,
                evidence: "PUT gave 423".into(),
                status: Some(423),
                cause: None,
            })
        })
    };
    let row = only(&failing(2).build());
    let failed = StatusReason::Evidence("MKCOL gave 507".into());
    assert_eq!(row.failures.len(), 2);
    assert_eq!(row.failures[0].example.as_ref(), Some(&failed));
    let of_operations = &row.failures[1];
    let kind = (of_operations.outcome, of_operations.status);
    assert_eq!(kind, (Some(Outcome::Refused), Some(423)));
    assert_eq!(of_operations.count, 9);
    assert_eq!((row.status, row.evidence), (Status::Failed, Some(failed)));
    let first = |user| StatusReason::Operation {
        number: 0,
        user,
        outcome: Outcome::Refused,
        evidence: "PUT gave 423".into(),
    };
    assert_eq!(row.failures[1].example, Some(first(Some(1))));
    let alone = only(&failing(1).build());
    assert_eq!(alone.failures[1].example, Some(first(None)));
}

#[test]
fn notes_are_kept_once() {
    let note = |builder: RunBuilder| {
        builder.event("Put1K", |_, measure| EventKind::Note {
            measure,
            text: "404 for lockdiscovery".into(),
        })
    };
    let row = only(&note(note(put(1).ok("Put1K", 1, |_| 100))).build());
    assert_eq!(row.notes, [Note::Remark("404 for lockdiscovery".into())]);
    assert_eq!(row.status, Status::Ok);
}

#[test]
fn a_row_says_when_its_slowest_operation_dominates_the_mean() {
    // One stall of 20 ms has two thirds of the sum; one of 1 ms a twelfth.
    let stalled = |us| {
        only(
            &put(1)
                .ok("Put1K", 100, |i| if i == 50 { us } else { 100 })
                .build(),
        )
    };
    let Note::Dominated(share) = stalled(20_000).notes[0] else {
        panic!("another note");
    };
    assert!((0.66..0.67).contains(&share), "{share}");
    assert_eq!(stalled(900).notes, []);
}

#[test]
fn an_interrupted_run_says_so_and_blames_nobody() {
    let run = put(1)
        .test("Delete", &[("Delete", "DELETE")])
        .test("Move", &[("Move", "MOVE")])
        .ok("Put1K", 3, |_| 100)
        .ops("Put1K", 1, Outcome::Cancelled, |_| 0)
        .ops("Delete", 1, Outcome::Cancelled, |_| 0)
        .run_event(EventKind::Interrupted)
        .build();
    let summary = summarise(&run);
    assert_eq!(summary.complete, Completeness::Interrupted);
    let found: Vec<_> = summary
        .tests
        .iter()
        .map(|test| (test.status, test.evidence.clone()))
        .collect();
    let ended = |began| {
        Some(StatusReason::RunEnded {
            interrupted: true,
            began,
        })
    };
    assert_eq!(
        found,
        [
            (Status::Ok, None),
            (Status::Failed, ended(true)),
            (Status::Failed, ended(false)),
        ]
    );
    assert_eq!(summary.conclusion(), Conclusion::Fail);
}

#[test]
fn the_first_end_is_the_reason() {
    let aborted = || EventKind::Aborted {
        reason: "the server is gone".into(),
    };
    let complete = |builder: RunBuilder| summarise(&builder.build()).complete;
    assert_eq!(complete(put(1)), Completeness::Complete);
    assert_eq!(
        complete(
            put(1)
                .run_event(aborted())
                .run_event(EventKind::Interrupted)
        ),
        Completeness::Aborted(Some("the server is gone".into()))
    );
    assert_eq!(
        complete(
            put(1)
                .run_event(EventKind::Interrupted)
                .run_event(aborted())
        ),
        Completeness::Interrupted
    );
    let cut_off = complete(put(1).with(|run| run.env.ended_at = None));
    assert_eq!(cut_off, Completeness::Aborted(None));
}

#[test]
fn what_is_left_on_the_server_is_listed() {
    let left = LeftBehind {
        url: "http://127.0.0.1:8080/dav/PrestanTest-x/".into(),
        reason: "DELETE gave 423".into(),
        own: true,
    };
    let run = put(1)
        .run_event(EventKind::LeftBehind(left.clone()))
        .build();
    assert_eq!(summarise(&run).left_behind, [left]);
}

#[test]
fn an_empty_plan_and_ids_beyond_it_are_no_reason_to_panic() {
    let empty = summarise(&RunBuilder::new(0).build());
    assert_eq!(
        empty,
        Summary {
            constraints: Vec::new(),
            tests: vec![],
            pages: None,
            warnings: vec![],
            complete: Completeness::Complete,
            left_behind: vec![],
            clock: ClockSummary {
                clock: Clock::User,
                bias: None,
                missed: 0
            },
            generator: vec![],
            goal: None,
            load_steps: Vec::new(),
            background: None,
            inside: None,
            server_view: None,
            ended_early: Vec::new(),
            runs: 1,
        }
    );
    let beyond = RunBuilder::new(1)
        .with(|run| {
            run.samples
                .push(testing::sample(MeasureId(7), 0, Outcome::Ok))
        })
        .run_event(EventKind::NotSupported {
            test: TestId(9),
            step: None,
            evidence: String::new(),
        })
        .build();
    assert_eq!(summarise(&beyond).warnings.len(), 1);
    let unnamed = put(1)
        .with(|run| run.plan.tests.clear())
        .ok("Put1K", 1, |_| 100)
        .build();
    assert_eq!(only(&unnamed).operations(), 1);
}
