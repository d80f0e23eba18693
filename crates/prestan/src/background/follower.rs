//! Background traffic beside a run: starts before it, and is recorded until its end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use engine::Cancel;
use record::{Event, EventKind, Nanos};

use super::running::{EndedBackground, LOOK, RunningBackground, UnstableBackground};
use super::task::BackgroundTask;
use crate::exit::Failed;
use crate::output::tell;

/// Most readings in a record: those of a day.
const MOST_READINGS: usize = 86_400;

/// Who records background traffic.
pub(crate) trait BackgroundRecorder: Send + Sync + 'static {
    /// Nanoseconds since the run began; `None` where it has not begun.
    fn now(&self) -> Option<Nanos>;

    /// Records an event.
    fn record(&self, event: &Event);
}

/// Starts background traffic, and waits until it is stable.
pub(crate) fn started(
    task: BackgroundTask,
    cancel: &Cancel,
    is_quiet: bool,
) -> Result<RunningBackground, Failed> {
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
                tell(&format!("prestan: the background traffic {state}"));
            }
            Ok(running)
        }
        Err(UnstableBackground::Interrupted) => Err(Failed::Interrupted(
            "interrupted before the measurement began".to_owned(),
        )),
        Err(UnstableBackground::Ended) => {
            let end = running.end().end;
            let by_itself = ended_by_itself(end.generators.is_empty());
            let why = end.failure.unwrap_or_else(|| by_itself.to_owned());
            Err(Failed::Target(format!(
                "the background traffic ended before the measurement began: {why}"
            )))
        }
        Err(UnstableBackground::Unstable(why)) => Err(Failed::Target(format!(
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

/// Background traffic that is recorded. It stops when this is dropped.
pub(crate) struct BackgroundFollower {
    should_stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Vec<Event>>>,
}

impl BackgroundFollower {
    pub(crate) fn start(
        running: RunningBackground,
        recorder: Arc<dyn BackgroundRecorder>,
    ) -> BackgroundFollower {
        let should_stop = Arc::<AtomicBool>::default();
        let for_thread = Arc::clone(&should_stop);
        let thread = thread::spawn(move || follow(running, &*recorder, &for_thread));
        BackgroundFollower {
            should_stop,
            thread: Some(thread),
        }
    }

    /// Stops the traffic; all events that were recorded.
    pub(crate) fn end(mut self) -> Vec<Event> {
        self.join()
    }

    fn join(&mut self) -> Vec<Event> {
        self.should_stop.store(true, Ordering::SeqCst);
        let thread = self.thread.take();
        // A panic of that thread has been printed.
        thread
            .and_then(|thread| thread.join().ok())
            .unwrap_or_default()
    }
}

impl Drop for BackgroundFollower {
    fn drop(&mut self) {
        self.join();
    }
}

fn follow(
    mut running: RunningBackground,
    recorder: &dyn BackgroundRecorder,
    should_stop: &AtomicBool,
) -> Vec<Event> {
    let mut events = Vec::new();
    let mut note = |kind: EventKind, is_last: bool| {
        // What was counted before the run began belongs to no moment of it.
        let at = recorder.now().or_else(|| is_last.then_some(0));
        if let Some(at) = at {
            let event = Event { at, kind };
            recorder.record(&event);
            events.push(event);
        }
    };
    let mut readings = 0;
    loop {
        let should_stop = should_stop.load(Ordering::SeqCst);
        let is_over = should_stop || !running.is_active();
        if should_stop {
            running.ask();
        }
        for polled in running.poll() {
            if readings < MOST_READINGS && recorder.now().is_some() {
                readings += 1;
                note(EventKind::Background(polled.reading), false);
            }
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
    note(EventKind::BackgroundEnded(end), true);
    events
}
