//! Annotations of GitHub: lines that its runner shows beside the result of a job.

use stats::{Conclusion, Summary};

use crate::{constraint_in_words, reason};

/// A line for each row and each constraint that failed, and for each constraint that is
/// inconclusive.
pub fn github_annotations(summary: &Summary) -> Vec<String> {
    let rows = summary
        .tests
        .iter()
        .filter(|row| row.conclusion() == Conclusion::Fail);
    let rows = rows.map(|row| {
        let why = row.evidence.as_ref().map(reason).unwrap_or_default();
        annotation("error", &format!("{}: {why}", row.name))
    });
    let constraints =
        summary
            .constraints
            .iter()
            .filter_map(|constraint| match constraint.verdict {
                Conclusion::Pass => None,
                Conclusion::Inconclusive => {
                    Some(annotation("warning", &constraint_in_words(constraint)))
                }
                Conclusion::Fail => Some(annotation("error", &constraint_in_words(constraint))),
            });
    rows.chain(constraints).collect()
}

/// An annotation as the runner reads it; a line end or a percent sign in the text would be read as
/// part of the command.
fn annotation(level: &str, text: &str) -> String {
    let text = crate::clean(text)
        .replace('%', "%25")
        .replace('\r', "%0D")
        .replace('\n', "%0A");
    format!("::{level} title=prestan::{text}")
}
