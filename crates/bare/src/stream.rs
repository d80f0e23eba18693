//! The bytes to be sent: heads and files in their order, each byte at its offset in the stream.

use std::collections::VecDeque;
use std::sync::Arc;

#[derive(Debug, Clone)]
struct StreamPiece {
    start: u64,
    bytes: Arc<[u8]>,
}

impl StreamPiece {
    fn end(&self) -> u64 {
        self.start + self.bytes.len() as u64
    }
}

/// Bytes from the first unacknowledged one. SYN has offset 0, so the first byte has offset 1.
#[derive(Debug, Clone)]
pub(crate) struct ResponseStream {
    pieces: VecDeque<StreamPiece>,
    end: u64,
}

impl ResponseStream {
    pub(crate) fn new() -> ResponseStream {
        ResponseStream {
            pieces: VecDeque::new(),
            end: 1,
        }
    }

    /// Offset behind the last byte.
    pub(crate) fn end(&self) -> u64 {
        self.end
    }

    pub(crate) fn pieces(&self) -> usize {
        self.pieces.len()
    }

    pub(crate) fn push(&mut self, bytes: Arc<[u8]>) {
        let start = self.end;
        self.end += bytes.len() as u64;
        if !bytes.is_empty() {
            self.pieces.push_back(StreamPiece { start, bytes });
        }
    }

    /// Discards pieces wholly before the offset.
    pub(crate) fn release(&mut self, offset: u64) {
        let is_released = |piece: &StreamPiece| piece.end() <= offset;
        while self.pieces.front().is_some_and(is_released) {
            self.pieces.pop_front();
        }
    }

    /// The bytes from one offset to another, as far as they exist.
    pub(crate) fn copy(&self, from: u64, to: u64) -> Vec<u8> {
        let mut copied = Vec::new();
        for piece in &self.pieces {
            let start = from.max(piece.start) - piece.start;
            let end = to.min(piece.end()).saturating_sub(piece.start);
            if start < end
                && let Some(part) = piece.bytes.get(start as usize..end as usize)
            {
                copied.extend_from_slice(part);
            }
        }
        copied
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_at_their_offsets() {
        let mut stream = ResponseStream::new();
        for piece in ["abc", "", "de", "fghi"] {
            stream.push(piece.as_bytes().into());
        }
        let table = [
            (1, 10, "abcdefghi"),
            (2, 5, "bcd"),
            (5, 5, ""),
            (6, 7, "f"),
            (9, 99, "i"),
        ];
        for (from, to, expected) in table {
            assert_eq!(stream.copy(from, to), expected.as_bytes(), "{from} to {to}");
        }
        stream.release(5);
        assert_eq!(stream.pieces(), 2);
        assert_eq!(stream.copy(1, 7), b"def");
        assert_eq!(stream.end(), 10);
    }
}
