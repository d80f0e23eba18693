//! What operations cost inside of the server, as a table.

use maud::{Markup, html};
use stats::InsideSummary;
use stats::units::human;

use super::markup::{heading, headings};
use super::tables::{nothing, number, section};
use super::{PageRun, ReportPage};
use crate::inside::{
    COLUMNS, InsideCell, WHY, calls_in_words, cells, remarks, slowest, test_of, watched_in_words,
};

/// A run whose server was looked into, its name, and what was seen.
pub(super) type RunLookedInto<'p> = (&'p PageRun<'p>, &'p String, &'p InsideSummary);

/// The runs whose server was looked into.
pub(super) fn looked_into<'p>(
    page: &'p ReportPage<'_>,
    names: &'p [String],
) -> impl Iterator<Item = RunLookedInto<'p>> {
    let runs = page.runs.iter().zip(names);
    runs.filter_map(|(of, name)| Some((of, name, of.summary.inside.as_ref()?)))
}

/// A table of all runs whose server was looked into; nothing for others.
pub(super) fn table(page: &ReportPage<'_>, names: &[String]) -> Markup {
    let looked_into: Vec<RunLookedInto<'_>> = looked_into(page, names).collect();
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
            @for remark in watched_in_words(inside).into_iter().chain(remarks(&of.run.plan, inside)) {
                p.label { @if !is_one { bdi { (name) } ": " } (remark) }
            }
            @for row in &inside.rows {
                @if let Some(test) = test_of(of.summary, row.measure)
                    && let Some(words) = calls_in_words(row, of.run.plan.load.users, test) {
                    p.note {
                        @if !is_one { bdi { (name) } ", " }
                        b { (test.name) } ": " (words)
                    }
                }
            }
        }
    };
    let costs = section(
        "inside",
        "Inside of the server, per operation",
        &head,
        &body,
        &below,
    );
    html! { (costs) (why(&looked_into, is_one)) }
}

/// Why the slowest rows of each run take as long as they do.
fn why(looked_into: &[RunLookedInto<'_>], is_one: bool) -> Markup {
    let slowest = looked_into.iter().map(|(of, name, inside)| {
        let rows = slowest(&of.run.plan, of.summary, inside);
        (name, rows)
    });
    let slowest: Vec<_> = slowest.filter(|(_, rows)| !rows.is_empty()).collect();
    if slowest.is_empty() {
        return Markup::default();
    }
    let head = html! {
        @if !is_one { (heading("Run", "", "text")) }
        (heading("Row", "", "text"))
        (heading("Time", "", "number"))
        (heading("Of the time", "", "text"))
        (heading("Calls on the storage", "", "text"))
    };
    let body = html! {
        @for (name, rows) in &slowest {
            @for own in rows {
                tr {
                    @if !is_one { td { (name) } }
                    td { (own.row) }
                    (number(own.time, human(own.time), ""))
                    td class="words" { (own.parts) }
                    td class="words" { (own.calls) }
                }
            }
        }
    };
    section(
        "why",
        WHY.trim_end_matches(':'),
        &head,
        &body,
        &Markup::default(),
    )
}

fn shown(cell: &InsideCell) -> Markup {
    match cell.value {
        Some(value) => number(value, &cell.shown, ""),
        None => nothing(),
    }
}
