//! The interval of a mean of values that may be skewed, rare and correlated.
//!
//! The values are cut, in the order of time, into at most [`MOST`] batches of at least [`LONG`]
//! times the length of their [dependence](super::dependence). Fewer than [`LEAST`] such batches
//! give no interval. The lower end is that of Student's t with the batch means, because the mean of
//! skewed values is large where its measured error is, too. For the same reason the upper end of
//! that interval is too low: a run in which slow operations are missing by chance has both a small
//! mean and a small error. So
//!
//! - one more batch is added, as slow as the slowest (a count of `c` has the upper limit of `c + 1`
//!   events: Garwood, *Fiducial limits for the Poisson distribution*, Biometrika 28, 1936);
//! - the end moves by `(2 t^2 + 1) / 6 * g * s / k`, with the skewness `g`, standard deviation `s`
//!   and number `k` of the batch means (Johnson, *Modified t tests and confidence intervals for
//!   asymmetrical populations*, Journal of the American Statistical Association 73, 1978; with the
//!   term of the quantile: Hall, *On the removal of skewness by transformation*, Journal of the
//!   Royal Statistical Society B 54, 1992);
//! - it is at least the mean plus `ln(1 / a) / n` of a time of which none came by chance: a kind of
//!   operation that is a greater share of all is missing from `n` operations with a probability of
//!   less than `a` (the rule of three is this with 5 %).

use super::dependence::dependence;
use crate::interval::{t_at, variance};

const MOST: usize = 20;
const LEAST: usize = 8;
/// Independent values in a batch, at least.
const LONG: f64 = 3.0;

/// Fewest batches of the bins of a large set. Each bin has many values, so the correlation of bins
/// is that of a slow variation, which a long run always shows. Few long batches allow for it, as
/// the few slow waves of [`throughput`](crate::throughput) do.
const LEAST_OF_BINS: usize = 4;

/// Sum and number of values of a piece of the run.
pub(crate) type SummedCell = (f64, f64);

pub(crate) type Ends = (f64, f64);

/// An interval of the mean that lies too high with the probability `a`, and too low with the same.
///
/// Cells are in the order of time. `unseen` is the value of a kind of operation of which none came.
///
/// # Errors
/// The share of the batches needed that there are, below 1; never of bins.
pub(super) fn interval_of_mean(cells: &[SummedCell], unseen: f64, a: f64) -> Result<Ends, f64> {
    let (sum, n) = cells
        .iter()
        .fold((0.0, 0.0), |all, cell| (all.0 + cell.0, all.1 + cell.1));
    let mean = sum / n;
    let deviations: Vec<f64> = cells.iter().map(|cell| cell.0 - cell.1 * mean).collect();
    let possible = cells.len() as f64 / dependence(&deviations) / LONG;
    let are_bins = (cells.len() as f64) < n;
    if !are_bins && possible < LEAST as f64 {
        return Err(possible / LEAST as f64);
    }
    let parts = (possible as usize).clamp(LEAST_OF_BINS, MOST);
    let mut batches = batch_deviations(cells, &deviations, n, parts);
    let (low, _) = ends(&batches, a);
    let slowest = batches.iter().copied().fold(0.0, f64::max);
    batches.push(slowest);
    let (_, high) = ends(&batches, a);
    let missing = (1.0 / a).ln() / n;
    Ok((mean + low, mean + high.max(missing * unseen)))
}

/// How far the means of about `parts` batches lie from the mean of all `n` values, each as if the
/// batch were as large as the average one.
fn batch_deviations(cells: &[SummedCell], deviations: &[f64], n: f64, parts: usize) -> Vec<f64> {
    let parts = parts as f64;
    let mut batches: Vec<f64> = Vec::new();
    let (mut before, mut latest) = (0.0, -1.0);
    for (cell, deviation) in cells.iter().zip(deviations) {
        // A cell belongs to the batch in which its middle lies.
        let batch = ((before + cell.1 / 2.0) * parts / n).floor();
        match batches.last_mut() {
            Some(whole) if batch == latest => *whole += deviation * parts / n,
            _ => batches.push(deviation * parts / n),
        }
        (before, latest) = (before + cell.1, batch);
    }
    batches
}

/// The ends for batch means, which are symmetrical but for a skewness that widens the interval.
fn ends(batches: &[f64], a: f64) -> Ends {
    let k = batches.len() as f64;
    let mean = batches.iter().sum::<f64>() / k;
    let sd = variance(batches).sqrt();
    let t = t_at(1.0 - a, k - 1.0);
    let cubes: f64 = batches.iter().map(|batch| (batch - mean).powi(3)).sum();
    let skewness = if sd > 0.0 {
        cubes / k / sd.powi(3)
    } else {
        0.0
    };
    let shift = (2.0 * t * t + 1.0) / 6.0 * skewness * sd / k;
    let half = t * sd / k.sqrt();
    (mean - half + shift.min(0.0), mean + half + shift.max(0.0))
}
