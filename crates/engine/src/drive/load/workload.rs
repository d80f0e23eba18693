//! State shared by all users of a load run, over all threads: the remaining operations, and the
//! window.
//!
//! ```text
//! closed loop by time   begin --run-in--> |<-- window -->| --run-out--> end
//! closed loop by number                   |<-- window -->|     none begins once all are begun
//! ```
//!
//! Users who begin an operation together are in no steady state, and their operations in a window
//! that opens at the same moment are off by (cv^2 - 1) / 2 each, where cv is the standard deviation
//! of their times over the mean (Cox, *Renewal Theory*, 1962, section 4.2). So the window opens
//! while they are active. When it closes they continue, uncounted, until the last operation that
//! began in it has ended: it was measured under the specified load.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use rand::RngExt;
use record::{Arrivals, EventKind, Nanos, TestId};
use suite::{Plan, TestPlan, Workspace};

use super::open::{FreeUserOrder, Queue};
use super::schedule::{PlannedArrival, Schedule};
use crate::clock::nanos;
use crate::connection::route::HttpOptions;
use crate::drive::chance::stream;
use crate::drive::context::RunContext;
use crate::drive::driver::{Driver, RequestEnd, ServerSilence};
use crate::drive::{LoadDrive, Pacing};
use crate::event_loop::cancel::Cancel;
use crate::event_loop::sleep_until;
use crate::watch::recorder::KnownWindow;

/// Time without a response after which a user is silent; when all are, the run ends. So does one in
/// which operations of the window have ended for this time, and none ever had the expected
/// response.
const SILENCE: Nanos = 5_000_000_000;
/// Time from the readiness of all users to the first planned moment, in which all wake up.
const RUN_UP: Nanos = 10_000_000;
/// Interval at which a long wait checks if the run is over.
pub(super) const STEP: Nanos = 100_000_000;
/// Stands for a moment that has not come.
const NEVER: u64 = u64::MAX;
/// The run-in of a run by time is this part of it, but no longer than that.
const RUN_IN_PART: Nanos = 10;
const LONGEST_RUN_IN: Nanos = 10_000_000_000;
/// The stream of random numbers of a load, which neither a user nor the schedule has.
const STREAM: u64 = u64::MAX - 1;

pub(crate) struct Workload {
    context: Arc<RunContext>,
    /// Operations of all users together, if a number was given.
    limit: Option<u64>,
    /// Measured time of a closed loop.
    duration: Option<Nanos>,
    open: Option<(Arrivals, Vec<record::Stage>)>,
    seed: u64,
    timeout: Nanos,
    /// Longest wait for waiting operations at the end of an open loop.
    pub(super) drain: Nanos,
    /// Requests in flight on a connection at a time.
    pipeline: u64,
    warmup: u32,
    warmup_time: Nanos,
    /// Shortest run-in of a closed loop; `None` if there is none.
    run_in: Option<Nanos>,
    running_since: AtomicU64,
    /// Users who have ended an operation in the run-in.
    settled: AtomicU32,
    /// Users without a counted operation in progress, after the window.
    cleared: AtomicU32,
    claimed: AtomicU64,
    at_work: AtomicU32,
    silent: AtomicU32,
    /// The run ends if all operations fail.
    ends_if_all_fail: bool,
    /// An operation got the expected response.
    has_succeeded: AtomicBool,
    /// When the first operation of the window ended, if none has had the expected response.
    failing_since: AtomicU64,
    begun: AtomicU64,
    ended: AtomicU64,
    stopped: AtomicBool,
    /// Threads that are through with their part of the schedule.
    through: AtomicU32,
    go: Cancel,
    /// Operations to be dispatched in an open loop.
    queue: Queue,
    /// Number of connections opened, start, and distance between two of them.
    opened: AtomicU64,
    opening_since: OnceLock<Nanos>,
    connect_distance: Nanos,
}

/// Users are equal if they have neither a collection nor a set-up each.
fn free_user_order(plan: &Plan) -> FreeUserOrder {
    let is_prepared = |test: &TestPlan| !(test.setup.is_empty() && test.cleanup.is_empty());
    if plan.workspace == Workspace::Collection || plan.tests.iter().any(is_prepared) {
        FreeUserOrder::FreeForLongest
    } else {
        FreeUserOrder::FreeSinceLast
    }
}

impl Workload {
    pub(crate) fn new(
        context: &Arc<RunContext>,
        load: &LoadDrive,
        http: &HttpOptions,
        seed: u64,
    ) -> Workload {
        let open = match &load.pacing {
            Pacing::Open {
                arrivals, stages, ..
            } => Some((*arrivals, stages.clone())),
            Pacing::Closed => None,
        };
        Workload {
            context: Arc::clone(context),
            limit: load.requests,
            duration: load.duration.map(nanos),
            pipeline: u64::from(http.connections.pipeline_of_load()),
            warmup: load.warmup,
            warmup_time: nanos(load.warmup_time),
            run_in: run_in_of(load),
            running_since: AtomicU64::new(NEVER),
            settled: AtomicU32::new(0),
            cleared: AtomicU32::new(0),
            open,
            seed,
            timeout: nanos(http.timeout),
            drain: nanos(load.drain.unwrap_or(http.timeout)),
            claimed: AtomicU64::new(0),
            at_work: AtomicU32::new(0),
            silent: AtomicU32::new(0),
            ends_if_all_fail: load.ends_if_all_fail,
            has_succeeded: AtomicBool::new(false),
            failing_since: AtomicU64::new(NEVER),
            begun: AtomicU64::new(NEVER),
            ended: AtomicU64::new(NEVER),
            stopped: AtomicBool::new(false),
            through: AtomicU32::new(0),
            go: Cancel::default(),
            queue: Queue::new(free_user_order(&context.plan)),
            opened: AtomicU64::new(0),
            opening_since: OnceLock::new(),
            connect_distance: (1e9 / load.connect_rate) as Nanos,
        }
    }

    pub(crate) fn context(&self) -> &Arc<RunContext> {
        &self.context
    }

    /// Operations of each user before measuring, and their shortest time in nanoseconds.
    pub(super) fn warmup(&self) -> (u32, Nanos) {
        (self.warmup, self.warmup_time)
    }

    /// The window, as far as it is known.
    pub(crate) fn window(&self) -> KnownWindow {
        let known = |moment: u64| Some(moment).filter(|moment| *moment != NEVER);
        let ended = self.ended.load(Ordering::Acquire);
        KnownWindow {
            begun: known(self.begun.load(Ordering::Acquire)),
            ended: known(ended.min(self.due())),
        }
    }

    /// Notes that no further operation counts: nor did any after the window was due to end, if that
    /// was not noticed.
    pub(crate) fn stop(&self) {
        self.stop_at(self.context.clock.now().min(self.due()));
    }

    fn stop_at(&self, moment: Nanos) {
        if self.stopped.swap(true, Ordering::SeqCst) {
            return;
        }
        self.ended.store(moment, Ordering::Release);
        self.write_event(moment, |test| EventKind::MeasuringEnded { test });
    }

    /// Writes an event that concerns all tests: a load does them in one window.
    fn write_event(&self, moment: Nanos, event: impl Fn(TestId) -> EventKind) {
        for test in &self.context.plan.tests {
            self.context.journal.write_at(moment, event(test.id));
        }
    }

    /// Notes that one of the threads is through with its part of the schedule; the others continue.
    pub(super) fn leave_schedule(&self, threads: u32) {
        if self.through.fetch_add(1, Ordering::SeqCst) + 1 == threads {
            self.stop();
        }
    }

    /// Ends the run if responses came for a while, and none ever was the expected one.
    fn note_response(&self, end: &RequestEnd<'_>) {
        if !self.ends_if_all_fail || self.has_succeeded.load(Ordering::Relaxed) {
            return;
        }
        let Some((wrong, attempted)) = end.wrong else {
            return self.has_succeeded.store(true, Ordering::Relaxed);
        };
        if end.ended < self.begun.load(Ordering::Acquire) {
            return;
        }
        let before = self.failing_since.fetch_min(end.ended, Ordering::Relaxed);
        if end.ended >= before.saturating_add(SILENCE) {
            self.context.abort(format!(
                "no response was the expected one for five seconds; the last: {attempted}: {}",
                wrong.what
            ));
            self.stop();
        }
    }

    /// True if no further counted operation may begin.
    pub(super) fn is_over(&self) -> bool {
        self.stopped.load(Ordering::Relaxed) || self.context.is_over()
    }

    /// When a closed loop ends by the clock.
    fn due(&self) -> Nanos {
        let begun = self.begun.load(Ordering::Acquire);
        let duration = self.duration;
        duration.map_or(NEVER, |duration| begun.saturating_add(duration))
    }

    /// When the run will have been over, as far as it is known now, for as long as one request may
    /// take.
    pub(super) fn cut_off(&self) -> Nanos {
        let ended = self.due().min(self.ended.load(Ordering::Relaxed));
        ended.saturating_add(self.timeout)
    }

    /// Takes the number of the next operation, from 1; `None` when there is no next one. `oldest`
    /// is the beginning of the oldest operation of the user in progress.
    pub(super) fn claim(
        &self,
        user: &mut UserPhase,
        now: Nanos,
        oldest: Option<Nanos>,
    ) -> Option<u64> {
        if self.context.is_over() {
            self.stop();
            return None;
        }
        if self.context.is_ended() {
            self.stop();
        }
        if self.begun.load(Ordering::Acquire) == NEVER {
            self.run_in(user, now);
        } else if now >= self.due() {
            self.stop_at(self.due());
        }
        if self.stopped.load(Ordering::SeqCst) && self.is_run_out(user, oldest) {
            return None;
        }
        let number = self.claimed.fetch_add(1, Ordering::Relaxed) + 1;
        if self.limit.is_some_and(|limit| number > limit) {
            self.stop();
            return None;
        }
        Some(number)
    }

    /// Opens the window once every user has ended an operation and some time has passed; a random
    /// part of an operation later, since users with equal times may still be in step. The slowest
    /// are waited for as long as one request may take.
    fn run_in(&self, user: &mut UserPhase, now: Nanos) {
        self.settle(user);
        let Some(least) = self.run_in else { return };
        let since = self.running_since.load(Ordering::SeqCst);
        let elapsed = now.saturating_sub(since);
        let users = self.context.users;
        let all_settled = self.settled.load(Ordering::SeqCst) == users && elapsed >= least;
        if !all_settled && elapsed < self.timeout.max(least) {
            return;
        }
        // One user opens it; the others find it opened.
        if self.running_since.swap(NEVER, Ordering::SeqCst) == NEVER {
            return;
        }
        // Of the claimed operations, the last of each user are in progress.
        let under_way = u64::from(users) * self.pipeline;
        let claimed = self.claimed.load(Ordering::Relaxed);
        let ended = claimed.saturating_sub(under_way).max(u64::from(users));
        let mean = (elapsed as f64 * f64::from(users) / ended as f64).min(self.timeout as f64);
        let part: f64 = stream(self.seed, STREAM).random();
        self.begin(self.context.clock.now() + (mean * part) as Nanos);
    }

    /// Notes that the window need not wait any longer for a user who has ended an operation.
    pub(super) fn settle(&self, user: &mut UserPhase) {
        if user.has_ended_one && !std::mem::replace(&mut user.is_settled, true) {
            self.settled.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// True if, after the window, no counted operation is in progress any more. If a number of
    /// operations was given, exactly these are begun.
    fn is_run_out(&self, user: &mut UserPhase, oldest: Option<Nanos>) -> bool {
        let ended = self.ended.load(Ordering::Acquire);
        if oldest.is_none_or(|oldest| oldest > ended) {
            self.clear(user);
        }
        self.limit.is_some() || self.cleared.load(Ordering::SeqCst) >= self.context.users
    }

    /// Notes that a user begins nothing any more, as of `now`.
    pub(super) fn leave(&self, user: &mut UserPhase, now: Nanos) {
        if now >= self.due() {
            self.stop_at(self.due());
        }
        self.clear(user);
    }

    /// Notes that a user has no counted operation in progress, nor will have.
    fn clear(&self, user: &mut UserPhase) {
        if !std::mem::replace(&mut user.is_clear, true) {
            self.cleared.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// Notes that a user is ready. With the last of them users begin, and without a run-in the
    /// window does, before any of them has begun an operation.
    pub(super) fn arrive(&self) {
        if self.at_work.fetch_add(1, Ordering::SeqCst) + 1 < self.context.users {
            return;
        }
        let now = self.context.clock.now();
        match (&self.open, self.run_in) {
            (Some(_), _) => {}
            (None, Some(_)) => self.running_since.store(now, Ordering::SeqCst),
            (None, None) => self.begin(now),
        }
    }

    fn begin(&self, moment: Nanos) {
        self.begun.store(moment, Ordering::Release);
        self.write_event(moment, |test| EventKind::MeasuringStarted { test });
    }

    /// Starts the schedule of an open loop, after all users are ready, if anything can be done.
    pub(super) fn start_schedule(&self, can_begin: bool) {
        if can_begin {
            self.begin(self.context.clock.now() + RUN_UP);
        }
        // Without any operation, the run is stopped already, and the schedule ends before it
        // begins.
        self.go.cancel();
    }

    pub(super) fn queue(&self) -> &Queue {
        &self.queue
    }

    /// Waits for the schedule to begin, and returns when it does; `None` if it does not.
    pub(super) async fn schedule_begins(&self) -> Option<Nanos> {
        self.go.cancelled().await;
        let begun = self.begun.load(Ordering::Acquire);
        (begun != NEVER).then_some(begun)
    }

    /// The schedule of an open loop, up to its end.
    pub(super) fn schedule(&self) -> impl Iterator<Item = (u64, PlannedArrival)> + use<> {
        let open = self.open.clone();
        let (arrivals, stages) = open.unwrap_or((Arrivals::Constant, Vec::new()));
        let limit = self.limit.and_then(|limit| usize::try_from(limit).ok());
        (1..)
            .zip(Schedule::new(arrivals, stages, self.seed))
            .take(limit.unwrap_or(usize::MAX))
    }

    /// Length of the schedule whose last operation has this number; `None` if it is cut off behind
    /// it.
    pub(super) fn length_of_schedule(&self, last: u64) -> Option<Nanos> {
        let (_, stages) = self.open.as_ref()?;
        let seconds: f64 = stages.iter().map(|stage| stage.duration_s).sum();
        let is_cut_off = self.limit.is_some_and(|limit| last >= limit);
        (!is_cut_off).then_some((seconds * 1e9) as Nanos)
    }

    /// Waits for the turn of one more connection: they are opened at a bounded rate.
    pub(super) async fn turn_to_connect(&self) {
        let before = self.opened.fetch_add(1, Ordering::Relaxed);
        // A hundred at once are no burst.
        let before = before.saturating_sub(100);
        let clock = self.context.clock;
        let since = *self.opening_since.get_or_init(|| clock.now());
        let due = since.saturating_add(before.saturating_mul(self.connect_distance));
        // In steps, so that an end in between is noticed.
        while due > clock.now() && !self.is_over() {
            let step = clock.now() + STEP;
            sleep_until(clock.monotonic(due.min(step))).await;
        }
    }
}

/// Shortest time for which users of a closed loop are active before the window opens: none if a
/// number of operations was given, and no particular one if a goal ends the run.
fn run_in_of(load: &LoadDrive) -> Option<Nanos> {
    let part = || load.duration.map(nanos).unwrap_or(0) / RUN_IN_PART;
    match (&load.requests, &load.until) {
        (Some(_), _) => None,
        (None, Some(_)) => Some(0),
        (None, None) => Some(part().min(LONGEST_RUN_IN)),
    }
}

/// Progress of one user of a closed loop.
#[derive(Debug, Default)]
pub(super) struct UserPhase {
    /// One of its operations has ended.
    pub(super) has_ended_one: bool,
    /// The user has been counted in `settled`.
    is_settled: bool,
    /// The user has been counted in `cleared`.
    is_clear: bool,
}

impl Driver for Arc<Workload> {
    /// Operations that were begun are ended, within the time that one request may take beyond the
    /// end of pauses.
    fn goes_on(&self, test: TestId, now: Nanos) -> bool {
        self.context.goes_on(test) && now < self.end_of_pauses().saturating_add(self.timeout)
    }

    fn end_of_pauses(&self) -> Nanos {
        match (self.limit, &self.open) {
            // A given number of operations counts as a whole, and is done as earlier.
            (Some(_), _) | (_, Some(_)) => self.cut_off(),
            (None, None) => self.due().min(self.ended.load(Ordering::Relaxed)),
        }
    }

    fn is_strict(&self) -> bool {
        false
    }

    fn request_ended(
        &self,
        silence: &mut ServerSilence,
        end: &RequestEnd<'_>,
    ) -> Result<(), String> {
        if end.has_response {
            if std::mem::take(&mut silence.is_silent) {
                self.silent.fetch_sub(1, Ordering::Relaxed);
            }
            self.note_response(end);
            return Ok(());
        }
        if silence.is_silent || end.ended.saturating_sub(silence.silent_since) < SILENCE {
            return Ok(());
        }
        silence.is_silent = true;
        let at_work = self.context.conditions.at_work(self.context.users);
        if self.silent.fetch_add(1, Ordering::Relaxed) + 1 >= at_work {
            let what = end.wrong.map_or("", |(wrong, _)| &wrong.what);
            let reason = format!("no user got a response for five seconds; the last: {what}");
            self.context.abort(reason);
            self.stop();
        }
        Ok(())
    }
}
