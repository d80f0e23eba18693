//! What a set of times looks like: mean, interval, spread, percentiles.
//!
//! Percentiles are exact, from the sorted values themselves, by the nearest rank: the p-th of n
//! values is the one at place `ceil(p * n / 100)`. Every percentile is therefore a time that was
//! really measured ([`EXACT`](crate::EXACT) values and more come from a histogram, within 0.05 %);
//! with fewer than 20 values p95 is the maximum, below 100 p99 is, below 1000 p99.9 is. Percentiles
//! are never averaged: those of several runs come from the samples.

use record::Nanos;

use crate::batch::half_width_of_share;
use crate::interval::{self, mean_interval};
use crate::times::rank;

/// Summary of at least one time. Everything is in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Distribution {
    /// Number of values.
    pub n: u64,
    /// Arithmetic mean.
    pub mean: f64,
    /// 95 % interval of the mean, from [batch means](crate::interval); `None` for one value.
    pub ci95: Option<(f64, f64)>,
    /// Standard deviation (divisor n - 1); `None` for one value.
    pub sd: Option<f64>,
    /// Least value.
    pub min: Nanos,
    /// Median.
    pub p50: Nanos,
    /// 90th percentile.
    pub p90: Nanos,
    /// 95th percentile.
    pub p95: Nanos,
    /// 99th percentile.
    pub p99: Nanos,
    /// 99.9th percentile.
    pub p999: Nanos,
    /// 95 % intervals of these five, in their order; `None` for a percentile with fewer than ten
    /// values beyond it, and where the interval would reach beyond the values.
    pub percentiles_ci95: [Option<(Nanos, Nanos)>; 5],
    /// Greatest value.
    pub max: Nanos,
}

/// Percentiles of a [`Distribution`] in parts of a thousand, ascending.
pub(crate) const PER_MILLE: [u64; 5] = [500, 900, 950, 990, 999];

/// Values that must lie beyond a percentile, on its rarer side, for an interval.
const BEYOND: u64 = 10;

/// From which share of the sum on the slowest operation dominates the mean, and from how many times
/// its equal share on where there are few.
const DOMINATES: f64 = 0.1;
const DOMINATES_FEW: f64 = 3.0;

pub(crate) struct MeanAndSpread {
    pub(crate) n: u64,
    pub(crate) mean: f64,
    pub(crate) ci95: Option<(f64, f64)>,
    pub(crate) sd: Option<f64>,
}

impl Distribution {
    /// The 95 % interval of one of the percentiles, given in parts of a thousand.
    pub fn percentile_ci95(&self, per_mille: u64) -> Option<(Nanos, Nanos)> {
        let index = PER_MILLE.iter().position(|known| *known == per_mille)?;
        self.percentiles_ci95[index]
    }

    /// Describes values that stand in the order of time, or `None` when there are none.
    ///
    /// Only [`ci95`](Distribution::ci95) depends on the order.
    pub fn of(values: &[Nanos]) -> Option<Distribution> {
        let mut sorted = values.to_vec();
        sorted.sort_unstable();
        let (Some(&min), Some(&max)) = (sorted.first(), sorted.last()) else {
            return None;
        };
        let n = sorted.len() as u64;
        let sum: u128 = sorted.iter().map(|value| u128::from(*value)).sum();
        let mean = sum as f64 / n as f64;
        let squares: f64 = sorted
            .iter()
            .map(|value| (*value as f64 - mean).powi(2))
            .sum();
        let floats: Vec<f64> = values.iter().map(|value| *value as f64).collect();
        let moments = MeanAndSpread {
            n,
            mean,
            ci95: mean_interval(&floats),
            sd: (n > 1).then(|| (squares / (n - 1) as f64).sqrt()),
        };
        let quantiles = PER_MILLE.map(|per_mille| sorted[rank(n, per_mille) as usize - 1]);
        let described = Distribution::from_parts(moments, (min, max), quantiles);
        Some(Distribution {
            percentiles_ci95: PER_MILLE
                .map(|per_mille| percentile_interval(values, &sorted, per_mille)),
            ..described
        })
    }

    /// The share of the slowest value in the sum of all.
    pub fn slowest_share(&self) -> f64 {
        if self.mean > 0.0 {
            (self.max as f64 / (self.n as f64 * self.mean)).min(1.0)
        } else {
            0.0
        }
    }

    /// The slowest value has so much of the sum that the mean and its interval depend on it:
    /// another run, with one such value more or less, would have given a very different mean.
    pub fn is_dominated(&self) -> bool {
        self.n > 1 && self.slowest_share() >= DOMINATES.max(DOMINATES_FEW / self.n as f64)
    }

    pub(crate) fn from_parts(
        moments: MeanAndSpread,
        (min, max): (Nanos, Nanos),
        [p50, p90, p95, p99, p999]: [Nanos; PER_MILLE.len()],
    ) -> Distribution {
        Distribution {
            n: moments.n,
            mean: moments.mean,
            ci95: moments.ci95,
            sd: moments.sd,
            min,
            p50,
            p90,
            p95,
            p99,
            p999,
            percentiles_ci95: [None; PER_MILLE.len()],
            max,
        }
    }
}

pub(crate) fn has_enough_beyond(n: u64, per_mille: u64) -> bool {
    n.saturating_mul(per_mille.min(1000 - per_mille)) >= BEYOND * 1000
}

/// The 95 % interval of a percentile (Woodruff 1952), from batches of values in the order of time:
/// see [`convergence`](crate::convergence).
fn percentile_interval(
    values: &[Nanos],
    sorted: &[Nanos],
    per_mille: u64,
) -> Option<(Nanos, Nanos)> {
    let n = values.len() as u64;
    if !has_enough_beyond(n, per_mille) {
        return None;
    }
    let estimate = sorted[rank(n, per_mille) as usize - 1];
    let ranks = ranks_around(n, per_mille, half_width_at(values, estimate))?;
    Some((sorted[ranks.0 as usize - 1], sorted[ranks.1 as usize - 1]))
}

/// Half the 95 % interval of the share of values, in the order of time, that are at most `limit`.
pub(crate) fn half_width_at<T: PartialOrd>(values: &[T], limit: T) -> f64 {
    half_width_of_share(interval::batches_of(values.len()).map(|(from, to)| {
        let of_batch = &values[from..to];
        let at_most = of_batch.iter().filter(|value| **value <= limit).count();
        (at_most as u64, of_batch.len() as u64)
    }))
}

/// The places in the sorted values, counted from 1, that are so far to both sides of a percentile,
/// as a share of all; `None` where they would lie beyond the values.
pub(crate) fn ranks_around(n: u64, per_mille: u64, half: f64) -> Option<(u64, u64)> {
    let q = per_mille as f64 / 1000.0;
    let rank_at = |q: f64| ((q * n as f64).ceil() as u64).max(1);
    (half < q && q + half < 1.0).then(|| (rank_at(q - half), rank_at(q + half)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_nearest_ranks() {
        let hundred: Vec<Nanos> = (1..=100).rev().collect();
        let described = Distribution::of(&hundred).unwrap();
        assert_eq!((described.min, described.p50, described.p90), (1, 50, 90));
        assert_eq!(
            (described.p95, described.p99, described.p999),
            (95, 99, 100)
        );
        assert_eq!((described.max, described.mean), (100, 50.5));
        assert!((described.sd.unwrap() - 29.011_491_975_882_016).abs() < 1e-12);
    }

    #[test]
    fn a_percentile_beyond_n_is_the_maximum() {
        for (n, p95_is_max, p99_is_max) in
            [(19, true, true), (20, false, true), (100, false, false)]
        {
            let values: Vec<Nanos> = (1..=n).collect();
            let described = Distribution::of(&values).unwrap();
            assert_eq!(described.p95 == described.max, p95_is_max, "p95 of {n}");
            assert_eq!(described.p99 == described.max, p99_is_max, "p99 of {n}");
        }
    }

    #[test]
    fn one_value_has_neither_spread_nor_interval_and_none_has_nothing() {
        let one = Distribution::of(&[7]).unwrap();
        assert_eq!((one.n, one.mean, one.sd, one.ci95), (1, 7.0, None, None));
        assert_eq!((one.min, one.p50, one.p999, one.max), (7, 7, 7, 7));
        assert_eq!(Distribution::of(&[]), None);
    }
}
