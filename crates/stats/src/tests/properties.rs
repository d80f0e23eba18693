//! Properties that hold for every run, shown on random ones.

use proptest::prelude::*;
use record::{MeasureId, Moments, Outcome, Run, Sample};

use crate::testing::{self, RunBuilder};
use crate::window::{MeasurementWindow, NoWindow, Span, Users, end};
use crate::{Distribution, Summary, TestSummary, summarise};

/// Rows of the plans here: two tests, the first with two rows.
const ROWS: u16 = 3;

fn any_moments() -> impl Strategy<Value = Moments> {
    (0_u64..5_000, 0_u64..50, 0_u64..500, 0_u64..50, 0_u8..8).prop_map(
        |(started, send, respond, transfer, known)| {
            let sent = started + send;
            // Early responses too: those come before the request is sent.
            let first = (sent + respond).saturating_sub(20).max(started);
            let mut moments = testing::moments(started, sent, first, first + transfer);
            if known == 0 {
                moments.done = None;
            }
            if known == 1 {
                (moments.sent, moments.first, moments.done) = (None, None, None);
            }
            moments
        },
    )
}

fn any_sample(users: u32) -> impl Strategy<Value = Sample> {
    let outcome = prop_oneof![
        6 => Just(Outcome::Ok),
        1 => proptest::sample::select(Outcome::ALL.to_vec()),
    ];
    let connect = proptest::option::of((1_u64..90, proptest::option::of(1_u64..90)));
    (
        0..ROWS + 1,
        0..users,
        0_u64..40,
        outcome,
        any_moments(),
        connect,
        any::<bool>(),
    )
        .prop_map(
            |(measure, user, number, outcome, moments, connect, resent)| Sample {
                number,
                moments,
                resent,
                connect: connect.and_then(|(tcp, tls)| testing::connect(tcp, tls)),
                ..testing::sample(MeasureId(measure), user, outcome)
            },
        )
}

/// Runs of one to four users with up to 150 operations, some of them of no row.
pub(super) fn any_run() -> impl Strategy<Value = Run> {
    (1_u32..5).prop_flat_map(|users| {
        proptest::collection::vec(any_sample(users), 0..150).prop_map(move |samples| {
            RunBuilder::new(users)
                .test("Locks", &[("Lock", "LOCK"), ("UnLock", "UNLOCK")])
                .test("Put1K", &[("Put1K", "PUT")])
                .with(|run| run.samples = samples)
                .build()
        })
    })
}

/// A run, and the same run with its samples in another order.
fn any_run_twice() -> impl Strategy<Value = (Run, Run)> {
    any_run().prop_flat_map(|run| {
        let samples = Just(run.samples.clone()).prop_shuffle();
        samples.prop_map(move |samples| {
            (
                run.clone(),
                Run {
                    samples,
                    ..run.clone()
                },
            )
        })
    })
}

fn window(users: u32, samples: &[Sample]) -> Result<Span, NoWindow> {
    let mut at_work = Users::default();
    samples.iter().for_each(|sample| at_work.add(sample));
    at_work.window(users, None)
}

fn distributions(summary: &Summary) -> impl Iterator<Item = Distribution> + '_ {
    let of = |row: &TestSummary| [row.response, row.total, row.connects.tcp, row.connects.tls];
    summary.tests.iter().flat_map(of).flatten()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_sample_is_counted_exactly_once(run in any_run()) {
        let summary = summarise(&run);
        let orphans = run.samples.iter().filter(|sample| sample.measure.0 >= ROWS).count() as u64;
        let counted: u64 = summary.tests.iter().map(TestSummary::operations).sum();
        prop_assert_eq!(counted + summary.left_out() + orphans, run.samples.len() as u64);
        for (row, id) in summary.tests.iter().zip(0..) {
            let all = row.outcomes.plus(&row.left_out_outcomes);
            for (outcome, count) in all.iter() {
                let recorded = run
                    .samples
                    .iter()
                    .filter(|sample| sample.measure == MeasureId(id) && sample.outcome == outcome)
                    .count() as u64;
                prop_assert_eq!(count, recorded, "{} of {}", outcome, &row.name);
            }
            let timed = row.response.map_or(0, |times| times.n);
            prop_assert_eq!(timed + row.early, row.outcomes.ok());
        }
    }

    #[test]
    fn the_order_of_recording_leaves_no_trace((run, shuffled) in any_run_twice()) {
        prop_assert_eq!(summarise(&run), summarise(&shuffled));
    }

    #[test]
    fn percentiles_ascend_and_the_mean_lies_in_its_interval(run in any_run()) {
        for times in distributions(&summarise(&run)) {
            let ranks = [times.min, times.p50, times.p90, times.p95, times.p99, times.p999, times.max];
            prop_assert!(ranks.is_sorted(), "{:?}", times);
            prop_assert!(times.min as f64 <= times.mean && times.mean <= times.max as f64);
            prop_assert_eq!(times.ci95.is_some(), times.n >= 2);
            if let Some((low, high)) = times.ci95 {
                prop_assert!(0.0 <= low && low <= times.mean && times.mean <= high, "{:?}", times);
            }
        }
    }

    #[test]
    fn percentiles_are_measured_values_with_enough_of_them_below(
        values in proptest::collection::vec(0_u64..1_000, 1..300)
    ) {
        let times = Distribution::of(&values).unwrap();
        let ranks = [(times.p50, 0.5), (times.p90, 0.9), (times.p99, 0.99), (times.p999, 0.999)];
        for (value, share) in ranks {
            prop_assert!(values.contains(&value));
            let (n, at_most) = (values.len() as f64, |limit| {
                values.iter().filter(|v| **v <= limit).count() as f64
            });
            prop_assert!(at_most(value) >= share * n);
            let less = values.iter().filter(|v| **v < value).count() as f64;
            prop_assert!(less < share * n, "a lesser value would do");
        }
    }

    /// By the definition, user by user, and not by the code that is tested.
    #[test]
    fn when_an_operation_that_counts_begins_every_user_is_at_work(run in any_run()) {
        let users = run.plan.load.users;
        let Ok(window) = window(users, &run.samples) else { return Ok(()) };
        let window = MeasurementWindow::from(Ok(window));
        for sample in run.samples.iter().filter(|sample| window.contains(sample)) {
            for user in 0..users {
                let of_user = || run.samples.iter().filter(move |sample| sample.user == user);
                let began = of_user().any(|other| other.moments.started <= sample.moments.started);
                let goes_on = of_user().any(|other| end(other) >= sample.moments.started);
                prop_assert!(began && goes_on, "user {} while {:?}", user, sample);
            }
        }
    }
}

/// The property about the window can fail: in the hull of all operations it does not hold.
#[test]
fn in_the_hull_not_every_user_is_at_work() {
    let mut late = testing::sample(MeasureId(0), 1, Outcome::Ok);
    late.moments = testing::moments(1_000_000, 1_000_000, 2_000_000, 2_000_000);
    let samples = [testing::sample(MeasureId(0), 0, Outcome::Ok), late];
    let hull = MeasurementWindow::from(window(1, &samples));
    assert!(samples.iter().all(|sample| hull.contains(sample)));
    assert!(window(2, &samples).is_err());
}
