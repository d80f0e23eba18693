//! The pass in which the system calls of the server are counted: a few operations of each row, which are not timed.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use engine::{
    Cancel, Conditions, Drive, KnownWindow, Rounds, RowWatch, Settings, Silent, Sink, Watch,
};
use inside::CurrentRow;
use inside::tracer::Tracer;
use record::{EventKind, MeasureId, Nanos, Outcome, Sample, TracedRow};
use suite::{Limit, Plan};

/// Operations of each row that are traced.
const OPERATIONS: u32 = 5;
/// Rounds before them.
const WARMUP: u32 = 2;
/// Longest time to wait until a server rests. One that always works never does.
const LONGEST_REST: Duration = Duration::from_millis(50);

/// The server of a run, to be traced.
pub(super) struct TracedServer {
    pub(super) roots: Vec<u32>,
    /// The directory that it works in, where that is known.
    pub(super) directory: Option<PathBuf>,
}

/// Tells a tracer which row is at work.
struct TracedRows {
    tracer: Tracer,
    current: Arc<CurrentRow>,
}

impl RowWatch for TracedRows {
    fn begins(&self, row: Option<MeasureId>) {
        // What the server does behind a response is still for the row that caused it.
        if self.current.row().is_some() {
            self.tracer.wait_until_idle(LONGEST_REST);
        }
        match row {
            Some(row) => self.current.begin(row),
            None => self.current.rest(),
        }
    }

    fn answered(&self) {
        self.current.answered();
    }

    fn rests(&self) {
        self.begins(None);
    }
}

/// Times of the operations of a pass that were ok, by row.
#[derive(Default)]
struct TracedTimes(BTreeMap<MeasureId, Vec<Nanos>>);

impl Sink for TracedTimes {
    fn take(&mut self, samples: &[Sample], _: KnownWindow) -> ControlFlow<()> {
        for sample in samples
            .iter()
            .filter(|sample| sample.outcome == Outcome::Ok)
        {
            if let Some(done) = sample.moments.done {
                let times = self.0.entry(sample.measure).or_default();
                times.push(done.saturating_sub(sample.moments.started));
            }
        }
        ControlFlow::Continue(())
    }
}

impl TracedServer {
    /// Repeats a few operations of each row while the server is traced. What it says is for the record.
    pub(super) fn pass(&self, plan: &Plan, settings: &Settings, cancel: &Cancel) -> Vec<EventKind> {
        let plan = shortened(plan);
        let settings = Settings {
            run_id: format!("{}-traced", settings.run_id),
            users: 1,
            threads: 1,
            drive: Drive::Rounds(Rounds {
                warmup: WARMUP,
                ..Rounds::default()
            }),
            background: None,
            ..settings.clone()
        };
        let current = Arc::new(CurrentRow::new(plan.measures.len()));
        let collection = format!("PrestanTest-{}", settings.run_id);
        let tracer = Tracer::attach(
            &self.roots,
            self.directory.as_deref(),
            &collection,
            Arc::clone(&current),
        );
        let tracer = match tracer {
            Ok(tracer) => tracer,
            Err(why) => {
                return vec![doubt(format!(
                    "system calls of the server were not counted: {why}"
                ))];
            }
        };
        let rows = Arc::new(TracedRows { tracer, current });
        let watch = Watch {
            cancel: cancel.clone(),
            progress: Arc::default(),
            observer: Arc::new(Silent),
            turn: None,
            conditions: Arc::new(Conditions::new(plan.conditions.len())),
            rows: Some(Arc::clone(&rows) as Arc<dyn RowWatch>),
            is_alone: false,
        };
        let mut times = TracedTimes::default();
        let finished = engine::run(plan, &settings, &watch, &mut times);
        drop(watch);
        let cut_off = finished.events.iter().find_map(|event| match &event.kind {
            EventKind::Interrupted => Some("it was interrupted".to_owned()),
            EventKind::Aborted { reason } => Some(reason.clone()),
            _ => None,
        });
        let error = finished.error.map(|error| error.to_string());
        let mut told: Vec<EventKind> = finished
            .events
            .into_iter()
            .map(|event| event.kind)
            .filter(|kind| matches!(kind, EventKind::LeftBehind(_)))
            .collect();
        if let Some(why) = error.or(cut_off) {
            told.push(doubt(format!(
                "system calls of the server were not counted for all rows: {why}"
            )));
        }
        let traced = Arc::into_inner(rows).map_or(Vec::new(), |rows| rows.tracer.end());
        told.extend(
            traced
                .into_iter()
                .map(|row| times.complete(row))
                .map(EventKind::Traced),
        );
        told
    }
}

impl TracedTimes {
    fn complete(&self, row: TracedRow) -> TracedRow {
        let mut times = self.0.get(&row.measure).cloned().unwrap_or_default();
        times.sort_unstable();
        TracedRow {
            ok: times.len() as u64,
            took: times.iter().sum(),
            median: times.get(times.len() / 2).copied().unwrap_or_default(),
            ..row
        }
    }
}

fn doubt(text: String) -> EventKind {
    EventKind::Warning { text }
}

/// The same tests, with a few operations each.
fn shortened(plan: &Plan) -> Plan {
    let mut plan = plan.clone();
    for test in &mut plan.tests {
        test.limit = Limit::Requests(match test.limit {
            Limit::Requests(requests) => requests.min(OPERATIONS),
            Limit::Duration(_) => OPERATIONS,
        });
    }
    plan.adapt = None;
    plan.constraints.clear();
    plan
}
