//! The activity of a traced server, as seen by waiting threads.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::processes::state;

/// State shared by the tracing thread and those that wait for the server.
#[derive(Debug)]
pub(super) struct Activity {
    origin: Instant,
    /// Time of the last stop, in nanoseconds since the origin.
    last_stop: AtomicU64,
    /// Threads that are not waiting for work.
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

    /// Notes that nothing is traced any more.
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

    /// True if all threads have been waiting for work for this time.
    ///
    /// Where processors are scarce, a runnable thread may not have been scheduled to stop yet; or
    /// it may have stopped, and the tracing thread was not scheduled to see it. Both show in the
    /// states of these threads: all of them sleep.
    pub(super) fn is_idle_for(&self, time: Duration) -> bool {
        let last_stop = self.last_stop.load(Ordering::Relaxed);
        let has_been_quiet = Duration::from_nanos(self.now().saturating_sub(last_stop)) >= time;
        let is_awake = |&tid: &u32| matches!(state(tid), Some('R' | 'D' | 't' | 'T'));
        has_been_quiet
            && self.busy.load(Ordering::Relaxed) == 0
            && !self.threads().iter().any(is_awake)
            // A thread that stopped while the states were read may have woken another one.
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
