//! What the users of a run share: the plan, the barrier, and how each test stands.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use record::{EventKind, TestId};
use suite::Plan;
use tokio::sync::Barrier;

use crate::cancel::Cancel;
use crate::clock::RunClock;
use crate::journal::Journal;
use crate::progress::Progress;

/// Shared by all users of a run, over all threads.
pub(crate) struct Stage {
    pub(crate) plan: Arc<Plan>,
    pub(crate) clock: RunClock,
    pub(crate) cancel: Cancel,
    pub(crate) progress: Arc<Progress>,
    pub(crate) journal: Arc<Journal>,
    pub(crate) barrier: Barrier,
    pub(crate) users: u32,
    pub(crate) warmup: u32,
    /// Path below which users make their collections; ends with a slash.
    pub(crate) root: String,
    /// Methods that OPTIONS lists, for evidence.
    pub(crate) allow: Vec<String>,
    states: Vec<TestState>,
    aborted: Mutex<Option<String>>,
}

/// How a test stands.
#[derive(Default)]
struct TestState {
    stopped: AtomicBool,
    /// Users who have done their share.
    through: AtomicU32,
}

/// Why a test is not measured, or no longer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Stop {
    /// The server cannot do it.
    NotSupported(String),
    /// Set-up or an unmeasured step failed.
    Failed(String),
    /// The server cannot be reached any more: this ends the run.
    Unreachable(String),
}

/// Facts a stage is made of.
pub(crate) struct StageParts {
    pub(crate) plan: Arc<Plan>,
    pub(crate) clock: RunClock,
    pub(crate) cancel: Cancel,
    pub(crate) progress: Arc<Progress>,
    pub(crate) journal: Arc<Journal>,
    pub(crate) users: u32,
    pub(crate) warmup: u32,
    pub(crate) root: String,
    pub(crate) allow: Vec<String>,
}

impl Stage {
    pub(crate) fn new(parts: StageParts) -> Self {
        let states = parts
            .plan
            .tests
            .iter()
            .map(|_| TestState::default())
            .collect();
        Stage {
            plan: parts.plan,
            clock: parts.clock,
            cancel: parts.cancel,
            progress: parts.progress,
            journal: parts.journal,
            barrier: Barrier::new(parts.users as usize),
            users: parts.users,
            warmup: parts.warmup,
            root: parts.root,
            allow: parts.allow,
            states,
            aborted: Mutex::new(None),
        }
    }

    /// Ends a test for all users; the first reason is written down.
    pub(crate) fn stop(&self, test: TestId, stop: Stop) {
        let first = !self.state(test).stopped.swap(true, Ordering::SeqCst);
        if !first {
            return;
        }
        self.journal.write(match stop.clone() {
            Stop::NotSupported(evidence) => EventKind::NotSupported { test, evidence },
            Stop::Failed(evidence) | Stop::Unreachable(evidence) => {
                EventKind::TestFailed { test, evidence }
            }
        });
        if let Stop::Unreachable(reason) = stop {
            let mut aborted = self.aborted.lock().unwrap_or_else(PoisonError::into_inner);
            if aborted.is_none() {
                self.journal.write(EventKind::Aborted {
                    reason: reason.clone(),
                });
                *aborted = Some(reason);
            }
        }
    }

    /// Whether a test is still to be done.
    pub(crate) fn goes_on(&self, test: TestId) -> bool {
        !self.state(test).stopped.load(Ordering::SeqCst) && !self.is_over()
    }

    /// Whether the whole run is at its end, by the user's wish or for lack of a server.
    pub(crate) fn is_over(&self) -> bool {
        self.cancel.is_cancelled() || self.is_aborted()
    }

    /// Whether the server is gone.
    pub(crate) fn is_aborted(&self) -> bool {
        self.aborted
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .is_some()
    }

    /// One more user has done his share of a test.
    pub(crate) fn is_through(&self, test: TestId) {
        self.state(test).through.fetch_add(1, Ordering::SeqCst);
    }

    /// Whether all users have done their share.
    pub(crate) fn all_through(&self, test: TestId) -> bool {
        self.state(test).through.load(Ordering::SeqCst) >= self.users
    }

    fn state(&self, test: TestId) -> &TestState {
        &self.states[usize::from(test.0)]
    }
}
