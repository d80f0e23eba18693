//! Details against the known content of the runs they are made from.

use proptest::prelude::*;
use record::{EventKind, Outcome, Pace, Timing};

use super::*;
use crate::summarise;
use crate::testing::{RunBuilder, US, details};

const FINE: Resolution = Resolution {
    steps: 400,
    buckets: 600,
    ranges: 40,
    parts: 120,
};

fn gets(n: u64, us: impl Fn(u64) -> u64) -> RunBuilder {
    RunBuilder::new(1)
        .test("Get", &[("Get", "GET")])
        .ok("Get", n, us)
}

/// A time line as tuples of its parts: number, least, greatest, sum, failed.
fn parts(line: &TimeLine) -> Vec<(u64, Nanos, Nanos, u128, u64)> {
    let of_one = |operation: &DrawnOperation| match operation.took {
        Some(took) => (1, took, took, u128::from(took), 0),
        None => (0, 0, 0, 0, 1),
    };
    match line {
        TimeLine::Every(operations) => operations.iter().map(of_one).collect(),
        TimeLine::Buckets { buckets, .. } => {
            let of = |b: &Bucket| (b.n, b.min, b.max, b.sum, b.failed);
            buckets.iter().map(of).collect()
        }
    }
}

#[test]
fn what_fits_is_shown_as_it_is() {
    let run = gets(5, |i| [30, 10, 20, 10, 50][i as usize])
        .ops("Get", 1, Outcome::Reset, |_| 0)
        .build();
    let [get] = &details(&run, FINE)[..] else {
        panic!("one row")
    };
    let step = |us: u64, count| DistributionStep {
        value: us * US,
        count,
    };
    assert_eq!(
        get.steps,
        [step(10, 2), step(20, 3), step(30, 4), step(50, 5)]
    );
    assert!(get.all_steps);
    let TimeLine::Every(operations) = &get.time_line else {
        panic!("six operations are few")
    };
    let took: Vec<Option<Nanos>> = operations.iter().map(|o| o.took).collect();
    let us = |us: u64| Some(us * US);
    assert_eq!(took, [us(30), us(10), us(20), us(10), us(50), None]);
    assert_eq!(operations[1].at, run.samples[1].moments.started);
    assert_eq!(
        get.histogram.iter().map(|bar| bar.response).sum::<u64>(),
        5,
        "failed operations have no time"
    );
    let ends = (get.histogram[0].from, get.histogram.last().unwrap().to);
    assert_eq!(ends, (10 * US, 50 * US));
}

#[test]
fn a_row_without_operations_has_nothing_to_show() {
    let run = gets(0, |_| 0).build();
    let [get] = &details(&run, FINE)[..] else {
        panic!("one row")
    };
    assert!(get.steps.is_empty() && get.histogram.is_empty());
    assert_eq!(get.time_line, TimeLine::Every(Vec::new()));
}

#[test]
fn one_slow_operation_of_many_stays_visible() {
    let slow = |i| if i == 14_001 { 90_000 } else { 100 + i % 50 };
    let run = gets(20_000, slow).build();
    let get = &details(&run, FINE)[0];
    let parts = parts(&get.time_line);
    assert!((300..=600).contains(&parts.len()), "{}", parts.len());
    let slowest = parts
        .iter()
        .filter(|(_, _, max, ..)| *max == 90_000 * US)
        .count();
    assert_eq!(slowest, 1);
    assert_eq!(get.steps.last().unwrap().value, 90_000 * US);
    assert_eq!(get.steps.last().unwrap().count, 20_000);
    assert_eq!(get.steps.first().unwrap().value, 100 * US);
}

#[test]
fn only_what_counts_is_shown() {
    let kinds = [Pace::Rounds, Pace::Closed, crate::testing::open_loop()];
    for pace in kinds {
        let run = RunBuilder::new(2)
            .with(|run| run.plan.load.pace = pace)
            .test("Get", &[("Get", "GET")])
            .ok("Get", 20, |i| 100 + i)
            .event_at(700 * US, |test| EventKind::MeasuringStarted { test })
            .event_at(1_500 * US, |test| EventKind::MeasuringEnded { test })
            .with(|run| {
                run.samples[17].timing = Timing::Missed;
                run.samples[18].outcome = Outcome::Cancelled;
                // The second user comes later.
                run.samples.remove(1);
            })
            .build();
        let row = &summarise(&run).tests[0];
        let shown = &details(&run, FINE)[0];
        let sums = parts(&shown.time_line);
        let n: u64 = sums.iter().map(|part| part.0).sum();
        let sum: u128 = sums.iter().map(|part| part.3).sum();
        let response = row.response.unwrap();
        assert_eq!(n, response.n, "{:?}", run.plan.load.pace);
        assert_eq!(sum as f64 / n as f64, response.mean);
        assert_eq!(shown.steps.last().unwrap().count, response.n);
        assert_eq!(shown.steps.last().unwrap().value, response.max);
    }
}

#[test]
fn many_rows_have_fewer_marks_each() {
    assert_eq!(Resolution::for_rows(0), FINE);
    assert_eq!(Resolution::for_rows(1), FINE);
    let crowded = Resolution::for_rows(184);
    assert!(crowded.steps < 100 && crowded.buckets < 100, "{crowded:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn down_sampling_loses_no_operation_and_no_end(
        took in proptest::collection::vec(1_u64..100_000, 1..300),
        failed in 0_u64..20,
        buckets in 4_usize..80,
        steps in 20_usize..80,
    ) {
        let run = gets(took.len() as u64, |i| took[i as usize])
            .ops("Get", failed, Outcome::Timeout, |_| 1)
            .build();
        let shown = &details(&run, Resolution { steps, buckets, ..FINE })[0];
        let parts = parts(&shown.time_line);
        prop_assert!(parts.len() <= buckets);
        let all = took.len() as u64;
        prop_assert_eq!(parts.iter().map(|part| part.0).sum::<u64>(), all);
        prop_assert_eq!(parts.iter().map(|part| part.4).sum::<u64>(), failed);
        let (least, most) = (took.iter().min().unwrap() * US, took.iter().max().unwrap() * US);
        let filled = || parts.iter().filter(|part| part.0 > 0);
        prop_assert_eq!(filled().map(|part| part.1).min(), Some(least));
        prop_assert_eq!(filled().map(|part| part.2).max(), Some(most));
        // Every step that is left lies on the true function, and both ends are there.
        prop_assert!(shown.steps.len() <= steps);
        for step in &shown.steps {
            let below = took.iter().filter(|us| *us * US <= step.value).count() as u64;
            prop_assert_eq!(step.count, below);
        }
        prop_assert_eq!(shown.steps[0].value, least);
        prop_assert_eq!(shown.steps.last().unwrap(), &DistributionStep { value: most, count: all });
        prop_assert!(shown.steps.windows(2).all(|pair| pair[0].value < pair[1].value));
    }
}
