//! Sequence numbers: their order modulo 2^32 (RFC 9293, section 3.4), and offsets that do not wrap.
//! Pure.

/// True if `one` is behind `other` in the stream.
pub(crate) fn is_behind(one: u32, other: u32) -> bool {
    one.wrapping_sub(other).cast_signed() > 0
}

/// Converts the sequence numbers of one direction to offsets: the first number has offset 0, and
/// each later one the offset nearest to the latest.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Places {
    latest: Option<(u32, i64)>,
}

impl Places {
    /// The offset of a sequence number.
    pub(crate) fn place(&mut self, sequence: u32) -> i64 {
        let (latest, place) = self.latest.unwrap_or((sequence, 0));
        let place = place + i64::from(sequence.wrapping_sub(latest).cast_signed());
        self.latest = Some((sequence, place));
        place
    }
}
