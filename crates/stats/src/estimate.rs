//! Estimates for verdicts: intervals that miss the truth in at most one of a thousand runs on each side.
//!
//! A verdict stands on intervals of a chosen confidence: `miss` is the probability that the truth lies outside
//! (0.002 for 99.8 %). At such a confidence the 95 % intervals of reports, scaled, would miss several times more
//! often than promised: means of skewed times lie below the truth in most runs, with a spread that is too small
//! for them, and shares of few operations are not normal. So these are wider, in three ways, and where there are
//! too few operations there is none.
//!
//! - *Means*: Student's t over batches in time ([`interval`](crate::interval)). Half the width is multiplied by
//!   `1 + 4 g`, where `g` is the skewness of the mean: of the values, over the square root of their number, or
//!   that of the batches, whichever is greater. (What skewness does to t: Johnson, *Modified t tests and
//!   confidence intervals for asymmetrical populations*, Journal of the American Statistical Association 73, 1978.
//!   His shift of the interval helps on one side and harms on the other; the factor 4 was found by simulation.)
//! - *Shares*, and percentiles by them (Woodruff 1952): the exact binomial interval (Clopper and Pearson,
//!   *Biometrika* 26, 1934) of as many independent operations as have the same variance (Kish, *Survey Sampling*,
//!   1965). That variance comes from the batches, and what is used is its upper 95 % bound.
//! - *Rates*: the three slowest waves of [`throughput`](crate::throughput).
//!
//! What has not happened is in no estimate: a server that pauses once a minute is not judged by a run of ten
//! seconds. `tests::verdicts` has the rates of wrong verdicts, METHODOLOGY a table of them.

use record::Nanos;
use statrs::distribution::{Beta, ChiSquared, ContinuousCDF};

use crate::interval::{self, t_at};
use crate::times::Times;

/// Independent operations below which a mean has no interval: as many as have the same variance.
const LEAST_FOR_MEAN: f64 = 100.0;
/// Independent operations that must lie beyond a percentile.
const LEAST_BEYOND: f64 = 5.0;
/// By how much an interval is widened for the skewness of the mean.
const FOR_SKEWNESS: f64 = 4.0;

/// The interval of the mean of values in the order of time, in their unit; `None` where they are too few.
pub(crate) fn mean(values: &[f64], miss: f64) -> Option<(f64, f64)> {
    let n = values.len() as f64;
    if n < LEAST_FOR_MEAN || n * independence(values) < LEAST_FOR_MEAN {
        return None;
    }
    let batches: Vec<(f64, f64)> = interval::batches_of(values.len())
        .map(|(from, to)| (values[from..to].iter().sum(), (to - from) as f64))
        .collect();
    let skewness = skewness(values) / n.sqrt();
    Some(mean_of_batches(&batches, skewness, miss))
}

/// The interval of the mean of values whose batches have these sums and numbers, with that skewness of it.
pub(crate) fn mean_of_batches(
    batches: &[(f64, f64)],
    skewness_of_mean: f64,
    miss: f64,
) -> (f64, f64) {
    let k = batches.len() as f64;
    let (sum, n) = batches
        .iter()
        .fold((0.0, 0.0), |(sum, n), (own, count)| (sum + own, n + count));
    let value = sum / n;
    let squares: f64 = batches
        .iter()
        .map(|(sum, n)| (sum - n * value).powi(2))
        .sum();
    let error = (k / (k - 1.0) * squares).sqrt() / n;
    let means: Vec<f64> = batches.iter().map(|(sum, n)| sum / n).collect();
    let skewness = skewness_of_mean.max(skewness(&means) / k.sqrt()).max(0.0);
    let half = t_at(1.0 - miss / 2.0, k - 1.0) * error * (1.0 + FOR_SKEWNESS * skewness);
    ((value - half).max(0.0), value + half)
}

/// The interval of the standard deviation of values in the order of time; `None` where they are too few.
pub(crate) fn deviation(values: &[f64], miss: f64) -> Option<(f64, f64)> {
    let n = values.len() as f64;
    if n < LEAST_FOR_MEAN || n * independence(values) < LEAST_FOR_MEAN {
        return None;
    }
    let value = interval::variance(values).sqrt();
    let bounds: Vec<(usize, usize)> = interval::batches_of(values.len()).collect();
    let k = bounds.len() as f64;
    let without = |(from, to): &(usize, usize)| {
        let others: Vec<f64> = [&values[..*from], &values[*to..]].concat();
        interval::variance(&others).sqrt()
    };
    let pseudo: Vec<f64> = bounds
        .iter()
        .map(|own| k * value - (k - 1.0) * without(own))
        .collect();
    let error = (interval::variance(&pseudo) / k).sqrt();
    let widened = 1.0 + FOR_SKEWNESS * (skewness(&pseudo) / k.sqrt()).max(0.0);
    let half = t_at(1.0 - miss / 2.0, k - 1.0) * error * widened;
    Some(((value - half).max(0.0), value + half))
}

/// Of so many values, the share that are independent of each other: `(1 - r) / (1 + r)` for a correlation `r` of
/// neighbours, if that of others falls off geometrically.
fn independence(values: &[f64]) -> f64 {
    let mean = interval::mean(values);
    let square: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let pairs = values.windows(2);
    let product: f64 = pairs.map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum();
    if square == 0.0 {
        return 1.0;
    }
    let correlation = (product / square).clamp(0.0, 1.0);
    (1.0 - correlation) / (1.0 + correlation)
}

/// The third moment of values about their mean, in units of their standard deviation; 0 where they do not differ.
pub(crate) fn skewness(values: &[f64]) -> f64 {
    let mean = interval::mean(values);
    let moment = |power| {
        let terms = values.iter().map(|value| (value - mean).powi(power));
        terms.sum::<f64>() / values.len() as f64
    };
    match moment(2) {
        0.0 => 0.0,
        variance => moment(3) / variance.powf(1.5),
    }
}

/// The interval of a share of operations, from how many of each batch are of a kind, and how many there are; `None`
/// where they are too few.
pub(crate) fn share(batches: &[(u64, u64)], miss: f64) -> Option<(f64, f64)> {
    let of: u64 = batches.iter().map(|(of, _)| of).sum();
    let all: u64 = batches.iter().map(|(_, all)| all).sum();
    if all == 0 || batches.len() < interval::LEAST {
        return None;
    }
    let value = of as f64 / all as f64;
    let independent = all as f64 / design_effect(batches, value);
    Some(binomial_interval(value, independent, miss))
}

/// The interval of a percentile: the places in `n` sorted values, counted from 1, between which it lies, from how many values of
/// each batch are at most its estimate; `None` where they are too few.
pub(crate) fn percentile(batches: &[(u64, u64)], ppm: u32, miss: f64) -> Option<(u64, u64)> {
    let q = f64::from(ppm) / 1e6;
    let n: u64 = batches.iter().map(|(_, all)| all).sum();
    if batches.len() < interval::LEAST {
        return None;
    }
    let independent = n as f64 / design_effect(batches, q);
    if independent * q.min(1.0 - q) < LEAST_BEYOND {
        return None;
    }
    let (low, high) = binomial_interval(q, independent, miss);
    let place = |q: f64| ((q * n as f64).ceil() as u64).clamp(1, n);
    if low <= 0.0 || high >= 1.0 || place(high) == n {
        return None;
    }
    Some((place(low), place(high)))
}

/// By how much the variance of a share is greater than that of independent operations: its upper 95 % bound, and
/// at least 1.
fn design_effect(batches: &[(u64, u64)], share: f64) -> f64 {
    let k = batches.len() as f64;
    let n: f64 = batches.iter().map(|(_, all)| *all as f64).sum();
    let own = batches.iter().map(|(of, all)| (*of as f64, *all as f64));
    let mean = own.clone().map(|(of, _)| of).sum::<f64>() / n;
    let squares: f64 = own.map(|(of, all)| (of - all * mean).powi(2)).sum();
    let variance = k / (k - 1.0) * squares / n.powi(2);
    let independent = share * (1.0 - share) / n;
    let unlikely = ChiSquared::new(k - 1.0)
        .expect("there are two batches or more")
        .inverse_cdf(0.05);
    if independent > 0.0 {
        (variance / independent * (k - 1.0) / unlikely).max(1.0)
    } else {
        1.0
    }
}

/// The interval of Clopper and Pearson of a share of so many operations, which need be no whole number.
fn binomial_interval(share: f64, n: f64, miss: f64) -> (f64, f64) {
    let (of, others) = (share * n, (1.0 - share) * n);
    let quantile = |a: f64, b: f64, p: f64| Beta::new(a, b).map_or(p, |beta| beta.inverse_cdf(p));
    let low = if of > 0.0 {
        quantile(of, others + 1.0, miss / 2.0)
    } else {
        0.0
    };
    let high = if others > 0.0 {
        quantile(of + 1.0, others, 1.0 - miss / 2.0)
    } else {
        1.0
    };
    (low, high)
}

impl Times {
    /// The interval of the mean of the values.
    pub(crate) fn mean_interval(&self, miss: f64) -> Option<(f64, f64)> {
        match self.exact() {
            Some(_) => mean(&self.in_order_of_time(), miss),
            None => {
                let batches = self.sums_of_batches();
                let is_enough = batches.len() >= interval::LEAST;
                is_enough.then(|| mean_of_batches(&batches, self.skewness_of_mean(), miss))
            }
        }
    }

    /// The interval of the standard deviation of the values, by the jackknife over batches (Quenouille 1956, Tukey
    /// 1958); `None` also where they are too many to be kept.
    pub(crate) fn deviation_interval(&self, miss: f64) -> Option<(f64, f64)> {
        deviation(&self.in_order_of_time(), miss)
    }

    /// A percentile of the values, in parts per million.
    pub(crate) fn percentile(&self, ppm: u32) -> Option<Nanos> {
        let rank = (u128::from(self.count()) * u128::from(ppm)).div_ceil(1_000_000) as u64;
        self.at_ranks([rank.max(1)]).map(|[value]| value)
    }

    /// The interval of that percentile.
    pub(crate) fn percentile_interval(&self, ppm: u32, miss: f64) -> Option<(f64, f64)> {
        let value = self.percentile(ppm)?;
        let (low, high) = percentile(&self.shares_of_batches(value), ppm, miss)?;
        let [low, high] = self.at_ranks([low, high])?;
        Some((low as f64, high as f64))
    }
}
