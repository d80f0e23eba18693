//! What goes on beside a run, what records it, and a run that the engine has ended and that is not concluded yet.

use std::sync::{Arc, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use engine::{Cancel, Finished, Observer, RunError, RunPlace, RunSpec, Said};
use record::{Event, EventKind, Nanos};
use rundir::RunDir;

use super::{IncompleteRun, PARTNER_ENDED};
use crate::RunnerError;
use crate::kept::KeptRun;
use crate::steering::BackgroundFeed;

/// What goes on beside a run, or looks at what it does. It has begun before the run does, and ends after it.
pub(crate) trait Companion: Send {
    /// The run begins, and has this recorder.
    fn run_begins(&self, _recorder: &Arc<RunRecorder>) {}

    /// The run has ended: says in its record what was seen.
    fn end(self: Box<Self>, run: &mut EndedRun<'_>);

    /// The run does not begin: nothing is kept of this.
    fn discard(self: Box<Self>) {}
}

/// What is known of a run when the engine has ended it.
pub(crate) struct EndedRun<'a> {
    pub(crate) spec: &'a RunSpec,
    pub(crate) place: &'a RunPlace,
    pub(crate) cancel: &'a Cancel,
    pub(crate) recorder: &'a RunRecorder,
    pub(crate) finished: Finished,
    /// Whether all is kept that was to be.
    pub(crate) saved: Result<(), RunnerError>,
    /// The loads that went on beside it, by their names.
    pub(crate) beside: Vec<(String, Result<KeptRun, IncompleteRun>)>,
}

impl EndedRun<'_> {
    /// Whether nothing ended it before its time.
    pub(crate) fn went_through(&self) -> bool {
        let cut_off = |event: &Event| {
            let kind = &event.kind;
            matches!(kind, EventKind::Interrupted | EventKind::Aborted { .. })
        };
        self.finished.error.is_none() && !self.finished.events.iter().any(cut_off)
    }

    /// Something to be known of it.
    pub(crate) fn add(&mut self, kind: EventKind) {
        let events = &mut self.finished.events;
        let at = events.last().map_or(0, |event| event.at);
        let event = Event { at, kind };
        self.recorder.event(&event);
        events.push(event);
    }
}

/// Whether a run ended before its server had answered: then there is nothing to be kept of it.
pub(crate) fn had_no_response(finished: &Finished) -> bool {
    let error = finished.error.as_ref();
    let before = error.is_some_and(|error| match error {
        RunError::Unreachable(_) | RunError::Interrupted | RunError::Local(_) => true,
        // These are about what it answered.
        RunError::NotWebdav(_) | RunError::Unauthorized(_) | RunError::NoWorkspace(_) => false,
    });
    before && finished.env.server.is_none()
}

/// Writes the events of a run to its directory, and passes everything on to what displays it.
pub(crate) struct RunRecorder {
    pub(super) display: Arc<dyn Observer>,
    pub(super) directory: Option<RunDir>,
    /// What is cancelled when the run is aborted: the runs that take turns with it.
    pub(super) cancel: Option<Cancel>,
    /// When the run began.
    pub(super) begun: OnceLock<Instant>,
    /// Where readings of background traffic go for conditions.
    pub(super) feed: Option<BackgroundFeed>,
}

impl RunRecorder {
    /// Nanoseconds since the run began; `None` where it has not begun.
    pub(crate) fn now(&self) -> Option<Nanos> {
        let begun = self.begun.get()?;
        Nanos::try_from(begun.elapsed().as_nanos()).ok()
    }

    /// Records what was seen of background traffic.
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

    fn said(&self, client: u32, said: &Said) {
        self.display.said(client, said);
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
