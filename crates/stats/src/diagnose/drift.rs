//! Trend test: does a time grow over the run?
//!
//! The test of Mann (1945) and Kendall (1975) for a trend: of all pairs of parts, how many more
//! have risen than fallen. It requires no distribution, and a few slow parts have little effect.
//! Neighbours that are alike make trends by chance, so its variance is that of as many independent
//! parts as the correlation of neighbours leaves, after the trend has been removed (Yue and Wang,
//! *The Mann-Kendall test modified by effective sample size*, Water Resources Management 18, 2004).
//! How much it grows is the median of all slopes (Theil 1950, Sen 1968).

use statrs::distribution::{ContinuousCDF, Normal};

use crate::interval::mean;

/// Parts into which the operations are merged.
pub(crate) const PARTS: usize = 24;

/// Parts below which there is no result.
const LEAST_PARTS: usize = 10;

/// How much the last part is above the first, as a share of the first, by the trend through all of
/// them; `None` where such a trend is at least as probable as `sure` without any growth. Parts are
/// means of logarithms in the order of time.
pub(crate) fn growth(parts: &[f64], sure: f64) -> Option<f64> {
    if parts.len() < LEAST_PARTS {
        return None;
    }
    let (mut risen, mut slopes) = (0.0, Vec::new());
    for (i, early) in parts.iter().enumerate() {
        for (distance, late) in parts[i + 1..].iter().enumerate() {
            let rise = late - early;
            risen += if rise == 0.0 { 0.0 } else { rise.signum() };
            slopes.push(rise / (distance + 1) as f64);
        }
    }
    slopes.sort_by(f64::total_cmp);
    let slope = slopes[slopes.len() / 2];
    let n = parts.len() as f64;
    let independent = n * (n - 1.0) * (2.0 * n + 5.0) / 18.0;
    let alike = neighbours(parts, slope).clamp(0.0, 0.9);
    let variance = independent * (1.0 + alike) / (1.0 - alike);
    let p = Normal::standard().sf((risen - 1.0) / variance.sqrt());
    (p < sure).then(|| (slope * (n - 1.0)).exp_m1())
}

/// Correlation of neighbours, without the trend.
fn neighbours(parts: &[f64], slope: f64) -> f64 {
    let flat: Vec<f64> = parts
        .iter()
        .zip(0..)
        .map(|(part, index)| part - slope * f64::from(index))
        .collect();
    let mean = mean(&flat);
    let squares: f64 = flat.iter().map(|value| (value - mean).powi(2)).sum();
    let products = flat
        .windows(2)
        .map(|pair| (pair[0] - mean) * (pair[1] - mean));
    if squares > 0.0 {
        products.sum::<f64>() / squares
    } else {
        0.0
    }
}
