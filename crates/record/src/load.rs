//! How much load a run is, and of what kind.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The load of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Load {
    /// Users at work at the same time, each on a connection of its own. In an open loop, the
    /// connections.
    pub users: u32,
    /// Who decides when an operation begins.
    pub pace: Pace,
    /// With [`Pace::Rounds`], times each user goes through the loop of a test; else operations of
    /// all users together. `None` where something else decides.
    pub requests: Option<u64>,
    /// Seconds each test is measured; `None` where something else decides.
    pub duration_s: Option<f64>,
    /// The interval that was to become narrow enough, `p99 ±5%` for example.
    pub until: Option<String>,
    /// Times each user goes through the loop before measuring, unrecorded.
    pub warmup: u32,
    /// Seconds each user does so at the least; only in load runs.
    pub warmup_s: f64,
    /// Seconds after which an operation without a complete response is given up.
    pub timeout_s: f64,
    /// Seed of everything random in the run.
    pub seed: u64,
    /// How connections are used.
    pub http: Http,
    /// The operations of a load run come in the order of the suite, not drawn by their weights.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub in_turn: bool,
    /// How the number of users of a closed loop changed with what was measured. The phase of a sample is the
    /// number of the change before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adapt: Option<AdaptRecord>,
}

/// How the number of users of a closed loop changes while it goes on: by a ladder, by conditions, or else by steps of
/// the suite.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Adapt")]
pub struct AdaptRecord {
    /// Fewest users at work.
    pub least: u32,
    /// Most of them.
    pub most: u32,
    /// Seconds for which a number of users is kept at least.
    pub every_s: f64,
    /// These numbers, one after the other; empty where conditions decide.
    pub ladder: Vec<u32>,
    /// While it is true, there are more users each time.
    pub raise: Option<String>,
    /// While it is true, there are fewer.
    pub lower: Option<String>,
}

/// What decides when an operation begins.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "model", rename_all = "snake_case", deny_unknown_fields)]
pub enum Pace {
    /// Users iterate the loops of a suite, test by test.
    Rounds,
    /// Closed loop: each user begins an operation when its previous one has ended.
    Closed,
    /// Open loop: a schedule decides, whatever the server does.
    Open {
        /// Distribution of arrivals.
        arrivals: Arrivals,
        /// One rate after the other.
        stages: Vec<Stage>,
        /// Operations that may wait for a free connection; further ones are dropped.
        max_waiting: u32,
    },
}

impl Pace {
    /// Stages of the load, one after the other.
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

/// A time of an open loop with one rate.
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

    /// Their names, in the same order, as in heads and in files.
    pub const NAMES: [&str; 3] = ["HTTP/1.0", "HTTP/1.1", "HTTP/2"];

    /// Its name: `HTTP/1.1`.
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

/// How connections are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Http {
    /// Version of HTTP in requests.
    pub version: HttpVersion,
    /// Whether a connection is used for more than one operation.
    pub keep_alive: bool,
    /// Requests that may be under way on one connection at a time: a pipeline, with HTTP/2 streams.
    pub pipeline: u32,
    /// Connections of one user, for the files of a page.
    pub parallel: u32,
    /// Every TLS handshake is a full one: no session is resumed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub full_handshakes: bool,
    /// The connections of a page are closed at its end, so that every page opens its own.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub per_page: bool,
    /// All files of a page may be requested at once. Else its first file names the others, so that they are
    /// requested after its response.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub at_once: bool,
    /// Bytes that a server may send before it hears that they were read, of each stream and of the
    /// connection (HTTP/2); `None` with versions that leave that to TCP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<u32>,
    /// Nagle's algorithm is left on: an experiment.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub nagle: bool,
    /// Head and body of a request are sent by a system call each: an experiment.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub two_writes: bool,
    /// Which of the addresses of a host connections go to.
    #[serde(default, skip_serializing_if = "AddressChoice::is_first")]
    pub addresses: AddressChoice,
    /// A connection begins with a line of the PROXY protocol (version 1), as behind HAProxy.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub haproxy_protocol: bool,
}

/// Which of several addresses of a host a connection goes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AddressChoice {
    /// The first that answers, for the whole run.
    #[default]
    First,
    /// One after the other.
    RoundRobin,
    /// Any, each with the same chance.
    Random,
}

impl AddressChoice {
    /// It is the first one.
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
    /// Whether connections are kept for a request or a page only, so that each ends with an operation.
    pub fn ends_connections(&self) -> bool {
        !self.keep_alive || self.per_page
    }

    /// Requests of a load that may be under way on a connection at a time, those of several operations
    /// among them: pages with connections of their own have none in common.
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
            // 2^31-1 is two of them, to the byte.
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
