//! What a set of times looks like: mean, interval, spread, percentiles.
//!
//! Percentiles are exact, from the sorted values themselves, by the nearest rank: the p-th of n
//! values is the one at place `ceil(p * n / 100)`. Every percentile is therefore a time that was
//! really measured; with fewer than 20 values p95 is the maximum, below 100 p99 is, below 1000
//! p99.9 is. Percentiles are never averaged: who needs those of several tests or runs goes back
//! to the samples.

use record::Nanos;

use crate::interval::mean_interval;

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
    /// Greatest value.
    pub max: Nanos,
}

impl Distribution {
    /// Describes values that stand in the order of time, or `None` when there are none.
    ///
    /// Only [`ci95`](Distribution::ci95) depends on the order.
    pub fn of(values: &[Nanos]) -> Option<Distribution> {
        let mut sorted = values.to_vec();
        sorted.sort_unstable();
        let (Some(&min), Some(&max)) = (sorted.first(), sorted.last()) else {
            return None;
        };
        let n = sorted.len();
        let sum: u128 = sorted.iter().map(|value| u128::from(*value)).sum();
        let mean = sum as f64 / n as f64;
        let squares: f64 = sorted
            .iter()
            .map(|value| (*value as f64 - mean).powi(2))
            .sum();
        let floats: Vec<f64> = values.iter().map(|value| *value as f64).collect();
        Some(Distribution {
            n: n as u64,
            mean,
            ci95: mean_interval(&floats),
            sd: (n > 1).then(|| (squares / (n - 1) as f64).sqrt()),
            min,
            p50: nearest_rank(&sorted, 500),
            p90: nearest_rank(&sorted, 900),
            p95: nearest_rank(&sorted, 950),
            p99: nearest_rank(&sorted, 990),
            p999: nearest_rank(&sorted, 999),
            max,
        })
    }
}

/// The value at place `ceil(n * per_mille / 1000)`, counted from 1. `sorted` is not empty.
fn nearest_rank(sorted: &[Nanos], per_mille: usize) -> Nanos {
    let rank = (sorted.len() * per_mille).div_ceil(1000).max(1);
    sorted[rank - 1]
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
