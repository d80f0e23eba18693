//! Whether slow operations come at regular times.
//!
//! What comes by chance, at a constant rate, has distances that are exponentially distributed: of
//! these, 17 % are within a quarter of their median. Of something that a clock or a counter causes
//! nearly all are. How probable so many are by chance is a binomial tail.

/// Distances below which nothing is said.
const LEAST: usize = 8;

/// How far from the median a regular distance may be.
const NEAR: f64 = 0.25;

/// Share of exponential distances that are that near: exp(-0.75 ln 2) - exp(-1.25 ln 2).
const BY_CHANCE: f64 = 0.174;

/// How improbable the regularity must be by chance.
const SURE: f64 = 1e-4;

/// Share of all distances that must be regular.
const MOST: f64 = 0.7;

/// Slow operations at regular times.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Period {
    /// Median distance, in the unit of the moments.
    pub(crate) every: f64,
    /// Distances near that.
    pub(crate) regular: u64,
    /// All distances.
    pub(crate) of: u64,
}

/// The period of moments that ascend; `None` where there is none.
pub(crate) fn period(moments: &[f64]) -> Option<Period> {
    let distances: Vec<f64> = moments.windows(2).map(|pair| pair[1] - pair[0]).collect();
    if distances.len() < LEAST {
        return None;
    }
    let mut sorted = distances.clone();
    sorted.sort_by(f64::total_cmp);
    let every = sorted[sorted.len() / 2];
    let is_near = |distance: &&f64| (*distance / every - 1.0).abs() <= NEAR;
    let regular = distances.iter().filter(is_near).count() as u64;
    let of = distances.len() as u64;
    let is_sure = at_least(regular, of) <= SURE && regular as f64 >= MOST * of as f64;
    (every > 0.0 && is_sure).then_some(Period { every, regular, of })
}

/// Chance that so many of them, or more, are near the median.
fn at_least(regular: u64, of: u64) -> f64 {
    use statrs::distribution::{Binomial, DiscreteCDF};
    match (regular.checked_sub(1), Binomial::new(BY_CHANCE, of)) {
        (Some(fewer), Ok(binomial)) => binomial.sf(fewer),
        _ => 1.0,
    }
}
