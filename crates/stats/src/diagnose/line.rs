//! A line through times of several sizes: the cost of a request, and that of each member of it.
//!
//! Weighted least squares, each time by its standard error, which is [`LEAST_ERROR`] at the
//! least. That is an assumption, and the points themselves show how good it is. Both are combined
//! as Smyth does (*Linear models and empirical Bayes methods*, Statistical Applications in
//! Genetics and Molecular Biology 3(1), 2004, "moderated t"): the assumption counts as much as
//! [`ASSUMED`] observations of the misfit,
//!
//! ```text
//!     wider = (ASSUMED + sum of squared misfits, in standard errors) / (ASSUMED + points - 2)
//! ```
//!
//! and the interval is Student's with `ASSUMED + points - 2` degrees of freedom. It is one rule for
//! all points: the width follows the misfit without a jump, so that a finding near its threshold
//! does not come and go with it.

use crate::interval::t_quantile;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct LinePoint {
    /// Members.
    pub(crate) size: f64,
    pub(crate) mean: f64,
    pub(crate) error: f64,
}

/// `time = base + slope * size`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct FittedLine {
    /// Time at size 0, and the half of its 95 % interval.
    pub(crate) base: (f64, f64),
    /// Time for one more, and the half of its 95 % interval.
    pub(crate) slope: (f64, f64),
}

/// The smallest standard error that is assumed, as a share of a time: runs differ by that much,
/// which a single run does not show.
const LEAST_ERROR: f64 = 0.03;

/// Observations that [`LEAST_ERROR`] is worth. With fewer, two sizes too many widen the interval
/// several times by chance; with more, points far from a line do not widen it enough.
const ASSUMED: f64 = 4.0;

/// The line through at least three points of different sizes.
pub(crate) fn line(points: &[LinePoint]) -> Option<FittedLine> {
    if points.len() < 3 {
        return None;
    }
    let weighted = points.iter().map(|point| {
        let error = point.error.max(point.mean * LEAST_ERROR).max(1.0);
        (1.0 / (error * error), point.size, point.mean)
    });
    let [mut w, mut x, mut y, mut xx, mut xy] = [0.0; 5];
    for (weight, size, mean) in weighted.clone() {
        w += weight;
        x += weight * size;
        y += weight * mean;
        xx += weight * size * size;
        xy += weight * size * mean;
    }
    let determinant = w * xx - x * x;
    if determinant <= 0.0 {
        return None;
    }
    let slope = (w * xy - x * y) / determinant;
    let base = (xx * y - x * xy) / determinant;
    let misfit: f64 = weighted
        .map(|(weight, size, mean)| weight * (mean - base - slope * size).powi(2))
        .sum();
    let degrees = ASSUMED + (points.len() - 2) as f64;
    let wider = (ASSUMED + misfit) / degrees;
    let half = |variance: f64| t_quantile(degrees) * (variance * wider / determinant).sqrt();
    Some(FittedLine {
        base: (base, half(xx)),
        slope: (slope, half(w)),
    })
}
