//! Whether a traced server does something, as seen by those who wait for it.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::processes::state;

/// What the thread that traces and those who wait for the server share.
#[derive(Debug)]
pub(super) struct Activity {
    origin: Instant,
    /// Of the last stop, in nanoseconds since the origin.
    last_stop: AtomicU64,
    /// Threads that do something other than waiting for something to do.
    busy: AtomicUsize,
    /// The traced threads, and the one that traces.
    threads: Mutex<HashSet<u32>>,
    is_to_end: AtomicBool,
}

impl Activity {
    pub(super) fn new() -> Activity {
        Activity {
            origin: Instant::now(),
            last_stop: AtomicU64::new(0),
            busy: AtomicUsize::new(0),
            threads: Mutex::default(),
            is_to_end: AtomicBool::new(false),
        }
    }

    pub(super) fn stopped(&self) {
        self.last_stop.store(self.now(), Ordering::Relaxed);
    }

    pub(super) fn add_busy(&self, is_busy: bool) {
        if is_busy {
            self.busy.fetch_add(1, Ordering::Relaxed);
        } else {
            self.busy.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Nothing is traced any more.
    pub(super) fn ended(&self) {
        self.busy.store(0, Ordering::Relaxed);
        self.threads().clear();
    }

    pub(super) fn add_thread(&self, tid: u32) {
        self.threads().insert(tid);
    }

    pub(super) fn remove_thread(&self, tid: u32) {
        self.threads().remove(&tid);
    }

    /// Whether all threads wait for something to do, and have done so for this time.
    ///
    /// Where processors are scarce, a thread may have something to do, and not have come to stop for it; or it may
    /// have stopped, and the thread that traces did not come to see it. Both show in the states of these threads:
    /// all of them sleep.
    pub(super) fn is_idle_for(&self, time: Duration) -> bool {
        let last_stop = self.last_stop.load(Ordering::Relaxed);
        let has_been_quiet = Duration::from_nanos(self.now().saturating_sub(last_stop)) >= time;
        let is_awake = |&tid: &u32| matches!(state(tid), Some('R' | 'D' | 't' | 'T'));
        has_been_quiet
            && self.busy.load(Ordering::Relaxed) == 0
            && !self.threads().iter().any(is_awake)
            // What stopped while the states were read may have woken another one.
            && self.last_stop.load(Ordering::Relaxed) == last_stop
    }

    pub(super) fn end(&self) {
        self.is_to_end.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_to_end(&self) -> bool {
        self.is_to_end.load(Ordering::Relaxed)
    }

    fn threads(&self) -> MutexGuard<'_, HashSet<u32>> {
        self.threads.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> u64 {
        u64::try_from(self.origin.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }
}
