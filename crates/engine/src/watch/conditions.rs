//! Conditions by which measurements steer the run: the [`Sink`](crate::Sink) writes, users read.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use record::Nanos;

/// Called with a new number of users, and the number of changes before.
type OnChange = Box<dyn Fn(u32, u32) + Send + Sync>;

/// The conditions of a plan, the number of active users, and the constraint that ends the run
/// early.
pub struct Conditions {
    /// Values by their indices in the plan: false until known.
    truths: Vec<AtomicBool>,
    ended_by: OnceLock<String>,
    /// Active users of a closed loop: those with the lowest numbers.
    users: AtomicU32,
    /// Changes of that number.
    changes: AtomicU32,
    /// Time for which steps leave a number of users unchanged, in nanoseconds.
    kept: Nanos,
    /// When a step last changed it.
    stepped: Mutex<Nanos>,
    on_change: OnceLock<OnChange>,
}

impl Default for Conditions {
    /// No conditions, and all users active.
    fn default() -> Conditions {
        Conditions::new(0)
    }
}

impl fmt::Debug for Conditions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Conditions")
            .field("truths", &self.truths)
            .finish_non_exhaustive()
    }
}

impl Conditions {
    /// This many conditions, none of which is true, and all users active.
    pub fn new(count: usize) -> Conditions {
        Conditions {
            truths: (0..count).map(|_| AtomicBool::new(false)).collect(),
            ended_by: OnceLock::new(),
            users: AtomicU32::new(u32::MAX),
            changes: AtomicU32::new(0),
            kept: 0,
            stepped: Mutex::new(0),
            on_change: OnceLock::new(),
        }
    }

    /// Sets the number of active users at the beginning of the load.
    pub fn begin_with(self, users: u32) -> Conditions {
        self.users.store(users, Ordering::SeqCst);
        self
    }

    /// Lets steps change the number of users, which is then kept for this many nanoseconds.
    pub fn keep_for(self, kept: Nanos) -> Conditions {
        Conditions { kept, ..self }
    }

    /// Sets the current value of a condition.
    pub fn set(&self, index: usize, is_true: bool) {
        if let Some(condition) = self.truths.get(index) {
            condition.store(is_true, Ordering::Relaxed);
        }
    }

    /// Sets the number of active users for a step; one that comes too early changes nothing.
    pub(crate) fn step_to(&self, users: u32, now: Nanos) {
        if self.users.load(Ordering::Relaxed) == users {
            return;
        }
        let mut stepped = self.stepped.lock().unwrap_or_else(PoisonError::into_inner);
        if now < stepped.saturating_add(self.kept) {
            return;
        }
        *stepped = now;
        self.set_users(users);
    }

    /// Sets the number of active users. Called by one thread, or in turn.
    pub fn set_users(&self, users: u32) {
        if self.users.swap(users, Ordering::SeqCst) == users {
            return;
        }
        let before = self.changes.fetch_add(1, Ordering::SeqCst) + 1;
        if let Some(on_change) = self.on_change.get() {
            on_change(users, before);
        }
    }

    /// Notes that a constraint of that name ends the run: the next [`Break`](std::ops::ControlFlow)
    /// of the sink is for that reason.
    pub fn end_by(&self, constraint: &str) {
        self.ended_by.get_or_init(|| constraint.to_owned());
    }

    pub(crate) fn is_true(&self, index: usize) -> bool {
        let condition = self.truths.get(index);
        condition.is_some_and(|condition| condition.load(Ordering::Relaxed))
    }

    pub(crate) fn ended_by(&self) -> Option<&str> {
        self.ended_by.get().map(String::as_str)
    }

    /// True if a user is active.
    pub(crate) fn is_at_work(&self, user: u32) -> bool {
        user < self.users.load(Ordering::Relaxed)
    }

    /// Number of active users, of a total.
    pub(crate) fn at_work(&self, of: u32) -> u32 {
        self.users.load(Ordering::Relaxed).min(of)
    }

    /// Number of changes of the number of users.
    pub(crate) fn phase(&self) -> u16 {
        u16::try_from(self.changes.load(Ordering::Relaxed)).unwrap_or(u16::MAX)
    }

    /// Calls `on_change` for changes, from the initial number of users on.
    pub(crate) fn on_change(&self, on_change: impl Fn(u32, u32) + Send + Sync + 'static) {
        let users = self.users.load(Ordering::SeqCst);
        if users != u32::MAX {
            on_change(users, 0);
        }
        self.on_change.get_or_init(|| Box::new(on_change));
    }
}
