//! Sequential tests: hypotheses that may be judged after every observation.
//!
//! A fixed-sample test loses its error rate when it is repeated while observations arrive. The
//! likelihood ratio of two hypotheses does not: multiplied up observation by observation, it ever
//! exceeds `1 / alpha` with a probability of at most `alpha` where the hypothesis in the
//! denominator is true (Ville, *Étude critique de la notion de collectif*, 1939). Stopping at that
//! bound is Wald's sequential probability ratio test (*Sequential tests of statistical hypotheses*,
//! Annals of Mathematical Statistics 16, 1945), and the guarantee holds for every other rule of
//! stopping, too.

mod mean;

pub(crate) use mean::Sequence;

use crate::interval::border;

/// Trials of one kind, by their outcome.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Trials in which the condition held.
    pub held: u32,
    /// Trials in which it failed.
    pub failed: u32,
}

impl Tally {
    /// All of them.
    pub fn trials(self) -> u32 {
        self.held + self.failed
    }
}

/// Decision of a [`ProbabilityTest`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// The probability is not the low one, or below.
    High,
    /// The probability is not the high one, or above.
    Low,
    /// More trials are needed.
    Open,
}

/// A sequential test of two probabilities with which independent trials hold. Each wrong decision
/// has a probability of at most `alpha`, for any number of looks at the tally.
#[derive(Debug, Clone, Copy)]
pub struct ProbabilityTest {
    /// Where this probability or a lower one is true, the decision is rarely *high*.
    pub low: f64,
    /// Where this probability or a higher one is true, the decision is rarely *low*.
    pub high: f64,
    /// The probability of a wrong decision.
    pub alpha: f64,
}

/// Halvings of an interval of probabilities: far below any digit that is printed.
const HALVINGS: u32 = 40;

impl ProbabilityTest {
    /// The decision from these trials.
    pub fn decision(self, tally: Tally) -> Decision {
        let evidence = log_ratio(tally, self.high, self.low);
        match self.bound() {
            bound if evidence >= bound => Decision::High,
            bound if evidence <= -bound => Decision::Low,
            _ => Decision::Open,
        }
    }

    /// The lower confidence bound of the probability, of level `1 - alpha`, at any time: every
    /// lower probability is rejected in favour of the high one. It never exceeds the high one.
    pub fn at_least(self, tally: Tally) -> f64 {
        let rejected = |p| log_ratio(tally, self.high, p) >= self.bound();
        border(0.0, self.high, HALVINGS, rejected)
    }

    /// The upper confidence bound of the probability, of level `1 - alpha`, at any time. It is
    /// never below the low one.
    pub fn at_most(self, tally: Tally) -> f64 {
        let rejected = |p| log_ratio(tally, self.low, p) >= self.bound();
        border(1.0, self.low, HALVINGS, rejected)
    }

    fn bound(self) -> f64 {
        (1.0 / self.alpha).ln()
    }
}

/// The logarithm of the likelihood ratio of two probabilities. The likelihood has one maximum, so
/// all probabilities before one that is rejected are rejected.
fn log_ratio(tally: Tally, over: f64, under: f64) -> f64 {
    let held = f64::from(tally.held) * (over / under).ln();
    let failed = f64::from(tally.failed) * ((1.0 - over) / (1.0 - under)).ln();
    held + failed
}

#[cfg(test)]
mod tests {
    use rand::{RngExt as _, SeedableRng as _};
    use rand_chacha::ChaCha8Rng;

    use super::*;

    const TEST: ProbabilityTest = ProbabilityTest {
        low: 0.5,
        high: 0.9,
        alpha: 0.05,
    };

    fn tally(held: u32, failed: u32) -> Tally {
        Tally { held, failed }
    }

    #[test]
    fn six_holds_in_a_row_decide_and_so_do_two_failures() {
        let table = [
            ((0, 0), Decision::Open),
            ((5, 0), Decision::Open),
            ((6, 0), Decision::High),
            ((7, 1), Decision::Open),
            ((8, 1), Decision::High),
            ((10, 2), Decision::Open),
            ((11, 2), Decision::High),
            ((0, 1), Decision::Open),
            ((0, 2), Decision::Low),
            ((1, 2), Decision::Open),
            ((1, 3), Decision::Low),
        ];
        for ((held, failed), expected) in table {
            let decision = TEST.decision(tally(held, failed));
            assert_eq!(decision, expected, "{held} held, {failed} failed");
        }
    }

    #[test]
    fn bounds_lie_where_the_test_decides() {
        for held in 0..40 {
            for failed in 0..40 {
                let trials = tally(held, failed);
                let (low, high) = (TEST.at_least(trials), TEST.at_most(trials));
                assert!(low <= TEST.high && high >= TEST.low && low < high);
                assert_eq!(low > TEST.low, TEST.decision(trials) == Decision::High);
                assert_eq!(high < TEST.high, TEST.decision(trials) == Decision::Low);
            }
        }
        assert_eq!(
            (TEST.at_least(tally(0, 3)), TEST.at_most(tally(3, 0))),
            (0.0, 1.0)
        );
        let one_percent = |p: f64| (p * 100.0).round();
        assert_eq!(one_percent(TEST.at_least(tally(20, 0))), 77.0);
        assert_eq!(one_percent(TEST.at_most(tally(0, 3))), 82.0);
    }

    const LONGEST: u32 = 60;

    /// The share of sequences of trials in which `is_so` is ever true.
    fn ever(p: f64, is_so: impl Fn(Tally) -> bool) -> f64 {
        const SEQUENCES: u32 = 10_000;
        let of = |held| {
            (0..=LONGEST)
                .map(|failed| is_so(tally(held, failed)))
                .collect()
        };
        let known: Vec<Vec<bool>> = (0..=LONGEST).map(of).collect();
        let mut rng = ChaCha8Rng::seed_from_u64(7);
        let mut found = 0;
        for _ in 0..SEQUENCES {
            let (mut held, mut failed) = (0, 0);
            for _ in 0..LONGEST {
                if rng.random_bool(p) {
                    held += 1
                } else {
                    failed += 1
                }
                if known[held][failed] {
                    found += 1;
                    break;
                }
            }
        }
        f64::from(found) / f64::from(SEQUENCES)
    }

    #[test]
    fn errors_stay_rare_however_often_one_looks() {
        // Three standard errors of the simulation are 0.7 %.
        let high = |trials| TEST.decision(trials) == Decision::High;
        let low = |trials| TEST.decision(trials) == Decision::Low;
        assert!(ever(0.5, high) < 0.05);
        assert!(ever(0.3, high) < 0.005);
        assert!(ever(0.9, low) < 0.05);
        assert!(ever(0.98, low) < 0.005);
        assert!(ever(0.9, high) > 0.95 && ever(0.5, low) > 0.95);
        for p in [0.3, 0.6, 0.75, 0.85, 0.95] {
            assert!(ever(p, |trials| TEST.at_least(trials) > p) < 0.05, "{p}");
            assert!(ever(p, |trials| TEST.at_most(trials) < p) < 0.05, "{p}");
        }
    }
}
