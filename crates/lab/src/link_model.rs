//! The model of one direction of a link: when does an arriving frame leave?
//!
//! ```text
//!  frame --> queue --> sender at `bandwidth` --> wire: loss, copies, delay --> leaves
//!              |                                  |
//!              v full                             v lost
//! ```
//!
//! For a queue that drops frames for lack of room, the departure is known when a frame arrives.
//! Queues that drop by the time in the queue, or have one for each flow, keep their frames
//! ([`Transit::Waits`]): [`LinkModel::send_next`] returns them.
//!
//! The model has no clock: times are nanoseconds of the caller's. Every kind of decision has
//! separate random numbers, so that the same seed loses the same frames, regardless of the other
//! impairments of the link.

mod codel;
mod flow_key;
mod fq_codel;
mod managed;
mod randomness;
mod sender;

use std::time::Duration;

use managed::{ManagedSender, WaitingFrame};
use randomness::{Decisions, Randomness};
use sender::Sender;

use crate::counters::LinkCounters;
use crate::error::LabError;
use crate::impairment::Impairment;

/// One direction of a link.
#[derive(Debug)]
pub struct LinkModel {
    randomness: Randomness,
    sender: Sender,
    managed: Option<ManagedSender>,
    may_reorder: bool,
    /// When the last frame leaves.
    last_in_order: u64,
    /// Bytes of frames that will leave.
    bytes_inside: usize,
    /// Highest number of a frame that has left.
    last_left: u64,
    counters: LinkCounters,
}

/// Decision about a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transit {
    /// The frame leaves, and so does its copy, if there is one.
    Leaves(Passage, Option<Passage>),
    /// The frame waits in the link, for [`LinkModel::send_next`].
    Waits,
    /// The frame does not leave.
    Dropped,
}

/// One departure of a frame at the far end of the link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Passage {
    /// Its time, in ns.
    pub at: u64,
    /// Number of the frame, in the order of arrival at the link, from 1.
    pub number: u64,
}

/// A frame that has waited in the link, and leaves.
#[derive(Debug)]
pub struct SentFrame {
    /// The device that it came from.
    pub from: usize,
    /// Its bytes.
    pub frame: Vec<u8>,
    /// Its departure.
    pub passage: Passage,
    /// The departure of its copy, if there is one.
    pub copy: Option<Passage>,
}

impl LinkModel {
    /// Most bytes of frames inside the link, waiting or on the wire: two seconds at 1 Gbit/s.
    pub const ROOM: usize = 256 << 20;

    /// A link before its first frame.
    ///
    /// # Errors
    /// A setting is out of range ([`Impairment::check`]).
    pub fn new(impairment: &Impairment, seed: u64) -> Result<LinkModel, LabError> {
        impairment.check()?;
        Ok(LinkModel {
            randomness: Randomness::new(impairment, seed),
            sender: Sender::new(impairment.bandwidth),
            managed: impairment
                .bandwidth
                .and_then(|bandwidth| ManagedSender::new(bandwidth, seed)),
            may_reorder: impairment.delay.may_reorder,
            last_in_order: 0,
            bytes_inside: 0,
            last_left: 0,
            counters: LinkCounters::default(),
        })
    }

    /// A frame arrives at `now` ns, which is not before the arrival of the last one. Every passage
    /// of the result must later be given to [`LinkModel::leave`].
    pub fn offer(&mut self, now: u64, frame: &[u8]) -> Transit {
        self.offer_from(0, now, frame)
    }

    /// The same for a frame of the device of this number, which [`LinkModel::send_next`] returns.
    pub fn offer_from(&mut self, from: usize, now: u64, frame: &[u8]) -> Transit {
        let length = frame.len();
        self.counters.frames += 1;
        self.counters.bytes += length as u64;
        let decisions = self.randomness.decide();
        let waiting = self.managed.as_ref().map_or(0, ManagedSender::bytes);
        if self.bytes_inside + waiting + 2 * length > LinkModel::ROOM {
            self.counters.dropped_by_memory += 1;
            return Transit::Dropped;
        }
        if let Some(managed) = &mut self.managed {
            let waiting = WaitingFrame {
                arrived: now,
                number: self.counters.frames,
                from,
                frame: frame.to_vec(),
                decisions,
            };
            return if managed.push(waiting, &mut self.counters) {
                Transit::Waits
            } else {
                Transit::Dropped
            };
        }
        let Some(sent) = self.sender.send(now, length) else {
            self.counters.dropped_by_queue += 1;
            return Transit::Dropped;
        };
        self.counters.peak_queue_frames = self.sender.peak_frames;
        self.counters.peak_queue_bytes = self.sender.peak_bytes;
        let number = self.counters.frames;
        self.pass(now, sent, (number, length), decisions)
    }

    /// True if frames may wait for [`LinkModel::send_next`].
    pub fn has_managed_queue(&self) -> bool {
        self.managed.is_some()
    }

    /// When the next waiting frame is due for [`LinkModel::send_next`], in ns.
    pub fn next_sending(&self) -> Option<u64> {
        self.managed.as_ref()?.next()
    }

    /// The next waiting frame that is due at `now`, with its passages, as [`LinkModel::offer`]
    /// returns them.
    pub fn send_next(&mut self, now: u64) -> Option<SentFrame> {
        loop {
            let managed = self.managed.as_mut()?;
            let (waited, sent) = managed.take(now, &mut self.counters)?;
            let frame = (waited.number, waited.length());
            let transit = self.pass(waited.arrived, sent, frame, waited.decisions);
            if let Transit::Leaves(passage, copy) = transit {
                return Some(SentFrame {
                    from: waited.from,
                    frame: waited.frame,
                    passage,
                    copy,
                });
            }
        }
    }

    /// Passes a frame, of this number and length, which arrived at `now`, and is on the wire from
    /// `sent` on.
    fn pass(
        &mut self,
        now: u64,
        sent: u64,
        (number, length): (u64, usize),
        decisions: Decisions,
    ) -> Transit {
        if decisions.is_lost {
            self.counters.lost += 1;
            return Transit::Dropped;
        }
        let mut at = sent.saturating_add(decisions.delay);
        if !self.may_reorder {
            at = at.max(self.last_in_order);
            self.last_in_order = at;
        }
        let passage = Passage { at, number };
        let is_copied = decisions.is_duplicated;
        self.counters.delayed += u64::from(at > now);
        self.counters.duplicated += u64::from(is_copied);
        self.bytes_inside += length * (1 + usize::from(is_copied));
        Transit::Leaves(passage, is_copied.then_some(passage))
    }

    /// Counts a frame of this number and length that has left; `is_accepted` if the far end took
    /// it. A frame that leaves after one of a higher number was reordered (RFC 4737, section 3.3).
    pub fn leave(&mut self, number: u64, length: usize, is_accepted: bool) {
        self.bytes_inside = self.bytes_inside.saturating_sub(length);
        self.counters.reordered += u64::from(number < self.last_left);
        self.last_left = self.last_left.max(number);
        self.counters.count_delivery(length, is_accepted);
    }

    /// Counters so far.
    pub fn counters(&self) -> LinkCounters {
        self.counters
    }
}

/// A time in ns; 584 years, if it is longer.
fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
