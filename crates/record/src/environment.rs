//! Where a run took place: the machine that sent the requests, and the servers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{AddressConnections, Nanos};

/// Where a run took place: both ends.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Environment {
    /// The machine that sent the requests.
    pub machine: Machine,
    /// What the server said of itself; `None` when it was never reached.
    pub server: Option<Server>,
    /// What further targets of the suite said of themselves, in the order of [`PlanRecord::others`](crate::PlanRecord::others).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<Server>,
    /// Start of the run, RFC 3339, UTC.
    pub started_at: String,
    /// End of the run, RFC 3339, UTC; `None` in a run that was cut off.
    pub ended_at: Option<String>,
    /// What the run came to, in the word of its report: `pass`, `inconclusive` or `fail`. `None` in a
    /// run that was cut off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conclusion: Option<String>,
    /// Samples in its record. `None` in a run that was cut off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub samples: Option<u64>,
    /// Which samples count, for readers of Parquet files. None in a run that was cut off, and of measures of which no
    /// operation counts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub counted: Vec<CountedSpan>,
}

impl Environment {
    /// What each target of a suite said of itself, in the order of the plan.
    pub fn servers(&self) -> impl Iterator<Item = &Server> {
        self.server.iter().chain(&self.others)
    }

    /// All servers, to say more of them.
    pub fn servers_mut(&mut self) -> impl Iterator<Item = &mut Server> {
        self.server.iter_mut().chain(&mut self.others)
    }
}

/// When an operation of a measure has to begin to count.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CountedSpan {
    /// Name of the row.
    pub measure: String,
    /// No operation counts whose `started_ns` is less.
    pub from_ns: Nanos,
    /// No operation counts whose `started_ns` is more; [`CountedSpan::NO_END`] where there is no such moment.
    pub to_ns: Nanos,
}

impl CountedSpan {
    /// The largest whole number that every reader of JSON has exactly (RFC 8259, section 6): 104 days.
    pub const NO_END: Nanos = (1 << 53) - 1;
}

/// The machine that sent the requests.
// Nothing here identifies its owner.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// Operating system and kernel release.
    pub os: String,
    /// Model name of the processor.
    pub cpu: String,
    /// Logical processors available to the process.
    pub cores: u32,
    /// Physical memory in bytes.
    pub memory_bytes: u64,
}

/// How it is known that server and client are on the same machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SameMachine {
    /// The address of the server is a loopback address.
    Loopback,
    /// The address of the server is one of this machine.
    OwnAddress,
    /// The server listens on a local socket.
    LocalSocket,
}

/// The time for a packet to the server and back, without any work of the server program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RoundTrip {
    /// The least that the system has seen on the connection of the preparations (`TCP_INFO`, `tcpi_min_rtt`); `None`
    /// where that connection had ended.
    pub tcp: Option<Nanos>,
    /// Of ICMP; `None` where this user may send none, or no response came.
    pub icmp: Option<Pings>,
}

/// Round trips of ICMP echo requests, one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pings {
    /// How many had a response.
    pub count: u32,
    /// The shortest.
    pub least: Nanos,
    /// Half of them took no longer.
    pub median: Nanos,
    /// The longest.
    pub most: Nanos,
}

/// What the server tells about itself in its response to OPTIONS.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Server {
    /// `Server` header.
    pub software: Option<String>,
    /// Tokens of all `DAV` headers: the classes of RFC 4918, section 18, and extensions.
    pub dav: Vec<String>,
    /// Tokens of all `Allow` headers.
    pub allow: Vec<String>,
    /// HTTP version of the response.
    pub http: String,
    /// How it is known that the server is on the machine that sent the requests; `None` where that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub same_machine: Option<SameMachine>,
    /// The round trip to the server on an idle network, before the tests; `None` where nothing told it, and where
    /// other runs were made at the same time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round_trip: Option<RoundTrip>,
    /// The intermediary that the response to OPTIONS passed, by its header Via.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub via: Option<String>,
    /// The addresses that connections were opened to; none where the URL has the address itself and there is no
    /// other.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<AddressConnections>,
}
