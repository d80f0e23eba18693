//! How the times of two servers relate: observations of pairs, and the verdict on them.
//!
//! Of each pair of runs there are two observations: the log ratio of the means, and that of the
//! medians, the usual time of an operation. The verdict is about the means, whose p-values are
//! corrected for the number of tests. A few slow operations move the mean and not the median, so
//! that the medians must point the same way (one-sided, 5 %, uncorrected: another condition can
//! only make errors rarer), and the quotient of the means over all runs must not contradict.

use statrs::distribution::{ContinuousCDF, Normal};

use super::inference::{EARLY, infer};
use super::{ALPHA, Inference, RowInRun, Verdict, is_same};
use crate::bins::total;
use crate::interval::t_at;

/// Chance with which a difference that is called detectable is found.
const POWER: f64 = 0.8;

/// The difference for which the number of pairs is given that would detect it.
pub const WORTH_DETECTING: f64 = 0.05;

/// Pairs beyond which no number is given.
const MOST_PAIRS: u64 = 10_000;

/// Log ratios of the pairs of runs that have times of both.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Observations {
    /// Of the means.
    pub means: Vec<f64>,
    /// Of the medians.
    pub medians: Vec<f64>,
    /// Of the means over all operations of all these runs.
    pub pooled: f64,
}

impl Observations {
    pub(super) fn of(pairs: &[(&RowInRun, &RowInRun)]) -> Observations {
        let (mut found, mut all) = (Observations::default(), [Vec::new(), Vec::new()]);
        for (a, b) in pairs {
            let (Some(times_a), Some(times_b)) = (a.times, b.times) else {
                continue;
            };
            found.means.push(log(times_b.mean) - log(times_a.mean));
            found
                .medians
                .push(log(times_b.median) - log(times_a.median));
            all[0].push(times_a.sum);
            all[1].push(times_b.sum);
        }
        if !found.means.is_empty() {
            let [a, b] = all.map(|sums| log(total(&sums).mean()));
            found.pooled = b - a;
        }
        found
    }

    /// Number of pairs.
    pub fn pairs(&self) -> usize {
        self.means.len()
    }
}

/// A time of zero has no logarithm; a nanosecond is the unit of the clock.
fn log(time: f64) -> f64 {
    time.max(1.0).ln()
}

/// B over A.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ratio {
    /// The estimate from the means: above 1, B takes more time.
    pub value: f64,
    /// The estimate from the medians.
    pub usual: f64,
    /// Certainty of both ratios; `None` for a single pair, which shows no spread.
    pub evidence: Option<Certainty>,
    /// Pairs of runs with times of both.
    pub pairs: usize,
    /// The verdict.
    pub verdict: Verdict,
    pooled: f64,
}

/// Certainty of a ratio.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Certainty {
    /// Of the means.
    pub means: Inference,
    /// Of the medians.
    pub medians: Inference,
    /// Two-sided p-value of the direction in which both tests are surer.
    pub p: f64,
    /// The same, corrected for the number of tests (Holm).
    pub p_holm: f64,
    /// Direction of the means.
    pub on_average: Direction,
    /// Direction of the medians.
    pub usually: Direction,
    /// The smallest difference, as a share, that would have been found with a chance of 80 %,
    /// beside as many other rows.
    pub detectable: f64,
    /// Pairs that would detect 5 % with the same chance; `None` beyond 10,000.
    pub pairs_needed: Option<u64>,
}

/// Result of one of the two tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// B takes significantly more time.
    Slower,
    /// B takes significantly less time.
    Faster,
    /// Whatever the difference is, it is within what counts as the same.
    Same,
    /// None of these is significant.
    Unsure,
}

impl Direction {
    /// All of them.
    pub const ALL: [Direction; 4] = [
        Direction::Slower,
        Direction::Faster,
        Direction::Same,
        Direction::Unsure,
    ];

    /// The name used in files.
    pub fn name(self) -> &'static str {
        match self {
            Direction::Slower => "slower",
            Direction::Faster => "faster",
            Direction::Same => "same",
            Direction::Unsure => "unsure",
        }
    }

    fn of(inference: &Inference, same_within: f64, level: f64) -> Direction {
        if inference.is_same(same_within) {
            Direction::Same
        } else if 2.0 * inference.p_slower < level {
            Direction::Slower
        } else if 2.0 * inference.p_faster < level {
            Direction::Faster
        } else {
            Direction::Unsure
        }
    }
}

impl Ratio {
    /// The ratio that these observations show, not judged yet; `None` without any.
    pub fn new(observations: &Observations) -> Option<Ratio> {
        let (first, usual) = (observations.means.first()?, observations.medians.first()?);
        let inferred = infer(&observations.means).zip(infer(&observations.medians));
        let evidence = inferred.map(|(means, medians)| {
            let p = (2.0 * means.p_slower.min(means.p_faster)).min(1.0);
            Certainty {
                means,
                medians,
                p,
                p_holm: p,
                on_average: Direction::Unsure,
                usually: Direction::Unsure,
                detectable: f64::INFINITY,
                pairs_needed: None,
            }
        });
        Some(Ratio {
            value: evidence.map_or(*first, |found| found.means.estimate).exp(),
            usual: evidence
                .map_or(*usual, |found| found.medians.estimate)
                .exp(),
            evidence,
            pairs: observations.pairs(),
            verdict: Verdict::Inconclusive,
            pooled: observations.pooled,
        })
    }

    /// Sets the verdict, where differences up to this share count as the same, and a p-value below
    /// that level is significant.
    pub(super) fn judge(&mut self, same_within: f64, level: f64) {
        let Some(found) = &mut self.evidence else {
            return;
        };
        // The row may have been left out of later blocks for this reason, and then the other
        // interval would be too narrow.
        if found.is_early_same(same_within) {
            for of in [&mut found.means, &mut found.medians] {
                *of = of.as_known_early();
            }
            self.value = found.means.estimate.exp();
            self.usual = found.medians.estimate.exp();
        }
        found.on_average = Direction::of(&found.means, same_within, level);
        found.usually = Direction::of(&found.medians, same_within, 2.0 * ALPHA);
        found.detectable = found.detectable(same_within, level);
        found.pairs_needed = found.pairs_needed(same_within, level);
        let is_sure = found.p_holm < ALPHA && !is_same(self.value, same_within);
        let is_slower = found.means.p_slower < found.means.p_faster;
        let is_contradicted = self.pooled != 0.0 && (self.pooled > 0.0) != is_slower;
        self.verdict = match (found.on_average, found.usually) {
            (Direction::Same, Direction::Same) => Verdict::Same,
            _ if !is_sure || is_contradicted => Verdict::Inconclusive,
            (_, Direction::Slower) if is_slower => Verdict::Slower,
            (_, Direction::Faster) if !is_slower => Verdict::Faster,
            _ => Verdict::Inconclusive,
        };
    }

    /// True if more pairs may change the verdict, as one of this number of tests: the sequential
    /// tests have found neither a difference nor that there is none.
    pub(super) fn is_open(&self, same_within: f64, tests: usize) -> bool {
        let Some(found) = &self.evidence else {
            return true;
        };
        let level = ALPHA / tests.max(1) as f64;
        let is_sure = |p: f64| 2.0 * p < level;
        let early = &found.means.early;
        let is_settled = match self.verdict {
            Verdict::Slower | Verdict::Faster => is_sure(early.p_slower) || is_sure(early.p_faster),
            Verdict::Same => found.is_early_same(same_within),
            _ => false,
        };
        !is_settled
    }

    /// The means of all operations of both say the opposite of the pairs: of a few runs.
    pub fn is_contradicted(&self) -> bool {
        let opposite = |found: Certainty| {
            let is_slower = found.means.p_slower < found.means.p_faster;
            found.p_holm < ALPHA && self.pooled != 0.0 && (self.pooled > 0.0) != is_slower
        };
        self.evidence.is_some_and(opposite)
    }
}

impl Certainty {
    /// The 95 % interval of the ratio of the means.
    pub fn ci95(&self) -> (f64, f64) {
        exp(self.means.ci95)
    }

    /// The 95 % interval of the ratio of the medians.
    pub fn ci95_usual(&self) -> (f64, f64) {
        exp(self.medians.ci95)
    }

    /// The largest ratio that the means allow, the few runs counted that signed ranks do not see.
    pub fn most(&self) -> f64 {
        self.means.ci95.1.max(self.means.ci95_of_mean.1).exp()
    }

    /// The smallest ratio that the means allow, as for [`most`](Certainty::most).
    pub fn least(&self) -> f64 {
        self.means.ci95.0.min(self.means.ci95_of_mean.0).exp()
    }

    /// The sequences alone show that there is no difference that matters.
    fn is_early_same(&self, same_within: f64) -> bool {
        let is_within = |of: &Inference| {
            let (low, high) = of.early.interval;
            is_same(low.exp(), same_within) && is_same(high.exp(), same_within)
        };
        is_within(&self.means) && is_within(&self.medians)
    }

    /// The smallest difference that is found at this level, and that is more than the same.
    fn detectable(&self, same_within: f64, level: f64) -> f64 {
        let of = |inference: &Inference, level: f64| {
            let sure = inference.quantile(1.0 - late(level) / 2.0) * inference.error;
            sure.max(same_within.ln_1p()) + power() * inference.error
        };
        let usual = of(&self.medians, 2.0 * ALPHA);
        of(&self.means, level).max(usual).exp_m1()
    }

    /// The least number of pairs with which 5 % (or twice what counts as the same, if that is more)
    /// would be found, if further pairs differ as these do.
    fn pairs_needed(&self, same_within: f64, level: f64) -> Option<u64> {
        let wanted = WORTH_DETECTING.max(2.0 * same_within).ln_1p();
        let spread = |inference: &Inference| inference.error * (inference.pairs as f64).sqrt();
        let is_found = |inference: &Inference, level: f64, pairs: u64| {
            let error = spread(inference) / (pairs as f64).sqrt();
            let sure = t_at(1.0 - late(level) / 2.0, (pairs - 1) as f64) * error;
            sure.max(same_within.ln_1p()) + power() * error <= wanted
        };
        let is_enough = |pairs: u64| {
            is_found(&self.means, level, pairs) && is_found(&self.medians, 2.0 * ALPHA, pairs)
        };
        // More pairs always find more, so the least number is between two powers of two.
        let mut high = 2;
        while !is_enough(high) {
            high *= 2;
            if high > MOST_PAIRS {
                return None;
            }
        }
        let mut low = high / 2;
        while high - low > 1 {
            let middle = u64::midpoint(low, high);
            if is_enough(middle) {
                high = middle
            } else {
                low = middle
            }
        }
        Some(high)
    }
}

/// The part of a level that is left for the look at all pairs.
fn late(level: f64) -> f64 {
    level * (1.0 - EARLY)
}

fn power() -> f64 {
    Normal::standard().inverse_cdf(POWER)
}

fn exp((low, high): (f64, f64)) -> (f64, f64) {
    (low.exp(), high.exp())
}
