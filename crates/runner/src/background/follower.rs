//! Background traffic beside runs: starts before them, and is recorded until their end. Runs that
//! take turns share it.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use engine::Cancel;
use record::{Event, EventKind};

use super::running::{EndedBackground, LOOK, PolledReading, RunningBackground, UnstableBackground};
use super::task::BackgroundTask;
use crate::error::{RunnerError, start_thread};
use crate::run::{Companion, EndedRun, RunRecorder};

/// Most readings in a record: one a second for a day.
const MOST_READINGS: usize = 86_400;

/// Starts background traffic, and waits until it is stable.
pub(crate) fn started(
    task: BackgroundTask,
    cancel: &Cancel,
    is_quiet: bool,
) -> Result<RunningBackground, RunnerError> {
    let is_cancelled = || cancel.is_cancelled();
    let mut running = RunningBackground::start(task, &is_cancelled)?;
    let mut last = String::new();
    let stable = running.wait_until_stable(&is_cancelled, |reading, record| {
        last = report::background_lines(record, 0, reading).join("; ");
    });
    match stable {
        Ok(()) => {
            let state = if running.record().checked_stable {
                "is stable"
            } else {
                "has begun"
            };
            if !is_quiet {
                log::info!("the background traffic {state}");
            }
            Ok(running)
        }
        Err(UnstableBackground::Interrupted) => Err(RunnerError::Interrupted(
            "interrupted before the measurement began".to_owned(),
        )),
        Err(UnstableBackground::Ended { .. }) => {
            let end = running.end().end;
            let by_itself = ended_by_itself(end.generators.is_empty());
            let why = end.failure.unwrap_or_else(|| {
                format!(
                    "{by_itself}; they are sent for about 4 s before it begins, and have to last longer (`for=`, or \
                     `duration` and `end` of the load)"
                )
            });
            Err(RunnerError::Target(format!(
                "the background traffic ended before the measurement began: {why}"
            )))
        }
        Err(UnstableBackground::Unstable(why)) => Err(RunnerError::Target(format!(
            "{why}; nothing was measured. A larger deviation is allowed by --background FILE,stable=20%"
        ))),
    }
}

fn ended_by_itself(has_only_flows: bool) -> &'static str {
    if has_only_flows {
        "its flows ended"
    } else {
        "its flows or generators ended"
    }
}

/// The share of one run in background traffic, which stops when all runs that share it have ended.
pub(crate) struct BackgroundShare {
    shared: Arc<SharedBackground>,
    index: usize,
    has_ended: bool,
}

/// State shared by the thread that follows the traffic and the runs.
struct SharedBackground {
    state: Mutex<SharedState>,
    changed: Condvar,
}

struct SharedState {
    runs: usize,
    /// Runs that record, by the index of their shares.
    listeners: Vec<Option<RunThatRecords>>,
    is_over: bool,
}

struct RunThatRecords {
    recorder: Arc<RunRecorder>,
    events: Vec<Event>,
    readings: usize,
}

impl BackgroundShare {
    pub(crate) fn among(
        runs: usize,
        running: RunningBackground,
    ) -> Result<Vec<BackgroundShare>, RunnerError> {
        let mut listeners = Vec::new();
        listeners.resize_with(runs, || None);
        let shared = Arc::new(SharedBackground {
            state: Mutex::new(SharedState {
                runs,
                listeners,
                is_over: false,
            }),
            changed: Condvar::new(),
        });
        let over = WhenOver(Arc::clone(&shared));
        start_thread(move || follow(running, &over.0))?;
        let share = |index| BackgroundShare {
            shared: Arc::clone(&shared),
            index,
            has_ended: false,
        };
        Ok((0..runs).map(share).collect())
    }

    fn leave(&mut self) {
        if !self.has_ended {
            self.has_ended = true;
            self.shared.state().runs -= 1;
        }
    }
}

impl Companion for BackgroundShare {
    fn run_begins(&self, recorder: &Arc<RunRecorder>) {
        self.shared.state().listeners[self.index] = Some(RunThatRecords {
            recorder: Arc::clone(recorder),
            events: Vec::new(),
            readings: 0,
        });
    }

    /// If the run ended by itself, waits for the other runs that share the traffic.
    fn end(mut self: Box<Self>, run: &mut EndedRun<'_>) {
        self.leave();
        let state = self.shared.state();
        let mut state = if run.went_through() || state.runs == 0 {
            drop(state);
            self.shared.wait_until_over()
        } else {
            state
        };
        let listener = state.listeners[self.index].take();
        let recorded = listener.map_or(Vec::new(), |listener| listener.events);
        run.finished.events.extend(recorded);
    }
}

impl Drop for BackgroundShare {
    fn drop(&mut self) {
        if self.has_ended {
            return;
        }
        self.leave();
        let mut state = self.shared.state();
        state.listeners[self.index] = None;
        if state.runs == 0 {
            drop(state);
            // The traffic stops when the last run has ended.
            drop(self.shared.wait_until_over());
        }
    }
}

impl SharedBackground {
    fn state(&self) -> MutexGuard<'_, SharedState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait_until_over(&self) -> MutexGuard<'_, SharedState> {
        let waiting = self
            .changed
            .wait_while(self.state(), |state| !state.is_over);
        waiting.unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, kind: &EventKind) {
        let mut state = self.state();
        for listener in state.listeners.iter_mut().flatten() {
            listener.note(kind);
        }
    }
}

impl RunThatRecords {
    fn note(&mut self, kind: &EventKind) {
        let is_reading = matches!(kind, EventKind::Background(_));
        let begun = self.recorder.now();
        let at = match (is_reading, begun) {
            (true, Some(at)) if self.readings < MOST_READINGS => at,
            // Bytes counted before the run began belong to none of its moments.
            (true, _) => return,
            (false, begun) => begun.unwrap_or(0),
        };
        self.readings += usize::from(is_reading);
        let event = Event {
            at,
            kind: kind.clone(),
        };
        self.recorder.record(&event);
        self.events.push(event);
    }
}

/// Marks the traffic as over when dropped, also after a panic.
struct WhenOver(Arc<SharedBackground>);

impl Drop for WhenOver {
    fn drop(&mut self) {
        self.0.state().is_over = true;
        self.0.changed.notify_all();
    }
}

fn follow(mut running: RunningBackground, shared: &SharedBackground) {
    loop {
        let should_stop = shared.state().runs == 0;
        let is_over = should_stop || !running.is_active();
        if should_stop {
            running.ask();
        }
        for PolledReading { reading, .. } in running.poll() {
            shared.note(&EventKind::Background(reading));
        }
        if is_over {
            break;
        }
        thread::sleep(LOOK);
    }
    let EndedBackground { mut end, by_itself } = running.end();
    if by_itself && end.failure.is_none() {
        end.failure = Some(ended_by_itself(end.generators.is_empty()).to_owned());
    }
    shared.note(&EventKind::BackgroundEnded(end));
}
