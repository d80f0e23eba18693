//! How two means relate: their ratio, its 95 % interval, and how sure a difference is.
//!
//! **Several pairs of runs.** The logarithm of the ratio of each pair is one observation, and the
//! interval is Student's over them, or from twenty on that of their signed ranks
//! ([`signed_rank`]): what differs from run to run, and what the machine did to both
//! runs of a pair, is in it as it should be (Kalibera and Jones, *Rigorous benchmarking in
//! reasonable time*, ISMM 2013: repeat at the highest level that varies). Drawing pairs again, and
//! batches within them again, counts the noise within runs twice: in simulations such intervals
//! covered 99 % instead of 95 %.
//!
//! **One run of each.** The interval comes from a bootstrap of blocks (Davison and Hinkley,
//! *Bootstrap Methods and their Application*, 1997, section 8.2): operations that follow each other
//! are alike, so what is drawn again are batches of them. Percentiles of few observations promise
//! too much; their distance from the estimate is widened by `sqrt(n / (n - 1)) * t / z`, as
//! Student's t would (Hesterberg, *What Teachers Should Know About the Bootstrap*, The American
//! Statistician 69(4), 2015: expanded percentile intervals).
//!
//! What both cover is in `compare::tests::simulated`. Everything is done with logarithms, and every run has
//! random numbers of its own, which follow from its name: with A and B exchanged every figure has
//! its sign changed and nothing else, and a run beside itself has the ratio 1, without any doubt.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

use super::rank::rank_test;
use super::signed_rank;
use super::{ALPHA, Verdict, is_same};
use crate::Batch;
use crate::bins::total;
use crate::interval::{mean, surprise};

/// Times that everything is drawn again. The ends of the interval then vary by some 3 % of its
/// width with the random numbers.
const DRAWS: usize = 2_000;

/// Batches below which a run on its own says nothing of how much its mean varies.
const LEAST_BATCHES: usize = 2;

/// Chance with which a difference that is called detectable is found.
const POWER: f64 = 0.8;

/// What a row of a run is made of.
#[derive(Debug, Clone, Copy)]
pub(super) struct Run<'a> {
    /// Name of the run.
    pub(super) id: &'a str,
    /// Its operations in the order of time.
    pub(super) batches: &'a [Batch],
}

/// Mean of B over mean of A.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ratio {
    /// The estimate: above 1, B is slower.
    pub value: f64,
    /// Its 95 % interval.
    pub ci95: (f64, f64),
    /// The 95 % interval of Student's t over the pairs, which a few slow operations move and signed
    /// ranks do not show; below twenty pairs it is `ci95`.
    pub ci95_by_mean: (f64, f64),
    /// How probable such a difference is where there is none: the larger p-value of both tests.
    pub p: f64,
    /// The same, corrected for the number of rows (Holm).
    pub p_holm: f64,
    /// The smallest difference, as a share, that would have been called one with a chance of 80 %,
    /// beside as many other rows; `None` where there are too few observations for any.
    pub detectable: Option<f64>,
    /// The means differ surely, and what is usual does not: few slow operations, or few pairs, make
    /// the difference.
    pub by_few: bool,
    doubt: Doubt,
}

/// How sure an estimate is.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Doubt {
    /// Standard error of the logarithm.
    error: f64,
    /// How that is distributed.
    spread: Spread,
    /// How probable the estimate is where the ratio is 1, without ranks.
    p: f64,
    /// The smallest p-value that so many observations can have.
    least_p: f64,
}

/// How an estimate is distributed in its standard errors.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Spread {
    /// As Student's t with so many degrees of freedom.
    Student(f64),
    /// Normally.
    Normal,
}

impl Spread {
    fn quantile(self, share: f64) -> f64 {
        match self {
            Spread::Student(degrees) => students(degrees).inverse_cdf(share),
            Spread::Normal => Normal::standard().inverse_cdf(share),
        }
    }
}

impl Doubt {
    /// The smallest difference that is found at this level, and that is more than the same.
    fn detectable(&self, same_within: f64, level: f64) -> Option<f64> {
        let power = Normal::standard().inverse_cdf(POWER) * self.error;
        let sure = self.spread.quantile(1.0 - level / 2.0) * self.error;
        let matters = same_within.ln_1p();
        (self.least_p < level).then(|| (sure.max(matters) + power).exp_m1())
    }
}

impl Ratio {
    /// The answer, where differences up to this share count as the same, and a p-value below that
    /// level is sure.
    pub(super) fn judge(&mut self, same_within: f64, level: f64) -> Verdict {
        let is_same = |ratio: f64| is_same(ratio, same_within);
        let (low, high) = self.ci95;
        let (least, most) = self.ci95_by_mean;
        let is_within = is_same(low) && is_same(high);
        let are_means_same = (least <= 1.0 && most >= 1.0) || is_same((least * most).sqrt());
        let excludes_one = low > 1.0 || high < 1.0;
        let is_sure = self.p_holm < ALPHA && excludes_one;
        let is_sure_of_means = self.doubt.p < level && self.doubt.least_p < level && excludes_one;
        self.detectable = self.doubt.detectable(same_within, level);
        self.by_few = match is_within {
            true => !are_means_same,
            false => !is_sure && is_sure_of_means && !is_same(self.value),
        };
        if is_within && are_means_same {
            Verdict::Same
        } else if !is_sure || is_same(self.value) {
            Verdict::Unclear
        } else if self.value > 1.0 {
            Verdict::Slower
        } else {
            Verdict::Faster
        }
    }
}

/// The ratio of the runs of B to those of A, pair by pair; `None` where one has too few operations.
pub(super) fn of(row: &str, a: &[Run<'_>], b: &[Run<'_>]) -> Option<Ratio> {
    let least = if a.len() == 1 { LEAST_BATCHES } else { 1 };
    let is_enough =
        |run: &Run<'_>| run.batches.len() >= least && run.batches.iter().any(|batch| batch.sum > 0);
    if a.len() != b.len() || a.is_empty() || !a.iter().chain(b).all(is_enough) {
        return None;
    }
    let found = match (a, b) {
        ([a], [b]) => by_blocks(row, a, b),
        _ => by_pairs(a, b),
    };
    let batches = |runs: &[Run<'_>]| -> Vec<Vec<f64>> {
        let means = |run: &Run<'_>| run.batches.iter().map(Batch::mean).collect();
        runs.iter().map(means).collect()
    };
    let (a, b) = (batches(a), batches(b));
    let p = found.doubt.p.max(rank_test(&a, &b));
    Some(Ratio {
        value: found.estimate.exp(),
        ci95: (found.interval.0.exp(), found.interval.1.exp()),
        ci95_by_mean: (found.by_mean.0.exp(), found.by_mean.1.exp()),
        p,
        p_holm: p,
        detectable: None,
        by_few: false,
        doubt: Doubt {
            least_p: found.doubt.least_p.max(least_of_ranks(&a, &b)),
            ..found.doubt
        },
    })
}

/// The p-value of the rank test where all of B are slower than all of A.
fn least_of_ranks(a: &[Vec<f64>], b: &[Vec<f64>]) -> f64 {
    let counted = |from: usize, to: usize| -> Vec<f64> { (from..to).map(|i| i as f64).collect() };
    let low = |(a, _): (&Vec<f64>, &Vec<f64>)| counted(0, a.len());
    let high = |(a, b): (&Vec<f64>, &Vec<f64>)| counted(a.len(), a.len() + b.len());
    let (low, high): (Vec<_>, Vec<_>) = a.iter().zip(b).map(|pair| (low(pair), high(pair))).unzip();
    rank_test(&low, &high)
}

/// What is found of the logarithm of a ratio.
struct Found {
    estimate: f64,
    interval: (f64, f64),
    /// The interval by means.
    by_mean: (f64, f64),
    doubt: Doubt,
}

impl Found {
    /// An estimate which, in standard errors, is distributed as Student's t.
    fn by_error(estimate: f64, interval: (f64, f64), error: f64, degrees: f64) -> Found {
        Found {
            estimate,
            interval,
            by_mean: interval,
            doubt: Doubt {
                error,
                spread: Spread::Student(degrees),
                p: surprise(estimate, error, &students(degrees)),
                least_p: 0.0,
            },
        }
    }
}

fn students(degrees: f64) -> StudentsT {
    let t = StudentsT::new(0.0, 1.0, degrees);
    t.unwrap_or_else(|_| unreachable!("there are two observations at least"))
}

fn by_pairs(a: &[Run<'_>], b: &[Run<'_>]) -> Found {
    let pairs = a.iter().zip(b);
    let ratios: Vec<f64> = pairs
        .map(|(a, b)| log_mean(b.batches) - log_mean(a.batches))
        .collect();
    let by_means = by_means(&ratios);
    if ratios.len() < signed_rank::LEAST {
        return by_means;
    }
    Found {
        by_mean: by_means.interval,
        ..by_signed_ranks(&ratios)
    }
}

fn by_means(ratios: &[f64]) -> Found {
    let estimate = mean(ratios);
    let error = deviation(ratios) / (ratios.len() as f64).sqrt();
    let degrees = (ratios.len() - 1) as f64;
    let half = students(degrees).inverse_cdf(0.975) * error;
    let interval = (estimate - half, estimate + half);
    Found::by_error(estimate, interval, error, degrees)
}

fn by_signed_ranks(ratios: &[f64]) -> Found {
    let middle = signed_rank::middle(ratios);
    let quantile = Normal::standard().inverse_cdf(0.975);
    Found {
        estimate: middle.value,
        interval: middle.interval,
        by_mean: middle.interval,
        doubt: Doubt {
            error: (middle.interval.1 - middle.interval.0) / (2.0 * quantile),
            spread: Spread::Normal,
            p: middle.p,
            least_p: signed_rank::least_p(ratios.len()),
        },
    }
}

fn by_blocks(row: &str, a: &Run<'_>, b: &Run<'_>) -> Found {
    let estimate = log_mean(b.batches) - log_mean(a.batches);
    let (mut of_a, mut of_b) = (stream(&[row, a.id]), stream(&[row, b.id]));
    let mut draws: Vec<f64> = (0..DRAWS)
        .map(|_| drawn_log_mean(b.batches, &mut of_b) - drawn_log_mean(a.batches, &mut of_a))
        .collect();
    draws.sort_by(f64::total_cmp);
    let observations = a.batches.len().min(b.batches.len());
    let degrees = (observations - 1) as f64;
    let small = (observations as f64 / degrees).sqrt();
    let widened =
        small * students(degrees).inverse_cdf(0.975) / Normal::standard().inverse_cdf(0.975);
    let place = (DRAWS as f64 * 0.025) as usize;
    let end = |at: usize| estimate + widened * (draws[at] - estimate);
    let interval = (end(place), end(DRAWS - 1 - place));
    Found::by_error(estimate, interval, small * deviation(&draws), degrees)
}

fn drawn_log_mean(batches: &[Batch], rng: &mut ChaCha8Rng) -> f64 {
    log_mean((0..batches.len()).map(|_| &batches[rng.random_range(0..batches.len())]))
}

fn log_mean<'a>(batches: impl IntoIterator<Item = &'a Batch>) -> f64 {
    let Batch { n, sum } = total(batches);
    // A mean of nothing but zeros has no logarithm; a nanosecond is the unit of the clock.
    (sum.max(1) as f64 / n as f64).ln()
}

/// Random numbers that follow from these names.
fn stream(names: &[&str]) -> ChaCha8Rng {
    // FNV-1a: any function that spreads names over 64 bits, on every machine the same.
    let bytes = names.iter().flat_map(|name| name.bytes().chain([0]));
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    ChaCha8Rng::seed_from_u64(hash)
}

fn deviation(values: &[f64]) -> f64 {
    let mean = mean(values);
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (squares / (values.len() - 1) as f64).sqrt()
}
