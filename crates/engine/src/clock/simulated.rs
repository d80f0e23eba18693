//! Time of a test: it stands still while any task can run, and then advances to the next moment
//! that a task waits for. An hour of a run takes as long as its system calls, and is the same every
//! time.

use std::cell::{Cell, RefCell};

use record::Nanos;

use crate::clock::stamps::RealNanos;

thread_local! {
    static NOW: Cell<Option<Nanos>> = const { Cell::new(None) };
    static DAY: RefCell<SimulatedDay> = RefCell::default();
}

/// The time of day at simulated time 0: some day in 2023.
const MIDNIGHT: RealNanos = 1_700_000_000_000_000_000;

#[derive(Default)]
struct SimulatedDay {
    /// When the time of day is set, and by how much it goes forward.
    steps: Vec<(Nanos, i64)>,
    reading: Option<Box<dyn FnMut() -> Nanos>>,
}

/// Time on this thread is simulated while this lives.
pub(crate) struct SimulatedTime;

impl SimulatedTime {
    /// Time begins at one second, so that earlier moments exist.
    pub(crate) fn begin() -> SimulatedTime {
        let before = NOW.replace(Some(1_000_000_000));
        assert!(before.is_none(), "time is simulated already");
        SimulatedTime
    }

    /// Sets the time of day at these moments, by these steps.
    pub(crate) fn set_day_at(&self, steps: Vec<(Nanos, i64)>) {
        DAY.with_borrow_mut(|day| day.steps = steps);
    }

    /// Lets each reading of a clock take this much time.
    pub(crate) fn let_readings_take(&self, reading: impl FnMut() -> Nanos + 'static) {
        DAY.with_borrow_mut(|day| day.reading = Some(Box::new(reading)));
    }
}

impl Drop for SimulatedTime {
    fn drop(&mut self) {
        NOW.set(None);
        DAY.take();
    }
}

pub(crate) fn now() -> Option<Nanos> {
    NOW.get()
}

/// The same, read by a program, which may take time.
pub(crate) fn read() -> Option<Nanos> {
    let now = NOW.get()?;
    let took = DAY.with_borrow_mut(|day| day.reading.as_mut().map_or(0, |reading| reading()));
    NOW.set(Some(now + took));
    Some(now)
}

/// The time of day, read by a program.
pub(crate) fn read_day() -> Option<RealNanos> {
    read().map(day_at)
}

pub(crate) fn day_at(moment: Nanos) -> RealNanos {
    let set: i64 = DAY.with_borrow(|day| {
        let past = day.steps.iter().filter(|(at, _)| *at <= moment);
        past.map(|(_, by)| by).sum()
    });
    MIDNIGHT + moment.cast_signed() + set
}

pub(crate) fn advance_to(moment: Nanos) {
    let now = NOW.get();
    assert!(now.is_some_and(|now| now <= moment), "time never goes back");
    NOW.set(Some(moment));
}
