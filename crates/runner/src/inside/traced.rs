//! The pass that counts the system calls of the server: a few operations of each row, not timed.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use engine::{Cancel, KnownWindow, RowWatch, RunPlace, RunSpec, Sink};
use inside::tracer::{TracedCalls, Tracer};
use inside::{CurrentRow, NamedProcesses};
use record::{EventKind, MeasureId, Nanos, Outcome, Sample, TracedRow};
use suite::Limit;

use super::pass::{RepeatedPass, caution};

/// Operations of each row that are traced.
const OPERATIONS: u32 = 5;
/// Longest wait until a server rests. A busy one never does.
const LONGEST_REST: Duration = Duration::from_millis(50);

/// The server of a run, to trace.
pub(super) struct TracedServer {
    pub(super) roots: Vec<u32>,
    /// Processes that were named.
    pub(super) named: Arc<NamedProcesses>,
    /// Its working directory, if known.
    pub(super) directory: Option<PathBuf>,
}

/// Sets the row of a tracer.
struct TracedRows {
    tracer: Tracer,
    current: Arc<CurrentRow>,
    named: Arc<NamedProcesses>,
    /// Number of times that the server was expected to rest, and that it did not.
    rests: AtomicU32,
    unrest: AtomicU32,
}

impl RowWatch for TracedRows {
    fn begins(&self, row: Option<MeasureId>) {
        // From now on, another process responds, or none.
        if self.named.have_ended() {
            self.current.server_ended();
            return;
        }
        // Work after a response still belongs to the row that caused it, or to none.
        if row.or(self.current.row()).is_some() {
            let is_idle = self.tracer.wait_until_idle(LONGEST_REST);
            self.rests.fetch_add(1, Ordering::Relaxed);
            self.unrest
                .fetch_add(u32::from(!is_idle), Ordering::Relaxed);
        }
        match row {
            Some(row) => self.current.begin(row),
            None => self.current.rest(),
        }
    }

    fn response_arrived(&self) {
        self.current.response_received();
    }

    fn rests(&self) {
        self.begins(None);
    }
}

impl TracedRows {
    /// A warning if the server seldom rested: calls that it makes by itself are among those
    /// counted.
    fn caution(&self) -> Option<EventKind> {
        let [rests, unrest] =
            [&self.rests, &self.unrest].map(|count| count.load(Ordering::Relaxed));
        (unrest > rests / 2).then(|| {
            caution(format!(
                "calls that the server makes without being asked are among those that were counted: it was at work {unrest} \
                 of {rests} times when it had responded"
            ))
        })
    }
}

#[derive(Default)]
struct TracedTimes(BTreeMap<MeasureId, OperationTimes>);

#[derive(Default)]
struct OperationTimes {
    ended: u64,
    /// Times of operations that were ok.
    times: Vec<Nanos>,
}

impl Sink for TracedTimes {
    fn take(&mut self, samples: &[Sample], _: KnownWindow) -> ControlFlow<()> {
        for sample in samples {
            let operations = self.0.entry(sample.measure).or_default();
            operations.ended += 1;
            let done = sample.moments.done;
            if let Some(done) = done.filter(|_| sample.outcome == Outcome::Ok) {
                operations
                    .times
                    .push(done.saturating_sub(sample.moments.started));
            }
        }
        ControlFlow::Continue(())
    }
}

impl TracedServer {
    /// Repeats a few operations of each row while the server is traced. Returns events for the
    /// record.
    pub(super) fn pass(&self, run: (&RunSpec, &RunPlace), cancel: &Cancel) -> Vec<EventKind> {
        // Servers that are compared are traced one after the other: their times are compared with
        // those of the run, and a process that both share has one tracer.
        static TRACING: Mutex<()> = Mutex::new(());
        let _alone = TRACING.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(which) = self.named.description_of_end() {
            let why = format!("system calls of the server were not counted: {which} had ended");
            return vec![caution(why)];
        }
        let pass = RepeatedPass::of(run, "traced", shortened);
        let current = Arc::new(CurrentRow::new(pass.spec.plan.measures.len()));
        let collection = format!("PrestanTest-{}", pass.spec.run_id);
        let tracer = Tracer::attach(
            &self.roots,
            self.directory.as_deref(),
            &collection,
            Arc::clone(&current),
        );
        let tracer = match tracer {
            Ok(tracer) => tracer,
            Err(why) => {
                return vec![caution(format!(
                    "system calls of the server were not counted: {why}"
                ))];
            }
        };
        let rows = Arc::new(TracedRows {
            tracer,
            current,
            named: Arc::clone(&self.named),
            rests: AtomicU32::new(0),
            unrest: AtomicU32::new(0),
        });
        let mut times = TracedTimes::default();
        let ended = pass.run(Arc::clone(&rows) as Arc<dyn RowWatch>, &mut times, cancel);
        // The last call may have been cut off by the end of the server.
        rows.rests();
        let mut events = ended.events;
        events.extend(rows.caution());
        let is_cut_off = ended.cut_off.is_some();
        let dead = self.named.description_of_end();
        if let Some(which) = &dead {
            events.push(caution(format!(
                "{which} ended while it was traced, and system calls are those of the operations before that; attaching a tracer \
                 interrupts calls that wait (EINTR), which some servers take for fatal: --no-trace leaves tracing out"
            )));
        } else if let Some(why) = ended.cut_off {
            events.push(caution(format!(
                "system calls of the server were not counted for all rows: {why}"
            )));
        }
        let traced = Arc::into_inner(rows).map(|rows| rows.tracer.end());
        let TracedCalls { rows, unseen } = traced.unwrap_or_default();
        events.extend(unseen.map(|by| EventKind::UnseenCalls { by }));
        let traced = rows.into_iter();
        // An operation that was cut off lacks some calls.
        let whole = traced.filter(|row| !is_cut_off || times.has_all_of(row));
        let whole: Vec<TracedRow> = whole.map(|row| times.complete(row)).collect();
        let failed = whole.iter().filter(|row| row.ok == 0).count();
        if failed > 0 && !is_cut_off && dead.is_none() {
            events.push(caution(format!(
                "system calls of {failed} of {} rows were not counted: no operation was ok while the server was traced; has it \
                 ended?",
                whole.len()
            )));
        }
        events.extend(whole.into_iter().map(EventKind::Traced));
        events
    }
}

impl TracedTimes {
    /// True if all operations that began have ended.
    fn has_all_of(&self, row: &TracedRow) -> bool {
        let ended = self.0.get(&row.measure).map_or(0, |times| times.ended);
        row.operations <= ended
    }

    fn complete(&self, row: TracedRow) -> TracedRow {
        let operations = self.0.get(&row.measure);
        let mut times = operations.map_or(Vec::new(), |operations| operations.times.clone());
        // Without operations after the end of the server.
        times.truncate(usize::try_from(row.operations).unwrap_or(usize::MAX));
        times.sort_unstable();
        let upper = times.get(times.len() / 2).copied().unwrap_or_default();
        let lower = times.get(times.len().saturating_sub(1) / 2).copied();
        TracedRow {
            ok: times.len() as u64,
            took: times.iter().sum(),
            median: lower.unwrap_or_default().midpoint(upper),
            ..row
        }
    }
}

/// The limit of a traced test: a few operations.
fn shortened(limit: Limit) -> Limit {
    Limit::Requests(match limit {
        Limit::Requests(requests) => requests.min(OPERATIONS),
        Limit::Duration(_) => OPERATIONS,
    })
}
