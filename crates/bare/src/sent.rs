//! Unacknowledged segments with their boundaries, which stay when they are sent again.

use std::collections::VecDeque;

/// A segment that is not acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SentSegment {
    /// Offset of its first byte in the stream; SYN is at 0.
    pub(crate) start: u64,
    /// Offset behind its last byte.
    pub(crate) end: u64,
    /// When it was sent last, in nanoseconds.
    pub(crate) sent_ns: u64,
    /// Number of the window of data in which it was sent first.
    pub(crate) window: u32,
    pub(crate) is_resent: bool,
    /// The segment was sent again since the current recovery began.
    pub(crate) is_resent_in_recovery: bool,
    pub(crate) state: SegmentState,
}

/// Assumed state of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SegmentState {
    InFlight,
    /// To be sent again.
    Lost,
    /// The receiver has it (SACK).
    Sacked,
}

impl SentSegment {
    fn length(&self) -> u64 {
        self.end - self.start
    }
}

/// The segments that an acknowledgment covered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct CoveredSegments {
    /// The latest wholly covered segment.
    pub(crate) latest: Option<(u64, u32)>,
    /// One of them was sent twice.
    pub(crate) has_resent: bool,
}

/// Segments in the order of their offsets, without gaps.
#[derive(Debug, Clone, Default)]
pub(crate) struct SentQueue {
    segments: VecDeque<SentSegment>,
    in_flight: u64,
    lost: usize,
}

impl SentQueue {
    pub(crate) fn len(&self) -> usize {
        self.segments.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }

    /// Bytes believed to be in flight (the pipe of RFC 6675).
    pub(crate) fn in_flight(&self) -> u64 {
        self.in_flight
    }

    pub(crate) fn push(&mut self, segment: SentSegment) {
        self.in_flight += segment.length();
        self.segments.push_back(segment);
    }

    /// Removes segments before the offset.
    pub(crate) fn acknowledge(&mut self, offset: u64) -> CoveredSegments {
        let mut covered = CoveredSegments::default();
        while let Some(segment) = self.segments.front_mut() {
            if segment.start >= offset {
                break;
            }
            covered.has_resent |= segment.is_resent;
            let taken = segment.end.min(offset) - segment.start;
            let is_whole = segment.end <= offset;
            match segment.state {
                SegmentState::InFlight => self.in_flight -= taken,
                SegmentState::Lost => self.lost -= usize::from(is_whole),
                SegmentState::Sacked => {}
            }
            if !is_whole {
                segment.start = offset;
                break;
            }
            // The receiver had it before this acknowledgment.
            if segment.state != SegmentState::Sacked {
                covered.latest = Some((segment.sent_ns, segment.window));
            }
            self.segments.pop_front();
        }
        covered
    }

    /// Marks segments wholly inside the block. True if any of it is new.
    pub(crate) fn sack(&mut self, from: u64, to: u64) -> bool {
        let segments = &self.segments;
        let first = segments.partition_point(|segment| segment.start < from);
        let mut is_new = false;
        for index in first..self.segments.len() {
            if self.segments[index].end > to {
                break;
            }
            is_new |= self.set(index, SegmentState::Sacked);
        }
        is_new
    }

    /// Discards selective acknowledgments: the segments they covered count as lost.
    pub(crate) fn forget_sacks(&mut self) {
        for index in 0..self.segments.len() {
            if self.segments[index].state == SegmentState::Sacked {
                self.set(index, SegmentState::Lost);
            }
        }
    }

    /// True if the receiver dropped data that it had acknowledged selectively (RFC 2018, section
    /// 8).
    pub(crate) fn is_reneged(&self) -> bool {
        let first = self.segments.front();
        first.is_some_and(|segment| segment.state == SegmentState::Sacked)
    }

    pub(crate) fn begin_recovery(&mut self) {
        for segment in &mut self.segments {
            segment.is_resent_in_recovery = false;
        }
    }

    /// Marks the first segment as lost, unless it was sent again in this recovery.
    pub(crate) fn lose_first(&mut self) {
        let is_open = |segment: &SentSegment| !segment.is_resent_in_recovery;
        if self.segments.front().is_some_and(is_open) {
            self.set(0, SegmentState::Lost);
        }
    }

    /// Marks the first segment as lost, whether it was sent again or not.
    pub(crate) fn lose_first_again(&mut self) {
        self.set(0, SegmentState::Lost);
    }

    /// Marks everything as lost that the receiver is not known to have.
    pub(crate) fn lose_all(&mut self) {
        for index in 0..self.segments.len() {
            if self.segments[index].state == SegmentState::InFlight {
                self.set(index, SegmentState::Lost);
            }
        }
    }

    /// Marks segments as lost that have more than `threshold` selectively acknowledged bytes behind
    /// them and were not sent again in this recovery (IsLost of RFC 6675, section 4).
    pub(crate) fn lose_by_sacks(&mut self, threshold: u64) {
        let mut sacked = 0;
        for index in (0..self.segments.len()).rev() {
            let segment = self.segments[index];
            if segment.state == SegmentState::Sacked {
                sacked += segment.length();
            } else if sacked > threshold && !segment.is_resent_in_recovery {
                self.set(index, SegmentState::Lost);
            }
        }
    }

    /// True if the first segment has more than `threshold` selectively acknowledged bytes behind
    /// it.
    pub(crate) fn is_first_lost_by_sacks(&self, threshold: u64) -> bool {
        let is_sacked = |segment: &&SentSegment| segment.state == SegmentState::Sacked;
        let sacked = self.segments.iter().filter(is_sacked);
        sacked.map(SentSegment::length).sum::<u64>() > threshold
    }

    /// The first lost segment, with its index.
    pub(crate) fn first_lost(&self) -> Option<(usize, SentSegment)> {
        if self.lost == 0 {
            return None;
        }
        let mut segments = self.segments.iter().copied().enumerate();
        segments.find(|(_, segment)| segment.state == SegmentState::Lost)
    }

    pub(crate) fn resend(&mut self, index: usize, now_ns: u64) {
        self.set(index, SegmentState::InFlight);
        if let Some(segment) = self.segments.get_mut(index) {
            segment.sent_ns = now_ns;
            segment.is_resent = true;
            segment.is_resent_in_recovery = true;
        }
    }

    fn set(&mut self, index: usize, state: SegmentState) -> bool {
        let Some(segment) = self.segments.get_mut(index) else {
            return false;
        };
        let before = core::mem::replace(&mut segment.state, state);
        let length = segment.length();
        match before {
            SegmentState::InFlight => self.in_flight -= length,
            SegmentState::Lost => self.lost -= 1,
            SegmentState::Sacked => {}
        }
        match state {
            SegmentState::InFlight => self.in_flight += length,
            SegmentState::Lost => self.lost += 1,
            SegmentState::Sacked => {}
        }
        before != state
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn recount(queue: &SentQueue) -> (u64, usize) {
        let in_state = |state| move |segment: &&SentSegment| segment.state == state;
        let segments = || queue.segments.iter();
        let in_flight = segments().filter(in_state(SegmentState::InFlight));
        let lost = segments().filter(in_state(SegmentState::Lost));
        (in_flight.map(SentSegment::length).sum(), lost.count())
    }

    proptest! {
        #[test]
        fn its_sums_are_those_of_its_segments(
            lengths in prop::collection::vec(1_u64..2000, 0..20),
            steps in prop::collection::vec((0_u8..8, 0_u64..20_000, 0_u64..20_000), 0..40),
        ) {
            let mut queue = SentQueue::default();
            let mut start = 0;
            for length in lengths {
                queue.push(SentSegment {
                    start,
                    end: start + length,
                    sent_ns: 0,
                    window: 0,
                    is_resent: false,
                    is_resent_in_recovery: false,
                    state: SegmentState::InFlight,
                });
                start += length;
            }
            for (step, from, to) in steps {
                match step {
                    0 => drop(queue.acknowledge(from.min(start))),
                    1 => drop(queue.sack(from, to)),
                    2 => queue.forget_sacks(),
                    3 => queue.lose_first(),
                    4 => queue.lose_all(),
                    5 => queue.lose_by_sacks(from),
                    6 => queue.begin_recovery(),
                    _ => {
                        if let Some((index, _)) = queue.first_lost() {
                            queue.resend(index, 1);
                        }
                    }
                }
                prop_assert_eq!((queue.in_flight, queue.lost), recount(&queue));
            }
        }
    }
}
