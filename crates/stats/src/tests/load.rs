//! Load runs: what counts in a closed loop and in an open one.

use record::{Arrivals, EventKind, Outcome, Pace, Stage};

use super::op;
use crate::testing::{self, RunBuilder, US};
use crate::{
    Conclusion, Detail, Note, Status, StatusReason, Summary, Warning, WarningKind, summarise,
};

fn load(pace: Pace) -> RunBuilder {
    RunBuilder::new(2)
        .with(|run| run.plan.load.pace = pace)
        .test("Get", &[("Get", "GET")])
}

fn counts(summary: &Summary) -> (u64, u64) {
    (summary.tests[0].operations(), summary.left_out())
}

/// Operations of two users around a window from 100 to 200.
fn around(builder: RunBuilder) -> RunBuilder {
    builder
        .sample("Get", op(0, 90, 110))
        .sample("Get", op(0, 110, 150))
        .sample("Get", op(1, 100, 200))
        .sample("Get", op(0, 150, 290))
        .sample("Get", op(1, 201, 280))
}

#[test]
fn in_a_closed_loop_what_begins_in_the_window_counts() {
    let timed = |pace| load(pace).with(|run| run.plan.load.requests = None);
    let started =
        around(timed(Pace::Closed)).event_at(100, |test| EventKind::MeasuringStarted { test });
    let open_end = summarise(&started.clone().build());
    assert_eq!(
        counts(&open_end),
        (4, 1),
        "cut off, the window reaches to the last answer"
    );
    assert_eq!(open_end.tests[0].window_s, Some(190e-9));
    let ended = started.event_at(200, |test| EventKind::MeasuringEnded { test });
    let summary = summarise(&ended.build());
    assert_eq!(counts(&summary), (3, 2));
    let row = &summary.tests[0];
    assert_eq!(row.response.unwrap().max, 140, "it was waited for");
    assert_eq!(row.window_s, Some(100e-9));
    // Of the three that ended inside, one began before.
    assert_eq!(row.per_second(), Some(3.0 / 100e-9));
    let never = summarise(&around(timed(Pace::Closed)).build());
    assert_eq!(counts(&never), (0, 5), "users were never all at work");
    assert_eq!(never.conclusion(), Conclusion::Inconclusive);
}

/// Chance chooses among all tests of a load.
#[test]
fn a_test_that_was_never_drawn_has_not_failed() {
    let drawn = load(Pace::Closed)
        .test("Put", &[("Put", "PUT")])
        .with(|run| run.plan.load.requests = Some(5));
    let some = summarise(&around(drawn.clone()).build());
    let statuses: Vec<Status> = some.tests.iter().map(|test| test.status).collect();
    assert_eq!(statuses, [Status::Ok, Status::NotDrawn]);
    let nothing = summarise(&drawn.build());
    assert!(
        nothing
            .tests
            .iter()
            .all(|test| test.status == Status::Failed)
    );
}

/// With a low rate, a schedule may have no operation at all.
#[test]
fn where_nothing_was_due_nothing_has_failed() {
    let stage = Stage {
        rate: 0.01,
        duration_s: 1.0,
    };
    let empty = load(Pace::Open {
        arrivals: Arrivals::Poisson,
        stages: vec![stage],
        max_waiting: 1,
    })
    .build();
    let summary = summarise(&empty);
    assert_eq!(summary.tests[0].status, Status::NotDrawn);
    assert_eq!(summary.tests[0].evidence, Some(StatusReason::NothingDue));
    assert_eq!(summary.conclusion(), Conclusion::Inconclusive);
}

#[test]
fn of_a_number_that_was_asked_for_all_count() {
    let asked = load(Pace::Closed).with(|run| run.plan.load.requests = Some(5));
    let run = around(asked)
        .event_at(100, |test| EventKind::MeasuringStarted { test })
        .event_at(200, |test| EventKind::MeasuringEnded { test });
    let summary = summarise(&run.build());
    assert_eq!(counts(&summary), (5, 0));
    assert_eq!(summary.tests[0].per_second(), Some(3.0 / 100e-9));
}

#[test]
fn in_a_suite_users_who_have_done_their_share_keep_the_load_up_uncounted() {
    let run = around(load(Pace::Rounds));
    let counted = |run: RunBuilder| {
        let summary = summarise(&run.build());
        (counts(&summary), summary.tests[0].window_s)
    };
    // Recorded by a version that did not tell when all were through.
    assert_eq!(counted(run.clone()), ((4, 1), Some(180e-9)));
    let run = run.event_at(200, |test| EventKind::MeasuringEnded { test });
    assert_eq!(counted(run), ((3, 2), Some(100e-9)));
}

/// A schedule of one operation each 100 us; the server takes so long for each, one at a time.
fn schedule(took: u64) -> RunBuilder {
    let builder = load(testing::open_loop())
        .event_at(0, |test| EventKind::MeasuringStarted { test })
        .event_at(100 * 100 * US, |test| EventKind::MeasuringEnded { test });
    let mut free = 0;
    (0..100).fold(builder, |builder, i| {
        let planned = i * 100 * US;
        let started = free.max(planned);
        free = started + took * US;
        let mut sample = op(0, started, free);
        sample.moments.planned = planned;
        builder.sample("Get", sample)
    })
}

#[test]
fn in_an_open_loop_everything_counts_and_waiting_shows() {
    let relaxed = summarise(&schedule(50).build());
    let row = &relaxed.tests[0];
    assert_eq!(counts(&relaxed), (100, 0));
    assert_eq!(row.planned, row.response);
    let overloaded = summarise(&schedule(200).build());
    let row = &overloaded.tests[0];
    assert_eq!(counts(&overloaded), (100, 0), "the last ones too");
    let (response, planned) = (row.response.unwrap(), row.planned.unwrap());
    assert_eq!((response.p50, response.max), (200 * US, 200 * US));
    assert_eq!((planned.n, planned.max), (100, (200 + 99 * 100) * US));
    // 10,000 a second were planned, and 5,000 done.
    assert!((row.per_second().unwrap() - 5_000.0).abs() < 1.0);
    assert_eq!(row.spread.iter().map(|bar| bar.response).sum::<u64>(), 100);
    assert_eq!(row.spread.iter().map(|bar| bar.planned).sum::<u64>(), 100);
    assert!(
        row.spread
            .iter()
            .any(|bar| bar.planned > 0 && bar.response == 0)
    );
}

#[test]
fn a_closed_loop_has_no_times_from_planned() {
    let run = load(Pace::Rounds)
        .sample("Get", op(0, 0, 10))
        .sample("Get", op(1, 0, 10));
    let row = &summarise(&run.build()).tests[0];
    assert_eq!((row.planned, row.spread.len()), (None, 0));
}

#[test]
fn uploads_end_with_the_acknowledgement() {
    let mut acked = op(0, 10, 100);
    acked.moments.acked = Some(60);
    let run = load(testing::open_loop())
        .sample("Get", acked)
        .sample("Get", op(1, 10, 100));
    let row = &summarise(&run.build()).tests[0];
    let upload = row.upload.unwrap();
    assert_eq!((upload.n, upload.max), (1, 50));
}

#[test]
fn what_a_full_queue_drops_is_the_fault_of_the_server() {
    let drop = |pace| {
        let run = load(pace)
            .ok("Get", 100, |_| 100)
            .ops("Get", 1, Outcome::Dropped, |_| 0);
        let warnings = summarise(&run.build()).warnings;
        let dropped = |warning: &&Warning| warning.kind == WarningKind::Dropped;
        warnings.iter().find(dropped).unwrap().detail.clone()
    };
    assert_eq!(drop(testing::open_loop()), Detail::OpenLoop);
    assert_eq!(drop(Pace::Rounds), Detail::None);
}

#[test]
fn who_asked_for_new_connections_is_not_told_that_there_were_some() {
    let connecting = |keep_alive| {
        let builder =
            load(testing::open_loop()).with(|run| run.plan.load.http.keep_alive = keep_alive);
        let run = builder.ok("Get", 100, |_| 100).with(|run| {
            for sample in &mut run.samples {
                sample.connect = testing::connect(5, None);
            }
        });
        summarise(&run.build()).warnings.len()
    };
    assert_eq!((connecting(true), connecting(false)), (1, 0));
}

/// A closed loop of ten seconds whose operations end at these moments, in milliseconds.
fn ended(moments: impl Iterator<Item = u64>, pace: Pace) -> Summary {
    const MS: u64 = 1_000 * US;
    let builder = load(pace)
        .event_at(0, |test| EventKind::MeasuringStarted { test })
        .event_at(10_000 * MS, |test| EventKind::MeasuringEnded { test });
    let run = moments.fold(builder, |builder, at| {
        builder.sample("Get", op(0, at * MS - MS / 2, at * MS))
    });
    summarise(&run.build())
}

#[test]
fn throughput_that_wanders_has_a_note_unless_the_load_did() {
    let steady = || (1..1_000).map(|n| n * 10);
    // Two thirds of them in the first third of the time.
    let falling = || {
        (1..400)
            .map(|n| n * 8)
            .chain((1..200).map(|n| 3_200 + n * 34))
    };
    let staged = |rates: &[f64]| match testing::open_loop() {
        Pace::Open {
            arrivals,
            stages,
            max_waiting,
        } => Pace::Open {
            arrivals,
            stages: rates
                .iter()
                .map(|rate| Stage {
                    rate: *rate,
                    ..stages[0]
                })
                .collect(),
            max_waiting,
        },
        pace => pace,
    };
    let of = |summary: Summary| {
        let row = &summary.tests[0];
        assert_eq!(row.notes.contains(&Note::Wanders), row.wanders);
        (
            row.wanders,
            row.rate.is_some_and(|rate| rate.ci95.is_some()),
        )
    };
    assert_eq!(of(ended(steady(), Pace::Closed)), (false, true));
    assert_eq!(of(ended(falling(), Pace::Closed)), (true, true));
    assert_eq!(of(ended(falling(), staged(&[80.0, 80.0]))), (true, true));
    assert_eq!(of(ended(falling(), staged(&[120.0, 30.0]))), (false, false));
}
