//! The server's own view, as a table.

use maud::{Markup, html};
use stats::ServerView;

use super::markup::{heading, headings, meanings};
use super::tables::{nothing, number, section};
use super::{PageRun, ReportPage};
use crate::inside::test_of;
use crate::server_view::{COLUMNS, HEADING, ViewCell, cells, name, remarks};

/// A table of all runs whose server gives times; nothing for others.
pub(super) fn table(page: &ReportPage<'_>, names: &[String]) -> Markup {
    let runs = page.runs.iter().zip(names);
    let told: Vec<(&PageRun<'_>, &String, &ServerView)> = runs
        .filter_map(|(of, run)| Some((of, run, of.summary.server_view.as_ref()?)))
        .collect();
    if told.is_empty() {
        return Markup::default();
    }
    let is_one = page.runs.len() == 1;
    let head = html! {
        @if !is_one { (heading("Run", "", "text")) }
        (heading("Row", "", "text"))
        (heading("Time", "a metric of Server-Timing, or the request time in the access log", "text"))
        (headings(&COLUMNS))
    };
    let body = html! {
        @for (of, run, view) in &told {
            @for row in &view.rows {
                @if let Some(test) = test_of(of.summary, row.measure) {
                    tr {
                        @if !is_one { td { (run) } }
                        td { (test.name) }
                        td { (name(&row.source)) }
                        @for cell in cells(row) { (shown(&cell)) }
                    }
                }
            }
        }
    };
    let below = html! {
        @for (_, run, view) in &told {
            @for remark in remarks(view) {
                p.label { @if !is_one { (run) ": " } (remark) }
            }
        }
        (meanings(COLUMNS))
    };
    section("server-view", HEADING, &head, &body, &below)
}

fn shown(cell: &ViewCell) -> Markup {
    match cell.value {
        Some(value) => number(value, &cell.shown, ""),
        None => nothing(),
    }
}
