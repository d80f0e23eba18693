//! A lab file as written: hosts, routers, switches, hubs, and the links between them.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use traffic::{BitRate, Percentage, TimeSpan};

use crate::FileError;
use crate::bare_host::{self, BareHostSpec};
use crate::queue::QueueSpec;

/// A whole lab file.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "Laboratory of Prestan")]
pub struct LabSpec {
    /// Title, in one line.
    #[serde(default)]
    pub title: String,
    /// Defaults of every host.
    #[serde(default)]
    pub every_host: LabHostSpec,
    /// Machines that run programs, by name.
    #[serde(default)]
    pub hosts: BTreeMap<String, LabHostSpec>,
    /// Machines that forward packets between networks, by name.
    #[serde(default)]
    pub routers: BTreeMap<String, LabRouterSpec>,
    /// Devices that join links to one network, by name. Each port has its own queue.
    #[serde(default)]
    pub switches: BTreeMap<String, LabSwitchSpec>,
    /// Networks whose stations share one medium, by name.
    #[serde(default)]
    pub hubs: BTreeMap<String, LabHubSpec>,
    /// Links between two of these.
    pub links: Vec<LabLinkSpec>,
    /// Devices may pass on segments longer than the MTU and checksums that are not computed yet, as
    /// network cards allow it. That is faster, and falsifies captures. Default false.
    #[serde(default)]
    pub offloads: bool,
    /// Host in which `--server` of a `prestan` in this laboratory starts servers; default: the host
    /// `server`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_host: Option<String>,
}

/// A host.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LabHostSpec {
    /// A web server on a TCP of its own, with these features (docs/BARE.md), instead of a machine
    /// with an operating system. It serves `/504k`, `/320k` and `/160k` on port 80. All other keys
    /// belong to the TCP of the kernel.
    #[serde(
        default,
        deserialize_with = "bare_host::given",
        skip_serializing_if = "Option::is_none"
    )]
    pub bare: Option<BareHostSpec>,
    /// Congestion control of its connections: `cubic` (the default), `reno`, `bbr`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub congestion: Option<String>,
    /// Least retransmission timeout; default: 200 ms, which is the kernel's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rto_min: Option<TimeSpan>,
    /// Acknowledge every segment at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quickack: Option<bool>,
    /// Initial congestion window, in segments; default: 10, which is the kernel's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub initial_window: Option<u32>,
    /// Advertised initial receive window, in segments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub initial_receive_window: Option<u32>,
    /// Differences towards one node, by its name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub to: BTreeMap<String, RoutedSpec>,
    /// Kernel parameters of its network namespace, by their names with dots.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub sysctl: BTreeMap<String, SysctlValue>,
}

/// Differences towards one node.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RoutedSpec {
    /// Congestion control.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub congestion: Option<String>,
    /// Least retransmission timeout.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rto_min: Option<TimeSpan>,
    /// Acknowledge every segment at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quickack: Option<bool>,
    /// Initial congestion window, in segments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub initial_window: Option<u32>,
    /// Advertised initial receive window, in segments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub initial_receive_window: Option<u32>,
}

/// A router.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LabRouterSpec {
    /// Kernel parameters of its network namespace, by their names with dots.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub sysctl: BTreeMap<String, SysctlValue>,
}

/// A switch.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LabSwitchSpec {}

/// A hub: all frames of all stations pass one sender with one queue, and arrive at all others.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LabHubSpec {
    /// Rate of the medium.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<BitRate>,
    /// Capacity for waiting frames; default 100 packets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<QueueSpec>,
    /// Additional delay of a frame.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<TimeSpan>,
    /// Share of lost frames.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<Percentage>,
}

/// A link between two nodes. These keys apply to both directions, except where `forth` or `back`
/// differ.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LabLinkSpec {
    /// Names of its two ends.
    pub ends: [String; 2],
    /// Rate; default: as fast as this machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<BitRate>,
    /// Bytes that count for each frame beside its own, which include its Ethernet header. Default
    /// 24: preamble, check sequence and gap of Ethernet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overhead: Option<u32>,
    /// Capacity for frames that wait for a link with a rate: a number of packets, a size, or a
    /// queue discipline; default 100 packets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<QueueSpec>,
    /// Propagation delay of a frame.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<TimeSpan>,
    /// Largest difference of the delay, uniformly distributed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jitter: Option<TimeSpan>,
    /// A frame may overtake another one with a longer delay; default false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reorder: Option<bool>,
    /// Share of lost frames, each independently.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<Percentage>,
    /// Share of duplicated frames.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duplicates: Option<Percentage>,
    /// Largest packet, in bytes; default 1500.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mtu: Option<u32>,
    /// Differences from the first end to the second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forth: Option<WireSpec>,
    /// Differences from the second end to the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub back: Option<WireSpec>,
    /// Addresses of its ends with the length of the network's prefix, by name of the end:
    /// `{client: [192.0.2.1/24, "2001:db8::1/64"]}`. Default: of 198.18.0.0/15 and 2001:2::/48.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub addresses: BTreeMap<String, Vec<String>>,
}

/// One direction of a link.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WireSpec {
    /// Rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<BitRate>,
    /// Bytes that count for each frame beside its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overhead: Option<u32>,
    /// Capacity for waiting frames: a number of packets, a size, or a queue discipline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<QueueSpec>,
    /// Propagation delay of a frame.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<TimeSpan>,
    /// Largest difference of the delay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jitter: Option<TimeSpan>,
    /// A frame may overtake another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reorder: Option<bool>,
    /// Share of lost frames.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<Percentage>,
    /// Share of duplicated frames.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duplicates: Option<Percentage>,
}

impl LabLinkSpec {
    /// The keys for both directions.
    pub(crate) fn both(&self) -> WireSpec {
        WireSpec {
            rate: self.rate,
            overhead: self.overhead,
            queue: self.queue,
            delay: self.delay,
            jitter: self.jitter,
            reorder: self.reorder,
            loss: self.loss,
            duplicates: self.duplicates,
        }
    }
}

/// Value of a kernel parameter: a number or a text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum SysctlValue {
    /// A number.
    Number(i64),
    /// Several numbers or a word.
    Text(String),
}

impl std::fmt::Display for SysctlValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            SysctlValue::Number(number) => number.fmt(f),
            SysctlValue::Text(text) => text.fmt(f),
        }
    }
}

impl LabSpec {
    /// Parses the YAML of a lab file. `name` is its name in errors.
    ///
    /// # Errors
    /// The first defect, with line and column.
    pub fn read(name: &str, text: &str) -> Result<Self, FileError> {
        yaml::read_file(name, text)
    }
}
