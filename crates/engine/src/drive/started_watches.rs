//! Running stop-watches, of one user and of all users.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use record::{Nanos, Outcome};
use suite::StopWatchPlan;

/// Starts of a shared stop-watch that wait for a stop; beyond this, the oldest are discarded.
const MOST_RUNNING: usize = 4096;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StartedWatch {
    pub(crate) since: Nanos,
    /// When the schedule planned its operation, if it starts before the first request.
    pub(crate) planned: Option<Nanos>,
    /// The stop-watch was started in the measured part of a test.
    pub(crate) counts: bool,
    /// An operation failed meanwhile.
    pub(crate) failed: Option<Outcome>,
}

/// The running ones of one user, by their indices in the plan.
#[derive(Debug, Default)]
pub(crate) struct StopWatches(Vec<Option<StartedWatch>>);

impl StopWatches {
    /// Notes a failed operation of the user: running stop-watches measure nothing valid.
    pub(crate) fn fail(&mut self, outcome: Outcome) {
        for running in self.0.iter_mut().flatten() {
            running.failed.get_or_insert(outcome);
        }
    }

    pub(crate) fn forget(&mut self) {
        self.0.clear();
    }

    /// Excludes time in which the run waited for another one.
    pub(crate) fn hold(&mut self, time: Nanos) {
        for running in self.0.iter_mut().flatten() {
            running.since += time;
        }
    }

    pub(crate) fn start(&mut self, watch: usize, running: StartedWatch) {
        if watch >= self.0.len() {
            self.0.resize(watch + 1, None);
        }
        self.0[watch] = Some(running);
    }

    pub(crate) fn stop(&mut self, watch: usize) -> Option<StartedWatch> {
        self.0.get_mut(watch)?.take()
    }
}

/// Stop-watches that any user stops, by their indices in the plan.
#[derive(Debug)]
pub(crate) struct SharedStopWatches(Vec<Mutex<VecDeque<StartedWatch>>>);

impl SharedStopWatches {
    pub(crate) fn new(plan: &[StopWatchPlan]) -> SharedStopWatches {
        let room = |watch: &StopWatchPlan| if watch.is_shared { MOST_RUNNING } else { 0 };
        let running = |watch| Mutex::new(VecDeque::with_capacity(room(watch)));
        SharedStopWatches(plan.iter().map(running).collect())
    }

    fn with<T>(&self, watch: usize, work: impl FnOnce(&mut VecDeque<StartedWatch>) -> T) -> T {
        // Every change is a single step, so a panic leaves consistent state.
        let mut running = self.0[watch].lock().unwrap_or_else(PoisonError::into_inner);
        work(&mut running)
    }

    pub(crate) fn start(&self, watch: usize, started: StartedWatch) {
        self.with(watch, |running| {
            if running.len() == MOST_RUNNING {
                running.pop_front();
            }
            running.push_back(started);
        });
    }

    /// The oldest start, of the counted ones if the stop counts: warming up may leave some behind.
    pub(crate) fn stop(&self, watch: usize, counts: bool) -> Option<StartedWatch> {
        self.with(watch, |running| {
            while counts && running.front().is_some_and(|first| !first.counts) {
                running.pop_front();
            }
            running.pop_front()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn running(since: Nanos) -> StartedWatch {
        StartedWatch {
            since,
            planned: None,
            counts: true,
            failed: None,
        }
    }

    #[test]
    fn each_runs_for_itself_and_begins_anew_when_it_is_started_again() {
        let mut watches = StopWatches::default();
        watches.start(2, running(10));
        watches.start(0, running(20));
        watches.start(2, running(30));
        assert_eq!(watches.stop(1), None);
        assert_eq!(watches.stop(2), Some(running(30)));
        assert_eq!(watches.stop(2), None);
        assert_eq!(watches.stop(0), Some(running(20)));
        assert_eq!(watches.stop(7), None);
    }

    #[test]
    fn a_failure_and_a_wait_concern_those_that_run() {
        let mut watches = StopWatches::default();
        watches.start(0, running(10));
        watches.fail(Outcome::Reset);
        watches.start(1, running(20));
        watches.fail(Outcome::Timeout);
        watches.hold(5);
        let first = watches.stop(0).unwrap();
        assert_eq!((first.since, first.failed), (15, Some(Outcome::Reset)));
        let second = watches.stop(1).unwrap();
        assert_eq!((second.since, second.failed), (25, Some(Outcome::Timeout)));
    }

    #[test]
    fn what_is_shared_is_stopped_in_its_order_and_bounded() {
        let plan = [StopWatchPlan {
            name: "Handover".to_owned(),
            measure: None,
            is_shared: true,
        }];
        let shared = SharedStopWatches::new(&plan);
        for at in 0..MOST_RUNNING as u64 + 3 {
            shared.start(0, running(at));
        }
        assert_eq!(shared.stop(0, true), Some(running(3)));
        assert_eq!(shared.stop(0, true), Some(running(4)));
        for _ in 0..MOST_RUNNING {
            shared.stop(0, true);
        }
        assert_eq!(shared.stop(0, true), None);
    }
}
