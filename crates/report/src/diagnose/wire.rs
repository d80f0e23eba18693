//! The JSON document of a diagnosis. Its types have what those of `stats` lack: sentences,
//! percentages, and indices into the runs of all servers.

use schemars::JsonSchema;
use serde::Serialize;
use stats::{Evidence, Finding, LeftOut, NamedQuantity, Quantity};

use super::words::words;
use super::{Diagnosed, DiagnosedRun, sentences};
use crate::incomplete::IncompleteJson;

/// Version of the document. It grows when something is renamed or changes its meaning.
const SCHEMA_VERSION: u32 = 3;

/// Findings, most costly first.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Document", deny_unknown_fields)]
pub(super) struct DiagnosisDocument {
    /// Version of this document.
    #[schemars(extend("const" = SCHEMA_VERSION))]
    schema_version: u32,
    /// Why runs are missing; absent where all planned runs were measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    incomplete: Option<IncompleteJson>,
    /// The runs that were checked.
    runs: Vec<DiagnosedRun>,
    /// Findings of each server: failures first, then the most costly first.
    findings: Vec<FindingJson>,
    /// Seen in one run only; a finding once a second run of its suite shows it as well.
    seen_once: Vec<FindingJson>,
    /// The rows that were not checked.
    left_out: Vec<LeftOutJson>,
}

/// A finding.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Found", deny_unknown_fields)]
pub(crate) struct FindingJson {
    /// Name of the rule, put-against-get for example.
    rule: &'static str,
    /// The finding in a few words.
    title: &'static str,
    /// The finding with figures.
    text: String,
    /// The figures in the text, and those that belong to them.
    figures: Vec<FigureJson>,
    /// Its evidence row by row, the worst first.
    evidence: Vec<EvidenceJson>,
    /// Where in a server to look for the cause.
    look_at: &'static str,
    /// Its rows.
    measures: Vec<String>,
    /// Index into runs.
    run: usize,
    /// Percent of all measured time on this server that would be saved if these rows took the time
    /// that the rule expects.
    saves_percent: f64,
}

/// Figures about one row.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Piece", deny_unknown_fields)]
struct EvidenceJson {
    /// Name of the row, or of the rows of one kind.
    measure: String,
    /// The figures in words.
    text: String,
    /// The figures.
    figures: Vec<FigureJson>,
}

/// A named quantity.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Measured", deny_unknown_fields)]
struct FigureJson {
    /// Its name, unique within its rule.
    name: &'static str,
    /// The value in its unit; a text where the unit is text.
    value: FigureValue,
    /// Unit of the value and of its interval.
    unit: FigureUnit,
    /// Lower end of the 95 % interval; null where there is none.
    low: Option<f64>,
    /// Upper end of the 95 % interval; null where there is none.
    high: Option<f64>,
    /// Number of operations that it is the mean of; null for other values.
    operations: Option<u64>,
}

/// A number or a text.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "Value")]
enum FigureValue {
    /// A number.
    Number(f64),
    /// A text.
    Text(String),
}

/// Unit of a figure.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Unit")]
enum FigureUnit {
    /// Nanoseconds.
    Ns,
    /// A share of 1.
    Share,
    /// A factor.
    Times,
    /// A number of operations, members, locks or users.
    Count,
    /// Operations a second.
    PerSecond,
    /// Bytes.
    Bytes,
    /// A text.
    Text,
}

impl From<&NamedQuantity> for FigureJson {
    fn from(figure: &NamedQuantity) -> FigureJson {
        let (value, unit) = match &figure.value {
            Quantity::Time(ns) => (FigureValue::Number(*ns), FigureUnit::Ns),
            Quantity::Share(share) => (FigureValue::Number(*share), FigureUnit::Share),
            Quantity::Ratio(times) => (FigureValue::Number(*times), FigureUnit::Times),
            Quantity::Count(count) => (FigureValue::Number(*count as f64), FigureUnit::Count),
            Quantity::Rate(rate) => (FigureValue::Number(*rate), FigureUnit::PerSecond),
            Quantity::Bytes(bytes) => (FigureValue::Number(*bytes), FigureUnit::Bytes),
            text @ (Quantity::Text(_) | Quantity::Reason(_) | Quantity::Part(_)) => (
                FigureValue::Text(sentences::quantity(text)),
                FigureUnit::Text,
            ),
        };
        FigureJson {
            name: figure.name,
            value,
            unit,
            low: figure.interval.map(|(low, _)| low),
            high: figure.interval.map(|(_, high)| high),
            operations: figure.operations,
        }
    }
}

impl From<&Evidence> for EvidenceJson {
    fn from(evidence: &Evidence) -> EvidenceJson {
        EvidenceJson {
            measure: evidence.row.clone(),
            text: sentences::evidence(evidence),
            figures: evidence.figures.iter().map(FigureJson::from).collect(),
        }
    }
}

/// A row that was not checked.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "NotSeen", deny_unknown_fields)]
struct LeftOutJson {
    /// Index into runs.
    run: usize,
    /// Name of the row.
    measure: String,
    /// Why.
    why: String,
    /// A warning disqualifies the row: it does not describe the server.
    disqualified: bool,
}

impl From<&[Diagnosed]> for DiagnosisDocument {
    fn from(all: &[Diagnosed]) -> DiagnosisDocument {
        let mut document = DiagnosisDocument {
            schema_version: SCHEMA_VERSION,
            // Only a series of runs of one server can end early.
            incomplete: all
                .iter()
                .find_map(|of| of.incomplete.as_ref())
                .map(IncompleteJson::from),
            runs: Vec::new(),
            findings: Vec::new(),
            seen_once: Vec::new(),
            left_out: Vec::new(),
        };
        for Diagnosed {
            runs, diagnosis, ..
        } in all
        {
            let first = document.runs.len();
            document.runs.extend(runs.iter().cloned());
            let findings = diagnosis.findings.iter();
            document
                .findings
                .extend(findings.map(|finding| found(finding, first)));
            let seen_once = diagnosis.seen_once.iter();
            document
                .seen_once
                .extend(seen_once.map(|finding| found(finding, first)));
            let left_out = diagnosis.left_out.iter();
            document
                .left_out
                .extend(left_out.map(|left| not_seen(left, first)));
        }
        document
    }
}

/// A finding in runs of which the first has that index.
pub(crate) fn found(finding: &Finding, first: usize) -> FindingJson {
    FindingJson {
        rule: finding.rule,
        title: words(finding).title,
        text: sentences::text(finding),
        figures: finding.figures.iter().map(FigureJson::from).collect(),
        evidence: finding.evidence.iter().map(EvidenceJson::from).collect(),
        look_at: words(finding).look_at,
        measures: finding.tests.clone(),
        run: first + finding.run,
        saves_percent: finding.weight * 100.0,
    }
}

fn not_seen(left: &LeftOut, first: usize) -> LeftOutJson {
    LeftOutJson {
        run: first + left.run,
        measure: left.row.clone(),
        why: super::why(&left.why),
        disqualified: left.disqualified,
    }
}
