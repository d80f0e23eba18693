//! The pass that samples the stacks of the server for flame graphs: as many operations of each row
//! as fit into a short time, not timed.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use engine::{Cancel, KnownWindow, RowWatch, RunPlace, RunSpec, Sink};
use inside::sampler::StackSampler;
use record::{EventKind, FlameRow, MeasureId, Sample};
use suite::Limit;

use super::pass::{RepeatedPass, caution};

/// Duration of each test: a server that works for half of it has a thousand samples.
const LASTS: Duration = Duration::from_millis(400);

/// Sets the row of a sampler.
struct FlamedRows(StackSampler);

impl RowWatch for FlamedRows {
    fn begins(&self, row: Option<MeasureId>) {
        self.0.begin(row);
    }

    fn response_arrived(&self) {}

    fn rests(&self) {
        self.0.begin(None);
    }
}

/// Discards samples: times of a pass are of no interest.
struct NoSamples;

impl Sink for NoSamples {
    fn take(&mut self, _: &[Sample], _: KnownWindow) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

/// Repeats the tests of a run while the stacks of these processes and their descendants are
/// sampled. Returns events for the record.
pub(super) fn pass(roots: &[u32], run: (&RunSpec, &RunPlace), cancel: &Cancel) -> Vec<EventKind> {
    let sampler = match StackSampler::attach(roots, LASTS / FlameRow::PARTS as u32) {
        Ok(sampler) => sampler,
        Err(why) => return vec![caution(format!("there are no flame graphs: {why}"))],
    };
    let pass = RepeatedPass::of(run, "sampled", |_| Limit::Duration(LASTS));
    let rows = Arc::new(FlamedRows(sampler));
    let ended = pass.run(
        Arc::clone(&rows) as Arc<dyn RowWatch>,
        &mut NoSamples,
        cancel,
    );
    let mut events = ended.events;
    if let Some(why) = ended.cut_off {
        events.push(caution(format!(
            "there are not flame graphs of all rows: {why}"
        )));
    }
    let sampled = Arc::into_inner(rows).map_or(Vec::new(), |rows| rows.0.end());
    events.extend(sampled.into_iter().map(EventKind::Flame));
    events
}
