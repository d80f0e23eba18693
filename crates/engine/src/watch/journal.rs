//! Events: kept for the record, and passed to the observer.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use record::{Event, EventKind, MeasureId, Nanos, Outcome};

use crate::clock::RunClock;
use crate::clock::timekeeper::OnClockStep;
use crate::watch::progress::Observer;

/// Failed operations of one measure that are described; of the others only the first of each
/// outcome and status is, and they are counted.
const DESCRIBED: u32 = 5;

/// The events of a run, written by many users.
pub(crate) struct Journal {
    clock: RunClock,
    observer: Arc<dyn Observer>,
    pages: Mutex<EventTallies>,
}

impl fmt::Debug for Journal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Journal").finish_non_exhaustive()
    }
}

impl OnClockStep for Journal {
    fn clock_stepped(&self, by: i64) {
        self.write(EventKind::ClockStepped { by });
    }
}

#[derive(Default)]
struct EventTallies {
    events: Vec<Event>,
    notes: BTreeSet<(MeasureId, String)>,
    described: Vec<u32>,
    kinds: BTreeSet<(MeasureId, Outcome, Option<u16>)>,
}

impl Journal {
    pub(crate) fn new(clock: RunClock, observer: Arc<dyn Observer>, measures: usize) -> Self {
        let pages = EventTallies {
            described: vec![0; measures],
            ..EventTallies::default()
        };
        Journal {
            clock,
            observer,
            pages: Mutex::new(pages),
        }
    }

    /// Writes an event. A note that was made before, and the sixth and later failures of a measure,
    /// unless they are the first of their kind, are left out.
    pub(crate) fn write(&self, kind: EventKind) {
        self.write_at(self.clock.now(), kind);
    }

    /// The same for an event with a noted moment: counts at that moment while the run lasts must be
    /// those of the record.
    pub(crate) fn write_at(&self, at: Nanos, kind: EventKind) {
        let mut pages = self.pages();
        let wanted = match &kind {
            EventKind::Note { measure, text } => pages.notes.insert((*measure, text.clone())),
            EventKind::OperationFailed {
                measure,
                outcome,
                status,
                ..
            } => {
                let is_new = pages.kinds.insert((*measure, *outcome, *status));
                match pages.described.get_mut(usize::from(measure.0)) {
                    Some(described) => {
                        *described += 1;
                        is_new || *described <= DESCRIBED
                    }
                    None => false,
                }
            }
            _ => true,
        };
        if wanted {
            let event = Event { at, kind };
            self.observer.event(&event);
            pages.events.push(event);
        }
    }

    pub(crate) fn events(&self) -> Vec<Event> {
        self.pages().events.clone()
    }

    /// A panic while writing leaves whole events: continuing is safe.
    fn pages(&self) -> MutexGuard<'_, EventTallies> {
        self.pages.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Silent;

    #[test]
    fn the_first_few_failures_are_described_and_the_first_of_each_kind() {
        let journal = Journal::new(RunClock::start(), Arc::new(Silent), 1);
        let fail = |number: u64, status: u16| {
            journal.write(EventKind::OperationFailed {
                measure: MeasureId(0),
                user: 0,
                number,
                outcome: Outcome::WrongStatus,
                status: Some(status),
                evidence: String::new(),
                cause: None,
            });
        };
        (1..=10).for_each(|number| fail(number, 404));
        (11..=20).for_each(|number| fail(number, 500));
        let events = journal.events();
        let number = |event: &Event| match event.kind {
            EventKind::OperationFailed { number, .. } => Some(number),
            _ => None,
        };
        let numbers: Vec<u64> = events.iter().filter_map(number).collect();
        assert_eq!(numbers, [1, 2, 3, 4, 5, 11]);
    }
}
