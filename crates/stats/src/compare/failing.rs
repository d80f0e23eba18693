//! Comparison of two servers by their failed operations.
//!
//! Failures come in bursts: a server that is unavailable for a second fails all requests of that
//! second. Operations of a run are therefore no independent observations, and the unit is the run.
//! Of each pair of runs there is the difference of the shares that failed; where the servers are
//! alike, the sign of each is as probable as the opposite, and how often the sum is at least as
//! large over all assignments of signs is the p-value (Fisher, *The Design of Experiments*, 1935,
//! section 21; exact, for any distribution). A run whose test could not be set up has failed as a
//! whole.
//!
//! With few pairs no such p-value is small: five have 1/16 at best. A test that failed in each
//! operation of each of at least [`LEAST_TOTAL`] runs of one server, and in none of the other
//! ([`Failing::is_total`]), needs no p-value. If a share `q` of the runs fails as a whole by
//! accident, with both servers alike, that happens by chance in `2 (q (1 - q))^n` of comparisons of
//! `n` pairs.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::{ALPHA, RowInRun, Verdict};

/// Runs that must all have failed as a whole.
pub const LEAST_TOTAL: usize = 2;

/// Differences up to which all assignments of signs are tried.
const EXACT: usize = 14;

/// Assignments that are drawn beyond that.
const DRAWS: u32 = 10_000;

/// Significance of a difference in failures between two servers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Failing {
    /// The two-sided p-value of a difference between the servers.
    pub p: f64,
    /// The same, corrected for the number of tests (Holm); nothing is corrected where
    /// [`is_total`](Failing::is_total).
    pub p_holm: f64,
    /// Each operation of each run failed with one server, and none with the other.
    pub is_total: bool,
    /// Pairs of runs without which such a difference cannot be significant, where there are fewer.
    pub pairs_needed: Option<u32>,
    /// *Broken*, *repaired*, *inconclusive*, or *not compared* where both fail always.
    pub verdict: Verdict,
    /// B fails more often.
    is_more: bool,
    pairs: usize,
}

impl Failing {
    /// The failures of these pairs, not judged yet; `None` where nothing failed.
    pub(super) fn of(pairs: &[(&RowInRun, &RowInRun)]) -> Option<Failing> {
        let shares: Vec<(f64, f64)> = pairs
            .iter()
            .map(|(a, b)| (a.share_failed(), b.share_failed()))
            .collect();
        Failing::from_shares(&shares)
    }

    pub(super) fn from_shares(shares: &[(f64, f64)]) -> Option<Failing> {
        if shares.iter().all(|both| *both == (0.0, 0.0)) {
            return None;
        }
        let all = |wanted: (f64, f64)| shares.iter().all(|both| *both == wanted);
        let differences: Vec<f64> = shares.iter().map(|(a, b)| b - a).collect();
        let p = sign_flips(&differences);
        Some(Failing {
            p,
            p_holm: p,
            is_total: shares.len() >= LEAST_TOTAL && (all((0.0, 1.0)) || all((1.0, 0.0))),
            pairs_needed: None,
            verdict: if all((1.0, 1.0)) {
                Verdict::NotCompared
            } else {
                Verdict::Inconclusive
            },
            is_more: differences.iter().sum::<f64>() > 0.0,
            pairs: shares.len(),
        })
    }

    /// Sets the verdict, as one of this number of tests.
    pub(super) fn judge(&mut self, tests: usize) {
        if self.is_total || self.p_holm < ALPHA {
            self.verdict = if self.is_more {
                Verdict::Broken
            } else {
                Verdict::Repaired
            };
        }
        let needed = (2.0 * tests as f64 / ALPHA).log2().floor() as u32 + 1;
        self.pairs_needed = (self.pairs < needed as usize).then_some(needed);
    }
}

/// How probable a sum of differences that is as far from zero is, if each had the opposite sign
/// with a chance of one half: twice the smaller tail.
fn sign_flips(differences: &[f64]) -> f64 {
    let differences: Vec<f64> = differences
        .iter()
        .copied()
        .filter(|difference| *difference != 0.0)
        .collect();
    let observed: f64 = differences.iter().sum();
    // Sums of the same shares in another order differ in their last digits.
    let slack = 1e-9 * differences.iter().map(|one| one.abs()).sum::<f64>();
    let (mut all, mut above, mut below) = (0, 0, 0);
    let mut count = |sum: f64| {
        all += 1;
        above += u32::from(sum >= observed - slack);
        below += u32::from(sum <= observed + slack);
    };
    // The observation is one of the assignments also where they are drawn, so that the p-value is
    // never too small (Phipson and Smyth, Statistical Applications in Genetics and Molecular
    // Biology 9, 2010).
    count(observed);
    if differences.len() <= EXACT {
        // In the order of Gray's code each assignment differs from the one before in one sign.
        let (mut signs, mut sum) = (differences.clone(), observed);
        for number in 1..1_usize << differences.len() {
            let sign = &mut signs[number.trailing_zeros() as usize];
            sum -= 2.0 * *sign;
            *sign = -*sign;
            count(sum);
        }
    } else {
        let mut rng = ChaCha8Rng::seed_from_u64(differences.len() as u64);
        for _ in 0..DRAWS {
            let of_word = |differences: &[f64]| {
                let flips: u64 = rng.random();
                let indexed = differences.iter().enumerate();
                indexed
                    .map(|(index, one)| if flips >> index & 1 == 1 { -one } else { *one })
                    .sum::<f64>()
            };
            count(differences.chunks(64).map(of_word).sum());
        }
    }
    (2.0 * f64::from(above.min(below)) / f64::from(all)).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_p_value_is_that_of_all_signs() {
        let table: [(&[f64], f64); 6] = [
            (&[], 1.0),
            (&[1.0], 1.0),
            (&[1.0; 5], 2.0 / 32.0),
            (&[0.1, 0.0, 0.1, 0.1], 2.0 / 8.0),
            // 3 + 1 - 2: of the eight sums, three are at least 2.
            (&[3.0, 1.0, -2.0], 6.0 / 8.0),
            (&[1.0; 10], 2.0 / 1024.0),
        ];
        for (differences, expected) in table {
            let found = sign_flips(differences);
            assert!((found - expected).abs() < 1e-12, "{differences:?}: {found}");
            let turned: Vec<f64> = differences.iter().map(|one| -one).collect();
            assert_eq!(sign_flips(&turned), found);
        }
        let many = sign_flips(&[1.0; 40]);
        assert!((many - 2.0 / 10_001.0).abs() < 1e-9, "{many}");
        let (some, turned): (Vec<f64>, Vec<f64>) = (0..40)
            .map(|i| f64::from(i % 4 - 1))
            .map(|one| (one, -one))
            .unzip();
        assert_eq!(sign_flips(&some), sign_flips(&turned));
    }
}
