//! A comparison of servers, for people, for pull requests and for programs.

mod caveats;
pub(crate) mod inside;
mod inside_wire;
pub(crate) mod wire;
pub(crate) mod words;

use record::NoteRecord;
use stats::{Compared, Comparison, CostVerdict};

use crate::clean;
use crate::figure::percent;
use crate::incomplete::{HEADING, Incomplete};
use crate::json::pretty;
#[cfg(feature = "schema")]
use crate::json::schema_of;
use crate::markdown::{code, line, markdown};
use crate::notes;
use crate::terminal::{Columns, TextReport, wrap};

use words::COLUMNS;

pub(crate) use caveats::caveat;
pub use caveats::difference;
pub use inside::calls_that_differ;
pub(crate) use words::times_since;
pub(crate) use words::{cells, processor_cells};

/// One server, as it is called, beside the one that all are compared with.
#[derive(Debug, Clone, PartialEq)]
pub struct Versus {
    /// How B is called.
    pub name: String,
    /// Where its runs are kept, or how they are called.
    pub runs: Vec<String>,
    /// Their seeds, in their order.
    pub seeds: Vec<u64>,
    /// What whoever made them says about them, each note once.
    pub notes: Vec<NoteRecord>,
    /// What it does beside A.
    pub comparison: Comparison,
}

/// A comparison of one server with others.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparisons {
    /// How A is called.
    pub name: String,
    /// Where its runs are kept, or how they are called.
    pub runs: Vec<String>,
    /// Their seeds, in their order.
    pub seeds: Vec<u64>,
    /// What whoever made them says about them, each note once.
    pub notes: Vec<NoteRecord>,
    /// The others.
    pub versus: Vec<Versus>,
    /// Why runs are missing, where the measurement ended early.
    pub incomplete: Option<Incomplete>,
}

/// The columns of every table.
const HEADERS: [&str; COLUMNS] = ["", "A", "B", "B / A", "95 % interval", "p (Holm)", ""];

/// The comparison for people. Ends with a newline.
pub fn compare_text(all: &Comparisons, color: bool, width: usize) -> String {
    let mut report = TextReport::new(color, width);
    report.incomplete(all.incomplete.as_ref());
    for versus in &all.versus {
        let comparison = &versus.comparison;
        let (a, b) = (clean(&all.name), clean(&versus.name));
        let is_of_both = all.notes == versus.notes;
        report.wrapped("A: ", "   ", &a);
        if !is_of_both {
            report.user_notes("   ", &all.notes);
        }
        report.wrapped("B: ", "   ", &b);
        let indent = if is_of_both { "" } else { "   " };
        report.user_notes(indent, &versus.notes);
        report.line("");
        let rows: Vec<[String; COLUMNS]> = comparison.rows.iter().map(cells).collect();
        let tone = |row: &Compared| tone(row.verdict.is_worse(), row.verdict.is_better());
        table(&mut report, &rows, comparison.rows.iter().map(tone));
        insides(&mut report, comparison);
        report.line("");
        report.wrapped("", "", &legend(comparison));
        if !comparison.caveats.is_empty() {
            report.line("\nWarnings:");
        }
        for caveat in &comparison.caveats {
            report.wrapped("- ", "  ", &clean(&caveats::caveat(caveat)));
        }
        report.line("");
    }
    report.finish()
}

pub(crate) fn legend(comparison: &Comparison) -> String {
    let same = percent(comparison.same_within);
    let times = times_since(comparison.since);
    match comparison.pairs {
        1 => format!("Mean {times} of operations that succeeded, one run of each."),
        _ => format!(
            "A, B: mean {times} of operations that succeeded. B / A: geometric mean of the ratios of {}; a few \
             slow operations can make it differ from the ratio of the means.{} slower, faster: means and medians both differ \
             significantly, the means by more than {same}; over all rows, failures included, the \
             family-wise error rate is at most 5 %. same: the 95 % intervals of means and medians lie \
             within {same}; this holds for each row separately.{}",
            pairs_of_rows(comparison),
            without_times(comparison),
            of_insides(comparison)
        ),
    }
}

/// How many pairs of runs rows have: one is measured until it is decided.
fn pairs_of_rows(comparison: &Comparison) -> String {
    let reached = comparison.rows.iter().map(|row| row.reached);
    let reached: Vec<usize> = reached.filter(|pairs| *pairs > 0).collect();
    match (reached.iter().min(), reached.iter().max()) {
        (Some(least), Some(most)) if least < most => format!(
            "{least} to {most} pairs of runs (until the row was decided, or the time was over)"
        ),
        _ => format!("{} pairs of runs", comparison.pairs),
    }
}

/// What verdicts about costs inside of the servers mean.
fn of_insides(comparison: &Comparison) -> &'static str {
    if inside::processors(comparison).is_empty() {
        ""
    } else {
        " more, less: of processor time, by the same tests and within the same error rate."
    }
}

/// Why some pairs of a row have no times, where no caveat gives the reason.
fn without_times(comparison: &Comparison) -> &'static str {
    let has_less = |row: &Compared| {
        let pairs = row.reached - row.disqualified;
        row.ratio.is_some_and(|ratio| ratio.pairs < pairs)
    };
    if comparison.rows.iter().any(has_less) {
        " Pairs in which one run has no times of the row have no ratio."
    } else {
        ""
    }
}

/// How a line looks.
#[derive(Clone, Copy)]
enum Tone {
    Bad,
    Good,
    Plain,
}

fn tone(is_worse: bool, is_better: bool) -> Tone {
    match (is_worse, is_better) {
        (true, _) => Tone::Bad,
        (_, true) => Tone::Good,
        _ => Tone::Plain,
    }
}

fn tone_of_cost(verdict: CostVerdict) -> Tone {
    tone(verdict == CostVerdict::More, verdict == CostVerdict::Less)
}

impl TextReport {
    fn toned(&self, line: &str, tone: Tone) -> String {
        match tone {
            Tone::Bad => self.paint.bad(line),
            Tone::Good => self.paint.good(line),
            Tone::Plain => line.to_owned(),
        }
    }
}

/// A line for each row. Where the columns do not fit, it becomes a sentence.
fn table(report: &mut TextReport, rows: &[[String; COLUMNS]], tones: impl Iterator<Item = Tone>) {
    let headers = HEADERS.map(str::to_owned);
    let all = rows.iter().map(|row| row.to_vec());
    let aligned = Columns::lines_with_words(report.width, headers.to_vec(), all, &[0]);
    let in_words = || {
        let row = |row| wrap(report.width, "", "  ", &sentence(row));
        rows.iter().map(row).collect()
    };
    let mut lines: Vec<String> = aligned.unwrap_or_else(in_words);
    if lines.len() > rows.len() {
        report.line(&lines.remove(0));
    }
    for (line, tone) in lines.into_iter().zip(tones) {
        let line = report.toned(&line, tone);
        report.line(&line);
    }
}

/// What was found inside of both servers.
fn insides(report: &mut TextReport, comparison: &Comparison) {
    let processors = inside::processors(comparison);
    if !processors.is_empty() {
        report.line(&format!("\n{}:", inside::HEADING));
        let rows = processors.iter();
        let rows: Vec<[String; COLUMNS]> =
            rows.map(|(name, of)| processor_cells(name, of)).collect();
        let tones = processors.iter().map(|(_, of)| tone_of_cost(of.verdict()));
        table(report, &rows, tones);
    }
    let Some(calls) = inside::calls_in_words(comparison) else {
        return;
    };
    report.line("");
    report.wrapped("", "  ", &calls.heading);
    for (verdict, says) in &calls.differences {
        let line = wrap(report.width, "  ", "    ", says);
        let line = report.toned(&line, tone_of_cost(*verdict));
        report.line(&line);
    }
    for remark in &calls.remarks {
        report.wrapped("", "", remark);
    }
}

/// A row in words, as text: `Put1K: slower; A 1.00 ms, B 2.00 ms, B / A 2.0`.
pub fn compared_in_words(row: &Compared) -> String {
    sentence(&cells(row))
}

/// The same, of its cells.
fn sentence(row: &[String; COLUMNS]) -> String {
    let figures = HEADERS.iter().zip(row).take(COLUMNS - 1).skip(1);
    let figures = figures.filter(|(_, cell)| !cell.is_empty());
    let figures: Vec<String> = figures
        .map(|(name, cell)| format!("{name} {cell}"))
        .collect();
    format!("{}: {}; {}", row[0], row[COLUMNS - 1], figures.join(", "))
}

/// The comparison for a pull request. Ends with a newline.
pub fn compare_markdown(all: &Comparisons) -> String {
    let incomplete = all.incomplete.iter();
    let incomplete =
        incomplete.map(|own| format!("**{HEADING}** {}\n\n", markdown(&own.sentence())));
    let mut text: String = incomplete.collect();
    for versus in &all.versus {
        let comparison = &versus.comparison;
        text += &format!(
            "**A** {}, **B** {}\n\n",
            code(&all.name),
            code(&versus.name)
        );
        text += &markdown_notes(all, versus);
        text += &line(&HEADERS);
        text += &line(&["---", "---:", "---:", "---:", "---:", "---:", "---"]);
        for row in &comparison.rows {
            let mut cells = cells(row).map(|text| markdown(&text));
            if row.verdict.is_worse() {
                cells[6] = format!("**{}**", cells[6]);
            }
            text += &line(&cells);
        }
        text += &markdown_inside(comparison);
        text += &format!("\n{}\n", legend(comparison));
        for caveat in &comparison.caveats {
            text += &format!("\n- {}", markdown(&caveats::caveat(caveat)));
        }
        text.push('\n');
    }
    text.trim_end().to_owned() + "\n"
}

/// What was found inside of both servers, for a pull request.
fn markdown_inside(comparison: &Comparison) -> String {
    let mut text = String::new();
    let processors = inside::processors(comparison);
    if !processors.is_empty() {
        text += &format!("\n{}:\n\n", inside::HEADING);
        text += &line(&HEADERS);
        text += &line(&["---", "---:", "---:", "---:", "---:", "---:", "---"]);
        for (name, of) in processors {
            let mut cells = processor_cells(name, of).map(|text| markdown(&text));
            if of.verdict() == CostVerdict::More {
                cells[6] = format!("**{}**", cells[6]);
            }
            text += &line(&cells);
        }
    }
    let Some(calls) = inside::calls_in_words(comparison) else {
        return text;
    };
    text += &format!("\n{}\n", markdown(&calls.heading));
    let differences = calls.differences.iter().map(|(verdict, says)| {
        let says = markdown(says);
        match verdict {
            CostVerdict::More => format!("\n- **{says}**"),
            _ => format!("\n- {says}"),
        }
    });
    text += &differences.collect::<String>();
    for remark in &calls.remarks {
        text += &format!("\n\n{}", markdown(remark));
    }
    text + "\n"
}

/// The notes of both, for a pull request.
fn markdown_notes(all: &Comparisons, versus: &Versus) -> String {
    let list = |side: &str, notes: &[NoteRecord]| -> String {
        let line = |note: &NoteRecord| {
            let (heading, text) = (markdown(&notes::heading(note)), markdown(&note.text));
            format!("- {heading}{side}: {text}\n")
        };
        notes.iter().map(line).collect()
    };
    let lines = if all.notes == versus.notes {
        list("", &all.notes)
    } else {
        list(" (A)", &all.notes) + &list(" (B)", &versus.notes)
    };
    if lines.is_empty() {
        lines
    } else {
        lines + "\n"
    }
}

/// The comparison for programs: one JSON document.
pub fn compare_json(all: &Comparisons) -> String {
    pretty(&wire::ComparisonDocument::from(all))
}

/// The JSON schema of [`compare_json`]: the content of `docs/compare.schema.json`.
#[cfg(feature = "schema")]
pub fn compare_schema() -> String {
    schema_of::<wire::ComparisonDocument>()
}
