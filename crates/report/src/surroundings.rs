//! What a server tells about itself, and what lies between it and the client: the round trip, and whether both are one
//! machine.

use record::{AddressConnections, RoundTrip, SameMachine, Server};
use schemars::JsonSchema;
use serde::Serialize;

use crate::json::us;
use crate::lists::number_of;
use crate::units::{human, human_range};

/// What a server tells about itself in its response to OPTIONS, and where it is.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Server", deny_unknown_fields)]
pub(crate) struct ServerJson {
    /// `Server` header.
    pub(crate) software: Option<String>,
    /// Tokens of all `DAV` headers: the classes of RFC 4918, section 18, and extensions.
    pub(crate) dav: Vec<String>,
    /// Tokens of all `Allow` headers.
    pub(crate) allow: Vec<String>,
    /// HTTP version of the response.
    pub(crate) http: String,
    /// The intermediary that the response to OPTIONS passed, by its header Via; absent without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) via: Option<String>,
    /// The addresses that connections were opened to; absent where the URL has the address itself.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) addresses: Vec<AddressConnections>,
    /// How it is known that the server is on the machine of the client; absent where that is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) same_machine: Option<SameMachine>,
    /// The round trip to it on an idle network, before the tests; absent where it was not measured, and where other
    /// runs were made at the same time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) round_trip: Option<RoundTripJson>,
}

impl From<&Server> for ServerJson {
    fn from(server: &Server) -> ServerJson {
        ServerJson {
            software: server.software.clone(),
            dav: server.dav.clone(),
            allow: server.allow.clone(),
            http: server.http.clone(),
            via: server.via.clone(),
            addresses: server.addresses.clone(),
            same_machine: server.same_machine,
            round_trip: server.round_trip.map(RoundTripJson::from),
        }
    }
}

/// The time for a packet to the server and back, without any work of the server program.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "RoundTrip", deny_unknown_fields)]
pub(crate) struct RoundTripJson {
    /// The shortest that the kernel has seen on the connection of the preparations; null where it had ended.
    pub(crate) tcp_us: Option<f64>,
    /// Round trips of ICMP; null where this user may send none, or no response came.
    pub(crate) icmp_us: Option<PingsJson>,
}

/// Round trips of ICMP echo requests.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Pings", deny_unknown_fields)]
pub(crate) struct PingsJson {
    /// How many had a response.
    pub(crate) n: u32,
    /// The shortest.
    pub(crate) min: f64,
    /// Median. There is no interval.
    pub(crate) p50: f64,
    /// The longest.
    pub(crate) max: f64,
}

impl From<RoundTrip> for RoundTripJson {
    fn from(found: RoundTrip) -> RoundTripJson {
        RoundTripJson {
            tcp_us: found.tcp.map(|least| us(least as f64)),
            icmp_us: found.icmp.map(|pings| PingsJson {
                n: pings.count,
                min: us(pings.least as f64),
                p50: us(pings.median as f64),
                max: us(pings.most as f64),
            }),
        }
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

/// The addresses that were measured, where the URL does not have them: `127.0.0.1:80 (3 connections), ...`.
fn addresses(server: &Server) -> Option<String> {
    match &server.addresses[..] {
        [] => None,
        [only] => Some(only.address.clone()),
        several => {
            let counted = several.iter().map(|own| {
                let connections = number_of(own.connections, "connection");
                format!("{} ({connections})", own.address)
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
