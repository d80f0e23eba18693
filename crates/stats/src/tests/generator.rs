//! Every warning about the load generator in a run in which it must be given, and in one in which
//! it must not; and which of them disqualify a row.

use record::{Clock, EventKind, Exhausted, Generator, Lateness, MeasureId, Outcome, Pace, Timing};

use crate::testing::{self, RunBuilder, US};
use crate::{Detail, Status, StatusReason, Summary, summarise};

const MS: u64 = 1_000 * US;
const S: u64 = 1_000 * MS;

/// A run whose test has this generator, made of one at its ease.
fn with(change: impl FnOnce(&mut Generator)) -> Summary {
    let run = RunBuilder::new(1)
        .test("Upload", &[("Put1K", "PUT")])
        .ok("Put1K", 100, |_| 100)
        .event("Put1K", |test, _| {
            let mut generator = testing::generator(test);
            change(&mut generator);
            EventKind::Generator(generator)
        });
    summarise(&run.build())
}

fn kinds(summary: &Summary) -> Vec<&'static str> {
    summary
        .warnings
        .iter()
        .map(|warning| warning.kind.name())
        .collect()
}

/// These warnings and no others, and whether one of them disqualifies the row.
#[track_caller]
fn assert_warnings(summary: &Summary, expected: &[&str], disqualified: bool) {
    assert_eq!(kinds(summary), expected);
    assert_eq!(is_disqualified(summary), disqualified);
}

fn is_disqualified(summary: &Summary) -> bool {
    summary.disqualified().next().is_some()
}

#[test]
fn a_generator_at_its_ease_gives_no_warning() {
    let summary = with(|_| {});
    assert_warnings(&summary, &[], false);
    assert_eq!(summary.generator.len(), 1);
}

#[test]
fn saturated_and_busy() {
    // Two workers of ten seconds: twenty seconds.
    let used = |cpu, queued| with(move |of| (of.cpu, of.queued) = (cpu, queued));
    assert_warnings(&used(19 * S, None), &["saturated"], true);
    assert_warnings(&used(18 * S, Some(S)), &["saturated"], true);
    assert_warnings(&used(19 * S - 1, None), &["busy"], false);
    assert_warnings(&used(16 * S, None), &["busy"], false);
    assert_warnings(&used(16 * S - 1, None), &[], false);
    assert_eq!(used(19 * S, None).warnings[0].shares[0].percent(), 95.0);
}

#[test]
fn what_is_recorded_of_a_load_is_about_all_rows_of_all_its_tests() {
    let of = |cpu, longest_stall, late: u64| {
        let run = RunBuilder::new(1)
            .test("First", &[("A", "GET")])
            .test("Second", &[("B", "GET")])
            .ok("A", 200, |_| 100)
            .ok("B", 200, |_| 100)
            .event("A", move |test, _| {
                EventKind::Generator(Generator {
                    cpu,
                    longest_stall,
                    stalls: u64::from(longest_stall > 0),
                    stalled: longest_stall,
                    lateness: Some(Lateness {
                        n: 400,
                        p50: late,
                        p99: late,
                        max: late,
                    }),
                    ..testing::generator(test)
                })
            })
            .with(|run| run.plan.load.pace = testing::open_loop());
        summarise(&run.build())
    };
    let disqualified = |summary: &Summary| -> Vec<bool> {
        let rows = summary.tests.iter();
        rows.map(|row| row.disqualified().is_some()).collect()
    };
    assert_eq!(disqualified(&of(0, 0, 0)), [false, false]);
    assert_eq!(disqualified(&of(20 * S, 0, 0)), [true, true]);
    assert_eq!(disqualified(&of(0, 0, 5 * MS)), [true, true]);
    assert_eq!(disqualified(&of(0, 2 * S, 0)), [true, true]);
}

#[test]
fn queued() {
    let queued = |queued| with(move |of| of.queued = queued);
    assert_warnings(&queued(Some(2 * S)), &["queued"], false);
    assert_warnings(&queued(Some(2 * S - 1)), &[], false);
    assert_warnings(&queued(None), &[], false);
}

#[test]
fn a_test_too_short_to_be_judged_is_judged_with_the_other_short_ones() {
    let summary = |tests: usize, wall| {
        let names = ["A", "B", "C"];
        let run = names[..tests]
            .iter()
            .fold(RunBuilder::new(1), |builder, name| {
                builder
                    .test(name, &[(name, "PUT")])
                    .ok(name, 100, |_| 100)
                    .event(name, |test, _| {
                        EventKind::Generator(Generator {
                            wall,
                            cpu: 2 * wall,
                            queued: None,
                            ..testing::generator(test)
                        })
                    })
            });
        summarise(&run.build())
    };
    assert!(!is_disqualified(&summary(1, 199 * MS)), "too short");
    assert!(is_disqualified(&summary(1, 200 * MS)));
    let too_short = summary(2, 99 * MS);
    assert!(!is_disqualified(&too_short), "too short together");
    let together = summary(3, 99 * MS);
    assert_eq!(together.disqualified().count(), 3);
    let shares = together.warnings.iter().flat_map(|warning| &warning.shares);
    let all: Vec<(&str, f64)> = shares.map(|one| (&*one.name, one.percent())).collect();
    assert_eq!(all, [("A", 100.0), ("B", 100.0), ("C", 100.0)]);
}

/// An open loop whose operations take `us` microseconds, of which `n` were late, with this p99.
fn late(n: u64, p99: u64, us: u64) -> Summary {
    let run = RunBuilder::new(1)
        .with(|run| run.plan.load.pace = testing::open_loop())
        .test("Upload", &[("Put1K", "PUT")])
        .ok("Put1K", 100, |_| us)
        .event("Put1K", |test, _| {
            EventKind::Generator(Generator {
                lateness: Some(Lateness {
                    n,
                    p50: 10 * US,
                    p99,
                    max: p99,
                }),
                ..testing::generator(test)
            })
        });
    summarise(&run.build())
}

#[test]
fn lateness_disqualifies_the_times_that_contain_it() {
    assert_warnings(&late(100, MS + 1, 100), &["late"], true);
    assert_warnings(&late(100, MS, 100), &[], false);
    assert_warnings(&late(99, S, 100), &[], false);
    // 2 ms are nothing beside half a second.
    assert_warnings(&late(100, 2 * MS, 500_000), &[], false);
    assert_warnings(&late(100, 26 * MS, 500_000), &["late"], true);
    assert_eq!(late(100, 2 * MS, 100).warnings[0].shares[0].count, 2 * MS);
}

#[test]
fn exhausted() {
    let lacking = |what| with(move |of| of.exhausted = what);
    let what = Exhausted {
        ports: 7,
        files: 0,
        buffers: 2,
    };
    assert_warnings(&lacking(what), &["exhausted"], true);
    let warning = &lacking(what).warnings[0];
    assert_eq!(warning.detail, Detail::RanOut(what));
    assert_eq!(warning.shares[0].count, 9);
}

/// A closed loop of two users over a second; each operation takes as long, one every 10 ms.
fn closed(took: u64) -> RunBuilder {
    let builder = RunBuilder::new(2)
        .with(|run| run.plan.load.pace = Pace::Closed)
        .test("Upload", &[("Put1K", "PUT")])
        .event_at(0, |test| EventKind::MeasuringStarted { test })
        .event_at(S, |test| EventKind::MeasuringEnded { test });
    (0..200).fold(builder, |builder, i| {
        let mut sample = testing::sample(MeasureId(0), i % 2, Outcome::Ok);
        let started = u64::from(i / 2) * 10 * MS;
        sample.moments = testing::moments(started, started, started + took, started + took);
        builder.sample("Put1K", sample)
    })
}

#[test]
fn half_idle_and_partly_idle() {
    let of = |builder: RunBuilder| summarise(&builder.build());
    assert_warnings(&of(closed(4 * MS)), &["half_idle"], true);
    let share = &of(closed(4 * MS)).warnings[0].shares[0];
    assert_eq!(share.percent().round(), 40.0);
    assert_warnings(&of(closed(5 * MS)), &["partly_idle"], false);
    assert_warnings(&of(closed(8 * MS)), &["partly_idle"], false);
    assert_warnings(&of(closed(9 * MS)), &[], false);
    // A user who rests because the server did not respond does not wait in the generator.
    let resting = Generator {
        rested: 12 * S / 10,
        ..testing::generator(record::TestId(0))
    };
    let rested = closed(4 * MS).run_event(EventKind::Generator(resting));
    assert_warnings(&of(rested), &[], false);
    // The rest of a killed run is not known.
    let killed = closed(4 * MS).with(|run| run.env.ended_at = None);
    assert_warnings(&of(killed), &[], false);
    // The promise is that of a closed loop: with a schedule, users wait for it.
    let schedule = closed(MS).with(|run| run.plan.load.pace = testing::open_loop());
    assert_warnings(&of(schedule), &[], false);
    // The requests of a user that are under way at a time count.
    let pipelined = closed(9 * MS).with(|run| run.plan.load.http.pipeline = 2);
    assert_warnings(&of(pipelined), &["half_idle"], true);
    // Too little to judge: 19 operations for each user.
    let short = closed(4 * MS).with(|run| run.samples.truncate(39));
    assert_warnings(&of(short), &["few_for_percentiles"], false);
}

/// A run with the kernel's clock of operations of `us`: `missed` of 200 missed a stamp, and the
/// others have this bias.
fn kernel(missed: u64, bias: i64, us: u64) -> Summary {
    let builder = RunBuilder::new(1)
        .with(|run| run.plan.clock = Clock::Kernel)
        .test("Upload", &[("Put1K", "PUT")])
        .ok("Put1K", 200, |_| us);
    let run = builder.with(|run| {
        for (sample, index) in run.samples.iter_mut().zip(0..) {
            sample.timing = if index < missed {
                Timing::Missed
            } else {
                Timing::Kernel { bias: Some(bias) }
            };
        }
    });
    summarise(&run.build())
}

#[test]
fn missed_stamps() {
    assert_warnings(&kernel(3, 0, 100), &["missed_stamps"], false);
    assert_warnings(&kernel(2, 0, 100), &[], false);
    let some = kernel(3, 0, 100);
    let row = &some.tests[0];
    assert_eq!((row.missed, row.early, some.clock.missed), (3, 0, 3));
    assert_eq!((row.response.unwrap().n, row.total.unwrap().n), (197, 200));
    assert_eq!(row.status, Status::Ok);
    let none = kernel(200, 0, 100);
    assert_warnings(&none, &["missed_stamps"], false);
    let row = &none.tests[0];
    assert_eq!((row.status, row.response), (Status::Failed, None));
    assert!(row.all_missed() && row.evidence == Some(StatusReason::StampsMissed));
}

#[test]
fn bias() {
    let us = US.cast_signed();
    // Half of 100 us is less than what any machine may need to wake up.
    assert_warnings(&kernel(0, 100 * us + 1, 100), &["bias"], false);
    assert_warnings(&kernel(0, 100 * us, 100), &[], false);
    assert_warnings(&kernel(0, -190 * us, 100), &[], false);
    let summary = kernel(0, 120 * us, 100);
    assert_eq!(summary.warnings[0].shares[0].count, 120 * US);
    let bias = summary.clock.bias.unwrap();
    assert_eq!((bias.n, bias.p50, bias.p99), (200, 120 * us, 120 * us));
    // Where responses take 1 ms, 120 us more do not matter.
    assert_warnings(&kernel(0, 120 * us, 1_000), &[], false);
}

#[test]
fn clock_stepped() {
    let stepped = RunBuilder::new(1).run_event(EventKind::ClockStepped { by: -5_000 });
    let summary = summarise(&stepped.build());
    assert_warnings(&summary, &["clock_stepped"], false);
    assert_eq!(summary.warnings[0].detail, Detail::Count(1));
}
