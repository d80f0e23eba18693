//! Content of data: the header of a datagram, the beginning of a stream, the headers of its blocks.
//! All numbers are big-endian.
//!
//! ```text
//! datagram   magic u32   flow u64   number u64   sent u64           28 bytes, then anything
//! stream     magic u32   flow u64                                   12 bytes, then anything, or
//!     block  length u32  number u64  sent u64                       20 bytes, then anything
//! ```

/// Length of the header of a datagram: none is shorter.
pub const DATAGRAM_HEADER: usize = 28;
/// Length of the beginning of a stream.
pub const STREAM_HEADER: usize = 12;
/// Length of the header of a block in a stream with time stamps: none is shorter.
pub const BLOCK_HEADER: usize = 20;
/// The largest block of a stream.
pub const LARGEST_BLOCK: u32 = 64 << 20;

const DATAGRAM_MAGIC: [u8; 4] = *b"PFd1";
const STREAM_MAGIC: [u8; 4] = *b"PFs1";

/// The random number that identifies the data of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FlowId(pub u64);

/// Header of a datagram or block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockStamp {
    /// Number in its flow, from 0.
    pub sequence: u64,
    /// When it was sent, in nanoseconds since 1970 by a clock of the source that is never set.
    pub sent_ns: u64,
}

/// Writes the header of a datagram over the beginning of `buffer`, as far as there is room.
pub(crate) fn write_datagram(buffer: &mut [u8], flow: FlowId, stamp: BlockStamp) {
    let mut header = [0; DATAGRAM_HEADER];
    header[..4].copy_from_slice(&DATAGRAM_MAGIC);
    header[4..12].copy_from_slice(&flow.0.to_be_bytes());
    header[12..20].copy_from_slice(&stamp.sequence.to_be_bytes());
    header[20..].copy_from_slice(&stamp.sent_ns.to_be_bytes());
    if let Some(beginning) = buffer.first_chunk_mut() {
        *beginning = header;
    }
}

/// The header of a datagram; `None` if the datagram is not of this program.
pub fn read_datagram(bytes: &[u8]) -> Option<(FlowId, BlockStamp)> {
    let rest = bytes.strip_prefix(&DATAGRAM_MAGIC)?;
    let (flow, rest) = rest.split_first_chunk()?;
    let stamp = read_stamp(rest)?;
    Some((FlowId(u64::from_be_bytes(*flow)), stamp))
}

fn read_stamp(bytes: &[u8]) -> Option<BlockStamp> {
    let (sequence, rest) = bytes.split_first_chunk()?;
    let (sent, _) = rest.split_first_chunk()?;
    Some(BlockStamp {
        sequence: u64::from_be_bytes(*sequence),
        sent_ns: u64::from_be_bytes(*sent),
    })
}

/// The beginning of a stream.
pub(crate) fn stream_header(flow: FlowId) -> [u8; STREAM_HEADER] {
    let mut header = [0; STREAM_HEADER];
    header[..4].copy_from_slice(&STREAM_MAGIC);
    header[4..].copy_from_slice(&flow.0.to_be_bytes());
    header
}

/// The flow of a stream; `None` if the stream is not of this program.
pub fn read_stream(header: &[u8; STREAM_HEADER]) -> Option<FlowId> {
    let flow = header.strip_prefix(&STREAM_MAGIC)?;
    Some(FlowId(u64::from_be_bytes(flow.try_into().ok()?)))
}

/// The header of a block in a stream; `bytes` is its whole length.
pub(crate) fn block_header(bytes: u32, stamp: BlockStamp) -> [u8; BLOCK_HEADER] {
    let mut header = [0; BLOCK_HEADER];
    header[..4].copy_from_slice(&bytes.to_be_bytes());
    header[4..12].copy_from_slice(&stamp.sequence.to_be_bytes());
    header[12..].copy_from_slice(&stamp.sent_ns.to_be_bytes());
    header
}

/// Finds the blocks of a stream. A block counts when its last byte has arrived.
#[derive(Debug, Default)]
pub struct BlockReader {
    header: [u8; BLOCK_HEADER],
    /// Bytes of the header that have been read.
    filled: usize,
    /// Bytes of the block that are missing.
    missing: usize,
}

/// A malformed block: it is shorter than its header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a block is shorter than its header of {BLOCK_HEADER} bytes")]
pub struct ImpossibleBlock;

impl BlockReader {
    /// Takes bytes of the stream and calls `visit` with the stamp and length of each block that
    /// ends in them.
    ///
    /// # Errors
    /// A malformed block; nothing after it can be read.
    pub fn push(
        &mut self,
        mut bytes: &[u8],
        mut visit: impl FnMut(BlockStamp, u32),
    ) -> Result<(), ImpossibleBlock> {
        while !bytes.is_empty() {
            if self.filled < BLOCK_HEADER {
                let count = bytes.len().min(BLOCK_HEADER - self.filled);
                let (taken, rest) = bytes.split_at(count);
                self.header[self.filled..self.filled + count].copy_from_slice(taken);
                self.filled += count;
                bytes = rest;
                if self.filled < BLOCK_HEADER {
                    break;
                }
                let missing = (self.length() as usize).checked_sub(BLOCK_HEADER);
                self.missing = missing.ok_or(ImpossibleBlock)?;
            }
            let count = bytes.len().min(self.missing);
            self.missing -= count;
            bytes = &bytes[count..];
            if self.missing == 0 {
                if let Some(stamp) = read_stamp(&self.header[4..]) {
                    visit(stamp, self.length());
                }
                self.filled = 0;
            }
        }
        Ok(())
    }

    fn length(&self) -> u32 {
        let [a, b, c, d, ..] = self.header;
        u32::from_be_bytes([a, b, c, d])
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_datagram_is_read_as_it_was_written() {
        let stamp = BlockStamp {
            sequence: 7,
            sent_ns: 9,
        };
        let mut buffer = [0xff; 40];
        write_datagram(&mut buffer, FlowId(5), stamp);
        assert_eq!(read_datagram(&buffer), Some((FlowId(5), stamp)));
        assert_eq!(read_datagram(&buffer[..DATAGRAM_HEADER - 1]), None);
        buffer[0] ^= 1;
        assert_eq!(read_datagram(&buffer), None);
        // Too short for a header: nothing is written.
        write_datagram(&mut buffer[..3], FlowId(5), stamp);
        let header = stream_header(FlowId(6));
        assert_eq!(read_stream(&header), Some(FlowId(6)));
        assert_eq!(read_stream(&[0; STREAM_HEADER]), None);
    }

    #[test]
    fn a_block_shorter_than_its_header_is_an_error() {
        let stamp = BlockStamp {
            sequence: 0,
            sent_ns: 0,
        };
        let header = block_header(BLOCK_HEADER as u32 - 1, stamp);
        let read = BlockReader::default().push(&header, |_, _| ());
        assert_eq!(read, Err(ImpossibleBlock));
    }

    proptest! {
        #[test]
        fn blocks_are_the_same_however_the_stream_is_cut(
            lengths in prop::collection::vec(20_u32..300, 1..20), cut in 1_usize..100,
        ) {
            let mut stream = Vec::new();
            for (number, length) in lengths.iter().enumerate() {
                let stamp = BlockStamp { sequence: number as u64, sent_ns: 3 };
                stream.extend(block_header(*length, stamp));
                stream.resize(stream.len() + *length as usize - BLOCK_HEADER, 0);
            }
            let mut reader = BlockReader::default();
            let mut found = Vec::new();
            for piece in stream.chunks(cut) {
                let read = reader.push(piece, |stamp, length| found.push((stamp.sequence, length)));
                prop_assert_eq!(read, Ok(()));
            }
            let expected: Vec<_> = (0_u64..).zip(lengths).collect();
            prop_assert_eq!(found, expected);
        }

        #[test]
        fn any_bytes_are_read_without_harm(bytes in prop::collection::vec(any::<u8>(), 0..500)) {
            read_datagram(&bytes);
            let _ = BlockReader::default().push(&bytes, |_, _| ());
        }
    }
}
