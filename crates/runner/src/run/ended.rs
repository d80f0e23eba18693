//! Companions of a run, the recorder of its events, and a run between its end and its conclusion.

use std::sync::{Arc, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use engine::{Cancel, Finished, HeadRecord, Observer, RunError, RunPlace, RunSpec};
use record::{Event, EventKind, Nanos};
use rundir::RunDir;

use super::{IncompleteRun, PARTNER_ENDED};
use crate::RunnerError;
use crate::kept::KeptRun;
use crate::steering::BackgroundFeed;

/// A task beside a run, such as background traffic or a capture. It begins before the run and ends
/// after it.
pub(crate) trait Companion: Send {
    /// The run begins, with this recorder.
    fn run_begins(&self, _recorder: &Arc<RunRecorder>) {}

    /// The run has ended: adds observations to its record.
    fn end(self: Box<Self>, run: &mut EndedRun<'_>);

    /// The run does not begin: discards everything.
    fn discard(self: Box<Self>) {}
}

/// A run that the engine has ended.
pub(crate) struct EndedRun<'a> {
    pub(crate) spec: &'a RunSpec,
    pub(crate) place: &'a RunPlace,
    pub(crate) cancel: &'a Cancel,
    pub(crate) recorder: &'a RunRecorder,
    pub(crate) finished: Finished,
    /// An error if something could not be saved.
    pub(crate) saved: Result<(), RunnerError>,
    /// Loads beside it, by name.
    pub(crate) beside: Vec<(String, Result<KeptRun, IncompleteRun>)>,
}

impl EndedRun<'_> {
    /// True if nothing ended it early.
    pub(crate) fn went_through(&self) -> bool {
        let cut_off = |event: &Event| {
            let kind = &event.kind;
            matches!(kind, EventKind::Interrupted | EventKind::Aborted { .. })
        };
        self.finished.error.is_none() && !self.finished.events.iter().any(cut_off)
    }

    pub(crate) fn add(&mut self, kind: EventKind) {
        let events = &mut self.finished.events;
        let at = events.last().map_or(0, |event| event.at);
        let event = Event { at, kind };
        self.recorder.event(&event);
        events.push(event);
    }
}

/// True if the server had not responded when the run ended: nothing is kept of such a run.
pub(crate) fn had_no_response(finished: &Finished) -> bool {
    let error = finished.error.as_ref();
    let before = error.is_some_and(|error| match error {
        RunError::Unreachable(_) | RunError::Interrupted | RunError::Local(_) => true,
        // These errors are about a response.
        RunError::NotWebdav(_) | RunError::Unauthorized(_) | RunError::NoWorkspace(_) => false,
    });
    before && finished.env.server.is_none()
}

/// Writes the events of a run to its directory, and passes them to the display.
pub(crate) struct RunRecorder {
    pub(super) display: Arc<dyn Observer>,
    pub(super) directory: Option<RunDir>,
    /// Cancelled when the run is aborted: ends the runs that take turns with it.
    pub(super) cancel: Option<Cancel>,
    pub(super) begun: OnceLock<Instant>,
    /// Receives readings of background traffic for conditions.
    pub(super) feed: Option<BackgroundFeed>,
}

impl RunRecorder {
    /// Nanoseconds since the run began; `None` before.
    pub(crate) fn now(&self) -> Option<Nanos> {
        let begun = self.begun.get()?;
        Nanos::try_from(begun.elapsed().as_nanos()).ok()
    }

    pub(crate) fn record(&self, event: &Event) {
        self.pass(event);
        if let Some(feed) = &self.feed {
            let mut feed = feed.lock().unwrap_or_else(PoisonError::into_inner);
            feed.push(event.clone());
        }
    }

    fn pass(&self, event: &Event) {
        self.display.event(event);
        if let Some(directory) = &self.directory {
            directory.append(event);
        }
    }
}

impl Observer for RunRecorder {
    fn wants_heads(&self) -> bool {
        self.display.wants_heads()
    }

    fn head_passed(&self, client: u32, head: &HeadRecord) {
        self.display.head_passed(client, head);
    }

    fn began(&self, started_at: &str) {
        if let Some(directory) = &self.directory {
            directory.began(started_at);
        }
    }

    fn event(&self, event: &Event) {
        let now = Instant::now();
        self.begun.get_or_init(|| {
            let begun = now.checked_sub(Duration::from_nanos(event.at));
            begun.unwrap_or(now)
        });
        self.pass(event);
        if let (EventKind::Aborted { .. }, Some(cancel)) = (&event.kind, &self.cancel) {
            cancel.cancel_because(PARTNER_ENDED);
        }
    }
}
