//! Which rows of a run are inconclusive, and why, in words.

use stats::{Status, Summary, TestSummary, Warning, WarningKind};

use crate::constraints::inconclusive_constraints;
use crate::table::in_words;
use crate::warning;
use crate::warnings::fact;

/// Names that are spelled out; of a longer list, the rest is counted.
const NAMED: usize = 5;

/// The rows of a run that are inconclusive, and why, in a sentence without a period; `None` where
/// there are none.
pub fn inconclusive(summary: &Summary) -> Option<String> {
    said(summary, warning)
}

/// The same for output that also has the warnings, which contain the amounts and the advice.
pub fn inconclusive_briefly(summary: &Summary) -> Option<String> {
    said(summary, |warning| fact(warning.kind).to_owned())
}

fn said(summary: &Summary, reason: impl Fn(&Warning) -> String) -> Option<String> {
    let constraints = inconclusive_constraints(summary);
    let said: Vec<String> = rows(summary, reason)
        .into_iter()
        .chain(constraints)
        .collect();
    (!said.is_empty()).then(|| said.join("; "))
}

fn rows(summary: &Summary, reason: impl Fn(&Warning) -> String) -> Option<String> {
    let rows: Vec<&TestSummary> = summary.inconclusive().collect();
    if rows.is_empty() {
        return None;
    }
    let names = rows.iter().take(NAMED).map(|row| row.name.as_str());
    let names = names.collect::<Vec<_>>().join(", ");
    let more = match rows.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let of = match (summary.tests.len(), rows.len()) {
        (1, _) => String::new(),
        (all, count) => format!(" ({count} of {all} rows)"),
    };
    Some(format!(
        "{names}{more}{of}: {}",
        why(summary, &rows, reason)
    ))
}

fn why(summary: &Summary, rows: &[&TestSummary], reason: impl Fn(&Warning) -> String) -> String {
    let is_their = |kind: WarningKind| {
        let mut warnings = rows.iter().flat_map(|row| &row.warnings);
        warnings.any(|warning| warning.kind == kind)
    };
    let mut reasons = summary
        .warnings
        .iter()
        .filter(|warning| warning.disqualifies() && is_their(warning.kind));
    let disqualified = || rows.iter().find_map(|row| row.disqualified());
    let Some(first) = reasons.next().or_else(disqualified) else {
        if let Some(empty) = rows.iter().find(|row| row.status != Status::Failed) {
            return in_words(empty).1;
        }
        return "the load generator stalled for so long that it may have caused the failures; stop \
                other programs or use another machine"
            .to_owned();
    };
    match reasons.count() {
        0 => reason(first),
        more => format!("{} (and {more} more, see the warnings)", reason(first)),
    }
}
