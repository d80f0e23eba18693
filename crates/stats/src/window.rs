//! The time in which all users of a test are at work.
//!
//! Users cannot start at exactly the same time, and do not end at the same time. An operation of
//! the first user while nobody else has begun says nothing about the server under that load, so
//! only what lies in the overlap counts (Xu 2004, section 4.4, figure 3):
//!
//! ```text
//! user 0   [--][---][--][---][--][--]
//! user 1        [---][---][---][---]
//! user 2          [--][--][----][--][--][--]
//!                 |<--  window  -->|
//! ```
//!
//! It reaches from the moment when the last user has begun to the moment when the first one has
//! ended, over all measures of a test together, because its users go through all of them. An
//! operation counts when all of it lies inside, both ends included. The engine lets users who
//! are through with their share go on until the slowest is through with its own, so the window
//! is long and what is left out are the edges.
//!
//! A single user is always at work: everything counts.

use std::collections::BTreeMap;

use record::{Nanos, Sample};

/// A closed interval of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Window {
    /// First moment that counts.
    pub(crate) start: Nanos,
    /// Last moment that counts.
    pub(crate) end: Nanos,
}

/// Why no operation of a test can count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoWindow {
    /// There is no operation.
    Nothing,
    /// So many users never did one.
    Idle(u64),
    /// A user had ended before another one began.
    NoOverlap,
}

impl Window {
    /// The window of a test, from all samples of all its measures.
    pub(crate) fn of<'a>(
        users: u32,
        samples: impl IntoIterator<Item = &'a Sample>,
    ) -> Result<Window, NoWindow> {
        let mut spans: BTreeMap<u32, Window> = BTreeMap::new();
        for sample in samples {
            let own = Window {
                start: sample.moments.started,
                end: end(sample),
            };
            let span = spans.entry(sample.user).or_insert(own);
            span.start = span.start.min(own.start);
            span.end = span.end.max(own.end);
        }
        let hull = spans
            .values()
            .copied()
            .reduce(Window::hull)
            .ok_or(NoWindow::Nothing)?;
        if users <= 1 {
            return Ok(hull);
        }
        let idle = (0..users).filter(|user| !spans.contains_key(user)).count();
        if idle > 0 {
            return Err(NoWindow::Idle(idle as u64));
        }
        let overlap = spans.values().copied().fold(hull, Window::overlap);
        if overlap.start > overlap.end {
            Err(NoWindow::NoOverlap)
        } else {
            Ok(overlap)
        }
    }

    /// All of the operation lies inside.
    pub(crate) fn contains(self, sample: &Sample) -> bool {
        self.start <= sample.moments.started && end(sample) <= self.end
    }

    /// Length in seconds.
    pub(crate) fn seconds(self) -> f64 {
        (self.end - self.start) as f64 / 1e9
    }

    fn hull(self, other: Window) -> Window {
        Window {
            start: self.start.min(other.start),
            end: self.end.max(other.end),
        }
    }

    fn overlap(self, other: Window) -> Window {
        Window {
            start: self.start.max(other.start),
            end: self.end.min(other.end),
        }
    }
}

/// End of an operation: *done*, or the latest moment that is known of one that never got there.
pub(crate) fn end(sample: &Sample) -> Nanos {
    let moments = sample.moments;
    [moments.sent, moments.first, moments.done]
        .into_iter()
        .flatten()
        .fold(moments.started, Nanos::max)
}

#[cfg(test)]
mod tests {
    use record::{MeasureId, Outcome};

    use super::*;
    use crate::testing;

    /// An operation of `user` from `started` to `done`.
    fn op(user: u32, started: Nanos, done: Nanos) -> Sample {
        let mut sample = testing::sample(MeasureId(0), user, Outcome::Ok);
        sample.moments = testing::moments(started, started, done, done);
        sample
    }

    #[test]
    fn it_reaches_from_the_last_beginning_to_the_first_end() {
        let samples = [
            op(0, 0, 10),
            op(0, 10, 20),
            op(1, 5, 15),
            op(1, 15, 30),
            op(2, 7, 25),
        ];
        let window = Window::of(3, &samples).unwrap();
        assert_eq!(window, Window { start: 7, end: 20 });
        let counted: Vec<bool> = samples.iter().map(|s| window.contains(s)).collect();
        assert_eq!(counted, [false, true, false, false, false]);
        assert!(window.contains(&op(0, 7, 20)), "both ends included");
        assert!(!window.contains(&op(0, 6, 20)) && !window.contains(&op(0, 7, 21)));
    }

    #[test]
    fn a_single_user_is_always_at_work() {
        let samples = [op(0, 3, 10), op(0, 100, 120)];
        let window = Window::of(1, &samples).unwrap();
        assert_eq!(window, Window { start: 3, end: 120 });
        assert_eq!(window.seconds(), 117e-9);
    }

    #[test]
    fn there_is_none_without_operations_overlap_or_all_users() {
        assert_eq!(Window::of(1, &[]), Err(NoWindow::Nothing));
        assert_eq!(Window::of(3, &[op(1, 0, 10)]), Err(NoWindow::Idle(2)));
        assert_eq!(
            Window::of(2, &[op(0, 0, 10), op(1, 11, 20)]),
            Err(NoWindow::NoOverlap)
        );
    }

    #[test]
    fn a_failed_operation_ends_with_its_latest_known_moment() {
        let mut failed = op(0, 5, 9);
        failed.moments.done = None;
        failed.moments.first = None;
        failed.moments.sent = Some(7);
        assert_eq!(end(&failed), 7);
        failed.moments.sent = None;
        assert_eq!(end(&failed), 5);
    }
}
