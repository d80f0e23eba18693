//! Identity of an operation: the common fields of its sample and its messages.

use record::{EventKind, MeasureId, Outcome};

use crate::drive::check::Wrong;
use crate::drive::context::RunContext;

/// A measured request of a user, or a stop-watch.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Operation {
    pub(crate) measure: MeasureId,
    pub(crate) user: u32,
    /// The target of the plan that it went to.
    pub(crate) target: u16,
    /// The role of that user in the test, from 1; 0 in a test without roles.
    pub(crate) role: u16,
    /// Number of the request, as in `X-Prestan`.
    pub(crate) number: u64,
    /// The visit whose page it belongs to.
    pub(crate) visit: Option<u64>,
    /// Number of parts that the first file of its page named; `None` if no file names any.
    pub(crate) parts: Option<u16>,
    /// The stage of the load in which it was planned.
    pub(crate) phase: u16,
}

impl Operation {
    /// Writes its failure, with the attempted request. The interruption of a run is no failure.
    pub(crate) fn failed(
        &self,
        context: &RunContext,
        attempted: &str,
        wrong: &Wrong,
        status: Option<u16>,
    ) {
        if wrong.outcome == Outcome::Cancelled {
            return;
        }
        context.progress.add_failed();
        context.journal.write(EventKind::OperationFailed {
            measure: self.measure,
            user: self.user,
            number: self.number,
            outcome: wrong.outcome,
            status,
            evidence: format!("{attempted}: {}", wrong.what),
            cause: wrong.cause.clone(),
        });
    }
}
