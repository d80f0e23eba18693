//! Pass, inconclusive or fail: the conclusion on a row, and on a run.

use record::{ConstraintSense, Nanos, Outcome};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{Outcomes, Status, StatusReason, Summary, TestSummary, Warning, WarningKind};

/// Conclusion of a row or a run. Of several, a failure takes precedence over an inconclusive row,
/// and that over a pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Conclusion {
    /// Success: the estimates describe the server.
    Pass,
    /// A warning disqualifies the row, or the load generator may have caused its failures.
    Inconclusive,
    /// The server failed.
    Fail,
}

impl Conclusion {
    /// The name used in files: `inconclusive`.
    pub fn name(self) -> &'static str {
        match self {
            Conclusion::Pass => "pass",
            Conclusion::Inconclusive => "inconclusive",
            Conclusion::Fail => "fail",
        }
    }
}

impl TestSummary {
    /// The warning for which the estimates of this row do not describe the server.
    pub fn disqualified(&self) -> Option<&Warning> {
        self.warnings.iter().find(|warning| warning.disqualifies())
    }

    /// The warning for which the times of this row do not describe the named server: it
    /// disqualifies the row, or they are those of a cache in front of it.
    pub(crate) fn not_of_server(&self) -> Option<&Warning> {
        let mut warnings = self.warnings.iter();
        self.disqualified()
            .or_else(|| warnings.find(|warning| warning.kind == WarningKind::Cached))
    }

    /// The conclusion on the row.
    pub fn conclusion(&self) -> Conclusion {
        match (self.status, self.disqualified()) {
            (Status::Failed, _) if self.may_be_no_failure => Conclusion::Inconclusive,
            (Status::Failed, _) => Conclusion::Fail,
            (Status::Ok, Some(_)) => Conclusion::Inconclusive,
            (Status::NotDrawn, _) if self.evidence == Some(StatusReason::NothingDue) => {
                Conclusion::Inconclusive
            }
            // Every operation began outside of the window.
            (Status::Ok, None) if self.outcomes.total() == 0 => Conclusion::Inconclusive,
            (_, _) => Conclusion::Pass,
        }
    }
}

impl Summary {
    /// The rows of which a warning disqualifies the estimates, each with that warning.
    pub fn disqualified(&self) -> impl Iterator<Item = (&TestSummary, &Warning)> {
        self.tests
            .iter()
            .filter_map(|row| Some((row, row.disqualified()?)))
    }

    /// The rows that are inconclusive, and the failed ones of which the times are disqualified as
    /// well: a failure does not hide that.
    pub fn inconclusive(&self) -> impl Iterator<Item = &TestSummary> {
        self.tests.iter().filter(|row| match row.conclusion() {
            Conclusion::Inconclusive => true,
            Conclusion::Fail => row.disqualified().is_some() && row.response.is_some(),
            Conclusion::Pass => false,
        })
    }

    /// The conclusion where all rows were requested: the worst of these and of its constraints.
    pub fn conclusion(&self) -> Conclusion {
        let rows = self.tests.iter().map(TestSummary::conclusion);
        // A trial is part of a search, which has a result of its own.
        let constraints = self.constraints.iter();
        let constraints =
            constraints.filter(|constraint| constraint.sense != ConstraintSense::Trial);
        let verdicts = constraints.map(|constraint| constraint.verdict);
        rows.chain(verdicts).max().unwrap_or(Conclusion::Pass)
    }
}

/// True if the load generator may have caused all failures of a row.
pub(crate) fn may_be_no_failure(
    outcomes: &Outcomes,
    warnings: &[Warning],
    longest_stall: Nanos,
    timeout_s: f64,
) -> bool {
    let any = |kind| warnings.iter().any(|warning| warning.kind == kind);
    let is_exhausted = any(WarningKind::Exhausted);
    // A worker thread without time reads late and sends late; the server may have closed the
    // connection by then.
    let is_slow =
        any(WarningKind::Saturated) || longest_stall as f64 * STALL_OF_TIMEOUT >= timeout_s * 1e9;
    // A server that responds is judged by its response. Only operations without one may be
    // explained.
    let is_explained = |outcome| match outcome {
        Outcome::Dropped => warnings.iter().any(Warning::disqualifies),
        Outcome::ConnectFailed => is_exhausted || is_slow,
        Outcome::Reset | Outcome::Timeout => is_slow,
        _ => false,
    };
    let of = outcomes.iter();
    let mut failed = of.filter(|(outcome, n)| *n > 0 && outcome.is_failure());
    outcomes.failed() > 0 && failed.all(|(outcome, _)| is_explained(outcome))
}

/// A stall of the time limit over this, or longer, may have made an operation exceed the limit.
const STALL_OF_TIMEOUT: f64 = 4.0;
