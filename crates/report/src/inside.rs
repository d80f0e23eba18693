//! What operations cost inside of the server: the table of a run, as text, on pages and as JSON.

mod calls;
pub(crate) mod flame;
mod json;
mod list;
mod why;

use record::{MeasureId, PlanRecord, ServerProcessRecord};
use stats::units::human;
use stats::{InsideFigure, InsideRow, InsideSummary, Summary, TestSummary};

use crate::clean;
use crate::document::{
    Block, ColumnKind, ListLook, Narrow, ReportTable, TableCell, TableColumn, TableRow, Words,
};
use crate::figure::percent;
use crate::lists::number_of;
use crate::named_run::NamedRun;

use calls::calls_in_words;
pub(crate) use calls::{name_of, unknown_calls};
pub(crate) use json::{run_document, target};
pub(crate) use list::list;
use why::{HEADING as WHY, slowest};

const HEADING: &str = "Inside of the server, per operation (95 % CI: of the mean processor time)";

/// Operations from which intervals of means contain them as often as they say, whatever usual
/// dependence neighbours have (simulated in `stats`, `tests::inside`).
const ENOUGH: u64 = 200;

/// A column, and what it means.
const COLUMNS: [(&str, &str); 13] = [
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

/// The figures of a row, in the order of [`COLUMNS`].
fn figures(row: &InsideRow, test: &TestSummary) -> [TableCell; 13] {
    let mean = |figure| row.mean(figure).map(|estimate| estimate.mean);
    let time = test.total.as_ref().map(|total| total.mean);
    let processor = row.mean(InsideFigure::Processor);
    let rest = time
        .zip(processor)
        .map(|(time, processor)| time - processor.mean);
    let interval = processor.and_then(|processor| processor.interval);
    [
        TableCell::optional(time, human),
        TableCell::optional(processor.map(|processor| processor.mean), human),
        TableCell::interval(interval),
        TableCell::optional(row.kernel_share, percent),
        TableCell::optional(rest.filter(|rest| *rest >= 0.0), human),
        TableCell::optional(mean(InsideFigure::Queued), human),
        TableCell::optional(mean(InsideFigure::Waits), count),
        TableCell::optional(mean(InsideFigure::Preemptions), count),
        TableCell::optional(mean(InsideFigure::Reads), count),
        TableCell::optional(mean(InsideFigure::Writes), count),
        TableCell::optional(mean(InsideFigure::ReadBytes), amount),
        TableCell::optional(mean(InsideFigure::WrittenBytes), amount),
        TableCell::optional(mean(InsideFigure::DiskWrittenBytes), amount),
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
fn watched_in_words(inside: &InsideSummary) -> Option<String> {
    let mut names: Vec<&str> = Vec::new();
    for process in &inside.processes {
        if !names.contains(&process.name.as_str()) {
            names.push(&process.name);
        }
    }
    let watched = |name: &&str| {
        let named = inside
            .processes
            .iter()
            .filter(|process| process.name == *name);
        let processes: Vec<&ServerProcessRecord> = named.collect();
        let threads = processes.iter().map(|process| process.threads).sum();
        let threads = number_of(threads, "thread");
        match &processes[..] {
            [one] => format!("{} (PID {}, {threads})", clean(name), one.pid),
            several => format!(
                "{} (PID {}, {} processes, {threads})",
                clean(name),
                several[0].pid,
                several.len()
            ),
        }
    };
    let words: Vec<String> = names.iter().map(watched).collect();
    (!words.is_empty()).then(|| format!("Watched: {}", words.join("; ")))
}

fn row_name(plan: &PlanRecord, row: &InsideRow) -> String {
    let measure = plan.measures.get(usize::from(row.measure.0));
    measure.map_or(String::new(), |measure| clean(&measure.name))
}

/// `412000 instructions (1.90 per cycle), 1200 cache misses`.
fn by_processor(row: &InsideRow) -> Option<String> {
    let mean = |figure| row.mean(figure).map(|estimate| estimate.mean);
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

fn remarks(plan: &PlanRecord, inside: &InsideSummary) -> Vec<String> {
    let mut remarks: Vec<String> = inside.missing.iter().map(|remark| clean(remark)).collect();
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

/// Columns that are left out where the terminal is too narrow, by their places, the least telling
/// one first.
const LEAST_TELLING: [usize; 7] = [8, 6, 4, 11, 7, 3, 5];

pub(crate) fn blocks(runs: &[NamedRun<'_>]) -> Vec<Block> {
    let inside = NamedRun::with(runs, |run| run.summary.inside.as_ref());
    if inside.is_empty() {
        return Vec::new();
    }
    let remarks = inside.iter().flat_map(|(run, inside)| {
        let sentences = watched_in_words(inside)
            .into_iter()
            .chain(remarks(&run.run.plan, inside));
        sentences.map(|sentence| run.says(sentence))
    });
    let calls = inside.iter().flat_map(|(run, inside)| {
        inside.rows.iter().filter_map(|row| {
            let test = test_of(run.summary, row.measure)?;
            let words = calls_in_words(row, run.run.plan.load.users, test)?;
            Some(about_row(run, &test.name, words))
        })
    });
    let slowest = inside.iter().flat_map(|(run, inside)| {
        let rows = slowest(&run.run.plan, run.summary, inside).into_iter();
        rows.map(|why| {
            let words = format!("{}; on the storage: {}", why.parts, why.calls);
            about_row(run, &format!("{}, {}", why.row, human(why.time)), words)
        })
    });
    let table = table(runs, &inside);
    let mut blocks = Vec::new();
    if !table.rows.is_empty() {
        blocks.push(Block::Table(table));
    }
    blocks.extend([
        Block::list("", ListLook::Bare, remarks),
        Block::list(WHY, ListLook::Bare, slowest),
        Block::list(calls::HEADING, ListLook::Bare, calls),
    ]);
    vec![Block::Section("inside", HEADING.to_owned(), blocks)]
}

/// Functions of the server with most samples, where stacks were sampled: the words of flame graphs.
pub(crate) fn functions(run: NamedRun<'_>) -> Vec<Block> {
    let Some(inside) = &run.summary.inside else {
        return Vec::new();
    };
    let functions = inside.sampled.iter().filter_map(|profile| {
        let test = test_of(run.summary, profile.measure())?;
        Some(about_row(
            &run,
            &test.name,
            flame::functions_in_words(profile),
        ))
    });
    vec![
        Block::list(flame::HEADING, ListLook::Bare, functions),
        Block::list("", ListLook::Bare, flame::remarks(inside)),
    ]
}

fn about_row(run: &NamedRun<'_>, row: &str, words: String) -> Words {
    run.says("").strong(row).plain(format!(": {words}"))
}

fn table(runs: &[NamedRun<'_>], inside: &[(&NamedRun<'_>, &InsideSummary)]) -> ReportTable {
    let rows = inside.iter().flat_map(|(run, inside)| {
        let rows = inside.rows.iter().filter(|row| row.operations > 0);
        rows.filter_map(|row| {
            let test = test_of(run.summary, row.measure)?;
            let name = [test.name.as_str().into()];
            Some(TableRow::new(
                name.into_iter().chain(figures(row, test)).chain(run.cell()),
            ))
        })
    });
    ReportTable {
        name: HEADING.to_owned(),
        columns: columns(runs),
        rows: rows.collect(),
        narrow: Narrow::LeaveOut(LEAST_TELLING.to_vec()),
        class: "sorts",
        ..ReportTable::default()
    }
}

fn columns(runs: &[NamedRun<'_>]) -> Vec<TableColumn> {
    let figures =
        COLUMNS.map(|(name, meaning)| TableColumn::new(name, ColumnKind::Number).meaning(meaning));
    let row = [TableColumn::new("Row", ColumnKind::Text)];
    row.into_iter()
        .chain(figures)
        .chain(NamedRun::column(runs))
        .collect()
}

#[cfg(test)]
mod tests {
    use record::{InsideCounts, MeasureId};
    use stats::InsideMean;
    use textwrap::core::display_width;

    use super::*;
    use crate::terminal::TextReport;

    #[test]
    fn a_narrow_terminal_has_the_most_telling_columns() {
        let columns = columns(&[]);
        let cells = (0..columns.len()).map(|column| format!("cell{column:02}").into());
        let table = ReportTable {
            rows: vec![TableRow::new(cells)],
            columns,
            narrow: Narrow::LeaveOut(LEAST_TELLING.to_vec()),
            ..ReportTable::default()
        };
        let drawn = |width| {
            let mut report = TextReport::new(false, width);
            report.blocks(&[Block::Table(table.clone())]);
            report.finish()
        };
        let wide = drawn(200);
        assert!(wide.contains("lost") && wide.contains("cell08"), "{wide}");
        let narrow = drawn(80);
        assert!(
            narrow.lines().all(|line| display_width(line) <= 80),
            "{narrow}"
        );
        assert!(
            narrow.contains("processor") && !narrow.contains("cell08"),
            "{narrow}"
        );
        // No terminal is that narrow, and what is left is shown.
        assert!(drawn(10).contains("to disk"));
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
