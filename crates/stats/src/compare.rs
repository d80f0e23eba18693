//! Whether one server is faster than another, by runs of both.
//!
//! ```text
//! runs of A --+--> alike? (suite, parameters, clock) --> row by row: ratio, interval, rank test
//! runs of B --'                                                |
//!                                            Holm over all rows '--> faster, slower, same, unclear
//! ```
//!
//! What is compared are means of response times, B's over A's, so that 2 is twice as slow. A pair of
//! runs that were made side by side is one observation of the ratio: what the machine did meanwhile
//! happened to both. With one run of each, the batches of operations within it stand for
//! observations, and what differs from run to run is not in the interval ([`Caveat::OneRun`]).
//!
//! A row is *slower* (or *faster*) when both of two tests say so after Holm's correction for the
//! number of rows, and the ratio differs from 1 by more than what counts as the same: a rank test,
//! which a few slow operations do not impress, and the ratio itself beside its standard error, which
//! knows how much pairs of runs differ. It is the *same* when its whole interval lies within what
//! counts as that. Otherwise it is *unclear*, and it is said what difference would have been seen.
//!
//! Of a row with failed operations it is not times that are compared, but the shares that failed
//! ([`Failing`]): it is *broken* or *repaired* where these surely differ.

mod alike;
mod failing;
mod rank;
mod ratio;
mod signed_rank;
#[cfg(test)]
mod tests;

use record::{Environment, PlanRecord};

use crate::bins::total;
use crate::{Completeness, Since, Status, Summary, TestSummary};

pub(crate) use rank::holm;

pub use alike::{Caveat, Difference};
pub use failing::Failing;
pub use ratio::Ratio;

/// Rate of false alarms that is accepted, over all rows of a comparison together.
pub const ALPHA: f64 = 0.05;

/// A run to compare: its plan, and what it says.
#[derive(Debug, Clone, Copy)]
pub struct Side<'a> {
    /// What was run.
    pub plan: &'a PlanRecord,
    /// From where, and when.
    pub env: &'a Environment,
    /// What came of it.
    pub summary: &'a Summary,
}

/// What one server does beside the other.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// One for each row of the suite.
    pub rows: Vec<Compared>,
    /// What to know before believing it.
    pub caveats: Vec<Caveat>,
    /// Pairs of runs.
    pub pairs: usize,
    /// Share by which times may differ and still count as the same.
    pub same_within: f64,
    /// What the times are counted from.
    pub since: Since,
}

/// One row of both.
#[derive(Debug, Clone, PartialEq)]
pub struct Compared {
    /// Name of the row.
    pub name: String,
    /// HTTP method.
    pub method: String,
    /// What A does.
    pub a: Estimate,
    /// What B does.
    pub b: Estimate,
    /// Mean of B over mean of A; `None` where one of them has no times, or failed.
    pub ratio: Option<Ratio>,
    /// How sure it is that one fails more often; `None` where neither failed any operation.
    pub failing: Option<Failing>,
    /// The answer.
    pub verdict: Verdict,
}

impl Compared {
    /// The p-value of what was tested, times or failures, and the same corrected for the number of
    /// rows; `None` where nothing was.
    pub fn tested(&self) -> Option<(f64, f64)> {
        let of_times = self.ratio.map(|ratio| (ratio.p, ratio.p_holm));
        of_times.or(self.failing.map(|failing| (failing.p, failing.p_holm)))
    }
}

/// What the runs of one server say of a row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// The worst of all its runs.
    pub status: Status,
    /// Mean time in nanoseconds, over all runs; `None` without any.
    pub mean: Option<f64>,
    /// Operations with a time.
    pub n: u64,
    /// Operations that failed, outside the windows as well.
    pub failed: u64,
    /// Operations that were as expected or failed, outside the windows as well.
    pub operations: u64,
}

/// What a comparison says of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// B takes less time.
    Faster,
    /// B takes more time.
    Slower,
    /// Whatever the difference is, it is within what counts as the same.
    Same,
    /// There may be a difference, or none.
    Unclear,
    /// It fails with B, and not with A, or less often.
    Broken,
    /// It fails with A, and not with B, or less often.
    Repaired,
    /// A can do it, and B cannot.
    Lost,
    /// B can do it, and A cannot.
    Gained,
    /// Neither did it well, or there is nothing to compare.
    NotCompared,
}

impl Verdict {
    /// All of them.
    pub const ALL: [Verdict; 9] = [
        Verdict::Faster,
        Verdict::Slower,
        Verdict::Same,
        Verdict::Unclear,
        Verdict::Broken,
        Verdict::Repaired,
        Verdict::Lost,
        Verdict::Gained,
        Verdict::NotCompared,
    ];

    /// B does worse than A.
    pub fn is_worse(self) -> bool {
        matches!(self, Verdict::Slower | Verdict::Broken | Verdict::Lost)
    }

    /// B does better than A.
    pub fn is_better(self) -> bool {
        matches!(self, Verdict::Faster | Verdict::Repaired | Verdict::Gained)
    }

    /// The name used in files: `not_compared`.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Faster => "faster",
            Verdict::Slower => "slower",
            Verdict::Same => "same",
            Verdict::Unclear => "unclear",
            Verdict::Broken => "broken",
            Verdict::Repaired => "repaired",
            Verdict::Lost => "lost",
            Verdict::Gained => "gained",
            Verdict::NotCompared => "not_compared",
        }
    }
}

/// Compares runs of B with runs of A: the first with the first, and so on.
///
/// # Errors
/// Where they did not do the same.
pub fn compare(a: &[Side<'_>], b: &[Side<'_>], same_within: f64) -> Result<Comparison, Difference> {
    let caveats = alike::check(a, b)?;
    let tests = &a[0].summary.tests;
    let mut rows: Vec<Compared> = tests
        .iter()
        .map(|row| {
            compared(
                &row.name,
                &rows_called(a, &row.name),
                &rows_called(b, &row.name),
            )
        })
        .collect();
    judge(&mut rows, same_within);
    Ok(Comparison {
        rows,
        caveats,
        pairs: a.len(),
        same_within,
        since: Since::of(tests),
    })
}

/// Judges the rows for which there is something to test, all of them together.
fn judge(rows: &mut [Compared], same_within: f64) {
    let tests = rows.iter_mut().filter_map(|row| match row {
        Compared {
            ratio: Some(found), ..
        } => Some((found.p, &mut found.p_holm)),
        Compared {
            failing: Some(found),
            ..
        } => Some((found.p, &mut found.p_holm)),
        _ => None,
    });
    let level = correct(tests.collect());
    for row in rows {
        if let Some(ratio) = &mut row.ratio {
            row.verdict = ratio.judge(same_within, level);
        } else if let Some(failing) = &row.failing {
            row.verdict = failing.verdict(&row.a, &row.b);
        }
    }
}

/// Corrects p-values, each given with the place of the corrected one. What is left is the level at
/// which one more of them would have been sure.
fn correct(tests: Vec<(f64, &mut f64)>) -> f64 {
    let p: Vec<f64> = tests.iter().map(|(p, _)| *p).collect();
    let corrected = holm(&p);
    let open = corrected.iter().filter(|p| **p >= ALPHA).count();
    for ((_, p_holm), corrected) in tests.into_iter().zip(corrected) {
        *p_holm = corrected;
    }
    ALPHA / open.max(1) as f64
}

/// A row of a run.
#[derive(Clone, Copy)]
struct Row<'a> {
    /// Name of the run.
    run: &'a str,
    /// Whether the run went through.
    complete: &'a Completeness,
    summary: &'a TestSummary,
}

impl Row<'_> {
    /// The run ended before it came to this row.
    fn is_unreached(&self) -> bool {
        let done = self.summary.expected() + self.summary.failed();
        *self.complete != Completeness::Complete && done == 0
    }
}

fn rows_called<'a>(sides: &[Side<'a>], name: &str) -> Vec<Row<'a>> {
    let row = |side: &Side<'a>| {
        let summary = side.summary.tests.iter().find(|row| row.name == name)?;
        Some(Row {
            run: side.plan.run_id.as_str(),
            complete: &side.summary.complete,
            summary,
        })
    };
    sides.iter().filter_map(row).collect()
}

/// The row of both, with a verdict that is preliminary where there is something to test.
fn compared(name: &str, a: &[Row<'_>], b: &[Row<'_>]) -> Compared {
    let mut row = Compared {
        name: name.to_owned(),
        method: a
            .first()
            .map_or(String::new(), |row| row.summary.method.clone()),
        a: estimate(a),
        b: estimate(b),
        ratio: None,
        failing: None,
        verdict: Verdict::NotCompared,
    };
    if a.iter().chain(b).any(Row::is_unreached) {
        return row;
    }
    match (row.a.status, row.b.status) {
        (Status::Ok, Status::Ok) => row.ratio = ratio::of(name, &batches(a), &batches(b)),
        (Status::Ok, b) if b.is_beyond_the_server() => row.verdict = Verdict::Lost,
        (a, Status::Ok) if a.is_beyond_the_server() => row.verdict = Verdict::Gained,
        (Status::NotSupported | Status::Skipped | Status::NotDrawn, _)
        | (_, Status::NotSupported | Status::Skipped | Status::NotDrawn) => {}
        (Status::Failed, _) | (_, Status::Failed) => {
            (row.failing, row.verdict) = failing::of((&row.a, a), (&row.b, b));
        }
    }
    row
}

fn batches<'a>(rows: &[Row<'a>]) -> Vec<ratio::Run<'a>> {
    let run = |row: &Row<'a>| ratio::Run {
        id: row.run,
        batches: row.summary.waited_batches(),
    };
    rows.iter().map(run).collect()
}

fn estimate(rows: &[Row<'_>]) -> Estimate {
    let rows = || rows.iter().map(|row| row.summary);
    let all = total(rows().flat_map(TestSummary::waited_batches));
    let expected: u64 = rows().map(TestSummary::expected).sum();
    let failed = rows().map(TestSummary::failed).sum();
    Estimate {
        status: rows()
            .map(|row| row.status)
            .max_by_key(|status| status.badness())
            .unwrap_or(Status::Failed),
        mean: (all.n > 0).then(|| all.mean()),
        n: all.n,
        failed,
        operations: expected + failed,
    }
}

/// Up to that share of difference a ratio counts as none.
pub(crate) fn is_same(ratio: f64, same_within: f64) -> bool {
    let limit = 1.0 + same_within;
    ratio <= limit && ratio >= 1.0 / limit
}
