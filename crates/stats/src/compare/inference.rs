//! Inference from observations of pairs of runs: the ratio behind them.
//!
//! An observation is the logarithm of B over A in one pair. Differences from run to run, and
//! effects of the machine on both runs of a pair, are in their spread (Kalibera and Jones,
//! *Rigorous benchmarking in reasonable time*, ISMM 2013: repeat at the highest level that varies),
//! so the interval is Student's t over pairs. From twenty pairs on, estimate, interval and p-values
//! come from the signed ranks ([`signed_rank`]), which a few torn pairs move little; Student's
//! interval stays beside them, because signed ranks do not show an effect in few pairs only.
//!
//! A comparison within a budget of time examines the result after every pair, and stops measuring a
//! row that is decided. So the accepted rate of errors is divided: [`EARLY`] of it for decisions on
//! the way, by a sequential test that permits any number of looks ([`crate::sequential`]), and the
//! rest for one look at all pairs, when the budget is spent or their number was fixed beforehand. A
//! row is decided on the way only where the sequential test alone suffices, so that the two add up
//! to what is accepted (union bound). The result follows from the observations and their order, and
//! is the same when they are read again.

use statrs::distribution::{ContinuousCDF, Normal};

use super::{is_same, signed_rank};
use crate::interval::{mean, students, t_at, variance};
use crate::sequential::Sequence;

/// Inference from observations of pairs. Values are logarithms: above 0, B takes more time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Inference {
    /// The estimate.
    pub estimate: f64,
    /// Its 95 % interval.
    pub ci95: (f64, f64),
    /// The 95 % interval of the mean in which each pair counts; `ci95` where that is it.
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
    /// Result of the looks before the last pair, valid with and without further pairs.
    pub early: Early,
}

/// Result of all looks at a sequence of observations, one after each of them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Early {
    /// One-sided p-value of *slower*, with which errors stay within [`EARLY`] of what is accepted:
    /// the least of all looks.
    pub p_slower: f64,
    /// One-sided p-value of *faster*.
    pub p_faster: f64,
    /// Intersection of the intervals of all looks: each of them contains the true value, but for
    /// [`EARLY`] of 5 % for all of them. So it never excludes less than the p-values.
    pub interval: (f64, f64),
}

impl Early {
    /// No value lies within the intervals of all looks.
    fn is_contradictory(&self) -> bool {
        self.interval.0 > self.interval.1
    }

    const NOTHING: Early = Early {
        p_slower: 1.0,
        p_faster: 1.0,
        interval: (f64::NEG_INFINITY, f64::INFINITY),
    };
}

/// The share of the accepted rate of errors that is for decisions before all pairs are there.
pub const EARLY: f64 = 0.2;

/// The accepted rate of errors of an interval.
const OF_INTERVALS: f64 = 0.05;

impl Inference {
    /// True if both intervals lie within the range that counts as the same, which is the case where
    /// two one-sided tests at 2.5 % reject that the ratio lies outside.
    pub fn is_same(&self, same_within: f64) -> bool {
        let (low, high) = self.ci95;
        let (least, most) = self.ci95_of_mean;
        [low, high, least, most]
            .into_iter()
            .all(|end| is_same(end.exp(), same_within))
    }

    /// Looks that exclude each other are about different ratios: the interval reaches over all of
    /// them, and where no difference is among them, nothing is significant.
    fn as_contradicted(self) -> Inference {
        let (low, high) = self.early.interval;
        let over = |(least, most): (f64, f64)| (least.min(low).min(high), most.max(low).max(high));
        let (ci95, of_mean) = (over(self.ci95), over(self.ci95_of_mean));
        let of_all = (ci95.0.min(of_mean.0), ci95.1.max(of_mean.1));
        if of_all.0 > 0.0 || of_all.1 < 0.0 {
            return Inference {
                ci95,
                ci95_of_mean: of_mean,
                early: Early {
                    interval: of_all,
                    ..self.early
                },
                ..self
            };
        }
        Inference {
            ci95: of_all,
            ci95_of_mean: of_all,
            p_slower: 1.0,
            p_faster: 1.0,
            early: Early::NOTHING,
            ..self
        }
    }

    /// The same with what was known after any look. The last observations may lie far from those
    /// that decided, so the estimate is the value of the interval that is nearest to theirs.
    pub(super) fn as_known_early(self) -> Inference {
        let (low, high) = self.early.interval;
        Inference {
            estimate: self.estimate.clamp(low, high),
            ci95: (low, high),
            ci95_of_mean: (low, high),
            ..self
        }
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

/// Inference from observations in the order of time; `None` for fewer than two, which do not show
/// how much pairs differ.
pub fn infer(log_ratios: &[f64]) -> Option<Inference> {
    let early = early(log_ratios);
    let late = at_the_end(log_ratios, 1.0 - (1.0 - EARLY) * OF_INTERVALS)?;
    let both = |late: f64, early: f64| (late / (1.0 - EARLY)).min(early);
    let inference = Inference {
        p_slower: both(late.p_slower, early.p_slower),
        p_faster: both(late.p_faster, early.p_faster),
        early,
        ..late
    };
    let is_sure = |p: f64| 2.0 * p < OF_INTERVALS;
    Some(
        if early.is_contradictory() || is_sure(inference.p_slower.max(inference.p_faster)) {
            inference.as_contradicted()
        } else if is_sure(early.p_slower.min(early.p_faster)) {
            inference.as_known_early()
        } else {
            inference
        },
    )
}

/// Combines the looks after each observation.
fn early(log_ratios: &[f64]) -> Early {
    let mut sequence = Sequence::default();
    let mut known = Early::NOTHING;
    for observation in log_ratios {
        sequence.add(*observation);
        let one_sided = sequence.p() / 2.0 / EARLY;
        let p = if sequence.mean() > 0.0 {
            &mut known.p_slower
        } else {
            &mut known.p_faster
        };
        *p = p.min(one_sided);
        let half = sequence.half_width(EARLY * OF_INTERVALS);
        let (low, high) = &mut known.interval;
        *low = low.max(sequence.mean() - half);
        *high = high.min(sequence.mean() + half);
    }
    known
}

/// Inference from a number of observations that was fixed beforehand, at that confidence.
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

#[cfg(test)]
mod tests {
    use super::super::tests::simulated::Stream;
    use super::*;

    #[test]
    fn a_last_pair_that_is_unlike_the_others_takes_nothing_back() {
        let seen = [3.0, 3.1, 2.9, 3.0, 9.0];
        let found = infer(&seen).unwrap();
        assert!(found.p_slower < 0.01, "{found:?}");
        // Student's interval of all five ends on the other side of 0.
        assert!(by_mean(&seen, 0.95).unwrap().ci95.0 < 1.0, "{found:?}");
        assert!(found.ci95.0 > 1.0 && found.ci95.1 < 5.0, "{found:?}");
        assert_eq!(found.estimate, found.ci95.1);
    }

    #[test]
    fn looks_that_exclude_each_other_know_nothing() {
        let mut seen = vec![3.0, 3.01, 2.99, 3.0, 3.0, 3.01];
        seen.extend([-3.0; 60]);
        let found = infer(&seen).unwrap();
        assert_eq!(
            (found.p_slower, found.p_faster, found.early),
            (1.0, 1.0, Early::NOTHING)
        );
        assert!(found.ci95.0 <= -3.0 && found.ci95.1 > 2.9, "{found:?}");
    }

    #[test]
    fn looks_that_exclude_each_other_may_agree_on_the_direction() {
        let rng = &mut Stream::new(2);
        let slower = |by: f64, pairs: usize, rng: &mut Stream| -> Vec<f64> {
            (0..pairs).map(|_| by + 0.02 * rng.normal()).collect()
        };
        let mut seen = slower(0.3, 8, rng);
        seen.extend(slower(0.2, 40, rng));
        let found = infer(&seen).unwrap();
        assert!(early(&seen).is_contradictory());
        assert!(found.p_slower < 1e-4, "{found:?}");
        assert!(found.ci95.0 > 0.15 && found.ci95.1 > 0.25, "{found:?}");
        assert!(found.early.interval.0 < found.early.interval.1);
    }

    /// Sequences of pairs as machines make them: apart, drifting, in levels, with outliers.
    fn unruly(rng: &mut Stream) -> Vec<f64> {
        let pairs = 2 + (rng.uniform() * 40.0) as usize;
        let (apart, spread) = (3.0 * rng.normal(), rng.normal().abs());
        let (drift, steps) = (0.1 * rng.normal(), rng.chance(0.5));
        let mut level = apart;
        let mut pair = |at: usize| {
            if steps && rng.chance(0.1) {
                level += rng.normal()
            }
            let outlier = if rng.chance(0.05) { 8.0 } else { 0.0 };
            level + drift * at as f64 + (spread + outlier) * rng.normal()
        };
        (0..pairs).map(&mut pair).collect()
    }

    #[test]
    fn an_interval_never_contradicts_its_p_value() {
        let rng = &mut Stream::new(11);
        let mut found_early = 0;
        for _ in 0..4_000 {
            let seen = unruly(rng);
            let found = infer(&seen).unwrap();
            let (low, high) = found.ci95;
            assert!(low <= found.estimate && found.estimate <= high, "{seen:?}");
            // Ranks are counted, and the ends of their interval lie on observations.
            let room = if seen.len() < signed_rank::LEAST {
                1.0
            } else {
                0.9
            };
            assert!(
                found.p_slower >= 0.0249 * room || low > 0.0,
                "{seen:?}: {found:?}"
            );
            assert!(
                found.p_faster >= 0.0249 * room || high < 0.0,
                "{seen:?}: {found:?}"
            );
            // And the other way round, as far as an interval of 95 % suffices.
            assert!(low <= 0.0 || found.p_slower < 0.05, "{seen:?}: {found:?}");
            assert!(high >= 0.0 || found.p_faster < 0.05, "{seen:?}: {found:?}");
            found_early += usize::from(found.ci95 == found.early.interval);
        }
        assert!(found_early > 1_000, "{found_early}");
    }

    #[test]
    fn what_lies_within_all_looks_contains_the_truth() {
        let normal = |rng: &mut Stream| rng.normal();
        // Student's t with two degrees: a variance that is infinite.
        let heavy = |rng: &mut Stream| rng.normal() / (-rng.uniform().ln()).sqrt();
        for draw in [&normal as &dyn Fn(&mut Stream) -> f64, &heavy] {
            let rng = &mut Stream::new(5);
            let missed = (0..2_000).filter(|_| {
                let seen: Vec<f64> = (0..60).map(|_| draw(rng)).collect();
                let (low, high) = early(&seen).interval;
                low > 0.0 || high < 0.0
            });
            // Of 1 %, and three standard errors of it.
            assert!(missed.count() <= 33);
        }
    }
}
