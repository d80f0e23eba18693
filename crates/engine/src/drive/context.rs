//! What the users of a run share: the plan, the barrier, and how each test stands.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use record::{EndedBy, EventKind, MissingStep, TestId};
use suite::Plan;
use tokio::sync::Barrier;

use crate::clock::RunClock;
use crate::drive::turns::Turn;
use crate::drive::user::stop_watch::SharedStopWatches;
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
    /// Where tests are done in turns with other runs.
    pub(crate) turn: Option<Arc<Turn>>,
    pub(crate) shared_watches: SharedStopWatches,
    pub(crate) conditions: Arc<Conditions>,
    /// Is told which row is at work.
    pub(crate) rows: Option<Arc<dyn RowWatch>>,
}

/// What is known of a target before measuring begins.
#[derive(Default)]
pub(crate) struct TargetSite {
    /// Methods that OPTIONS lists, for evidence.
    pub(crate) allow: Vec<String>,
    /// The collection of the run was there when it was to be made: it is another way to a target before it.
    pub(crate) is_alias: bool,
}

/// How far the users have come together.
pub(crate) struct Standing {
    barrier: Barrier,
    /// A user is lost: nobody waits at the barrier any more.
    broken: Cancel,
    aborted: AtomicBool,
    /// Nothing else is measured.
    ended: AtomicBool,
    tests: Vec<TestState>,
}

/// How a test stands.
#[derive(Default)]
struct TestState {
    stopped: AtomicBool,
    /// Nothing else of it is measured.
    ended: AtomicBool,
    /// Users who have begun to measure.
    begun: AtomicU32,
    /// Users who have done their share.
    through: AtomicU32,
    /// Nothing counts that begins from now on.
    window_closed: AtomicBool,
    /// Users with a round under way that may count.
    under_way: AtomicU32,
}

/// Why a test is not measured, or no longer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Stop {
    /// The server cannot do it.
    NotSupported {
        /// The step that it does not have; `None` for a need of the whole test.
        step: Option<MissingStep>,
        evidence: String,
    },
    /// Set-up or an unmeasured step failed.
    Failed(String),
    /// The server cannot be reached any more: this ends the run.
    Unreachable(String),
}

impl Standing {
    /// Before the first test.
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

    /// Writes down how the generator fared in a test.
    pub(crate) fn tell_of_generator(&self, test: TestId) {
        let fared = self.vitals.take(test, self.progress.exhaustion.take());
        self.journal.write(EventKind::Generator(fared));
    }

    /// Ends a test for all users; the first reason is written down.
    pub(crate) fn stop(&self, test: TestId, stop: Stop) {
        let first = !self
            .standing
            .test(test)
            .stopped
            .swap(true, Ordering::SeqCst);
        if first {
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

    /// Ends the run for all users; the first reason is written down.
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

    /// Completes when a user is lost and nobody waits for the others any more.
    pub(crate) async fn broken(&self) {
        self.standing.broken.cancelled().await;
    }

    /// Ends the measurement of a test, or of the run, before its time; the first reason is written down.
    pub(crate) fn end(&self, test: Option<TestId>, by: EndedBy) {
        let standing = &self.standing;
        let ended = test.map_or(&standing.ended, |test| &standing.test(test).ended);
        if !ended.swap(true, Ordering::SeqCst) {
            self.journal.write(EventKind::EndedEarly { by });
        }
    }

    /// Writes down how many users are at work, and each change of it.
    pub(crate) fn tell_of_users(&self) {
        let journal = Arc::clone(&self.journal);
        self.conditions.on_change(move |users, changes| {
            let phase = u16::try_from(changes).unwrap_or(u16::MAX);
            journal.write(EventKind::LoadChanged { users, phase });
        });
    }

    /// Ends the run where a constraint with `abort` cannot be fulfilled any more.
    pub(crate) fn end_by_constraint(&self) {
        if let Some(name) = self.conditions.ended_by() {
            let name = name.to_owned();
            self.end(None, EndedBy::Constraint { name });
        }
    }

    /// Whether nothing else of the run is measured.
    pub(crate) fn is_ended(&self) -> bool {
        self.standing.ended.load(Ordering::Relaxed)
    }

    /// Whether nothing else of a test is measured.
    pub(crate) fn is_test_ended(&self, test: TestId) -> bool {
        self.is_ended() || self.standing.test(test).ended.load(Ordering::Relaxed)
    }

    /// Whether a test is still to be done.
    pub(crate) fn goes_on(&self, test: TestId) -> bool {
        !self.standing.test(test).stopped.load(Ordering::SeqCst) && !self.is_over()
    }

    /// Whether the whole run is at its end, by the user's wish or for lack of a server.
    pub(crate) fn is_over(&self) -> bool {
        self.cancel.is_cancelled() || self.is_aborted()
    }

    /// Whether the run cannot go on.
    pub(crate) fn is_aborted(&self) -> bool {
        self.standing.aborted.load(Ordering::SeqCst)
    }

    /// One more user begins to measure.
    pub(crate) fn count_begun(&self, test: TestId) {
        self.standing
            .test(test)
            .begun
            .fetch_add(1, Ordering::SeqCst);
    }

    /// Whether all users have begun to measure.
    pub(crate) fn all_begun(&self, test: TestId) -> bool {
        self.standing.test(test).begun.load(Ordering::SeqCst) >= self.users
    }

    /// One more user has done its share of a test.
    pub(crate) fn count_through(&self, test: TestId) {
        self.standing
            .test(test)
            .through
            .fetch_add(1, Ordering::SeqCst);
    }

    /// Whether all users have done their share, or need not do it any more.
    pub(crate) fn all_through(&self, test: TestId) -> bool {
        self.is_test_ended(test)
            || self.standing.test(test).through.load(Ordering::SeqCst) >= self.users
    }

    /// Closes the window of a test: users go on, uncounted, until nothing that counts is under way.
    pub(crate) fn close_window(&self, test: TestId) {
        let state = self.standing.test(test);
        if !state.window_closed.swap(true, Ordering::SeqCst) {
            self.journal.write(EventKind::MeasuringEnded { test });
        }
    }

    /// Whether nothing that counts is under way any more, nor will be.
    pub(crate) fn is_run_out(&self, test: TestId) -> bool {
        let state = self.standing.test(test);
        state.window_closed.load(Ordering::SeqCst) && state.under_way.load(Ordering::SeqCst) == 0
    }

    /// A user begins a measured round, and ends it when what this returns is dropped.
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
