//! Restores the order of segments in which they passed, if a file has another one. Pure.
//!
//! Programs that capture with several threads, interfaces or queues write packets behind later
//! ones. A segment is moved before those with later time stamps, but not before a segment that its
//! sender must have sent or received before, by its numbers: then its time stamp is wrong. Bytes
//! that an earlier acknowledgment covers are taken out of turn.

use std::collections::VecDeque;

use crate::clock::MOST_DISORDER_NS;
use crate::segment::TcpSegment;
use crate::sequence::is_behind;

/// Segments among which one is moved, and bytes of their payload.
const MOST_SEGMENTS: usize = 1024;
const MOST_BYTES: usize = 4 << 20;

/// Bytes this long after their acknowledgment are more likely to be retransmissions.
const MOST_LATE_NS: i64 = 10_000_000;

/// A segment that waits for earlier ones.
#[derive(Debug)]
pub(crate) struct WaitingSegment {
    pub(crate) packet: u64,
    /// Header, without the payload.
    head: TcpSegment<'static>,
    payload: Box<[u8]>,
}

impl WaitingSegment {
    pub(crate) fn segment(&self) -> TcpSegment<'_> {
        TcpSegment {
            payload: &self.payload,
            ..self.head
        }
    }
}

/// The latest segments of a capture, in their order.
#[derive(Debug, Default)]
pub(crate) struct OrderWindow {
    waiting: VecDeque<WaitingSegment>,
    bytes: usize,
    /// Segments that were moved.
    pub(crate) moved: u64,
}

impl OrderWindow {
    pub(crate) fn add(&mut self, packet: u64, segment: &TcpSegment<'_>) {
        let head = TcpSegment {
            payload: &[],
            ..*segment
        };
        let index = self.index_for(&head);
        self.moved += u64::from(index < self.waiting.len());
        self.bytes += segment.payload.len();
        self.waiting.insert(
            index,
            WaitingSegment {
                packet,
                head,
                payload: segment.payload.into(),
            },
        );
    }

    /// The next segment, if the window is full, or at the end of the file.
    pub(crate) fn next(&mut self, is_end: bool) -> Option<WaitingSegment> {
        let is_full = self.waiting.len() > MOST_SEGMENTS || self.bytes > MOST_BYTES;
        let next = (is_full || is_end).then(|| self.waiting.pop_front())??;
        self.bytes -= next.payload.len();
        Some(next)
    }

    /// A segment that the given one acknowledges, with bytes from the offset `missing` on.
    pub(crate) fn take(&mut self, by: &TcpSegment<'_>, missing: u32) -> Option<WaitingSegment> {
        let is_wanted = |waiting: &WaitingSegment| {
            let is_near = waiting.head.at_ns.saturating_sub(by.at_ns) <= MOST_LATE_NS;
            is_near && acknowledges(by, &waiting.head) && is_behind(end(&waiting.head), missing)
        };
        let index = self.waiting.iter().position(is_wanted)?;
        let taken = self.waiting.remove(index)?;
        self.bytes -= taken.payload.len();
        self.moved += 1;
        Some(taken)
    }

    fn index_for(&self, segment: &TcpSegment<'_>) -> usize {
        let is_later = |other: &&WaitingSegment| {
            let ahead_ns = other.head.at_ns.saturating_sub(segment.at_ns);
            (1..=MOST_DISORDER_NS).contains(&ahead_ns) && !follows(segment, &other.head)
        };
        let later = self.waiting.iter().rev().take_while(is_later);
        self.waiting.len() - later.count()
    }
}

/// True if the sender of a segment had sent or received the other one before, by their numbers.
fn follows(segment: &TcpSegment<'_>, other: &TcpSegment<'_>) -> bool {
    if (segment.source, segment.destination) != (other.source, other.destination) {
        return acknowledges(segment, other);
    }
    let has_both = segment.flags.ack && other.flags.ack;
    let is_before = is_behind(end(other), segment.sequence)
        || has_both && is_behind(other.acknowledged, segment.acknowledged);
    !is_before
}

/// True if a segment acknowledges the bytes of the other one.
fn acknowledges(segment: &TcpSegment<'_>, other: &TcpSegment<'_>) -> bool {
    (segment.source, segment.destination) == (other.destination, other.source)
        && segment.flags.ack
        && end(other) != other.sequence
        && !is_behind(end(other), segment.acknowledged)
}

/// The sequence number behind a segment.
fn end(segment: &TcpSegment<'_>) -> u32 {
    let markers = u32::from(segment.flags.syn) + u32::from(segment.flags.fin);
    segment
        .sequence
        .wrapping_add(segment.length)
        .wrapping_add(markers)
}
