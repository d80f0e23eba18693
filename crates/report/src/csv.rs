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

use record::Run;
use stats::{Summary, TestSummary};

use crate::fields::{FieldValue, SheetCell, SheetColumn};
use crate::{clean, reasons};

/// The result as CSV with a header line; lines end with CR LF.
pub fn csv(run: &Run, summary: &Summary) -> String {
    let header = row(run, None).into_iter().map(|cell| cell.column.name);
    let rows = summary.tests.iter().map(|test| {
        let cells = row(run, Some(test)).into_iter().map(|cell| cell.text);
        cells.collect()
    });
    lines(std::iter::once(header.collect::<Vec<_>>()).chain(rows))
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

fn target_of<'a>(run: &'a Run, test: &TestSummary) -> &'a str {
    let mut measures = run.plan.measures.iter();
    let measure = measures.find(|measure| measure.name == test.name);
    let index = measure.map_or(0, |measure| usize::from(measure.target));
    run.plan.servers().nth(index).unwrap_or(&run.plan.target)
}

/// The cells of a row, or the headings of their columns: what identifies the run, the figures of
/// the row, and what a later group of columns has.
fn row(run: &Run, test: Option<&TestSummary>) -> Vec<SheetCell> {
    let column = |group: u8, name: &str| SheetColumn {
        group,
        name: name.to_owned(),
    };
    let run_cell = |group, name: &str, text: Option<String>| SheetCell {
        column: column(group, name),
        text: text.unwrap_or_default(),
    };
    let mut cells = vec![
        run_cell(0, "run_id", Some(cell(&run.plan.run_id))),
        run_cell(0, "target", test.map(|test| cell(target_of(run, test)))),
        run_cell(0, "users", Some(run.plan.load.users.to_string())),
    ];
    cells.extend(TestSummary::cells(test, column(0, "")));
    cells.push(run_cell(
        9,
        "failures",
        test.map(|test| cell(&failures(test))),
    ));
    cells.push(run_cell(9, "started_at", Some(cell(&run.env.started_at))));
    cells.sort_by_key(|cell| cell.column.group);
    cells
}

fn failures(test: &TestSummary) -> String {
    let groups: Vec<String> = test.failures.iter().map(reasons::group).collect();
    groups.join("; ")
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
