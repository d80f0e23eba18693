//! The interval of a share of operations, and of a percentile.
//!
//! Both are exact for independent operations, from the binomial distribution (Clopper and Pearson,
//! *The use of confidence or fiducial limits illustrated in the case of the binomial*, Biometrika
//! 26, 1934; order statistics: David and Nagaraja, *Order Statistics*, section 7.1). Operations
//! that depend on each other count as fewer: the variance of the share over that of independent
//! operations is the design effect, by which the number is divided (Kish, *Survey Sampling*, 1965;
//! Korn and Graubard, *Confidence intervals for proportions with small expected number of positive
//! counts*, Survey Methodology 24, 1998, who also divide it by the squared ratio of the quantiles
//! of Student's t and the normal distribution, because the design effect is itself an estimate).

use statrs::distribution::{ContinuousCDF, Normal};
use statrs::function::beta::beta_reg;

use super::dependence::dependence;
use crate::interval::{border, t_at};

/// Operations of a piece of the run: how many of them are of the kind that is counted, and all.
pub(super) type Counted = (f64, f64);

/// Halvings of an interval: more than a float has digits.
const HALVINGS: u32 = 60;

/// Fewest degrees of freedom of a design effect.
const DEGREES: f64 = 3.0;

/// Number of independent operations with as much information about the share. Cells are in the
/// order of time, and `tau` is a dependence that is known of them otherwise.
pub(super) fn effective_number(cells: &[Counted], tau: f64, a: f64) -> f64 {
    let (hits, n) = cells
        .iter()
        .fold((0.0, 0.0), |all, cell| (all.0 + cell.0, all.1 + cell.1));
    let share = hits / n;
    let deviations: Vec<f64> = cells.iter().map(|cell| cell.0 - cell.1 * share).collect();
    let squares: f64 = deviations.iter().map(|deviation| deviation.powi(2)).sum();
    // The dependence of values that never vary is unknown, except where it is known otherwise.
    let expected = n * share * (1.0 - share);
    if expected <= 0.0 {
        return n / tau;
    }
    // Variation that is slower than in four parts of the run cannot be estimated from these cells.
    let slowest = (cells.len() as f64 / (DEGREES + 1.0)).max(1.0);
    let tau = dependence(&deviations).max(tau).min(slowest);
    let effect = (squares / expected * tau).max(1.0);
    // The design effect has the precision of a variance from this number of independent values.
    let degrees = (cells.len() as f64 / tau - 1.0).max(DEGREES);
    let normal = Normal::standard().inverse_cdf(1.0 - a);
    n / (effect * (t_at(1.0 - a, degrees) / normal).powi(2))
}

/// The interval of a share of which `hits` of `n` independent operations are.
pub(super) fn interval_of_share(hits: f64, n: f64, a: f64) -> (f64, f64) {
    let low = if hits > 0.0 {
        border(0.0, 1.0, HALVINGS, |p| {
            beta_reg(hits, n - hits + 1.0, p) <= a
        })
    } else {
        0.0
    };
    let high = if hits < n {
        border(1.0, 0.0, HALVINGS, |p| {
            beta_reg(n - hits, hits + 1.0, 1.0 - p) <= a
        })
    } else {
        1.0
    };
    (low, high)
}

/// The shares of the sorted values between which the percentile `q` lies, for `n` independent ones;
/// `None` for an end that no value gives.
pub(super) fn places_of_percentile(q: f64, n: f64, a: f64) -> (Option<f64>, Option<f64>) {
    // The value at place l lies above the percentile if fewer than l values lie below.
    let is_low = |l: f64| beta_reg(n - l + 1.0, l, 1.0 - q) <= a;
    let is_high = |u: f64| beta_reg(u, n - u + 1.0, q) <= a;
    let low = (n >= 1.0 && is_low(1.0)).then(|| border(1.0, n, HALVINGS, is_low) / n);
    let high = (n >= 1.0 && is_high(n)).then(|| border(n, 1.0, HALVINGS, is_high) / n);
    (low, high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_of_few_operations_are_those_of_the_printed_table() {
        let near = |(low, high): (f64, f64), expected: (f64, f64)| {
            assert!(
                (low - expected.0).abs() < 5e-5 && (high - expected.1).abs() < 5e-5,
                "{low} {high}"
            );
        };
        // Two-sided 95 %: Clopper and Pearson.
        near(interval_of_share(0.0, 10.0, 0.025), (0.0, 0.3085));
        near(interval_of_share(1.0, 10.0, 0.025), (0.0025, 0.4450));
        near(interval_of_share(5.0, 10.0, 0.025), (0.1871, 0.8129));
        near(interval_of_share(10.0, 10.0, 0.025), (0.6915, 1.0));
        // The rule of three, of 99.9 %: 6.9 / n.
        near(interval_of_share(0.0, 1000.0, 0.001), (0.0, 0.006884));
    }

    #[test]
    fn places_are_those_of_the_binomial_distribution() {
        // The median of ten values: P(no value below) is 1/1024, P(one at most) 11/1024.
        let rounded = |n: f64, q: f64, a: f64| {
            let (low, high) = places_of_percentile(q, n, a);
            (
                low.map(|low| (low * n + 1e-6) as u64),
                high.map(|high| (high * n - 1e-6).ceil() as u64),
            )
        };
        assert_eq!(rounded(10.0, 0.5, 0.001), (Some(1), Some(10)));
        assert_eq!(rounded(10.0, 0.5, 0.02), (Some(2), Some(9)));
        assert_eq!(rounded(9.0, 0.5, 0.001), (None, None));
        // 0.99^687 is a little more than 0.001.
        assert_eq!(rounded(687.0, 0.99, 0.001).1, None);
        assert_eq!(rounded(688.0, 0.99, 0.001).1, Some(688));
    }

    #[test]
    fn operations_that_repeat_each_other_count_once() {
        let blocks = |length: usize| -> Vec<Counted> {
            let hit = |n: usize| (n as u32 / length as u32).wrapping_mul(2_654_435_761) >> 30 == 0;
            (0..8000)
                .map(|n| (f64::from(u8::from(hit(n))), 1.0))
                .collect()
        };
        assert!(effective_number(&blocks(1), 1.0, 0.001) > 4000.0);
        let found = effective_number(&blocks(20), 1.0, 0.001);
        assert!((150.0..600.0).contains(&found), "{found}");
        assert_eq!(effective_number(&[(0.0, 1.0); 30], 1.5, 0.001), 20.0);
    }
}
