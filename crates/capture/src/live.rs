//! Packets of the loopback interface, with the kernel's time stamps: the truth that a client's
//! times are compared with.
//!
//! ```text
//! client --> dev_queue_xmit --+--> loopback --> netif_rx --+--> server
//!                             |                            |
//!                      outgoing copy                 incoming copy
//! ```
//!
//! Every packet on `lo` shows twice, stamped when it leaves and when it arrives. Of a request the
//! *outgoing* copy counts, of a response the *incoming* one: with a network between client and
//! server those are the two that a capture at the client's end of the cable would see. What lies
//! between them is the server and the way to it, and nothing of the client. The filter (see
//! `filter`) keeps exactly these.
//!
//! The ring is large enough for a whole run and is read when the run is over: nothing of this
//! process runs meanwhile. All unsafe code of the crate is in this file.

mod filter;

use std::ffi::c_void;
use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsFd, AsRawFd};
use std::ptr;
use std::sync::atomic::{Ordering, fence};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::mm::{MapFlags, ProtFlags};
use socket2::{Domain, Protocol, Socket, Type};

/// A block of the ring; packets lie one behind the other in it.
const BLOCK: usize = 1 << 20;

/// After this time the kernel hands a block over that is not full, in milliseconds.
const RETIRE_MS: u32 = 250;

/// `ETH_P_ALL`, in network order.
const EVERY_PROTOCOL: u16 = (libc::ETH_P_ALL as u16).to_be();

/// Room for some hundred thousand small requests.
pub const RING: usize = 192 << 20;

/// One captured packet.
#[derive(Debug, Clone, Copy)]
pub struct Packet<'a> {
    /// From the link header on, cut off at the filter's length.
    pub bytes: &'a [u8],
    /// Nanoseconds of the time of day.
    pub at_ns: i64,
    /// The outgoing copy, not the incoming one.
    pub outgoing: bool,
}

/// What the kernel counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CaptureCounters {
    /// Packets that passed the filter.
    pub packets: u32,
    /// Those of them that found no room: with any, the capture is worth nothing.
    pub dropped: u32,
}

/// A capture under way.
#[derive(Debug)]
pub struct Capture {
    socket: Socket,
    ring: Ring,
}

impl Capture {
    /// Captures requests to this port of loopback, and responses from it, into a ring of that many
    /// bytes.
    ///
    /// # Errors
    /// Without `CAP_NET_RAW`, and where the memory is refused.
    pub fn start(port: u16, ring_bytes: usize) -> io::Result<Capture> {
        // Protocol 0 until it is bound: nothing comes in before the filter stands.
        let socket = Socket::new(Domain::PACKET, Type::RAW, Some(Protocol::from(0)))?;
        let filter: Vec<_> = filter::program(port)
            .into_iter()
            .map(|step| socket2::SockFilter::new(step.code, step.jt, step.jf, step.k))
            .collect();
        socket.attach_filter(&filter)?;
        // The ring takes whatever stamp a packet has; this makes all packets have one.
        set(&socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, &1_i32)?;
        let version = libc::tpacket_versions::TPACKET_V3 as i32;
        set(&socket, libc::SOL_PACKET, libc::PACKET_VERSION, &version)?;
        let ring = Ring::new(&socket, ring_bytes.div_ceil(BLOCK))?;
        bind_to_loopback(&socket)?;
        Ok(Capture { socket, ring })
    }

    /// Ends the capture and shows every packet in the order of capture.
    ///
    /// # Errors
    /// Where the kernel does not tell what it counted.
    pub fn finish(mut self, mut visit: impl FnMut(Packet<'_>)) -> io::Result<CaptureCounters> {
        while self.wait_for_block()? {
            self.ring.read_block(&mut visit);
        }
        counted(&self.socket)
    }

    /// False when no packet is left.
    fn wait_for_block(&self) -> io::Result<bool> {
        if self.ring.is_ready() {
            return Ok(true);
        }
        // The last block is handed over when its time is up.
        let patience = Timespec {
            tv_sec: 0,
            tv_nsec: i64::from(3 * RETIRE_MS) * 1_000_000,
        };
        let mut fds = [PollFd::new(&self.socket, PollFlags::IN)];
        poll(&mut fds, Some(&patience))?;
        Ok(self.ring.is_ready())
    }
}

/// Whether packets can be captured here, and if not, what came back.
///
/// # Errors
/// A sentence that says what is missing.
pub fn available() -> Result<(), String> {
    match Socket::new(Domain::PACKET, Type::RAW, Some(Protocol::from(0))) {
        Ok(_) => Ok(()),
        Err(error) => Err(format!(
            "opening a packet socket failed: {error}; it needs root or CAP_NET_RAW"
        )),
    }
}

/// The kernel's ring, mapped.
#[derive(Debug)]
struct Ring {
    start: *mut c_void,
    blocks: usize,
    next: usize,
}

impl Ring {
    fn new(socket: &Socket, blocks: usize) -> io::Result<Ring> {
        const FRAME: usize = 2048; // TPACKET_V3 only checks that it divides a block
        let wanted = libc::tpacket_req3 {
            tp_block_size: BLOCK as u32,
            tp_block_nr: blocks as u32,
            tp_frame_size: FRAME as u32,
            tp_frame_nr: (blocks * (BLOCK / FRAME)) as u32,
            tp_retire_blk_tov: RETIRE_MS,
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

    /// The head of the next block.
    fn block(&self) -> *mut libc::tpacket_hdr_v1 {
        // SAFETY: `next` is less than `blocks`, so this stays inside the mapping.
        let block = unsafe { self.start.byte_add(self.next * BLOCK) };
        let block: *mut libc::tpacket_block_desc = block.cast();
        // SAFETY: every block of the ring begins with this description; no reference is made of
        // what the kernel may write to.
        unsafe { &raw mut (*block).hdr.bh1 }
    }

    /// The next block is ours to read.
    fn is_ready(&self) -> bool {
        // SAFETY: the pointer is that of a block's head; the kernel writes this word at any time,
        // hence volatile.
        let status = unsafe { (&raw const (*self.block()).block_status).read_volatile() };
        // What the kernel wrote before the status is to be read after it.
        fence(Ordering::Acquire);
        status & libc::TP_STATUS_USER != 0
    }

    fn read_block(&mut self, visit: &mut impl FnMut(Packet<'_>)) {
        let head = self.block();
        // SAFETY: `is_ready` has said that the block is ours until we give it back.
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
                let place = packet.byte_add(libc::TPACKET_ALIGN(size_of::<libc::tpacket3_hdr>()));
                let from = place.cast::<libc::sockaddr_ll>().read_unaligned();
                let bytes = packet.byte_add(header.tp_mac as usize).cast::<u8>();
                visit(Packet {
                    bytes: std::slice::from_raw_parts(bytes, header.tp_snaplen as usize),
                    at_ns: i64::from(header.tp_sec) * 1_000_000_000 + i64::from(header.tp_nsec),
                    outgoing: from.sll_pkttype == libc::PACKET_OUTGOING,
                });
                packet.byte_add(header.tp_next_offset as usize)
            };
        }
        fence(Ordering::Release);
        // SAFETY: as in `is_ready`; from here on the block is the kernel's.
        unsafe { (&raw mut (*head).block_status).write_volatile(libc::TP_STATUS_KERNEL) };
        self.next = (self.next + 1) % self.blocks;
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

fn bind_to_loopback(socket: &Socket) -> io::Result<()> {
    let index = rustix::net::netdevice::name_to_index(socket, "lo")?;
    // SAFETY: zeros are a valid `sockaddr_ll`, and the storage is larger than it.
    let (_, address) = unsafe {
        socket2::SockAddr::try_init(|storage, length| {
            let mut address: libc::sockaddr_ll = zeroed();
            address.sll_family = libc::AF_PACKET as u16;
            address.sll_protocol = EVERY_PROTOCOL;
            address.sll_ifindex = index as i32;
            storage.cast::<libc::sockaddr_ll>().write_unaligned(address);
            *length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
            Ok(())
        })
    }?;
    socket.bind(&address)
}

fn counted(socket: &Socket) -> io::Result<CaptureCounters> {
    // SAFETY: zeros are a valid value of these three counters.
    let mut counters: libc::tpacket_stats_v3 = unsafe { zeroed() };
    let mut length = size_of::<libc::tpacket_stats_v3>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes into `counters`.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_PACKET,
            libc::PACKET_STATISTICS,
            ptr::from_mut(&mut counters).cast(),
            &mut length,
        )
    };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(CaptureCounters {
        packets: counters.tp_packets,
        dropped: counters.tp_drops,
    })
}

fn set<T>(socket: &Socket, level: i32, option: i32, value: &T) -> io::Result<()> {
    // SAFETY: the kernel reads `size_of::<T>()` bytes of `value`, which outlives the call.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            option,
            ptr::from_ref(value).cast(),
            size_of::<T>() as libc::socklen_t,
        )
    };
    match result {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
