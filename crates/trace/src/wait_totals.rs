//! Waits, summed up by cause and end. Pure.

use std::cmp::Reverse;

use crate::path::PathMeans;
use crate::waits::{ConnectionEnd, WaitCause};

/// Longest waits that are kept for each cause and end.
const MOST_KEPT: usize = 16;

/// One wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wait {
    /// Its beginning, in nanoseconds.
    pub start_ns: i64,
    /// Its length.
    pub length_ns: i64,
    /// The packet before it.
    pub from_packet: u64,
    /// The packet that ends it.
    pub to_packet: u64,
}

impl Wait {
    /// The wait for the same packet from another moment on.
    pub(crate) fn since(self, start_ns: i64) -> Wait {
        Wait {
            start_ns,
            length_ns: self.start_ns - start_ns + self.length_ns,
            ..self
        }
    }
}

/// All waits with the same cause at the same end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitTotal {
    /// The cause.
    pub cause: WaitCause,
    /// The end that caused it.
    pub end: ConnectionEnd,
    /// Number of waits.
    pub count: u64,
    /// Their sum, in nanoseconds.
    pub total_ns: i64,
    /// The longest, the longest first.
    pub longest: Vec<Wait>,
    /// Waits among them of losses before the point of capture, where only gaps and silences are
    /// visible.
    pub behind_loss: u64,
    /// For a congestion window or queue.
    pub path: Option<PathMeans>,
}

impl WaitTotal {
    fn new(cause: WaitCause, end: ConnectionEnd) -> WaitTotal {
        WaitTotal {
            cause,
            end,
            count: 0,
            total_ns: 0,
            longest: Vec::new(),
            behind_loss: 0,
            path: None,
        }
    }

    fn add(&mut self, wait: Wait) {
        self.count += 1;
        self.total_ns = self.total_ns.saturating_add(wait.length_ns);
        self.keep(wait);
    }

    fn keep(&mut self, wait: Wait) {
        let longest = &mut self.longest;
        let index = longest.partition_point(|kept| kept.length_ns >= wait.length_ns);
        if index < MOST_KEPT {
            longest.insert(index, wait);
            longest.truncate(MOST_KEPT);
        }
    }

    fn join(&mut self, other: WaitTotal) {
        self.count += other.count;
        self.total_ns = self.total_ns.saturating_add(other.total_ns);
        self.behind_loss += other.behind_loss;
        other.longest.into_iter().for_each(|wait| self.keep(wait));
        if let Some(path) = other.path {
            self.path.get_or_insert_default().join(path);
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct WaitTotals {
    totals: Vec<WaitTotal>,
    /// Waits for a congestion window that are not confirmed yet, by end.
    unsettled: [Option<WaitTotal>; 2],
}

impl WaitTotals {
    /// Enters a wait that no other cause has.
    pub(crate) fn enter(
        &mut self,
        cause: WaitCause,
        end: ConnectionEnd,
        wait: Wait,
    ) -> &mut WaitTotal {
        let total = self.total(cause, end);
        total.add(wait);
        total
    }

    /// Enters an unconfirmed wait for a congestion window.
    pub(crate) fn enter_unsettled(&mut self, end: ConnectionEnd, wait: Wait) -> &mut WaitTotal {
        let new = || WaitTotal::new(WaitCause::CongestionWindow, end);
        let total = self.unsettled[end as usize].get_or_insert_with(new);
        total.add(wait);
        total
    }

    /// Sets the cause of the unconfirmed waits of an end.
    pub(crate) fn settle(&mut self, end: ConnectionEnd, cause: WaitCause) {
        if let Some(unsettled) = self.unsettled[end as usize].take() {
            self.total(cause, end).join(unsettled);
        }
    }

    fn total(&mut self, cause: WaitCause, end: ConnectionEnd) -> &mut WaitTotal {
        let is_same = |total: &WaitTotal| total.cause == cause && total.end == end;
        let index = self.totals.iter().position(is_same);
        let index = index.unwrap_or_else(|| {
            self.totals.push(WaitTotal::new(cause, end));
            self.totals.len() - 1
        });
        &mut self.totals[index]
    }

    /// By cause and end, the longest total first.
    pub(crate) fn finish(mut self) -> Vec<WaitTotal> {
        self.totals
            .sort_by_key(|total| (Reverse(total.total_ns), total.cause, total.end));
        self.totals
    }
}
