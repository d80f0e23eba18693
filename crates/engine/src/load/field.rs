//! What all users of a load run share, over all threads: how much is left to do, and the window.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use record::{Arrivals, EventKind, Nanos, Pace, TestId};

use super::schedule::Schedule;
use crate::cancel::Cancel;
use crate::clock::nanos;
use crate::event_loop::sleep_until;
use crate::recorder::Window;
use crate::settings::Settings;
use crate::stage::Stage;

/// A load run is one test.
const TEST: TestId = TestId(0);
/// A user whose operations got no answer for so long is silent; when all are, the run ends.
const SILENCE: Nanos = 5_000_000_000;
/// From the moment when all users are ready to the first planned one: time to wake everybody.
const RUN_UP: Nanos = 10_000_000;
/// Who waits for long looks so often whether the run is over.
pub(super) const STEP: Nanos = 100_000_000;
/// Stands for a moment that has not come.
const NEVER: u64 = u64::MAX;

/// What all users of a load run share.
pub(crate) struct Field {
    stage: Arc<Stage>,
    /// Operations of all users together.
    limit: u64,
    /// How long is measured in a closed loop.
    duration: Option<Nanos>,
    open: Option<(Arrivals, Vec<record::Stage>)>,
    seed: u64,
    timeout: Nanos,
    claimed: AtomicU64,
    /// Requests of operations that are more than one.
    requests: AtomicU64,
    at_work: AtomicU32,
    silent: AtomicU32,
    begun: AtomicU64,
    ended: AtomicU64,
    stopped: AtomicBool,
    /// Threads that are through with their part of the schedule.
    through: AtomicU32,
    go: Cancel,
    /// Connections opened until now, since when, and the distance between two of them.
    opened: AtomicU64,
    opening_since: OnceLock<Nanos>,
    connect_distance: Nanos,
}

impl Field {
    pub(crate) fn new(stage: &Arc<Stage>, settings: &Settings) -> Field {
        let open = match &settings.pace {
            Pace::Open {
                arrivals, stages, ..
            } => Some((*arrivals, stages.clone())),
            _ => None,
        };
        Field {
            stage: Arc::clone(stage),
            limit: settings.requests.unwrap_or(u64::MAX),
            duration: settings.duration.map(nanos),
            open,
            seed: settings.seed,
            timeout: nanos(settings.timeout),
            claimed: AtomicU64::new(0),
            requests: AtomicU64::new(0),
            at_work: AtomicU32::new(0),
            silent: AtomicU32::new(0),
            begun: AtomicU64::new(NEVER),
            ended: AtomicU64::new(NEVER),
            stopped: AtomicBool::new(false),
            through: AtomicU32::new(0),
            go: Cancel::default(),
            opened: AtomicU64::new(0),
            opening_since: OnceLock::new(),
            connect_distance: (1e9 / settings.connect_rate) as Nanos,
        }
    }

    pub(crate) fn stage(&self) -> &Arc<Stage> {
        &self.stage
    }

    /// The window, as far as it is known.
    pub(crate) fn window(&self) -> Window {
        let known = |moment: &AtomicU64| match moment.load(Ordering::Acquire) {
            NEVER => None,
            moment => Some(moment),
        };
        Window {
            begun: known(&self.begun),
            ended: known(&self.ended),
        }
    }

    /// No further operation begins.
    pub(crate) fn stop(&self) {
        if self.stopped.swap(true, Ordering::SeqCst) {
            return;
        }
        let moment = self.stage.clock.now();
        self.ended.store(moment, Ordering::Release);
        self.stage
            .journal
            .write_at(moment, EventKind::MeasuringEnded { test: TEST });
    }

    /// One of so many threads is through with its part of the schedule; the others go on.
    pub(super) fn leave_schedule(&self, threads: u32) {
        if self.through.fetch_add(1, Ordering::SeqCst) + 1 == threads {
            self.stop();
        }
    }

    /// Whether no further operation may begin.
    pub(super) fn is_over(&self) -> bool {
        self.stopped.load(Ordering::Relaxed) || self.stage.is_over()
    }

    /// When a closed loop ends by the clock.
    fn due(&self) -> Nanos {
        let begun = self.begun.load(Ordering::Relaxed);
        self.duration
            .map_or(NEVER, |duration| begun.saturating_add(duration))
    }

    /// When the run will have been over, as far as is known now, for as long as one request may
    /// take.
    pub(super) fn cut_off(&self) -> Nanos {
        let ended = self.due().min(self.ended.load(Ordering::Relaxed));
        ended.saturating_add(self.timeout)
    }

    /// Whether, at `now`, that is so: who has more than one request to go does not begin the next.
    pub(super) fn is_cut_off(&self, now: Nanos) -> bool {
        self.stage.is_over() || now >= self.cut_off()
    }

    /// Takes the number of the next request, from 1, where operations are more than one.
    pub(super) fn next_request(&self) -> u64 {
        self.requests.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Takes the number of the next operation, from 1; `None` when there is no next one.
    pub(super) fn claim(&self, now: Nanos) -> Option<u64> {
        if self.is_over() || now >= self.due() {
            self.stop();
            return None;
        }
        let number = self.claimed.fetch_add(1, Ordering::Relaxed) + 1;
        if number > self.limit {
            self.stop();
            return None;
        }
        Some(number)
    }

    /// A user of a closed loop begins its first operation. With the last of them the window
    /// begins.
    pub(super) fn arrive(&self) {
        if self.at_work.fetch_add(1, Ordering::SeqCst) + 1 == self.stage.users {
            self.begin(self.stage.clock.now());
        }
    }

    fn begin(&self, moment: Nanos) {
        self.begun.store(moment, Ordering::Release);
        self.stage
            .journal
            .write_at(moment, EventKind::MeasuringStarted { test: TEST });
    }

    /// All users of an open loop are ready: the schedule begins in a moment.
    pub(super) fn start_schedule(&self) {
        self.begin(self.stage.clock.now() + RUN_UP);
        self.go.cancel();
    }

    /// Waits for the schedule to begin, and says when it does.
    pub(super) async fn schedule_begins(&self) -> Nanos {
        self.go.cancelled().await;
        self.begun.load(Ordering::Acquire)
    }

    /// The schedule of an open loop, as far as it goes.
    pub(super) fn schedule(&self) -> impl Iterator<Item = (u64, Nanos)> + use<> {
        let (arrivals, stages) = self
            .open
            .clone()
            .unwrap_or((Arrivals::Constant, Vec::new()));
        let limit = usize::try_from(self.limit).unwrap_or(usize::MAX);
        (1..)
            .zip(Schedule::new(arrivals, stages, self.seed))
            .take(limit)
    }

    /// Waits for the turn of one more connection: they are opened at a bounded rate.
    pub(super) async fn turn_to_connect(&self) {
        let before = self.opened.fetch_add(1, Ordering::Relaxed);
        // A hundred at once are no burst.
        let before = before.saturating_sub(100);
        let clock = self.stage.clock;
        let since = *self.opening_since.get_or_init(|| clock.now());
        let due = since.saturating_add(before.saturating_mul(self.connect_distance));
        // In steps, so that an end in between is noticed.
        while due > clock.now() && !self.is_over() {
            let step = clock.now() + STEP;
            sleep_until(clock.monotonic(due.min(step))).await;
        }
    }
}

/// What one user hears of the server.
#[derive(Debug, Default)]
pub(super) struct Hearing {
    /// When the last answer came.
    last: Nanos,
    is_silent: bool,
}

impl Hearing {
    pub(super) fn new(now: Nanos) -> Self {
        Hearing {
            last: now,
            is_silent: false,
        }
    }

    /// An operation ended at `now`, with an answer or without.
    pub(super) fn heard(&mut self, field: &Field, now: Nanos, answered: bool, what: &str) {
        if answered {
            self.last = now;
            if std::mem::take(&mut self.is_silent) {
                field.silent.fetch_sub(1, Ordering::Relaxed);
            }
            return;
        }
        if self.is_silent || now.saturating_sub(self.last) < SILENCE {
            return;
        }
        self.is_silent = true;
        if field.silent.fetch_add(1, Ordering::Relaxed) + 1 == field.stage.users {
            field.stage.abort(format!(
                "no user got an answer for five seconds; the last: {what}"
            ));
            field.stop();
        }
    }
}
