//! The rows: the classic columns, and to their right what a reader needs today.
//!
//! ```text
//!                             n      p50      p99      max   mean's 95 % CI  failed
//! Put1K   Rsp = 14248 [us]  100  14.2 ms  18.2 ms  19.0 ms  13.9 .. 14.6 ms       0
//! Lock    not supported   LOCK was answered with 405
//! ```
//!
//! The classic part is that of Xu (2004), section 5.6: name, and mean response time in whole
//! microseconds. Everything else has units chosen for people. What does not fit the width is left
//! out from the least telling column on, and said so below.

use stats::{Distribution, P99_NEEDS, Status, Summary, TestSummary};
use textwrap::core::display_width;

use crate::clean;
use crate::figure::{self, percent};
use crate::reasons::reason;
use crate::terminal::{Columns, Paint, wrap};
use crate::units::{human, human_range};

/// Which estimates and intervals are written, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Layout {
    /// Throughput, and both ends of its interval.
    rate: bool,
    /// Both ends of the intervals of p50 and p99: `13.9 .. 14.6 ms`.
    percentiles: bool,
    mean: OfMean,
    times: OfTimes,
}

/// Which estimates stand beside the mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OfTimes {
    /// The number of operations, p50, p99 and the maximum.
    All,
    /// p50.
    Median,
    /// None.
    Mean,
}

/// How the interval of the mean is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OfMean {
    /// Both ends.
    Ends,
    /// Half its width as a share of the mean: `2.5 %`.
    Share,
    /// Not at all.
    Absent,
}

impl Layout {
    /// The layouts that say something of these rows, from the most telling one on.
    fn all(summary: &Summary, rates: bool) -> Vec<Layout> {
        let shown = || {
            summary
                .tests
                .iter()
                .filter_map(|test| Some((test, shown_times(test)?)))
        };
        let has_rate = rates && shown().any(|(test, _)| test.per_second.is_some());
        let has_interval = |times: &Distribution| {
            let [of_p50, _, _, of_p99, _] = times.percentiles_ci95;
            of_p50.or(of_p99).is_some()
        };
        let percentiles = shown().any(|(_, times)| has_interval(times));
        let layout = |rate, percentiles, mean| Layout {
            rate,
            percentiles,
            mean,
            times: OfTimes::All,
        };
        let wide = [
            has_rate.then(|| layout(true, percentiles, OfMean::Ends)),
            percentiles.then(|| layout(false, true, OfMean::Ends)),
        ];
        let narrow = [OfMean::Ends, OfMean::Share, OfMean::Absent];
        let narrow = narrow.map(|mean| Some(layout(false, false, mean)));
        let narrowest = [OfTimes::Median, OfTimes::Mean].map(|times| {
            Some(Layout {
                times,
                ..layout(false, false, OfMean::Absent)
            })
        });
        let all = wide.into_iter().chain(narrow).chain(narrowest);
        all.flatten().collect()
    }

    fn has_median(self) -> bool {
        matches!(self.times, OfTimes::All | OfTimes::Median)
    }

    /// The headers of the columns; names and means have none.
    fn headers(self, p99: &'static str) -> Vec<String> {
        const CI: &str = "95 % CI";
        let of_percentile = self.percentiles.then_some(CI);
        let of_mean = match self.mean {
            OfMean::Ends => Some("mean's 95 % CI"),
            OfMean::Share => Some("+-"),
            OfMean::Absent => None,
        };
        let rate = self.rate.then_some(["req/s", CI]);
        let beside_mean = self.times == OfTimes::All;
        let times = [
            beside_mean.then_some("n"),
            self.has_median().then_some("p50"),
            of_percentile,
            beside_mean.then_some(p99),
            of_percentile,
            beside_mean.then_some("max"),
            of_mean,
        ];
        let times = times.into_iter().flatten();
        let headers = ["", ""].into_iter().chain(times);
        let headers = headers.chain(rate.into_iter().flatten());
        headers.chain(["failed"]).map(str::to_owned).collect()
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
struct TableRow {
    /// The name and, of a row that has times, all other columns.
    cells: Vec<String>,
    /// What became of a row that has no times, and why.
    words: Option<(&'static str, String)>,
    failed: bool,
}

/// Draws the rows for a terminal of that width, with their throughput if there are `rates` and room.
pub(crate) fn table(summary: &Summary, rates: bool, width: usize, paint: Paint) -> TextTable {
    let layouts = Layout::all(summary, rates).into_iter();
    let drawings: Vec<TableDrawing> = layouts
        .map(|layout| TableDrawing::new(summary, layout))
        .collect();
    // The last one is the narrowest there is, fit or not.
    let fitting = drawings.iter().position(|drawing| drawing.width() <= width);
    let chosen = fitting.unwrap_or(drawings.len() - 1);
    let drawing = &drawings[chosen];
    let mut footnotes = Vec::new();
    if drawing.starred {
        footnotes.push(format!(
            "* fewer than {P99_NEEDS} operations, so p99 is their maximum"
        ));
    }
    if drawing.has_times() {
        if !drawings.iter().any(|drawing| drawing.layout.percentiles) {
            footnotes.push(
                "p50 and p99 have no 95 % interval: fewer than 10 operations beyond them"
                    .to_owned(),
            );
        }
        footnotes.extend(drawing.layout.signs().map(str::to_owned));
        footnotes.extend(left_out(&drawings[..chosen], drawing.layout));
    }
    TextTable {
        text: drawing.draw(width, paint),
        footnotes,
    }
}

/// What a chosen layout lacks of the wider ones, and how many columns these take.
fn left_out(wider: &[TableDrawing], chosen: Layout) -> Option<String> {
    let first = |has: fn(&Layout) -> bool, what: &str| {
        // Of those that have it, the last one is the narrowest.
        let drawing = wider.iter().rfind(|drawing| has(&drawing.layout));
        let drawing = drawing.filter(|_| !has(&chosen));
        drawing.map(|drawing| format!("{what} (from {} columns on)", drawing.width()))
    };
    let missing = [
        first(|layout| layout.has_median(), "p50"),
        first(|layout| layout.times == OfTimes::All, "n, p99 and max"),
        first(
            |layout| layout.mean == OfMean::Ends,
            "95 % intervals of the mean",
        ),
        first(|layout| layout.percentiles, "95 % intervals of p50 and p99"),
        first(|layout| layout.rate, "throughput"),
    ];
    let missing: Vec<String> = missing.into_iter().flatten().collect();
    (!missing.is_empty()).then(|| format!("left out for lack of width: {}", missing.join(", ")))
}

impl Layout {
    /// What its signs mean.
    fn signs(self) -> impl Iterator<Item = &'static str> {
        let no_interval =
            "- is no interval: too few operations, or fewer than 10 beyond a percentile";
        let no_interval = (self.percentiles || self.rate).then_some(no_interval);
        let half = "+- is half the mean's 95 % interval";
        let half = (self.mean == OfMean::Share).then_some(half);
        no_interval.into_iter().chain(half)
    }
}

/// Rows with the columns of one layout.
struct TableDrawing {
    layout: Layout,
    headers: Vec<String>,
    rows: Vec<TableRow>,
    columns: Columns,
    starred: bool,
}

impl TableDrawing {
    fn new(summary: &Summary, layout: Layout) -> TableDrawing {
        let starred =
            layout.times == OfTimes::All && summary.tests.iter().filter_map(shown_times).any(few);
        let headers = layout.headers(if starred { "p99 " } else { "p99" });
        let rows = summary.tests.iter();
        let rows: Vec<TableRow> = rows.map(|test| row(test, layout, starred)).collect();
        let cells = rows.iter().map(|row| &row.cells);
        TableDrawing {
            layout,
            columns: Columns::of(cells.chain([&headers]), &[0, 1]),
            headers,
            rows,
            starred,
        }
    }

    /// Columns that the widest row with times takes.
    fn width(&self) -> usize {
        self.columns.width()
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

fn row(test: &TestSummary, layout: Layout, starred: bool) -> TableRow {
    let name = clean(&test.name) + " ";
    let failed = test.status == Status::Failed;
    let Some(times) = shown_times(test) else {
        return TableRow {
            cells: vec![name],
            words: Some(in_words(test)),
            failed,
        };
    };
    let star = match (starred, few(times)) {
        (false, _) => "",
        (true, false) => " ",
        (true, true) => "*",
    };
    let or_none = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    let of_percentile = |ends: Option<(u64, u64)>| {
        let ends = ends.map(|(low, high)| human_range((low as f64, high as f64)));
        layout.percentiles.then(|| or_none(ends))
    };
    let [of_p50, _, _, of_p99, _] = times.percentiles_ci95;
    let of_mean = match layout.mean {
        OfMean::Ends => Some(or_none(times.ci95.map(human_range))),
        OfMean::Share => Some(or_none(half_width(times))),
        OfMean::Absent => None,
    };
    let rate = test
        .per_second
        .map(|of| figure::rate(of, test.per_second_ci95));
    let (rate, of_rate) = rate.unzip();
    let beside_mean = layout.times == OfTimes::All;
    let cells = [
        Some(name),
        // One blank before the number, as in 2004: scripts that read the old report read this one.
        Some(format!("Rsp = {:.0} [us]", times.mean / 1e3)),
        beside_mean.then(|| times.n.to_string()),
        layout.has_median().then(|| human(times.p50 as f64)),
        of_percentile(of_p50),
        beside_mean.then(|| format!("{}{star}", human(times.p99 as f64))),
        of_percentile(of_p99),
        beside_mean.then(|| human(times.max as f64)),
        of_mean,
        layout.rate.then(|| or_none(rate)),
        layout.rate.then(|| or_none(of_rate.flatten())),
        Some(match test.failed() {
            0 if failed => "failed".to_owned(),
            count => count.to_string(),
        }),
    ];
    TableRow {
        cells: cells.into_iter().flatten().collect(),
        words: None,
        failed,
    }
}

/// The times of a row that shows times.
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

/// What became of a row without times, and why.
pub(crate) fn in_words(test: &TestSummary) -> (&'static str, String) {
    let evidence = clean(&test.evidence.as_ref().map(reason).unwrap_or_default());
    match test.status {
        Status::NotSupported => ("not supported", evidence),
        Status::Skipped => ("skipped", evidence),
        Status::NotDrawn => ("not drawn", evidence),
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
