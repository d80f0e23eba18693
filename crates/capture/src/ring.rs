//! The ring of packets that the kernel fills (TPACKET_V3), mapped into this process.
//!
//! A word at the head of a block shows if it belongs to the kernel or to this process. The kernel
//! releases a block when it is full, or after a time limit.

use std::ffi::c_void;
use std::io;
use std::mem::size_of;
use std::os::fd::AsFd;
use std::ptr;
use std::sync::atomic::{Ordering, fence};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::mm::{MapFlags, ProtFlags};
use socket2::Socket;

use crate::socket::set;

/// Size of a block of the ring; its packets are adjacent.
pub(crate) const BLOCK: usize = 1 << 20;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Packet<'a> {
    /// Bytes from the link header, cut off at the filter's length.
    pub(crate) bytes: &'a [u8],
    /// Nanoseconds of the time of day.
    pub(crate) at_ns: i64,
    /// The outgoing copy, not the incoming one.
    pub(crate) outgoing: bool,
    /// Length on the wire in bytes, without a VLAN tag that the kernel has removed.
    pub(crate) wire_length: u32,
    /// The VLAN tag that the kernel has removed from the packet: protocol and control information.
    pub(crate) vlan_tag: Option<(u16, u16)>,
    pub(crate) address: LinkAddress,
}

/// The link address that the kernel keeps beside a packet (`sockaddr_ll`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LinkAddress {
    /// EtherType.
    pub(crate) protocol: u16,
    pub(crate) interface: u32,
    /// Hardware type (`ARPHRD_*`).
    pub(crate) hardware: u16,
    /// Type of the packet (`PACKET_*`).
    pub(crate) kind: u8,
    /// Bytes of the address, at most 8.
    pub(crate) length: u8,
    /// The address of the sender.
    pub(crate) bytes: [u8; 8],
}

#[derive(Debug)]
pub(crate) struct Ring {
    start: *mut c_void,
    blocks: usize,
    next: usize,
}

// SAFETY: the mapping belongs to this value alone, and no reference into it outlives a call with
// `&mut self`.
unsafe impl Send for Ring {}

impl Ring {
    /// Adds a ring to the socket. A block is released after `retire` at the latest, rounded to
    /// milliseconds.
    pub(crate) fn new(socket: &Socket, ring_bytes: usize, retire: Duration) -> io::Result<Ring> {
        const FRAME: usize = 2048; // TPACKET_V3 only checks that it divides a block
        let blocks = ring_bytes.div_ceil(BLOCK).max(2);
        // The ring uses the time stamp of a packet, if any; this gives all packets one.
        set(socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, &1_i32)?;
        let version = libc::tpacket_versions::TPACKET_V3 as i32;
        set(socket, libc::SOL_PACKET, libc::PACKET_VERSION, &version)?;
        let wanted = libc::tpacket_req3 {
            tp_block_size: BLOCK as u32,
            tp_block_nr: blocks as u32,
            tp_frame_size: FRAME as u32,
            tp_frame_nr: (blocks * (BLOCK / FRAME)) as u32,
            tp_retire_blk_tov: retire.as_millis() as u32,
            tp_sizeof_priv: 0,
            tp_feature_req_word: 0,
        };
        set(socket, libc::SOL_PACKET, libc::PACKET_RX_RING, &wanted)?;
        // SAFETY: a new mapping at an address that the kernel chooses touches no memory of ours.
        let start = unsafe {
            rustix::mm::mmap(
                ptr::null_mut(),
                blocks * BLOCK,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::SHARED,
                socket.as_fd(),
                0,
            )
        }?;
        Ok(Ring {
            start,
            blocks,
            next: 0,
        })
    }

    /// Waits for a block; false if none was released within `patience`.
    pub(crate) fn wait(&self, socket: &Socket, patience: Duration) -> io::Result<bool> {
        if self.is_ready() {
            return Ok(true);
        }
        let patience = Timespec {
            tv_sec: patience.as_secs().cast_signed(),
            tv_nsec: i64::from(patience.subsec_nanos()),
        };
        let mut fds = [PollFd::new(socket, PollFlags::IN)];
        match poll(&mut fds, Some(&patience)) {
            // An interface that is down is reported once, by the next call.
            Ok(_) => match socket.take_error()? {
                Some(error) if !self.is_ready() => return Err(error),
                _ => {}
            },
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(self.is_ready())
    }

    /// The head of the next block.
    fn block(&self) -> *mut libc::tpacket_hdr_v1 {
        // SAFETY: `next` is less than `blocks`, so this stays inside the mapping.
        let block = unsafe { self.start.byte_add(self.next * BLOCK) };
        let block: *mut libc::tpacket_block_desc = block.cast();
        // SAFETY: every block of the ring begins with this description; no reference is made of
        // what the kernel may write to.
        unsafe { &raw mut (*block).hdr.bh1 }
    }

    /// The next block may be read.
    fn is_ready(&self) -> bool {
        // SAFETY: the pointer is that of a block's head; the kernel writes this word at any time,
        // hence volatile.
        let status = unsafe { (&raw const (*self.block()).block_status).read_volatile() };
        // Data that the kernel wrote before the status must be read after it.
        fence(Ordering::Acquire);
        status & libc::TP_STATUS_USER != 0
    }

    /// Visits the packets of the next block, which must be ready, and returns it to the kernel.
    pub(crate) fn read_block(&mut self, mut visit: impl FnMut(Packet<'_>)) {
        if !self.is_ready() {
            return;
        }
        let head = self.block();
        // SAFETY: `is_ready` was true, so the block is ours until it is returned.
        let (count, first) = unsafe { ((*head).num_pkts, (*head).offset_to_first_pkt) };
        // SAFETY: the offset is the kernel's, and leads to the first packet of the same block.
        let mut packet = unsafe {
            self.start
                .byte_add(self.next * BLOCK + first as usize)
                .cast::<libc::tpacket3_hdr>()
        };
        for _ in 0..count {
            // SAFETY: each packet begins with this header, at an aligned place; the link address
            // is behind it, `tp_snaplen` bytes lie at `tp_mac`, and the next packet is
            // `tp_next_offset` further, all in the same block, which the kernel leaves alone
            // until it is given back.
            packet = unsafe {
                let header = packet.read();
                let address = packet.byte_add(libc::TPACKET_ALIGN(size_of::<libc::tpacket3_hdr>()));
                let from = address.cast::<libc::sockaddr_ll>().read_unaligned();
                let bytes = packet.byte_add(header.tp_mac as usize).cast::<u8>();
                let bytes = std::slice::from_raw_parts(bytes, header.tp_snaplen as usize);
                visit(described(&header, &from, bytes));
                packet.byte_add(header.tp_next_offset as usize)
            };
        }
        fence(Ordering::Release);
        // SAFETY: as in `is_ready`; from here on the block is the kernel's.
        unsafe { (&raw mut (*head).block_status).write_volatile(libc::TP_STATUS_KERNEL) };
        self.next = (self.next + 1) % self.blocks;
    }
}

fn described<'a>(
    header: &libc::tpacket3_hdr,
    from: &libc::sockaddr_ll,
    bytes: &'a [u8],
) -> Packet<'a> {
    let status = header.tp_status;
    let has_tag = status & libc::TP_STATUS_VLAN_VALID != 0;
    let tag_protocol = match status & libc::TP_STATUS_VLAN_TPID_VALID {
        0 => libc::ETH_P_8021Q as u16,
        _ => header.hv1.tp_vlan_tpid,
    };
    Packet {
        bytes,
        at_ns: i64::from(header.tp_sec) * 1_000_000_000 + i64::from(header.tp_nsec),
        outgoing: from.sll_pkttype == libc::PACKET_OUTGOING,
        wire_length: header.tp_len,
        vlan_tag: has_tag.then_some((tag_protocol, header.hv1.tp_vlan_tci as u16)),
        address: LinkAddress {
            protocol: u16::from_be(from.sll_protocol),
            interface: from.sll_ifindex.cast_unsigned(),
            hardware: from.sll_hatype,
            kind: from.sll_pkttype,
            length: from.sll_halen.min(8),
            bytes: from.sll_addr,
        },
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: start and length are those of the mapping, and no slice of it is left: packets
        // are only lent to `visit`.
        let unmapped = unsafe { rustix::mm::munmap(self.start, self.blocks * BLOCK) };
        debug_assert!(unmapped.is_ok());
    }
}
