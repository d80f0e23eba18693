//! How far a run has come, for whoever shows it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use record::{Event, Generator, MeasureId, TestId};

use crate::watch::exhaustion::Exhaustion;
use crate::watch::heads::Said;
use crate::watch::vitals::Totals;

/// Counts of a run under way. Cheap enough to be raised after every operation.
#[derive(Debug, Default)]
pub struct Progress {
    requests: AtomicU64,
    failed: AtomicU64,
    is_reached: AtomicBool,
    pub(crate) lately: Totals,
    pub(crate) exhaustion: Arc<Exhaustion>,
}

impl Progress {
    /// Requests sent until now, set-up included.
    pub fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }

    /// Measured operations that failed until now.
    pub fn failed(&self) -> u64 {
        self.failed.load(Ordering::Relaxed)
    }

    /// All servers have responded to the first request of the run.
    pub fn is_reached(&self) -> bool {
        self.is_reached.load(Ordering::Relaxed)
    }

    /// How the generator fared while measuring since this was last asked, to a second, but for
    /// what ran out: that is all that did until now.
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

/// Somebody who wants to know what happens while it happens: a progress bar, a log.
pub trait Observer: Send + Sync {
    /// The run began at this time of day (RFC 3339, UTC), from which its nanoseconds are counted.
    fn began(&self, started_at: &str) {
        let _ = started_at;
    }

    /// Something happened.
    fn event(&self, event: &Event);

    /// Whether the heads of requests and responses are wanted as well, which takes time from
    /// measuring.
    fn wants_heads(&self) -> bool {
        false
    }

    /// A client of the run, of that number, said or heard something.
    fn said(&self, client: u32, said: &Said) {
        let _ = (client, said);
    }
}

/// Is told which row is at work, for figures of what goes on inside of the server. Of requests in a pipeline, and of
/// files of a page, it is told nothing.
pub trait RowWatch: Send + Sync {
    /// An operation of this row begins in the measured part of a test, or a request that is of none.
    fn begins(&self, row: Option<MeasureId>);

    /// The response to it has arrived.
    fn answered(&self);

    /// Nothing is sent for a while.
    fn rests(&self);
}

/// Nobody.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Observer for Silent {
    fn event(&self, _: &Event) {}
}
