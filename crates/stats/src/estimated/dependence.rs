//! How far neighbours in time depend on each other.
//!
//! With autocorrelations `r(k)` the variance of a mean of `n` values is that of `n / tau`
//! independent ones, `tau = 1 + 2 (r(1) + r(2) + ...)`. Measured autocorrelations are noise from
//! some lag on, so the sum ends there: sums of two neighbours, `r(2 m) + r(2 m + 1)`, are positive
//! and fall, and the first that is not positive is noise (the initial monotone sequence: Geyer,
//! *Practical Markov chain Monte Carlo*, Statistical Science 7(4), 1992). With `m` lags the sum is
//! known within a share of `sqrt(2 (2 m + 1) / n)` (Madras and Sokal, *The pivot algorithm*,
//! Journal of Statistical Physics 50, 1988), and twice that is added to the part beyond 1: a run
//! that shows too little dependence would give a wrong verdict.

/// The longest lag, as a share of the series.
const LAGS: usize = 8;
/// The longest lag of any series. With more dependence than that, `tau` is a lower bound.
const MOST_LAGS: usize = 1024;

/// Standard errors of the sum that are added to it.
const ERRORS: f64 = 2.0;

/// Values that one independent value is worth, at least 1, from deviations in the order of time.
pub(crate) fn dependence(deviations: &[f64]) -> f64 {
    let lagged = |lag: usize| -> f64 {
        let later = deviations.iter().skip(lag);
        deviations.iter().zip(later).map(|(a, b)| a * b).sum()
    };
    let whole = lagged(0);
    if whole <= 0.0 {
        return 1.0;
    }
    let (mut sum, mut before, mut lags) = (0.0, f64::INFINITY, 0);
    for lag in (0..(deviations.len() / LAGS).min(MOST_LAGS)).step_by(2) {
        let pair = if lag == 0 { whole } else { lagged(lag) } + lagged(lag + 1);
        if pair <= 0.0 {
            break;
        }
        before = pair.min(before);
        sum += before;
        lags = lag + 1;
    }
    let beyond_one = (2.0 * sum / whole - 2.0).max(0.0);
    let error = (2.0 * (2.0 * lags as f64 + 1.0) / deviations.len() as f64).sqrt();
    1.0 + beyond_one * (1.0 + ERRORS * error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_and_alternating_ones_depend_on_nothing() {
        assert_eq!(dependence(&[]), 1.0);
        assert_eq!(dependence(&[0.0; 50]), 1.0);
        let alternating: Vec<f64> = (0..100).map(|n| f64::from(n % 2) - 0.5).collect();
        assert_eq!(dependence(&alternating), 1.0);
    }

    #[test]
    fn blocks_count_once() {
        // Blocks of 20 equal values, whose signs follow no pattern.
        let signs = (0..500_u32).map(|n| {
            if n.wrapping_mul(2_654_435_761) >> 31 == 0 {
                1.0
            } else {
                -1.0
            }
        });
        let blocks: Vec<f64> = signs.flat_map(|sign| [sign; 20]).collect();
        let found = dependence(&blocks);
        assert!((12.0..40.0).contains(&found), "{found}");
    }
}
