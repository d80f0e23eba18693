//! The JSON document of a diagnosis. Its types have what those of `stats` lack: sentences,
//! percentages, and indices into the runs of all servers.

use schemars::JsonSchema;
use serde::Serialize;
use stats::{Diagnosis, Evidence, Finding, LeftOut, NamedQuantity, Quantity};

use super::words::words;
use super::{Diagnosed, DiagnosedRun, sentences, with_places};
#[cfg(feature = "schema")]
use crate::fields::schema_of;
use crate::fields::{DocumentVersion, IfAny, each, fields, json_of, plain};

/// Version of the document. It grows when something is renamed or changes its meaning.
const SCHEMA_VERSION: u32 = 3;

struct DiagnosisDocument<'a>(&'a [Diagnosed]);

impl<'a> DiagnosisDocument<'a> {
    /// Items of all diagnoses, each with the index of the first run of its server.
    fn each<T>(&self, items: impl Fn(&'a Diagnosis) -> &'a Vec<T>) -> Vec<(&'a T, usize)> {
        let items = with_places(self.0).flat_map(|(first, of)| {
            let items = items(&of.diagnosis).iter();
            items.map(move |item| (item, first))
        });
        items.collect()
    }
}

/// The diagnoses for programs: one JSON document.
pub fn diagnose_json(all: &[Diagnosed]) -> String {
    json_of(DiagnosisDocument(all))
}

pub(crate) fn all_findings(all: &[Diagnosed]) -> Vec<(&Finding, usize)> {
    DiagnosisDocument(all).each(|diagnosis| &diagnosis.findings)
}

/// The findings alone, for programs: a JSON list.
pub fn findings_json(findings: &[Finding]) -> String {
    json_of(each(findings, |finding| (finding, 0)))
}

/// The JSON schema of [`diagnose_json`]: the content of `docs/diagnosis.schema.json`.
#[cfg(feature = "schema")]
pub fn diagnose_schema() -> String {
    schema_of::<DiagnosisDocument<'_>>()
}

plain!(DiagnosedRun, FigureUnit, FigureValue);

fields! {
    /// Findings, most costly first.
    DiagnosisDocument<'_>, "Document", |of| {
        /// Version of this document.
        schema_version = DocumentVersion::<SCHEMA_VERSION>,
        /// Why runs are missing; absent where all planned runs were measured.
        incomplete = IfAny(of.0.iter().find_map(|of| of.incomplete.as_ref())),
        /// The runs that were checked.
        runs = of.0.iter().flat_map(|of| &of.runs).collect::<Vec<_>>(),
        /// Findings of each server: failures first, then the most costly first.
        findings = of.each(|diagnosis| &diagnosis.findings),
        /// Seen in one run only; a finding once a second run of its suite shows it as well.
        seen_once = of.each(|diagnosis| &diagnosis.seen_once),
        /// The rows that were not checked.
        left_out = of.each(|diagnosis| &diagnosis.left_out),
    }
}

fields! {
    /// A finding.
    (&Finding, usize), "Found", |(finding, first)| {
        /// Name of the rule, put-against-get for example.
        rule = finding.rule,
        /// The finding in a few words.
        title = words(finding).title,
        /// The finding with figures.
        text = sentences::text(finding),
        /// The figures in the text, and those that belong to them.
        figures = &finding.figures,
        /// Its evidence row by row, the worst first.
        evidence = &finding.evidence,
        /// Where in a server to look for the cause.
        look_at = words(finding).look_at,
        /// Its rows.
        measures = &finding.tests,
        /// Index into runs.
        run = first + finding.run,
        /// Percent of all measured time on this server that would be saved if these rows took the
        /// time that the rule expects.
        saves_percent = finding.weight * 100.0,
    }
}

fields! {
    /// Figures about one row.
    Evidence, "Piece", |evidence| {
        /// Name of the row, or of the rows of one kind.
        measure = &evidence.row,
        /// The figures in words.
        text = sentences::evidence(evidence),
        /// The figures.
        figures = &evidence.figures,
    }
}

fields! {
    /// A named quantity.
    NamedQuantity, "Measured", |figure| {
        /// Its name, unique within its rule.
        name = figure.name,
        /// The value in its unit; a text where the unit is text.
        value = quantity(&figure.value).0,
        /// Unit of the value and of its interval.
        unit = quantity(&figure.value).1,
        /// Lower end of the 95 % interval; null where there is none.
        low = figure.interval.map(|(low, _)| low),
        /// Upper end of the 95 % interval; null where there is none.
        high = figure.interval.map(|(_, high)| high),
        /// Number of operations that it is the mean of; null for other values.
        operations = figure.operations,
    }
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

fields! {
    /// A row that was not checked.
    (&LeftOut, usize), "NotSeen", |(left, first)| {
        /// Index into runs.
        run = first + left.run,
        /// Name of the row.
        measure = &left.row,
        /// Why.
        why = super::why(&left.why),
        /// A warning disqualifies the row: it does not describe the server.
        disqualified = left.disqualified,
    }
}

fn quantity(of: &Quantity) -> (FigureValue, FigureUnit) {
    match of {
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
    }
}
