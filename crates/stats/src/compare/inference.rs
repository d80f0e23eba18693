//! What the observations of pairs of runs say of the ratio behind them.
//!
//! An observation is the logarithm of B over A in one pair. What differs from run to run, and what
//! the machine did to both runs of a pair, is in their spread (Kalibera and Jones, *Rigorous
//! benchmarking in reasonable time*, ISMM 2013: repeat at the highest level that varies), so the
//! interval is Student's t over pairs. From twenty pairs on, estimate, interval and p-values come
//! from the signed ranks ([`signed_rank`]), which a few torn pairs move little; Student's interval
//! stays beside them, because signed ranks do not see what happens in few pairs only.
//!
//! A comparison within a budget of time looks at the result after every pair, and leaves a row that is
//! decided alone. So the accepted rate of errors is divided: [`EARLY`] of it for what is found on the
//! way, by a sequential test that may be looked at as often as one likes ([`crate::sequential`]), and
//! the rest for one look at all pairs, when the budget is spent or their number was fixed beforehand.
//! A row is decided on the way only where the sequential test alone suffices, so that the two add up
//! to what is accepted (union bound). What is found follows from the observations and their order, and
//! is the same when they are read again.

use statrs::distribution::{ContinuousCDF, Normal};

use super::{is_same, signed_rank};
use crate::interval::{mean, students, t_at, variance};
use crate::sequential::Sequence;

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
    /// What is known on the way, whether or not there will be more pairs.
    pub early: Early,
}

/// What a sequence of observations says after any of them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Early {
    /// One-sided p-value of *slower*, with which errors stay within [`EARLY`] of what is accepted.
    pub p_slower: f64,
    /// One-sided p-value of *faster*.
    pub p_faster: f64,
    /// The interval that contains the true value at all times, but for [`EARLY`] of 5 %.
    pub interval: (f64, f64),
}

impl Early {
    /// Nothing is known.
    const NOTHING: Early = Early {
        p_slower: 1.0,
        p_faster: 1.0,
        interval: (f64::NEG_INFINITY, f64::INFINITY),
    };
}

/// The share of the accepted rate of errors that is for what is found before all pairs are there.
pub const EARLY: f64 = 0.2;

/// The accepted rate of errors of an interval.
const OF_INTERVALS: f64 = 0.05;

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
        if self.degrees.is_finite() {
            t_at(share, self.degrees)
        } else {
            Normal::standard().inverse_cdf(share)
        }
    }
}

/// What observations in the order of time say; `None` for fewer than two, which say nothing of how
/// much pairs differ.
pub fn infer(log_ratios: &[f64]) -> Option<Inference> {
    let (early, was_sure) = early(log_ratios);
    let late = at_the_end(log_ratios, 1.0 - (1.0 - EARLY) * OF_INTERVALS)?;
    let both = |late: f64, early: f64| (late / (1.0 - EARLY)).min(early);
    // Where it may have ended before, the other interval would promise too much.
    let interval = |late| if was_sure { early.interval } else { late };
    Some(Inference {
        ci95: interval(late.ci95),
        ci95_of_mean: interval(late.ci95_of_mean),
        p_slower: both(late.p_slower, early.p_slower),
        p_faster: both(late.p_faster, early.p_faster),
        early,
        ..late
    })
}

/// What is known after any observation, and whether that was ever enough to be sure of a difference.
fn early(log_ratios: &[f64]) -> (Early, bool) {
    let mut sequence = Sequence::default();
    let mut least = (1.0_f64, 1.0_f64);
    for observation in log_ratios {
        sequence.add(*observation);
        let one_sided = sequence.p() / 2.0 / EARLY;
        if sequence.mean() > 0.0 {
            least.0 = least.0.min(one_sided)
        } else {
            least.1 = least.1.min(one_sided)
        }
    }
    let half = sequence.half_width(EARLY * OF_INTERVALS);
    let early = Early {
        p_slower: least.0,
        p_faster: least.1,
        interval: (sequence.mean() - half, sequence.mean() + half),
    };
    (early, 2.0 * least.0.min(least.1) < OF_INTERVALS)
}

/// What a number of observations says that was fixed beforehand, with intervals of that confidence.
fn at_the_end(log_ratios: &[f64], confidence: f64) -> Option<Inference> {
    let by_mean = by_mean(log_ratios, confidence)?;
    Some(if log_ratios.len() < signed_rank::LEAST {
        by_mean
    } else {
        by_signed_ranks(log_ratios, confidence, by_mean.ci95)
    })
}

fn by_mean(log_ratios: &[f64], confidence: f64) -> Option<Inference> {
    let pairs = log_ratios.len();
    if pairs < 2 {
        return None;
    }
    let estimate = mean(log_ratios);
    let error = (variance(log_ratios) / pairs as f64).sqrt();
    let degrees = (pairs - 1) as f64;
    let t = students(degrees)?;
    let half = t.inverse_cdf(f64::midpoint(1.0, confidence)) * error;
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
        early: Early::NOTHING,
    })
}

fn by_signed_ranks(log_ratios: &[f64], confidence: f64, ci95_of_mean: (f64, f64)) -> Inference {
    let middle = signed_rank::middle(log_ratios, confidence);
    let (low, high) = middle.interval;
    let quantile = Normal::standard().inverse_cdf(f64::midpoint(1.0, confidence));
    Inference {
        estimate: middle.value,
        ci95: middle.interval,
        ci95_of_mean,
        p_slower: middle.p_above,
        p_faster: middle.p_below,
        error: (high - low) / (2.0 * quantile),
        degrees: f64::INFINITY,
        pairs: log_ratios.len(),
        early: Early::NOTHING,
    }
}
