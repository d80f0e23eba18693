//! The server's view: the times that it gives beside ours, as text, on pages and as JSON.

mod json;

use record::{AccessLogRecord, ServerTimeSource};
use stats::units::human;
use stats::{ServerView, ServerViewRow};

use crate::clean;
use crate::document::{Block, ColumnKind, ReportTable, TableCell, TableColumn, TableRow};
use crate::figure::percent;
use crate::inside::test_of;
use crate::named_run::NamedRun;

pub(crate) use json::run_document;

const HEADING: &str = "The server's own view, per operation";

/// Operations from which intervals contain means nearly as often as their level (simulated in
/// `stats`, `tests::server_view`).
const ENOUGH: u64 = 200;

const COLUMNS: [(&str, &str); 6] = [
    (
        "n",
        "operations that were ok and of which the server says it",
    ),
    ("server", "mean of the server's time"),
    ("95 % CI", "95 % interval of this mean"),
    (
        "ours",
        "mean of our time of the same operations: the response time for Server-Timing, the total time for the access log",
    ),
    ("share", "the server's time as a part of ours"),
    (
        "rest",
        "our mean less the server's: the client, the network, and what the server does not count, such as waiting for a \
         thread",
    ),
];

pub(crate) fn name_of_source(source: &ServerTimeSource) -> String {
    match source {
        ServerTimeSource::Header { metric } => clean(metric),
        ServerTimeSource::AccessLog => "access log".to_owned(),
    }
}

/// The figures of a row, in the order of [`COLUMNS`].
fn figures(row: &ServerViewRow) -> [TableCell; 6] {
    let times = row.times.as_ref();
    let share = times.and_then(|times| times.share);
    let interval = times.and_then(|times| times.server.interval);
    let rest = times.filter(|_| share.is_some());
    let rest = rest
        .map(|times| times.ours - times.server.value)
        .filter(|rest| *rest >= 0.0);
    let server = |value: f64| {
        if is_resolved(row) {
            human(value)
        } else {
            format!("< {}", human(row.resolution as f64))
        }
    };
    [
        TableCell::figure(row.operations.to_string(), Some(row.operations as f64)),
        TableCell::optional(times.map(|times| times.server.value), server),
        TableCell::interval(interval),
        TableCell::optional(times.map(|times| times.ours), human),
        TableCell::optional(share.map(|share| share.value), percent),
        TableCell::optional(rest, human),
    ]
}

/// Its mean is one that the server can distinguish from zero.
fn is_resolved(row: &ServerViewRow) -> bool {
    let mean = row.times.as_ref().map(|times| times.server.value);
    mean.is_none_or(|mean| mean >= row.resolution as f64)
}

fn remarks(view: &ServerView) -> Vec<String> {
    let mut remarks = Vec::new();
    if let Some(row) = view.rows.iter().find(|row| !is_resolved(row)) {
        remarks.push(format!(
            "The access log counts in steps of {}: of means below that it says no more.",
            human(row.resolution as f64)
        ));
    }
    let mut times = view.rows.iter().filter_map(|row| row.times.as_ref());
    if times.any(|times| times.server.interval.is_some() && times.operations < ENOUGH) {
        remarks.push(format!(
            "Intervals over fewer than {ENOUGH} operations are too narrow where neighbouring operations depend on each other."
        ));
    }
    remarks.extend(view.access_log.as_ref().and_then(not_joined));
    remarks
}

/// Lines of a log that were not joined; `None` where all were.
fn not_joined(log: &AccessLogRecord) -> Option<String> {
    let of_operations = [
        (log.missing, "without a line"),
        (log.ambiguous, "with several lines"),
        (log.beyond, "beyond the first ones, which were looked for"),
    ];
    let parts = of_operations.iter().filter(|(count, _)| *count > 0);
    let mut parts: Vec<String> = parts
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    if parts.is_empty() && log.unreadable_lines == 0 {
        return None;
    }
    let left_out = (log.operations + log.beyond) - log.joined;
    if log.unreadable_lines > 0 {
        parts.push(format!("{} lines could not be read", log.unreadable_lines));
    }
    Some(format!(
        "Of {} operations that were ok, {left_out} are not joined with the access log: {}.",
        log.operations + log.beyond,
        parts.join(", ")
    ))
}

pub(crate) fn section(runs: &[NamedRun<'_>]) -> Option<Block> {
    let views = NamedRun::with(runs, |run| run.summary.server_view.as_ref());
    let rows = views.iter().flat_map(|(run, view)| {
        view.rows.iter().filter_map(|row| {
            let test = test_of(run.summary, row.measure)?;
            let name = [test.name.as_str().into()].into_iter().chain(run.cell());
            let source = [name_of_source(&row.source).into()];
            Some(TableRow::new(name.chain(source).chain(figures(row))))
        })
    });
    let row = [TableColumn::new("Row", ColumnKind::Text)];
    let time = TableColumn::new("Time", ColumnKind::Text)
        .meaning("a metric of Server-Timing, or the request time in the access log");
    let figures =
        COLUMNS.map(|(name, meaning)| TableColumn::new(name, ColumnKind::Number).meaning(meaning));
    let first = row.into_iter().chain(NamedRun::column(runs));
    let table = ReportTable {
        name: HEADING.to_owned(),
        columns: first.chain([time]).chain(figures).collect(),
        rows: rows.collect(),
        class: "sorts",
        ..ReportTable::default()
    };
    let remarks = views.iter().flat_map(|(run, view)| {
        remarks(view)
            .into_iter()
            .map(|remark| Block::Note(run.says(remark)))
    });
    let table = (!table.rows.is_empty()).then_some(Block::Table(table));
    let blocks = table.into_iter().chain(remarks).collect();
    (!views.is_empty()).then(|| Block::Section("server-view", HEADING.to_owned(), blocks))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_joined_is_said() {
        let all = AccessLogRecord {
            operations: 10,
            joined: 10,
            other_lines: 7,
            ..AccessLogRecord::default()
        };
        assert_eq!(not_joined(&all), None);
        let some = AccessLogRecord {
            joined: 6,
            missing: 3,
            ambiguous: 1,
            beyond: 5,
            unreadable_lines: 2,
            ..all
        };
        assert_eq!(
            not_joined(&some).as_deref(),
            Some(
                "Of 15 operations that were ok, 9 are not joined with the access log: 3 without a line, 1 with several \
                 lines, 5 beyond the first ones, which were looked for, 2 lines could not be read."
            )
        );
    }
}
