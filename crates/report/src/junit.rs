//! Rows and constraints as test cases: the XML that JUnit's Ant task writes, as CI systems read it
//! (`testsuites/testsuite/testcase` with `failure` or `skipped`).

use std::fmt::Write as _;

use record::Run;
use stats::{Conclusion, JudgedConstraint, Status, Summary, TestSummary};

use crate::compare::Comparisons;
use crate::reasons::reason;
use crate::{clean, constraint_in_words, warning};

/// Result of a test case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CaseEnd {
    /// The test case passed.
    Passed,
    /// The test case failed, for this reason.
    Failed(String),
    /// The test case is not supported, or inconclusive, for this reason.
    Skipped(String),
}

/// A row or a constraint.
struct TestCase {
    class: String,
    name: String,
    /// Mean response time in seconds; 0 where there is none.
    seconds: f64,
    end: CaseEnd,
}

/// A run or a comparison with another server.
struct TestSuite {
    name: String,
    started_at: Option<String>,
    cases: Vec<TestCase>,
}

/// A run as a JUnit document. Every row is a test case, and so is every constraint; `time` is the
/// mean response time in seconds. Ends with a newline.
pub fn junit(run: &Run, summary: &Summary) -> String {
    let suite = &run.plan.suite.name;
    let rows = summary.tests.iter().map(|row| TestCase {
        class: format!("{suite}.{}", row.test),
        name: row.name.clone(),
        seconds: row.response.map_or(0.0, |times| times.mean / 1e9),
        end: end_of_row(row),
    });
    let constraints = summary.constraints.iter().map(|constraint| TestCase {
        class: format!("{suite}.constraints"),
        name: constraint.name.clone(),
        seconds: 0.0,
        end: end_of_constraint(constraint),
    });
    document(&[TestSuite {
        name: format!("{suite} on {}", run.plan.target),
        started_at: Some(run.env.started_at.clone()),
        cases: rows.chain(constraints).collect(),
    }])
}

/// A comparison as a JUnit document. Each row of each comparison is a test case that ends as `ends`
/// has it, in the same order; `time` is the mean time of B in seconds. Ends with a newline.
pub fn compare_junit(all: &Comparisons, ends: Vec<Vec<CaseEnd>>) -> String {
    let suites = all.versus.iter().zip(ends).map(|(versus, ends)| {
        let rows = versus.comparison.rows.iter().zip(ends);
        let cases = rows.map(|(row, end)| TestCase {
            class: versus.name.clone(),
            name: row.name.clone(),
            seconds: row.b.mean.map_or(0.0, |mean| mean / 1e9),
            end,
        });
        TestSuite {
            name: format!("{} compared with {}", versus.name, all.name),
            started_at: None,
            cases: cases.collect(),
        }
    });
    document(&suites.collect::<Vec<_>>())
}

fn document(suites: &[TestSuite]) -> String {
    let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let all = suites.iter().flat_map(|suite| &suite.cases);
    let _ = writeln!(xml, "<testsuites {}>", totals(all));
    for suite in suites {
        let started_at = suite.started_at.as_ref();
        let started_at = started_at.map_or_else(String::new, |time| {
            format!(" timestamp=\"{}\"", escaped(time))
        });
        let _ = writeln!(
            xml,
            "  <testsuite name=\"{}\" {}{started_at}>",
            escaped(&suite.name),
            totals(suite.cases.iter())
        );
        for case in &suite.cases {
            xml += &written(case);
        }
        xml += "  </testsuite>\n";
    }
    xml + "</testsuites>\n"
}

/// Attributes of all these cases together.
fn totals<'c>(cases: impl Iterator<Item = &'c TestCase> + Clone) -> String {
    let count = |of: fn(&CaseEnd) -> bool| cases.clone().filter(|case| of(&case.end)).count();
    format!(
        "tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"{}\" time=\"{:.6}\"",
        cases.clone().count(),
        count(|end| matches!(end, CaseEnd::Failed(_))),
        count(|end| matches!(end, CaseEnd::Skipped(_))),
        cases.clone().map(|case| case.seconds).sum::<f64>(),
    )
}

fn written(case: &TestCase) -> String {
    let attributes = format!(
        "classname=\"{}\" name=\"{}\" time=\"{:.6}\"",
        escaped(&case.class),
        escaped(&case.name),
        case.seconds
    );
    let (element, why) = match &case.end {
        CaseEnd::Passed => return format!("    <testcase {attributes}/>\n"),
        CaseEnd::Failed(why) => ("failure", why),
        CaseEnd::Skipped(why) => ("skipped", why),
    };
    format!(
        "    <testcase {attributes}>\n      <{element} message=\"{}\"/>\n    </testcase>\n",
        escaped(why)
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
