//! The measurement window: which operations count.
//!
//! An operation counts when it *begins* inside the window, and the engine waits for it until it
//! ends, up to its time limit. Counting those that lie wholly inside would leave out long
//! operations more often than short ones: one of three seconds fits into a window of ten in seven
//! places of ten. Beginnings have no such bias, because whether an operation begins inside does not
//! depend on how long it will take (the number of operations that a user begins is a stopping time:
//! Wald 1944). The engine keeps all users at work, uncounted, until the last operation that counts
//! has ended.
//!
//! Throughput has a rule of its own: operations that *end* inside the window, over its length. In
//! the steady state as many end inside as were in progress when it began.
//!
//! In a suite with several users the window reaches from the moment when the last user has begun
//! to the moment when the first one ends, or when all have done their share (Xu 2004, section 4.4,
//! figure 3), over all measures of a test together, because its users go through all of them:
//!
//! ```text
//! user 0   [--][---][--][---][--][--]
//! user 1        [---][---][---][-----]
//! user 2          [--][--][----][--][--][--]
//!                 |<--  window  -->|
//! ```
//!
//! A single user is always at work: all operations count.
//!
//! In a closed loop ([`Pace::Closed`](record::Pace::Closed)) the events of the engine give the
//! window. Where a number of operations was requested, exactly these are begun, and all of them
//! count. In an open loop all planned operations count.

use std::collections::BTreeMap;

use record::{CountedSpan, Nanos, Sample};

/// Which operations count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MeasurementWindow {
    /// All of them.
    Everything,
    /// Those that begin between two moments of the run, both included. The end of a window that is
    /// still open is [`Nanos::MAX`].
    Between {
        /// First moment that counts.
        start: Nanos,
        /// Last moment that counts.
        end: Nanos,
    },
    /// All of them, because a number of them was requested. Between these moments all users were at
    /// work, as throughput requires.
    Asked {
        /// First moment.
        start: Nanos,
        /// Last moment.
        end: Nanos,
    },
    /// None of them.
    Nothing,
}

impl MeasurementWindow {
    /// The operation counts.
    pub fn contains(self, sample: &Sample) -> bool {
        self.counts_from(sample.moments.started)
    }

    /// The same for readers of the record of that measure; `None` where nothing counts.
    pub fn named(self, measure: &str) -> Option<CountedSpan> {
        let (from_ns, to_ns) = match self {
            MeasurementWindow::Everything | MeasurementWindow::Asked { .. } => (0, Nanos::MAX),
            MeasurementWindow::Between { start, end } => (start, end),
            MeasurementWindow::Nothing => return None,
        };
        Some(CountedSpan {
            measure: measure.to_owned(),
            from_ns,
            to_ns: to_ns.min(CountedSpan::NO_END),
        })
    }

    /// True if operations that begin at that moment count.
    pub(crate) fn counts_from(self, moment: Nanos) -> bool {
        match self {
            MeasurementWindow::Everything | MeasurementWindow::Asked { .. } => true,
            MeasurementWindow::Between { start, end } => (start..=end).contains(&moment),
            MeasurementWindow::Nothing => false,
        }
    }

    /// True if operations that end at that moment are part of the throughput.
    pub(crate) fn contains_moment(self, moment: Nanos) -> bool {
        match self {
            MeasurementWindow::Everything => true,
            MeasurementWindow::Between { start, end } | MeasurementWindow::Asked { start, end } => {
                (start..=end).contains(&moment)
            }
            MeasurementWindow::Nothing => false,
        }
    }

    /// The operation began after the end of the window, to maintain the load.
    pub(crate) fn is_before(self, sample: &Sample) -> bool {
        matches!(self, MeasurementWindow::Between { end, .. } if sample.moments.started > end)
    }

    pub(crate) fn share_of(self, sample: &Sample) -> Nanos {
        self.share(Span::from_sample(sample))
    }

    /// The part of a span that lies inside, in nanoseconds.
    pub(crate) fn share(self, span: Span) -> Nanos {
        match self {
            MeasurementWindow::Everything => span.end - span.start,
            MeasurementWindow::Between { start, end } | MeasurementWindow::Asked { start, end } => {
                let inside = span.overlap(Span { start, end });
                inside.end.saturating_sub(inside.start)
            }
            MeasurementWindow::Nothing => 0,
        }
    }
}

impl From<Result<Span, NoWindow>> for MeasurementWindow {
    fn from(window: Result<Span, NoWindow>) -> MeasurementWindow {
        match window {
            Ok(Span { start, end }) => MeasurementWindow::Between { start, end },
            Err(_) => MeasurementWindow::Nothing,
        }
    }
}

/// A closed interval of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) start: Nanos,
    pub(crate) end: Nanos,
}

/// Why no operation of a test can count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoWindow {
    /// There is no operation.
    Nothing,
    Idle(u64),
    /// A user had ended before another one began.
    NoOverlap,
}

/// From when to when each user of a test was at work.
#[derive(Debug, Clone, Default)]
pub(crate) struct Users(BTreeMap<u32, Span>);

impl Users {
    pub(crate) fn add(&mut self, sample: &Sample) {
        let lasted = Span::from_sample(sample);
        let span = self.0.entry(sample.user).or_insert(lasted);
        *span = span.hull(lasted);
    }

    /// The time in which all `users` were at work, and not all of them had done their share: from
    /// the moment `through` on they only maintained the load.
    pub(crate) fn window(&self, users: u32, through: Option<Nanos>) -> Result<Span, NoWindow> {
        let spans = || self.0.values().copied();
        let hull = spans().reduce(Span::hull).ok_or(NoWindow::Nothing)?;
        if users <= 1 {
            return Ok(hull);
        }
        let idle = u64::from(users).saturating_sub(self.0.len() as u64);
        if idle > 0 {
            return Err(NoWindow::Idle(idle));
        }
        let mut overlap = spans().fold(hull, Span::overlap);
        overlap.end = overlap.end.min(through.unwrap_or(Nanos::MAX));
        if overlap.start > overlap.end {
            Err(NoWindow::NoOverlap)
        } else {
            Ok(overlap)
        }
    }
}

impl Span {
    pub(crate) fn from_sample(sample: &Sample) -> Span {
        Span {
            start: sample.moments.started,
            end: end(sample),
        }
    }

    pub(crate) fn seconds(self) -> f64 {
        (self.end - self.start) as f64 / 1e9
    }

    /// From the first moment of either to the last.
    pub(crate) fn hull(self, other: Span) -> Span {
        Span {
            start: self.start.min(other.start),
            end: self.end.max(other.end),
        }
    }

    pub(crate) fn overlap(self, other: Span) -> Span {
        Span {
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

    fn window(users: u32, samples: &[Sample]) -> Result<Span, NoWindow> {
        let mut at_work = Users::default();
        samples.iter().for_each(|sample| at_work.add(sample));
        at_work.window(users, None)
    }

    #[test]
    fn it_reaches_from_the_last_beginning_to_the_first_end_and_counts_what_begins_in_it() {
        let samples = [
            op(0, 0, 10),
            op(0, 10, 20),
            op(1, 5, 15),
            op(1, 15, 30),
            op(2, 7, 25),
        ];
        let span = window(3, &samples).unwrap();
        assert_eq!(span, Span { start: 7, end: 20 });
        let window = MeasurementWindow::from(Ok(span));
        let counted: Vec<bool> = samples.iter().map(|s| window.contains(s)).collect();
        assert_eq!(counted, [false, true, false, true, true]);
        assert!(window.contains(&op(0, 20, 90)), "both ends included");
        assert!(!window.contains(&op(0, 6, 20)) && !window.contains(&op(0, 21, 22)));
        let ends: Vec<bool> = [6, 7, 20, 21].map(|at| window.contains_moment(at)).into();
        assert_eq!(ends, [false, true, true, false]);
    }

    #[test]
    fn it_ends_when_all_have_done_their_share() {
        let mut users = Users::default();
        for sample in [op(0, 0, 100), op(1, 10, 90)] {
            users.add(&sample);
        }
        let end = |through| users.window(2, through).map(|span| span.end);
        assert_eq!(end(Some(50)), Ok(50));
        assert_eq!(end(Some(95)), Ok(90));
        assert_eq!(end(Some(5)), Err(NoWindow::NoOverlap));
        // With a single user, all operations count.
        let mut alone = Users::default();
        alone.add(&op(0, 0, 100));
        assert_eq!(alone.window(1, Some(50)), Ok(Span { start: 0, end: 100 }));
    }

    #[test]
    fn what_was_asked_for_counts_whenever_it_began() {
        let window = MeasurementWindow::Asked { start: 10, end: 20 };
        assert!(window.contains(&op(0, 5, 6)) && window.contains(&op(0, 21, 30)));
        assert!(window.contains_moment(15) && !window.contains_moment(21));
    }

    #[test]
    fn a_single_user_is_always_at_work() {
        let samples = [op(0, 3, 10), op(0, 100, 120)];
        let window = window(1, &samples).unwrap();
        assert_eq!(window, Span { start: 3, end: 120 });
        assert_eq!(window.seconds(), 117e-9);
    }

    #[test]
    fn there_is_none_without_operations_overlap_or_all_users() {
        assert_eq!(window(1, &[]), Err(NoWindow::Nothing));
        assert_eq!(window(3, &[op(1, 0, 10)]), Err(NoWindow::Idle(2)));
        assert_eq!(
            window(2, &[op(0, 0, 10), op(1, 11, 20)]),
            Err(NoWindow::NoOverlap)
        );
    }

    #[test]
    fn of_an_operation_at_the_edge_a_part_lies_inside() {
        let window = MeasurementWindow::Between { start: 10, end: 20 };
        let table = [
            (0, 5, 0),
            (5, 12, 2),
            (10, 20, 10),
            (12, 15, 3),
            (19, 30, 1),
            (0, 40, 10),
        ];
        for (started, done, inside) in table {
            assert_eq!(window.share_of(&op(0, started, done)), inside, "{started}");
        }
        assert_eq!(MeasurementWindow::Everything.share_of(&op(0, 3, 9)), 6);
        assert_eq!(MeasurementWindow::Nothing.share_of(&op(0, 3, 9)), 0);
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
