//! Trials: the section `trial` of an experiment file, with the levels of a cell filled in.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use topology::LabHostSpec;
use traffic::{BitRate, TimeSpan, TrafficSpec};

use crate::file::LabChoice;

/// A trial. The laboratory is built, servers start, requests and traffic begin, and after `settle`
/// all measurements begin at the same time. The trial ends with the last of them, or after
/// `longest`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TrialSpec {
    /// The laboratory of this trial, if different from that of the experiment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lab: Option<LabChoice>,
    /// Settings of hosts that differ from the laboratory, such as congestion control.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub hosts: BTreeMap<String, LabHostSpec>,
    /// Servers, by the host in which they run. A bare host is its own server. It need not be named
    /// here; if it is (for example because it is addressed by IPv6), its recipe is `bare`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub servers: BTreeMap<String, ServerSpec>,
    /// Requests in the background, by name: an open loop with a new connection for each (as
    /// http_load does).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub requests: BTreeMap<String, RequestsSpec>,
    /// Background traffic between hosts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traffic: Option<TrialTrafficSpec>,
    /// Duration of background before the measurements begin; default 5 s.
    #[serde(default = "five_seconds")]
    pub settle: TimeSpan,
    /// Measurements by name.
    pub measured: BTreeMap<String, MeasuredSpec>,
    /// Longest duration; default 120 s. Measurements that have not ended then count as *unfinished*
    /// with this time.
    #[serde(default = "two_minutes")]
    pub longest: TimeSpan,
    /// Hosts at whose devices packets are captured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub captures: Vec<String>,
}

/// Recipe that stands for the server of a bare host.
pub const BARE_RECIPE: &str = "bare";

/// A server in a host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ServerSpec {
    /// As for `--server`: `apache`, or `nginx,http=2`.
    pub recipe: String,
    /// Listens at the IPv6 address of its host.
    #[serde(default)]
    pub ipv6: bool,
}

/// Requests in the background. All servers have the files `/504k`, `/320k` and `/160k` (KiB).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RequestsSpec {
    /// Host that sends them.
    pub from: String,
    /// Host of the server.
    pub to: String,
    /// Path of the file.
    pub path: String,
    /// Bit rate of the requested contents, which determines the request rate. 0: none.
    pub rate: BitRate,
}

/// Background traffic.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TrialTrafficSpec {
    /// Content of a traffic file. Its hosts are those of the laboratory.
    pub file: Box<TrafficSpec>,
    /// Name of the load; default: the only one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<String>,
}

/// A measurement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MeasuredSpec {
    /// Host of the client.
    pub from: String,
    /// Host of the server.
    pub to: String,
    /// The file of a single GET.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// A suite instead: its name or file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suite: Option<String>,
    /// Further arguments of `prestan run`, for suites.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<String>,
}

fn five_seconds() -> TimeSpan {
    TimeSpan::from_nanos(5_000_000_000)
}

fn two_minutes() -> TimeSpan {
    TimeSpan::from_nanos(120_000_000_000)
}
