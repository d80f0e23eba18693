//! A line through times of several sizes: what a request costs, and what each member of it.
//!
//! Weighted least squares, each time by its standard error. Where the points lie farther from the line
//! than these errors explain, the errors are taken to be that much greater (Bevington and Robinson,
//! *Data Reduction and Error Analysis*, chapter 6); they then come from the points alone, and the
//! interval is Student's with what these leave.

use crate::interval::t_quantile;

/// What one size takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Point {
    /// Members.
    pub(crate) size: f64,
    /// Mean time.
    pub(crate) mean: f64,
    /// Standard error of it.
    pub(crate) error: f64,
}

/// `time = base + slope * size`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Line {
    /// Time at size 0, and the half of its 95 % interval.
    pub(crate) base: (f64, f64),
    /// Time for one more, and the half of its 95 % interval.
    pub(crate) slope: (f64, f64),
}

/// The share of a time below which no standard error is believed: runs differ by that much, and a
/// run knows nothing of it.
const LEAST_ERROR: f64 = 0.03;

/// The line through at least three points of different sizes.
pub(crate) fn line(points: &[Point]) -> Option<Line> {
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
    let free = (points.len() - 2) as f64;
    let wider = misfit / free;
    let (wider, quantile) = match wider > 1.0 {
        true => (wider, t_quantile(free)),
        false => (1.0, 1.96),
    };
    let half = |variance: f64| quantile * (variance * wider / determinant).sqrt();
    Some(Line {
        base: (base, half(xx)),
        slope: (slope, half(w)),
    })
}
