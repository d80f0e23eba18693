//! When tests were measured.

use record::{Event, EventKind, Nanos, TestId};

use crate::Share;

/// A test, or all tests of a load, which are measured in one window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MeasuredPart {
    /// Its name.
    pub name: String,
    /// When its measurement began, in nanoseconds since the run began.
    pub from: Nanos,
    /// When it ended.
    pub to: Nanos,
}

impl MeasuredPart {
    pub(super) fn all(events: &[Event], name: impl Fn(TestId) -> String) -> Vec<MeasuredPart> {
        // The measurement goes on until the last event where its end is not recorded.
        let last = events.iter().map(|event| event.at).max().unwrap_or(0);
        let mut all: Vec<MeasuredPart> = Vec::new();
        for event in events {
            let index = |test| {
                let name = name(test);
                (all.iter().position(|part| part.name == name), name)
            };
            match event.kind {
                EventKind::MeasuringStarted { test } => {
                    if let (None, name) = index(test) {
                        let (from, to) = (event.at, last);
                        all.push(MeasuredPart { name, from, to });
                    }
                }
                EventKind::MeasuringEnded { test } => {
                    if let (Some(index), _) = index(test) {
                        all[index].to = event.at;
                    }
                }
                _ => {}
            }
        }
        all
    }

    pub(super) fn share(&self, count: u64, of: u64) -> Share {
        let name = self.name.clone();
        Share { name, count, of }
    }

    /// The time of it that is after a moment, if any.
    pub(super) fn after(&self, moment: Nanos) -> Option<Share> {
        let count = self.to.saturating_sub(moment.max(self.from));
        (count > 0).then(|| self.share(count, self.to - self.from))
    }
}
