//! The JSON document of a diagnosis.

use schemars::JsonSchema;
use serde::Serialize;
use stats::{Finding, LeftOut};

use super::{Diagnosed, DiagnosedRun};

/// Version of the document. It grows when something is renamed or changes its meaning.
const SCHEMA_VERSION: u32 = 1;

/// What should be fixed first.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct Document {
    /// Version of this document.
    #[schemars(extend("const" = SCHEMA_VERSION))]
    schema_version: u32,
    /// The runs that were looked at.
    runs: Vec<Run>,
    /// What is conspicuous; of each server, the dearest first.
    findings: Vec<Found>,
    /// What was not looked at.
    left_out: Vec<NotSeen>,
}

/// A run that was looked at.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Run {
    /// Where it is kept, or how it is called.
    name: String,
    /// Name of its suite.
    suite: String,
    /// URL that it was run against.
    target: String,
    /// What the server said of itself; null where it said nothing.
    server: Option<String>,
}

/// Something conspicuous.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct Found {
    /// Name of the rule, put-against-get for example.
    rule: &'static str,
    /// The finding in a few words.
    title: &'static str,
    /// The finding with figures.
    text: String,
    /// What it rests on: figures with their intervals and numbers of operations.
    evidence: Vec<String>,
    /// Where in a server to look for the cause.
    look_at: &'static str,
    /// The rows that it is about.
    tests: Vec<String>,
    /// Index into runs.
    run: usize,
    /// Percent of the time of all that was measured on this server that would not be spent if this
    /// were as the rule thinks normal.
    saves_percent: f64,
}

/// Something that no finding can come from.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct NotSeen {
    /// Index into runs.
    run: usize,
    /// Name of the row; null for all of an inconclusive run.
    row: Option<String>,
    /// Why.
    why: String,
}

impl From<&[Diagnosed]> for Document {
    fn from(all: &[Diagnosed]) -> Document {
        let mut document = Document {
            schema_version: SCHEMA_VERSION,
            runs: Vec::new(),
            findings: Vec::new(),
            left_out: Vec::new(),
        };
        for Diagnosed { runs, diagnosis } in all {
            let first = document.runs.len();
            document.runs.extend(runs.iter().map(Run::from));
            let findings = diagnosis.findings.iter();
            document
                .findings
                .extend(findings.map(|finding| found(finding, first)));
            let left_out = diagnosis.left_out.iter();
            document
                .left_out
                .extend(left_out.map(|left| not_seen(left, first)));
        }
        document
    }
}

impl From<&DiagnosedRun> for Run {
    fn from(run: &DiagnosedRun) -> Run {
        Run {
            name: run.name.clone(),
            suite: run.suite.clone(),
            target: run.target.clone(),
            server: run.server.clone(),
        }
    }
}

/// A finding in runs of which the first has that index.
pub(crate) fn found(finding: &Finding, first: usize) -> Found {
    Found {
        rule: finding.rule,
        title: finding.title,
        text: finding.text.clone(),
        evidence: finding.evidence.clone(),
        look_at: finding.look_at,
        tests: finding.tests.clone(),
        run: first + finding.run,
        saves_percent: finding.weight * 100.0,
    }
}

fn not_seen(left: &LeftOut, first: usize) -> NotSeen {
    match left {
        LeftOut::Inconclusive { run, why } => NotSeen {
            run: first + run,
            row: None,
            why: why.clone(),
        },
        LeftOut::Row { run, row, why } => NotSeen {
            run: first + run,
            row: Some(row.clone()),
            why: why.clone(),
        },
    }
}
