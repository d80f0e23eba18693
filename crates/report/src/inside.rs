//! What operations cost inside of the server: the table of a run, as text, on pages and as JSON.

mod calls;
mod wire;

use record::{MeasureId, PlanRecord};
use stats::units::{human, human_range};
use stats::{InsideFigure, InsideRow, InsideSummary, Summary, TestSummary};

use textwrap::core::display_width;

use crate::clean;
use crate::figure::percent;
use crate::terminal::{Columns, TextReport};

pub(crate) use calls::calls_in_words;
pub(crate) use wire::{InsideJson, of_run};

/// What stands for a figure that there is not.
const NONE: &str = "-";

/// Operations from which intervals of means contain them as often as they say, whatever usual dependence neighbours have
/// (simulated in `stats`, `tests::inside`).
const ENOUGH: u64 = 200;

/// A column, and what it means.
pub(crate) const COLUMNS: [(&str, &str); 13] = [
    (
        "time",
        "mean time from the beginning of an operation to the end of its response",
    ),
    ("processor", "processor time of the server"),
    ("95 % CI", "95 % interval of its mean"),
    (
        "kernel",
        "part of it in the kernel, as the kernel samples it",
    ),
    (
        "else",
        "the rest of the time: the server waited, or the client and the network were at work",
    ),
    (
        "queued",
        "time in which threads of the server were ready and had no processor, all threads together",
    ),
    (
        "waits",
        "times that a thread of the server gave its processor up",
    ),
    (
        "lost",
        "times that a thread of the server lost its processor to another",
    ),
    (
        "reads",
        "system calls that read (read and its like; recv of sockets is not one)",
    ),
    (
        "writes",
        "system calls that write (write and its like; send to sockets is not one)",
    ),
    ("read", "bytes that these read"),
    ("written", "bytes that these wrote"),
    (
        "to disk",
        "bytes that were to go to a disk, as far as the kernel had accounted for them",
    ),
];

/// A figure as it is shown, and by what it is sorted.
pub(crate) struct InsideCell {
    pub(crate) shown: String,
    pub(crate) value: Option<f64>,
}

impl InsideCell {
    fn of(value: Option<f64>, shown: impl Fn(f64) -> String) -> InsideCell {
        InsideCell {
            shown: value.map_or(NONE.to_owned(), shown),
            value,
        }
    }
}

/// The figures of a row, in the order of [`COLUMNS`].
pub(crate) fn cells(row: &InsideRow, test: &TestSummary) -> Vec<InsideCell> {
    let mean = |figure| row.mean(figure).map(|own| own.mean);
    let number = |figure| InsideCell::of(mean(figure), count);
    let size = |figure| InsideCell::of(mean(figure), amount);
    let time = test.total.as_ref().map(|total| total.mean);
    let processor = row.mean(InsideFigure::Processor);
    let rest = time
        .zip(processor)
        .map(|(time, own)| time - own.mean)
        .filter(|rest| *rest >= 0.0);
    let interval = processor.and_then(|own| own.interval);
    vec![
        InsideCell::of(time, human),
        InsideCell::of(processor.map(|own| own.mean), human),
        InsideCell {
            shown: interval.map_or(NONE.to_owned(), human_range),
            value: interval.map(|(low, _)| low),
        },
        InsideCell::of(row.kernel_share, percent),
        InsideCell::of(rest, human),
        InsideCell::of(mean(InsideFigure::Queued), human),
        number(InsideFigure::Waits),
        number(InsideFigure::Preemptions),
        number(InsideFigure::Reads),
        number(InsideFigure::Writes),
        size(InsideFigure::ReadBytes),
        size(InsideFigure::WrittenBytes),
        size(InsideFigure::DiskWrittenBytes),
    ]
}

/// A mean count: `0`, `0.25`, `2.1`, `40`.
pub(crate) fn count(value: f64) -> String {
    let is_whole = (value - value.round()).abs() < 0.005;
    let digits = match value {
        _ if is_whole => 0,
        value if value < 1.0 => 2,
        value if value < 100.0 => 1,
        _ => 0,
    };
    format!("{value:.digits$}")
}

/// Bytes: `120 B`, `1.4 KiB`.
pub(crate) fn amount(bytes: f64) -> String {
    if bytes < 999.5 {
        format!("{bytes:.0} B")
    } else {
        crate::runs::bytes(bytes as u64)
    }
}

/// The row of the report that a measure has.
pub(crate) fn test_of(summary: &Summary, measure: MeasureId) -> Option<&TestSummary> {
    summary.tests.get(usize::from(measure.0))
}

/// Median time of the operations of a row, with which tracing is compared; `None` where several users were at work, and
/// tracing had one.
pub(crate) fn timed(users: u32, test: &TestSummary) -> Option<f64> {
    let total = test.total.as_ref().filter(|_| users == 1);
    total.map(|total| total.p50 as f64)
}

/// Sentences below the table.
pub(crate) fn remarks(plan: &PlanRecord, inside: &InsideSummary) -> Vec<String> {
    let mut remarks: Vec<String> = inside.missing.iter().map(|own| clean(own)).collect();
    let rows = inside.rows.iter();
    let counted: Vec<&InsideRow> = rows.filter(|row| row.operations > 0).collect();
    if counted.iter().any(|row| row.operations < ENOUGH) {
        remarks.push(format!(
            "Intervals of rows with fewer than {ENOUGH} operations are too narrow where neighbouring operations depend on each \
             other; -r {ENOUGH} or more shows."
        ));
    }
    if !counted.is_empty() && counted.iter().all(|row| row.counted.processor == 0) {
        remarks.push(
            "The processes that were watched used no processor time: is one of them the server that responds?".to_owned(),
        );
    }
    let untold = plan.measures.len() - counted.len();
    if untold > 0 {
        remarks.push(format!(
            "{untold} of {} rows are not in it: nothing was measured of them, or the server was at work for other rows at \
             the same time.",
            plan.measures.len()
        ));
    }
    remarks
}

/// Columns that are left out where the terminal is too narrow, by their places, the least telling one first.
const LEAST_TELLING: [usize; 7] = [7, 5, 3, 10, 6, 2, 4];

/// The table in lines no longer than `width`, as far as columns can be left out for that.
fn table(rows: &[Vec<String>], width: usize) -> Vec<String> {
    let mut left_out: Vec<usize> = Vec::new();
    let mut next = LEAST_TELLING.iter();
    loop {
        let shown = |row: &Vec<String>| -> Vec<String> {
            let cells = row.iter().enumerate();
            // The name of the row stands before its figures.
            let cells = cells.filter(|(place, _)| !left_out.iter().any(|left| left + 1 == *place));
            cells.map(|(_, cell)| cell.clone()).collect()
        };
        let mut headers = vec![String::new()];
        headers.extend(COLUMNS.iter().map(|(name, _)| (*name).to_owned()));
        let lines = Columns::lines(shown(&headers), rows.iter().map(shown), &[0]);
        let is_narrow = lines.iter().all(|line| display_width(line) <= width);
        match next.next().filter(|_| !is_narrow) {
            Some(place) => left_out.push(*place),
            None => return lines,
        }
    }
}

impl TextReport {
    /// What operations cost inside of the server.
    pub(crate) fn inside(&mut self, plan: &PlanRecord, summary: &Summary) {
        let Some(inside) = &summary.inside else {
            return;
        };
        self.line("");
        let rows = inside.rows.iter().filter(|row| row.operations > 0);
        let rows = rows.filter_map(|row| {
            let test = test_of(summary, row.measure)?;
            let mut line = vec![clean(&test.name)];
            line.extend(cells(row, test).into_iter().map(|cell| cell.shown));
            Some(line)
        });
        let rows: Vec<Vec<String>> = rows.collect();
        let heading = "Inside of the server, per operation (processor time with the 95 % interval of its mean):";
        self.wrapped("", "  ", heading);
        if !rows.is_empty() {
            for line in table(&rows, self.width) {
                self.line(&line);
            }
        }
        for remark in remarks(plan, inside) {
            self.wrapped("", "  ", &remark);
        }
        let calls = inside.rows.iter().filter_map(|row| {
            let test = test_of(summary, row.measure)?;
            let timed = timed(plan.load.users, test);
            Some((
                clean(&test.name),
                calls_in_words(row.traced.as_ref()?, timed),
            ))
        });
        let calls: Vec<(String, String)> = calls.collect();
        if calls.is_empty() {
            return;
        }
        self.line("");
        self.wrapped("", "  ", calls::HEADING);
        for (name, words) in calls {
            self.wrapped(&format!("  {name}: "), "    ", &words);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_narrow_terminal_has_the_most_telling_columns() {
        let rows: [Vec<String>; 1] = [(0..=COLUMNS.len())
            .map(|place| format!("cell{place:02}"))
            .collect()];
        let wide = table(&rows, 200);
        assert!(wide[0].contains("lost") && wide[1].contains("cell08"));
        let narrow = table(&rows, 80);
        assert!(
            narrow.iter().all(|line| display_width(line) <= 80),
            "{narrow:?}"
        );
        assert!(
            narrow[0].contains("processor") && !narrow[0].contains("lost"),
            "{narrow:?}"
        );
        assert!(!narrow[1].contains("cell08"));
        // No terminal is that narrow, and what is left is shown.
        assert!(table(&rows, 10)[0].contains("to disk"));
    }

    #[test]
    fn only_of_rows_that_were_counted_is_it_said_that_nothing_was_used() {
        let run = stats::testing::RunBuilder::new(1).test("Put1K", &[("Put1K", "PUT")]);
        let plan = run.build().plan;
        let says = |operations| {
            let row = InsideRow {
                measure: MeasureId(0),
                operations,
                counted: record::InsideCounts::default(),
                means: Vec::new(),
                kernel_share: None,
                traced: None,
            };
            let inside = InsideSummary {
                missing: Vec::new(),
                rows: vec![row],
            };
            remarks(&plan, &inside)
                .concat()
                .contains("no processor time")
        };
        assert_eq!((says(0), says(300)), (false, true));
    }

    #[test]
    fn counts_and_bytes_have_the_digits_that_say_something() {
        let counts = [0.0, 0.004, 0.256, 1.0, 2.06, 99.94, 1234.5].map(count);
        assert_eq!(counts, ["0", "0", "0.26", "1", "2.1", "99.9", "1234"]);
        let amounts = [0.0, 999.4, 1023.0, 2048.0].map(amount);
        assert_eq!(amounts, ["0 B", "999 B", "1.0 KiB", "2.0 KiB"]);
    }
}
