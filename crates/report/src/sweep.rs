//! How servers fare when something is varied, for people and for programs.

mod inside_wire;
pub(crate) mod wire;
pub(crate) mod words;

use record::NoteRecord;
use schemars::JsonSchema;
use serde::Serialize;
use stats::{PointRatio, Since, Status, SweepPoint, SweptRow, SweptServer};

use crate::clean;
use crate::compare::{times_since, words::ratio};
use crate::figure::with_interval;
use crate::incomplete::Incomplete;
use crate::inside::unknown_calls;
use crate::json::pretty;
#[cfg(feature = "schema")]
use crate::json::schema_of;
use crate::terminal::{Columns, TextReport};
use crate::text::UNKNOWN_SOFTWARE;
use crate::units::{human, human_range};

/// What a sweep found.
#[derive(Debug, Clone, PartialEq)]
pub struct Sweep {
    /// Name of the suite.
    pub suite: String,
    /// What was varied.
    pub vary: Vec<Varied>,
    /// Which points were measured.
    pub design: Design,
    /// How often each was to be measured.
    pub repeats: usize,
    /// Seed of the order of the runs, and of what they do.
    pub seed: u64,
    /// Share up to which an effect does not matter.
    pub same_within: f64,
    /// On which servers.
    pub servers: Vec<SweepServer>,
    /// What whoever made the runs says about them, each note once.
    pub notes: Vec<NoteRecord>,
    /// Why runs are missing, where it ended early.
    pub incomplete: Option<Incomplete>,
    /// What to know before believing it.
    pub caveats: Vec<String>,
    /// Row by row.
    pub rows: Vec<SweptRow>,
}

/// A parameter.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields, rename = "Parameter")]
pub struct Varied {
    /// Its name.
    pub name: String,
    /// Its values, ascending; sizes in bytes.
    pub values: Vec<f64>,
    /// Its values as they were written.
    pub written: Vec<String>,
}

/// Which points of a sweep are measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Design {
    /// All combinations of values.
    Grid,
    /// Each parameter on its own, with the others at their first value.
    OneAtATime,
}

impl Sweep {
    /// Runs at every point; fewer than were planned where the sweep ended early.
    fn repeats_made(&self) -> usize {
        let servers = self.rows.iter().flat_map(|row| &row.servers);
        let runs = servers.flat_map(|server| &server.points);
        runs.map(|point| point.runs).min().unwrap_or_default()
    }
}

impl Design {
    /// The name used in files.
    fn name(self) -> &'static str {
        match self {
            Design::Grid => "grid",
            Design::OneAtATime => "one at a time",
        }
    }
}

/// A server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields, rename = "Server")]
pub struct SweepServer {
    /// How it is called: its URL or its recipe.
    pub name: String,
    /// Where it is.
    pub target: String,
    /// What it says of itself; null where it says nothing.
    pub software: Option<String>,
}

/// The sweep for people. Ends with a newline.
pub fn sweep_text(sweep: &Sweep, color: bool, width: usize) -> String {
    let mut report = TextReport::new(color, width);
    heading(&mut report, sweep);
    for row in &sweep.rows {
        report.line(&format!("\n{} ({})", clean(&row.name), clean(&row.method)));
        for (server, swept) in sweep.servers.iter().zip(&row.servers) {
            for words in sentences(sweep, swept) {
                let words = match sweep.servers.len() {
                    1 => words,
                    _ => format!("{}: {words}", clean(&server.name)),
                };
                report.wrapped("  ", "    ", &words);
            }
        }
        for line in table(sweep, row) {
            let line = format!("    {line}");
            let bad = line.contains(FAILED).then(|| report.paint.bad(&line));
            report.line(&bad.unwrap_or(line));
        }
    }
    report.text
}

/// How the time of a row grows with a server, and what it costs inside of it, a sentence for each.
pub(crate) fn sentences(sweep: &Sweep, swept: &SweptServer) -> Vec<String> {
    let mut sentences = vec![words::sentence(sweep, &swept.growth)];
    if let Some(inside) = &swept.inside {
        let processor = words::sentence(sweep, &inside.processor);
        sentences.push(format!("processor time: {processor}"));
        if let Some(by) = inside.unseen {
            sentences.push(format!("calls on the storage: {}", unknown_calls(by)));
        } else if !inside.calls.is_empty() {
            let calls = words::calls_in_words(sweep, &inside.calls);
            sentences.push(format!("calls on the storage: {calls}"));
        }
    }
    sentences
}

/// How it was measured, in words.
pub(crate) fn how(sweep: &Sweep) -> String {
    let varied = sweep.vary.iter().map(|varied| {
        let values = varied.written.join(", ");
        clean(&format!("{} ({values})", varied.name))
    });
    let how = match sweep.design {
        Design::Grid if sweep.vary.len() > 1 => ", in all combinations",
        Design::OneAtATime if sweep.vary.len() > 1 => ", one at a time",
        _ => "",
    };
    let is_planned = |row: &SweptRow| row.since == Since::Planned;
    let since = if sweep.rows.iter().any(is_planned) {
        Since::Planned
    } else {
        Since::Sent
    };
    format!(
        "Suite {}, varied: {}{how}; {} at each point, in random order. Mean {}; \
         95 % intervals include the variation between runs.{} A parameter matters when it changes the \
         time by more than {}, with a family-wise error rate of 5 %.",
        clean(&sweep.suite),
        varied.collect::<Vec<_>>().join(" and "),
        runs_at_a_point(sweep),
        times_since(since),
        ratios(sweep),
        limit(sweep)
    )
}

/// What the columns of ratios are, where there are any.
fn ratios(sweep: &Sweep) -> String {
    match &sweep.servers[..] {
        [first, _, ..] => format!(
            " Ratios are to the mean time of {} at the same point, repeat by repeat.",
            clean(&first.name)
        ),
        _ => String::new(),
    }
}

/// `5 runs`, or `2 of 5 runs` where the sweep ended early.
fn runs_at_a_point(sweep: &Sweep) -> String {
    match (sweep.repeats_made(), sweep.repeats) {
        (made, planned) if made < planned => format!("{made} of {planned} runs"),
        (_, 1) => "1 run".to_owned(),
        (_, planned) => format!("{planned} runs"),
    }
}

/// `5 %`, as it was asked for.
pub(crate) fn limit(sweep: &Sweep) -> String {
    format!("{} %", (sweep.same_within * 1000.0).round() / 10.0)
}

fn heading(report: &mut TextReport, sweep: &Sweep) {
    report.incomplete(sweep.incomplete.as_ref());
    report.wrapped("", "", &how(sweep));
    report.line("");
    for server in &sweep.servers {
        let software = server.software.as_deref().unwrap_or(UNKNOWN_SOFTWARE);
        let line = if server.name == server.target {
            format!("{} ({software})", server.name)
        } else {
            format!("{}: {software}, {}", server.name, server.target)
        };
        report.wrapped("", "  ", &clean(&line));
    }
    report.user_notes("", &sweep.notes);
    for caveat in &sweep.caveats {
        report.wrapped("Warning: ", "  ", &clean(caveat));
    }
}

const FAILED: &str = "failed";

/// Every point at which any server was measured, in the order of the values.
pub(crate) fn levels(row: &SweptRow) -> Vec<&[usize]> {
    let points = row.servers.iter().flat_map(|server| &server.points);
    let mut all: Vec<&[usize]> = points.map(|point| point.levels.as_slice()).collect();
    all.sort();
    all.dedup();
    all
}

/// What a server did there.
pub(crate) fn point_at<'a>(server: &'a SweptServer, levels: &[usize]) -> Option<&'a SweepPoint> {
    server.points.iter().find(|point| point.levels == levels)
}

fn table(sweep: &Sweep, row: &SweptRow) -> Vec<String> {
    let names = sweep.vary.iter().map(|varied| clean(&varied.name));
    let servers = sweep.servers.iter().enumerate();
    let servers = servers.flat_map(|(place, server)| match (sweep.servers.len(), place) {
        (1, _) => vec!["mean".to_owned()],
        (_, 0) => vec![clean(&server.name)],
        _ => vec![clean(&server.name), RATIO.to_owned()],
    });
    let headers = names.chain(servers).collect();
    let line = |levels: &&[usize]| -> Vec<String> {
        let values = sweep.vary.iter().zip(*levels);
        let values = values.map(|(varied, level)| varied.written[*level].clone());
        let cells = row.servers.iter().enumerate().flat_map(|(place, server)| {
            let point = point_at(server, levels);
            let time = point.map_or(String::new(), cell);
            let ratio = point.and_then(|point| point.ratio);
            let ratio = ratio.map_or(String::new(), ratio_in_words);
            if place == 0 {
                vec![time]
            } else {
                vec![time, ratio]
            }
        });
        values.chain(cells).collect()
    };
    Columns::lines(headers, levels(row).iter().map(line), &[])
}

/// The heading of ratios to the first server.
pub(crate) const RATIO: &str = "ratio";

/// `1.23 (1.10 .. 1.38)`.
fn ratio_in_words(PointRatio { value, ci95 }: PointRatio) -> String {
    let (ratio, range) = ratio(value, ci95);
    with_interval(&ratio, range)
}

/// `412 us (389 .. 440 us)`.
fn cell(point: &SweepPoint) -> String {
    match (point.status, point.mean, point.ci95) {
        (Status::Ok, Some(mean), Some(ci95)) => {
            format!("{} ({})", human(mean), human_range(ci95))
        }
        (Status::Ok, Some(mean), None) => human(mean),
        _ => without_time(point),
    }
}

/// What became of a point without a time: `3 of 60 failed`.
pub(crate) fn without_time(point: &SweepPoint) -> String {
    match point.status {
        Status::Failed => format!("{} of {} {FAILED}", point.failed, point.operations),
        Status::NotSupported => "not supported".to_owned(),
        Status::Skipped => "skipped".to_owned(),
        Status::NotDrawn => "not drawn".to_owned(),
        Status::Ok => "no response time".to_owned(),
    }
}

/// The sweep for programs: one JSON document.
pub fn sweep_json(sweep: &Sweep) -> String {
    pretty(&wire::SweepDocument::from(sweep))
}

/// The JSON schema of [`sweep_json`]: the content of `docs/sweep.schema.json`.
#[cfg(feature = "schema")]
pub fn sweep_schema() -> String {
    schema_of::<wire::SweepDocument>()
}
