//! A traffic file as it is written: models, components and loads.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
#[cfg(feature = "schema")]
use schemars::{Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use crate::FileError;
use crate::generator::{GeneratorSetSpec, GeneratorSpec};
use crate::model::ModelSpec;
use crate::quantity::{BitRate, Octets, Percentage, TimeSpan, instances, port};

/// A whole traffic file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "Background traffic of Prestan")]
pub struct TrafficSpec {
    /// How sources behave, by name.
    #[serde(default)]
    pub models: BTreeMap<String, ModelSpec>,
    /// One-way flows: a model with its protocol and its ends, by name.
    #[serde(default)]
    pub components: BTreeMap<String, ComponentSpec>,
    /// Other programs that send, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub generators: BTreeMap<String, GeneratorSpec>,
    /// Sets of components with their time, by name.
    #[serde(default)]
    pub loads: BTreeMap<String, LoadSpec>,
}

/// A one-way flow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ComponentSpec {
    /// Name of its model.
    pub model: String,
    /// Protocol.
    pub protocol: FlowProtocol,
    /// Version of IP; default `v4`.
    #[serde(default)]
    pub ip: IpVersion,
    /// Name of the host that sends; default `here`.
    #[serde(default = "here")]
    pub source: String,
    /// Name of the host that receives; default `there`.
    #[serde(default = "there")]
    pub sink: String,
    /// Port of the sink; further instances have the ports after it. Default: ports from 20000 on
    /// that no other flow has.
    #[serde(
        default,
        deserialize_with = "port",
        skip_serializing_if = "Option::is_none"
    )]
    pub port: Option<u16>,
    /// Port of the source; further instances have the ports after it. Default: chosen by its
    /// system.
    #[serde(
        default,
        deserialize_with = "port",
        skip_serializing_if = "Option::is_none"
    )]
    pub source_port: Option<u16>,
    /// TCP: largest window, as the size of the socket buffers of both ends. Default: that of the
    /// systems.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<Octets>,
    /// TCP: congestion control, as the system of the source calls it (`cubic`, `reno`, `bbr`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub congestion: Option<String>,
    /// Differentiated services code point: 0 to 63, or `cs1`, `af11`, `ef`; default 0.
    #[serde(default, skip_serializing_if = "Dscp::is_default")]
    pub dscp: Dscp,
}

/// Components that are active together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LoadSpec {
    /// When it begins, after the beginning of the background traffic; default 0s.
    #[serde(default = "at_once")]
    pub start: TimeSpan,
    /// How long it lasts. Without `duration` and `end`: until the measurement ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration: Option<TimeSpan>,
    /// When it ends, after the beginning of the background traffic.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<TimeSpan>,
    /// Rate of payload of all flows together, of which each set has a share.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<BitRate>,
    /// Its sets of flows. Required, unless it has generators.
    #[serde(default)]
    pub flows: Vec<FlowSetSpec>,
    /// Other programs that send beside them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub generators: Vec<GeneratorSetSpec>,
}

/// Instances of one component.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FlowSetSpec {
    /// Name of the component.
    pub component: String,
    /// Number of instances, in each direction; default 1.
    #[serde(default = "one", deserialize_with = "instances")]
    pub n: u32,
    /// From source to sink, from sink to source, or both; default `forward`.
    #[serde(default)]
    pub direction: FlowDirection,
    /// Share of the rate of the load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<Percentage>,
    /// How the share is divided among the instances of each direction, one weight for each;
    /// default: equally.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub weights: Vec<f64>,
}

/// Protocol of a flow.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum FlowProtocol {
    /// A connection.
    Tcp,
    /// Datagrams: each block is one.
    Udp,
}

/// Version of the Internet Protocol.
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
#[serde(rename_all = "lowercase")]
pub enum IpVersion {
    /// IPv4.
    #[default]
    V4,
    /// IPv6.
    V6,
}

/// Directions of the flows of a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FlowDirection {
    /// From source to sink.
    #[default]
    Forward,
    /// From sink to source.
    Backward,
    /// As many in each direction.
    Both,
}

/// A differentiated services code point (RFC 2474), 0 to 63.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(try_from = "DscpText", into = "u8")]
pub struct Dscp(u8);

impl Dscp {
    /// The code point; the byte of the IP header is four times as large.
    pub fn code_point(self) -> u8 {
        self.0
    }

    fn is_default(&self) -> bool {
        self.0 == 0
    }
}

impl From<Dscp> for u8 {
    fn from(dscp: Dscp) -> u8 {
        dscp.0
    }
}

#[derive(Deserialize)]
#[serde(untagged)]
enum DscpText {
    Number(u8),
    Name(String),
}

impl TryFrom<DscpText> for Dscp {
    type Error = String;

    fn try_from(text: DscpText) -> Result<Self, String> {
        match text {
            DscpText::Number(number) => number.to_string().parse(),
            DscpText::Name(name) => name.parse(),
        }
    }
}

impl FromStr for Dscp {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let name = text.trim().to_ascii_lowercase();
        let digits = name.bytes().filter(u8::is_ascii_digit);
        let digits: Vec<u8> = digits.map(|byte| byte - b'0').collect();
        let letters = name.trim_end_matches(|c: char| c.is_ascii_digit());
        let code_point = match (letters, digits.as_slice()) {
            ("", _) => name.parse().ok().filter(|number| *number < 64),
            ("be", []) => Some(0),
            // RFC 8622, 3246, 5865.
            ("le", []) => Some(1),
            ("ef", []) => Some(46),
            ("va", []) => Some(44),
            // RFC 2474, 2597.
            ("cs", [class]) if *class < 8 => Some(8 * class),
            ("af", [class, drop]) if (1..=4).contains(class) && (1..=3).contains(drop) => {
                Some(8 * class + 2 * drop)
            }
            _ => None,
        };
        code_point.map(Dscp).ok_or_else(|| {
            format!("`{text}` is no DSCP; write a number from 0 to 63, or cs1, af11, ef")
        })
    }
}

impl fmt::Display for Dscp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(feature = "schema")]
impl JsonSchema for Dscp {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Dscp".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["string", "integer"], "description": "0 to 63, or `cs1`, `af11`, `ef`." })
    }
}

fn here() -> String {
    "here".to_owned()
}

fn there() -> String {
    "there".to_owned()
}

fn at_once() -> TimeSpan {
    TimeSpan::from_nanos(0)
}

pub(crate) fn one() -> u32 {
    1
}

impl TrafficSpec {
    /// Reads the YAML of a traffic file. `name` is its name in errors.
    ///
    /// # Errors
    /// The text cannot be read, with line and column.
    pub fn read(name: &str, text: &str) -> Result<Self, FileError> {
        yaml::read_file(name, text)
    }
}
