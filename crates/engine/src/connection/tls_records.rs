//! The boundaries of records in a stream of TLS bytes.
//!
//! ```text
//! | type | version | length | ... length bytes ... | type | version | ...
//! ```
//!
//! Only the lengths are read (RFC 8446, section 5.1); rustls does everything else.

const HEADER: usize = 5;

/// Position of a stream within its current record.
#[derive(Debug, Default)]
pub(crate) struct Records {
    header: [u8; HEADER],
    /// Bytes of the header that have been read.
    have: usize,
    /// Bytes of the content that are missing; valid once the header is complete.
    left: usize,
}

impl Records {
    /// True if the next byte is the first of a record.
    pub(crate) fn at_start(&self) -> bool {
        self.have == 0
    }

    /// Bytes that certainly belong to the current record: to the end of its header, or to its end.
    pub(crate) fn missing(&self) -> usize {
        match self.have {
            HEADER => self.left,
            have => HEADER - have,
        }
    }

    pub(crate) fn advance(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let count = self.missing().min(bytes.len());
            let (part, rest) = bytes.split_at(count);
            bytes = rest;
            if self.have < HEADER {
                self.header[self.have..self.have + count].copy_from_slice(part);
                self.have += count;
                if self.have == HEADER {
                    self.left = usize::from(u16::from_be_bytes([self.header[3], self.header[4]]));
                }
            } else {
                self.left -= count;
            }
            if self.have == HEADER && self.left == 0 {
                self.have = 0;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn record(length: usize) -> Vec<u8> {
        let mut bytes = vec![23, 3, 3];
        bytes.extend_from_slice(&u16::try_from(length).unwrap().to_be_bytes());
        bytes.resize(HEADER + length, 0xff);
        bytes
    }

    proptest! {
        #[test]
        fn starts_are_found_however_the_bytes_come(
            lengths in proptest::collection::vec(0..300usize, 1..8),
            cuts in proptest::collection::vec(1..90usize, 1..50),
        ) {
            let stream: Vec<u8> = lengths.iter().flat_map(|length| record(*length)).collect();
            let mut starts = vec![0];
            for length in &lengths {
                starts.push(starts[starts.len() - 1] + HEADER + length);
            }
            let mut records = Records::default();
            let mut at = 0;
            for cut in cuts.iter().cycle() {
                prop_assert_eq!(records.at_start(), starts.contains(&at), "at {}", at);
                let to_boundary = starts.iter().find(|start| **start > at).map(|start| start - at);
                if let Some(distance) = to_boundary {
                    prop_assert!(records.missing() <= distance);
                }
                if at == stream.len() {
                    break;
                }
                let end = (at + cut).min(stream.len());
                records.advance(&stream[at..end]);
                at = end;
            }
        }
    }
}
