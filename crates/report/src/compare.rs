//! A comparison of servers, for people, for pull requests and for programs.

mod caveats;
pub(crate) mod document;
mod inside;
mod json;
pub(crate) mod words;

use record::NoteRecord;
use stats::{Compared, Comparison};

use crate::document::markdown_of;
use crate::figure::percent;
use crate::incomplete::Incomplete;
use crate::terminal::TextReport;

pub use caveats::difference;
pub use document::compared_in_words;
pub use inside::cost_in_words;
pub use json::compare_json;
#[cfg(feature = "schema")]
pub use json::compare_schema;
pub(crate) use words::times_since;

/// One server, as it is called, beside the one that all are compared with.
#[derive(Debug, Clone, PartialEq)]
pub struct Versus {
    /// How B is called.
    pub name: String,
    /// Where its runs are kept, or how they are called.
    pub runs: Vec<String>,
    /// Their seeds, in their order.
    pub seeds: Vec<u64>,
    /// Notes about them by their authors, each once.
    pub notes: Vec<NoteRecord>,
    /// Comparison with A.
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
    /// Notes about them by their authors, each once.
    pub notes: Vec<NoteRecord>,
    /// The others.
    pub versus: Vec<Versus>,
    /// Why runs are missing, where the measurement ended early.
    pub incomplete: Option<Incomplete>,
}

/// The comparison for people. Ends with a newline.
pub fn compare_text(all: &Comparisons, color: bool, width: usize) -> String {
    let mut report = TextReport::new(color, width);
    report.blocks(&document::document(all));
    report.finish()
}

/// The comparison for a pull request. Ends with a newline.
pub fn compare_markdown(all: &Comparisons) -> String {
    markdown_of(&document::document(all)) + "\n"
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
            inside_verdicts(comparison)
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

/// Meaning of verdicts about costs inside of the servers.
fn inside_verdicts(comparison: &Comparison) -> &'static str {
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
