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
//! What both cover is in `compare::tests`. Everything is done with logarithms, and every run has
//! random numbers of its own, which follow from its name: with A and B exchanged every figure has
//! its sign changed and nothing else, and a run beside itself has the ratio 1, without any doubt.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

use super::rank::rank_test;
use super::signed_rank;
use super::{ALPHA, Verdict};
use crate::Batch;
use crate::bins::total;
use crate::interval::mean;

/// Times that everything is drawn again. The ends of the interval then vary by some 3 % of its
/// width with the random numbers.
const DRAWS: usize = 2_000;

/// Batches below which a run says nothing of how much its mean varies.
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
    /// The smallest difference, as a share, that would have been found with a chance of 80 %.
    pub detectable: f64,
}

impl Ratio {
    /// The answer, where differences up to this share count as the same.
    pub(super) fn verdict(&self, same_within: f64) -> Verdict {
        let limit = 1.0 + same_within;
        let is_same = |ratio: f64| ratio <= limit && ratio >= 1.0 / limit;
        let (low, high) = self.ci95;
        let is_sure = self.p_holm < ALPHA && (low > 1.0 || high < 1.0);
        let (least, most) = self.ci95_by_mean;
        let are_means_same = (least <= 1.0 && most >= 1.0) || is_same((least * most).sqrt());
        if is_same(low) && is_same(high) && are_means_same {
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
    let is_enough = |run: &Run<'_>| {
        run.batches.len() >= LEAST_BATCHES && run.batches.iter().any(|batch| batch.sum > 0)
    };
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
    let p = found.p.max(rank_test(&batches(a), &batches(b)));
    Some(Ratio {
        value: found.estimate.exp(),
        ci95: (found.interval.0.exp(), found.interval.1.exp()),
        ci95_by_mean: (found.by_mean.0.exp(), found.by_mean.1.exp()),
        p,
        p_holm: p,
        detectable: found.detectable.exp() - 1.0,
    })
}

/// What is found of the logarithm of a ratio.
struct Found {
    estimate: f64,
    interval: (f64, f64),
    /// The interval by means.
    by_mean: (f64, f64),
    /// How probable such an estimate is where the logarithm is zero.
    p: f64,
    /// The smallest logarithm that would have been found with a chance of [`POWER`].
    detectable: f64,
}

impl Found {
    /// An estimate which, in standard errors, is distributed like that.
    fn by_error(estimate: f64, interval: (f64, f64), error: f64, t: &StudentsT) -> Found {
        let power = Normal::standard().inverse_cdf(POWER);
        Found {
            estimate,
            interval,
            by_mean: interval,
            p: match (estimate == 0.0, error > 0.0) {
                (true, _) => 1.0,
                (false, true) => 2.0 * t.sf(estimate.abs() / error),
                (false, false) => 0.0,
            },
            detectable: (t.inverse_cdf(0.975) + power) * error,
        }
    }
}

fn students(observations: usize) -> StudentsT {
    let degrees = (observations - 1) as f64;
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
    let t = students(ratios.len());
    let half = t.inverse_cdf(0.975) * error;
    let interval = (estimate - half, estimate + half);
    Found::by_error(estimate, interval, error, &t)
}

fn by_signed_ranks(ratios: &[f64]) -> Found {
    let middle = signed_rank::middle(ratios);
    let normal = Normal::standard();
    let quantile = normal.inverse_cdf(0.975);
    let error = (middle.interval.1 - middle.interval.0) / (2.0 * quantile);
    Found {
        estimate: middle.value,
        interval: middle.interval,
        by_mean: middle.interval,
        p: middle.p,
        detectable: (quantile + normal.inverse_cdf(POWER)) * error,
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
    let t = students(observations);
    let small = (observations as f64 / (observations - 1) as f64).sqrt();
    let widened = small * t.inverse_cdf(0.975) / Normal::standard().inverse_cdf(0.975);
    let place = (DRAWS as f64 * 0.025) as usize;
    let end = |at: usize| estimate + widened * (draws[at] - estimate);
    let interval = (end(place), end(DRAWS - 1 - place));
    Found::by_error(estimate, interval, small * deviation(&draws), &t)
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
