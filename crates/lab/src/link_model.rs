//! The model of one direction of a link: a frame that arrives at a time, and when it leaves.
//!
//! ```text
//!  frame --> queue --> sender at `bandwidth` --> wire: loss, corruption, copies, delay --> leaves
//!              |                                  |
//!              v full                             v lost
//! ```
//!
//! It has no clock: times are nanoseconds of the caller's. Every kind of decision has random numbers of
//! its own, so that the same seed loses the same frames, whatever else the link does to them.

mod randomness;
mod sender;

use std::time::Duration;

use randomness::{Decisions, Randomness};
use sender::Sender;

use crate::chosen::{SegmentCounter, SegmentFault};
use crate::counters::LinkCounters;
use crate::error::LabError;
use crate::impairment::Impairment;

/// One direction of a link.
#[derive(Debug)]
pub struct LinkModel {
    randomness: Randomness,
    segments: SegmentCounter,
    sender: Sender,
    may_reorder: bool,
    held_back_by: Duration,
    /// When the last frame leaves, of those that are not held back.
    last_in_order: u64,
    /// Bytes of frames that will leave.
    bytes_inside: usize,
    /// Highest number of a frame that has left.
    last_left: u64,
    counters: LinkCounters,
}

/// What becomes of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transit {
    /// It leaves, and so does its copy, if there is one.
    Leaves(Passage, Option<Passage>),
    /// It does not leave.
    Dropped(DropCause),
}

/// One departure of a frame at the far end of the link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Passage {
    /// When, in ns.
    pub at: u64,
    /// Number of the frame, in the order of arrival at the link, from 1.
    pub number: u64,
    /// The bit that is inverted, counted from the first bit of the frame.
    pub inverted_bit: Option<usize>,
}

/// Why a frame does not leave the link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DropCause {
    /// The queue was full.
    Queue,
    /// More bytes were inside the link than [`LinkModel::ROOM`].
    Memory,
    /// Random loss.
    Loss,
    /// It was a chosen segment.
    Chosen,
}

impl LinkModel {
    /// Most bytes of frames inside the link, waiting or on the wire: two seconds at 1 Gbit/s.
    pub const ROOM: usize = 256 << 20;

    /// A link that nothing has passed yet.
    ///
    /// # Errors
    ///
    /// A setting is out of range ([`Impairment::check`]).
    pub fn new(impairment: &Impairment, seed: u64) -> Result<LinkModel, LabError> {
        impairment.check()?;
        Ok(LinkModel {
            randomness: Randomness::new(impairment, seed)?,
            segments: SegmentCounter::new(impairment.chosen.clone()),
            sender: Sender::new(impairment.bandwidth),
            may_reorder: impairment.delay.may_reorder,
            held_back_by: impairment.hold_back.map_or(Duration::ZERO, |held| held.by),
            last_in_order: 0,
            bytes_inside: 0,
            last_left: 0,
            counters: LinkCounters::default(),
        })
    }

    /// A frame arrives at `now` ns, which is not before the arrival of the last one. Every passage of
    /// the result must later be given to [`LinkModel::leave`].
    pub fn offer(&mut self, now: u64, frame: &[u8]) -> Transit {
        let length = frame.len();
        self.counters.frames += 1;
        self.counters.bytes += length as u64;
        let fault = self.segments.fault(frame);
        let decisions = self.randomness.decide(self.counters.frames, length);
        if self.bytes_inside + 2 * length > LinkModel::ROOM {
            self.counters.dropped_by_memory += 1;
            return Transit::Dropped(DropCause::Memory);
        }
        let Some(sent) = self.sender.send(now, length) else {
            self.counters.dropped_by_queue += 1;
            return Transit::Dropped(DropCause::Queue);
        };
        self.counters.peak_queue_frames = self.sender.peak_frames();
        self.counters.peak_queue_bytes = self.sender.peak_bytes();
        if matches!(fault, Some(SegmentFault::Lost { .. })) {
            self.counters.lost_as_chosen += 1;
            return Transit::Dropped(DropCause::Chosen);
        }
        if decisions.is_lost {
            self.counters.lost += 1;
            return Transit::Dropped(DropCause::Loss);
        }
        self.pass(now, sent, length, decisions, fault)
    }

    /// A frame is on the wire from `sent` on.
    fn pass(
        &mut self,
        now: u64,
        sent: u64,
        length: usize,
        decisions: Decisions,
        fault: Option<SegmentFault>,
    ) -> Transit {
        let mut at = sent.saturating_add(decisions.delay);
        let held_back = match fault {
            Some(SegmentFault::HeldBack { by }) => by,
            _ if decisions.is_held_back => self.held_back_by,
            _ => Duration::ZERO,
        };
        if !self.may_reorder {
            at = at.max(self.last_in_order);
            self.last_in_order = at;
        }
        at = at.saturating_add(nanos(held_back));
        let passage = Passage {
            at,
            number: self.counters.frames,
            inverted_bit: decisions.inverted_bit,
        };
        let is_copied = decisions.is_duplicated || fault == Some(SegmentFault::Duplicated);
        self.counters.delayed += u64::from(at > now);
        self.counters.corrupted += u64::from(passage.inverted_bit.is_some());
        self.counters.duplicated += u64::from(is_copied);
        self.bytes_inside += length * (1 + usize::from(is_copied));
        Transit::Leaves(passage, is_copied.then_some(passage))
    }

    /// A frame of this number and length has left; `is_accepted` if the far end took it. A frame that
    /// leaves after one of a higher number was reordered (RFC 4737, section 3.3).
    pub fn leave(&mut self, number: u64, length: usize, is_accepted: bool) {
        self.bytes_inside = self.bytes_inside.saturating_sub(length);
        self.counters.reordered += u64::from(number < self.last_left);
        self.last_left = self.last_left.max(number);
        self.counters.count_delivery(length, is_accepted);
    }

    /// What it did so far.
    #[must_use]
    pub fn counters(&self) -> LinkCounters {
        self.counters
    }
}

/// A time in ns; 584 years, where it is longer.
fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
