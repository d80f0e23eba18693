//! Rows and constraints as test cases: the XML that JUnit's Ant task writes, as CI systems read it
//! (`testsuites/testsuite/testcase` with `failure` or `skipped`).

use std::fmt::Write as _;

use record::Run;
use stats::{Conclusion, JudgedConstraint, Status, Summary, TestSummary};

use crate::reasons::reason;
use crate::{clean, constraint_in_words, warning};

/// What became of a test case.
enum CaseEnd {
    Passed,
    Failed(String),
    /// It is not supported, or inconclusive.
    Skipped(String),
}

/// A run as a JUnit document. Every row is a test case, and so is every constraint; `time` is the mean response
/// time in seconds. Ends with a newline.
pub fn junit(run: &Run, summary: &Summary) -> String {
    let suite = &run.plan.suite.name;
    let rows = summary
        .tests
        .iter()
        .map(|row| (case_of(suite, row), end_of_row(row)));
    let constraints = summary.constraints.iter();
    let constraints =
        constraints.map(|own| (case_of_constraint(suite, own), end_of_constraint(own)));
    let cases: Vec<(String, CaseEnd)> = rows.chain(constraints).collect();
    let count = |of: fn(&CaseEnd) -> bool| cases.iter().filter(|(_, end)| of(end)).count();
    let counts = format!(
        "tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"{}\"",
        cases.len(),
        count(|end| matches!(end, CaseEnd::Failed(_))),
        count(|end| matches!(end, CaseEnd::Skipped(_))),
    );
    let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let name = escaped(&format!("{suite} on {}", run.plan.target));
    let _ = writeln!(xml, "<testsuites {counts}>");
    let _ = writeln!(
        xml,
        "  <testsuite name=\"{name}\" {counts} timestamp=\"{}\">",
        escaped(&run.env.started_at)
    );
    for (case, end) in cases {
        let _ = match end {
            CaseEnd::Passed => writeln!(xml, "    <testcase {case}/>"),
            CaseEnd::Failed(why) => writeln!(
                xml,
                "    <testcase {case}>\n      <failure message=\"{}\"/>\n    </testcase>",
                escaped(&why)
            ),
            CaseEnd::Skipped(why) => writeln!(
                xml,
                "    <testcase {case}>\n      <skipped message=\"{}\"/>\n    </testcase>",
                escaped(&why)
            ),
        };
    }
    xml.push_str("  </testsuite>\n</testsuites>\n");
    xml
}

fn case_of(suite: &str, row: &TestSummary) -> String {
    let time = row.response.map_or(0.0, |times| times.mean / 1e9);
    format!(
        "classname=\"{}.{}\" name=\"{}\" time=\"{time:.6}\"",
        escaped(suite),
        escaped(&row.test),
        escaped(&row.name)
    )
}

fn case_of_constraint(suite: &str, constraint: &JudgedConstraint) -> String {
    format!(
        "classname=\"{}.constraints\" name=\"{}\" time=\"0\"",
        escaped(suite),
        escaped(&constraint.name)
    )
}

fn end_of_row(row: &TestSummary) -> CaseEnd {
    let why = row.evidence.as_ref().map(reason).unwrap_or_default();
    match (row.conclusion(), row.status) {
        (Conclusion::Fail, _) => CaseEnd::Failed(why),
        (Conclusion::Inconclusive, _) => {
            let warning = row.disqualified().map(warning).unwrap_or_default();
            CaseEnd::Skipped(format!("inconclusive: {warning}{why}"))
        }
        (Conclusion::Pass, Status::Ok) => CaseEnd::Passed,
        (Conclusion::Pass, status) => CaseEnd::Skipped(format!("{}: {why}", status.name())),
    }
}

fn end_of_constraint(constraint: &JudgedConstraint) -> CaseEnd {
    match constraint.verdict {
        Conclusion::Pass => CaseEnd::Passed,
        Conclusion::Fail => CaseEnd::Failed(constraint_in_words(constraint)),
        Conclusion::Inconclusive => CaseEnd::Skipped(constraint_in_words(constraint)),
    }
}

/// Text for an attribute. XML 1.0 has no place for most control characters: they are made visible.
fn escaped(text: &str) -> String {
    let escape = |c: char| match c {
        '&' => "&amp;".to_owned(),
        '<' => "&lt;".to_owned(),
        '>' => "&gt;".to_owned(),
        '"' => "&quot;".to_owned(),
        '\n' | '\t' => " ".to_owned(),
        c => c.to_string(),
    };
    clean(&text.replace(['\n', '\t'], " "))
        .chars()
        .map(escape)
        .collect()
}
