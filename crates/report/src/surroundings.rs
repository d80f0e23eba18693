//! What a server tells about itself, and what lies between it and the client: the round trip, and
//! whether both are one machine.

use record::{Pings, RoundTrip, SameMachine, Server};

use crate::fields::{AsIs, IfAny, fields};
use crate::json::us;
use crate::lists::number_of;
use crate::units::{human, human_range};

fields! {
    /// What a server tells about itself in its response to OPTIONS, and where it is.
    Server, "Server", |server| {
        /// `Server` header.
        software = server.software.clone(),
        /// Tokens of all `DAV` headers: the classes of RFC 4918, section 18, and extensions.
        dav = server.dav.clone(),
        /// Tokens of all `Allow` headers.
        allow = server.allow.clone(),
        /// HTTP version of the response.
        http = server.http.clone(),
        /// The intermediary that the response to OPTIONS passed, by its header Via; absent without
        /// one.
        via = IfAny(server.via.clone()),
        /// The addresses that connections were opened to; absent where the URL has the address
        /// itself.
        addresses = IfAny(server.addresses.iter().cloned().map(AsIs).collect::<Vec<_>>()),
        /// How it is known that the server is on the machine of the client; absent where that is
        /// not known.
        same_machine = IfAny(server.same_machine.map(AsIs)),
        /// The round trip to it on an idle network, before the tests; absent where it was not
        /// measured, and where other runs were made at the same time.
        round_trip = IfAny(server.round_trip),
    }
}

fields! {
    /// The time for a packet to the server and back, without any work of the server program.
    RoundTrip, "RoundTrip", |found| {
        /// The shortest that the kernel has seen on the connection of the preparations; null where
        /// it had ended.
        tcp_us = found.tcp.map(|least| us(least as f64)),
        /// Round trips of ICMP; null where this user may send none, or no response came.
        icmp_us = found.icmp,
    }
}

fields! {
    /// Round trips of ICMP echo requests.
    Pings, "Pings", |pings| {
        /// How many had a response.
        n = pings.count,
        /// The shortest.
        min = us(pings.least as f64),
        /// Median. There is no interval.
        p50 = us(pings.median as f64),
        /// The longest.
        max = us(pings.most as f64),
    }
}

/// The lines of a report about what lies between client and server.
pub(crate) fn surroundings(server: &Server) -> impl Iterator<Item = (&'static str, String)> {
    let machine = server.same_machine.map(same_machine);
    let idle = server.round_trip.as_ref().map(round_trip);
    let lines = [
        ("Server Address", addresses(server)),
        ("Server Machine", machine),
        ("Idle Round Trip", idle),
    ];
    lines
        .into_iter()
        .filter_map(|(what, said)| Some((what, said?)))
}

/// The addresses that were measured, where the URL does not have them: `127.0.0.1:80 (3
/// connections), ...`.
fn addresses(server: &Server) -> Option<String> {
    match &server.addresses[..] {
        [] => None,
        [only] => Some(only.address.clone()),
        several => {
            let counted = several.iter().map(|address| {
                let connections = number_of(address.connections, "connection");
                format!("{} ({connections})", address.address)
            });
            Some(counted.collect::<Vec<_>>().join(", "))
        }
    }
}

/// The machine of the server, where it is that of the client.
fn same_machine(same: SameMachine) -> String {
    let why = match same {
        SameMachine::Loopback => "its address is a loopback address",
        SameMachine::OwnAddress => "its address is one of the client's",
        SameMachine::LocalSocket => "it listens on a local socket",
    };
    format!("that of the client ({why}): both share its processors")
}

/// Round trips in words: `31 µs (TCP, least), 28 to 44 µs (ICMP, 10 pings)`.
fn round_trip(found: &RoundTrip) -> String {
    let tcp = found
        .tcp
        .map(|least| format!("{} (TCP, the shortest)", human(least as f64)));
    let icmp = found.icmp.map(|pings| {
        let range = human_range((pings.least as f64, pings.most as f64));
        let echoes = if pings.count == 1 { "ping" } else { "pings" };
        format!("{range} (ICMP, {} {echoes})", pings.count)
    });
    let all: Vec<String> = tcp.into_iter().chain(icmp).collect();
    all.join(", ")
}
