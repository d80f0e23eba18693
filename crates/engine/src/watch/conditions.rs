//! How what is measured steers the run: the [`Sink`](crate::Sink) writes, users read.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// The conditions of a plan, and the constraint that ends the run before its time.
#[derive(Debug, Default)]
pub struct Conditions {
    /// By their places in the plan: false until something else is known.
    truths: Vec<AtomicBool>,
    ended_by: OnceLock<String>,
}

impl Conditions {
    /// So many, none of which is true.
    pub fn new(count: usize) -> Conditions {
        Conditions {
            truths: (0..count).map(|_| AtomicBool::new(false)).collect(),
            ended_by: OnceLock::new(),
        }
    }

    /// Says whether one is true as far as is known now.
    pub fn set(&self, place: usize, is_true: bool) {
        if let Some(condition) = self.truths.get(place) {
            condition.store(is_true, Ordering::Relaxed);
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
}
