//! Where the middle of paired differences lies, by their signed ranks.
//!
//! A pair of runs is now and then torn apart: a neighbour takes the processor during one of both.
//! The mean of the pairs and Student's t pay for each such pair with a wider interval. The median
//! of the means of any two differences (Hodges and Lehmann, *Estimates of location based on rank
//! tests*, Annals of Mathematical Statistics 34, 1963) and the interval that goes with Wilcoxon's
//! test (Hollander, Wolfe and Chicken, *Nonparametric Statistical Methods*, section 3.3) hardly
//! notice, and lose 5 % where the noise is normal. They ask that differences lie symmetrically
//! round their middle, which those of pairs whose members are exchangeable do.

use statrs::distribution::{ContinuousCDF, Normal};

/// Differences from which on the normal approximation holds, and the test is not too coarse to
/// survive a correction for many rows: its smallest p-value is then 4.8e-5.
pub(super) const LEAST: usize = 20;

/// Result of the signed-rank test on some differences.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Middle {
    pub(super) value: f64,
    pub(super) interval: (f64, f64),
    /// The one-sided p-value of a middle above zero.
    pub(super) p_above: f64,
    /// The one-sided p-value of a middle below zero.
    pub(super) p_below: f64,
}

/// The middle of at least [`LEAST`] differences, with an interval of that confidence.
pub(super) fn middle(differences: &[f64], confidence: f64) -> Middle {
    let means = means_of_two(differences);
    let (expected, deviation) = by_chance(differences.len());
    let outside =
        expected - Normal::standard().inverse_cdf(f64::midpoint(1.0, confidence)) * deviation;
    let index = (outside.floor() as usize).saturating_sub(1);
    let last = means.len() - 1;
    // The number of such means above zero is Wilcoxon's statistic (Tukey 1949).
    let above = means.partition_point(|mean| *mean <= 0.0);
    let below = means.partition_point(|mean| *mean < 0.0);
    let statistic = (means.len() - above) as f64 + (above - below) as f64 / 2.0;
    Middle {
        value: f64::midpoint(means[last / 2], means[last - last / 2]),
        interval: (means[index], means[last - index]),
        p_above: p_of(statistic, (expected, deviation)),
        p_below: p_of(2.0 * expected - statistic, (expected, deviation)),
    }
}

/// Mean and standard deviation of Wilcoxon's statistic of this number of differences round zero.
fn by_chance(differences: usize) -> (f64, f64) {
    let count = differences as f64;
    let expected = count * (count + 1.0) / 4.0;
    (expected, (expected * (2.0 * count + 1.0) / 6.0).sqrt())
}

/// The chance of at least that statistic, with the correction for continuity.
fn p_of(statistic: f64, (expected, deviation): (f64, f64)) -> f64 {
    Normal::standard().sf((statistic - expected - 0.5) / deviation)
}

/// The means of any two values, each with itself too, in order.
fn means_of_two(values: &[f64]) -> Vec<f64> {
    let pairs = values.iter().enumerate();
    let mut means: Vec<f64> = pairs
        .flat_map(|(index, one)| {
            let others = values[index..].iter();
            others.map(move |other| f64::midpoint(*one, *other))
        })
        .collect();
    means.sort_by(f64::total_cmp);
    means
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Result of `scipy.stats.wilcoxon(x, correction=True, method="approx")` on the same numbers.
    #[test]
    fn the_test_is_wilcoxons() {
        let ranks: [f64; 20] = [
            1.0, 2.0, 3.0, -4.0, 5.0, 6.0, -7.0, 8.0, 9.0, -10.0, 11.0, 12.0, 13.0, -14.0, 15.0,
            16.0, 17.0, -13.5, 19.0, 20.0,
        ];
        let found = middle(&ranks, 0.95);
        assert!((2.0 * found.p_above - 0.041_888).abs() < 1e-6, "{found:?}");
        assert_eq!((found.value, found.interval), (6.0, (0.5, 11.0)));
        let turned = middle(&ranks.map(|rank| -rank), 0.95);
        assert_eq!(
            (turned.value, turned.interval.0, turned.p_below),
            (-found.value, -found.interval.1, found.p_above)
        );
    }

    #[test]
    fn no_difference_is_no_doubt_and_one_torn_pair_changes_little() {
        let none = middle(&[0.0; 20], 0.95);
        assert_eq!((none.value, none.interval), (0.0, (0.0, 0.0)));
        assert!(none.p_above > 0.5 && none.p_below > 0.5, "{none:?}");
        let always: Vec<f64> = (0..20).map(|i| 0.05 + f64::from(i) * 1e-4).collect();
        let mut torn = always.clone();
        torn[7] = 40.0;
        let (before, after) = (middle(&always, 0.95), middle(&torn, 0.95));
        assert!((before.value - after.value).abs() < 1e-3, "{after:?}");
        assert!(after.interval.1 < 0.06 && after.p_above < 1e-4, "{after:?}");
    }
}
