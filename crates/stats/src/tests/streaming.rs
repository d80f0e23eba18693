//! Operations in pieces, from several threads, or too many to keep: the same numbers, or nearly.

use std::convert::Infallible;

use proptest::prelude::*;
use record::{Pace, Run, Sample};

use super::properties::any_run;
use crate::testing::{self, RunBuilder};
use crate::times::{Times, rank};
use crate::{EXACT, MeasurementWindow, Summariser, summarise, summarise_from};

/// Pieces of up to `size` samples.
fn pieces(run: &Run, size: usize) -> impl Iterator<Item = Result<&[Sample], Infallible>> {
    run.samples.chunks(size).map(Ok)
}

fn paced(run: Run, pace: u8) -> Run {
    let mut run = run;
    run.plan.load.pace = match pace {
        0 => Pace::Rounds,
        1 => Pace::Closed,
        _ => testing::open_loop(),
    };
    for test in [record::TestId(0), record::TestId(1)] {
        for (at, kind) in [
            (500, record::EventKind::MeasuringStarted { test }),
            (4_000, record::EventKind::MeasuringEnded { test }),
        ] {
            run.events.push(record::Event { at, kind });
        }
    }
    run
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn how_samples_are_cut_leaves_no_trace(run in any_run(), size in 1..40_usize, pace in 0..3_u8) {
        let run = paced(run, pace);
        let cut = summarise_from(&run.plan, &run.events, &run.env, || Ok(pieces(&run, size)));
        prop_assert_eq!(cut.unwrap().0, summarise(&run));
    }

    #[test]
    fn several_summarisers_merge_into_one(
        run in any_run(),
        size in 1..40_usize,
        open in any::<bool>(),
        is_asked in any::<bool>(),
    ) {
        let mut run = paced(run, if open { 2 } else { 1 });
        run.plan.load.requests = is_asked.then_some(100);
        let (start, end) = (500, 4_000);
        let window = match (open, is_asked) {
            (true, _) => MeasurementWindow::Everything,
            (false, true) => MeasurementWindow::Asked { start, end },
            (false, false) => MeasurementWindow::Between { start, end },
        };
        let mut threads = vec![Summariser::new(&run.plan); 3];
        for (piece, thread) in run.samples.chunks(size).zip((0..3).cycle()) {
            threads[thread].add(piece, window);
        }
        let mut all = Summariser::new(&run.plan);
        threads.iter().for_each(|thread| all.merge(thread));
        prop_assert_eq!(all.finish(&run.events, &run.env), summarise(&run));
    }
}

/// `n` times, spread over four decades, the same in every call.
fn values(n: u64) -> Vec<(u64, u64)> {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1_u64 << 53) as f64
    };
    (0..n)
        .map(|i| (i * 10_000, (10f64.powf(4.0 + 4.0 * next())) as u64))
        .collect()
}

fn times(values: &[(u64, u64)]) -> Times {
    let mut times = Times::default();
    values
        .iter()
        .for_each(|(moment, value)| times.add(*moment, *value));
    times
}

#[test]
fn too_many_to_keep_are_described_within_the_resolution() {
    let values = values(EXACT as u64 * 3);
    let described = times(&values).describe().unwrap();
    let plain: Vec<u64> = values.iter().map(|(_, value)| *value).collect();
    let exact = crate::Distribution::of(&plain).unwrap();
    assert_eq!(
        (described.n, described.min, described.max),
        (exact.n, exact.min, exact.max)
    );
    let close = |found: f64, exact: f64, share: f64| {
        assert!(
            (found / exact - 1.0).abs() <= share,
            "{found} is not {exact}"
        );
    };
    close(described.mean, exact.mean, 1e-12);
    close(described.sd.unwrap(), exact.sd.unwrap(), 1e-9);
    for (found, exact) in [
        (described.p50, exact.p50),
        (described.p90, exact.p90),
        (described.p95, exact.p95),
        (described.p99, exact.p99),
        (described.p999, exact.p999),
    ] {
        assert_ne!(found, 0);
        close(found as f64, exact as f64, 0.0005);
    }
    // Batches are cut a little otherwise, so this interval is another estimate of the same width.
    let width = |(low, high): (f64, f64)| high - low;
    close(
        width(described.ci95.unwrap()),
        width(exact.ci95.unwrap()),
        0.5,
    );
    let intervals = described
        .percentiles_ci95
        .iter()
        .zip(&exact.percentiles_ci95);
    for (found, exact) in intervals {
        let ends = |ends: &Option<(u64, u64)>| ends.map(|(low, high)| (low as f64, high as f64));
        let (found, exact) = (ends(found).unwrap(), ends(exact).unwrap());
        close(found.0, exact.0, 0.01);
        close(found.1, exact.1, 0.01);
    }
}

#[test]
fn the_form_of_a_set_follows_from_its_size_and_from_nothing_else() {
    let values = values(EXACT as u64 + 10);
    let whole = times(&values).describe();
    let mut reversed = values.clone();
    reversed.reverse();
    assert_eq!(times(&reversed).describe(), whole);
    for cut in [0, 5, EXACT / 2, EXACT, EXACT + 5] {
        let (left, right) = values.split_at(cut);
        let mut merged = times(left);
        merged.merge(&times(right));
        assert_eq!(merged.describe(), whole, "{cut}");
    }
    let few = &values[..EXACT];
    let plain: Vec<u64> = few.iter().map(|(_, value)| *value).collect();
    assert_eq!(
        times(few).describe(),
        crate::Distribution::of(&plain),
        "exact"
    );
    let (left, right) = few.split_at(EXACT / 3);
    let mut merged = times(right);
    merged.merge(&times(left));
    assert_eq!(merged.describe(), times(few).describe());
}

#[test]
fn ranks_are_those_of_the_sorted_set() {
    let times = times(&[(0, 30), (0, 10), (0, 20)]);
    assert_eq!(times.at_ranks([1, 2, 3, 9]), Some([10, 20, 30, 30]));
    assert_eq!(Times::default().at_ranks([1]), None);
    assert_eq!(
        (rank(1000, 999), rank(1001, 999), rank(1, 500)),
        (999, 1000, 1)
    );
}

/// The largest numbers there are add up without a panic.
#[test]
fn absurd_times_are_no_reason_to_panic() {
    let mut all = Times::default();
    for i in 0..EXACT as u64 + 5 {
        all.add(u64::MAX - i, u64::MAX - (i % 3));
    }
    let described = all.describe().unwrap();
    assert_eq!((described.min, described.max), (u64::MAX - 2, u64::MAX));
    let run = RunBuilder::new(1).test("Get", &[("Get", "GET")]).build();
    let mut one = Summariser::new(&run.plan);
    one.merge(&Summariser::new(&run.plan));
    assert_eq!(one.finish(&run.events, &run.env), summarise(&run));
}
