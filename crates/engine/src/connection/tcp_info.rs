//! Facts of the kernel about a TCP connection (`TCP_INFO`): number of segments, and the round trip.

use std::mem::size_of;
use std::os::fd::{AsRawFd, BorrowedFd};

use record::{Nanos, Segments};

/// Words of 32 bits of `struct tcp_info` (`linux/tcp.h`) that are read here.
const WORDS: usize = 38;
/// Indices of `tcpi_segs_out` and `tcpi_segs_in` among them. The structure only grows at its end.
const SENT: usize = 34;
const RECEIVED: usize = 35;
/// Index of `tcpi_min_rtt`, in microseconds; from Linux 4.3 on.
const LEAST_ROUND_TRIP: usize = 37;

/// Segments of a connection so far; `None` if the system does not report them.
pub(super) fn segments(socket: BorrowedFd<'_>) -> Option<Segments> {
    let words = words(socket, RECEIVED + 1)?;
    Some(Segments {
        sent: words[SENT],
        received: words[RECEIVED],
    })
}

/// The shortest round trip of a connection so far, the handshake included; `None` if the system
/// does not report it.
pub(super) fn least_round_trip(socket: BorrowedFd<'_>) -> Option<Nanos> {
    let microseconds = words(socket, LEAST_ROUND_TRIP + 1)?[LEAST_ROUND_TRIP];
    // The largest number means that there was none.
    (microseconds != u32::MAX).then(|| Nanos::from(microseconds) * 1000)
}

/// The words of a connection; `None` if there are fewer than `least`. Local sockets have none.
fn words(socket: BorrowedFd<'_>, least: usize) -> Option<[u32; WORDS]> {
    let mut info = [0_u32; WORDS];
    let mut length = size_of::<[u32; WORDS]>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes into `info`, which is that long, and any of
    // them make numbers; both outlive the call.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            info.as_mut_ptr().cast(),
            &mut length,
        )
    };
    let is_whole = result == 0 && length as usize >= least * size_of::<u32>();
    is_whole.then_some(info)
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn segments_are_those_of_the_connection() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut server, _) = listener.accept().unwrap();
        let begun = segments(client.as_fd()).unwrap();
        // SYN and the acknowledgement of the other side's, and that.
        assert_eq!((begun.sent, begun.received), (2, 1));
        client.write_all(b"request").unwrap();
        server.read_exact(&mut [0; 7]).unwrap();
        server.write_all(b"response").unwrap();
        client.read_exact(&mut [0; 8]).unwrap();
        let ended = segments(client.as_fd()).unwrap();
        let grown = (ended.sent - begun.sent, ended.received - begun.received);
        // The request; the response, before it perhaps a separate acknowledgement of the request,
        // and ours.
        assert!((1..=2).contains(&grown.0), "{grown:?}");
        assert!((1..=2).contains(&grown.1), "{grown:?}");
        assert!(segments(server.as_fd()).unwrap().received > 0);
        // On loopback: less than a second, and neither zero nor years in nanoseconds.
        let round_trip = least_round_trip(client.as_fd()).unwrap();
        assert!(round_trip < 1_000_000_000, "{round_trip}");
    }

    #[test]
    fn a_local_socket_has_none() {
        let (one, _other) = UnixStream::pair().unwrap();
        assert_eq!(segments(one.as_fd()), None);
        assert_eq!(least_round_trip(one.as_fd()), None);
    }
}
