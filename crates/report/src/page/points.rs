//! Every point of a sweep and every trial of a search, as tables.

use stats::{Status, SweepPoint, SweptRow};

use super::Page;
use super::markup::{mean, text};
use super::tables::{heading, number, section};
use crate::json::us;
use crate::search::{self, Loaded, Medians};
use crate::{Found, Sweep, sweep};

/// All of them; nothing for a page without.
pub(super) fn tables(page: &Page<'_>) -> String {
    let swept = page.sweep.map_or(String::new(), of_sweep);
    let found = page.search.map_or(String::new(), of_search);
    swept + &found
}

fn of_sweep(sweep: &Sweep) -> String {
    let mut head = heading("Test", "", "text") + &heading("Method", "", "text");
    for varied in &sweep.vary {
        head += &heading(&varied.name, "Value of the parameter", "number");
    }
    for server in &sweep.servers {
        let name = match sweep.servers.len() {
            1 => "mean",
            _ => &server.name,
        };
        head += &heading(
            name,
            "Mean of all runs there, and its 95 % interval",
            "number",
        );
    }
    let rows = sweep.rows.iter().enumerate();
    let body: String = rows.map(|(place, row)| points(sweep, place, row)).collect();
    section("points", "All points", &head, &body, "")
}

fn points(sweep: &Sweep, place: usize, row: &SweptRow) -> String {
    let line = |levels: &[usize]| {
        let mut cells = format!(
            "<th scope=\"row\" data-sort=\"{place}\">{}</th><td>{}</td>",
            text(&row.name),
            text(&row.method)
        );
        for (varied, level) in sweep.vary.iter().zip(levels) {
            cells += &number(varied.values[*level], &text(&varied.written[*level]), "");
        }
        for server in &row.servers {
            let point = sweep::point_at(server, levels);
            cells += &point.map_or("<td data-sort=\"\"></td>".to_owned(), cell);
        }
        format!("<tr>{cells}</tr>\n")
    };
    sweep::levels(row).into_iter().map(line).collect()
}

fn cell(point: &SweepPoint) -> String {
    let (Some(of), Status::Ok) = (point.mean, point.status) else {
        let why = text(&sweep::without_time(point));
        return format!("<td class=\"bad\" data-sort=\"\">{why}</td>");
    };
    number(us(of), &mean(of, point.ci95), "")
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

fn of_search(found: &Found) -> String {
    let headers = search::headers(found);
    let heads = headers.iter().zip(MEANINGS).enumerate();
    let head: String = heads
        .map(|(place, (name, what))| match place {
            0 => heading("load", what, "text"),
            6 if found.condition.is_some() => heading("condition", what, "text"),
            6 => heading("remark", "", "text"),
            _ => heading(name, what, "number"),
        })
        .collect();
    let loads = Loaded::all(found);
    let body: String = loads.iter().map(|loaded| row(found, loaded)).collect();
    let note = format!("<p>{}</p>", search::NOTE);
    section("trials", "All loads", &head, &body, &note)
}

fn row(found: &Found, loaded: &Loaded) -> String {
    let cells = search::cells(found, loaded).map(|cell| text(&cell));
    let [load, per_second, mean, p50, p99, failures, remark] = cells;
    let timed = |of: fn(Medians) -> f64, shown: &str| match loaded.times {
        Some(times) => number(us(of(times)), shown, ""),
        None => format!("<td data-sort=\"\">{shown}</td>"),
    };
    let class = if loaded.fails() { "bad" } else { "ok" };
    let cells = [
        format!(
            "<th scope=\"row\" data-sort=\"{}\">{load}</th>",
            loaded.load
        ),
        number(loaded.per_second, &per_second, ""),
        timed(|times| times.mean, &mean),
        timed(|times| times.p50, &p50),
        timed(|times| times.p99, &p99),
        number(
            loaded.failures as f64,
            &failures,
            if loaded.failures > 0 { "bad" } else { "" },
        ),
        format!("<td class=\"{class}\">{remark}</td>"),
    ];
    format!("<tr>{}</tr>\n", cells.concat())
}
