//! Estimates from a set of times.

use constraint::WhyUnknown;

use super::dependence::dependence;
use super::mean::{Ends, SummedCell, interval_of_mean};
use super::share::{Counted, effective_number, places_of_percentile};
use crate::times::Times;

/// Fewest times for an interval of their mean or standard deviation.
const NEEDED: u64 = 30;

const MILLION: u64 = 1_000_000;

/// How many times the median a kind of operation takes of which none came by chance, ...
const SLOWER: f64 = 50.0;
/// ... or how many times the slowest operation.
const SLOWER_THAN_SLOWEST: f64 = 2.0;

/// Independent times below which there is no percentile: a dependence on neighbours cannot be
/// distinguished from a state of the whole run.
const INDEPENDENT: f64 = 10.0;

/// With so great a share of all squared deviations from the mean, one time decides about the
/// standard deviation, and there is no upper end.
const DOMINATES: f64 = 0.2;

/// Half a bucket of the histogram of a large set, as a share of the value.
const HALF_A_BUCKET: f64 = 0.0005;

pub(crate) type ValueWithEnds = (f64, Ends);

/// The mean in nanoseconds. An end lies on the wrong side with the probability `a`.
pub(crate) fn mean(times: &Times, a: f64) -> Result<ValueWithEnds, WhyUnknown> {
    let n = enough(times)?;
    let ends = interval_of_mean(&cells_of(times), unseen(times)?, a);
    let (low, high) = ends.map_err(|part| too_few(n, part))?;
    Ok((times.sum() as f64 / n as f64, (low.max(0.0), high)))
}

/// The standard deviation in nanoseconds: the root of the mean of the squared deviations.
pub(crate) fn sd(times: &Times, a: f64) -> Result<ValueWithEnds, WhyUnknown> {
    let n = enough(times)?;
    let mean = times.sum() as f64 / n as f64;
    let cells: Vec<SummedCell> = times.squared_deviations(mean);
    let squares: f64 = cells.iter().map(|cell| cell.0).sum();
    let variance = squares / (n - 1) as f64;
    let (low, high) =
        interval_of_mean(&cells, unseen(times)?.powi(2), a).map_err(|part| too_few(n, part))?;
    // Deviations from the mean of the run exceed those from the true mean by its squared error.
    let sums = cells_of(times);
    let (least_mean, _) = interval_of_mean(&sums, 0.0, a).map_err(|part| too_few(n, part))?;
    let low = low - (mean - least_mean).powi(2);
    let (min, max) = times.ends().ok_or(WhyUnknown::NoOperation)?;
    let greatest = (max as f64 - mean).max(mean - min as f64).powi(2);
    let root = |variance: f64| variance.max(0.0).sqrt();
    let sd = root(variance);
    let high = if greatest > DOMINATES * squares {
        f64::INFINITY
    } else {
        root(high).max(sd)
    };
    Ok((sd, (root(low).min(sd), high)))
}

/// The percentile of `ppm` parts per million, in nanoseconds.
pub(crate) fn percentile(times: &Times, ppm: u32, a: f64) -> Result<ValueWithEnds, WhyUnknown> {
    let n = times.count();
    let value = percentile_of(times, ppm)?;
    let cells: Vec<Counted> = times.counted_to(value as u64);
    // Beyond a rare value there is little to see of the dependence that all values have.
    let tau = dependence(&times.ranks_by_time());
    let independent = effective_number(&cells, tau, a);
    if independent < INDEPENDENT {
        return Err(too_few(n, independent / INDEPENDENT));
    }
    let q = f64::from(ppm) / MILLION as f64;
    let (low, high) = places_of_percentile(q, independent, a);
    let all = n as f64;
    let rank_at = |share: Option<f64>, round: fn(f64) -> f64| share.map(|share| round(share * all));
    // A share of 1 may have become a little more or less by the conversion to logarithms and back.
    let low = rank_at(low, |at| (at + 1e-6).floor()).filter(|at| *at >= 1.0);
    let high = rank_at(high, |at| (at - 1e-6).ceil()).filter(|at| *at <= all);
    let known = times.at_ranks([low.unwrap_or(1.0) as u64, high.unwrap_or(all) as u64]);
    let [at_low, at_high] = known.ok_or(WhyUnknown::NoOperation)?;
    let slack = if times.exact().is_some() {
        0.0
    } else {
        HALF_A_BUCKET
    };
    let low = low.map_or(0.0, |_| at_low as f64 * (1.0 - slack));
    let high = high.map_or(f64::INFINITY, |_| at_high as f64 * (1.0 + slack));
    Ok((value, (low.min(value), high.max(value))))
}

/// The time of a kind of operation of which none came by chance.
fn unseen(times: &Times) -> Result<f64, WhyUnknown> {
    let (_, max) = times.ends().ok_or(WhyUnknown::NoOperation)?;
    let median = percentile_of(times, MILLION as u32 / 2)?;
    Ok((SLOWER * median).max(SLOWER_THAN_SLOWEST * max as f64))
}

pub(crate) fn percentile_of(times: &Times, ppm: u32) -> Result<f64, WhyUnknown> {
    let rank = (u128::from(times.count()) * u128::from(ppm)).div_ceil(u128::from(MILLION));
    let [value] = times
        .at_ranks([(rank as u64).max(1)])
        .ok_or(WhyUnknown::NoOperation)?;
    Ok(value as f64)
}

/// The number of times, if there are enough for the spread of batches.
fn enough(times: &Times) -> Result<u64, WhyUnknown> {
    match times.count() {
        0 => Err(WhyUnknown::NoOperation),
        samples if samples < NEEDED => Err(WhyUnknown::TooFew {
            samples,
            needed: NEEDED,
        }),
        samples => Ok(samples),
    }
}

/// The error for `samples` that are `part` of those that are needed.
fn too_few(samples: u64, part: f64) -> WhyUnknown {
    let needed = (samples as f64 / part.clamp(1e-6, 1.0)).ceil() as u64;
    WhyUnknown::TooFew {
        samples,
        needed: needed.max(samples + 1),
    }
}

fn cells_of(times: &Times) -> Vec<SummedCell> {
    let sums = times.sums();
    sums.iter()
        .map(|sum| (sum.sum as f64, sum.n as f64))
        .collect()
}
