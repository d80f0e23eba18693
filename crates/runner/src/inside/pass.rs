//! A run that repeats the tests of another one for what is seen inside of the server: it is not timed, and nothing of it is
//! in the tables.

use std::sync::Arc;

use engine::{Cancel, Conditions, Drive, Rounds, RowWatch, RunPlace, RunSpec, Silent, Sink, Watch};
use record::EventKind;
use suite::{Limit, Plan};

/// Rounds before those that count.
const WARMUP: u32 = 2;

/// A pass that is about to begin.
pub(super) struct RepeatedPass {
    pub(super) spec: RunSpec,
    place: RunPlace,
}

/// What a pass left behind, and why it ended before its time.
pub(super) struct EndedPass {
    /// For the record.
    pub(super) told: Vec<EventKind>,
    pub(super) cut_off: Option<String>,
}

impl RepeatedPass {
    /// One user goes through the tests of a run again, and through each of them as long as `limit` says of its own limit.
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

    /// Runs it, and tells `rows` which row is at work.
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
        let told = finished.events.into_iter().map(|event| event.kind);
        EndedPass {
            told: told
                .filter(|kind| matches!(kind, EventKind::LeftBehind(_)))
                .collect(),
            cut_off: finished.error.map(|error| error.to_string()).or(cut_off),
        }
    }
}

/// A doubt, for the record.
pub(super) fn doubt(text: String) -> EventKind {
    EventKind::Warning { text }
}
