//! A run that repeats the tests of another one for figures from inside the server: it is not timed,
//! and has no part in the tables.

use std::sync::Arc;

use engine::{Cancel, Conditions, Drive, Rounds, RowWatch, RunPlace, RunSpec, Silent, Sink, Watch};
use record::EventKind;
use suite::{Limit, Plan};

/// Rounds before those that are counted.
const WARMUP: u32 = 2;

/// A pass ready to begin.
pub(super) struct RepeatedPass {
    pub(super) spec: RunSpec,
    place: RunPlace,
}

/// Events and leftovers of a pass, and the reason if it ended early.
pub(super) struct EndedPass {
    pub(super) events: Vec<EventKind>,
    pub(super) cut_off: Option<String>,
}

impl RepeatedPass {
    /// One user repeats the tests of a run, each with the limit that `limit` makes of its own.
    pub(super) fn of(
        (spec, place): (&RunSpec, &RunPlace),
        name: &str,
        limit: impl Fn(Limit) -> Limit,
    ) -> RepeatedPass {
        let mut plan = Plan::clone(&spec.plan);
        for test in &mut plan.tests {
            test.limit = limit(test.limit);
        }
        plan.adapt = None;
        plan.constraints.clear();
        RepeatedPass {
            spec: RunSpec {
                run_id: format!("{}-{name}", spec.run_id),
                plan: Arc::new(plan),
                users: 1,
                drive: Drive::Rounds(Rounds {
                    warmup: WARMUP,
                    ..Rounds::default()
                }),
                background: None,
                ..spec.clone()
            },
            place: RunPlace {
                threads: 1,
                ..place.clone()
            },
        }
    }

    /// Runs the pass; `rows` receives the row at work.
    pub(super) fn run(
        self,
        rows: Arc<dyn RowWatch>,
        sink: &mut dyn Sink,
        cancel: &Cancel,
    ) -> EndedPass {
        let watch = Watch {
            cancel: cancel.clone(),
            progress: Arc::default(),
            observer: Arc::new(Silent),
            turn: None,
            conditions: Arc::new(Conditions::new(self.spec.plan.conditions.len())),
            rows: Some(rows),
            is_alone: false,
        };
        let finished = engine::run(&self.spec, &self.place, &watch, sink);
        let cut_off = finished.events.iter().find_map(|event| match &event.kind {
            EventKind::Interrupted => Some("it was interrupted".to_owned()),
            EventKind::Aborted { reason } => Some(reason.clone()),
            _ => None,
        });
        let events = finished.events.into_iter().map(|event| event.kind);
        EndedPass {
            events: events
                .filter(|kind| matches!(kind, EventKind::LeftBehind(_)))
                .collect(),
            cut_off: finished.error.map(|error| error.to_string()).or(cut_off),
        }
    }
}

/// A warning for the record.
pub(super) fn caution(text: String) -> EventKind {
    EventKind::Warning { text }
}
