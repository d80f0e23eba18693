//! Whether operations fail more often with one of two servers.
//!
//! Fisher's exact test (*The Design of Experiments*, 1935, section 11) of what failed among all
//! operations, with the smaller tail doubled: right for any number of operations, and one failure in
//! many is no difference. It takes operations for independent, so that a burst of failures counts
//! for as many as it has.
//!
//! A test that could not be measured at all (its set-up failed, or nothing of it was reached) has
//! failed for sure, and needs no test.

use super::{ALPHA, Estimate, Row, Verdict};
use crate::{Status, TestSummary};

/// How sure it is that operations fail more often with one of both.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Failing {
    /// How probable such a difference of shares is where there is none.
    pub p: f64,
    /// The same, corrected for the number of rows (Holm).
    pub p_holm: f64,
}

impl Failing {
    pub(super) fn verdict(&self, a: &Estimate, b: &Estimate) -> Verdict {
        if self.p_holm >= ALPHA {
            Verdict::Unclear
        } else if share(b) > share(a) {
            Verdict::Broken
        } else {
            Verdict::Repaired
        }
    }
}

/// What to test, or the verdict where there is nothing to test.
pub(super) fn of(
    (of_a, a): (&Estimate, &[Row<'_>]),
    (of_b, b): (&Estimate, &[Row<'_>]),
) -> (Option<Failing>, Verdict) {
    let is_expected = |of: &Estimate| of.operations > of.failed;
    let has_no_times = |row: &Row<'_>| row.summary.all_missed();
    if a.iter().chain(b).any(has_no_times) {
        return (None, Verdict::NotCompared);
    }
    match (is_unmeasured(a), is_unmeasured(b)) {
        (false, true) if is_expected(of_a) => (None, Verdict::Broken),
        (true, false) if is_expected(of_b) => (None, Verdict::Repaired),
        (false, false) if share(of_a) != share(of_b) => {
            let p = fisher(
                (of_a.failed, of_a.operations),
                (of_b.failed, of_b.operations),
            );
            (Some(Failing { p, p_holm: p }), Verdict::Unclear)
        }
        _ => (None, Verdict::NotCompared),
    }
}

/// It failed as a whole in one of the runs, and not because operations failed.
fn is_unmeasured(rows: &[Row<'_>]) -> bool {
    let is_so = |row: &TestSummary| row.status == Status::Failed && row.failed() == 0;
    rows.iter().any(|row| is_so(row.summary))
}

fn share(of: &Estimate) -> f64 {
    of.failed as f64 / of.operations.max(1) as f64
}

/// The two-sided p-value of Fisher's exact test: so many of so many, and so many of so many others.
fn fisher((failed_a, all_a): (u64, u64), (failed_b, all_b): (u64, u64)) -> f64 {
    // What failed with the one that fails more often: from there on, the more the less probable.
    let is_a_more =
        u128::from(failed_a) * u128::from(all_b) > u128::from(failed_b) * u128::from(all_a);
    let ((most, of), (least, of_least)) = match is_a_more {
        true => ((failed_a, all_a), (failed_b, all_b)),
        false => ((failed_b, all_b), (failed_a, all_a)),
    };
    let log_choose = statrs::function::factorial::ln_binomial;
    let failed = most + least;
    let mut term = (log_choose(of, most) + log_choose(of_least, least)
        - log_choose(of + of_least, failed))
    .exp();
    let mut tail = term;
    for more in most + 1..=of.min(failed) {
        let less = failed - more + 1;
        let chosen = (of - more + 1) as f64 / more as f64;
        term *= chosen * less as f64 / (of_least - less + 1) as f64;
        tail += term;
        if term <= tail * f64::EPSILON {
            break;
        }
    }
    (2.0 * tail).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_test_is_fishers() {
        // Tails of `scipy.stats.fisher_exact`, doubled.
        let table = [
            ((1, 4), (3, 4), 2.0 * 17.0 / 70.0),
            ((8, 9), (2, 7), 2.0 * 0.024_475_524_475_524_48),
            ((0, 60), (2, 60), 2.0 * 0.247_899_159_663_865_5),
            ((0, 100_000), (1, 100_000), 1.0),
            ((5, 10), (5, 10), 1.0),
        ];
        for (a, b, expected) in table {
            let found = fisher(a, b);
            assert!((found - expected).abs() < 1e-9, "{a:?} {b:?}: {found}");
            assert!((fisher(b, a) - found).abs() < 1e-12);
        }
        assert!(fisher((1, 600), (600, 600)) < 1e-300);
        assert!(fisher((0, 10_000_000), (40, 10_000_000)) < 1e-10);
        let many = fisher((1_000_000, 10_000_000), (1_001_000, 10_000_000));
        assert!((many - 0.4563).abs() < 0.01, "{many}");
    }
}
