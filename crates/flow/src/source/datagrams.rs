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

/// Calls before other flows have their turn.
const TURN: usize = 16;
/// Datagrams of one call: `UDP_MAX_SEGMENTS` of Linux before 6.9, and of `sendmmsg` here.
const MOST: usize = 64;

/// How a flow without a schedule sends.
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
    batching: Batching,
    bytes: usize,
}

impl DatagramSender {
    pub(super) fn new(socket: &Socket, bytes: u32, is_unlimited: bool) -> DatagramSender {
        let several = bytes as usize <= LARGEST_DATAGRAM / 2;
        let segment = u16::try_from(bytes)
            .ok()
            .filter(|_| several && is_unlimited);
        let is_set = segment.is_some_and(|bytes| set_segment_bytes(socket.as_fd(), bytes).is_ok());
        DatagramSender {
            batching: if is_set {
                Batching::Segments
            } else {
                Batching::Messages
            },
            bytes: bytes as usize,
        }
    }

    /// Sends one datagram.
    pub(super) fn send_one(
        socket: &Socket,
        id: FlowId,
        stamp: BlockStamp,
        bytes: u32,
        buffers: &mut SendBuffers,
    ) -> Result<(), Errno> {
        let datagram = &mut buffers.content[..bytes as usize];
        write_datagram(datagram, id, stamp);
        rustix::net::send(socket, datagram, SendFlags::DONTWAIT).map(|_| ())
    }

    /// Sends datagrams until it is the turn of others.
    pub(super) fn send_unlimited(
        &mut self,
        socket: &Socket,
        buffers: &mut SendBuffers,
        (id, sequence): (FlowId, &mut u64),
        counters: &FlowCounters,
    ) -> Written {
        for _ in 0..TURN {
            let room = match self.batching {
                Batching::Segments => LARGEST_DATAGRAM,
                Batching::Messages => CONTENT,
            };
            let count = (room / self.bytes).clamp(1, MOST);
            let content = &mut buffers.content[..count * self.bytes];
            let sent_ns = stamp_ns();
            let numbers = *sequence..;
            for (datagram, sequence) in content.chunks_exact_mut(self.bytes).zip(numbers) {
                write_datagram(datagram, id, BlockStamp { sequence, sent_ns });
            }
            let sent = match self.batching {
                Batching::Segments => {
                    rustix::net::send(socket, content, SendFlags::DONTWAIT).map(|_| count)
                }
                Batching::Messages => send_messages(socket, content, self.bytes),
            };
            match sent {
                Ok(sent) => {
                    *sequence += sent as u64;
                    counters.sent_blocks.add(sent as u64);
                    counters.sent_bytes.add((sent * self.bytes) as u64);
                }
                Err(Errno::AGAIN) => return Written::Part,
                Err(Errno::INTR) => {}
                // The device cannot cut, or a datagram would be longer than its packets.
                Err(Errno::INVAL | Errno::MSGSIZE | Errno::IO | Errno::OPNOTSUPP)
                    if self.batching == Batching::Segments =>
                {
                    self.batching = Batching::Messages;
                    if set_segment_bytes(socket.as_fd(), 0).is_err() {
                        return Written::Failed;
                    }
                }
                Err(_) => counters.refused_blocks.add(count as u64),
            }
        }
        Written::All
    }
}

/// Sends several datagrams with one call; returns how many were taken.
fn send_messages(socket: &Socket, content: &[u8], bytes: usize) -> Result<usize, Errno> {
    let slices: Vec<[IoSlice<'_>; 1]> = content
        .chunks_exact(bytes)
        .map(|datagram| [IoSlice::new(datagram)])
        .collect();
    let mut controls: Vec<_> = slices
        .iter()
        .map(|_| SendAncillaryBuffer::default())
        .collect();
    let mut messages: Vec<_> = slices
        .iter()
        .zip(&mut controls)
        .map(|(slice, control)| MMsgHdr::new(slice, control))
        .collect();
    rustix::net::sendmmsg(socket, &mut messages, SendFlags::DONTWAIT)
}
