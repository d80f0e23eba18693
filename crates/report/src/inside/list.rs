//! Every system call of the pass in which the server was traced.

use std::cmp::Reverse;

use record::{Run, TracedCall, TracedRow};
use stats::units::human;
use stats::{Summary, slowed};

use super::calls::{call_name, name_of, weight};
use super::{amount, count, test_of};
use crate::document::{Block, ColumnKind, ReportTable, TableCell, TableColumn, TableRow};
use crate::lists::number_of;

const HEADINGS: [&str; 6] = ["Call", "number", "failed", "bytes", "time, traced", "on"];

/// All system calls that were counted, by row; those that last, first.
pub(crate) fn list(run: &Run, summary: &Summary) -> Vec<Block> {
    let rows = summary.inside.iter().flat_map(|inside| &inside.rows);
    let traced =
        rows.filter_map(|row| Some((row.traced.as_ref()?, test_of(summary, row.measure)?)));
    let tables = traced.map(|(traced, test)| {
        let slowed = slowed(traced, run.plan.load.users, test);
        let slowed = slowed.map_or(String::new(), |factor| {
            format!(", each {factor:.2} times as long as without tracing")
        });
        let operations = number_of(traced.operations, "operation");
        let mut calls: Vec<&TracedCall> = traced.calls.iter().collect();
        calls.sort_by_key(|call| Reverse(weight(call)));
        let kind = |name| match name {
            "Call" | "on" => ColumnKind::Text,
            _ => ColumnKind::Number,
        };
        Block::Table(ReportTable {
            name: format!("{} ({operations}{slowed})", test.name),
            is_titled: true,
            columns: HEADINGS
                .map(|name| TableColumn::new(name, kind(name)))
                .into(),
            rows: calls.iter().map(|call| call_row(call, traced)).collect(),
            ..ReportTable::default()
        })
    });
    let tables: Vec<Block> = tables.collect();
    let none = tables.is_empty().then_some(Block::Paragraph(
        "No calls were counted in this run. `prestan run --inside --server NAME` and `--pid PID` count them, where \
         the system lets Prestan trace the server."
            .into(),
    ));
    let heading = "System calls per operation, in a pass of its own in which the server was traced";
    let first = [Block::Paragraph(heading.into())].into_iter();
    first.chain(tables).chain(none).collect()
}

fn call_row(call: &TracedCall, traced: &TracedRow) -> TableRow {
    let operations = traced.operations.max(1) as f64;
    let each = |sum: u64, shown: fn(f64) -> String| match sum {
        0 => "-".to_owned(),
        sum => shown(sum as f64 / operations),
    };
    let cells = [
        call_name(call),
        each(call.count, count),
        each(call.failed, count),
        each(call.bytes, amount),
        each(call.lasted, human),
        name_of(&call.target).to_owned(),
    ];
    TableRow::new(cells.map(TableCell::from))
}
