//! The mean of a few repetitions, with its interval and its prediction.
//!
//! Figures above zero (delays, rates) are assumed to be lognormal: their logarithms `y` have mean
//! `m` and variance `v` over `n` repetitions, and with the quantile `t` of Student's distribution
//! of `n - 1` degrees of freedom
//!
//! ```text
//!     m + v/2 +- t sqrt(v/n + v^2 / 2(n + 1))     the logarithm of the mean (Olsson, Confidence intervals for the mean of a
//!                                                 log-normal distribution, Journal of Statistics Education 13(1), 2005)
//!     log(mean) +- t sqrt(2v/n)                   that of the mean of n further repetitions
//! ```
//!
//! which for a small spread is Student's interval. Other figures (shares and numbers that may be 0)
//! have Student's. If the figure has a heavy tail, the ranges include those of [`crate::spread`].

use stats::interval::{mean, median, t_at, variance};

use crate::file::ShownUnit;
use crate::series::FigureSeries;
use crate::spread::PooledSpread;
use crate::summary::{CellEstimate, EstimateWarning, FigureRange};

/// Upper quantile: half of the error probability is above it.
pub(crate) const UPPER: f64 = 0.975;
/// Largest mean, in multiples of the largest repetition, that counts as determined. Three
/// repetitions of 0.1, 1 and 10 s are consistent with a mean of hours.
const MOST_BEYOND: f64 = 1000.0;

impl CellEstimate {
    /// The estimate of a figure from its repetitions, in cells with this spread.
    pub(crate) fn of(
        series: &FigureSeries,
        spread: &PooledSpread,
        unit: ShownUnit,
    ) -> CellEstimate {
        let values = series.figures();
        let mut estimate = CellEstimate {
            count: values.len(),
            unfinished: series.unfinished,
            ..CellEstimate::default()
        };
        if values.is_empty() {
            return estimate;
        }
        estimate.mean = Some(mean(&values)).filter(|mean| mean.is_finite());
        if values.len() > 1 {
            let (interval, prediction) = ranges(&values, spread);
            let range = |ends| range(ends).map(|range| range.possible(&values, unit));
            let largest = values.iter().copied().fold(0.0, f64::max);
            let is_told = |range: &FigureRange| range.high <= MOST_BEYOND * largest;
            let interval = range(interval);
            estimate.interval = interval.filter(is_told);
            if interval != estimate.interval {
                estimate.warnings.push(EstimateWarning::Undetermined);
            }
            // Three trials without a retransmission are no evidence that there will be none.
            let differ = values.iter().any(|value| *value != values[0]);
            estimate.prediction = range(prediction).filter(|range| differ && is_told(range));
        }
        if spread.is_heavy() {
            estimate.warnings.push(EstimateWarning::HeavyTail);
        }
        estimate
    }
}

impl FigureRange {
    /// The possible part of a range: none is below 0, and no share above all, unless measured.
    fn possible(self, values: &[f64], unit: ShownUnit) -> FigureRange {
        let most = match unit {
            ShownUnit::Percent => unit.factor(),
            _ => f64::INFINITY,
        };
        let least = values.iter().copied().fold(0.0, f64::min);
        let most = values.iter().copied().fold(most, f64::max);
        FigureRange {
            low: self.low.max(least),
            high: self.high.min(most),
        }
    }
}

fn range((low, high): (f64, f64)) -> Option<FigureRange> {
    (low.is_finite() && high.is_finite()).then_some(FigureRange { low, high })
}

/// Interval of the mean and prediction for two values or more.
pub(crate) fn ranges(values: &[f64], spread: &PooledSpread) -> ((f64, f64), (f64, f64)) {
    let count = values.len() as f64;
    let average = mean(values);
    let t = t_at(UPPER, count - 1.0);
    if !spread.is_ratio {
        let error = (variance(values) / count).sqrt();
        let interval = |half: f64| (average - half, average + half);
        return (interval(t * error), interval(t * error * 2f64.sqrt()));
    }
    let logarithms: Vec<f64> = values.iter().map(|value| value.ln()).collect();
    let (centre, variance) = (mean(&logarithms), variance(&logarithms));
    let half = t * (variance / count + variance * variance / 2.0 / (count + 1.0)).sqrt();
    let middle = centre + variance / 2.0;
    let mut interval = include(((middle - half).exp(), (middle + half).exp()), average);
    let half = t * (2.0 * variance / count).sqrt();
    let mut prediction = (average * (-half).exp(), average * half.exp());
    if let (Some(samples), Some(middle)) = (spread.of(values), median(values)) {
        for (range, (low, high)) in [
            (&mut interval, samples.mean),
            (&mut prediction, samples.further),
        ] {
            *range = include(include(*range, middle * low), middle * high);
        }
    }
    (interval, prediction)
}

fn include((low, high): (f64, f64), value: f64) -> (f64, f64) {
    (low.min(value), high.max(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate(values: &[f64]) -> CellEstimate {
        let series = FigureSeries {
            values: (1..).zip(values.iter().copied()).collect(),
            unfinished: 0,
        };
        CellEstimate::of(
            &series,
            &PooledSpread::new(&[values.to_vec()]),
            ShownUnit::S,
        )
    }

    #[test]
    fn what_repetitions_do_not_determine_has_no_interval() {
        for told in [
            &[1.0, 1.1, 0.9][..],
            &[1.0, 3.0, 0.5],
            &[0.0, 1.0, 100.0],
            &[1.0, 1.0],
        ] {
            let determined = estimate(told);
            assert!(determined.interval.is_some(), "{determined:?}");
            assert!(!determined.warnings.contains(&EstimateWarning::Undetermined));
        }
        for undetermined in [&[0.1, 1.0, 10.0][..], &[0.01, 1.0]] {
            let estimated = estimate(undetermined);
            assert!(
                estimated.mean.is_some()
                    && estimated.interval.is_none()
                    && estimated.prediction.is_none(),
                "{estimated:?}"
            );
            assert!(estimated.warnings.contains(&EstimateWarning::Undetermined));
        }
        assert!(estimate(&[1.0]).warnings.is_empty());
    }
}
