//! Sequence numbers: their order modulo 2^32 (RFC 9293, section 3.4), and offsets that do not wrap.
//! Pure.

/// True if `one` is behind `other` in the stream.
pub(crate) fn is_behind(one: u32, other: u32) -> bool {
    one.wrapping_sub(other).cast_signed() > 0
}

/// Converts the sequence numbers of one direction to offsets: the first number has offset 0, and
/// each later one the offset nearest to the latest.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct StreamOffsets {
    latest: Option<(u32, i64)>,
}

impl StreamOffsets {
    /// The offset of a sequence number.
    pub(crate) fn offset(&mut self, sequence: u32) -> i64 {
        let (latest, offset) = self.latest.unwrap_or((sequence, 0));
        let offset = offset + i64::from(sequence.wrapping_sub(latest).cast_signed());
        self.latest = Some((sequence, offset));
        offset
    }
}
