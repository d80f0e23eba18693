//! Comparison of two servers by runs of both: is one faster than the other?
//!
//! ```text
//! runs of A --+--> alike? (suite, parameters, clock) --> rows, pair by pair --+--> times that were ok
//! runs of B --'                                                               +--> shares that failed
//!                                                                             `--> costs inside of the servers
//!                 Holm over all of these tests --> faster, slower, broken, repaired; same; inconclusive
//! ```
//!
//! The times compared are response times (or total times, [`ComparedTimes`]), B's over A's, so that
//! 2 is twice as slow. The unit is the pair of runs that were made side by side: events of the
//! machine during a pair affect both, and differences from run to run (a restart, the layout of
//! memory) are in the spread of the pairs. One run of each does not show that spread: its ratios
//! are shown, and there is no verdict ([`Caveat::OneRun`]).
//!
//! A row is *slower* (or *faster*) when the means and the medians of its pairs both show it, after
//! Holm's correction, and by more than what counts as the same. It is the *same* when both
//! intervals lie within what counts as that. Otherwise it is *inconclusive*, with the smallest
//! difference that would have been detected ([`ratio`]).
//!
//! Times are those of operations that were ok, also where others failed. Whether one server fails
//! more often is a second question about the same row ([`failing`]): *broken* or *repaired*.

mod alike;
mod condition;
mod failing;
mod holm;
mod inference;
mod inside;
mod rank_sum;
mod ratio;
mod rows;
mod signed_rank;
#[cfg(test)]
mod tests;
mod total_times;

use record::{Environment, PlanRecord};

use crate::row::sound;
use crate::{Since, Status, Summary};

use rows::RowInRun;

pub use alike::{Caveat, Difference, Setting};
pub use condition::{compared_names, is_finer};
pub use failing::{Failing, LEAST_TOTAL};
pub use holm::holm;
pub use inference::{EARLY, Early, Inference, infer};
pub use inside::{ComparedCost, ComparedInside, CostCertainty, InsideCost, LEAST_STARTS};
pub use ratio::{Certainty, Direction, Observations, Ratio, WORTH_DETECTING};
pub use rows::RowKind;
pub use total_times::TotalTimes;

/// Rate of false alarms that is accepted, over all rows of a comparison together.
pub const ALPHA: f64 = 0.05;

/// The times that are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ComparedTimes {
    /// To the first byte of the response: from *sent*, or from *planned* in an open loop.
    ToFirstByte,
    /// Total times: from the first byte of the request to the last byte of the response.
    Total,
}

/// Options of a comparison.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ComparedBy {
    /// Share by which times may differ and still count as the same.
    pub same_within: f64,
    /// The times that are compared.
    pub times: ComparedTimes,
}

/// A run to compare: its plan, and its summary.
#[derive(Debug, Clone, Copy)]
pub struct Side<'a> {
    /// The plan of the run.
    pub plan: &'a PlanRecord,
    /// From where, and when.
    pub env: &'a Environment,
    /// The results of the run.
    pub summary: &'a Summary,
}

/// Result of comparing two servers.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// One for each row of the suite.
    pub rows: Vec<Compared>,
    /// Reasons for caution when reading the result.
    pub caveats: Vec<Caveat>,
    /// Pairs of runs.
    pub pairs: usize,
    /// Share by which times may differ and still count as the same.
    pub same_within: f64,
    /// The moment from which the times are counted.
    pub since: Since,
}

/// One row of both.
#[derive(Debug, Clone, PartialEq)]
pub struct Compared {
    /// Name of the row.
    pub name: String,
    /// The kind of the row.
    pub kind: RowKind,
    /// HTTP method.
    pub method: String,
    /// Estimate of A.
    pub a: Estimate,
    /// Estimate of B.
    pub b: Estimate,
    /// Times of B over times of A, of operations that were ok; `None` where no pair has both.
    pub ratio: Option<Ratio>,
    /// Significance of a difference in failures; `None` where neither failed any operation.
    pub failing: Option<Failing>,
    /// Pairs of runs that reached this row.
    pub reached: usize,
    /// Those of them in which a warning disqualifies the row in one of both runs. They are not in
    /// the ratio, but where there are no others.
    pub disqualified: usize,
    /// Pairs of runs in which the load generator may have caused all failures of one of both runs.
    /// They are in no verdict about failures, which is inconclusive where nothing else failed.
    pub doubtful: usize,
    /// Costs of an operation inside of both servers; `None` where the servers were not traced.
    pub inside: Option<ComparedInside>,
    /// The worse of two verdicts: on times and on failures.
    pub verdict: Verdict,
    /// More pairs may change the verdict.
    pub is_open: bool,
}

impl Compared {
    /// Evidence from the times; `None` with a single pair.
    pub fn evidence(&self) -> Option<&Certainty> {
        self.ratio.as_ref()?.evidence.as_ref()
    }

    /// Half of the pairs or more are disqualified, so that the times of the row have no verdict.
    pub fn is_disqualified(&self) -> bool {
        self.disqualified > 0 && 2 * self.disqualified >= self.reached
    }

    fn judge(&mut self, same_within: f64, level: f64, tests: usize) {
        let is_disqualified = self.is_disqualified();
        self.is_open = self.failing.is_some();
        let mut verdicts = Vec::new();
        if is_disqualified || self.doubtful > 0 {
            verdicts.push(Verdict::Inconclusive);
        }
        if let Some(ratio) = &mut self.ratio {
            ratio.judge(same_within, level);
            if is_disqualified {
                ratio.verdict = Verdict::Inconclusive;
            }
            self.is_open |= ratio.is_open(same_within, tests);
            verdicts.push(ratio.verdict);
        }
        if let Some(failing) = &mut self.failing {
            failing.judge(tests);
            verdicts.push(failing.verdict);
        }
        if let Some(inside) = &mut self.inside {
            for ratio in inside.ratios() {
                ratio.judge(same_within, level);
            }
            self.is_open |= inside.is_open(same_within, tests);
        }
        let worst = verdicts.into_iter().min_by_key(|verdict| verdict.order());
        self.verdict = worst.unwrap_or(self.verdict);
    }
}

/// Estimate of a row over all runs of one server.
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
    /// Runs in which it could not be measured, because its set-up failed.
    pub unmeasured: usize,
}

/// Verdict of a comparison on a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// B takes less time.
    Faster,
    /// B takes more time.
    Slower,
    /// Whatever the difference is, it is within what counts as the same.
    Same,
    /// There may be a difference, or none.
    Inconclusive,
    /// Fails with B, but not, or less often, with A.
    Broken,
    /// Fails with A, but not, or less often, with B.
    Repaired,
    /// A can do it, and B cannot.
    Lost,
    /// B can do it, and A cannot.
    Gained,
    /// Neither did it well, or there is nothing to compare.
    NotCompared,
}

impl Verdict {
    /// Those on times and on costs.
    pub const OF_RATIOS: [Verdict; 4] = [
        Verdict::Slower,
        Verdict::Faster,
        Verdict::Same,
        Verdict::Inconclusive,
    ];

    /// All of them.
    pub const ALL: [Verdict; 9] = [
        Verdict::Faster,
        Verdict::Slower,
        Verdict::Same,
        Verdict::Inconclusive,
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

    /// Of two verdicts on one row the first in this order is that of the row.
    fn order(self) -> u8 {
        match self {
            Verdict::Broken => 0,
            Verdict::Lost => 1,
            Verdict::Slower => 2,
            Verdict::Repaired => 3,
            Verdict::Gained => 4,
            Verdict::Faster => 5,
            Verdict::Inconclusive => 6,
            Verdict::Same => 7,
            Verdict::NotCompared => 8,
        }
    }

    /// The name of a verdict on a cost: `more`, `less`, or that of all verdicts.
    pub fn name_of_cost(self) -> &'static str {
        match self {
            Verdict::Slower => "more",
            Verdict::Faster => "less",
            verdict => verdict.name(),
        }
    }

    /// The name used in files: `not_compared`.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Faster => "faster",
            Verdict::Slower => "slower",
            Verdict::Same => "same",
            Verdict::Inconclusive => "inconclusive",
            Verdict::Broken => "broken",
            Verdict::Repaired => "repaired",
            Verdict::Lost => "lost",
            Verdict::Gained => "gained",
            Verdict::NotCompared => "not_compared",
        }
    }
}

/// Compares runs of B with runs of A, in the order in which they were made: the first with the
/// first, and so on. Both runs of a pair have done the same tests; a pair need not have done all.
///
/// # Errors
/// Where they did not do the same.
pub fn compare(a: &[Side<'_>], b: &[Side<'_>], same_within: f64) -> Result<Comparison, Difference> {
    let times = ComparedTimes::ToFirstByte;
    compare_by(a, b, ComparedBy { same_within, times })
}

/// The same for the given options.
///
/// # Errors
/// Where both did not do the same.
pub fn compare_by(
    a: &[Side<'_>],
    b: &[Side<'_>],
    ComparedBy { same_within, times }: ComparedBy,
) -> Result<Comparison, Difference> {
    let mut caveats = alike::check(a, b)?;
    let since = match times {
        ComparedTimes::Total => Since::Started,
        ComparedTimes::ToFirstByte => {
            let differing = total_times::differing(a, b);
            caveats.extend((!differing.is_empty()).then_some(Caveat::TotalTimes(differing)));
            Since::of(a.iter().flat_map(|side| &side.summary.tests))
        }
    };
    let mut rows: Vec<Compared> = rows::names(a)
        .into_iter()
        .map(|row| {
            let inside = ComparedInside::of(a, b, &row.name);
            let (a, b) = (rows::in_runs(a, &row, times), rows::in_runs(b, &row, times));
            compared(row, (&a, &b), inside)
        })
        .collect();
    judge(&mut rows, same_within);
    Ok(Comparison {
        rows,
        caveats,
        pairs: a.len(),
        same_within,
        since,
    })
}

fn judge(rows: &mut [Compared], same_within: f64) {
    let tests = rows.iter_mut().flat_map(|row| {
        let times = row.ratio.as_mut().and_then(|ratio| ratio.evidence.as_mut());
        let failures = row.failing.as_mut().filter(|failing| !failing.is_total);
        let times = times.map(|found| (found.p, &mut found.p_holm));
        let failures = failures.map(|found| (found.p, &mut found.p_holm));
        let inside = row.inside.iter_mut().flat_map(ComparedInside::ratios);
        let inside = inside.filter_map(|ratio| ratio.evidence.as_mut());
        let inside = inside.map(|found| (found.p, &mut found.p_holm));
        times.into_iter().chain(failures).chain(inside)
    });
    let (tests, level) = correct(tests.collect());
    for row in rows {
        row.judge(same_within, level, tests);
    }
}

/// Corrects p-values, each given with a reference to the corrected one. Returns their number, and
/// the level at which one more of them would have been significant.
fn correct(tests: Vec<(f64, &mut f64)>) -> (usize, f64) {
    let p: Vec<f64> = tests.iter().map(|(p, _)| *p).collect();
    let corrected = holm(&p);
    let open = corrected.iter().filter(|p| **p >= ALPHA).count();
    for ((_, p_holm), corrected) in tests.into_iter().zip(corrected) {
        *p_holm = corrected;
    }
    (p.len(), ALPHA / open.max(1) as f64)
}

/// The row of both, with a verdict that is preliminary where there is something to test.
fn compared(
    row: rows::RowName,
    (a, b): (&[RowInRun], &[RowInRun]),
    inside: Option<ComparedInside>,
) -> Compared {
    let reached: Vec<(&RowInRun, &RowInRun)> = a
        .iter()
        .zip(b)
        .filter(|(a, b)| !a.is_unreached && !b.is_unreached)
        .collect();
    let is_any = !reached.is_empty();
    let a_never = is_any && reached.iter().all(|(a, _)| a.is_unsupported());
    let b_never = is_any && reached.iter().all(|(_, b)| b.is_unsupported());
    let (mut ratio, mut failing, mut disqualified, mut doubtful) = (None, None, 0, 0);
    let mut verdict = Verdict::NotCompared;
    match (a_never, b_never) {
        (false, true) if reached.iter().any(|(a, _)| a.has_worked()) => verdict = Verdict::Lost,
        (true, false) if reached.iter().any(|(_, b)| b.has_worked()) => verdict = Verdict::Gained,
        (false, false) => {
            let is_disqualified =
                |(a, b): &(&RowInRun, &RowInRun)| a.is_disqualified || b.is_disqualified;
            disqualified = reached.iter().filter(|pair| is_disqualified(pair)).count();
            let sound: Vec<(&RowInRun, &RowInRun)> =
                sound(&reached, is_disqualified).copied().collect();
            ratio = Ratio::new(&Observations::of(&sound));
            let pairs = reached.iter().copied();
            let of_server =
                |(a, b): &(&RowInRun, &RowInRun)| !a.may_be_no_failure && !b.may_be_no_failure;
            let judged: Vec<(&RowInRun, &RowInRun)> = pairs.filter(of_server).collect();
            doubtful = reached.len() - judged.len();
            failing = Failing::of(&judged);
        }
        _ => {}
    }
    Compared {
        name: row.name,
        kind: row.kind,
        method: row.method,
        a: rows::estimate(a),
        b: rows::estimate(b),
        ratio,
        failing,
        reached: reached.len(),
        disqualified,
        doubtful,
        inside,
        verdict,
        is_open: false,
    }
}

pub(crate) fn is_same(ratio: f64, same_within: f64) -> bool {
    let limit = 1.0 + same_within;
    ratio <= limit && ratio >= 1.0 / limit
}
