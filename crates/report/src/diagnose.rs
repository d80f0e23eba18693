//! Findings, most costly first, for people and for programs.

mod json;
mod sentences;
mod words;

use record::{NoteRecord, PlanRecord};
use schemars::JsonSchema;
use serde::Serialize;
use stats::{Diagnosis, Finding, LeftOut, MANY, Material, WhyLeftOut, all_rules};

use crate::document::{Block, ListItem, ListLook, Tone, Words};
use crate::figure::percent;
use crate::incomplete::Incomplete;
use crate::json::SeedJson;
use crate::lists::{distinct, more_rows, number_of};
use crate::notes;
use crate::reasons::reason;
use crate::terminal::TextReport;
use crate::warning;

pub(crate) use json::all_findings;
#[cfg(feature = "schema")]
pub use json::diagnose_schema;
pub use json::{diagnose_json, findings_json};
use words::words;

/// Smallest share of all time that a title states: smaller shares decide nothing.
const STATED: f64 = 0.005;

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
        report.blocks(&document(diagnosed));
    }
    report.finish()
}

/// A diagnosis alone. What was not measured or had to be left out stands first: it may contain the
/// fault.
fn document(diagnosed: &Diagnosed) -> Vec<Block> {
    let unnamed = |_| Words::default();
    let incomplete = diagnosed.incomplete.iter().map(Incomplete::alert);
    incomplete
        .chain(disqualified(diagnosed, Words::default()))
        .chain([
            Block::Facts(facts(&diagnosed.runs)),
            findings(std::slice::from_ref(diagnosed), &unnamed, &unnamed),
        ])
        .collect()
}

fn facts(runs: &[DiagnosedRun]) -> Vec<(String, Words)> {
    let fact = |name: &str, value: String| (name.to_owned(), value.into());
    let server = runs.first().map(|run| {
        let software = run.server.iter().map(|server| format!(" ({server})"));
        let software: String = software.collect();
        fact("Server", format!("{}{software}", run.target))
    });
    let each = runs.iter().map(|run| {
        let users = match run.users {
            1 => String::new(),
            users => format!(", {users} users"),
        };
        fact("Run", format!("{} (suite {}{users})", run.name, run.suite))
    });
    let notes = distinct(runs.iter().flat_map(|run| run.notes.clone()));
    let notes = notes::facts("", &notes);
    server.into_iter().chain(each).chain(notes).collect()
}

/// The findings, and the rows that were not checked. By the number of a run among all: `whose`
/// stands before sentences about it, `whose_all` before those about all runs of its server.
pub(crate) fn findings(
    all: &[Diagnosed],
    whose_all: &dyn Fn(usize) -> Words,
    whose: &dyn Fn(usize) -> Words,
) -> Block {
    let mut blocks = Vec::new();
    let (mut once, mut unchecked) = (Vec::new(), Vec::new());
    for (first, diagnosed) in with_places(all) {
        let Diagnosis {
            findings,
            seen_once,
            ..
        } = &diagnosed.diagnosis;
        if findings.is_empty() {
            let nothing = whose_all(first).plain(nothing(diagnosed));
            blocks.push(Block::Paragraph(nothing));
        }
        let items = findings.iter().map(|finding| {
            ListItem::finding(
                whose(first + finding.run).plain(title(finding)),
                sentences::text(finding),
                evidence(finding),
                &format!("{} [{}]", words(finding).look_at, finding.rule),
            )
        });
        blocks.push(Block::list("", ListLook::Numbers, items));
        let seen = seen_once.iter();
        once.extend(seen.map(|one| whose(first + one.run).plain(briefly(one))));
        let rows = left_out(diagnosed).into_iter();
        unchecked.extend(rows.map(|row| whose_all(first).plain(row)));
    }
    let is_found = all.iter().any(|of| !of.diagnosis.findings.is_empty());
    let once = Block::list(
        "Seen in one run only; a finding once a second run of the suite shows it as well",
        ListLook::Folded,
        once,
    );
    let unchecked = Block::list("Rows that were not checked", ListLook::Folded, unchecked);
    blocks.extend([once, unchecked]);
    Block::findings(is_found, blocks)
}

/// Each with the place of its first run among the runs of all.
pub(crate) fn with_places(all: &[Diagnosed]) -> impl Iterator<Item = (usize, &Diagnosed)> {
    all.iter().scan(0, |next, diagnosed| {
        let first = *next;
        *next += diagnosed.runs.len();
        Some((first, diagnosed))
    })
}

fn briefly(finding: &Finding) -> String {
    let evidence = finding.evidence.first().map(sentences::evidence);
    let (title, evidence) = (words(finding).title, evidence.unwrap_or_default());
    format!("{title}: {evidence} [{}]", finding.rule)
}

fn evidence(finding: &Finding) -> Vec<String> {
    let shown = finding.evidence.iter().take(SHOWN);
    let more = more_rows(finding.evidence.len().saturating_sub(SHOWN));
    shown.map(sentences::evidence).chain(more).collect()
}

fn title(finding: &Finding) -> String {
    match finding.weight {
        share if share >= STATED => {
            let share = percent(share.min(1.0));
            format!("{} ({share} of all time)", words(finding).title)
        }
        _ => words(finding).title.to_owned(),
    }
}

/// The sentence instead of findings, with the number of rows that were checked: others may have
/// some.
fn nothing(diagnosed: &Diagnosed) -> String {
    let rows: usize = diagnosed.runs.iter().map(|run| run.rows).sum();
    let looked_at = rows.saturating_sub(diagnosed.diagnosis.left_out.len());
    match looked_at {
        0 => "None, because no row could be checked.".to_owned(),
        _ => {
            let checked = if looked_at == rows {
                number_of(rows as u64, "row")
            } else {
                format!("{looked_at} of {}", number_of(rows as u64, "row"))
            };
            format!(
                "None ({} checks of {checked}).{}",
                all_rules().count(),
                too_few(diagnosed.diagnosis.few)
            )
        }
    }
}

pub(crate) fn disqualified(diagnosed: &Diagnosed, whose: Words) -> Option<Block> {
    let mut rows = diagnosed.diagnosis.disqualified();
    let first = rows.next()?;
    let more = more_rows(rows.count()).map_or(String::new(), |more| format!(", {more}"));
    let sentence = format!(
        "Inconclusive: {} (suite {}){more} could not be checked, see below: {}",
        first.row,
        suite_of(diagnosed, first.run),
        why(&first.why)
    );
    Some(Block::Alert(Tone::Bad, whose.plain(sentence)))
}

fn left_out(diagnosed: &Diagnosed) -> Vec<String> {
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
        format!("{} (suite {suite}): {}", left.row, why(&left.why))
    }))
}

fn why(why: &WhyLeftOut) -> String {
    match why {
        WhyLeftOut::Evidence(evidence) => reason(evidence),
        WhyLeftOut::Warned(of) => warning(of),
        WhyLeftOut::NoTimes => "no response times".to_owned(),
    }
}

fn suite_of(diagnosed: &Diagnosed, run: usize) -> &str {
    let run = diagnosed.runs.get(run);
    run.map_or("", |run| &run.suite)
}

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
