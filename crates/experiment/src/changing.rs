//! Detects that all cells change together from one repetition to another.
//!
//! The logarithms (or values) of each cell are standardised. If `n` repetitions differ only by
//! chance, their means over `k` cells have the variance `1/k`, and because they add up to 0, the
//! sum of their squares times `k (n - 1)/n` is distributed as chi-squared with `n - 1` degrees of
//! freedom. A trend over the campaign, or noise that lasts longer than a repetition, makes it
//! larger.
//!
//! Measured as in [`crate::spread`], with lognormal noise of 0.1 in each trial (3, 5 and 10
//! repetitions, in percent):
//!
//! | all cells together | mean in interval | second mean predicted | campaigns that warn |
//! |---|---|---|---|
//! | nothing | 95 95 95 | 95 95 95 | 1 1 0 |
//! | grow by 0.5 (logarithm) | 99 100 100 | 99 100 100 | 100 100 100 |
//! | have noise of 0.1 with correlation 0.5 of neighbouring trials | 95 95 95 | 95 95 95 | 3 9 22 |
//! | the same with correlation 0.9 | 94 91 91 | 93 91 90 | 23 50 87 |
//! | the same with correlation 0.98 | 88 77 70 | 88 79 71 | 13 38 81 |
//!
//! A change that lasts as long as a campaign of three repetitions is not detected in it, and makes
//! a second one different. Relations between cells are not affected: both sides change.

use statrs::distribution::{ChiSquared, ContinuousCDF};
use stats::interval::{mean, variance};

/// Probability that a campaign without changes is reported as changing.
const BY_CHANCE: f64 = 0.01;
/// Fewest cells: with fewer, the sum does not have this distribution.
const LEAST_CELLS: usize = 4;

/// True if cells change together. Each has the figures of the same repetitions, above 0 if they are
/// compared by ratios.
pub(crate) fn is_changing(cells: &[Vec<f64>], is_ratio: bool) -> bool {
    let Some(repetitions) = cells.first().map(Vec::len) else {
        return false;
    };
    let standardised: Vec<Vec<f64>> = cells
        .iter()
        .filter(|values| values.len() == repetitions)
        .filter_map(|values| standardised(values, is_ratio))
        .collect();
    if repetitions < 3 || standardised.len() < LEAST_CELLS {
        return false;
    }
    let (count, number) = (repetitions as f64, standardised.len() as f64);
    let of_repetition = |index: usize| {
        let values = standardised.iter().filter_map(|values| values.get(index));
        values.sum::<f64>() / number
    };
    let squares: f64 = (0..repetitions)
        .map(|index| of_repetition(index).powi(2))
        .sum();
    let Ok(chance) = ChiSquared::new(count - 1.0) else {
        return false;
    };
    chance.sf(squares * number * (count - 1.0) / count) < BY_CHANCE
}

/// Values with mean 0 and variance 1 (of the population); `None` if all are the same.
fn standardised(values: &[f64], is_ratio: bool) -> Option<Vec<f64>> {
    let values: Vec<f64> = values
        .iter()
        .map(|value| if is_ratio { value.ln() } else { *value })
        .collect();
    let count = values.len() as f64;
    let centre = mean(&values);
    let deviation = (variance(&values) * (count - 1.0) / count).sqrt();
    let is_usable = deviation.is_finite() && deviation > 1e-12 * centre.abs();
    is_usable.then(|| {
        values
            .iter()
            .map(|value| (value - centre) / deviation)
            .collect()
    })
}
