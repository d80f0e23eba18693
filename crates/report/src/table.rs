//! The rows: the classic columns, and to their right what a reader needs today.
//!
//! ```text
//!                                   n      p50       p99      max    mean's 95 % CI  failed
//! Put1K   Rsp = 14248 [us]        100  14.2 ms   18.2 ms  19.0 ms   13.9 .. 14.6 ms       0
//! Lock    not supported   LOCK was answered with 405
//! ```
//!
//! The classic part is that of Xu (2004), section 5.6: name, and mean response time in whole
//! microseconds. Everything else has units chosen for people. What does not fit the width is left
//! out from the least telling column on, and said so below.

use stats::{Distribution, P99_NEEDS, Status, Summary, TestSummary};
use textwrap::core::display_width;

use crate::clean;
use crate::figure::percent;
use crate::text::{Paint, wrapping};
use crate::units::{human, human_range};

/// Blanks between the name and what follows.
const AFTER_NAME: usize = 3;

/// Blanks between the columns at the right.
const BETWEEN: usize = 2;

/// Which intervals are written, and how, from the most telling way on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Interval {
    /// Both ends of those of p50, p99 and the mean: `13.9 .. 14.6 ms`.
    All,
    /// Those of the mean.
    Ends,
    /// Half its width as a share of the mean: `2.5 %`.
    Share,
    /// Not at all.
    Absent,
}

/// The rows as they look, and what has to be said below them.
pub(crate) struct Table {
    /// Header and rows, each ending with a newline.
    pub(crate) text: String,
    /// Explanations of marks and of what is missing.
    pub(crate) footnotes: Vec<String>,
}

/// One row before its columns are aligned.
enum Row {
    /// It has times.
    Measured {
        /// Name of the row.
        name: String,
        /// Whole microseconds of the mean response time.
        mean: String,
        /// The columns at the right.
        cells: Vec<Cell>,
    },
    /// It has none.
    Words {
        /// Name of the row.
        name: String,
        /// What became of it.
        what: &'static str,
        /// Why.
        evidence: String,
    },
}

/// One aligned piece of text.
struct Cell {
    text: String,
    /// It tells of a failure.
    bad: bool,
}

impl From<String> for Cell {
    fn from(text: String) -> Cell {
        Cell { text, bad: false }
    }
}

/// Draws the rows for a terminal of that width.
pub(crate) fn table(summary: &Summary, width: usize, paint: Paint) -> Table {
    let layouts = [
        Interval::All,
        Interval::Ends,
        Interval::Share,
        Interval::Absent,
    ];
    let drawings: Vec<Drawing> = layouts
        .into_iter()
        .map(|interval| Drawing::new(summary, interval))
        .collect();
    let (all, full) = (drawings[0].width(), drawings[1].width());
    let has_some = |times: &Distribution| {
        let [of_p50, _, _, of_p99, _] = times.percentiles_ci95;
        of_p50.or(of_p99).is_some()
    };
    let of_percentiles = summary.tests.iter().filter_map(shown_times).any(has_some);
    // The last one is the narrowest there is, fit or not.
    let fitting = drawings.iter().find(|drawing| {
        drawing.width() <= width && (of_percentiles || drawing.interval != Interval::All)
    });
    let drawing = fitting.unwrap_or(&drawings[drawings.len() - 1]);
    let mut footnotes = Vec::new();
    if drawing.starred {
        footnotes.push(format!(
            "* fewer than {P99_NEEDS} operations, so p99 is their maximum"
        ));
    }
    match drawing.interval {
        _ if drawing.mean_width() == 0 => {}
        Interval::Ends if !of_percentiles => footnotes.push(
            "p50 and p99 have no 95 % interval: fewer than 10 operations beyond them".to_owned(),
        ),
        Interval::All => footnotes.push(
            "- is no interval: fewer than 10 operations beyond a percentile, or too few for its upper \
             end"
                .to_owned(),
        ),
        Interval::Ends => footnotes.push(format!(
            "the 95 % intervals of p50 and p99 are left out; they take {all} columns"
        )),
        Interval::Share => footnotes.push(format!(
            "+- is half the mean's 95 % interval; from {full} columns on it is printed in full, and \
             from {all} on with those of p50 and p99"
        )),
        Interval::Absent => footnotes.push(format!(
            "95 % intervals are left out; that of the mean takes {full} columns, with those of p50 \
             and p99 {all}"
        )),
    }
    Table {
        text: drawing.draw(width, paint),
        footnotes,
    }
}

/// Rows with the columns of one layout.
struct Drawing {
    interval: Interval,
    headers: Vec<&'static str>,
    rows: Vec<Row>,
    starred: bool,
}

impl Drawing {
    fn new(summary: &Summary, interval: Interval) -> Drawing {
        let starred = summary.tests.iter().filter_map(shown_times).any(few);
        let p99 = if starred { "p99 " } else { "p99" };
        let headers = match interval {
            Interval::All => vec![
                "n",
                "p50",
                "95 % CI",
                p99,
                "95 % CI",
                "max",
                "mean's 95 % CI",
                "failed",
            ],
            Interval::Ends => vec!["n", "p50", p99, "max", "mean's 95 % CI", "failed"],
            Interval::Share => vec!["n", "p50", p99, "max", "+-", "failed"],
            Interval::Absent => vec!["n", "p50", p99, "max", "failed"],
        };
        let rows = summary
            .tests
            .iter()
            .map(|test| row(test, interval, starred))
            .collect();
        Drawing {
            interval,
            headers,
            rows,
            starred,
        }
    }

    /// Columns that the widest row with times takes.
    fn width(&self) -> usize {
        let right: usize = self
            .right_widths()
            .iter()
            .map(|width| BETWEEN + width)
            .sum();
        self.name_width() + "Rsp =  [us]".len() + self.mean_width() + right
    }

    fn name_width(&self) -> usize {
        let names = self.rows.iter().map(|row| match row {
            Row::Measured { name, .. } | Row::Words { name, .. } => display_width(name),
        });
        names.max().unwrap_or(0) + AFTER_NAME
    }

    fn mean_width(&self) -> usize {
        let means = self.rows.iter().map(|row| match row {
            Row::Measured { mean, .. } => mean.len(),
            Row::Words { .. } => 0,
        });
        means.max().unwrap_or(0)
    }

    fn right_widths(&self) -> Vec<usize> {
        let mut widths: Vec<usize> = self.headers.iter().map(|header| header.len()).collect();
        for row in &self.rows {
            let Row::Measured { cells, .. } = row else {
                continue;
            };
            for (width, cell) in widths.iter_mut().zip(cells) {
                *width = (*width).max(cell.text.len());
            }
        }
        widths
    }

    fn draw(&self, width: usize, paint: Paint) -> String {
        let (name_width, mean_width) = (self.name_width(), self.mean_width());
        let right_widths = self.right_widths();
        let mut text = String::new();
        if mean_width > 0 {
            let left = name_width + "Rsp =  [us]".len() + mean_width;
            text += &" ".repeat(left);
            for (header, width) in self.headers.iter().zip(&right_widths) {
                text += &format!("{}{header:>width$}", " ".repeat(BETWEEN));
            }
            text.truncate(text.trim_end().len());
            text.push('\n');
        }
        for row in &self.rows {
            match row {
                Row::Measured { name, mean, cells } => {
                    text += &pad(name, name_width);
                    // One blank before the number, as in 2004: scripts that read the old report
                    // read this one.
                    let classic = format!("Rsp = {mean} [us]");
                    let classic_width = "Rsp =  [us]".len() + mean_width;
                    text += &format!("{classic:<classic_width$}");
                    for (cell, width) in cells.iter().zip(&right_widths) {
                        let aligned = format!("{:>width$}", cell.text);
                        text += &" ".repeat(BETWEEN);
                        text += &if cell.bad {
                            paint.bad(&aligned)
                        } else {
                            aligned
                        };
                    }
                    text.push('\n');
                }
                Row::Words {
                    name,
                    what,
                    evidence,
                } => {
                    text += &words(&pad(name, name_width), what, evidence, width, paint);
                }
            }
        }
        text
    }
}

/// A row without times; a long reason goes on below itself.
fn words(name: &str, what: &str, evidence: &str, width: usize, paint: Paint) -> String {
    let left = format!("{name}{what}{}", " ".repeat(AFTER_NAME));
    let indent = " ".repeat(display_width(&left));
    let options = wrapping(width)
        .initial_indent(&indent)
        .subsequent_indent(&indent);
    let wrapped = textwrap::fill(evidence, options);
    let painted = left.replacen(what, &paint.bad(what), 1);
    format!("{painted}{}\n", wrapped.trim_start())
}

fn row(test: &TestSummary, interval: Interval, starred: bool) -> Row {
    let name = clean(&test.name);
    let Some(times) = shown_times(test) else {
        let (what, evidence) = in_words(test);
        return Row::Words {
            name,
            what,
            evidence,
        };
    };
    let star = match (starred, few(times)) {
        (false, _) => "",
        (true, false) => " ",
        (true, true) => "*",
    };
    let or_none = |text: Option<String>| Some(text.unwrap_or_else(|| "-".to_owned()));
    let all = |ends: Option<(u64, u64)>| {
        let ends = ends.map(|(low, high)| human_range((low as f64, high as f64)));
        or_none(ends).filter(|_| interval == Interval::All)
    };
    let [of_p50, _, _, of_p99, _] = times.percentiles_ci95;
    let of_mean = match interval {
        Interval::All | Interval::Ends => or_none(times.ci95.map(human_range)),
        Interval::Share => or_none(half_width(times)),
        Interval::Absent => None,
    };
    let cells = [
        Some(times.n.to_string()),
        Some(human(times.p50 as f64)),
        all(of_p50),
        Some(format!("{}{star}", human(times.p99 as f64))),
        all(of_p99),
        Some(human(times.max as f64)),
        of_mean,
    ];
    let cells = cells.into_iter().flatten().map(Cell::from);
    Row::Measured {
        name,
        mean: format!("{:.0}", times.mean / 1e3),
        cells: cells.chain([failed(test)]).collect(),
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

/// Failed operations, or the word where a test failed without one.
fn failed(test: &TestSummary) -> Cell {
    let bad = test.status == Status::Failed;
    match test.failed() {
        0 if bad => Cell {
            text: "failed".into(),
            bad,
        },
        count => Cell {
            text: count.to_string(),
            bad,
        },
    }
}

/// What became of a row without times, and why.
pub(crate) fn in_words(test: &TestSummary) -> (&'static str, String) {
    let evidence = clean(test.evidence.as_deref().unwrap_or_default());
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
            "every answer came before the whole request was sent".into(),
        ),
        Status::Ok => (
            "not measured",
            "no operation while all users were at work".into(),
        ),
    }
}

/// Fills up with blanks by what is seen, not by bytes.
fn pad(text: &str, width: usize) -> String {
    let missing = width.saturating_sub(display_width(text));
    format!("{text}{}", " ".repeat(missing))
}
