//! The system calls that neither `rustix` nor `socket2` offers: batches of datagrams with control
//! messages, segmentation of UDP, time stamps, `TCP_INFO`. All unsafe code of this crate is here.

use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::ptr;
use std::sync::Arc;

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

/// Largest UDP payload, and thus the largest that the kernel assembles of several datagrams.
pub(crate) const LARGEST_DATAGRAM: usize = 65_507;

/// Room for one datagram, or for several that the kernel received together (`UDP_GRO`).
const ROOM: usize = 65_536;

/// Room for the control messages of one datagram: a time stamp, the type of service, the size of
/// segments, with their headers. Aligned like those.
#[repr(C, align(8))]
#[derive(Clone, Copy)]
struct Ancillary([u8; 128]);

/// The value of an option that is an array of numbers; `None` where the system has fewer of them.
fn read_words<const COUNT: usize>(
    socket: BorrowedFd<'_>,
    level: i32,
    option: i32,
) -> Option<[u32; COUNT]> {
    let mut words = [0_u32; COUNT];
    let mut length = size_of::<[u32; COUNT]>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes into `words`, which is that long, and any of
    // them make numbers; both outlive the call.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            level,
            option,
            words.as_mut_ptr().cast(),
            &mut length,
        )
    };
    let is_whole = result == 0 && length as usize == size_of::<[u32; COUNT]>();
    is_whole.then_some(words)
}

/// Sets an option that is a number.
///
/// # Errors
/// The kernel does not have the option or refuses the value.
fn set_number(socket: BorrowedFd<'_>, level: i32, option: i32, value: i32) -> io::Result<()> {
    // SAFETY: the value is an `int` that outlives the call, and its size is given.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            option,
            ptr::from_ref(&value).cast(),
            size_of::<i32>() as libc::socklen_t,
        )
    };
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// `TCP_RTO_MAX_MS` of Linux from 6.15 on.
const LONGEST_TIMEOUT_OPTION: i32 = 44;
/// Longest retransmission timeout, in ms: a queue of seconds makes round trips that long, and
/// timeouts several times as long.
const LONGEST_TIMEOUT: i32 = 2000;

/// Makes a connection that sends little repeat lost segments after a constant time instead of a
/// doubling one (`TCP_THIN_LINEAR_TIMEOUTS`, Documentation/networking/tcp-thin.rst), and in any
/// case soon.
pub(crate) fn keep_timeouts_short(socket: BorrowedFd<'_>) -> io::Result<()> {
    let tcp = libc::IPPROTO_TCP;
    set_number(socket, tcp, libc::TCP_THIN_LINEAR_TIMEOUTS, 1)?;
    set_number(socket, tcp, LONGEST_TIMEOUT_OPTION, LONGEST_TIMEOUT)
}

/// Interval of TCP's probes while neither side writes, in seconds.
const PROBE_INTERVAL: i32 = 1;
/// The most probes without an acknowledgment before the kernel ends a connection: the death of a
/// side is decided elsewhere.
const MOST_PROBES: i32 = 127;

/// Lets a connection be probed while neither side writes (`SO_KEEPALIVE`), so that [`TcpFacts`]
/// show if the system of the other side can be reached.
pub(crate) fn probe_when_idle(socket: BorrowedFd<'_>) -> io::Result<()> {
    let tcp = libc::IPPROTO_TCP;
    set_number(socket, tcp, libc::TCP_KEEPIDLE, PROBE_INTERVAL)?;
    set_number(socket, tcp, libc::TCP_KEEPINTVL, PROBE_INTERVAL)?;
    set_number(socket, tcp, libc::TCP_KEEPCNT, MOST_PROBES)?;
    set_number(socket, libc::SOL_SOCKET, libc::SO_KEEPALIVE, 1)
}

/// Cuts each send into datagrams of this many bytes from now on (`UDP_SEGMENT`); zero ends that.
pub(crate) fn set_segment_bytes(socket: BorrowedFd<'_>, bytes: u16) -> io::Result<()> {
    set_number(socket, libc::SOL_UDP, libc::UDP_SEGMENT, i32::from(bytes))
}

/// Lets the kernel pass on datagrams of one sender together (`UDP_GRO`).
pub(crate) fn join_datagrams(socket: BorrowedFd<'_>) -> io::Result<()> {
    set_number(socket, libc::SOL_UDP, libc::UDP_GRO, 1)
}

/// Requests the time of arrival of each datagram, by the clock of the day.
pub(crate) fn stamp_arrivals(socket: BorrowedFd<'_>) -> io::Result<()> {
    set_number(socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1)
}

/// Length of `SO_MEMINFO` in words (`linux/sock_diag.h`), and the index of `SK_MEMINFO_DROPS` in
/// it.
const MEMORY_WORDS: usize = 9;
const DROPS: usize = 8;

/// Datagrams dropped because the buffer of a socket was full, modulo 2^32; `None` where the system
/// does not report them.
pub(crate) fn overflowed(socket: BorrowedFd<'_>) -> Option<u32> {
    let words: [u32; MEMORY_WORDS] = read_words(socket, libc::SOL_SOCKET, libc::SO_MEMINFO)?;
    Some(words[DROPS])
}

/// One datagram, or several of the same size, concatenated.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Received<'a> {
    pub(crate) bytes: &'a [u8],
    /// Length of each datagram but the last.
    pub(crate) segment_bytes: usize,
    /// Time of arrival in nanoseconds since 1970, by the kernel.
    pub(crate) stamp_ns: Option<u64>,
    /// Type of service, or traffic class.
    pub(crate) tos: Option<u8>,
}

/// Buffers for several datagrams in one call.
pub(crate) struct DatagramBatch {
    buffers: Vec<u8>,
    ancillary: Vec<Ancillary>,
    headers: Vec<libc::mmsghdr>,
    parts: Vec<libc::iovec>,
    count: usize,
}

impl DatagramBatch {
    pub(crate) fn new(count: usize) -> DatagramBatch {
        DatagramBatch {
            buffers: vec![0; count * ROOM],
            ancillary: vec![Ancillary([0; 128]); count],
            headers: Vec::with_capacity(count),
            parts: Vec::with_capacity(count),
            count,
        }
    }

    /// Receives available datagrams, at most `most` times, without waiting.
    ///
    /// # Errors
    /// [`io::ErrorKind::WouldBlock`] if there are none.
    pub(crate) fn receive(&mut self, socket: BorrowedFd<'_>, most: usize) -> io::Result<usize> {
        let count = most.min(self.count);
        self.headers.clear();
        self.parts.clear();
        for (buffer, _) in self.buffers.chunks_exact_mut(ROOM).zip(0..count) {
            self.parts.push(libc::iovec {
                iov_base: buffer.as_mut_ptr().cast(),
                iov_len: ROOM,
            });
        }
        for (part, ancillary) in self.parts.iter_mut().zip(&mut self.ancillary) {
            // SAFETY: a header of zeros is one without name, parts and control messages.
            let mut header: libc::mmsghdr = unsafe { zeroed() };
            header.msg_hdr.msg_iov = part;
            header.msg_hdr.msg_iovlen = 1;
            header.msg_hdr.msg_control = ptr::from_mut(ancillary).cast();
            header.msg_hdr.msg_controllen = size_of::<Ancillary>();
            self.headers.push(header);
        }
        // SAFETY: the headers point to parts, buffers and control buffers of `self`, which are as
        // long as they say, do not overlap and live until the call returns.
        let received = unsafe {
            libc::recvmmsg(
                socket.as_raw_fd(),
                self.headers.as_mut_ptr(),
                count as libc::c_uint,
                libc::MSG_DONTWAIT,
                ptr::null_mut(),
            )
        };
        usize::try_from(received).map_err(|_| io::Error::last_os_error())
    }

    /// A datagram of the last call, by its index.
    pub(crate) fn datagram(&self, index: usize) -> Option<Received<'_>> {
        let header = self.headers.get(index)?;
        let length = (header.msg_len as usize).min(ROOM);
        let bytes = self.buffers.get(index * ROOM..index * ROOM + length)?;
        let mut received = Received {
            bytes,
            segment_bytes: length,
            stamp_ns: None,
            tos: None,
        };
        each_ancillary(&header.msg_hdr, |level, kind, data| match (level, kind) {
            (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) => received.stamp_ns = time(data),
            (libc::SOL_UDP, libc::UDP_GRO) => {
                let bytes = number(data).and_then(|bytes| usize::try_from(bytes).ok());
                received.segment_bytes = bytes.filter(|bytes| *bytes > 0).unwrap_or(length);
            }
            (libc::SOL_IP, libc::IP_TOS) => received.tos = data.first().copied(),
            (libc::SOL_IPV6, libc::IPV6_TCLASS) => {
                received.tos = number(data).and_then(|class| u8::try_from(class).ok());
            }
            _ => {}
        });
        Some(received)
    }
}

/// Calls `visit` with level, type and content of each control message that the kernel wrote.
fn each_ancillary(message: &libc::msghdr, mut visit: impl FnMut(i32, i32, &[u8])) {
    // SAFETY: `msg_control` points to `msg_controllen` bytes that the kernel has written, so the
    // macros stay inside them; `cmsg_len` is the kernel's, and counts header and content.
    unsafe {
        let mut header = libc::CMSG_FIRSTHDR(message);
        while !header.is_null() {
            let data = libc::CMSG_DATA(header);
            let length = (*header).cmsg_len - (data.addr() - header.addr());
            let content = std::slice::from_raw_parts(data, length);
            visit((*header).cmsg_level, (*header).cmsg_type, content);
            header = libc::CMSG_NXTHDR(message, header);
        }
    }
}

/// A `struct timespec` in nanoseconds.
fn time(data: &[u8]) -> Option<u64> {
    let seconds = u64::from_ne_bytes(data.get(..8)?.try_into().ok()?);
    let nanos = u64::from_ne_bytes(data.get(8..16)?.try_into().ok()?);
    seconds.checked_mul(1_000_000_000)?.checked_add(nanos)
}

fn number(data: &[u8]) -> Option<i32> {
    Some(i32::from_ne_bytes(data.get(..4)?.try_into().ok()?))
}

/// Facts of the kernel about a TCP connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TcpFacts {
    /// Smoothed round trip in microseconds.
    pub(crate) round_trip_us: u32,
    /// Number of retransmitted segments.
    pub(crate) retransmissions: u32,
    /// Segments in flight.
    pub(crate) unacknowledged: u32,
    /// Retransmissions of the first of them, after time-outs.
    pub(crate) timeouts: u8,
    /// Probes of [`probe_when_idle`] since the last acknowledgment.
    pub(crate) probes: u8,
    /// Bytes that the other side has acknowledged, modulo 2^32. Data or probes that it sends add
    /// none; `tcpi_last_ack_recv`, which counts these packets as well, does not show a slow path.
    pub(crate) acknowledged_bytes: u32,
}

/// Length in words of the part of `struct tcp_info` (`linux/tcp.h`) that is read, and the indices
/// of `tcpi_unacked`, `tcpi_rtt`, `tcpi_total_retrans` and the lower half of `tcpi_bytes_acked`
/// (from Linux 4.1 on) in it; `tcpi_retransmits` and `tcpi_probes` are the third and fourth byte.
const TCP_WORDS: usize = 32;
const TIMEOUTS_BYTE: usize = 2;
const PROBES_BYTE: usize = 3;
const UNACKNOWLEDGED: usize = 6;
const ROUND_TRIP: usize = 17;
const RETRANSMISSIONS: usize = 25;
const ACKNOWLEDGED: usize = if cfg!(target_endian = "little") {
    30
} else {
    31
};

/// Reads `TCP_INFO`; `None` where the system does not provide it.
pub(crate) fn tcp_facts(socket: BorrowedFd<'_>) -> Option<TcpFacts> {
    let words: [u32; TCP_WORDS] = read_words(socket, libc::IPPROTO_TCP, libc::TCP_INFO)?;
    Some(TcpFacts {
        round_trip_us: words[ROUND_TRIP],
        retransmissions: words[RETRANSMISSIONS],
        unacknowledged: words[UNACKNOWLEDGED],
        timeouts: words[0].to_ne_bytes()[TIMEOUTS_BYTE],
        probes: words[0].to_ne_bytes()[PROBES_BYTE],
        acknowledged_bytes: words[ACKNOWLEDGED],
    })
}

/// Makes the program start in this network namespace.
pub(crate) fn start_in_network(command: &mut Command, namespace: Arc<OwnedFd>) {
    let enter = move || {
        move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network))?;
        Ok(())
    };
    // SAFETY: between fork and exec the closure makes one system call, and neither allocates nor
    // takes a lock.
    unsafe { command.pre_exec(enter) };
}
