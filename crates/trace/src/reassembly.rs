//! New bytes of one direction in their order, with bounded memory. Pure.

use std::collections::BTreeMap;

/// Ranges that wait for bytes before them.
const MOST_WAITING: usize = 256;

/// Adjacent bytes that passed together for the first time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NewBytes {
    pub(crate) at_ns: i64,
    pub(crate) packet: u64,
    pub(crate) offset: i64,
    /// Bytes on the wire.
    pub(crate) length: i64,
    /// Offset in the other direction that their sender expected next.
    pub(crate) acknowledged: i64,
    /// Their beginning, as far as it was captured.
    pub(crate) captured: Box<[u8]>,
}

/// Puts the new bytes of a direction into their order.
#[derive(Debug, Default)]
pub(crate) struct InOrder {
    /// The most bytes that wait.
    limit: usize,
    next: Option<i64>,
    waiting: BTreeMap<i64, NewBytes>,
    waiting_bytes: usize,
}

impl InOrder {
    /// `limit`: the most bytes that wait for those before them.
    pub(crate) fn new(limit: usize) -> InOrder {
        InOrder {
            limit,
            ..InOrder::default()
        }
    }

    /// Sets the offset of the first byte, if it is known before it passes.
    pub(crate) fn begin(&mut self, offset: i64) {
        self.next.get_or_insert(offset);
    }

    /// Adds bytes; no byte twice.
    pub(crate) fn add(&mut self, bytes: NewBytes) {
        self.begin(bytes.offset);
        let is_late = self.next.is_some_and(|next| bytes.offset < next);
        // Bytes behind a gap that was given up have no offset any more.
        if is_late || bytes.length <= 0 {
            return;
        }
        self.waiting_bytes += bytes.captured.len();
        self.waiting.insert(bytes.offset, bytes);
    }

    /// Skips to an offset up to which the receiver has everything: missing bytes were not captured.
    pub(crate) fn skip_to(&mut self, offset: i64) {
        let first = self.waiting.first_key_value().map(|(first, _)| *first);
        if let (Some(first), Some(next)) = (first, self.next) {
            self.next = Some(next.max(first.min(offset)));
        }
    }

    /// The next bytes in order, if available.
    pub(crate) fn pop(&mut self) -> Option<NewBytes> {
        let (first, _) = self.waiting.first_key_value()?;
        let is_full = self.waiting.len() > MOST_WAITING || self.waiting_bytes > self.limit;
        if self.next != Some(*first) && !is_full {
            return None;
        }
        let (offset, bytes) = self.waiting.pop_first()?;
        self.waiting_bytes -= bytes.captured.len();
        self.next = Some(offset + bytes.length);
        Some(bytes)
    }
}
