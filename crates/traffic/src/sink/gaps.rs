//! Sequence numbers that have not arrived, and those that arrive late.

use std::collections::BTreeMap;

/// Most gaps that are kept, 48 bytes each. Beyond, the oldest are discarded: their packets stay
/// lost.
const MOST_GAPS: usize = 4096;

/// Consecutive positions that were skipped by one packet.
#[derive(Debug, Clone, Copy)]
struct MissingRun {
    last: u64,
    opened: GapOpening,
}

/// The packet that skipped positions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct GapOpening {
    /// How many packets had arrived before it.
    pub(super) index: u64,
    pub(super) at_ns: u64,
    pub(super) second: Option<usize>,
}

/// Position of a packet in the order of its flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PacketOrder {
    /// The packet has the next position, or a later one: this many were skipped.
    Ahead { skipped: u64 },
    /// The packet fills a gap: it is reordered, as RFC 4737 defines it.
    Late(GapOpening),
    /// Its position has arrived before.
    Duplicate,
    /// Its gap was discarded, so that it may be late or a duplicate.
    Undecided,
}

/// Positions 0, 1, 2... of which each has arrived, is missing, or comes next.
#[derive(Debug, Clone, Default)]
pub(super) struct SequenceGaps {
    /// The position after the highest that has arrived.
    next: u64,
    runs: BTreeMap<u64, MissingRun>,
    /// Below this position, gaps were discarded.
    horizon: u64,
}

impl SequenceGaps {
    pub(super) fn next(&self) -> u64 {
        self.next
    }

    pub(super) fn arrive(&mut self, position: u64, opening: GapOpening) -> PacketOrder {
        if position >= self.next {
            let skipped = position - self.next;
            if skipped > 0 {
                self.open(self.next, position - 1, opening);
            }
            self.next = position.saturating_add(1);
            return PacketOrder::Ahead { skipped };
        }
        let before = self.runs.range(..=position).next_back();
        let Some((&first, &run)) = before.filter(|(_, run)| run.last >= position) else {
            return if position < self.horizon {
                PacketOrder::Undecided
            } else {
                PacketOrder::Duplicate
            };
        };
        self.runs.remove(&first);
        if first < position {
            self.open(first, position - 1, run.opened);
        }
        if position < run.last {
            self.open(position + 1, run.last, run.opened);
        }
        PacketOrder::Late(run.opened)
    }

    fn open(&mut self, first: u64, last: u64, opened: GapOpening) {
        self.runs.insert(first, MissingRun { last, opened });
        if self.runs.len() > MOST_GAPS
            && let Some((_, forgotten)) = self.runs.pop_first()
        {
            self.horizon = self.horizon.max(forgotten.last + 1);
        }
    }
}
