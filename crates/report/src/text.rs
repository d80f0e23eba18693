//! The report for people, from top to bottom: the rows, what to make of them, and how they were
//! measured.

mod beside;
mod brief;
mod configuration;
mod of_2004;
mod pages_of_tests;

use record::{LeftBehind, Pace, Run};
use stats::{Completeness, Note, Status, Summary, TestSummary, WarningKind};

use crate::background;
use crate::clean;
use crate::conclusion::inconclusive_briefly;
use crate::json::BesideResult;
use crate::load;
use crate::reasons::{self, abort_reason};
use crate::table::{TableRows, TextTable, table};
use crate::targets::all_targets;
use crate::terminal::{TextReport, wrap};
use crate::webstone;
use configuration::warm_up;
pub(crate) use configuration::{UNKNOWN_SOFTWARE, configuration, dav_classes};

/// How the report is to look.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextOptions {
    /// Mark what failed, what is not supported and what is doubtful with colours.
    pub color: bool,
    /// Columns of the terminal.
    pub width: usize,
    /// Which report.
    pub layout: TextLayout,
    /// Where the run was saved, if it was.
    pub saved_to: Option<String>,
}

/// Which report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TextLayout {
    /// The figures first, then what limits them, and at the end how they were measured.
    #[default]
    Full,
    /// The figures, and one sentence about their limits.
    Brief,
    /// That of Xu (2004), section 5.6, to the letter, and nothing else.
    Of2004,
    /// Every system call of the server that was counted, and nothing else.
    Calls,
}

impl Default for TextOptions {
    fn default() -> TextOptions {
        TextOptions {
            color: false,
            width: 100,
            layout: TextLayout::Full,
            saved_to: None,
        }
    }
}

/// The report for people. Ends with a newline.
pub fn text(
    run: &Run,
    summary: &Summary,
    beside: &[BesideResult<'_>],
    options: &TextOptions,
) -> String {
    let mut report = TextReport::new(options.color, options.width);
    match options.layout {
        TextLayout::Of2004 => return of_2004::text(run, summary),
        TextLayout::Calls => return crate::inside::list(run, summary, options.width),
        TextLayout::Brief => report.brief(run, summary),
        TextLayout::Full => report.full(run, summary, beside),
    }
    if let Some(place) = &options.saved_to {
        report.line("");
        report.line(&format!("Saved in {}", clean(place)));
    }
    report.text
}

impl TextReport {
    fn full(&mut self, run: &Run, summary: &Summary, beside: &[BesideResult<'_>]) {
        self.headline(run, summary);
        self.pages(run, summary);
        self.rows(run, summary);
        self.constraints(summary);
        self.load_steps(run, summary);
        self.background(run, summary);
        self.inside(&run.plan, summary);
        self.server_view(summary);
        self.generator(summary);
        if run.plan.load.pace != Pace::Rounds {
            self.throughput(summary);
        }
        self.connecting(summary);
        self.histograms(summary);
        self.failures(summary);
        self.notes(summary);
        self.left_out(run, summary);
        self.warnings(summary);
        self.left_behind(&summary.left_behind);
        self.completeness(summary);
        for load in beside {
            self.beside(load);
        }
        self.configuration(run, summary);
    }

    /// A heading after an empty line; nothing when there is nothing to stand below it.
    fn section(&mut self, heading: &str, items: &[ReportItem]) {
        if items.is_empty() {
            return;
        }
        self.line("");
        self.line(heading);
        for item in items {
            self.item(item);
        }
    }

    /// An item and what belongs to it, wrapped below itself.
    fn item(&mut self, item: &ReportItem) {
        self.wrapped("- ", "  ", &item.text);
        for text in &item.below {
            self.wrapped("    ", "      ", text);
        }
    }

    /// Figures that do not describe the server are named above them, with the reason.
    fn conclusion(&mut self, summary: &Summary) {
        let Some(rows) = inconclusive_briefly(summary) else {
            return;
        };
        let sentence = clean(&format!("Inconclusive: {rows}"));
        let wrapped = wrap(self.width, "", "", &sentence);
        let painted = wrapped.replacen("Inconclusive", &self.paint.bad("Inconclusive"), 1);
        self.line(&painted);
        self.line("");
    }

    /// What was measured, and before it what of that is inconclusive.
    fn headline(&mut self, run: &Run, summary: &Summary) {
        self.conclusion(summary);
        let plan = &run.plan;
        let software = run.env.server.as_ref();
        let software = software.and_then(|server| server.software.as_deref());
        let server = software.map_or(String::new(), |name| format!(" ({name})"));
        let load = load::pace(&plan.load.pace).map_or(String::new(), |pace| format!(", {pace}"));
        let on = all_targets(plan, &run.env).unwrap_or_else(|| format!("{}{server}", plan.target));
        let headline = format!("{} on {on}{load}", plan.suite.name);
        self.wrapped("", "  ", &clean(&headline));
    }

    /// How it was measured.
    fn configuration(&mut self, run: &Run, summary: &Summary) {
        self.line("");
        for (what, value) in configuration(&run.plan, &run.env, summary) {
            self.wrapped("", "  ", &format!("* {what} {}", clean(&value)));
        }
        self.wrapped("", "  ", &format!("* Warm-up {}", warm_up(run, summary)));
        self.line(&format!("* Prestan {}", clean(&run.plan.prestan)));
    }

    /// The report of WebSTONE, where there are pages.
    fn pages(&mut self, run: &Run, summary: &Summary) {
        let Some(pages) = &summary.pages else { return };
        if run.plan.load.pace == Pace::Rounds {
            return self.pages_of_tests(pages);
        }
        self.line("");
        for line in webstone::classic(run, pages) {
            self.line(&line);
        }
        self.line("");
        self.line("As later versions of WebStone counted (no intervals):");
        for line in webstone::later(run, pages) {
            self.line(&line);
        }
        let beyond = webstone::beyond(run, pages);
        let beyond = beyond.iter().map(|line| ReportItem::new(line));
        self.section(
            "Beyond WebSTONE, with 95 % intervals:",
            &beyond.collect::<Vec<_>>(),
        );
    }

    fn rows(&mut self, run: &Run, summary: &Summary) {
        self.line("");
        if summary.tests.is_empty() {
            self.line("Nothing to measure: the plan has no test");
            return;
        }
        let rows = match (&summary.pages, &run.plan.load.pace) {
            (Some(_), _) | (None, Pace::Rounds) => TableRows::Tests,
            (None, Pace::Closed | Pace::Open { .. }) => TableRows::Load,
        };
        let TextTable { text, footnotes } = table(summary, rows, self.width, self.paint);
        self.text.push_str(&text);
        if !footnotes.is_empty() {
            self.line("");
        }
        for footnote in footnotes {
            self.wrapped("", "", &footnote);
        }
    }

    fn generator(&mut self, summary: &Summary) {
        if let Some(sentence) = load::generator(summary) {
            self.line("");
            self.wrapped("", "  ", &sentence);
        }
    }

    fn throughput(&mut self, summary: &Summary) {
        let items: Vec<ReportItem> = summary
            .tests
            .iter()
            .filter(|test| test.method != record::STOP_WATCH)
            .filter_map(|test| {
                let text = clean(&load::throughput(test, summary.pages.is_some())?);
                let below = load::other_times(test);
                // Pages have a throughput; their files are many, and have a row each already.
                let is_file = summary.pages.is_some() && below.is_empty();
                (!is_file).then_some(ReportItem { text, below })
            })
            .collect();
        self.section("Throughput:", &items);
    }

    fn connecting(&mut self, summary: &Summary) {
        let rows = summary.tests.iter();
        let items: Vec<ReportItem> = rows
            .filter_map(load::connecting)
            .map(ReportItem::from)
            .collect();
        self.section("Connecting, with 95 % intervals:", &items);
    }

    fn histograms(&mut self, summary: &Summary) {
        if summary.tests.len() > HISTOGRAMS || summary.pages.is_some() {
            return;
        }
        for test in &summary.tests {
            if !test.spread.is_empty() {
                self.line("");
                let histogram = load::histogram(test, self.width);
                self.text.push_str(&histogram);
            }
        }
    }

    /// Background traffic beside the run.
    fn background(&mut self, run: &Run, summary: &Summary) {
        let (Some(record), Some(own)) = (&run.plan.background, &summary.background) else {
            return;
        };
        let items = background::in_words(record, own);
        let items: Vec<ReportItem> = items
            .iter()
            .map(|item| ReportItem::new(&clean(item)))
            .collect();
        self.section("Background traffic while measuring:", &items);
    }

    fn failures(&mut self, summary: &Summary) {
        let items: Vec<ReportItem> = summary.tests.iter().filter_map(failure).collect();
        self.section(&self.paint.bad("Failures:"), &items);
    }

    fn notes(&mut self, summary: &Summary) {
        let items: Vec<ReportItem> = notes(summary)
            .iter()
            .map(|note| ReportItem::new(note))
            .collect();
        self.section("Notes:", &items);
    }

    fn left_out(&mut self, run: &Run, summary: &Summary) {
        let supported = || {
            summary
                .tests
                .iter()
                .filter(|test| !test.status.is_beyond_the_server())
        };
        let left_out: u64 = supported().map(TestSummary::left_out).sum();
        if left_out == 0 {
            return;
        }
        let counted: u64 = supported().map(TestSummary::operations).sum();
        let users = match run.plan.load.users {
            1 => "the user is".to_owned(),
            _ if run.plan.load.adapt.is_some() => "users are".to_owned(),
            users => format!("all {users} users are"),
        };
        let is_closed_load = run.plan.load.pace == Pace::Closed;
        if counted == 0 && is_closed_load && summary.complete != Completeness::Complete {
            let item = ReportItem::new(&format!(
                "all {left_out} operations: the run ended before its measurement window began. A closed loop \
                 does not measure the first tenth of its duration (10 s at most)"
            ));
            return self.section("Left out:", &[item]);
        }
        let item = ReportItem::new(&format!(
            "{left_out} of {} operations began outside the measurement window, in which {users} active; \
             none of the times above includes them",
            counted + left_out,
        ));
        self.section("Left out:", &[item]);
    }

    fn warnings(&mut self, summary: &Summary) {
        let items = warnings(summary).map(|warning| ReportItem::new(&warning));
        let items: Vec<ReportItem> = items.collect();
        self.section(&self.paint.doubtful("Warnings:"), &items);
    }

    fn left_behind(&mut self, left: &[LeftBehind]) {
        let items: Vec<ReportItem> = left
            .iter()
            .map(|left| {
                let whose = if left.own {
                    "of this run"
                } else {
                    "of an earlier run"
                };
                ReportItem::new(&format!("{} ({whose}): {}", left.url, left.reason))
            })
            .collect();
        let heading = "Leftovers on the server:";
        self.section(&self.paint.doubtful(heading), &items);
    }

    fn completeness(&mut self, summary: &Summary) {
        self.ended_early(summary);
        let (word, how) = match &summary.complete {
            Completeness::Complete => return,
            Completeness::Interrupted => ("Interrupted", " by the user".to_owned()),
            Completeness::Aborted(reason) => {
                let reason = abort_reason(reason.as_deref());
                ("Aborted", format!(": {}", clean(reason)))
            }
        };
        self.line("");
        let sentence = wrap(self.width, "", "  ", &format!("{word}{how}"));
        self.line(&sentence.replacen(word, &self.paint.bad(word), 1));
        if summary.tests.iter().any(|test| test.operations() > 0) {
            self.line("The figures above cover the operations up to then");
        }
    }
}

/// Rows that have histograms in a text; of more of them, none has.
const HISTOGRAMS: usize = 4;

/// One entry of a section.
struct ReportItem {
    text: String,
    below: Vec<String>,
}

impl ReportItem {
    fn new(text: &str) -> ReportItem {
        ReportItem {
            text: clean(text),
            below: Vec::new(),
        }
    }
}

impl From<(String, Vec<String>)> for ReportItem {
    fn from((text, below): (String, Vec<String>)) -> ReportItem {
        ReportItem {
            text: clean(&text),
            below,
        }
    }
}

/// The warnings, except the one that a mark in the table and its footnote give.
pub(crate) fn warnings(summary: &Summary) -> impl Iterator<Item = String> {
    let warnings = summary.warnings.iter();
    let shown = warnings.filter(|warning| warning.kind != WarningKind::FewForPercentiles);
    shown.map(crate::warning)
}

/// The notes of all rows; one that several rows have stands once, behind the names of all of them.
pub(crate) fn notes(summary: &Summary) -> Vec<String> {
    let mut all: Vec<(String, Vec<&str>)> = Vec::new();
    let mut dominated: Vec<String> = Vec::new();
    for test in &summary.tests {
        for note in &test.notes {
            if let Note::Dominated(share) = note {
                dominated.push(format!("{} {:.0} %", test.name, (share * 100.0).floor()));
                continue;
            }
            let note = reasons::note(note);
            match all.iter_mut().find(|(same, _)| *same == note) {
                Some((_, names)) => names.push(&test.name),
                None => all.push((note, vec![&test.name])),
            }
        }
    }
    let all = all.into_iter();
    let all = all.map(|(note, names)| format!("{}: {note}", names.join(", ")));
    let dominated = (!dominated.is_empty()).then(|| {
        format!(
            "the slowest operation is a large part of the sum of all times, so the mean and its interval \
             depend on it: {}",
            dominated.join(", ")
        )
    });
    all.chain(dominated).collect()
}

/// Details of a failed test: counts, and each kind of failure with an example. `None` when its row says it all.
fn failure(test: &TestSummary) -> Option<ReportItem> {
    let row_says_it = test.response.is_none() && test.failed() == 0 && test.failures.len() <= 1;
    if test.status != Status::Failed || row_says_it {
        return None;
    }
    let all = test.outcomes.plus(&test.left_out_outcomes);
    let counts = match test.failed() {
        0 => "the test as a whole failed".to_owned(),
        _ => reasons::failed(&all),
    };
    let below = test
        .failures
        .iter()
        .map(|group| clean(&reasons::group(group)))
        .collect();
    Some(ReportItem {
        text: clean(&format!("{}: {counts}", test.name)),
        below,
    })
}

#[cfg(test)]
mod tests {
    use record::EventKind;
    use stats::testing::RunBuilder;

    use super::*;

    #[test]
    fn a_note_of_several_rows_stands_once() {
        let builder = RunBuilder::new(1).test("T", &[("A", "GET"), ("B", "GET"), ("C", "GET")]);
        let told = [("A", "one"), ("B", "two"), ("C", "one")];
        let run = told.into_iter().fold(builder, |builder, (row, note)| {
            builder.event(row, |_, measure| EventKind::Note {
                measure,
                text: note.to_owned(),
            })
        });
        let summary = stats::summarise(&run.build());
        assert_eq!(notes(&summary), ["A, C: one", "B: two"]);
    }
}
