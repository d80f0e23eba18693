//! Flows over UDP.

use std::io::IoSlice;
use std::os::fd::AsFd;

use rustix::io::Errno;
use rustix::net::{MMsgHdr, SendAncillaryBuffer, SendFlags};
use socket2::Socket;

use super::counters::FlowCounters;
use super::sender::{CONTENT, SendBuffers};
use super::stream::Written;
use crate::clock::stamp_ns;
use crate::payload::{BlockStamp, FlowId, write_datagram};
use crate::sys::{LARGEST_DATAGRAM, set_segment_bytes};

/// Calls before the next flow is served.
const TURN: usize = 16;
/// Datagrams of one call: `UDP_MAX_SEGMENTS` of Linux before 6.9, and of `sendmmsg` here.
const MOST: usize = 64;

/// How a flow sends several datagrams at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Batching {
    /// One buffer that the kernel cuts (`UDP_SEGMENT`).
    Segments,
    /// One call for several datagrams (`sendmmsg`).
    Messages,
}

/// The state of a flow of datagrams.
#[derive(Debug)]
pub(super) struct DatagramSender {
    id: FlowId,
    batching: Batching,
    /// Size of the segments into which the kernel cuts a buffer; zero: no cutting.
    segment: u16,
    /// Number of the next datagram.
    sequence: u64,
}

impl DatagramSender {
    pub(super) fn new(id: FlowId) -> DatagramSender {
        DatagramSender {
            id,
            batching: Batching::Segments,
            segment: 0,
            sequence: 0,
        }
    }

    /// Most datagrams of this length per call.
    pub(super) fn most(&self, bytes: u32) -> usize {
        let room = match self.batching {
            Batching::Segments => LARGEST_DATAGRAM,
            Batching::Messages => CONTENT,
        };
        (room / bytes as usize).clamp(1, MOST)
    }

    /// Sends datagrams of one length, at most as many as [`Self::most`] returns. Returns how many
    /// the system accepted.
    pub(super) fn send(
        &mut self,
        socket: &Socket,
        bytes: u32,
        count: usize,
        buffers: &mut SendBuffers,
    ) -> Result<usize, Errno> {
        let length = bytes as usize;
        let content = &mut buffers.content[..count * length];
        let sent_ns = stamp_ns();
        for (datagram, sequence) in content.chunks_exact_mut(length).zip(self.sequence..) {
            write_datagram(datagram, self.id, BlockStamp { sequence, sent_ns });
        }
        // A buffer that fits into a segment is not cut.
        let wanted = match (count, self.batching) {
            (2.., Batching::Segments) => u16::try_from(bytes).unwrap_or(0),
            _ if length > usize::from(self.segment) => 0,
            _ => self.segment,
        };
        if wanted != self.segment {
            match set_segment_bytes(socket.as_fd(), wanted) {
                Ok(()) => self.segment = wanted,
                // A kernel without the option cuts nothing.
                Err(_) => self.batching = Batching::Messages,
            }
        }
        let sent = match self.batching {
            Batching::Messages if count > 1 => send_messages(socket, content, length),
            _ => rustix::net::send(socket, content, SendFlags::DONTWAIT).map(|_| count),
        };
        match sent {
            // The device cannot cut, or a datagram would be longer than its packets.
            Err(Errno::INVAL | Errno::MSGSIZE | Errno::IO | Errno::OPNOTSUPP)
                if count > 1 && self.batching == Batching::Segments =>
            {
                self.batching = Batching::Messages;
                set_segment_bytes(socket.as_fd(), 0).map_err(|_| Errno::OPNOTSUPP)?;
                self.segment = 0;
                self.send(socket, bytes, count, buffers)
            }
            Ok(sent) => {
                self.sequence += sent as u64;
                Ok(sent)
            }
            Err(error) => Err(error),
        }
    }

    /// Sends datagrams until the next flow is served.
    pub(super) fn send_unlimited(
        &mut self,
        socket: &Socket,
        bytes: u32,
        buffers: &mut SendBuffers,
        counters: &FlowCounters,
    ) -> Written {
        for _ in 0..TURN {
            let count = self.most(bytes);
            match self.send(socket, bytes, count, buffers) {
                Ok(sent) => {
                    counters.sent_blocks.add(sent as u64);
                    counters.sent_bytes.add(sent as u64 * u64::from(bytes));
                }
                Err(Errno::AGAIN) => return Written::Part,
                Err(Errno::INTR) => {}
                Err(_) => counters.refused_blocks.add(count as u64),
            }
        }
        Written::All
    }
}

/// Sends several datagrams with one call; returns how many were accepted.
fn send_messages(socket: &Socket, content: &[u8], bytes: usize) -> Result<usize, Errno> {
    let datagrams = content.chunks_exact(bytes);
    let slices: Vec<[IoSlice<'_>; 1]> = datagrams.map(|one| [IoSlice::new(one)]).collect();
    let controls = slices.iter().map(|_| SendAncillaryBuffer::default());
    let mut controls: Vec<_> = controls.collect();
    let parts = slices.iter().zip(&mut controls);
    let messages = parts.map(|(slice, control)| MMsgHdr::new(slice, control));
    let mut messages: Vec<_> = messages.collect();
    rustix::net::sendmmsg(socket, &mut messages, SendFlags::DONTWAIT)
}
