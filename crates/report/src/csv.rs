//! A row a test, for spreadsheets (RFC 4180).
//!
//! The first columns say which run it was, so that the sheets of several can be put together.
//! Times are in microseconds, exact to the nanosecond; a cell without a value is empty. Names and
//! messages may come from a suite file or a server, and a spreadsheet takes a cell that begins
//! with `=`, `+`, `-`, `@` or a tab for a formula and runs it; some take their full-width forms for
//! the same, and some ignore blanks before them. Quoting does not help, so such a text cell gets an
//! apostrophe in front (OWASP, "CSV injection"; CWE-1236). Numbers never get one: a negative one (a
//! bias may be) is a number to a spreadsheet as well.
//!
//! New columns are added at the right end, so that a sheet that names its columns by letters stays
//! right.

use record::{Outcome, Run};
use stats::{Distribution, Summary, TestSummary};

use crate::clean;
use crate::json::{thousandths, us};
use crate::reasons::{self, reason};

/// The result as CSV with a header line; lines end with CR LF.
pub fn csv(run: &Run, summary: &Summary) -> String {
    let rows = summary.tests.iter().map(|test| row(run, test));
    lines(std::iter::once(header()).chain(rows))
}

/// Rows of as many cells each, as lines that end with CR LF.
pub(crate) fn lines<R: IntoIterator<Item = String>>(rows: impl IntoIterator<Item = R>) -> String {
    let mut lines = csv::WriterBuilder::new()
        .terminator(csv::Terminator::CRLF)
        .from_writer(Vec::new());
    for row in rows {
        lines.write_record(row).expect(INFALLIBLE);
    }
    let bytes = lines.into_inner().expect(INFALLIBLE);
    String::from_utf8(bytes).expect("cells are strings, and quoting adds only ASCII")
}

/// Why writing cannot fail: memory takes everything, and tests count the cells of a row.
const INFALLIBLE: &str = "a vector takes every byte, and all rows have as many cells";

/// Numbers of a [`Distribution`], in the order of [`times`].
const TIMES: [&str; 12] = [
    "n",
    "mean",
    "ci95_low",
    "ci95_high",
    "sd",
    "min",
    "p50",
    "p90",
    "p95",
    "p99",
    "p999",
    "max",
];

fn header() -> Vec<String> {
    let times = |of: &'static str| TIMES.map(|number| format!("{of}_us_{number}"));
    let plain = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
    [
        plain(&["run_id", "target", "users"]),
        plain(&[
            "measure",
            "method",
            "status",
            "evidence",
            "operations",
            "left_out",
            "early",
        ]),
        plain(&Outcome::ALL.map(Outcome::name)),
        times("response").to_vec(),
        times("total").to_vec(),
        plain(&["connects", "resent"]),
        times("tcp").to_vec(),
        times("tls").to_vec(),
        times("tls_resumed").to_vec(),
        plain(&["bytes_sent", "bytes_received", "window_s", "per_second"]),
        plain(&["missed", "bias_us_p50", "bias_us_p99"]),
        times("planned").to_vec(),
        times("upload").to_vec(),
        plain(&["per_second_ci95_low", "per_second_ci95_high", "wanders"]),
        plain(&["failures", "started_at"]),
    ]
    .concat()
}

/// The URL of the server that a row is about.
fn target_of<'a>(run: &'a Run, test: &TestSummary) -> &'a str {
    let mut measures = run.plan.measures.iter();
    let own = measures.find(|measure| measure.name == test.name);
    let place = own.map_or(0, |measure| usize::from(measure.target));
    run.plan.servers().nth(place).unwrap_or(&run.plan.target)
}

fn row(run: &Run, test: &TestSummary) -> Vec<String> {
    let evidence = test.evidence.as_ref().map(reason).unwrap_or_default();
    let counts = [test.operations(), test.left_out(), test.early];
    let (low, high) = test.per_second_ci95.unzip();
    let [low, high] = [low, high].map(|end| end.map(thousandths));
    [
        vec![
            cell(&run.plan.run_id),
            cell(target_of(run, test)),
            run.plan.load.users.to_string(),
        ],
        vec![
            cell(&test.name),
            cell(&test.method),
            test.status.name().into(),
            cell(&evidence),
        ],
        counts.map(|count| count.to_string()).to_vec(),
        test.outcomes
            .iter()
            .map(|(_, count)| count.to_string())
            .collect(),
        times(test.response.as_ref()),
        times(test.total.as_ref()),
        [test.connects.count, test.connects.resent]
            .map(|count| count.to_string())
            .to_vec(),
        times(test.connects.tcp.as_ref()),
        times(test.connects.tls.as_ref()),
        times(test.connects.tls_resumed.as_ref()),
        [test.bytes_sent, test.bytes_received]
            .map(|bytes| bytes.to_string())
            .to_vec(),
        vec![
            optional(test.window_s),
            optional(test.per_second.map(thousandths)),
        ],
        vec![
            test.missed.to_string(),
            optional(test.bias.map(|bias| us(bias.p50 as f64))),
            optional(test.bias.map(|bias| us(bias.p99 as f64))),
        ],
        times(test.planned.as_ref()),
        times(test.upload.as_ref()),
        vec![optional(low), optional(high), test.wanders.to_string()],
        vec![cell(&failures(test)), cell(&run.env.started_at)],
    ]
    .concat()
}

/// Failures by how they ended, with an example of each.
fn failures(test: &TestSummary) -> String {
    let groups: Vec<String> = test.failures.iter().map(reasons::group).collect();
    groups.join("; ")
}

/// The numbers of [`TIMES`], all empty when there is no time.
fn times(times: Option<&Distribution>) -> Vec<String> {
    let Some(times) = times else {
        return vec![String::new(); TIMES.len()];
    };
    let ranks = [
        times.min, times.p50, times.p90, times.p95, times.p99, times.p999, times.max,
    ];
    let (low, high) = times.ci95.unzip();
    let mut cells = vec![times.n.to_string(), us(times.mean).to_string()];
    cells.extend([low, high, times.sd].map(|number| optional(number.map(us))));
    cells.extend(ranks.map(|rank| us(rank as f64).to_string()));
    cells
}

pub(crate) fn optional(number: Option<impl ToString>) -> String {
    number.map_or_else(String::new, |number| number.to_string())
}

/// What begins a formula, or already is the mark of a text.
const LEADING: [char; 10] = ['=', '+', '-', '@', '\'', '＝', '＋', '－', '＠', '＇'];

/// A text that neither a terminal nor a spreadsheet takes for a command.
pub(crate) fn cell(text: &str) -> String {
    let text = clean(text);
    if text.trim_start().starts_with(LEADING) {
        format!("'{text}")
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_never_a_formula() {
        let table = [
            ("Put1K", "Put1K"),
            ("=1+1", "'=1+1"),
            ("+1", "'+1"),
            ("-1", "'-1"),
            ("@SUM(A1)", "'@SUM(A1)"),
            ("'quoted", "''quoted"),
            ("＝1+1", "'＝1+1"),
            ("＋1", "'＋1"),
            ("－1", "'－1"),
            ("＠SUM(A1)", "'＠SUM(A1)"),
            (" \u{3000}=1", "' \u{3000}=1"),
            ("\u{200b}=1", "\\u{200b}=1"),
            ("\t=1", "\\t=1"),
            ("a=b", "a=b"),
            ("", ""),
        ];
        for (text, expected) in table {
            assert_eq!(cell(text), expected);
        }
    }
}
