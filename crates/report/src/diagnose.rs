//! Findings, most costly first, for people and for programs.

pub(crate) mod sentences;
pub(crate) mod wire;
pub(crate) mod words;

use record::{NoteRecord, PlanRecord};
use schemars::JsonSchema;
use serde::Serialize;
use stats::{Diagnosis, Finding, LeftOut, MANY, Material, WhyLeftOut, all_rules};

use crate::figure::percent;
use crate::incomplete::Incomplete;
#[cfg(feature = "schema")]
use crate::json::schema_of;
use crate::json::{SeedJson, pretty};
use crate::lists::{distinct, more_rows};
use crate::reasons::reason;
use crate::terminal::{TextReport, wrap};
use crate::{clean, warning};

use words::words;

/// Smallest share of all time that a title states: smaller shares decide nothing.
const STATED: f64 = 0.005;

/// Pieces of evidence that are shown to people.
const SHOWN: usize = 5;

/// Runs of one server, and their findings.
#[derive(Debug, Clone, PartialEq)]
pub struct Diagnosed {
    /// The runs that were checked.
    pub runs: Vec<DiagnosedRun>,
    /// Findings of all rules.
    pub diagnosis: Diagnosis,
    /// Why runs are missing, where the series of runs ended early.
    pub incomplete: Option<Incomplete>,
}

/// A run that was checked.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields, rename = "Run")]
pub struct DiagnosedRun {
    /// Directory or name.
    pub name: String,
    /// Name of its suite.
    pub suite: String,
    /// Its target URL.
    pub target: String,
    /// Concurrent users.
    pub users: u32,
    /// Seed of everything random.
    pub seed: SeedJson,
    /// The server's name from its Server header; null without one.
    pub server: Option<String>,
    /// What whoever made it says about it (`--note`); absent without.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<NoteRecord>,
    /// Rows of the report.
    #[serde(skip)]
    pub rows: usize,
}

impl DiagnosedRun {
    /// The run recorded under `name`.
    pub fn of(material: &Material, name: String) -> DiagnosedRun {
        let PlanRecord { suite, target, .. } = &material.plan;
        let server = material.server.as_ref();
        DiagnosedRun {
            name,
            suite: suite.name.clone(),
            target: target.clone(),
            users: material.plan.load.users,
            seed: material.plan.load.seed.into(),
            server: server.and_then(|server| server.software.clone()),
            notes: material.plan.notes.clone(),
            rows: material.plan.measures.len(),
        }
    }
}

/// The diagnoses for people. Ends with a newline.
pub fn diagnose_text(all: &[Diagnosed], color: bool, width: usize) -> String {
    let mut report = TextReport::new(color, width);
    for diagnosed in all {
        report.diagnosis(diagnosed);
    }
    report.finish()
}

impl TextReport {
    fn diagnosis(&mut self, diagnosed: &Diagnosed) {
        let Diagnosed {
            runs,
            diagnosis,
            incomplete,
        } = diagnosed;
        // What was not measured or had to be left out stands first: it may contain the fault.
        self.incomplete(incomplete.as_ref());
        if let Some(line) = disqualified(diagnosed) {
            self.first_of_all(&line);
        }
        if let Some(run) = runs.first() {
            let server = run.server.as_deref();
            let server = server.map_or(String::new(), |server| format!(" ({})", clean(server)));
            self.wrapped("", "  ", &format!("Server: {}{server}", clean(&run.target)));
        }
        for run in runs {
            let users = match run.users {
                1 => String::new(),
                users => format!(", {users} users"),
            };
            let (name, suite) = (clean(&run.name), clean(&run.suite));
            self.wrapped("", "  ", &format!("Run: {name} (suite {suite}{users})"));
        }
        let notes = runs.iter().flat_map(|run| &run.notes).cloned();
        self.user_notes("", &distinct(notes));
        self.line("");
        if diagnosis.findings.is_empty() {
            self.wrapped("", "", &nothing(diagnosed));
        } else {
            self.line("What to fix first:\n");
        }
        for (finding, number) in diagnosis.findings.iter().zip(1..) {
            self.finding(finding, number);
        }
        self.remainder(SEEN_ONCE, diagnosis.seen_once.iter().map(seen_once));
        self.remainder(NOT_CHECKED, left_out(diagnosed));
        self.line("");
    }

    /// A list below the findings; nothing for no items.
    fn remainder(&mut self, heading: &str, items: impl IntoIterator<Item = String>) {
        for (place, item) in items.into_iter().enumerate() {
            if place == 0 {
                self.line(&format!("\n{heading}:"));
            }
            self.wrapped("- ", "  ", &item);
        }
    }

    fn finding(&mut self, finding: &Finding, number: usize) {
        let indent = " ".repeat(number.to_string().len() + 2);
        let title = format!("{number}. {}", title(finding));
        let title = wrap(self.width, "", &indent, &title);
        self.line(&self.paint.doubtful(&title));
        self.wrapped(&indent, &indent, &clean(&sentences::text(finding)));
        for piece in evidence(finding) {
            let (first, next) = (format!("{indent}- "), format!("{indent}  "));
            self.wrapped(&first, &next, &clean(&piece));
        }
        let look_at = format!("Look at {} [{}]", words(finding).look_at, finding.rule);
        self.wrapped(&indent, &indent, &look_at);
        self.line("");
    }
}

/// Each with the place of its first run among the runs of all.
pub(crate) fn with_places(all: &[Diagnosed]) -> impl Iterator<Item = (usize, &Diagnosed)> {
    all.iter().scan(0, |next, diagnosed| {
        let first = *next;
        *next += diagnosed.runs.len();
        Some((first, diagnosed))
    })
}

/// Heading of what a second run may not confirm.
pub(crate) const SEEN_ONCE: &str =
    "Seen in one run only; a finding once a second run of the suite shows it as well";

/// Heading of the rows that were not checked.
pub(crate) const NOT_CHECKED: &str = "Rows that were not checked";

/// Such a finding in a line.
pub(crate) fn seen_once(finding: &Finding) -> String {
    let evidence = finding.evidence.first().map(sentences::evidence);
    let evidence = evidence.unwrap_or_default();
    format!(
        "{}: {} [{}]",
        words(finding).title,
        clean(&evidence),
        finding.rule
    )
}

/// The evidence of a finding in lines, the worst rows first.
pub(crate) fn evidence(finding: &Finding) -> Vec<String> {
    let shown = finding.evidence.iter().take(SHOWN);
    let more = more_rows(finding.evidence.len().saturating_sub(SHOWN));
    shown.map(sentences::evidence).chain(more).collect()
}

/// The title of a finding, and its share of all time.
pub(crate) fn title(finding: &Finding) -> String {
    match finding.weight {
        share if share >= STATED => {
            let share = percent(share.min(1.0));
            format!("{} ({share} of all time)", words(finding).title)
        }
        _ => words(finding).title.to_owned(),
    }
}

/// The sentence in place of findings. It states how many rows were checked, because the absence of findings
/// says nothing of rows that were left out.
pub(crate) fn nothing(diagnosed: &Diagnosed) -> String {
    let rows: usize = diagnosed.runs.iter().map(|run| run.rows).sum();
    let looked_at = rows.saturating_sub(diagnosed.diagnosis.left_out.len());
    match looked_at {
        0 => "Findings: none, because no row could be checked.".to_owned(),
        _ => {
            let of = if looked_at == rows {
                String::new()
            } else {
                format!(" of {rows}")
            };
            format!(
                "Findings: none ({} checks of {looked_at}{of} rows).{}",
                all_rules().count(),
                too_few(diagnosed.diagnosis.few)
            )
        }
    }
}

/// The rows that a warning disqualifies, and why; `None` where there are none.
pub(crate) fn disqualified(diagnosed: &Diagnosed) -> Option<String> {
    let mut rows = diagnosed.diagnosis.disqualified();
    let first = rows.next()?;
    let more = more_rows(rows.count()).map_or(String::new(), |more| format!(", {more}"));
    Some(format!(
        "Inconclusive: {} (suite {}){more} could not be checked, see below: {}",
        clean(&first.row),
        suite_of(diagnosed, first.run),
        clean(&why(&first.why))
    ))
}

/// The rows that were not checked, except those of a finding.
pub(crate) fn left_out(diagnosed: &Diagnosed) -> Vec<String> {
    let Diagnosis {
        findings, left_out, ..
    } = &diagnosed.diagnosis;
    let has_finding = |left: &&LeftOut| {
        let mut tests = findings.iter().flat_map(|finding| &finding.tests);
        tests.any(|test| *test == left.row)
    };
    // A suite may have been measured again, or with several users.
    let left_out = left_out.iter().filter(|left| !has_finding(left));
    distinct(left_out.map(|left| {
        let suite = suite_of(diagnosed, left.run);
        let (row, why) = (clean(&left.row), clean(&why(&left.why)));
        format!("{row} (suite {suite}): {why}")
    }))
}

/// Why a row was not checked.
pub(crate) fn why(why: &WhyLeftOut) -> String {
    match why {
        WhyLeftOut::Evidence(evidence) => reason(evidence),
        WhyLeftOut::Warned(of) => warning(of),
        WhyLeftOut::NoTimes => "no response times".to_owned(),
    }
}

fn suite_of(diagnosed: &Diagnosed, run: usize) -> String {
    let run = diagnosed.runs.get(run);
    run.map_or_else(String::new, |run| clean(&run.suite))
}

/// What cannot be checked in rows with few operations.
fn too_few(rows: usize) -> String {
    let have = match rows {
        0 => return String::new(),
        1 => "One of them has".to_owned(),
        rows => format!("{rows} of them have"),
    };
    format!(
        " {have} fewer than {MANY} operations, too few for checks of the course of a run (trends, modes, \
         intervals, first requests); raise -r."
    )
}

/// The diagnoses for programs: one JSON document.
pub fn diagnose_json(all: &[Diagnosed]) -> String {
    pretty(&wire::DiagnosisDocument::from(all))
}

/// The findings alone, for programs: a JSON list.
pub fn findings_json(findings: &[Finding]) -> String {
    let findings: Vec<wire::FindingJson> =
        findings.iter().map(|found| wire::found(found, 0)).collect();
    pretty(&findings)
}

/// The JSON schema of [`diagnose_json`]: the content of `docs/diagnosis.schema.json`.
#[cfg(feature = "schema")]
pub fn diagnose_schema() -> String {
    schema_of::<wire::DiagnosisDocument>()
}
