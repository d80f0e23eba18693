//! What the observations of pairs of runs say of the ratio behind them.
//!
//! An observation is the logarithm of B over A in one pair. What differs from run to run, and what
//! the machine did to both runs of a pair, is in their spread (Kalibera and Jones, *Rigorous
//! benchmarking in reasonable time*, ISMM 2013: repeat at the highest level that varies), so the
//! interval is Student's t over pairs. From twenty pairs on, estimate, interval and p-values come
//! from the signed ranks ([`signed_rank`]), which a few torn pairs move little; Student's interval
//! stays beside them, because signed ranks do not see what happens in few pairs only.
//!
//! [`fixed`] is right for a number of pairs that was chosen beforehand. Looking at the result to
//! decide whether to go on needs a sequential method in its place, with the same answer.

use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

use super::{is_same, signed_rank};
use crate::interval::mean;

/// What observations of pairs say. All of it is in logarithms: 0 is no difference, above 0 B takes
/// more time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Inference {
    /// The estimate.
    pub estimate: f64,
    /// Its 95 % interval.
    pub ci95: (f64, f64),
    /// The 95 % interval of the mean over pairs, in which each pair counts; `ci95` where that is it.
    pub ci95_of_mean: (f64, f64),
    /// One-sided p-value of *slower*.
    pub p_slower: f64,
    /// One-sided p-value of *faster*.
    pub p_faster: f64,
    /// Standard error of the estimate.
    pub error: f64,
    /// Degrees of freedom of Student's t by which the estimate is distributed; infinite for a
    /// normal distribution.
    pub degrees: f64,
    /// Number of observations.
    pub pairs: usize,
}

impl Inference {
    /// Whether both intervals lie within what counts as the same, which is the case where two
    /// one-sided tests at 2.5 % reject that the ratio lies outside.
    pub fn is_same(&self, same_within: f64) -> bool {
        let (low, high) = self.ci95;
        let (least, most) = self.ci95_of_mean;
        [low, high, least, most]
            .into_iter()
            .all(|end| is_same(end.exp(), same_within))
    }

    /// The quantile of the estimate in standard errors.
    pub(super) fn quantile(&self, share: f64) -> f64 {
        match self.degrees.is_finite() {
            true => students(self.degrees).inverse_cdf(share),
            false => Normal::standard().inverse_cdf(share),
        }
    }
}

/// What a number of observations says that was fixed beforehand; `None` for fewer than two, which
/// say nothing of how much pairs differ.
pub fn fixed(log_ratios: &[f64]) -> Option<Inference> {
    let by_mean = by_mean(log_ratios)?;
    Some(match log_ratios.len() < signed_rank::LEAST {
        true => by_mean,
        false => by_signed_ranks(log_ratios, by_mean.ci95),
    })
}

fn by_mean(log_ratios: &[f64]) -> Option<Inference> {
    let pairs = log_ratios.len();
    if pairs < 2 {
        return None;
    }
    let estimate = mean(log_ratios);
    let error = deviation(log_ratios) / (pairs as f64).sqrt();
    let degrees = (pairs - 1) as f64;
    let t = students(degrees);
    let half = t.inverse_cdf(0.975) * error;
    let p = |estimate: f64| match (estimate > 0.0, error > 0.0) {
        (_, true) => t.sf(estimate / error),
        (true, false) => 0.0,
        (false, false) => 1.0,
    };
    let ci95 = (estimate - half, estimate + half);
    Some(Inference {
        estimate,
        ci95,
        ci95_of_mean: ci95,
        p_slower: p(estimate),
        p_faster: p(-estimate),
        error,
        degrees,
        pairs,
    })
}

fn by_signed_ranks(log_ratios: &[f64], ci95_of_mean: (f64, f64)) -> Inference {
    let middle = signed_rank::middle(log_ratios);
    let (low, high) = middle.interval;
    Inference {
        estimate: middle.value,
        ci95: middle.interval,
        ci95_of_mean,
        p_slower: middle.p_above,
        p_faster: middle.p_below,
        error: (high - low) / (2.0 * Normal::standard().inverse_cdf(0.975)),
        degrees: f64::INFINITY,
        pairs: log_ratios.len(),
    }
}

pub(super) fn students(degrees: f64) -> StudentsT {
    let t = StudentsT::new(0.0, 1.0, degrees);
    t.unwrap_or_else(|_| unreachable!("there are two observations at least"))
}

fn deviation(values: &[f64]) -> f64 {
    let mean = mean(values);
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (squares / (values.len() - 1) as f64).sqrt()
}
