//! State shared by the users of a run: the plan, the barrier, and the state of each test.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use record::{EndedBy, EventKind, MissingStep, TestId};
use suite::Plan;
use tokio::sync::Barrier;

use crate::clock::RunClock;
use crate::drive::started_watches::SharedStopWatches;
use crate::drive::turns::Turn;
use crate::event_loop::cancel::Cancel;
use crate::site::workspace::held::HeldLocks;
use crate::watch::conditions::Conditions;
use crate::watch::journal::Journal;
use crate::watch::progress::{Progress, RowWatch};
use crate::watch::vitals::Totals;

/// Shared by all users of a run, over all threads.
pub(crate) struct RunContext {
    pub(crate) plan: Arc<Plan>,
    pub(crate) clock: RunClock,
    pub(crate) cancel: Cancel,
    pub(crate) progress: Arc<Progress>,
    pub(crate) journal: Arc<Journal>,
    pub(crate) held: Arc<HeldLocks>,
    pub(crate) users: u32,
    /// The targets of the plan, in its order.
    pub(crate) sites: Vec<TargetSite>,
    pub(crate) standing: Standing,
    pub(crate) vitals: Totals,
    pub(crate) turn: Option<Arc<Turn>>,
    pub(crate) shared_watches: SharedStopWatches,
    pub(crate) conditions: Arc<Conditions>,
    /// Notified of the active row.
    pub(crate) rows: Option<Arc<dyn RowWatch>>,
}

/// Facts about a target before measuring begins.
#[derive(Default)]
pub(crate) struct TargetSite {
    /// Methods that OPTIONS lists, for evidence.
    pub(crate) allow: Vec<String>,
    /// The collection of the run existed when it was to be made: the target is an alias of an
    /// earlier one.
    pub(crate) is_alias: bool,
}

/// Progress of all users together.
pub(crate) struct Standing {
    barrier: Barrier,
    /// A user is lost: the barrier is not waited for any more.
    broken: Cancel,
    aborted: AtomicBool,
    /// Nothing else is measured.
    ended: AtomicBool,
    tests: Vec<TestState>,
}

#[derive(Default)]
struct TestState {
    stopped: AtomicBool,
    /// Nothing else of it is measured.
    ended: AtomicBool,
    /// Users who have begun to measure.
    begun: AtomicU32,
    /// Users who have done their share.
    through: AtomicU32,
    /// Operations that begin from now on do not count.
    window_closed: AtomicBool,
    /// Users with a round in progress that may count.
    under_way: AtomicU32,
}

/// Why a test is not measured, or no longer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Stop {
    /// The server cannot do it.
    NotSupported {
        /// The missing step; `None` for a requirement of the whole test.
        step: Option<MissingStep>,
        evidence: String,
    },
    /// Set-up or an unmeasured step failed.
    Failed(String),
    /// The server cannot be reached any more: this ends the run.
    Unreachable(String),
}

impl Standing {
    pub(crate) fn new(tests: usize, users: u32) -> Self {
        Standing {
            barrier: Barrier::new(users as usize),
            broken: Cancel::default(),
            aborted: AtomicBool::new(false),
            ended: AtomicBool::new(false),
            tests: (0..tests).map(|_| TestState::default()).collect(),
        }
    }

    fn test(&self, test: TestId) -> &TestState {
        &self.tests[usize::from(test.0)]
    }
}

impl RunContext {
    /// Waits until all users are here; true for one of them.
    pub(crate) async fn meet(&self) -> bool {
        tokio::select! {
            biased;
            () = self.standing.broken.cancelled() => false,
            met = self.standing.barrier.wait() => met.is_leader(),
        }
    }

    /// Nothing is measured for a while.
    pub(crate) fn rest(&self) {
        if let Some(rows) = &self.rows {
            rows.rests();
        }
    }

    pub(crate) fn record_generator(&self, test: TestId) {
        let generator = self.vitals.take(test, self.progress.exhaustion.take());
        self.journal.write(EventKind::Generator(generator));
    }

    /// Ends a test for all users; the first reason is recorded.
    pub(crate) fn stop(&self, test: TestId, stop: Stop) {
        if !self
            .standing
            .test(test)
            .stopped
            .swap(true, Ordering::SeqCst)
        {
            self.journal.write(match stop.clone() {
                Stop::NotSupported { step, evidence } => EventKind::NotSupported {
                    test,
                    step,
                    evidence,
                },
                Stop::Failed(evidence) | Stop::Unreachable(evidence) => {
                    EventKind::TestFailed { test, evidence }
                }
            });
        }
        if let Stop::Unreachable(reason) = stop {
            self.abort(reason);
        }
    }

    /// Ends the run for all users; the first reason is recorded.
    pub(crate) fn abort(&self, reason: String) {
        if !self.standing.aborted.swap(true, Ordering::SeqCst) {
            self.journal.write(EventKind::Aborted { reason });
        }
    }

    /// Ends the run although a user is lost, for whom the others would wait for ever.
    pub(crate) fn break_up(&self, reason: String) {
        self.abort(reason);
        self.standing.broken.cancel();
    }

    /// Completes when a user is lost and the others need not wait any more.
    pub(crate) async fn broken(&self) {
        self.standing.broken.cancelled().await;
    }

    /// Ends the measurement of a test, or of the run, early; the first reason is recorded.
    pub(crate) fn end(&self, test: Option<TestId>, by: EndedBy) {
        let standing = &self.standing;
        let ended = test.map_or(&standing.ended, |test| &standing.test(test).ended);
        if !ended.swap(true, Ordering::SeqCst) {
            self.journal.write(EventKind::EndedEarly { by });
        }
    }

    /// Records the number of active users, and each change of it.
    pub(crate) fn record_users(&self) {
        let journal = Arc::clone(&self.journal);
        self.conditions.on_change(move |users, changes| {
            let phase = u16::try_from(changes).unwrap_or(u16::MAX);
            journal.write(EventKind::LoadChanged { users, phase });
        });
    }

    /// Ends the run if a constraint with `abort` cannot be fulfilled any more.
    pub(crate) fn end_by_constraint(&self) {
        if let Some(name) = self.conditions.ended_by() {
            let name = name.to_owned();
            self.end(None, EndedBy::Constraint { name });
        }
    }

    pub(crate) fn is_ended(&self) -> bool {
        self.standing.ended.load(Ordering::Relaxed)
    }

    pub(crate) fn is_test_ended(&self, test: TestId) -> bool {
        self.is_ended() || self.standing.test(test).ended.load(Ordering::Relaxed)
    }

    pub(crate) fn goes_on(&self, test: TestId) -> bool {
        !self.standing.test(test).stopped.load(Ordering::SeqCst) && !self.is_over()
    }

    /// True if the whole run is at its end, because the user or the loss of a server ended it.
    pub(crate) fn is_over(&self) -> bool {
        self.cancel.is_cancelled() || self.is_aborted()
    }

    pub(crate) fn is_aborted(&self) -> bool {
        self.standing.aborted.load(Ordering::SeqCst)
    }

    pub(crate) fn count_begun(&self, test: TestId) {
        let begun = &self.standing.test(test).begun;
        begun.fetch_add(1, Ordering::SeqCst);
    }

    pub(crate) fn all_begun(&self, test: TestId) -> bool {
        self.standing.test(test).begun.load(Ordering::SeqCst) >= self.users
    }

    pub(crate) fn count_through(&self, test: TestId) {
        let through = &self.standing.test(test).through;
        through.fetch_add(1, Ordering::SeqCst);
    }

    /// True if all users have done their share, or need not do it any more.
    pub(crate) fn all_through(&self, test: TestId) -> bool {
        self.is_test_ended(test)
            || self.standing.test(test).through.load(Ordering::SeqCst) >= self.users
    }

    /// Closes the window of a test: users continue, uncounted, until no counted operation is in
    /// progress.
    pub(crate) fn close_window(&self, test: TestId) {
        let state = self.standing.test(test);
        if !state.window_closed.swap(true, Ordering::SeqCst) {
            self.journal.write(EventKind::MeasuringEnded { test });
        }
    }

    /// True if no counted operation is in progress any more, nor will be.
    pub(crate) fn is_run_out(&self, test: TestId) -> bool {
        let state = self.standing.test(test);
        state.window_closed.load(Ordering::SeqCst) && state.under_way.load(Ordering::SeqCst) == 0
    }

    /// Begins a measured round of a user, which ends when the returned value is dropped.
    pub(crate) fn begin_round(&self, test: TestId) -> Option<RoundUnderWay<'_>> {
        let state = self.standing.test(test);
        if state.window_closed.load(Ordering::SeqCst) {
            return None;
        }
        state.under_way.fetch_add(1, Ordering::SeqCst);
        Some(RoundUnderWay(&state.under_way))
    }
}

/// A round that may count.
pub(crate) struct RoundUnderWay<'s>(&'s AtomicU32);

impl Drop for RoundUnderWay<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}
