//! The rows of a report, as wide as the terminal is.
//!
//! ```text
//!                          n      p50      p99      max   mean's 95 % CI  failed
//! Put1K   Rsp = 14248 µs  100  14.2 ms  18.2 ms  19.0 ms  13.9 .. 14.6 ms       0
//! Lock    not supported   LOCK was answered with 405
//! ```
//!
//! Rows of a suite begin as in Xu (2004), section 5.6: name, and mean response time in whole
//! microseconds. Rows of a load begin with their rate. What does not fit the width is left out, the
//! least telling column first.

use stats::{Distribution, P99_NEEDS, Status, StatusReason, Summary, TestSummary};
use textwrap::core::display_width;

use crate::clean;
use crate::figure::{self, percent};
use crate::reasons::reason;
use crate::terminal::{Columns, Paint, wrap};
use crate::times::{MAX, MEAN, P50, P90, P99, P999, TimeStatistic};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TableRows {
    /// Tests of a suite, or files of pages: response times first, and rates last.
    Tests,
    /// What a load did: rates first.
    Load,
}

#[derive(Clone, Copy, PartialEq)]
enum RowColumn {
    /// The mean as in 2004, and the header says nothing of it.
    Rsp,
    Count,
    Of(&'static TimeStatistic),
    /// Both ends of its interval.
    Ends(&'static TimeStatistic),
    /// Half the width of the interval of the mean as a share of it: `2.5 %`.
    MeanShare,
    Rate,
    RateEnds,
    Failed,
}

/// The columns behind the name.
type Layout = &'static [RowColumn];

use RowColumn::{Count, Ends, Failed, MeanShare, Of, Rate, RateEnds, Rsp};

/// From the most telling layout on.
#[rustfmt::skip]
const TESTS: &[Layout] = &[
    &[Rsp, Count, Of(&P50), Ends(&P50), Of(&P99), Ends(&P99), Of(&MAX), Ends(&MEAN), Rate, RateEnds, Failed],
    &[Rsp, Count, Of(&P50), Ends(&P50), Of(&P99), Ends(&P99), Of(&MAX), Ends(&MEAN), Failed],
    &[Rsp, Count, Of(&P50), Of(&P99), Of(&MAX), Ends(&MEAN), Failed],
    &[Rsp, Count, Of(&P50), Of(&P99), Of(&MAX), MeanShare, Failed],
    &[Rsp, Count, Of(&P50), Of(&P99), Of(&MAX), Failed],
    &[Rsp, Of(&P50), Failed],
    &[Rsp, Failed],
];

#[rustfmt::skip]
const LOAD: &[Layout] = &[
    &[Rate, RateEnds, Of(&P50), Ends(&P50), Of(&P90), Of(&P99), Ends(&P99), Of(&P999), Of(&MAX), Of(&MEAN), Ends(&MEAN),
      Count, Failed],
    &[Rate, RateEnds, Of(&P50), Of(&P90), Of(&P99), Of(&P999), Of(&MAX), Of(&MEAN), Ends(&MEAN), Count, Failed],
    &[Rate, RateEnds, Of(&P50), Of(&P90), Of(&P99), Of(&P999), Of(&MAX), Count, Failed],
    &[Rate, Of(&P50), Of(&P90), Of(&P99), Of(&P999), Of(&MAX), Count, Failed],
    &[Rate, Of(&P50), Of(&P99), Of(&MAX), Failed],
    &[Rate, Of(&P50), Failed],
];

impl TableRows {
    /// The layouts that say something of these rows, from the most telling one on.
    fn layouts(self, summary: &Summary) -> Vec<Layout> {
        let shown = || {
            summary
                .tests
                .iter()
                .filter_map(|test| Some((test, shown_times(test)?)))
        };
        let has_rate = shown().any(|(test, _)| test.rate.is_some());
        let has_ends = shown().any(|(_, times)| {
            let mut ends = [&P50, &P99].into_iter().map(|of| of.ci95(times));
            ends.any(|ends| ends.is_some())
        });
        let layouts = match self {
            TableRows::Tests => TESTS,
            TableRows::Load => LOAD,
        };
        let is_telling = |layout: &Layout| {
            (has_rate || self == TableRows::Load || !layout.contains(&Rate))
                && (has_ends || !layout.contains(&Ends(&P50)))
        };
        layouts.iter().copied().filter(is_telling).collect()
    }
}

impl RowColumn {
    /// Of a starred table, whose 99th percentiles are followed by a mark or a blank.
    fn header(self, starred: bool) -> String {
        let text = match self {
            Rsp => "",
            Count => "n",
            Of(of) if *of == P99 && starred => "p99 ",
            Of(of) => of.label,
            Ends(of) if *of == MEAN => "mean's 95 % CI",
            Ends(_) | RateEnds => "95 % CI",
            MeanShare => "±",
            Rate => "req/s",
            Failed => "failed",
        };
        text.to_owned()
    }

    /// The figure of a row that has these times.
    fn figure(self, test: &TestSummary, times: &Distribution, starred: bool) -> String {
        let unit = test.unit;
        let or_none = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
        let rate = test.rate.map(|of| figure::rate(of.per_second, of.ci95));
        let (rate, interval) = rate.unzip();
        match self {
            // One blank before the number, as in 2004: scripts that read the old report read this
            // one.
            Rsp if unit.is_some() => format!("Rsp = {}", MEAN.shown(unit, times)),
            Rsp => format!("Rsp = {:.0} µs", times.mean / 1e3),
            Count => times.n.to_string(),
            Of(of) => {
                let star = match (*of == P99 && starred, few(times)) {
                    (false, _) => "",
                    (true, false) => " ",
                    (true, true) => "*",
                };
                of.shown(unit, times) + star
            }
            Ends(of) => or_none(of.range(unit, times)),
            MeanShare => or_none(half_width(times)),
            Rate => or_none(rate),
            RateEnds => or_none(interval.flatten()),
            Failed => match test.failed() {
                0 if test.status == Status::Failed => "failed".to_owned(),
                count => count.to_string(),
            },
        }
    }
}

/// The rows as they look, and what has to be said below them.
pub(crate) struct TextTable {
    /// Header and rows, each ending with a newline.
    pub(crate) text: String,
    /// Explanations of marks and of what is missing.
    pub(crate) footnotes: Vec<String>,
}

/// One row before its columns are aligned.
struct UnalignedRow {
    /// The name and, of a row that has times, all other columns.
    cells: Vec<String>,
    /// What became of a row that has no times, and why.
    words: Option<(&'static str, String)>,
    failed: bool,
}

/// Draws the rows for a terminal of that width.
pub(crate) fn table(summary: &Summary, rows: TableRows, width: usize, paint: Paint) -> TextTable {
    let layouts = rows.layouts(summary).into_iter();
    let drawings: Vec<TableDrawing> = layouts
        .map(|layout| TableDrawing::new(summary, layout))
        .collect();
    // The last one is the narrowest there is, fit or not.
    let fitting = drawings.iter().position(|drawing| drawing.width() <= width);
    let chosen = fitting.unwrap_or(drawings.len() - 1);
    let drawing = &drawings[chosen];
    let mut footnotes = Vec::new();
    if drawing.has_times() {
        footnotes.extend(drawing.signs());
        let has_ends = |drawing: &TableDrawing| drawing.layout.contains(&Ends(&P50));
        if !drawings.iter().any(has_ends) && drawing.layout.contains(&Of(&P50)) {
            footnotes.push(
                "p50 and p99 have no 95 % interval: fewer than 10 operations beyond them"
                    .to_owned(),
            );
        }
        footnotes.extend(left_out(&drawings[..chosen], drawing.layout));
    }
    TextTable {
        text: drawing.draw(width, paint),
        footnotes,
    }
}

/// What a chosen layout lacks of the wider ones, and how many columns these take.
fn left_out(wider: &[TableDrawing], chosen: Layout) -> Option<String> {
    let first = |(column, what): (RowColumn, &str)| {
        // Of those that have it, the last one is the narrowest.
        let has = |drawing: &&TableDrawing| drawing.layout.contains(&column);
        let drawing = wider.iter().rfind(has);
        let drawing = drawing.filter(|_| !chosen.contains(&column));
        drawing.map(|drawing| format!("{what} (from {} columns on)", drawing.width()))
    };
    let missing = [
        (Of(&P50), "p50"),
        (Of(&MAX), "p99 and max"),
        (Count, "n"),
        (Of(&P90), "p90 and p99.9"),
        (Ends(&MEAN), "95 % intervals of the mean"),
        (Ends(&P50), "95 % intervals of p50 and p99"),
        (RateEnds, "rates with their intervals"),
    ];
    let missing: Vec<String> = missing.into_iter().filter_map(first).collect();
    (!missing.is_empty()).then(|| format!("columns that do not fit: {}", missing.join(", ")))
}

/// Rows with the columns of one layout.
struct TableDrawing {
    layout: Layout,
    headers: Vec<String>,
    rows: Vec<UnalignedRow>,
    columns: Columns,
    starred: bool,
    watches: Vec<String>,
}

impl TableDrawing {
    fn new(summary: &Summary, layout: Layout) -> TableDrawing {
        let starred =
            layout.contains(&Of(&P99)) && summary.tests.iter().filter_map(shown_times).any(few);
        let headers = layout.iter().map(|column| column.header(starred));
        let headers: Vec<String> = std::iter::once(String::new()).chain(headers).collect();
        let rows = summary.tests.iter();
        let rows: Vec<UnalignedRow> = rows.map(|test| row(test, layout, starred)).collect();
        let cells = rows.iter().map(|row| &row.cells);
        let watches = summary
            .tests
            .iter()
            .filter(|test| test.method == record::STOP_WATCH);
        TableDrawing {
            layout,
            columns: Columns::of(cells.chain([&headers]), texts(layout)),
            headers,
            rows,
            starred,
            watches: watches.map(|test| clean(&test.name)).collect(),
        }
    }

    /// Columns that the widest row with times takes.
    fn width(&self) -> usize {
        self.columns.width()
    }

    /// What its signs mean.
    fn signs(&self) -> Vec<String> {
        let mut signs = Vec::new();
        let has = |column: RowColumn| self.layout.contains(&column);
        if has(Rsp) {
            signs.push(
                "Rsp: mean response time, from the last byte of the request sent to the first byte of \
                 the response received"
                    .to_owned(),
            );
        }
        if !self.watches.is_empty() {
            signs.push(format!(
                "stop-watches, whose times reach from one step of the suite to another, pauses included: {}",
                self.watches.join(", ")
            ));
        }
        if self.starred {
            signs.push(format!(
                "*: fewer than {P99_NEEDS} operations, so p99 is their maximum"
            ));
        }
        if self
            .rows
            .iter()
            .flat_map(|row| &row.cells)
            .any(|cell| cell == "-")
        {
            signs.push(
                "-: no interval, too few operations (a percentile needs 10 beyond it)".to_owned(),
            );
        }
        if has(MeanShare) {
            signs.push("±: half the mean's 95 % interval".to_owned());
        }
        signs
    }

    fn has_times(&self) -> bool {
        self.rows.iter().any(|row| row.words.is_none())
    }

    fn draw(&self, width: usize, paint: Paint) -> String {
        let header = self.has_times().then(|| self.columns.line(&self.headers));
        let rows = self.rows.iter().map(|row| match &row.words {
            Some((what, why)) => {
                let name = self.columns.cell(0, &row.cells[0]);
                words(&name, what, why, width, paint)
            }
            None if row.failed => {
                let (last, others) = row.cells.split_last().expect("a row has a name");
                let last = self.columns.cell(others.len(), last);
                format!("{}  {}", self.columns.line(others), paint.bad(&last))
            }
            None => self.columns.line(&row.cells),
        });
        let lines = header.into_iter().chain(rows);
        lines.map(|line| line + "\n").collect()
    }
}

/// A row without times; a long reason goes on below itself.
fn words(name: &str, what: &str, why: &str, width: usize, paint: Paint) -> String {
    let indent = " ".repeat(display_width(&format!("{name}  {what}   ")));
    let why = wrap(width, &indent, &indent, why);
    format!("{name}  {}   {}", paint.bad(what), why.trim_start())
}

/// Columns that are aligned to the left.
fn texts(layout: Layout) -> &'static [usize] {
    match layout {
        [Rsp, ..] => &[0, 1],
        _ => &[0],
    }
}

fn row(test: &TestSummary, layout: Layout, starred: bool) -> UnalignedRow {
    let name = clean(&test.name) + " ";
    let times = shown_times(test);
    let figures = times.into_iter().flat_map(|times| {
        let columns = layout.iter();
        columns.map(|column| column.figure(test, times, starred))
    });
    UnalignedRow {
        cells: std::iter::once(name).chain(figures).collect(),
        words: times.is_none().then(|| in_words(test)),
        failed: test.status == Status::Failed,
    }
}

pub(crate) fn shown_times(test: &TestSummary) -> Option<&Distribution> {
    test.response
        .as_ref()
        .filter(|_| !test.status.is_beyond_the_server())
}

/// p99 is the maximum.
pub(crate) fn few(times: &Distribution) -> bool {
    times.n < P99_NEEDS
}

/// Half the width of the interval as a share of the mean. The upper half: zero may have cut the
/// lower one.
fn half_width(times: &Distribution) -> Option<String> {
    let (_, high) = times.ci95?;
    (times.mean > 0.0).then(|| percent((high - times.mean) / times.mean))
}

pub(crate) fn in_words(test: &TestSummary) -> (&'static str, String) {
    let evidence = clean(&test.evidence.as_ref().map(reason).unwrap_or_default());
    match test.status {
        Status::NotSupported => ("not supported", evidence),
        Status::Skipped => ("skipped", evidence),
        Status::NotDrawn => ("not drawn", evidence),
        Status::Failed if test.evidence == Some(StatusReason::NotSaved) => ("not saved", evidence),
        Status::Failed if test.failed() == 0 && test.failures.is_empty() => {
            ("not measured", evidence)
        }
        Status::Failed => ("failed", evidence),
        Status::Ok if test.outcomes.ok() > 0 => (
            "no response time",
            "every response arrived before the whole request was sent".into(),
        ),
        Status::Ok => (
            "not measured",
            "no operation in the measurement window".into(),
        ),
    }
}
