//! Background traffic: its description, its schedules, and the statistics of a sink.
//!
//! ```text
//! YAML --TrafficSpec::read--> TrafficSpec --Traffic::new--> Traffic: loads of flows
//! PlannedFlow --behaviour(seed)--> Behaviour: a schedule of blocks           (for a source)
//! what arrives --DatagramSink, StreamSink--> rates, loss, reordering, delays  (for a sink)
//! a schedule, or what arrived --verify--> agreement with a law, Hurst parameter
//! ```
//!
//! There is no socket and no clock here; the crate `flow` has the sources and sinks. The language
//! of the file is described in `docs/TRAFFIC.md`.

mod file;
mod generator;
mod law;
mod model;
mod plan;
mod probability;
mod quantity;
pub mod sink;
mod source;
pub mod verify;

pub use file::{
    ComponentSpec, Dscp, FlowDirection, FlowProtocol, FlowSetSpec, IpVersion, LoadSpec, TrafficSpec,
};
pub use generator::{
    DESTINATION_PLACE, DIRECTORY_PLACE, GeneratorProgramSpec, GeneratorReadiness,
    GeneratorReportFormat, GeneratorSetSpec, GeneratorSpec, PORT_PLACE, PlannedGenerator,
    ReportedFiguresSpec,
};
pub use law::LawSpec;
pub use model::{
    CbrSpec, FtpSpec, FullSpec, GopSpec, MmppSpec, Model, ModelSpec, OnOffSpec, SelfSimilarSpec,
    TelnetSpec, UserSpec, VideoSpec, VoiceCodec, VoipSpec, WwwSpec,
};
pub use plan::{
    LEAST_DATAGRAM, LEAST_STAMPED_BLOCK, MOST_DATAGRAM, MOST_FLOWS, PlannedFlow, Traffic,
    TrafficLoad,
};
pub use probability::ProbabilityLaw;
pub use quantity::{BitRate, BlockCount, DrawnQuantity, Octets, Percentage, TimeSpan};
pub use source::{Behaviour, DepartureSchedule, PlannedDeparture};
pub use yaml::FileError;

/// The JSON schema of traffic files, for editors. A test compares it with the types that read them.
pub const SCHEMA: &str = include_str!("../../../docs/traffic.schema.json");
