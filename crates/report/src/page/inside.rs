//! What operations cost inside of the server, as a table.

use maud::{Markup, html};
use stats::InsideSummary;

use super::markup::{heading, headings};
use super::tables::{nothing, number, section};
use super::{PageRun, ReportPage};
use crate::inside::{COLUMNS, InsideCell, calls_in_words, cells, remarks, test_of, timed};

/// A table of all runs whose server was looked into; nothing for others.
pub(super) fn table(page: &ReportPage<'_>, names: &[String]) -> Markup {
    let runs = page.runs.iter().zip(names);
    let looked_into: Vec<(&PageRun<'_>, &String, &InsideSummary)> = runs
        .filter_map(|(of, name)| Some((of, name, of.summary.inside.as_ref()?)))
        .collect();
    if looked_into.is_empty() {
        return Markup::default();
    }
    let is_one = page.runs.len() == 1;
    let head = html! {
        @if !is_one { (heading("Run", "", "text")) }
        (heading("Row", "", "text"))
        (headings(&COLUMNS))
    };
    let body = html! {
        @for (of, name, inside) in &looked_into {
            @for row in inside.rows.iter().filter(|row| row.operations > 0) {
                @if let Some(test) = test_of(of.summary, row.measure) {
                    tr {
                        @if !is_one { td { (name) } }
                        td { (test.name) }
                        @for cell in cells(row, test) { (shown(&cell)) }
                    }
                }
            }
        }
    };
    let below = html! {
        @for (of, name, inside) in &looked_into {
            @for remark in remarks(&of.run.plan, inside) {
                p.label { @if !is_one { (name) ": " } (remark) }
            }
            @for row in &inside.rows {
                @if let (Some(traced), Some(test)) = (&row.traced, test_of(of.summary, row.measure)) {
                    p.note {
                        @if !is_one { (name) ", " }
                        b { (test.name) } ": " (calls_in_words(traced, timed(of.run.plan.load.users, test)))
                    }
                }
            }
        }
    };
    section(
        "inside",
        "Inside of the server, per operation",
        &head,
        &body,
        &below,
    )
}

fn shown(cell: &InsideCell) -> Markup {
    match cell.value {
        Some(value) => number(value, &cell.shown, ""),
        None => nothing(),
    }
}
