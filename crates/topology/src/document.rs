//! The JSON document of a checked laboratory.

use schemars::JsonSchema;
use serde::Serialize;

use crate::judge::JudgedWire;
use crate::plan::LabNetwork;

/// Version of the document: raised when a field changes its type or meaning, or is removed.
const SCHEMA_VERSION: u32 = 2;

/// Result of checking the wires of a laboratory.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(title = "Checked laboratory of Prestan")]
struct CheckedLabDocument {
    /// Version of this document.
    #[schemars(extend("const" = SCHEMA_VERSION))]
    schema_version: u32,
    /// Name of the built-in lab, or its file.
    lab: String,
    /// True if all wires are as described.
    is_as_described: bool,
    /// Every direction of every link, in the order of the lab file.
    wires: Vec<CheckedWireDocument>,
}

/// One direction of a link. The medium of a hub is measured from each of its stations.
#[derive(Debug, Serialize, JsonSchema)]
struct CheckedWireDocument {
    /// Index of the link in the lab file.
    link: usize,
    /// Node at the sending end.
    from: String,
    /// Node at the receiving end.
    to: String,
    /// Description in the lab file.
    described: DescribedWireDocument,
    /// Measurement.
    measured: MeasuredWireDocument,
    /// Verdict in each respect.
    verdict: WireVerdictDocument,
}

/// Description of a wire in a lab file.
#[derive(Debug, Serialize, JsonSchema)]
struct DescribedWireDocument {
    /// Rate, in bit/s; null: as fast as the machine.
    rate_bps: Option<u64>,
    /// Delay with the time to send a probe, in ns.
    probe_delay_ns: u64,
    /// Largest difference of the delay, in ns.
    jitter_ns: u64,
    /// Share of lost frames.
    loss: f64,
}

/// Measurement of a wire.
#[derive(Debug, Serialize, JsonSchema)]
struct MeasuredWireDocument {
    /// Rate at which frames arrived while more was sent than the wire carries, including overhead,
    /// in bit/s; null: too few arrived.
    rate_bps: Option<f64>,
    /// Number of frames by which the rate is measured.
    rated_frames: u64,
    /// Least delay of a probe, in ns; null: none arrived.
    least_delay_ns: Option<f64>,
    /// Mean delay of the probes, in ns; null: none arrived.
    mean_delay_ns: Option<f64>,
    /// Share of lost probes.
    loss: f64,
    /// Bytes of a probe, including its Ethernet header.
    probe_bytes: usize,
    /// Sent probes.
    probes_sent: u64,
    /// Received probes.
    probes_received: u64,
}

/// Verdict on a wire in each respect.
#[derive(Debug, Serialize, JsonSchema)]
struct WireVerdictDocument {
    /// As described in all respects that could be judged.
    is_as_described: bool,
    /// The rate differs by at most 2 %, plus the random effect of the described loss; null: too few
    /// frames arrived.
    rate: Option<bool>,
    /// The delay differs by at most 0.1 ms; null: no probe arrived, which the described loss
    /// allows.
    delay: Option<bool>,
    /// The number of lost probes differs by at most four standard deviations.
    loss: bool,
}

/// Results for the wires of a lab of this name, as indented JSON.
pub fn measured_json(name: &str, network: &LabNetwork, wires: &[JudgedWire]) -> String {
    let document = CheckedLabDocument {
        schema_version: SCHEMA_VERSION,
        lab: name.to_owned(),
        is_as_described: wires.iter().all(|wire| wire.verdict.is_as_described()),
        wires: wires
            .iter()
            .map(|wire| checked_wire(network, wire))
            .collect(),
    };
    with_newline(serde_json::to_string_pretty(&document))
}

/// The JSON schema of [`measured_json`]: the content of `docs/lab-check.schema.json`.
#[cfg(feature = "schema")]
pub fn measured_schema() -> String {
    schemars::published::<CheckedLabDocument>()
}

fn checked_wire(network: &LabNetwork, judged: &JudgedWire) -> CheckedWireDocument {
    let described = judged.described(network);
    let [from, to] = judged.ends(network).map(str::to_owned);
    let (measured, verdict) = (&judged.measured, judged.verdict);
    CheckedWireDocument {
        link: judged.link,
        from,
        to,
        described: DescribedWireDocument {
            rate_bps: described.rate,
            probe_delay_ns: described.delay + described.sending_time(measured.probe_bytes),
            jitter_ns: described.jitter,
            loss: described.loss,
        },
        measured: MeasuredWireDocument {
            rate_bps: measured.rate,
            rated_frames: measured.rated,
            least_delay_ns: measured.least_delay,
            mean_delay_ns: measured.mean_delay,
            loss: measured.loss(),
            probe_bytes: measured.probe_bytes,
            probes_sent: measured.sent,
            probes_received: measured.received,
        },
        verdict: WireVerdictDocument {
            is_as_described: verdict.is_as_described(),
            rate: verdict.rate,
            delay: verdict.delay,
            loss: verdict.loss,
        },
    }
}

/// Numbers, texts and booleans can always be serialised.
fn with_newline(text: Result<String, serde_json::Error>) -> String {
    text.unwrap_or_default() + "\n"
}
