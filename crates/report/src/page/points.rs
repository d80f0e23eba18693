//! Every point of a sweep and every trial of a search, as tables.

use maud::{Markup, html};
use stats::{PointRatio, Status, SweepPoint, SweptRow};

use super::ReportPage;
use super::markup::{estimate, heading, mean, meanings};
use super::tables::{count, nothing, number, section, timed};
use crate::compare::words::ratio;
use crate::lists::enumerated;
use crate::search::{self, LoadColumn, Loaded};
use crate::{SearchResult, Sweep, sweep};

/// All of them; nothing for a page without.
pub(super) fn tables(page: &ReportPage<'_>) -> Markup {
    html! {
        @if let Some(sweep) = page.sweep { (of_sweep(sweep)) }
        @if let Some(found) = page.search { (of_search(found)) }
    }
}

const VALUE: &str = "Value of the parameter";
const OVER_THE_FIRST: &str =
    "Time over that of the first server at the same point, repeat by repeat, and its 95 % interval";

fn of_sweep(sweep: &Sweep) -> Markup {
    let mean = "Mean of all runs there, and its 95 % interval";
    let head = html! {
        (heading("Test", "", "text"))
        (heading("Method", "", "text"))
        @for varied in &sweep.vary { (heading(&varied.name, VALUE, "number")) }
        @for (place, server) in sweep.servers.iter().enumerate() {
            (heading(if sweep.servers.len() == 1 { "mean" } else { &server.name }, mean, "number"))
            @if place > 0 { (heading(sweep::RATIO, OVER_THE_FIRST, "number")) }
        }
    };
    let body = html! {
        @for (place, row) in sweep.rows.iter().enumerate() {
            @for levels in sweep::levels(row) { (point(sweep, place, row, levels)) }
        }
    };
    let names = match &sweep.servers[..] {
        [_] => "mean".to_owned(),
        all => enumerated(&all.iter().map(|of| of.name.as_str()).collect::<Vec<_>>()),
    };
    let params = enumerated(
        &sweep
            .vary
            .iter()
            .map(|of| of.name.as_str())
            .collect::<Vec<_>>(),
    );
    let ratio = (sweep.servers.len() > 1).then_some((sweep::RATIO, OVER_THE_FIRST));
    let told = [(params.as_str(), VALUE), (names.as_str(), mean)];
    let below = meanings(told.into_iter().chain(ratio));
    section("points", "All points", &head, &body, &below)
}

fn point(sweep: &Sweep, place: usize, row: &SweptRow, levels: &[usize]) -> Markup {
    html! {
        tr {
            th scope="row" data-sort=(place) { (row.name) }
            td { (row.method) }
            @for (varied, level) in sweep.vary.iter().zip(levels) {
                (number(varied.values[*level], &varied.written[*level], ""))
            }
            @for (place, server) in row.servers.iter().enumerate() {
                @let point = sweep::point_at(server, levels);
                @match point {
                    Some(point) => (cell(point)),
                    None => td data-sort="" {},
                }
                @if place > 0 {
                    @match point.and_then(|point| point.ratio) {
                        Some(of) => (ratio_cell(of)),
                        None => (nothing()),
                    }
                }
            }
        }
    }
}

fn cell(point: &SweepPoint) -> Markup {
    match (point.mean, point.status) {
        (Some(of), Status::Ok) => timed(of, mean(None, of, point.ci95)),
        _ => html! { td class="bad" data-sort="" { (sweep::without_time(point)) } },
    }
}

fn ratio_cell(PointRatio { value, ci95 }: PointRatio) -> Markup {
    let (shown, range) = ratio(value, ci95);
    number(value, estimate(&shown, range), "")
}

fn of_search(found: &SearchResult) -> Markup {
    let columns = LoadColumn::of(found);
    let words = |column: LoadColumn| match (column, column.heading(found)) {
        (LoadColumn::Load, _) => ("load", ""),
        (LoadColumn::Remark, (_, what)) if found.condition.is_some() => ("condition", what),
        (LoadColumn::Remark, _) => ("remark", ""),
        (_, words) => words,
    };
    let head = html! {
        @for column in &columns {
            @let (name, what) = words(*column);
            @let kind = if matches!(column, LoadColumn::Load | LoadColumn::Remark) { "text" } else { "number" };
            (heading(name, what, kind))
        }
    };
    let body = html! { @for loaded in Loaded::all(found) { (row(found, &columns, &loaded)) } };
    let told = columns.iter().map(|column| words(*column));
    let note = html! { p { (search::NOTE) } (meanings(told)) };
    section("trials", "All loads", &head, &body, &note)
}

fn row(found: &SearchResult, columns: &[LoadColumn], loaded: &Loaded) -> Markup {
    let cell = |column: &LoadColumn| {
        let shown = column.cell(found, loaded);
        match (column, column.value(loaded)) {
            (LoadColumn::Load, _) => html! { th scope="row" data-sort=(loaded.load) { (shown) } },
            (LoadColumn::Rate, _) => number(loaded.per_second, shown, ""),
            (LoadColumn::Failures, _) => {
                let failed = if loaded.failures > 0 { "bad" } else { "" };
                count(loaded.failures, failed)
            }
            (LoadColumn::Remark, _) => {
                html! { td class=(if loaded.fails() { "bad" } else { "ok" }) { (shown) } }
            }
            (_, Some(time)) => timed(time, &shown),
            (_, None) => html! { td data-sort="" { (shown) } },
        }
    };
    html! { tr { @for column in columns { (cell(column)) } } }
}
