//! Means per operation inside of a server: coverage of their intervals in truth, and their
//! calculation from events.
//!
//! Share of 2000 intervals that contain the true mean, of operations that are grouped in batches of
//! 2 ms, which is three times the median (log-normal; sigma is the standard deviation of the
//! logarithm):
//!
//! ```text
//! operations                    20    200   2000
//! independent, sigma 0.2      94.2   94.9   95.5
//! independent, sigma 0.5      94.3   94.9   95.2
//! independent, sigma 1        90.3   93.4   94.2
//! sigma 0.5, correlation 0.5  87.8   93.8   94.8
//! sigma 0.5, correlation 0.9  54.9   78.8   93.2
//! ```
//!
//! The coverage falls short with few operations whose neighbours depend on each other, or with a
//! heavy tail. The report states this for rows with fewer than 200 operations.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution as _, StandardNormal};
use record::{Event, EventKind, InsideBatch, InsideCounts, InsideRecord, MeasureId};

use crate::inside::{InsideFigure, InsideSummary};
use crate::testing::RunBuilder;

const RUNS: usize = 2000;
/// Shortest batch, in nanoseconds.
const SHORTEST: u64 = 2_000_000;

/// Processor time of operations, with a known mean.
#[derive(Debug, Clone, Copy)]
struct KnownCost {
    /// Standard deviation of its logarithm.
    sigma: f64,
    /// Correlation of its logarithm between neighbours.
    rho: f64,
}

impl KnownCost {
    const MEDIAN: f64 = 300_000.0;

    fn mean(self) -> f64 {
        KnownCost::MEDIAN * (self.sigma * self.sigma / 2.0).exp()
    }

    fn batches(self, operations: usize, rng: &mut ChaCha8Rng) -> Vec<Event> {
        let mut normal = || -> f64 { StandardNormal.sample(rng) };
        let mut state = normal();
        let innovation = (1.0 - self.rho * self.rho).sqrt();
        let (mut events, mut batch_so_far) = (Vec::new(), batch());
        for _ in 0..operations {
            let processor = (KnownCost::MEDIAN * (self.sigma * state).exp()) as u64;
            batch_so_far.operations += 1;
            batch_so_far.counted.processor += processor;
            batch_so_far.lasted += 2 * processor;
            if batch_so_far.lasted >= SHORTEST {
                events.push(event(std::mem::replace(&mut batch_so_far, batch())));
            }
            state = self.rho * state + innovation * normal();
        }
        events.push(event(batch_so_far));
        events
    }
}

fn batch() -> InsideBatch {
    InsideBatch {
        measure: MeasureId(0),
        operations: 0,
        lasted: 0,
        counted: InsideCounts::default(),
    }
}

fn event(batch: InsideBatch) -> Event {
    Event {
        at: 0,
        kind: EventKind::Inside(batch),
    }
}

fn summary(events: &[Event]) -> InsideSummary {
    let mut plan = RunBuilder::new(1)
        .test("Put1K", &[("Put1K", "PUT")])
        .build()
        .plan;
    plan.inside = Some(InsideRecord {
        missing: vec!["something".to_owned()],
        without_io: false,
        without_threads: false,
        processes: Vec::new(),
    });
    InsideSummary::of(&plan, events).unwrap_or_default()
}

fn coverage(cost: KnownCost, operations: usize) -> f64 {
    let mut rng = ChaCha8Rng::seed_from_u64(20);
    let contains = (0..RUNS).filter(|_| {
        let summary = summary(&cost.batches(operations, &mut rng));
        let mean = summary.rows[0].mean(InsideFigure::Processor);
        mean.and_then(|mean| mean.interval)
            .is_some_and(|(low, high)| (low..=high).contains(&cost.mean()))
    });
    100.0 * contains.count() as f64 / RUNS as f64
}

#[test]
fn intervals_contain_the_mean() {
    // Bounds leave three standard errors of the simulation to the figures above.
    let cases = [
        ((0.2, 0.0), [92.7, 93.4, 94.0]),
        ((0.5, 0.0), [92.7, 93.4, 93.7]),
        ((1.0, 0.0), [88.3, 91.7, 92.6]),
        ((0.5, 0.5), [85.6, 92.1, 93.3]),
        ((0.5, 0.9), [51.5, 76.0, 91.5]),
    ];
    for ((sigma, rho), least) in cases {
        let cost = KnownCost { sigma, rho };
        for (operations, least) in [20, 200, 2000].into_iter().zip(least) {
            let share = coverage(cost, operations);
            assert!(
                share >= least && share <= 97.5,
                "{cost:?}, {operations}: {share}"
            );
        }
    }
}

#[test]
fn counts_are_told_per_operation_of_their_row() {
    let counted = |measure, operations, reads, user_ticks, system_ticks| InsideBatch {
        measure: MeasureId(measure),
        operations,
        lasted: 1,
        counted: InsideCounts {
            processor: 1,
            reads,
            user_ticks,
            system_ticks,
            ..InsideCounts::default()
        },
    };
    let events = [
        event(counted(0, 10, 30, 10, 30)),
        event(counted(0, 30, 90, 0, 20)),
        // Of a row that the plan does not have.
        event(counted(7, 1, 1, 1, 1)),
    ];
    let summary = summary(&events);
    assert_eq!(
        (summary.rows.len(), &summary.missing[0][..]),
        (1, "something")
    );
    let row = &summary.rows[0];
    let reads = row
        .mean(InsideFigure::Reads)
        .expect("something was counted");
    assert_eq!(
        (row.operations, reads.mean, reads.interval),
        (40, 3.0, Some((3.0, 3.0)))
    );
    assert_eq!(row.kernel_share, Some(50.0 / 60.0));
    let short = self::summary(&events[..1]);
    // Of one batch there is no interval, and of 40 ticks no share.
    assert_eq!(
        short.rows[0]
            .mean(InsideFigure::Reads)
            .and_then(|mean| mean.interval),
        None
    );
    assert_eq!(short.rows[0].kernel_share, None);
}

#[test]
fn nobody_looked_into_a_server_of_other_runs() {
    let run = RunBuilder::new(1)
        .test("Put1K", &[("Put1K", "PUT")])
        .build();
    assert_eq!(InsideSummary::of(&run.plan, &[event(batch())]), None);
}
