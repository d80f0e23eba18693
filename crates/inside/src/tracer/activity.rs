//! What a tracer and those who use it tell each other, without a lock.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Whether a traced server does something.
#[derive(Debug)]
pub(super) struct Activity {
    origin: Instant,
    /// Of the last stop, in nanoseconds since the origin.
    last_stop: AtomicU64,
    /// Threads that do something other than waiting for something to do.
    busy: AtomicUsize,
    is_to_end: AtomicBool,
}

impl Activity {
    pub(super) fn new() -> Activity {
        Activity {
            origin: Instant::now(),
            last_stop: AtomicU64::new(0),
            busy: AtomicUsize::new(0),
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
    }

    /// Whether all threads wait for something to do, and have done so for this time.
    pub(super) fn is_idle_for(&self, time: Duration) -> bool {
        let since = self.now() - self.last_stop.load(Ordering::Relaxed).min(self.now());
        self.busy.load(Ordering::Relaxed) == 0 && Duration::from_nanos(since) >= time
    }

    pub(super) fn end(&self) {
        self.is_to_end.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_to_end(&self) -> bool {
        self.is_to_end.load(Ordering::Relaxed)
    }

    fn now(&self) -> u64 {
        u64::try_from(self.origin.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }
}
