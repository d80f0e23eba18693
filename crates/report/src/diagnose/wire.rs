//! The JSON document of a diagnosis.

use schemars::JsonSchema;
use serde::Serialize;
use stats::{Evidence, Finding, LeftOut, NamedQuantity, Quantity};

use super::words::words;
use super::{Diagnosed, DiagnosedRun, incomplete, sentences};

/// Version of the document. It grows when something is renamed or changes its meaning.
const SCHEMA_VERSION: u32 = 2;

/// What should be fixed first.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct Document {
    /// Version of this document.
    #[schemars(extend("const" = SCHEMA_VERSION))]
    schema_version: u32,
    /// Why runs are missing; absent where all planned runs were measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    incomplete: Option<Incomplete>,
    /// The runs that were looked at.
    runs: Vec<Run>,
    /// Findings of each server: what fails, then the most costly first.
    findings: Vec<Found>,
    /// What would be a finding if a second run of its suite showed it as well.
    seen_once: Vec<Found>,
    /// What was not looked at.
    left_out: Vec<NotSeen>,
}

/// Why the findings rest on fewer runs than were planned.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Incomplete {
    /// How the series of runs ended.
    reason: Reason,
    /// The same in words, with the runs that are missing.
    text: String,
    /// The planned runs that were not measured to their end.
    not_measured: Vec<NotMeasured>,
}

/// How a series of runs ended early.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Reason {
    /// The user interrupted it.
    Interrupted,
    /// A run failed.
    Failed,
}

/// A planned run that was not measured to its end.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct NotMeasured {
    /// Name of its suite.
    suite: String,
    /// Number of users that was planned.
    users: u32,
    /// Whether it would have repeated rows of a suite that was measured already.
    repeat: bool,
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
    /// Users at work at the same time.
    users: u32,
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
    /// The figures in the text, and those that belong to them.
    figures: Vec<Measured>,
    /// What it rests on, row by row, the worst first.
    evidence: Vec<Piece>,
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

/// Figures about one row.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Piece {
    /// Name of the row, or of the rows of one kind.
    row: String,
    /// The figures in words.
    text: String,
    /// The figures.
    figures: Vec<Measured>,
}

/// A named quantity.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Measured {
    /// Its name. A rule uses each name for one thing only.
    name: &'static str,
    /// How much it is, in its unit; a text where the unit is text.
    value: Value,
    /// Unit of the value and of its interval.
    unit: Unit,
    /// Lower end of the 95 % interval; null where there is none.
    low: Option<f64>,
    /// Upper end of the 95 % interval; null where there is none.
    high: Option<f64>,
    /// Operations that it is the mean of; null where it is none.
    operations: Option<u64>,
}

/// A number or a text.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
enum Value {
    /// A number.
    Number(f64),
    /// A text.
    Text(String),
}

/// Unit of a figure.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Unit {
    /// Nanoseconds.
    Ns,
    /// A share of 1.
    Share,
    /// So many times as much.
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

impl From<&NamedQuantity> for Measured {
    fn from(figure: &NamedQuantity) -> Measured {
        let (value, unit) = match &figure.value {
            Quantity::Time(ns) => (Value::Number(*ns), Unit::Ns),
            Quantity::Share(share) => (Value::Number(*share), Unit::Share),
            Quantity::Ratio(times) => (Value::Number(*times), Unit::Times),
            Quantity::Count(count) => (Value::Number(*count as f64), Unit::Count),
            Quantity::Rate(rate) => (Value::Number(*rate), Unit::PerSecond),
            Quantity::Bytes(bytes) => (Value::Number(*bytes), Unit::Bytes),
            text @ (Quantity::Text(_) | Quantity::Reason(_) | Quantity::Part(_)) => {
                (Value::Text(sentences::quantity(text)), Unit::Text)
            }
        };
        Measured {
            name: figure.name,
            value,
            unit,
            low: figure.interval.map(|(low, _)| low),
            high: figure.interval.map(|(_, high)| high),
            operations: figure.operations,
        }
    }
}

impl From<&Evidence> for Piece {
    fn from(evidence: &Evidence) -> Piece {
        Piece {
            row: evidence.row.clone(),
            text: sentences::evidence(evidence),
            figures: evidence.figures.iter().map(Measured::from).collect(),
        }
    }
}

/// A row that no finding can come from.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct NotSeen {
    /// Index into runs.
    run: usize,
    /// Name of the row.
    row: String,
    /// Why.
    why: String,
    /// Whether that is for a warning, and not for the server: the row is inconclusive.
    disqualified: bool,
}

impl From<&[Diagnosed]> for Document {
    fn from(all: &[Diagnosed]) -> Document {
        let mut document = Document {
            schema_version: SCHEMA_VERSION,
            // Only a series of runs of one server can end early.
            incomplete: all
                .iter()
                .find_map(|of| of.incomplete.as_ref())
                .map(Incomplete::from),
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
            document.runs.extend(runs.iter().map(Run::from));
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

impl From<&super::Incomplete> for Incomplete {
    fn from(of: &super::Incomplete) -> Incomplete {
        let not_measured = of.not_measured.iter().map(|missing| NotMeasured {
            suite: missing.suite.clone(),
            users: missing.users,
            repeat: missing.is_repeat,
        });
        Incomplete {
            reason: match of.failure {
                None => Reason::Interrupted,
                Some(_) => Reason::Failed,
            },
            text: incomplete::sentence(of),
            not_measured: not_measured.collect(),
        }
    }
}

impl From<&DiagnosedRun> for Run {
    fn from(run: &DiagnosedRun) -> Run {
        Run {
            name: run.name.clone(),
            suite: run.suite.clone(),
            target: run.target.clone(),
            users: run.users,
            server: run.server.clone(),
        }
    }
}

/// A finding in runs of which the first has that index.
pub(crate) fn found(finding: &Finding, first: usize) -> Found {
    Found {
        rule: finding.rule,
        title: words(finding).title,
        text: sentences::text(finding),
        figures: finding.figures.iter().map(Measured::from).collect(),
        evidence: finding.evidence.iter().map(Piece::from).collect(),
        look_at: words(finding).look_at,
        tests: finding.tests.clone(),
        run: first + finding.run,
        saves_percent: finding.weight * 100.0,
    }
}

fn not_seen(left: &LeftOut, first: usize) -> NotSeen {
    NotSeen {
        run: first + left.run,
        row: left.row.clone(),
        why: super::why(&left.why),
        disqualified: left.disqualified,
    }
}
