//! Flows over TCP.

use rustix::net::SendFlags;
use socket2::Socket;

use super::counters::FlowCounters;
use super::sender::{CONTENT, SendBuffers};
use crate::clock::stamp_ns;
use crate::payload::{BLOCK_HEADER, BlockStamp, block_header};

/// Calls before the next flow is served.
const TURN: usize = 16;

/// Outcome of writing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Written {
    All,
    /// The socket has no room left.
    Part,
    Failed,
}

/// A partly written block.
#[derive(Debug, Clone, Copy)]
struct PendingBlock {
    header: [u8; BLOCK_HEADER],
    /// Bytes of the header that are sent at all.
    header_bytes: usize,
    /// Length including the header.
    bytes: usize,
    written: usize,
}

#[derive(Debug)]
pub(super) struct StreamSender {
    pending: Option<PendingBlock>,
    has_stamps: bool,
    /// Bytes of each write, where segments are to follow blocks (`TCP_NODELAY`).
    piece: Option<u32>,
    /// Offset in the file.
    offset: u64,
    /// Number of the next block.
    sequence: u64,
}

impl StreamSender {
    /// A stream whose beginning has been written.
    pub(super) fn new(has_stamps: bool, piece: Option<u32>) -> StreamSender {
        StreamSender {
            pending: None,
            has_stamps,
            piece,
            offset: 0,
            sequence: 0,
        }
    }

    pub(super) fn has_pending(&self) -> bool {
        self.pending.is_some()
    }

    pub(super) fn begin_block(&mut self, bytes: u32) {
        let stamp = BlockStamp {
            sequence: self.sequence,
            sent_ns: stamp_ns(),
        };
        self.sequence += 1;
        self.pending = Some(PendingBlock {
            header: block_header(bytes, stamp),
            header_bytes: if self.has_stamps { BLOCK_HEADER } else { 0 },
            bytes: bytes as usize,
            written: 0,
        });
    }

    /// Writes the rest of the current block.
    pub(super) fn write_pending(&mut self, socket: &Socket, buffers: &mut SendBuffers) -> Written {
        let Some(pending) = &mut self.pending else {
            return Written::All;
        };
        while pending.written < pending.bytes {
            let left = pending.bytes - pending.written;
            let from = if pending.written < pending.header_bytes {
                let header = &pending.header[..pending.header_bytes];
                buffers.content[..header.len()].copy_from_slice(header);
                pending.written
            } else {
                0
            };
            let piece = &buffers.content[from..(from + left).min(CONTENT)];
            match rustix::net::send(socket, piece, SendFlags::NOSIGNAL | SendFlags::DONTWAIT) {
                Ok(count) => pending.written += count,
                Err(rustix::io::Errno::AGAIN) => return Written::Part,
                Err(rustix::io::Errno::INTR) => {}
                Err(_) => return Written::Failed,
            }
        }
        self.pending = None;
        Written::All
    }

    /// Writes as much as fits, without blocks.
    pub(super) fn write_unlimited(
        &mut self,
        socket: &Socket,
        buffers: &mut SendBuffers,
        counters: &FlowCounters,
    ) -> Written {
        for _ in 0..TURN {
            let left = CONTENT - self.offset as usize;
            let count = self.piece.map_or(left, |piece| left.min(piece as usize));
            // `sendfile` has no flag against SIGPIPE, which Rust programs ignore.
            let sent = rustix::fs::sendfile(socket, &buffers.file, Some(&mut self.offset), count);
            match sent {
                Ok(count) => counters.sent_bytes.add(count as u64),
                Err(rustix::io::Errno::AGAIN) => return Written::Part,
                Err(rustix::io::Errno::INTR) => {}
                Err(_) => return Written::Failed,
            }
            if self.offset >= CONTENT as u64 {
                self.offset = 0;
            }
        }
        Written::All
    }
}
