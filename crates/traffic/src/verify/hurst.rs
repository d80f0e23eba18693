//! The Hurst parameter by wavelets: Abry and Veitch (1998), IEEE Transactions on Information Theory
//! 44, 2-15; the correction of the logarithm and the weights are those of Veitch and Abry (1999),
//! the same, 45, 878-897.
//!
//! For a series with long-range dependence, the mean square of the wavelet coefficients of octave j
//! grows as 2^(j(2H - 1)). H is the slope of a weighted regression of its logarithm on j.

use statrs::function::gamma::{digamma, gamma_ur};

/// Orthonormal wavelets of Daubechies, by the number of their vanishing moments. With N of them, a
/// polynomial trend of a degree below N has no influence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wavelet {
    /// One: the wavelet of Haar.
    Haar,
    /// Two.
    Daubechies2,
    /// Three.
    Daubechies3,
}

impl Wavelet {
    fn low_pass(self) -> &'static [f64] {
        match self {
            Wavelet::Haar => &[std::f64::consts::FRAC_1_SQRT_2; 2],
            Wavelet::Daubechies2 => &[
                0.482_962_913_144_534_1,
                0.836_516_303_737_807_7,
                0.224_143_868_042_013_4,
                -0.129_409_522_551_260_37,
            ],
            Wavelet::Daubechies3 => &[
                0.332_670_552_950_082_6,
                0.806_891_509_311_092_5,
                0.459_877_502_118_491_5,
                -0.135_011_020_010_254_58,
                -0.085_441_273_882_026_66,
                0.035_226_291_885_709_53,
            ],
        }
    }
}

/// One octave of the logscale diagram.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LogscalePoint {
    /// Octave: its coefficients compare stretches of 2^octave numbers.
    pub octave: u32,
    /// Coefficients that do not reach over an end of the series.
    pub coefficients: usize,
    /// Logarithm to base 2 of the mean of their squares, corrected for the bias of the logarithm.
    pub log2_energy: f64,
    /// Its standard deviation.
    pub deviation: f64,
}

/// A Hurst parameter with its interval.
#[derive(Debug, Clone, PartialEq)]
pub struct HurstEstimate {
    /// The estimate: 0.5 for a series without long-range dependence.
    pub hurst: f64,
    /// 95 % confidence interval. It assumes that coefficients are independent and normal, which is
    /// nearly so for Gaussian series; of other series, as rates with few sources, it is too narrow.
    pub interval: (f64, f64),
    /// Probability of points that far or farther from a line if they are on one (chi-square): the
    /// range of octaves is wrong where it is tiny.
    pub fit_p_value: f64,
    /// The octaves that were used.
    pub points: Vec<LogscalePoint>,
}

/// Fewest coefficients of an octave.
const LEAST_COEFFICIENTS: usize = 8;
/// 97.5 % quantile of the normal distribution.
const Z: f64 = 1.959_963_984_540_054;

/// Estimates the Hurst parameter of a series of rates or counts in equal bins, from `first_octave`
/// (1 is the finest; 3 skips those in which bins are not yet like the limit) to the last that has
/// at least 8 coefficients. None if there are fewer than three octaves, or an octave without
/// variation.
pub fn hurst(series: &[f64], wavelet: Wavelet, first_octave: u32) -> Option<HurstEstimate> {
    let mut points = logscale(series, wavelet);
    points.retain(|point| point.octave >= first_octave);
    if points.len() < 3 || points.iter().any(|point| !point.log2_energy.is_finite()) {
        return None;
    }
    let weights = || points.iter().map(|point| point.deviation.powi(-2));
    let total: f64 = weights().sum();
    let mean = |figure: fn(&LogscalePoint) -> f64| {
        let weighted = points.iter().zip(weights());
        let sum: f64 = weighted.map(|(point, weight)| figure(point) * weight).sum();
        sum / total
    };
    let x = mean(|point| f64::from(point.octave));
    let y = mean(|point| point.log2_energy);
    let (mut across, mut along) = (0.0, 0.0);
    for (point, weight) in points.iter().zip(weights()) {
        let off = f64::from(point.octave) - x;
        across += weight * off * (point.log2_energy - y);
        along += weight * off * off;
    }
    let slope = across / along;
    let residual = |(point, weight): (&LogscalePoint, f64)| {
        let off = point.log2_energy - y - slope * (f64::from(point.octave) - x);
        weight * off * off
    };
    let chi_square: f64 = points.iter().zip(weights()).map(residual).sum();
    let freedom = (points.len() - 2) as f64;
    let hurst = f64::midpoint(slope, 1.0);
    let margin = 0.5 * Z / along.sqrt();
    Some(HurstEstimate {
        hurst,
        interval: (hurst - margin, hurst + margin),
        fit_p_value: gamma_ur(freedom / 2.0, (chi_square / 2.0).max(f64::MIN_POSITIVE)),
        points,
    })
}

/// The logscale diagram.
fn logscale(series: &[f64], wavelet: Wavelet) -> Vec<LogscalePoint> {
    let low = wavelet.low_pass();
    let length = low.len();
    // The mirrored filter with alternating signs.
    let mut high: Vec<f64> = low.iter().rev().copied().collect();
    for tap in high.iter_mut().skip(1).step_by(2) {
        *tap = -*tap;
    }
    let mut approximation = series.to_vec();
    let mut points = Vec::new();
    for octave in 1.. {
        if approximation.len() < length {
            break;
        }
        // Filters that would reach over the end are left out.
        let windows = || approximation.windows(length).step_by(2);
        let product = |filter: &[f64], window: &[f64]| -> f64 {
            let pairs = filter.iter().zip(window);
            pairs.map(|(tap, value)| tap * value).sum()
        };
        let coefficients = windows().len();
        if coefficients < LEAST_COEFFICIENTS {
            break;
        }
        let energy: f64 = windows().map(|window| product(&high, window).powi(2)).sum();
        let half = coefficients as f64 / 2.0;
        let ln_2 = std::f64::consts::LN_2;
        points.push(LogscalePoint {
            octave,
            coefficients,
            log2_energy: (energy / coefficients as f64).log2() - digamma(half) / ln_2 + half.log2(),
            deviation: trigamma(half).sqrt() / ln_2,
        });
        approximation = windows().map(|window| product(low, window)).collect();
    }
    points
}

/// The second derivative of the logarithm of the gamma function: recurrence to 10, then the
/// asymptotic series (Abramowitz and Stegun 6.4.12).
fn trigamma(mut x: f64) -> f64 {
    let mut sum = 0.0;
    while x < 10.0 {
        sum += 1.0 / (x * x);
        x += 1.0;
    }
    let square = 1.0 / (x * x);
    let series = 1.0 / 6.0 - square * (1.0 / 30.0 - square * (1.0 / 42.0 - square / 30.0));
    sum + 1.0 / x + square / 2.0 + series * square / x
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trigamma_has_its_known_values() {
        let pi = std::f64::consts::PI;
        assert!((trigamma(1.0) - pi * pi / 6.0).abs() < 1e-10);
        assert!((trigamma(0.5) - pi * pi / 2.0).abs() < 1e-10);
    }

    #[test]
    fn filters_are_orthonormal_and_have_their_vanishing_moments() {
        for (wavelet, moments) in [
            (Wavelet::Haar, 1),
            (Wavelet::Daubechies2, 2),
            (Wavelet::Daubechies3, 3),
        ] {
            let low = wavelet.low_pass();
            let norm: f64 = low.iter().map(|tap| tap * tap).sum();
            assert!((norm - 1.0).abs() < 1e-12, "{wavelet:?}");
            // A polynomial of this degree has no details, and one of the next has.
            for degree in 0..=moments {
                let series: Vec<f64> = (0..64).map(|x| f64::from(x).powi(degree)).collect();
                let energy = logscale(&series, wavelet)[0].log2_energy;
                let has_none = energy < -40.0;
                assert_eq!(has_none, degree < moments, "{wavelet:?} {degree} {energy}");
            }
        }
    }

    #[test]
    fn too_short_or_constant_series_have_no_estimate() {
        assert_eq!(hurst(&[], Wavelet::Haar, 1), None);
        assert_eq!(hurst(&[1.0, 2.0, 3.0], Wavelet::Haar, 1), None);
        assert_eq!(hurst(&[4.0; 4096], Wavelet::Haar, 1), None);
    }
}
