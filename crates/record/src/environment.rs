//! The environment of a run: the machine that sent the requests, and the servers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{AddressConnections, Nanos};

/// Both ends of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Environment {
    /// The machine that sent the requests.
    pub machine: Machine,
    /// Information from the server; `None` if it was never reached.
    pub server: Option<Server>,
    /// Information from further targets of the suite, in the order of
    /// [`PlanRecord::others`](crate::PlanRecord::others).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<Server>,
    /// Start of the run, RFC 3339, UTC.
    pub started_at: String,
    /// End of the run, RFC 3339, UTC; `None` in a run that was cut off.
    pub ended_at: Option<String>,
    /// Conclusion of the run, as in its report: `pass`, `inconclusive` or `fail`. `None` in a run
    /// that was cut off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conclusion: Option<String>,
    /// Number of samples in its record. `None` in a run that was cut off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub samples: Option<u64>,
    /// Samples that count, for readers of Parquet files. Empty in a run that was cut off, and
    /// without measures that have no counted operation.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub counted: Vec<CountedSpan>,
}

impl Environment {
    /// Information from each target of a suite, in the order of the plan.
    pub fn servers(&self) -> impl Iterator<Item = &Server> {
        self.server.iter().chain(&self.others)
    }

    /// All servers, to add information.
    pub fn servers_mut(&mut self) -> impl Iterator<Item = &mut Server> {
        self.server.iter_mut().chain(&mut self.others)
    }
}

/// Start times of the operations of a measure that count.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CountedSpan {
    /// Name of the row.
    pub measure: String,
    /// Operations with a smaller `started_ns` do not count.
    pub from_ns: Nanos,
    /// Operations with a larger `started_ns` do not count; [`CountedSpan::NO_END`] for no limit.
    pub to_ns: Nanos,
}

impl CountedSpan {
    /// The largest integer that every reader of JSON represents exactly (RFC 8259, section 6): 104
    /// days.
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

/// Evidence that server and client are on the same machine.
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
    /// The shortest that the system has measured on the connection of the preparations (`TCP_INFO`,
    /// `tcpi_min_rtt`); `None` if that connection had ended.
    pub tcp: Option<Nanos>,
    /// By ICMP; `None` if this user may send none, or no response arrived.
    pub icmp: Option<Pings>,
}

/// Round trips of ICMP echo requests, one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pings {
    /// Number of responses.
    pub count: u32,
    /// The shortest.
    pub least: Nanos,
    /// Median.
    pub median: Nanos,
    /// The longest.
    pub most: Nanos,
}

/// Information in the server's response to OPTIONS.
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
    /// Evidence that the server is on the machine that sent the requests; `None` if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub same_machine: Option<SameMachine>,
    /// The round trip to the server on an idle network, before the tests; `None` if unknown, and if
    /// other runs were made at the same time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round_trip: Option<RoundTrip>,
    /// The intermediary that the response to OPTIONS passed, by its header Via.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub via: Option<String>,
    /// The addresses of opened connections; empty if the URL has the address itself and there is no
    /// other.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<AddressConnections>,
}
