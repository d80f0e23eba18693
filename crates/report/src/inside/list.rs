//! Every system call of the pass in which the server was traced.

use std::cmp::Reverse;

use record::{Run, TracedCall, TracedRow};
use stats::units::human;
use stats::{Summary, slowed};

use super::calls::{call_name, name_of, weight};
use super::{NONE, amount, count, test_of};
use crate::analysis::figures::number_of;
use crate::clean;
use crate::terminal::{Columns, TextReport};

/// The columns, of which the first and the last are texts.
const HEADERS: [&str; 6] = ["", "number", "failed", "bytes", "time, traced", "on"];

/// All system calls that were counted, by row; those that last, first.
pub(crate) fn list(run: &Run, summary: &Summary, width: usize) -> String {
    let mut report = TextReport::new(false, width);
    let rows = summary.inside.iter().flat_map(|inside| &inside.rows);
    let traced =
        rows.filter_map(|row| Some((row.traced.as_ref()?, test_of(summary, row.measure)?)));
    report.line("System calls per operation, in a pass of its own in which the server was traced");
    let mut is_empty = true;
    for (traced, test) in traced {
        is_empty = false;
        let slowed = slowed(traced, run.plan.load.users, test);
        let slowed = slowed.map_or(String::new(), |factor| {
            format!(", each {factor:.2} times as long as without tracing")
        });
        report.line("");
        let operations = number_of(traced.operations, "operation");
        let heading = format!("{} ({operations}{slowed}):", clean(&test.name));
        report.wrapped("", "  ", &heading);
        let mut calls: Vec<&TracedCall> = traced.calls.iter().collect();
        calls.sort_by_key(|own| Reverse(weight(own)));
        let headers = HEADERS.map(str::to_owned).to_vec();
        let cells = calls.iter().map(|own| of_call(own, traced));
        for line in Columns::lines(headers, cells, &[0, 5]) {
            report.line(line.trim_end());
        }
    }
    if is_empty {
        report.line("");
        report.wrapped(
            "",
            "",
            "No calls were counted in this run. `prestan run --inside --server NAME` and `--pid PID` count them, where the system \
             lets Prestan trace the server.",
        );
    }
    report.text
}

fn of_call(own: &TracedCall, traced: &TracedRow) -> Vec<String> {
    let operations = traced.operations.max(1) as f64;
    let each = |sum: u64, shown: fn(f64) -> String| match sum {
        0 => NONE.to_owned(),
        sum => shown(sum as f64 / operations),
    };
    vec![
        clean(&call_name(own)),
        each(own.count, count),
        each(own.failed, count),
        each(own.bytes, amount),
        each(own.lasted, human),
        clean(name_of(&own.target)),
    ]
}
