//! Times of a piece of a run, from which the interval of a percentile is derived.
//!
//! Every batch has a share of times that are at most the percentile. How much these shares differ
//! gives the interval of the share itself, and the times at both ends of it are the interval of the
//! percentile (Woodruff, *Confidence intervals for medians and other position measures*, Journal of
//! the American Statistical Association 47, 1952; for correlated values, with the variance from
//! batches: Heidelberger and Lewis, *Quantile estimation in dependent sequences*, Operations
//! Research 32(1), 1984). It assumes no shape, and no batch needs to be large enough for a
//! percentile of its own.

use record::Nanos;

use crate::bins::{Bin, Sum};
use crate::interval::ratio_half_width;
use crate::times::CoarseTimes;

#[derive(Debug, Clone, Default)]
pub(crate) struct TimedBatch {
    pub(crate) sum: Sum,
    /// All of them, where a percentile is sought.
    times: CoarseTimes,
}

impl TimedBatch {
    pub(crate) fn add(&mut self, time: Nanos) {
        self.sum.add(time);
        self.times.add(time);
    }

    pub(crate) fn at_most(&self, limit: Nanos) -> u64 {
        self.times.count_between(0, limit)
    }

    /// Times that are at most `limit`, and all.
    pub(crate) fn share(&self, limit: Nanos) -> (u64, u64) {
        (self.at_most(limit), self.sum.n)
    }

    pub(crate) fn at_least(&self, limit: Nanos) -> u64 {
        self.times.count_between(limit, Nanos::MAX)
    }
}

impl Bin for TimedBatch {
    fn count(&self) -> u64 {
        self.sum.n
    }

    fn absorb(&mut self, other: &TimedBatch) {
        self.sum.absorb(&other.sum);
        self.times.merge(&other.times);
    }
}

/// Half the 95 % interval of the share of times that are at most a limit, from at least two
/// batches: how many of each are, and how many it has.
pub(crate) fn half_width_of_share(batches: impl IntoIterator<Item = (u64, u64)>) -> f64 {
    let counts: Vec<(f64, f64)> = batches
        .into_iter()
        .map(|(at_most, all)| (at_most as f64, all as f64))
        .collect();
    let at_most: f64 = counts.iter().map(|(at_most, _)| at_most).sum();
    let all: f64 = counts.iter().map(|(_, all)| all).sum();
    ratio_half_width(counts.into_iter(), at_most / all)
}
