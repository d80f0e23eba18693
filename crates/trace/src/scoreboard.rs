//! Sent and unacknowledged bytes, and those that never passed. Pure.
//!
//! ```text
//!          acknowledged                                            sent
//! =============|######|######|......|######|######|------|######|
//!               range  range   hole   SACK          range twice
//! ```
//!
//! Memory is bounded: for a sender that is never acknowledged the oldest ranges are discarded. So
//! is work: a packet examines at most [`MOST_STEPS`] ranges in order, whatever its contents.

use std::collections::VecDeque;
use std::ops::Range;

/// Holes that are kept for each direction.
const MOST_HOLES: usize = 256;

/// Ranges that one packet examines, in each direction. A block of SACK that covers more is
/// continued with the next packet that has it.
const MOST_STEPS: usize = 1024;

/// Adjacent bytes that were sent together.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SentRange {
    pub(crate) first: i64,
    pub(crate) end: i64,
    pub(crate) first_sent_ns: i64,
    pub(crate) last_sent_ns: i64,
    pub(crate) transmissions: u32,
    pub(crate) has_sack: bool,
}

/// Bytes that have not passed, though later ones have.
#[derive(Debug, Clone, Copy)]
struct Hole {
    first: i64,
    end: i64,
    since_ns: i64,
    /// TSval of the segment behind it.
    stamp: Option<u32>,
}

/// Bytes of a segment, by kind.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SegmentBytes {
    /// Bytes that had passed before.
    pub(crate) resent: i64,
    /// New bytes, at the end of the stream or in a hole.
    pub(crate) unique: i64,
    /// Moment at which the hole that it fills was seen first, and the TSval of the segment behind
    /// the hole.
    pub(crate) filled: Option<(i64, Option<u32>)>,
    /// The range with its first byte, before this transmission.
    pub(crate) before: Option<SentRange>,
}

/// The moment of an acknowledgment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Delivery {
    pub(crate) at_ns: i64,
    pub(crate) shortest_rtt_ns: i64,
}

/// Bytes acknowledged for the first time.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct NewlyAcknowledged {
    /// Moment at which the newest completed segment was sent, if no byte acknowledged now was sent
    /// twice or had a SACK, and the clock has not gone back since then.
    pub(crate) sent_ns: Option<i64>,
    /// Bytes acknowledged, but never captured.
    pub(crate) uncaptured: i64,
    pub(crate) bytes: i64,
}

/// The bytes between the last acknowledged and the last sent.
#[derive(Debug, Default)]
pub(crate) struct Scoreboard {
    /// The most ranges that are kept.
    limit: usize,
    ranges: VecDeque<SentRange>,
    holes: VecDeque<Hole>,
    /// Offset behind the last sent byte.
    pub(crate) sent: Option<i64>,
    /// Offset behind the last acknowledged byte.
    pub(crate) acknowledged: Option<i64>,
    /// Offset behind the last byte with a SACK.
    pub(crate) sack_end: Option<i64>,
    /// Moment at which the most recently sent of all delivered bytes were sent (RFC 8985, section
    /// 5.2).
    delivered_sent_ns: Option<i64>,
    /// Offset behind the last byte before the clock went back.
    untimed_end: Option<i64>,
    last_blocks: [Option<(i64, i64)>; 4],
}

impl Scoreboard {
    /// `limit`: the most segments that are kept.
    pub(crate) fn new(limit: usize) -> Scoreboard {
        Scoreboard {
            limit,
            ..Scoreboard::default()
        }
    }

    /// Handles a clock that went back: bytes in flight have no round trip.
    pub(crate) fn clock_went_back(&mut self) {
        self.untimed_end = self.sent;
    }

    /// Bytes in flight: sent, and not acknowledged.
    pub(crate) fn flight(&self) -> i64 {
        match (self.sent, self.acknowledged) {
            (Some(sent), Some(acknowledged)) => (sent - acknowledged).max(0),
            _ => 0,
        }
    }

    /// Adds a segment with the bytes (SYN and FIN count as one). `new` is called for each range
    /// that had not passed before.
    pub(crate) fn send(
        &mut self,
        bytes: Range<i64>,
        at_ns: i64,
        stamp: Option<u32>,
        mut new: impl FnMut(Range<i64>),
    ) -> SegmentBytes {
        let mut found = SegmentBytes::default();
        let sent = *self.sent.get_or_insert(bytes.start);
        self.acknowledged.get_or_insert(bytes.start);
        if bytes.start > sent {
            self.open_hole(sent..bytes.start, at_ns, stamp);
        }
        found.before = self.range_with(bytes.start).copied();
        let old_end = bytes.end.min(sent);
        if bytes.start < old_end {
            found.resent = old_end - bytes.start;
            self.fill(bytes.start..old_end, &mut found, &mut new);
            self.resend(bytes.start..old_end, at_ns);
            for filled in self.unknown_within(bytes.start..old_end) {
                self.insert(filled, at_ns);
            }
        }
        let first_new = bytes.start.max(sent);
        if first_new < bytes.end {
            found.unique += bytes.end - first_new;
            new(first_new..bytes.end);
            self.insert(first_new..bytes.end, at_ns);
            self.sent = Some(bytes.end);
        }
        found
    }

    fn open_hole(&mut self, bytes: Range<i64>, since_ns: i64, stamp: Option<u32>) {
        if self.holes.len() >= MOST_HOLES {
            self.holes.pop_front();
        }
        self.holes.push_back(Hole {
            first: bytes.start,
            end: bytes.end,
            since_ns,
            stamp,
        });
    }

    /// Removes the bytes from the holes, and counts those that were in one.
    fn fill(
        &mut self,
        bytes: Range<i64>,
        found: &mut SegmentBytes,
        new: &mut impl FnMut(Range<i64>),
    ) {
        let mut index = 0;
        while let Some(hole) = self.holes.get(index).copied() {
            let (first, end) = (hole.first.max(bytes.start), hole.end.min(bytes.end));
            if first >= end {
                index += 1;
                continue;
            }
            found.resent -= end - first;
            found.unique += end - first;
            found.filled.get_or_insert((hole.since_ns, hole.stamp));
            new(first..end);
            self.holes.remove(index);
            for rest in [end..hole.end, hole.first..first] {
                if rest.start < rest.end && self.holes.len() < MOST_HOLES {
                    let rest = Hole {
                        first: rest.start,
                        end: rest.end,
                        ..hole
                    };
                    self.holes.insert(index, rest);
                }
            }
            index += usize::from(hole.first < first) + usize::from(end < hole.end);
        }
    }

    fn index_at(&self, offset: i64) -> usize {
        self.ranges.partition_point(|range| range.end <= offset)
    }

    fn range_with(&self, offset: i64) -> Option<&SentRange> {
        let range = self.ranges.get(self.index_at(offset))?;
        (range.first <= offset).then_some(range)
    }

    /// Counts another transmission of the bytes.
    fn resend(&mut self, bytes: Range<i64>, at_ns: i64) {
        self.split(bytes.start);
        self.split(bytes.end);
        let from = self.index_at(bytes.start);
        let resent = self.ranges.range_mut(from..);
        let resent = resent.take_while(|range| range.end <= bytes.end);
        for range in resent.take(MOST_STEPS) {
            range.transmissions = range.transmissions.saturating_add(1);
            range.last_sent_ns = at_ns;
        }
    }

    fn split(&mut self, offset: i64) {
        let index = self.index_at(offset);
        let Some(range) = self.ranges.get_mut(index) else {
            return;
        };
        if range.first >= offset {
            return;
        }
        let rest = SentRange {
            first: offset,
            ..*range
        };
        range.end = offset;
        self.ranges.insert(index + 1, rest);
    }

    /// Parts of the bytes behind the acknowledged ones that no range has.
    fn unknown_within(&self, bytes: Range<i64>) -> Vec<Range<i64>> {
        let mut unknown = Vec::new();
        let mut offset = bytes.start.max(self.acknowledged.unwrap_or(i64::MIN));
        let ranges = self.ranges.range(self.index_at(offset)..);
        let ranges = ranges.take_while(|range| range.first < bytes.end);
        for (step, range) in ranges.enumerate() {
            if step == MOST_STEPS {
                return unknown;
            }
            if offset < range.first {
                unknown.push(offset..range.first);
            }
            offset = range.end;
        }
        if offset < bytes.end {
            unknown.push(offset..bytes.end);
        }
        unknown
    }

    fn insert(&mut self, bytes: Range<i64>, at_ns: i64) {
        let index = self.index_at(bytes.start);
        self.ranges.insert(
            index,
            SentRange {
                first: bytes.start,
                end: bytes.end,
                first_sent_ns: at_ns,
                last_sent_ns: at_ns,
                transmissions: 1,
                has_sack: false,
            },
        );
        while self.ranges.len() > self.limit.max(1) {
            self.ranges.pop_front();
        }
    }

    /// Notes that a range was delivered. Of a range sent twice, the last transmission counts only
    /// if it can have been the delivered one: a shortest round trip ago.
    fn deliver(&mut self, range: &SentRange, delivery: Delivery) {
        let is_possible = delivery.at_ns - range.last_sent_ns >= delivery.shortest_rtt_ns;
        if range.transmissions == 1 || is_possible {
            self.delivered_sent_ns = self.delivered_sent_ns.max(Some(range.last_sent_ns));
        }
    }

    /// True if bytes that were sent later have been delivered.
    pub(crate) fn was_overtaken(&self, range: &SentRange) -> bool {
        self.delivered_sent_ns
            .is_some_and(|sent_ns| sent_ns > range.last_sent_ns)
    }

    /// Adds an acknowledgment number.
    pub(crate) fn acknowledge(&mut self, to: i64, delivery: Delivery) -> NewlyAcknowledged {
        let mut newly = NewlyAcknowledged::default();
        let Some(before) = self.acknowledged else {
            self.acknowledged = Some(to);
            self.sent = self.sent.max(Some(to));
            return newly;
        };
        if to <= before {
            return newly;
        }
        newly.bytes = to - before;
        self.acknowledged = Some(to);
        let mut is_ambiguous = false;
        while let Some(range) = self.ranges.front().copied() {
            if range.first >= to {
                break;
            }
            is_ambiguous |= range.transmissions > 1 || range.has_sack;
            is_ambiguous |= Some(range.first) < self.untimed_end;
            if range.end > to {
                self.split(to);
                self.ranges.pop_front();
                break;
            }
            if !range.has_sack {
                self.deliver(&range, delivery);
            }
            newly.sent_ns = Some(range.first_sent_ns);
            self.ranges.pop_front();
        }
        while let Some(hole) = self.holes.front_mut() {
            if hole.first >= to {
                break;
            }
            newly.uncaptured += hole.end.min(to) - hole.first;
            if hole.end > to {
                hole.first = to;
                break;
            }
            self.holes.pop_front();
        }
        let sent = self.sent.unwrap_or(before);
        if to > sent {
            newly.uncaptured += to - sent;
            self.sent = Some(to);
        }
        newly.sent_ns = newly.sent_ns.filter(|_| !is_ambiguous);
        newly
    }

    /// Adds a block of SACK behind the acknowledged bytes.
    pub(crate) fn selectively_acknowledge(
        &mut self,
        mut blocks: [Option<(i64, i64)>; 4],
        delivery: Delivery,
    ) {
        let mut steps = 0;
        for block in &mut blocks {
            let Some((first, end)) = *block else { continue };
            let is_known = self.last_blocks.contains(&Some((first, end)));
            let is_sent = self.sent.is_some_and(|sent| end <= sent);
            if is_known || !is_sent || first >= end {
                continue;
            }
            self.sack_end = self.sack_end.max(Some(end));
            // The part that the same block had before is marked already.
            let before = self.last_blocks.iter().flatten();
            let before = before.filter(|(other, end)| *other <= first && first < *end);
            let marked = before.map(|(_, end)| *end).max().unwrap_or(first);
            let from = self.index_at(marked.min(end));
            for index in from..self.ranges.len() {
                let range = self.ranges[index];
                if range.end > end {
                    break;
                }
                if steps == MOST_STEPS {
                    *block = (range.first > first).then_some((first, range.first));
                    break;
                }
                steps += 1;
                if !range.has_sack {
                    self.ranges[index].has_sack = true;
                    self.deliver(&range, delivery);
                }
            }
        }
        self.last_blocks = blocks;
    }

    /// True if something behind the offset has a SACK, so that the receiver misses bytes before it.
    pub(crate) fn has_sack_behind(&self, offset: i64) -> bool {
        let acknowledged = self.acknowledged.unwrap_or(i64::MIN);
        self.sack_end
            .is_some_and(|end| end > offset && end > acknowledged)
    }

    /// True if later bytes have passed, and earlier ones neither passed nor were acknowledged.
    pub(crate) fn has_gap(&self) -> bool {
        !self.holes.is_empty()
    }

    /// Segments in flight, as far as they are kept.
    pub(crate) fn segments(&self) -> usize {
        self.ranges.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_sack(scoreboard: &Scoreboard) -> usize {
        scoreboard
            .ranges
            .iter()
            .filter(|range| range.has_sack)
            .count()
    }

    #[test]
    fn a_packet_has_bounded_work_and_the_next_one_goes_on_with_it() {
        let delivery = Delivery {
            at_ns: 1_000_000,
            shortest_rtt_ns: 0,
        };
        let mut scoreboard = Scoreboard::new(8192);
        for offset in 0..8000 {
            scoreboard.send(offset..offset + 1, offset, None, |_| {});
        }
        let block = [Some((1, 8000)), None, None, None];
        for packets in 1..=8 {
            scoreboard.selectively_acknowledge(block, delivery);
            assert_eq!(with_sack(&scoreboard), (packets * MOST_STEPS).min(7999));
        }
        // A block that has grown.
        for offset in 8000..8010 {
            scoreboard.send(offset..offset + 1, offset, None, |_| {});
        }
        let block = [Some((1, 8010)), None, None, None];
        scoreboard.selectively_acknowledge(block, delivery);
        assert_eq!(with_sack(&scoreboard), 8009);
        // A new block is read from its beginning; one below the marked part has nothing to mark.
        let blocks = [Some((3, 5)), Some((7000, 8010)), None, None];
        scoreboard.selectively_acknowledge(blocks, delivery);
        assert_eq!(with_sack(&scoreboard), 8009);
        scoreboard.send(0..8010, 9000, None, |_| {});
        let twice = scoreboard
            .ranges
            .iter()
            .filter(|range| range.transmissions == 2);
        assert_eq!(twice.count(), MOST_STEPS);
    }
}
