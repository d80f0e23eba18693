//! Counters that sending threads write, and others read at any time.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use hdrhistogram::Histogram;

use crate::sink::locked;
use crate::sys::TcpFacts;

/// A counter that one thread writes.
#[derive(Debug, Default)]
pub(super) struct Counter(AtomicU64);

impl Counter {
    pub(super) fn add(&self, count: u64) {
        self.0.fetch_add(count, Ordering::Relaxed);
    }

    pub(super) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

#[derive(Debug, Default)]
pub(super) struct FlowCounters {
    pub(super) sent_bytes: Counter,
    pub(super) sent_blocks: Counter,
    /// Blocks sent more than [`LATE_NS`] after their moments.
    pub(super) late_blocks: Counter,
    /// Blocks not sent, because it was too late.
    pub(super) dropped_blocks: Counter,
    /// Blocks not sent, because the network had no room for earlier ones until it was too late.
    pub(super) blocked_blocks: Counter,
    /// Blocks not sent, because they exceed the agreed rate.
    pub(super) excess_blocks: Counter,
    /// Blocks not sent, because the system refused them.
    pub(super) refused_blocks: Counter,
    /// Bytes sent to fill short blocks up to their headers.
    pub(super) padding_bytes: Counter,
    /// Facts of the kernel at the end of the flow.
    last_facts: Mutex<Option<TcpFacts>>,
    /// The connection failed.
    has_failed: AtomicBool,
}

/// Delay from which a block counts as late.
pub(super) const LATE_NS: u64 = 1_000_000;

impl FlowCounters {
    pub(super) fn end(&self, facts: Option<TcpFacts>) {
        *locked(&self.last_facts) = facts;
    }

    pub(super) fn last_facts(&self) -> Option<TcpFacts> {
        *locked(&self.last_facts)
    }

    pub(super) fn fail(&self) {
        self.has_failed.store(true, Ordering::Relaxed);
    }

    pub(super) fn has_failed(&self) -> bool {
        self.has_failed.load(Ordering::Relaxed)
    }
}

/// Delays of blocks after their moments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PacingError {
    /// Number of blocks.
    pub blocks: u64,
    /// Median, in nanoseconds.
    pub p50_ns: u64,
    /// 99th percentile, in nanoseconds.
    pub p99_ns: u64,
    /// The largest, in nanoseconds.
    pub max_ns: u64,
}

/// Pacing errors of one thread.
#[derive(Debug)]
pub(super) struct PacingHistogram(Mutex<Histogram<u64>>);

impl PacingHistogram {
    pub(super) fn new() -> Option<PacingHistogram> {
        let minute = 60_000_000_000;
        let histogram = Histogram::new_with_bounds(1, minute, 2).ok()?;
        Some(PacingHistogram(Mutex::new(histogram)))
    }

    pub(super) fn record(&self, nanos: u64) {
        locked(&self.0).saturating_record(nanos);
    }

    /// Summary of all threads.
    pub(super) fn summary(all: &[std::sync::Arc<PacingHistogram>]) -> PacingError {
        let mut sum: Option<Histogram<u64>> = None;
        for one in all {
            let one = locked(&one.0);
            match &mut sum {
                // All have the same bounds.
                Some(sum) => drop(sum.add(&*one)),
                None => sum = Some(one.clone()),
            }
        }
        sum.map_or_else(PacingError::default, |sum| PacingError {
            blocks: sum.len(),
            p50_ns: sum.value_at_quantile(0.5),
            p99_ns: sum.value_at_quantile(0.99),
            max_ns: sum.max(),
        })
    }
}
