//! Time of a test: it stands still while anything can be done, and then goes on to the next moment that a
//! task waits for. An hour of a run takes as long as its system calls, and is the same every time.

use std::cell::Cell;

use record::Nanos;

thread_local! {
    static NOW: Cell<Option<Nanos>> = const { Cell::new(None) };
}

/// While it lives, time on this thread is simulated.
pub(crate) struct SimulatedTime;

impl SimulatedTime {
    /// Time begins at one second: there is something before it.
    pub(crate) fn begin() -> SimulatedTime {
        let before = NOW.replace(Some(1_000_000_000));
        assert!(before.is_none(), "time is simulated already");
        SimulatedTime
    }
}

impl Drop for SimulatedTime {
    fn drop(&mut self) {
        NOW.set(None);
    }
}

/// The time of this thread, where it is simulated.
pub(crate) fn now() -> Option<Nanos> {
    NOW.get()
}

/// Time goes on until then.
pub(crate) fn advance_to(moment: Nanos) {
    let now = NOW.get();
    assert!(now.is_some_and(|now| now <= moment), "time never goes back");
    NOW.set(Some(moment));
}
