//! One direction of a connection: which bytes passed when. Pure: segments in, bytes with their moments out.
//!
//! The bytes are put into their order before they are read, because segments can overtake each other. Of each
//! byte the first time counts: one that passes again (a retransmission) changes nothing.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::segment::TcpSegment;

/// One direction of a connection. Places are sequence numbers that do not wrap, so that they have an order.
#[derive(Debug, Default)]
pub(crate) struct ByteStream {
    /// By the place of the first byte; no two overlap.
    pub(crate) stretches: BTreeMap<i64, Stretch>,
    /// A sequence number, and its place.
    latest: Option<(u32, i64)>,
}

/// Neighbouring bytes that passed together for the first time.
#[derive(Debug)]
pub(crate) struct Stretch {
    /// Place behind the last of them.
    pub(crate) end: i64,
    pub(crate) at_ns: i64,
    /// Place in the other stream that their sender expected next.
    pub(crate) acknowledged: i64,
    /// The first of them: a capture cuts packets off.
    pub(crate) bytes: Box<[u8]>,
}

impl ByteStream {
    pub(crate) fn add(&mut self, segment: &TcpSegment<'_>, other: &mut ByteStream) {
        let first = self.place(segment.sequence);
        let end = first + i64::from(segment.length);
        let acknowledged = other.place(segment.acknowledged);
        let mut place = first;
        while place < end {
            let before = self.stretches.range(..=place).next_back();
            if let Some((_, before)) = before.filter(|(_, before)| before.end > place) {
                place = before.end;
                continue;
            }
            let behind = self.stretches.range(place..end).next();
            let end = behind.map_or(end, |(behind, _)| *behind);
            let captured = |place: i64| ((place - first) as usize).min(segment.payload.len());
            let stretch = Stretch {
                end,
                at_ns: segment.at_ns,
                acknowledged,
                bytes: segment.payload[captured(place)..captured(end)].into(),
            };
            self.stretches.insert(place, stretch);
            place = end;
        }
    }

    /// The place of a sequence number: the nearest one to the latest (RFC 9293, section 3.4).
    fn place(&mut self, sequence: u32) -> i64 {
        let (latest, place) = self.latest.unwrap_or((sequence, i64::from(sequence)));
        let place = place + i64::from(sequence.wrapping_sub(latest).cast_signed());
        self.latest = Some((sequence, place));
        place
    }

    /// Where the stream begins, as far as it is known.
    pub(crate) fn start(&self) -> Option<i64> {
        self.stretches.first_key_value().map(|(place, _)| *place)
    }

    /// What has the byte at that place.
    pub(crate) fn with(&self, place: i64) -> Option<&Stretch> {
        let (_, stretch) = self.stretches.range(..=place).next_back()?;
        (stretch.end > place).then_some(stretch)
    }

    /// Everything that has bytes there, with the place of its first byte.
    pub(crate) fn within(&self, range: Range<i64>) -> impl Iterator<Item = (i64, &Stretch)> {
        let before = self.stretches.range(..=range.start).next_back();
        let before = before.filter(|(_, stretch)| stretch.end > range.start);
        let start = before.map_or(range.start, |(place, _)| *place);
        // A range that is the wrong way round would panic.
        let stretches = self.stretches.range(start..range.end.max(start));
        stretches.map(|(place, stretch)| (*place, stretch))
    }

    /// So many bytes from that place on, where the capture has all of them.
    pub(crate) fn bytes(&self, mut place: i64, count: usize) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        while bytes.len() < count {
            let (start, stretch) = self.stretches.range(..=place).next_back()?;
            let captured = stretch.bytes.get((place - start) as usize..)?;
            let captured = &captured[..captured.len().min(count - bytes.len())];
            if captured.is_empty() {
                return None;
            }
            bytes.extend_from_slice(captured);
            place += captured.len() as i64;
        }
        Some(bytes)
    }
}
