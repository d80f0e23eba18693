//! Test for a period: do slow operations come at regular times?
//!
//! Random events, at a constant rate, are apart by times that are exponentially distributed: of
//! these, 17 % are within a quarter of their median. Of events that a clock or a counter causes
//! nearly all are. How probable so many are by chance is a binomial tail. Slow operations are apart
//! from the end of one to the beginning of the next: they last, and in a closed loop none begins
//! meanwhile, so that their beginnings keep a distance without any clock.

use crate::interval::median;

/// Times between them below which there is no result.
const LEAST: usize = 8;

/// How far from the median a regular one may be.
const NEAR: f64 = 0.25;

/// Share of exponential times that are that near: exp(-0.75 ln 2) - exp(-1.25 ln 2).
const BY_CHANCE: f64 = 0.174;

/// How improbable the regularity must be by chance.
const SURE: f64 = 1e-4;

/// Share of all that must be regular.
const MOST: f64 = 0.7;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Period {
    /// Median from beginning to beginning, in the unit of the moments.
    pub(crate) every: f64,
    /// Median from end to beginning.
    pub(crate) apart: f64,
    /// How many are near that.
    pub(crate) regular: u64,
    /// Of how many.
    pub(crate) of: u64,
}

/// The period of spells, each with its beginning and its end, in order; `None` where there is none.
pub(crate) fn period(spells: &[(f64, f64)]) -> Option<Period> {
    let between = |from: fn(&(f64, f64)) -> f64| -> Vec<f64> {
        let pairs = spells.windows(2);
        pairs.map(|pair| pair[1].0 - from(&pair[0])).collect()
    };
    let gaps = between(|spell| spell.1);
    if gaps.len() < LEAST {
        return None;
    }
    let apart = median(&gaps)?;
    let is_near = |gap: &&f64| (*gap / apart - 1.0).abs() <= NEAR;
    let regular = gaps.iter().filter(is_near).count() as u64;
    let of = gaps.len() as u64;
    let is_sure = at_least(regular, of) <= SURE && regular as f64 >= MOST * of as f64;
    let every = median(&between(|spell| spell.0))?;
    (apart > 0.0 && is_sure).then_some(Period {
        every,
        apart,
        regular,
        of,
    })
}

/// Chance that `regular` of them, or more, are near the median.
fn at_least(regular: u64, of: u64) -> f64 {
    use statrs::distribution::{Binomial, DiscreteCDF};
    match (regular.checked_sub(1), Binomial::new(BY_CHANCE, of)) {
        (Some(fewer), Ok(binomial)) => binomial.sf(fewer),
        _ => 1.0,
    }
}
