//! Facts about a server from the events of a run, beside those from its samples.

use std::collections::BTreeMap;

use record::{Cause, EventKind, MeasureId, TestId};

#[derive(Debug, Clone, Default)]
pub(crate) struct ServerFacts {
    /// One for each status of each run.
    pub(crate) closed: Vec<ClosedAfter>,
    /// Why tests are not supported: the step that is not, where it is measured, and the cause.
    pub(crate) unsupported: BTreeMap<TestId, (Option<MeasureId>, Cause)>,
    /// Why operations failed, `None` where that is not known as data. Of each measure only the
    /// first few are described.
    pub(crate) failures: BTreeMap<MeasureId, Vec<Option<Cause>>>,
}

/// Kept connections that the server closed after responses with this status, without
/// `Connection: close`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ClosedAfter {
    pub(crate) status: u16,
    /// All that were closed, and those among them of which the next request was lost.
    pub(crate) closes: u64,
    pub(crate) lost: u64,
}

impl ServerFacts {
    /// Adds the facts of an event. `test` and `measure` map its test and measure to those of the
    /// plan that is diagnosed, if any.
    pub(crate) fn add(
        &mut self,
        event: &EventKind,
        test: impl Fn(TestId) -> Option<TestId>,
        measure: impl Fn(MeasureId) -> Option<MeasureId>,
    ) {
        match event {
            EventKind::ClosedSilently {
                status,
                noticed,
                lost,
            } => self.closed.push(ClosedAfter {
                status: *status,
                closes: noticed + lost,
                lost: *lost,
            }),
            EventKind::NotSupported {
                test: id,
                step: Some(step),
                ..
            } => {
                let its = step.measure.map(&measure);
                if let (Some(test), Some(cause)) = (test(*id), &step.cause)
                    && its != Some(None)
                {
                    let first = || (its.flatten(), cause.clone());
                    self.unsupported.entry(test).or_insert_with(first);
                }
            }
            EventKind::OperationFailed {
                measure: id, cause, ..
            } => {
                if let Some(measure) = measure(*id) {
                    let causes = self.failures.entry(measure).or_default();
                    causes.push(cause.clone());
                }
            }
            _ => {}
        }
    }
}
