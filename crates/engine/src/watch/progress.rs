//! Progress of a run, for display.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use record::{Event, Generator, MeasureId, TestId};

use crate::watch::exhaustion::Exhaustion;
use crate::watch::heads::HeadRecord;
use crate::watch::vitals::Totals;

/// Counts of a run in progress. Cheap enough to be raised after every operation.
#[derive(Debug, Default)]
pub struct Progress {
    requests: AtomicU64,
    failed: AtomicU64,
    is_reached: AtomicBool,
    pub(crate) lately: Totals,
    pub(crate) exhaustion: Arc<Exhaustion>,
}

impl Progress {
    /// Requests sent so far, set-up included.
    pub fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }

    /// Measured operations that failed so far.
    pub fn failed(&self) -> u64 {
        self.failed.load(Ordering::Relaxed)
    }

    /// All servers have responded to the first request of the run.
    pub fn is_reached(&self) -> bool {
        self.is_reached.load(Ordering::Relaxed)
    }

    /// Figures of the load generator while measuring since the last call, to a second; exhausted
    /// resources are those of the whole run.
    pub fn lately(&self) -> Generator {
        self.lately.take(TestId(0), self.exhaustion.counts())
    }

    /// Takes the number of the next request, from 1.
    pub(crate) fn next_request(&self) -> u64 {
        self.requests.fetch_add(1, Ordering::Relaxed) + 1
    }

    pub(crate) fn reached(&self) {
        self.is_reached.store(true, Ordering::Relaxed);
    }

    pub(crate) fn add_failed(&self) {
        self.failed.fetch_add(1, Ordering::Relaxed);
    }
}

/// Notified of events as they happen: a progress bar, a log.
pub trait Observer: Send + Sync {
    /// The run began at this time of day (RFC 3339, UTC), from which its nanoseconds are counted.
    fn began(&self, started_at: &str) {
        let _ = started_at;
    }

    /// An event happened.
    fn event(&self, event: &Event);

    /// True if the heads of requests and responses are needed as well, which takes time from
    /// measuring.
    fn wants_heads(&self) -> bool {
        false
    }

    /// A client of the run, of that number, sent or received a head.
    fn head_passed(&self, client: u32, head: &HeadRecord) {
        let _ = (client, head);
    }
}

/// Notified of the active row, for figures of the inside of the server. There are no notifications
/// for requests in a pipeline, and for files of a page.
pub trait RowWatch: Send + Sync {
    /// An operation of this row begins in the measured part of a test, or a request of none.
    fn begins(&self, row: Option<MeasureId>);

    /// The response to it has arrived.
    fn response_arrived(&self);

    /// Nothing is sent for a while.
    fn rests(&self);
}

/// An observer that ignores everything.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Observer for Silent {
    fn event(&self, _: &Event) {}
}
