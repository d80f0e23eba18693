//! The kernel's time stamps of sent and received bytes (`SO_TIMESTAMPING`).
//!
//! ```text
//! send     --> a request for a stamp of the last byte travels with the call
//!              ... the packet leaves: the stamp is put on the socket's error queue
//! sent     --> taken from the error queue, found again by its offset in the stream
//! receive  --> the stamp of the packet comes with its bytes
//! ```
//!
//! Stamps are software stamps, of `CLOCK_REALTIME`; [`WallClock`](crate::clock::WallClock) converts
//! them to moments of the run. The method is that of the kernel's
//! `Documentation/networking/timestamping.rst`.

use std::io::{self, Write};
use std::mem::{MaybeUninit, size_of, zeroed};
use std::net::{Ipv4Addr, Ipv6Addr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::ptr;
use std::time::{Duration, Instant};

/// Nanoseconds of the time of day, as the kernel stamps packets.
pub(crate) type RealNanos = i64;

/// Time stamps of the kernel that are enabled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stamping {
    /// None.
    Off,
    /// Departures and arrivals; with `acks`, also acknowledgements of the other side's TCP.
    On { acks: bool },
}

/// `SCM_TSTAMP_SND` and `SCM_TSTAMP_ACK` of `linux/errqueue.h`.
const TSTAMP_SND: u32 = 0;
const TSTAMP_ACK: u32 = 2;

const RECORD_SENT: u32 = libc::SOF_TIMESTAMPING_TX_SOFTWARE;
const RECORD_ACKED: u32 = libc::SOF_TIMESTAMPING_TX_ACK;
/// `SOF_TIMESTAMPING_OPT_ID_TCP`, since Linux 6.2: offsets count from the option's setting, also
/// where data is still unacknowledged.
const OPT_ID_TCP: u32 = 1 << 16;

/// Room for the control messages of one call: a stamp is 64 bytes with its header, the error that
/// carries it as long again. A multiple of eight, and aligned like the headers in it.
#[repr(C, align(8))]
struct Control([u8; 256]);

/// Event of a stamp on the error queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Left {
    /// The byte was passed to the network.
    Sent,
    /// The other side's TCP has acknowledged it.
    Acked,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TxStamp {
    pub(crate) left: Left,
    /// Offset of the stamped byte in the stream, modulo 2^32, from the moment when stamps were
    /// enabled.
    pub(crate) byte: u32,
    pub(crate) at: RealNanos,
}

/// Enables stamps on a TCP socket that has sent nothing yet.
///
/// # Errors
/// The system has no such stamps.
pub(crate) fn enable(socket: BorrowedFd<'_>) -> io::Result<()> {
    let report = libc::SOF_TIMESTAMPING_SOFTWARE
        | libc::SOF_TIMESTAMPING_RX_SOFTWARE
        | libc::SOF_TIMESTAMPING_OPT_ID
        | libc::SOF_TIMESTAMPING_OPT_TSONLY;
    // Before Linux 6.2 the offset counts from the unacknowledged bytes, of which there are none
    // yet: the same.
    match set(socket, report | OPT_ID_TCP) {
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => set(socket, report),
        other => other,
    }
}

#[cfg(test)]
pub(crate) fn disable(socket: BorrowedFd<'_>) -> io::Result<()> {
    set(socket, 0)
}

fn set(socket: BorrowedFd<'_>, flags: u32) -> io::Result<()> {
    // SAFETY: the value is a u32 that outlives the call, and its size is given.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_TIMESTAMPING,
            ptr::from_ref(&flags).cast(),
            size_of::<u32>() as libc::socklen_t,
        )
    };
    checked(result as isize).map(|_| ())
}

/// Sends bytes, and requests a stamp of the last one that is accepted.
pub(crate) fn send(socket: BorrowedFd<'_>, bytes: &[u8], acks: bool) -> io::Result<usize> {
    let wanted = RECORD_SENT | if acks { RECORD_ACKED } else { 0 };
    let mut control = Control([0; 256]);
    let mut part = part(bytes.as_ptr().cast_mut(), bytes.len());
    let mut message = message(&mut part, &mut control);
    // SAFETY: `control` is large enough for one header with a u32 behind it and aligned for it; the
    // macros compute pointers inside it, because `msg_controllen` is its length.
    unsafe {
        message.msg_controllen = libc::CMSG_SPACE(size_of::<u32>() as u32) as usize;
        let header = libc::CMSG_FIRSTHDR(&message);
        (*header).cmsg_level = libc::SOL_SOCKET;
        (*header).cmsg_type = libc::SO_TIMESTAMPING;
        (*header).cmsg_len = libc::CMSG_LEN(size_of::<u32>() as u32) as usize;
        ptr::write_unaligned(libc::CMSG_DATA(header).cast(), wanted);
    }
    // SAFETY: all pointers in `message` point to values that live until the call returns; the
    // kernel only reads from the buffer.
    checked(unsafe { libc::sendmsg(socket.as_raw_fd(), &message, libc::MSG_NOSIGNAL) })
}

/// Receives, with the stamp of the last packet that contributed bytes to `buffer`.
pub(crate) fn receive(
    socket: BorrowedFd<'_>,
    buffer: &mut [u8],
) -> io::Result<(usize, Option<RealNanos>)> {
    let mut control = MaybeUninit::<Control>::uninit();
    let mut part = part(buffer.as_mut_ptr(), buffer.len());
    let mut message = message(&mut part, control.as_mut_ptr());
    // SAFETY: all pointers in `message` point to memory of the given length that lives until the
    // call returns; the kernel writes into it and sets `msg_controllen` to the bytes written.
    let taken = checked(unsafe { libc::recvmsg(socket.as_raw_fd(), &mut message, 0) })?;
    let mut stamp = None;
    each_control(&message, |level, kind, data| {
        if (level, kind) == (libc::SOL_SOCKET, libc::SCM_TIMESTAMPING) {
            stamp = time(data);
        }
    });
    Ok((taken, stamp))
}

/// True if all written bytes have been passed to the network; false where the kernel does not
/// report it.
pub(crate) fn has_all_left(socket: BorrowedFd<'_>) -> bool {
    /// Bytes that were never sent (`linux/sockios.h`).
    const SIOCOUTQNSD: libc::Ioctl = 0x894b;
    let mut waiting: libc::c_int = -1;
    // SAFETY: the kernel writes one `int`, which outlives the call.
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), SIOCOUTQNSD, &raw mut waiting) };
    result == 0 && waiting == 0
}

/// Takes one stamp from the error queue; `None` if it is empty.
pub(crate) fn take(socket: BorrowedFd<'_>) -> io::Result<Option<TxStamp>> {
    let mut control = MaybeUninit::<Control>::uninit();
    let mut part = part(ptr::null_mut(), 0);
    let mut message = message(&mut part, control.as_mut_ptr());
    let flags = libc::MSG_ERRQUEUE | libc::MSG_DONTWAIT;
    // SAFETY: as in `receive`; the part is empty, so that no byte is written through it.
    match checked(unsafe { libc::recvmsg(socket.as_raw_fd(), &mut message, flags) }) {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
        other => other?,
    };
    let mut at = None;
    let mut about = None;
    each_control(&message, |level, kind, data| match (level, kind) {
        (libc::SOL_SOCKET, libc::SCM_TIMESTAMPING) => at = time(data),
        (libc::SOL_IP, libc::IP_RECVERR) | (libc::SOL_IPV6, libc::IPV6_RECVERR) => {
            about = origin(data);
        }
        _ => {}
    });
    // A message that is no stamp, ICMP for example, is removed from the queue all the same.
    Ok(at
        .zip(about)
        .map(|(at, (left, byte))| TxStamp { left, byte, at }))
}

fn part(start: *mut u8, length: usize) -> libc::iovec {
    libc::iovec {
        iov_base: start.cast(),
        iov_len: length,
    }
}

/// A message header over one buffer and one control buffer. Both must outlive its use.
fn message(part: &mut libc::iovec, control: *mut Control) -> libc::msghdr {
    // SAFETY: a `msghdr` of zeros is one without name, parts and control.
    let mut message: libc::msghdr = unsafe { zeroed() };
    message.msg_iov = part;
    message.msg_iovlen = 1;
    message.msg_control = control.cast();
    message.msg_controllen = size_of::<Control>();
    message
}

/// Calls `visit` with level, type and content of each control message that the kernel wrote.
fn each_control(message: &libc::msghdr, mut visit: impl FnMut(i32, i32, &[u8])) {
    // SAFETY: `msg_control` points to `msg_controllen` bytes that the kernel has written, so the
    // macros stay inside them; `cmsg_len` is the kernel's, and counts header and content.
    unsafe {
        let mut header = libc::CMSG_FIRSTHDR(message);
        while !header.is_null() {
            let data = libc::CMSG_DATA(header);
            let length = (*header).cmsg_len - (data.addr() - header.addr());
            visit(
                (*header).cmsg_level,
                (*header).cmsg_type,
                std::slice::from_raw_parts(data, length),
            );
            header = libc::CMSG_NXTHDR(message, header);
        }
    }
}

/// The software stamp, the first of the three of `struct scm_timestamping`.
fn time(data: &[u8]) -> Option<RealNanos> {
    let seconds = i64::from_ne_bytes(data.get(..8)?.try_into().ok()?);
    let nanos = i64::from_ne_bytes(data.get(8..16)?.try_into().ok()?);
    let at = seconds.checked_mul(1_000_000_000)?.checked_add(nanos)?;
    (at != 0).then_some(at)
}

/// Event and byte offset of a `struct sock_extended_err`.
fn origin(data: &[u8]) -> Option<(Left, u32)> {
    let word = |at: usize| Some(u32::from_ne_bytes(data.get(at..at + 4)?.try_into().ok()?));
    let errno = word(0)?;
    let from = *data.get(4)?;
    if errno != libc::ENOMSG as u32 || from != libc::SO_EE_ORIGIN_TIMESTAMPING {
        return None;
    }
    let left = match word(8)? {
        TSTAMP_SND => Left::Sent,
        TSTAMP_ACK => Left::Acked,
        _ => return None,
    };
    Some((left, word(12)?))
}

/// A socket that receives nothing and requests stamps: while it is open, the kernel stamps all
/// arrivals. The kernel begins with that in a separate thread, which a busy machine may delay, so
/// this returns when stamps come, if they come at all.
///
/// # Errors
/// The system has no such stamps.
pub(crate) fn keep_stamping() -> io::Result<UdpSocket> {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))
        .or_else(|_| UdpSocket::bind((Ipv6Addr::LOCALHOST, 0)))?;
    set(socket.as_fd(), libc::SOF_TIMESTAMPING_RX_SOFTWARE)?;
    try_out()?;
    Ok(socket)
}

/// Longest wait for the first stamps. A kernel without any costs this once.
const PATIENCE: Duration = Duration::from_secs(2);

/// Sends a byte to this process and checks that both stamps come.
///
/// # Errors
/// The missing stamp, as a sentence.
pub(crate) fn try_out() -> io::Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
        .or_else(|_| TcpListener::bind((Ipv6Addr::LOCALHOST, 0)))?;
    let client = TcpStream::connect(listener.local_addr()?)?;
    let (mut server, _) = listener.accept()?;
    client.set_nonblocking(true)?;
    enable(client.as_fd())?;
    let end = Instant::now() + PATIENCE;
    let (mut leaves, mut arrives) = (false, false);
    while !(leaves && arrives) {
        if Instant::now() > end {
            let what = if leaves { "arriving" } else { "leaving" };
            return Err(io::Error::other(format!(
                "{what} packets get no time stamps"
            )));
        }
        send(client.as_fd(), b"?", false)?;
        server.write_all(b"!")?;
        // The kernel begins to stamp arrivals a moment after it is enabled.
        std::thread::sleep(Duration::from_micros(200));
        leaves |= take(client.as_fd())?.is_some();
        arrives |= receive(client.as_fd(), &mut [0])?.1.is_some();
    }
    Ok(())
}

fn checked(result: isize) -> io::Result<usize> {
    usize::try_from(result).map_err(|_| io::Error::last_os_error())
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;
    use crate::clock::real as now;

    fn pair(address: &str) -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind(address).unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (server, _) = listener.accept().unwrap();
        client.set_nodelay(true).unwrap();
        client.set_nonblocking(true).unwrap();
        (client, server)
    }

    fn eventually<T>(mut ask: impl FnMut() -> Option<T>) -> T {
        let end = Instant::now() + Duration::from_secs(5);
        loop {
            if let Some(stamp) = ask() {
                return stamp;
            }
            assert!(Instant::now() < end, "no stamp within five seconds");
            std::thread::yield_now();
        }
    }

    #[test]
    fn both_directions_are_stamped_and_offsets_count_bytes() {
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let (client, mut server) = pair(address);
            let socket = client.as_fd();
            enable(socket).unwrap();
            let mut offset = 0;
            assert!(has_all_left(socket));
            for length in [10usize, 1, 3000, 70_000] {
                let before = now();
                let bytes = vec![b'x'; length];
                let mut at = 0;
                while at < length {
                    at += send(socket, &bytes[at..], true).unwrap();
                }
                server.read_exact(&mut vec![0; length]).unwrap();
                offset += length as u32;
                let mut seen = Vec::new();
                while !(seen.contains(&Left::Sent) && seen.contains(&Left::Acked)) {
                    let stamp = eventually(|| take(socket).unwrap());
                    assert!(before <= stamp.at && stamp.at <= now(), "{stamp:?}");
                    if stamp.byte == offset - 1 {
                        seen.push(stamp.left);
                    }
                }
            }
            assert_eq!(take(socket).unwrap(), None);

            // Counting of arrivals is switched on by a worker of the kernel, a moment later.
            let arrived = eventually(|| {
                let before = now();
                server.write_all(b"y").unwrap();
                let mut byte = [0; 1];
                let (count, stamp) = eventually(|| receive(socket, &mut byte).ok());
                assert_eq!(count, 1);
                stamp.map(|stamp| (before, stamp))
            });
            assert!(arrived.0 <= arrived.1 && arrived.1 <= now());
        }
    }

    #[test]
    fn what_waits_for_a_slow_peer_has_not_left() {
        let (client, mut server) = pair("127.0.0.1:0");
        let socket = client.as_fd();
        enable(socket).unwrap();
        let bytes = [b'x'; 100_000];
        let mut written = 0;
        while let Ok(count) = send(socket, &bytes, true) {
            written += count;
        }
        assert!(!has_all_left(socket));
        server.read_exact(&mut vec![0; written]).unwrap();
        eventually(|| has_all_left(socket).then_some(()));
    }

    #[test]
    fn a_read_has_the_stamp_of_the_last_packet_it_touches() {
        let (client, mut server) = pair("127.0.0.1:0");
        enable(client.as_fd()).unwrap();
        server.set_nodelay(true).unwrap();
        let mut byte = [0; 1];
        eventually(|| {
            server.write_all(b"w").unwrap();
            eventually(|| receive(client.as_fd(), &mut byte).ok()).1
        });
        server.write_all(b"first").unwrap();
        let (_, stamp) = eventually(|| receive(client.as_fd(), &mut byte).ok());
        let between = now();
        assert!(stamp.unwrap() < between);
        server.write_all(b"second").unwrap();
        let mut rest = Vec::new();
        let mut last = None;
        while rest.len() < b"irstsecond".len() {
            let mut buffer = [0; 64];
            if let Ok((count, stamp)) = receive(client.as_fd(), &mut buffer) {
                rest.extend_from_slice(&buffer[..count]);
                last = stamp;
            }
        }
        assert!(last.unwrap() > between);
    }

    #[test]
    fn the_trial_finds_stamps_where_the_others_do() {
        try_out().unwrap();
    }

    #[test]
    fn what_is_no_socket_for_stamps_is_an_error() {
        let (one, _two) = std::os::unix::net::UnixStream::pair().unwrap();
        let file = tempfile::tempfile().unwrap();
        assert!(enable(file.as_fd()).is_err());
        // A local socket accepts the option and never stamps.
        let _ = enable(one.as_fd());
        assert_eq!(take(one.as_fd()).unwrap_or(None), None);
    }

    #[test]
    fn half_a_control_message_is_none() {
        assert_eq!(time(&[0; 15]), None);
        assert_eq!(time(&[0; 48]), None, "zero is no time");
        assert_eq!(origin(&[0; 12]), None);
        assert_eq!(origin(&[0; 16]), None, "not ENOMSG");
    }
}
