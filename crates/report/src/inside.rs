//! What operations cost inside of the server: the table of a run, as text, on pages and as JSON.

mod calls;
pub(crate) mod flame;
mod list;
mod why;
mod wire;

use record::{MeasureId, PlanRecord, ServerProcessRecord};
use stats::units::{human, human_range};
use stats::{InsideFigure, InsideRow, InsideSummary, Summary, TestSummary};

use textwrap::core::display_width;

use crate::analysis::figures::number_of;
use crate::clean;
use crate::figure::percent;
use crate::terminal::{Columns, TextReport};

pub(crate) use calls::{calls_in_words, name_of, unknown_calls};
pub(crate) use list::list;
pub(crate) use why::{HEADING as WHY, slowest};
pub(crate) use wire::{InsideJson, of_run, target};

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

/// Which processes were watched: `apache2 (PID 4711, 4 processes, 197 threads)`.
pub(crate) fn watched_in_words(inside: &InsideSummary) -> Option<String> {
    let mut names: Vec<&str> = Vec::new();
    for own in &inside.processes {
        if !names.contains(&own.name.as_str()) {
            names.push(&own.name);
        }
    }
    let of_name = |name: &&str| {
        let named = inside.processes.iter().filter(|own| own.name == *name);
        let own: Vec<&ServerProcessRecord> = named.collect();
        let threads = own.iter().map(|own| own.threads).sum();
        let threads = number_of(threads, "thread");
        match &own[..] {
            [one] => format!("{} (PID {}, {threads})", clean(name), one.pid),
            several => format!(
                "{} (PID {}, {} processes, {threads})",
                clean(name),
                several[0].pid,
                several.len()
            ),
        }
    };
    let words: Vec<String> = names.iter().map(of_name).collect();
    (!words.is_empty()).then(|| format!("Watched: {}", words.join("; ")))
}

fn row_name(plan: &PlanRecord, row: &InsideRow) -> String {
    let measure = plan.measures.get(usize::from(row.measure.0));
    measure.map_or(String::new(), |measure| clean(&measure.name))
}

/// `412000 instructions (1.90 per cycle), 1200 cache misses`.
fn by_processor(row: &InsideRow) -> Option<String> {
    let mean = |figure| row.mean(figure).map(|own| own.mean);
    let instructions = mean(InsideFigure::Instructions)?;
    let cycles = mean(InsideFigure::Cycles)?;
    let misses = mean(InsideFigure::CacheMisses)?;
    Some(format!(
        "{} instructions ({:.2} per cycle), {} cache misses",
        count(instructions),
        instructions / cycles,
        count(misses)
    ))
}

/// Sentences below the table.
pub(crate) fn remarks(plan: &PlanRecord, inside: &InsideSummary) -> Vec<String> {
    let mut remarks: Vec<String> = inside.missing.iter().map(|own| clean(own)).collect();
    let rows = inside.rows.iter();
    let counted: Vec<&InsideRow> = rows.filter(|row| row.operations > 0).collect();
    if counted.iter().any(|row| row.operations < ENOUGH) {
        remarks.push(format!(
            "Intervals of rows with fewer than {ENOUGH} operations are too narrow where neighbouring operations depend on each \
             other; a larger -r shows."
        ));
    }
    if !counted.is_empty() && counted.iter().all(|row| row.counted.processor == 0) {
        remarks.push(
            "The kernel counted no processor time of the processes that were watched: is one of them the server that responds?"
                .to_owned(),
        );
    }
    let by_processor: Vec<String> = counted
        .iter()
        .filter_map(|row| Some(format!("{} {}", row_name(plan, row), by_processor(row)?)))
        .collect();
    if !by_processor.is_empty() {
        remarks.push(format!(
            "By the counters of the processor, per operation: {}.",
            by_processor.join("; ")
        ));
    }
    if let Some(by) = inside.unseen {
        remarks.push(format!(
            "Calls on the storage are {}, and what goes through that is no system call: the columns reads, writes, read and \
             written have no figures.",
            unknown_calls(by)
        ));
    }
    if inside.rows.iter().any(|row| row.traced.is_some()) {
        remarks.push(
            "The server was traced behind the run: when that began, calls that waited were interrupted, and some of them \
             (epoll_wait) fail with EINTR then (--no-trace leaves tracing out)."
                .to_owned(),
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
        if let Some(watched) = watched_in_words(inside) {
            self.wrapped("", "  ", &watched);
        }
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
            let words = calls_in_words(row, plan.load.users, test)?;
            Some((clean(&test.name), words))
        });
        let slowest = slowest(plan, summary, inside).into_iter().map(|own| {
            let words = format!("{}; on the storage: {}", own.parts, own.calls);
            (format!("{}, {}", own.row, human(own.time)), words)
        });
        self.by_row(WHY, slowest.collect());
        self.by_row(calls::HEADING, calls.collect());
        let functions = inside.sampled.iter().filter_map(|own| {
            let test = test_of(summary, own.measure())?;
            Some((clean(&test.name), flame::functions_in_words(own)))
        });
        self.by_row(flame::HEADING, functions.collect());
        for remark in flame::remarks(inside) {
            self.wrapped("", "  ", &remark);
        }
    }

    /// Words about rows below a heading; nothing for no rows.
    fn by_row(&mut self, heading: &str, rows: Vec<(String, String)>) {
        if rows.is_empty() {
            return;
        }
        self.line("");
        self.wrapped("", "  ", heading);
        for (name, words) in rows {
            self.wrapped(&format!("  {name}: "), "    ", &words);
        }
    }
}

#[cfg(test)]
mod tests {
    use record::{InsideCounts, MeasureId};
    use stats::InsideMean;

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
    fn what_the_processor_counts_is_told_where_it_does() {
        let plan = stats::testing::RunBuilder::new(1).test("Put1K", &[("Put1K", "PUT")]);
        let plan = plan.build().plan;
        let means = [
            (InsideFigure::Instructions, 400_000.0),
            (InsideFigure::Cycles, 200_000.0),
            (InsideFigure::CacheMisses, 1_250.0),
        ];
        let says = |figures: &[(InsideFigure, f64)]| {
            let mean = |&(figure, mean): &(InsideFigure, f64)| {
                let interval = None;
                (figure, InsideMean { mean, interval })
            };
            let inside = InsideSummary {
                rows: vec![InsideRow {
                    measure: MeasureId(0),
                    operations: 1_000,
                    counted: InsideCounts {
                        processor: 1,
                        ..InsideCounts::default()
                    },
                    means: figures.iter().map(mean).collect(),
                    kernel_share: None,
                    unseen: None,
                    traced: None,
                }],
                ..InsideSummary::default()
            };
            remarks(&plan, &inside).join(" ")
        };
        assert_eq!(
            says(&means),
            "By the counters of the processor, per operation: Put1K 400000 instructions (2.00 per cycle), 1250 cache misses."
        );
        assert_eq!(says(&[]), "");
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
                unseen: None,
                traced: None,
            };
            let inside = InsideSummary {
                rows: vec![row],
                ..InsideSummary::default()
            };
            remarks(&plan, &inside)
                .concat()
                .contains("no processor time")
        };
        assert_eq!((says(0), says(300)), (false, true));
    }

    #[test]
    fn processes_are_told_by_name() {
        let process = |pid, name: &str, threads| ServerProcessRecord {
            pid,
            name: name.to_owned(),
            threads,
        };
        let mut inside = InsideSummary::default();
        assert_eq!(watched_in_words(&inside), None);
        inside.processes = vec![
            process(7, "nginx", 1),
            process(8, "nginx", 1),
            process(20, "php\u{1b}[2J", 3),
            process(21, "worker", 1),
        ];
        assert_eq!(
            watched_in_words(&inside).unwrap_or_default(),
            "Watched: nginx (PID 7, 2 processes, 2 threads); php\\u{1b}[2J (PID 20, 3 threads); worker (PID 21, 1 thread)"
        );
    }

    #[test]
    fn counts_and_bytes_have_the_digits_that_say_something() {
        let counts = [0.0, 0.004, 0.256, 1.0, 2.06, 99.94, 1234.5].map(count);
        assert_eq!(counts, ["0", "0", "0.26", "1", "2.1", "99.9", "1234"]);
        let amounts = [0.0, 999.4, 1023.0, 2048.0].map(amount);
        assert_eq!(amounts, ["0 B", "999 B", "1.0 KiB", "2.0 KiB"]);
    }
}
