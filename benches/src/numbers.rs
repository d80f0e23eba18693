//! Order statistics of small and large samples. Pure.

use serde::{Deserialize, Serialize};
use trace::on_wire::rank;

/// Some percentiles, in microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct Spread {
    pub(crate) p1: f64,
    pub(crate) p50: f64,
    pub(crate) p99: f64,
    pub(crate) max: f64,
}

impl Spread {
    /// Percentiles of nanoseconds, in any order; `None` without values.
    pub(crate) fn of(nanos: &[i64]) -> Option<Spread> {
        let mut sorted = nanos.to_vec();
        sorted.sort_unstable();
        let micros = |share| Some(*rank(&sorted, share)? as f64 / 1000.0);
        Some(Spread {
            p1: micros(0.01)?,
            p50: micros(0.5)?,
            p99: micros(0.99)?,
            max: micros(1.0)?,
        })
    }
}

/// A median with its interval of at least 95 % confidence.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct Median {
    /// The middle value, or the mean of the two in the middle.
    pub(crate) value: f64,
    pub(crate) low: f64,
    /// With fewer than six values the bounds are minimum and maximum, with less confidence.
    pub(crate) high: f64,
}

impl Median {
    /// Median of values in any order; `None` without values.
    ///
    /// The bounds are those of the sign test: a value is above the true median with probability
    /// 1/2, whatever the distribution, so the k-th smallest and k-th largest of n miss it as often
    /// as n coin tosses show fewer than k heads, or fewer than k tails.
    pub(crate) fn of(values: &[f64]) -> Option<Median> {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let n = sorted.len();
        let value = (sorted.get((n.checked_sub(1)?) / 2)? + sorted.get(n / 2)?) / 2.0;
        let outside = (0..n / 2)
            .take_while(|&k| 2.0 * fewer_heads(n, k + 1) <= 0.05)
            .last()
            .unwrap_or(0);
        Some(Median {
            value,
            low: sorted[outside],
            high: sorted[n - 1 - outside],
        })
    }
}

/// Probability of fewer than `k` heads in `n` tosses.
fn fewer_heads(n: usize, k: usize) -> f64 {
    let mut term = 0.5_f64.powi(n as i32);
    let mut sum = 0.0;
    for heads in 0..k {
        sum += term;
        term *= (n - heads) as f64 / (heads + 1) as f64;
    }
    sum
}

/// Total length covered by intervals, in any order.
pub(crate) fn covered(intervals: &[(i64, i64)]) -> i64 {
    let mut sorted = intervals.to_vec();
    sorted.sort_unstable();
    let mut total = 0;
    let mut end = i64::MIN;
    for (from, to) in sorted {
        total += (to - from.max(end)).max(0);
        end = end.max(to);
    }
    total
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_values_that_occurred() {
        let nanos: Vec<i64> = (1..=100).rev().map(|n| n * 1000).collect();
        let spread = Spread::of(&nanos).unwrap();
        let Spread { p1, p50, p99, max } = spread;
        assert_eq!((p1, p50, p99, max), (1.0, 50.0, 99.0, 100.0));
        assert_eq!(Spread::of(&[]), None);
        assert_eq!(Spread::of(&[-7000]).unwrap().p99, -7.0);
    }

    #[test]
    fn the_interval_of_a_median_is_that_of_the_sign_test() {
        // Tables: for n = 5 nothing narrower than the range (93.75 %), for 6 to 8 the range, for 9
        // to 11 the second, for 12 the third.
        for (n, k) in [(1, 1), (5, 1), (7, 1), (8, 1), (9, 2), (11, 2), (12, 3)] {
            let values: Vec<f64> = (1..=n).map(f64::from).collect();
            let median = Median::of(&values).unwrap();
            assert_eq!(median.value, f64::from(n + 1) / 2.0, "{n}");
            let bounds = (f64::from(k), f64::from(n + 1 - k));
            assert_eq!((median.low, median.high), bounds, "{n}");
        }
        assert_eq!(Median::of(&[]), None);
    }

    #[test]
    fn what_overlaps_is_covered_once() {
        assert_eq!(covered(&[]), 0);
        assert_eq!(covered(&[(5, 7), (0, 2), (1, 3), (1, 2), (7, 8)]), 6);
        assert_eq!(covered(&[(0, 10), (2, 3)]), 10);
    }
}
