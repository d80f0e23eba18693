//! Amount and kind of load.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The load of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Load {
    /// Concurrent users, each on a connection of its own. In an open loop, the connections.
    pub users: u32,
    /// Start of operations.
    pub pace: Pace,
    /// With [`Pace::Rounds`], iterations of the loop of a test per user; otherwise operations of
    /// all users together. `None`: unlimited.
    pub requests: Option<u64>,
    /// Seconds of the measurement of each test; `None`: unlimited.
    pub duration_s: Option<f64>,
    /// The goal of the run, such as `p99 ±5%`.
    pub until: Option<String>,
    /// Iterations of the loop per user before measuring, unrecorded.
    pub warmup: u32,
    /// Least duration of the warm-up of each user in seconds; only in loads.
    pub warmup_s: f64,
    /// Seconds after which an operation without a complete response is aborted.
    pub timeout_s: f64,
    /// Seed of everything random in the run.
    pub seed: u64,
    /// Use of connections.
    pub http: Http,
    /// The operations of a load follow in the order of the suite, and are not drawn by their
    /// weights.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub in_turn: bool,
    /// Changes of the number of users of a closed loop by measurements. The phase of a sample is
    /// the number of the change before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adapt: Option<AdaptRecord>,
}

/// Changes of the number of users of a closed loop while it goes on: by a ladder, by conditions, or
/// else by steps of the suite.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Adapt")]
pub struct AdaptRecord {
    /// Fewest users.
    pub least: u32,
    /// Most users.
    pub most: u32,
    /// Seconds for which a number of users is kept at least.
    pub every_s: f64,
    /// These numbers in order; empty if conditions decide.
    pub ladder: Vec<u32>,
    /// While it is true, users are added each time.
    pub raise: Option<String>,
    /// While it is true, users are removed.
    pub lower: Option<String>,
}

/// Start of operations.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "model", rename_all = "snake_case", deny_unknown_fields)]
pub enum Pace {
    /// Users iterate the loops of a suite, test by test.
    Rounds,
    /// Closed loop: each user begins an operation when its previous one has ended.
    Closed,
    /// Open loop: a schedule decides, regardless of the server.
    Open {
        /// Distribution of arrivals.
        arrivals: Arrivals,
        /// Stages of different rates, in order.
        stages: Vec<Stage>,
        /// Operations that may wait for a free connection; further ones are dropped.
        max_waiting: u32,
    },
}

impl Pace {
    /// Number of stages of the load.
    pub fn stages(&self) -> usize {
        match self {
            Pace::Open { stages, .. } => stages.len(),
            Pace::Rounds | Pace::Closed => 1,
        }
    }
}

/// Distribution of arrivals in an open loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Arrivals {
    /// Equal intervals.
    Constant,
    /// Exponentially distributed intervals.
    Poisson,
}

/// Part of an open loop with one rate.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Stage {
    /// Operations per second.
    pub rate: f64,
    /// Seconds.
    pub duration_s: f64,
}

/// Version of HTTP.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Default,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(into = "&'static str", try_from = "String")]
pub enum HttpVersion {
    /// RFC 1945.
    Http10,
    /// RFC 9112.
    #[default]
    Http11,
    /// RFC 9113.
    Http2,
}

impl HttpVersion {
    /// All versions.
    pub const ALL: [HttpVersion; 3] =
        [HttpVersion::Http10, HttpVersion::Http11, HttpVersion::Http2];

    /// Names in the same order, as in heads and in files.
    pub const NAMES: [&str; 3] = ["HTTP/1.0", "HTTP/1.1", "HTTP/2"];

    /// Name: `HTTP/1.1`.
    pub fn name(self) -> &'static str {
        HttpVersion::NAMES[self as usize]
    }
}

impl From<HttpVersion> for &'static str {
    fn from(version: HttpVersion) -> &'static str {
        version.name()
    }
}

impl TryFrom<String> for HttpVersion {
    type Error = String;

    fn try_from(name: String) -> Result<HttpVersion, String> {
        let mut all = HttpVersion::ALL.into_iter();
        all.find(|version| version.name() == name)
            .ok_or_else(|| format!("`{name}` is not a supported version of HTTP"))
    }
}

/// Use of connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Http {
    /// Version of HTTP in requests.
    pub version: HttpVersion,
    /// A connection is used for more than one operation.
    pub keep_alive: bool,
    /// Most requests in flight on one connection: a pipeline, or with HTTP/2 streams.
    pub pipeline: u32,
    /// Connections of one user, for the files of a page.
    pub parallel: u32,
    /// Every TLS handshake is a full one, without resumption.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub full_handshakes: bool,
    /// The connections of a page are closed at its end, so every page opens its own.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub per_page: bool,
    /// All files of a page may be requested at once. Otherwise its first file names the others,
    /// which are requested after its response.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub at_once: bool,
    /// Bytes that a server may send before the client acknowledges reading them, per stream and per
    /// connection (HTTP/2); `None` with versions that use only TCP's window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<u32>,
    /// Nagle's algorithm is on: an experiment.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub nagle: bool,
    /// Head and body of a request are sent by separate system calls: an experiment.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub two_writes: bool,
    /// Choice among several addresses of a host.
    #[serde(default, skip_serializing_if = "AddressChoice::is_first")]
    pub addresses: AddressChoice,
    /// A connection begins with a line of the PROXY protocol (version 1), as behind HAProxy.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub haproxy_protocol: bool,
}

/// Choice among several addresses of a host for a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AddressChoice {
    /// The first that accepts a connection, for the whole run.
    #[default]
    First,
    /// In turn.
    RoundRobin,
    /// Random, with equal probabilities.
    Random,
}

impl AddressChoice {
    /// True for the first.
    pub fn is_first(&self) -> bool {
        *self == AddressChoice::First
    }
}

impl Default for Http {
    /// HTTP/1.1 with kept connections, one request at a time.
    fn default() -> Http {
        Http {
            version: HttpVersion::default(),
            keep_alive: true,
            pipeline: 1,
            parallel: 1,
            full_handshakes: false,
            per_page: false,
            at_once: false,
            window: None,
            nagle: false,
            two_writes: false,
            addresses: AddressChoice::First,
            haproxy_protocol: false,
        }
    }
}

impl Http {
    /// Connections are kept for one request or page only, so each ends with an operation.
    pub fn ends_connections(&self) -> bool {
        !self.keep_alive || self.per_page
    }

    /// Most requests of a load in flight on a connection, of several operations: pages with
    /// connections of their own share none.
    pub fn pipeline_of_load(&self) -> u32 {
        if self.per_page {
            1
        } else {
            self.pipeline.max(1)
        }
    }
}

impl fmt::Display for Http {
    /// Writes `HTTP/1.1`, `HTTP/1.0, a connection for each request`...
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.version.name())?;
        if !self.keep_alive {
            f.write_str(", a connection for each request")?;
        }
        match (self.version, self.pipeline) {
            (HttpVersion::Http2, 1) => f.write_str(", one stream at a time")?,
            (HttpVersion::Http2, streams) => write!(f, ", {streams} streams at a time")?,
            (_, 1) => {}
            (_, requests) => write!(f, ", {requests} requests pipelined")?,
        }
        if let Some(window) = self.window {
            // 2^31-1 bytes are 2 GiB, except for one byte.
            let mebibytes = (f64::from(window) / f64::from(1 << 20)).round();
            write!(f, ", windows of {mebibytes} MiB")?;
        }
        if self.parallel > 1 {
            write!(f, ", {} connections a user", self.parallel)?;
        }
        if self.per_page {
            f.write_str(", new connections for each page")?;
        }
        if self.at_once {
            f.write_str(", all files of a page at once")?;
        }
        if self.full_handshakes {
            f.write_str(", full TLS handshakes only")?;
        }
        if self.nagle {
            f.write_str(", with Nagle's algorithm")?;
        }
        if self.two_writes {
            f.write_str(", head and body in two writes")?;
        }
        f.write_str(match self.addresses {
            AddressChoice::First => "",
            AddressChoice::RoundRobin => ", addresses in turn",
            AddressChoice::Random => ", addresses at random",
        })?;
        if self.haproxy_protocol {
            f.write_str(", with the PROXY protocol")?;
        }
        Ok(())
    }
}
