//! Convergence of a run: how narrow the 95 % interval of a statistic has become.
//!
//! Operations are sorted into time bins ([`Bins`]), which are put together into [`BATCHES`]
//! batches: long enough that the events of one have little to do with the next.
//!
//! - For the mean, the interval is that of [`interval_of_batches`].
//! - For a percentile, it is that of Woodruff, from the shares of times below it
//!   ([`batch`](crate::batch)).
//!
//! An interval that is examined again and again will be narrow by chance some time. So there is no
//! result before there are [`BEYOND`] times beyond the percentile for every batch, and a second of
//! measuring. Simulations in `tests::stopping` show the coverage at the end.

use record::{Nanos, Outcome, Pace, PlanRecord, Sample, Timing};

use crate::batch::{TimedBatch, half_width_of_share};
use crate::bins::{Bins, Sum};
use crate::distribution::ranks_around;
use crate::interval::interval_of_batches;
use crate::times::{Times, rank};
use crate::until::{TimedStatistic, Until};
use crate::window::MeasurementWindow;

/// Bins along the time axis: between this and half of it are in use.
const BINS: usize = 64;

/// Length of a bin to begin with, 2^20 ns: about a millisecond, of which a second has enough.
const SHIFT: u32 = 20;

/// Batches that they are put together into.
const BATCHES: usize = 16;

/// Batches below which there is no estimate: operations came in bursts.
const LEAST_BATCHES: usize = 10;

/// Times beyond a percentile that each batch must have had, on average.
const BEYOND: u64 = 10;

/// Times that each batch must have, on average.
const EACH: u64 = 50;

/// Nanoseconds that must be measured: an event less often than once a second is unseen before.
const LEAST_SPAN: Nanos = 1_000_000_000;

/// Follows the interval of one statistic while operations come: of response times, in an open loop
/// of those from *planned* on. Every measure of the plan must reach the goal.
#[derive(Debug, Clone)]
pub struct Convergence {
    until: Until,
    open: bool,
    measures: Vec<MeasureTimes>,
    /// Of each measure, whether it must come near the goal: no stop-watch, and no condition.
    counts: Vec<bool>,
}

impl Convergence {
    /// Nothing yet, of a run of that plan.
    pub fn new(until: Until, plan: &PlanRecord) -> Convergence {
        Convergence {
            until,
            open: matches!(plan.load.pace, Pace::Open { .. }),
            measures: vec![MeasureTimes::default(); plan.measures.len()],
            counts: plan
                .measures
                .iter()
                .map(|measure| !measure.stop_watch && !measure.conditional)
                .collect(),
        }
    }

    /// Adds operations, of which those in the window count.
    pub fn add(&mut self, samples: &[Sample], window: MeasurementWindow) {
        for sample in samples {
            if let Some(measure) = self.measures.get_mut(usize::from(sample.measure.0))
                && sample.outcome == Outcome::Ok
                && sample.timing != Timing::Missed
                && window.contains(sample)
                && let Some(time) = time(sample, self.open)
            {
                measure.add(sample.moments.started, time, self.until.statistic);
            }
        }
    }

    /// Takes in the operations of another one of the same plan and statistic.
    pub fn merge(&mut self, other: &Convergence) {
        for (measure, others) in self.measures.iter_mut().zip(&other.measures) {
            measure.times.merge(&others.times);
            measure.bins.merge(&others.bins);
        }
    }

    /// Half the 95 % interval as a share of the estimate (0.05 for `±5%`), of the measure that is
    /// farthest from the goal. `None` while one of them has too few operations for an interval.
    ///
    /// Costs a millisecond or so: fit for once a second, and not for each operation.
    pub fn relative_half_width(&self) -> Option<f64> {
        let widths = self
            .measures
            .iter()
            .zip(&self.counts)
            .filter(|(_, counts)| **counts)
            .map(|(measure, _)| measure.relative_half_width(self.until.statistic));
        widths.reduce(|a, b| Some(a?.max(b?))).flatten()
    }

    /// The goal is reached.
    pub fn is_reached(&self) -> bool {
        let goal = self.until.percent / 100.0;
        self.relative_half_width()
            .is_some_and(|width| width <= goal)
    }
}

fn time(sample: &Sample, open: bool) -> Option<Nanos> {
    if open {
        sample.moments.from_planned()
    } else {
        sample.moments.response()
    }
}

#[derive(Debug, Clone)]
struct MeasureTimes {
    times: Times,
    bins: Bins<TimedBatch>,
}

impl Default for MeasureTimes {
    fn default() -> MeasureTimes {
        MeasureTimes {
            times: Times::default(),
            bins: Bins::new(BINS, SHIFT),
        }
    }
}

impl MeasureTimes {
    fn add(&mut self, moment: Nanos, time: Nanos, statistic: TimedStatistic) {
        self.times.add(moment, time);
        let bin = self.bins.at(moment);
        match statistic {
            TimedStatistic::Mean => bin.sum.add(time),
            TimedStatistic::Percentile(_) => bin.add(time),
        }
    }

    fn relative_half_width(&self, statistic: TimedStatistic) -> Option<f64> {
        let n = self.times.count();
        if n < needed(statistic) || self.bins.span() < LEAST_SPAN {
            return None;
        }
        let batches = self.bins.batches(BATCHES);
        if batches.len() < LEAST_BATCHES {
            return None;
        }
        match statistic {
            TimedStatistic::Mean => {
                let sums: Vec<Sum> = batches.iter().map(|batch| batch.sum).collect();
                let (low, high) = interval_of_batches(&sums)?;
                // Zero may have cut the lower half.
                let sum: u128 = sums.iter().map(|batch| batch.sum).sum();
                let mean = sum as f64 / n as f64;
                (mean > 0.0).then(|| (high - mean).max(mean - low) / mean)
            }
            TimedStatistic::Percentile(per_mille) => self.percentile(&batches, n, per_mille),
        }
    }

    fn percentile(&self, batches: &[TimedBatch], n: u64, per_mille: u64) -> Option<f64> {
        let [estimate] = self.times.at_ranks([rank(n, per_mille)])?;
        let half = half_width_of_share(batches.iter().map(|batch| batch.share(estimate)));
        let (low, high) = ranks_around(n, per_mille, half)?;
        let [low, high] = self.times.at_ranks([low, high])?;
        let farther = (high - estimate).max(estimate.saturating_sub(low));
        (estimate > 0).then(|| farther as f64 / estimate as f64)
    }
}

fn needed(statistic: TimedStatistic) -> u64 {
    let beyond = match statistic {
        TimedStatistic::Mean => 0,
        TimedStatistic::Percentile(per_mille) => {
            let rarer = per_mille.min(1000 - per_mille).max(1);
            (BEYOND * 1000).div_ceil(rarer)
        }
    };
    beyond.max(EACH) * BATCHES as u64
}
