//! The queue of a link: its capacity and its discipline.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
#[cfg(feature = "schema")]
use schemars::{Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, Deserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize};
use traffic::{Octets, TimeSpan};

use crate::FileError;
use crate::numbers::time_text;

/// Default length of a queue in packets.
const USUAL_QUEUE: usize = 100;

/// Packets of a queue with CoDel: the default of Linux.
const CODEL_LIMIT: usize = 1000;

/// Packets of all queues with FQ-CoDel together (RFC 8290, section 5.2.1).
const FQ_CODEL_LIMIT: usize = 10_240;

/// Queues of FQ-CoDel (RFC 8290, section 5.2.3).
const FLOWS: u32 = 1024;

/// Bytes that a queue of FQ-CoDel sends in a turn: a packet of 1500 bytes with its Ethernet header
/// (RFC 8290, section 5.2.2).
const QUANTUM: u32 = 1514;

/// Acceptable time in the queue (RFC 8289, section 4.3), in ns.
const TARGET: u64 = 5_000_000;

/// Interval in which it must have been less once (RFC 8289, section 4.3), in ns.
const INTERVAL: u64 = 100_000_000;

/// Most packets of a queue.
const MOST_PACKETS: u64 = 1_000_000;

/// Capacity of a queue: a number of packets (`100`) or a size (`64KiB`), beyond which packets are
/// dropped; or a queue discipline (`codel`, `fq-codel`), alone or with its parameters (`{codel:
/// {target: 2ms}}`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum QueueSpec {
    /// Number of packets.
    Packets(u64),
    /// Bytes of all packets together.
    Bytes(Octets),
    /// A queue discipline.
    Discipline(DisciplineSpec),
}

/// A queue discipline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DisciplineSpec {
    /// Controlled delay (RFC 8289).
    Codel(CodelSpec),
    /// A queue with CoDel for each flow, served in turn (RFC 8290).
    FqCodel(FqCodelSpec),
}

/// Parameters of CoDel.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CodelSpec {
    /// Most packets; default 1000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// Acceptable time in the queue; default 5 ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<TimeSpan>,
    /// Time after which packets are dropped, if the time in the queue was never less than the
    /// target; default 100 ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<TimeSpan>,
}

/// Parameters of FQ-CoDel.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FqCodelSpec {
    /// Most packets of all queues together; default 10240.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// Acceptable time in a queue; default 5 ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<TimeSpan>,
    /// Time after which packets are dropped, if the time in the queue was never less than the
    /// target; default 100 ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<TimeSpan>,
    /// Number of queues; a hash of its addresses and ports selects that of a packet. Default 1024.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flows: Option<u32>,
    /// Bytes that a queue sends in a turn; default 1514.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quantum: Option<u32>,
}

/// A planned queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WireQueue {
    /// Capacity in packets; others are dropped.
    Packets(usize),
    /// Capacity in bytes of all packets together.
    Bytes(usize),
    /// Controlled delay (RFC 8289).
    Codel(PlannedCodel),
    /// A queue with CoDel for each flow (RFC 8290).
    FqCodel {
        /// Parameters of all queues, which share the capacity.
        codel: PlannedCodel,
        /// Number of queues.
        flows: u32,
        /// Bytes that a queue sends in a turn.
        quantum: u32,
    },
}

/// Controlled delay, with everything resolved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlannedCodel {
    /// Most packets.
    pub packets: usize,
    /// Acceptable time in the queue, in ns.
    pub target: u64,
    /// Interval in which it must have been less once, in ns.
    pub interval: u64,
}

impl Default for WireQueue {
    fn default() -> WireQueue {
        WireQueue::Packets(USUAL_QUEUE)
    }
}

impl WireQueue {
    /// Number of packets of this length that can wait.
    pub fn room(self, packet: usize) -> usize {
        match self {
            WireQueue::Packets(packets) => packets,
            WireQueue::Bytes(bytes) => bytes / packet.max(1),
            WireQueue::Codel(codel) | WireQueue::FqCodel { codel, .. } => codel.packets,
        }
    }

    pub(crate) fn text(self) -> String {
        let with = |codel: PlannedCodel, name: &str| {
            let times = [codel.target, codel.interval].map(time_text).join(" in ");
            format!("queue of {} packets with {name} ({times})", codel.packets)
        };
        match self {
            WireQueue::Packets(packets) => format!("queue of {packets} packets"),
            WireQueue::Bytes(bytes) => format!("queue of {bytes} bytes"),
            WireQueue::Codel(codel) => with(codel, "CoDel"),
            WireQueue::FqCodel { codel, .. } => with(codel, "FQ-CoDel"),
        }
    }

    /// Resolves the value at `place`.
    pub(crate) fn new(place: &str, queue: Option<QueueSpec>) -> Result<WireQueue, FileError> {
        let fail = |message: &str| Err(FileError::new(place, message));
        match queue {
            None => Ok(WireQueue::default()),
            Some(QueueSpec::Packets(packets)) => {
                packet_count(place, packets).map(WireQueue::Packets)
            }
            Some(QueueSpec::Bytes(size)) if size.bytes() < 1514 => {
                fail("has no room for one packet of 1500 bytes with its Ethernet header (1514)")
            }
            Some(QueueSpec::Bytes(size)) if size.bytes() > 1 << 30 => fail("is larger than 1GiB"),
            Some(QueueSpec::Bytes(size)) => Ok(WireQueue::Bytes(
                usize::try_from(size.bytes()).unwrap_or(1514),
            )),
            Some(QueueSpec::Discipline(DisciplineSpec::Codel(codel))) => {
                PlannedCodel::new(&format!("{place}.codel"), codel, CODEL_LIMIT)
                    .map(WireQueue::Codel)
            }
            Some(QueueSpec::Discipline(DisciplineSpec::FqCodel(spec))) => {
                fq_codel(&format!("{place}.fq-codel"), spec)
            }
        }
    }
}

fn fq_codel(place: &str, spec: FqCodelSpec) -> Result<WireQueue, FileError> {
    let FqCodelSpec {
        limit,
        target,
        interval,
        flows,
        quantum,
    } = spec;
    let codel = CodelSpec {
        limit,
        target,
        interval,
    };
    let codel = PlannedCodel::new(place, codel, FQ_CODEL_LIMIT)?;
    let (flows, quantum) = (flows.unwrap_or(FLOWS), quantum.unwrap_or(QUANTUM));
    if !(1..=65_536).contains(&flows) {
        let message = "is not from 1 to 65536 queues";
        return Err(FileError::new(format!("{place}.flows"), message));
    }
    if !(64..=65_536).contains(&quantum) {
        let message = "is not from 64 to 65536 bytes";
        return Err(FileError::new(format!("{place}.quantum"), message));
    }
    Ok(WireQueue::FqCodel {
        codel,
        flows,
        quantum,
    })
}

impl PlannedCodel {
    fn new(place: &str, spec: CodelSpec, limit: usize) -> Result<PlannedCodel, FileError> {
        let packets = match spec.limit {
            None => limit,
            Some(packets) => packet_count(&format!("{place}.limit"), packets)?,
        };
        let target = spec.target.map_or(TARGET, TimeSpan::nanos);
        let interval = spec.interval.map_or(INTERVAL, TimeSpan::nanos);
        if !(1000..=100_000_000_000).contains(&interval) {
            let message = "is not from 1us to 100s";
            return Err(FileError::new(format!("{place}.interval"), message));
        }
        if target == 0 || target > interval {
            let message = "is not more than 0 and at most the interval";
            return Err(FileError::new(format!("{place}.target"), message));
        }
        Ok(PlannedCodel {
            packets,
            target,
            interval,
        })
    }
}

fn packet_count(place: &str, packets: u64) -> Result<usize, FileError> {
    let message = match packets {
        0 => "is 0: at least one packet must be able to wait".to_owned(),
        1..=MOST_PACKETS => return Ok(usize::try_from(packets).unwrap_or(1)),
        _ => format!("is longer than {MOST_PACKETS} packets"),
    };
    Err(FileError::new(place, message))
}

impl FromStr for QueueSpec {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "codel" => {
                return Ok(QueueSpec::Discipline(DisciplineSpec::Codel(
                    CodelSpec::default(),
                )));
            }
            "fq-codel" => {
                let fq_codel = DisciplineSpec::FqCodel(FqCodelSpec::default());
                return Ok(QueueSpec::Discipline(fq_codel));
            }
            _ => {}
        }
        if let Ok(packets) = text.parse() {
            return Ok(QueueSpec::Packets(packets));
        }
        let size: Result<Octets, String> = text.parse();
        size.map(QueueSpec::Bytes).map_err(|_| {
            format!(
                "`{text}` is no queue; write 100 for a number of packets, 64KiB for a size, codel or fq-codel"
            )
        })
    }
}

impl<'de> Deserialize<'de> for QueueSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct QueueVisitor;
        impl<'de> Visitor<'de> for QueueVisitor {
            type Value = QueueSpec;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number of packets, a size, codel or fq-codel")
            }
            fn visit_u64<E: de::Error>(self, packets: u64) -> Result<QueueSpec, E> {
                Ok(QueueSpec::Packets(packets))
            }
            fn visit_i64<E: de::Error>(self, packets: i64) -> Result<QueueSpec, E> {
                packets.to_string().parse().map_err(E::custom)
            }
            fn visit_f64<E: de::Error>(self, packets: f64) -> Result<QueueSpec, E> {
                packets.to_string().parse().map_err(E::custom)
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<QueueSpec, E> {
                text.parse().map_err(E::custom)
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<QueueSpec, A::Error> {
                DisciplineSpec::deserialize(MapAccessDeserializer::new(map))
                    .map(QueueSpec::Discipline)
            }
        }
        deserializer.deserialize_any(QueueVisitor)
    }
}

#[cfg(feature = "schema")]
impl JsonSchema for QueueSpec {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Queue".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let discipline = generator.subschema_for::<DisciplineSpec>();
        json_schema!({
            "anyOf": [
                {
                    "type": ["integer", "string"],
                    "description": "A number of packets (`100`), a size (`64KiB`), `codel` or `fq-codel`."
                },
                discipline
            ]
        })
    }
}
