//! The moments at which the operations of an open loop begin: from the rates and the seed alone.
//!
//! The server has no influence on it, and neither has the number of threads: every thread goes
//! through the whole schedule and takes its part.

use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, Exp1};
use record::{Arrivals, Nanos, Stage};

use crate::drive::chance::stream;

/// Planned moment of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PlannedArrival {
    /// Nanoseconds since the schedule began.
    pub(super) offset: Nanos,
    /// The index of its stage.
    pub(super) phase: u16,
}

/// Planned moments, in order.
#[derive(Debug, Clone)]
pub(super) struct Schedule {
    arrivals: Arrivals,
    stages: std::vec::IntoIter<Stage>,
    /// The current stage, its index, and its beginning, in seconds.
    present: Option<Stage>,
    phase: u16,
    begun: f64,
    /// Operations of the current stage so far.
    count: u64,
    /// Seconds into the current stage; with Poisson arrivals the sum of the distances.
    at: f64,
    rng: ChaCha8Rng,
}

/// The stream of random numbers of the schedule, which no user has.
const STREAM: u64 = u64::MAX;

impl Schedule {
    pub(super) fn new(arrivals: Arrivals, stages: Vec<Stage>, seed: u64) -> Self {
        let mut stages = stages.into_iter();
        let present = stages.next();
        Schedule {
            arrivals,
            stages,
            present,
            phase: 0,
            begun: 0.0,
            count: 0,
            at: 0.0,
            rng: stream(seed, STREAM),
        }
    }

    /// Seconds into the stage at which its next operation is planned.
    fn next_in(&mut self, stage: Stage) -> f64 {
        match self.arrivals {
            // By multiplication: a sum of many distances would drift.
            Arrivals::Constant => self.count as f64 / stage.rate,
            Arrivals::Poisson => {
                let distance: f64 = Exp1.sample(&mut self.rng);
                self.at += distance / stage.rate;
                self.at
            }
        }
    }
}

impl Iterator for Schedule {
    type Item = PlannedArrival;

    fn next(&mut self) -> Option<PlannedArrival> {
        loop {
            let stage = self.present?;
            let at = self.next_in(stage);
            if at < stage.duration_s {
                self.count += 1;
                return Some(PlannedArrival {
                    offset: ((self.begun + at) * 1e9) as Nanos,
                    phase: self.phase,
                });
            }
            // Poisson arrivals are memoryless: a distance that reaches beyond the stage is drawn
            // again.
            self.begun += stage.duration_s;
            self.present = self.stages.next();
            self.phase = self.phase.saturating_add(1);
            self.count = 0;
            self.at = 0.0;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn schedule(arrivals: Arrivals, stages: &[(f64, f64)], seed: u64) -> Vec<Nanos> {
        let stage = |&(rate, duration_s): &(f64, f64)| Stage { rate, duration_s };
        let schedule = Schedule::new(arrivals, stages.iter().map(stage).collect(), seed);
        schedule.map(|planned| planned.offset).collect()
    }

    #[test]
    fn constant_arrivals_keep_their_distance_stage_by_stage() {
        let planned = schedule(Arrivals::Constant, &[(10.0, 0.5), (100.0, 0.03)], 1);
        let expected = [0, 100, 200, 300, 400, 500, 510, 520].map(|ms| ms * 1_000_000);
        assert_eq!(planned.len(), expected.len());
        for (planned, expected) in planned.iter().zip(expected) {
            assert!(planned.abs_diff(expected) <= 1, "{planned} {expected}");
        }
        assert!(schedule(Arrivals::Constant, &[], 1).is_empty());
    }

    #[test]
    fn each_knows_its_stage() {
        let stage = |rate| Stage {
            rate,
            duration_s: 0.1,
        };
        let schedule = Schedule::new(Arrivals::Constant, vec![stage(20.0), stage(30.0)], 1);
        let phases: Vec<u16> = schedule.map(|planned| planned.phase).collect();
        assert_eq!(phases, [0, 0, 1, 1, 1]);
    }

    #[test]
    fn nothing_drifts_in_an_hour() {
        let stage = Stage {
            rate: 3000.0,
            duration_s: 3600.0,
        };
        let last = Schedule::new(Arrivals::Constant, vec![stage], 1).last();
        let expected = 3_600_000_000_000 - 333_333;
        assert!(last.is_some_and(|last| last.offset.abs_diff(expected) <= 1));
    }

    #[test]
    fn poisson_arrivals_have_the_rate_and_exponential_distances() {
        let planned = schedule(Arrivals::Poisson, &[(1000.0, 20.0), (4000.0, 10.0)], 7);
        let (slow, fast): (Vec<Nanos>, Vec<Nanos>) =
            planned.iter().partition(|at| **at < 20_000_000_000);
        // Four standard deviations of a Poisson count.
        assert!((slow.len() as f64 - 20_000.0).abs() < 4.0 * 20_000_f64.sqrt());
        assert!((fast.len() as f64 - 40_000.0).abs() < 4.0 * 40_000_f64.sqrt());
        let gaps = slow.windows(2).map(|two| (two[1] - two[0]) as f64);
        let gaps: Vec<f64> = gaps.collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        // The coefficient of variation of an exponential distribution is one.
        let variation = variance.sqrt() / mean;
        assert!((variation - 1.0).abs() < 0.05, "{variation}");
    }

    proptest! {
        #[test]
        fn it_is_in_order_the_same_for_a_seed_and_inside_its_stages(
            seed: u64,
            poisson: bool,
            stages in proptest::collection::vec((1.0..500.0f64, 0.01..2.0f64), 1..4),
        ) {
            let arrivals = if poisson { Arrivals::Poisson } else { Arrivals::Constant };
            let planned = schedule(arrivals, &stages, seed);
            prop_assert!(planned.is_sorted());
            prop_assert_eq!(&planned, &schedule(arrivals, &stages, seed));
            let end = stages.iter().map(|(_, duration)| duration).sum::<f64>() * 1e9;
            prop_assert!(planned.last().is_none_or(|last| (*last as f64) <= end));
        }
    }
}
