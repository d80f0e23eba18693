//! Lists of recorded runs, for people and for programs.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::clean;
use crate::json::pretty;
#[cfg(feature = "schema")]
use crate::json::schema_of;
use crate::lists::distinct;
use crate::terminal::{Columns, TextReport};

/// Version of the document. It grows when something is renamed or changes its meaning.
const SCHEMA_VERSION: u32 = 1;

/// A recorded run, as it is listed.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Run", deny_unknown_fields)]
pub struct ListedRun {
    /// Its name, which is that of its directory.
    pub name: String,
    /// Name of the series (a comparison, a sweep) that it belongs to; null for a single run.
    pub series: Option<String>,
    /// Its directory.
    pub path: String,
    /// Name of the suite.
    pub suite: String,
    /// URL of the collection or resource that was measured.
    pub target: String,
    /// Software that the server reported; null where it reported none, or was never reached.
    pub software: Option<String>,
    /// Start, RFC 3339, UTC.
    pub started_at: String,
    /// End, RFC 3339, UTC; null for a run that has none.
    pub ended_at: Option<String>,
    /// State of the run.
    pub state: ListedState,
    /// Bytes of its files.
    pub bytes: u64,
}

/// State of a recorded run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "State")]
pub enum ListedState {
    /// The run is being recorded.
    GoesOn,
    /// Complete: nothing failed, and the estimates describe the server.
    Pass,
    /// Complete: the load generator may have changed the result.
    Inconclusive,
    /// Complete: a test failed.
    Fail,
    /// Complete, and recorded by a version that did not record its conclusion.
    Complete,
    /// The user ended it.
    Interrupted,
    /// The run could not go on.
    Aborted,
    /// Its record has no end: the process was killed.
    Killed,
    /// Its record cannot be read.
    Unreadable,
}

impl ListedState {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            ListedState::GoesOn => "goes on",
            ListedState::Pass => "pass",
            ListedState::Inconclusive => "inconclusive",
            ListedState::Fail => "fail",
            ListedState::Complete => "complete",
            ListedState::Interrupted => "interrupted",
            ListedState::Aborted => "aborted",
            ListedState::Killed => "killed",
            ListedState::Unreadable => "unreadable",
        }
    }
}

/// A run, or those of a series: a line of a list.
#[derive(Debug, Clone, PartialEq)]
pub struct ListedGroup {
    /// The name of the run or of the series.
    pub name: String,
    /// The runs, the latest first; at least one.
    pub runs: Vec<ListedRun>,
}

impl ListedGroup {
    /// A single run.
    pub fn single(run: ListedRun) -> ListedGroup {
        ListedGroup {
            name: run.name.clone(),
            runs: vec![run],
        }
    }

    /// Runs as they are listed, those of a series together, at the place of the latest.
    pub fn by_series(runs: Vec<ListedRun>) -> Vec<ListedGroup> {
        let mut groups: Vec<ListedGroup> = Vec::new();
        let mut indices: BTreeMap<String, usize> = BTreeMap::new();
        for run in runs {
            match &run.series {
                None => groups.push(ListedGroup::single(run)),
                Some(series) => {
                    let index = *indices.entry(series.clone()).or_insert(groups.len());
                    if index == groups.len() {
                        let (name, runs) = (series.clone(), Vec::new());
                        groups.push(ListedGroup { name, runs });
                    }
                    groups[index].runs.push(run);
                }
            }
        }
        groups
    }

    /// Bytes of its files.
    pub fn bytes(&self) -> u64 {
        self.runs.iter().map(|run| run.bytes).sum()
    }

    /// The different values of its runs, the first run first.
    fn values(&self, value: impl Fn(&ListedRun) -> String) -> Vec<String> {
        distinct(self.runs.iter().rev().map(value))
    }

    /// States of its runs: `pass`, or `5 pass, 1 fail`.
    fn result(&self) -> String {
        let words = |run: &ListedRun| run.state.words().to_owned();
        let states = self.values(words);
        if let [state] = &states[..] {
            return state.clone();
        }
        let count = |state: &String| {
            let runs = self.runs.iter().filter(|run| words(run) == *state);
            format!("{} {state}", runs.count())
        };
        states.iter().map(count).collect::<Vec<_>>().join(", ")
    }

    /// Targets of its runs, as far as they fit.
    fn targets(&self) -> String {
        let targets = self.values(|run| clean(&run.target));
        match &targets[..] {
            [first, second, more @ ..] if !more.is_empty() => {
                format!("{first}, {second} and {} more", more.len())
            }
            targets => targets.join(", "),
        }
    }

    fn row(&self) -> Vec<String> {
        let first = self.runs.last();
        let started = first.map_or("", |run| &run.started_at);
        let started = started.get(..16).unwrap_or(started);
        vec![
            clean(&self.name),
            clean(&started.replace('T', " ")),
            self.result(),
            bytes(self.bytes()),
            self.values(|run| clean(&run.suite)).join(", "),
            self.targets(),
        ]
    }
}

/// A table of runs and series. Ends with a newline.
pub fn runs_text(groups: &[ListedGroup], width: usize) -> String {
    let mut report = TextReport::new(false, width);
    let headers = ["run", "started (UTC)", "result", "size", "suite", "target"].map(str::to_owned);
    let (mut headers, mut texts): (Vec<String>, &'static [usize]) =
        (headers.to_vec(), &[0, 1, 2, 4]);
    let has_series = groups.iter().any(|group| group.runs.len() > 1);
    if has_series {
        headers.insert(1, "runs".to_owned());
        texts = &[0, 2, 3, 5];
    }
    let row = |group: &ListedGroup| {
        let mut row = group.row();
        if has_series {
            row.insert(1, group.runs.len().to_string());
        }
        row
    };
    let rows = || groups.iter().map(row);
    match Columns::lines_with_words(width, headers, rows(), texts) {
        Some(lines) => lines.iter().for_each(|line| report.line(line)),
        None => rows().for_each(|row| report.wrapped("", "  ", &row.join("  "))),
    }
    report.finish()
}

/// All that is known of a run without its samples. Ends with a newline.
pub fn run_text(run: &ListedRun, width: usize) -> String {
    let mut report = TextReport::new(false, width);
    let ended = run.ended_at.as_deref().unwrap_or("-");
    let software = run.software.as_deref().unwrap_or("-");
    let size = bytes(run.bytes);
    for (what, value) in [
        ("Run", run.name.as_str()),
        ("Directory", &run.path),
        ("Suite", &run.suite),
        ("Target", &run.target),
        ("Server", software),
        ("Started", &run.started_at),
        ("Ended", ended),
        ("Result", run.state.words()),
        ("Size", &size),
    ] {
        report.wrapped(&format!("{what:11}"), "           ", &clean(value));
    }
    report.finish()
}

/// `1.2 MiB`.
pub fn bytes(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    let mut scaled = bytes as f64 / 1024.0;
    let mut units = UNITS.iter();
    let mut unit = units.next().unwrap_or(&"");
    while let Some(larger) = units.as_slice().first().filter(|_| scaled >= 1024.0) {
        (scaled, unit) = (scaled / 1024.0, larger);
        units.next();
    }
    let digits = usize::from(scaled < 10.0);
    format!("{scaled:.digits$} {unit}")
}

/// Recorded runs, the latest first.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Document", deny_unknown_fields, title = "Prestan runs")]
struct RunsDocument<'a> {
    /// Version of this document.
    #[schemars(extend("const" = SCHEMA_VERSION))]
    schema_version: u32,
    /// The runs: all of them, the one that was asked for, or those that were removed.
    runs: &'a [ListedRun],
}

/// The same for programs: one JSON document.
pub fn runs_json(runs: &[ListedRun]) -> String {
    pretty(&RunsDocument {
        schema_version: SCHEMA_VERSION,
        runs,
    })
}

/// The JSON schema of [`runs_json`]: the content of `docs/runs.schema.json`.
#[cfg(feature = "schema")]
pub fn runs_schema() -> String {
    schema_of::<RunsDocument<'_>>()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(name: &str, bytes: u64, state: ListedState) -> ListedRun {
        ListedRun {
            name: name.to_owned(),
            series: None,
            path: format!("runs/{name}"),
            suite: "prestan".to_owned(),
            target: "http://127.0.0.1:8080/dav/".to_owned(),
            software: None,
            started_at: "2026-11-22T10:00:59Z".to_owned(),
            ended_at: None,
            state,
            bytes,
        }
    }

    #[test]
    fn sizes_have_a_unit() {
        let table = [
            (0, "0.0 KiB"),
            (1536, "1.5 KiB"),
            (400 << 10, "400 KiB"),
            (5 << 20, "5.0 MiB"),
            (3 << 40, "3.0 TiB"),
            (5000 << 40, "5000 TiB"),
        ];
        for (number, expected) in table {
            assert_eq!(bytes(number), expected);
        }
    }

    #[test]
    fn a_table_is_as_wide_as_the_terminal() {
        let runs = [
            run("monday", 1536, ListedState::Pass),
            run("tuesday", 5 << 20, ListedState::GoesOn),
        ];
        let wide = "\
run      started (UTC)     result      size  suite    target
monday   2026-11-22 10:00  pass     1.5 KiB  prestan  http://127.0.0.1:8080/dav/
tuesday  2026-11-22 10:00  goes on  5.0 MiB  prestan  http://127.0.0.1:8080/dav/
";
        let groups = runs.clone().map(ListedGroup::single);
        assert_eq!(runs_text(&groups, 100), wide);
        for width in [60, 40] {
            for line in runs_text(&groups, width).lines() {
                assert!(line.chars().count() <= width, "{line}");
            }
        }
        let all = run_text(&runs[1], 60);
        assert!(all.contains("Result     goes on\n"), "{all}");
    }

    #[test]
    fn a_series_is_one_line() {
        let of = |name: &str, port: u16, state| ListedRun {
            series: Some("week".to_owned()),
            target: format!("http://127.0.0.1:{port}/"),
            ..run(name, 1 << 20, state)
        };
        let runs = vec![
            of("week-b2", 4, ListedState::Pass),
            run("tuesday", 5 << 20, ListedState::Fail),
            of("week-a2", 3, ListedState::Inconclusive),
            of("week-b1", 2, ListedState::Pass),
            of("week-a1", 1, ListedState::Pass),
        ];
        let groups = ListedGroup::by_series(runs);
        let text = "\
run      runs  started (UTC)     result                     size  suite    target
week        4  2026-11-22 10:00  3 pass, 1 inconclusive  4.0 MiB  prestan  http://127.0.0.1:1/, http://127.0.0.1:2/ \
                                                                           and 2 more
tuesday     1  2026-11-22 10:00  fail                    5.0 MiB  prestan  http://127.0.0.1:8080/dav/
";
        assert_eq!(runs_text(&groups, 140), text);
    }
}
