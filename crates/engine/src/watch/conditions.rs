//! How what is measured steers the run: the [`Sink`](crate::Sink) writes, users read.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use record::Nanos;

/// Is told of a new number of users, and how many changes there were before.
type OnChange = Box<dyn Fn(u32, u32) + Send + Sync>;

/// The conditions of a plan, the number of users at work, and the constraint that ends the run before its time.
pub struct Conditions {
    /// By their places in the plan: false until something else is known.
    truths: Vec<AtomicBool>,
    ended_by: OnceLock<String>,
    /// Users of a closed loop that are at work: those with the lowest numbers.
    users: AtomicU32,
    /// Changes of that number.
    changes: AtomicU32,
    /// For how long steps leave a number of users as it is, in nanoseconds.
    kept: Nanos,
    /// When a step last changed it.
    stepped: Mutex<Nanos>,
    on_change: OnceLock<OnChange>,
}

impl Default for Conditions {
    /// None, and all users at work.
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
    /// So many, none of which is true, and all users at work.
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

    /// So many users are at work when the load begins.
    pub fn begin_with(self, users: u32) -> Conditions {
        self.users.store(users, Ordering::SeqCst);
        self
    }

    /// Steps may change the number of users, which is kept for so many nanoseconds each time.
    pub fn keep_for(self, kept: Nanos) -> Conditions {
        Conditions { kept, ..self }
    }

    /// Says whether one is true as far as is known now.
    pub fn set(&self, place: usize, is_true: bool) {
        if let Some(condition) = self.truths.get(place) {
            condition.store(is_true, Ordering::Relaxed);
        }
    }

    /// A step wants so many users at work from now on; one that comes too early changes nothing.
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

    /// So many users are at work from now on. Called by one thread, or in turn.
    pub fn set_users(&self, users: u32) {
        if self.users.swap(users, Ordering::SeqCst) == users {
            return;
        }
        let before = self.changes.fetch_add(1, Ordering::SeqCst) + 1;
        if let Some(on_change) = self.on_change.get() {
            on_change(users, before);
        }
    }

    /// A constraint of that name ends the run: the next [`Break`](std::ops::ControlFlow) of the sink is for
    /// that reason.
    pub fn end_by(&self, constraint: &str) {
        self.ended_by.get_or_init(|| constraint.to_owned());
    }

    pub(crate) fn is_true(&self, place: usize) -> bool {
        let condition = self.truths.get(place);
        condition.is_some_and(|condition| condition.load(Ordering::Relaxed))
    }

    pub(crate) fn ended_by(&self) -> Option<&str> {
        self.ended_by.get().map(String::as_str)
    }

    /// Whether a user is one of those at work.
    pub(crate) fn is_at_work(&self, user: u32) -> bool {
        user < self.users.load(Ordering::Relaxed)
    }

    /// Users at work, of so many.
    pub(crate) fn at_work(&self, of: u32) -> u32 {
        self.users.load(Ordering::Relaxed).min(of)
    }

    /// How many changes of the number of users there were.
    pub(crate) fn phase(&self) -> u16 {
        u16::try_from(self.changes.load(Ordering::Relaxed)).unwrap_or(u16::MAX)
    }

    /// Has changes told to that, from the number of users on with which the load begins.
    pub(crate) fn on_change(&self, on_change: impl Fn(u32, u32) + Send + Sync + 'static) {
        let users = self.users.load(Ordering::SeqCst);
        if users != u32::MAX {
            on_change(users, 0);
        }
        self.on_change.get_or_init(|| Box::new(on_change));
    }
}
