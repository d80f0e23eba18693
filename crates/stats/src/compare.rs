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

mod alike;
mod rank;
mod ratio;
mod signed_rank;
#[cfg(test)]
mod tests;

use record::{Machine, PlanRecord};

use crate::bins::total;
use crate::{Status, Summary, TestSummary};

pub(crate) use rank::holm;

pub use alike::{Caveat, Difference};
pub use ratio::Ratio;

/// Rate of false alarms that is accepted, over all rows of a comparison together.
pub const ALPHA: f64 = 0.05;

/// A run to compare: its plan, and what it says.
#[derive(Debug, Clone, Copy)]
pub struct Side<'a> {
    /// What was run.
    pub plan: &'a PlanRecord,
    /// From where.
    pub machine: &'a Machine,
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
    /// Mean of B over mean of A; `None` where one of them has no times.
    pub ratio: Option<Ratio>,
    /// The answer.
    pub verdict: Verdict,
}

/// What the runs of one server say of a row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// The worst of all its runs.
    pub status: Status,
    /// Mean response time in nanoseconds, over all runs; `None` without any.
    pub mean: Option<f64>,
    /// Operations with a response time.
    pub n: u64,
    /// Operations that failed.
    pub failed: u64,
    /// Operations that count or failed.
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
    /// It fails with B, and not with A.
    Broken,
    /// It fails with A, and not with B.
    Repaired,
    /// A can do it, and B cannot.
    Lost,
    /// B can do it, and A cannot.
    Gained,
    /// Neither did it well, or there are no times to compare.
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
    let names = a[0].summary.tests.iter().map(|row| row.name.as_str());
    let mut rows: Vec<Compared> = names
        .map(|name| compared(name, &rows_called(a, name), &rows_called(b, name)))
        .collect();
    let tested = rows
        .iter_mut()
        .filter(|row| row.verdict == Verdict::Unclear);
    correct(tested.filter_map(|row| row.ratio.as_mut()).collect());
    for row in &mut rows {
        if let (Verdict::Unclear, Some(ratio)) = (row.verdict, &row.ratio) {
            row.verdict = ratio.verdict(same_within);
        }
    }
    Ok(Comparison {
        rows,
        caveats,
        pairs: a.len(),
        same_within,
    })
}

fn correct(ratios: Vec<&mut Ratio>) {
    let p: Vec<f64> = ratios.iter().map(|ratio| ratio.p).collect();
    for (ratio, p_holm) in ratios.into_iter().zip(holm(&p)) {
        ratio.p_holm = p_holm;
    }
}

/// A row of a run, and the name of the run.
type Row<'a> = (&'a str, &'a TestSummary);

fn rows_called<'a>(sides: &[Side<'a>], name: &str) -> Vec<Row<'a>> {
    let row = |side: &Side<'a>| {
        let row = side.summary.tests.iter().find(|row| row.name == name)?;
        Some((side.plan.run_id.as_str(), row))
    };
    sides.iter().filter_map(row).collect()
}

/// The row of both, whose verdict is *unclear* where times are to be compared.
fn compared(name: &str, a: &[Row<'_>], b: &[Row<'_>]) -> Compared {
    let (of_a, of_b) = (estimate(a), estimate(b));
    let ratio = match (of_a.status, of_b.status) {
        (Status::Ok, Status::Ok) => ratio::of(name, &batches(a), &batches(b)),
        _ => None,
    };
    Compared {
        name: name.to_owned(),
        method: a
            .first()
            .map_or(String::new(), |(_, row)| row.method.clone()),
        a: of_a,
        b: of_b,
        verdict: match (of_a.status, of_b.status, &ratio) {
            (Status::Ok, Status::Ok, Some(_)) => Verdict::Unclear,
            (Status::Ok, Status::Failed, _) => Verdict::Broken,
            (Status::Failed, Status::Ok, _) => Verdict::Repaired,
            (Status::Ok | Status::Failed, Status::NotSupported, _) => Verdict::Lost,
            (Status::NotSupported, Status::Ok | Status::Failed, _) => Verdict::Gained,
            _ => Verdict::NotCompared,
        },
        ratio,
    }
}

fn batches<'a>(rows: &[Row<'a>]) -> Vec<ratio::Run<'a>> {
    let run = |(id, row): &Row<'a>| ratio::Run {
        id,
        batches: &row.batches,
    };
    rows.iter().map(run).collect()
}

fn estimate(rows: &[Row<'_>]) -> Estimate {
    let rows = || rows.iter().map(|(_, row)| *row);
    let all = total(rows().flat_map(|row| &row.batches));
    Estimate {
        status: rows()
            .map(|row| row.status)
            .max_by_key(|status| status.badness())
            .unwrap_or(Status::Failed),
        mean: (all.n > 0).then(|| all.mean()),
        n: all.n,
        failed: rows().map(TestSummary::failed).sum(),
        operations: rows().map(TestSummary::operations).sum(),
    }
}
