//! Every point of a sweep and every trial of a search, as tables.

use maud::{Markup, html};
use stats::{PointRatio, Status, SweepPoint, SweptRow};

use super::ReportPage;
use super::markup::{estimate, heading, mean, meanings};
use super::tables::{count, nothing, number, section, timed};
use crate::compare::words::ratio;
use crate::lists::enumerated;
use crate::search::{self, Loaded, Medians};
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

/// What the columns of a search mean.
const MEANINGS: [&str; 7] = [
    "",
    "Expected responses, or complete pages",
    "Mean time",
    "Half of the operations took no longer",
    "99 in a hundred took no longer",
    "Operations that failed or were dropped",
    "Whether the condition held",
];

fn of_search(found: &SearchResult) -> Markup {
    let headers = search::headers(found);
    let head = html! {
        @for (place, (name, what)) in headers.iter().zip(MEANINGS).enumerate() {
            @match place {
                0 => (heading("load", what, "text")),
                6 if found.condition.is_some() => (heading("condition", what, "text")),
                6 => (heading("remark", "", "text")),
                _ => (heading(name, what, "number")),
            }
        }
    };
    let body = html! { @for loaded in Loaded::all(found) { (row(found, &loaded)) } };
    let last = found
        .condition
        .is_some()
        .then_some(("condition", MEANINGS[6]));
    let told = headers.iter().copied().zip(MEANINGS).take(6).chain(last);
    let note = html! { p { (search::NOTE) } (meanings(told)) };
    section("trials", "All loads", &head, &body, &note)
}

fn row(found: &SearchResult, loaded: &Loaded) -> Markup {
    let [load, per_second, mean, p50, p99, _, remark] = search::cells(found, loaded);
    let time = |of: fn(Medians) -> f64, shown: &str| match loaded.times {
        Some(times) => timed(of(times), shown),
        None => html! { td data-sort="" { (shown) } },
    };
    let failed = if loaded.failures > 0 { "bad" } else { "" };
    html! {
        tr {
            th scope="row" data-sort=(loaded.load) { (load) }
            (number(loaded.per_second, per_second, ""))
            (time(|times| times.mean, &mean))
            (time(|times| times.p50, &p50))
            (time(|times| times.p99, &p99))
            (count(loaded.failures, failed))
            td class=(if loaded.fails() { "bad" } else { "ok" }) { (remark) }
        }
    }
}
