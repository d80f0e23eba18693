//! The path between this machine and the server, measured before the tests: the round trip on an
//! idle connection, and if there is a network between them at all.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::time::Duration;

use record::{Nanos, Pings, RoundTrip, SameMachine};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, connect, ipproto, recv, send,
    socket_with, sockopt,
};

use crate::clock::{RunClock, nanos};
use crate::connection::client::Client;
use crate::connection::route::Route;

/// Echo requests that are sent.
const PINGS: u16 = 10;
/// Time for all of them together.
const BUDGET: Duration = Duration::from_millis(150);
/// Time for the response to one; a lost one is the last.
const LIMIT: Duration = Duration::from_millis(50);
/// Time for which the response is awaited without sleeping: a sleeping thread needs time to wake
/// up.
const AWAKE: Duration = Duration::from_millis(2);

/// The round trip to the server, on an idle network if there is no other traffic; `None` if it
/// cannot be measured.
pub(super) fn round_trip(client: &Client, route: &Route) -> Option<RoundTrip> {
    let Route::Tcp(addresses) = route else {
        return None;
    };
    let address = client.address.or(addresses.first().copied());
    let found = RoundTrip {
        tcp: client.least_round_trip(),
        icmp: address.and_then(|address| pings(address.ip())),
    };
    (found != RoundTrip::default()).then_some(found)
}

/// Evidence that the server is on this machine; `None` if unknown.
pub(super) fn same_machine(client: &Client, route: &Route) -> Option<SameMachine> {
    let Route::Tcp(addresses) = route else {
        return Some(SameMachine::LocalSocket);
    };
    let address = client.address.or(addresses.first().copied())?;
    if address.ip().is_loopback() {
        return Some(SameMachine::Loopback);
    }
    is_own(address).then_some(SameMachine::OwnAddress)
}

/// True if an address is one of this machine: then the system sends from it to it. No packet is
/// sent.
fn is_own(address: SocketAddr) -> bool {
    let any: IpAddr = match address {
        SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let from = || -> io::Result<IpAddr> {
        let socket = UdpSocket::bind((any, 0))?;
        socket.connect(address)?;
        Ok(socket.local_addr()?.ip())
    };
    from().is_ok_and(|from| from == address.ip())
}

/// Round trips of ICMP; `None` if this user may send none, or no response comes.
fn pings(address: IpAddr) -> Option<Pings> {
    let clock = RunClock::start();
    let begun = clock.now();
    let mut took = Vec::new();
    for number in 0..PINGS {
        if clock.now() - begun > nanos(BUDGET - LIMIT) {
            break;
        }
        match ping(address, number, clock) {
            Ok(one) => took.push(one),
            Err(_) => break,
        }
    }
    took.sort_unstable();
    Some(Pings {
        count: u32::try_from(took.len()).unwrap_or(u32::MAX),
        least: *took.first()?,
        median: took[took.len() / 2],
        most: *took.last()?,
    })
}

/// One echo request and its response, which the system matches by the socket that it was sent from.
fn ping(address: IpAddr, number: u16, clock: RunClock) -> io::Result<Nanos> {
    const HEADER: usize = 8;
    let (family, protocol, request, response) = match address {
        IpAddr::V4(_) => (AddressFamily::INET, ipproto::ICMP, 8, 0),
        IpAddr::V6(_) => (AddressFamily::INET6, ipproto::ICMPV6, 128, 129),
    };
    let flags = SocketFlags::CLOEXEC;
    let socket = socket_with(family, SocketType::DGRAM, flags, Some(protocol))?;
    sockopt::set_socket_timeout(&socket, sockopt::Timeout::Recv, Some(LIMIT))?;
    connect(&socket, &SocketAddr::new(address, 0))?;
    // The system fills in checksum and identifier. As large as what `ping` sends.
    let mut packet = [0; HEADER + 56];
    packet[0] = request;
    packet[6..HEADER].copy_from_slice(&number.to_be_bytes());
    let mut received = [0; 256];
    let sent = clock.now();
    send(&socket, &packet, SendFlags::empty())?;
    loop {
        let waited = clock.now() - sent;
        let flags = if waited < nanos(AWAKE) {
            RecvFlags::DONTWAIT
        } else {
            RecvFlags::empty()
        };
        match recv(&socket, &mut received[..], flags) {
            Ok((_, count)) => {
                let arrived = clock.now();
                let is_own = count >= HEADER
                    && received[0] == response
                    && received[6..HEADER] == number.to_be_bytes();
                if is_own {
                    return Ok(arrived - sent);
                }
            }
            Err(error)
                if waited < nanos(AWAKE)
                    && io::Error::from(error).kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error.into()),
        }
        if waited > nanos(LIMIT) {
            return Err(io::ErrorKind::TimedOut.into());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_this_machine_are_its_own() {
        let at = |text: &str| is_own(SocketAddr::new(text.parse().unwrap(), 80));
        assert!(at("127.0.0.1"));
        // Its source address, if it has a network.
        let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).unwrap();
        if socket.connect(("192.0.2.1", 80)).is_ok() {
            assert!(at(&socket.local_addr().unwrap().ip().to_string()));
        }
        // An address for documentation (RFC 5737), which no host has.
        assert!(!at("192.0.2.1"));
    }

    #[test]
    fn pings_are_bounded_in_time_and_need_no_permission() {
        let clock = RunClock::start();
        let found = pings("127.0.0.1".parse().unwrap());
        if let Some(found) = found {
            assert!(found.count > 0 && found.least <= found.median && found.median <= found.most);
            assert!(found.least > 0 && found.most < nanos(LIMIT));
        }
        let begun = clock.now();
        assert_eq!(pings("192.0.2.1".parse().unwrap()), None);
        assert!(clock.now() - begun < nanos(Duration::from_millis(200)));
    }
}
