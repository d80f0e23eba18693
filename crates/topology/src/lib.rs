//! Networks of laboratories: from a lab file to nodes, links, addresses and routes.
//!
//! ```text
//! YAML --LabSpec::read--> LabSpec --LabNetwork::new--> LabNetwork --> text, figure
//!                                                          |
//!                                      described wires + measured wires --judge--> verdicts
//! ```
//!
//! Nothing here touches the system: the crate `lab` builds the planned network. The language of the
//! file is described in `docs/LABS.md`.

mod bare_host;
mod document;
mod file;
mod judge;
mod numbers;
mod picture;
mod plan;
mod queue;
mod sender;
mod text;
mod wire;

pub use bare_host::{
    BareHostSpec, BarePreset, PAPER_FILES_KIB, PaperWeightsName, PlannedBareHost, SamplingName,
};
pub use document::measured_json;
#[cfg(feature = "schema")]
pub use document::measured_schema;
pub use file::{
    LabHostSpec, LabHubSpec, LabLinkSpec, LabRouterSpec, LabSpec, LabSwitchSpec, RoutedSpec,
    SysctlValue, WireSpec,
};
pub use judge::{JudgedWire, WireMeasurement, WireVerdict, judge};
pub use picture::{pictures, svg};
pub use plan::{
    InterfaceAddress, LabInterface, LabLink, LabLinkEnd, LabNeighbour, LabNetwork, LabNode,
    LabNodeKind, LabRoute, PathOptions, PlannedSysctl,
};
pub use queue::{CodelSpec, DisciplineSpec, FqCodelSpec, PlannedCodel, QueueSpec, WireQueue};
pub use sender::{CongestionControl, SenderSettings, SenderSettingsError, TimeoutResend};
pub use text::{described, measured_table, wire_text};
pub use wire::PlannedWire;
pub use yaml::FileError;

/// JSON schema of lab files, for editors. A test compares it with the types that parse them.
pub const SCHEMA: &str = include_str!("../../../docs/lab.schema.json");
