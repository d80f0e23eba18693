//! The page of an analysed capture: findings and tables, and figures of the directions with the most
//! payload.

mod courses;

use maud::{Markup, html};

use super::causes::causes;
use super::details::details;
use super::not_judged::{NotJudged, not_judged};
use super::on_wire;
use super::tables::{
    CONNECTION_COLUMNS, REQUEST_COLUMNS, connection_row, request_row, shown_connections,
    shown_requests,
};
use super::text::{nothing, overview};
use super::warnings::{damage, left_out, warnings};
use super::{CaptureAnalysis, timeouts, words};
use crate::page::markup::{boxed, list, meanings, wide};
use crate::page::{PageDocument, drawn, with_figures};

/// Rows of the tables of a page.
const MOST_CONNECTIONS: usize = 200;
const MOST_REQUESTS: usize = 500;

/// The analysis as a page.
pub fn analysis_page(of: &CaptureAnalysis) -> PageDocument {
    let name = of.file.rsplit('/').next().unwrap_or_default();
    let title = format!("Capture {name}");
    with_figures(&title, "", body(of, &title))
}

fn body(of: &CaptureAnalysis, title: &str) -> Markup {
    html! {
        header { h1 { (title) } p.what { (overview(of)) } }
        main {
            section #answer {
                h2 { "In short" }
                @if let Some(damage) = damage(of) { div.box.bad { p { (damage) } } }
                (boxed("Warnings", "doubt", warnings(of)))
                @if let Some(left_out) = left_out(of) { p { (left_out) } }
            }
            section #findings {
                h2 { "Findings, most costly first" }
                (findings(of))
            }
            section #figures {
                h2 { "Courses" }
                (directions(of))
            }
            @if let Some(run) = &of.run {
                section #run {
                    h2 { "Reported and on the wire" }
                    (list("items", on_wire::lines(run)))
                }
            }
            (connections(of))
            (requests(of))
            @if let Some(study) = &of.timeouts { (studied(study)) }
        }
        footer { p { "Made by Prestan." } }
    }
}

/// The figures of each direction, of which the first one is open.
fn directions(of: &CaptureAnalysis) -> Markup {
    let courses = courses::courses(of);
    let [only] = &courses[..] else {
        return html! {
            @for (place, course) in courses.iter().enumerate() {
                details.figures open[place == 0] {
                    summary { (course.name) }
                    (drawn::figures(&course.figures))
                }
            }
        };
    };
    html! { div.figures { (drawn::figures(&only.figures)) } }
}

fn findings(of: &CaptureAnalysis) -> Markup {
    let causes = causes(&of.contents.traced.connections);
    html! {
        @if causes.is_empty() { p { (nothing(of)) } }
        ol {
            @for cause in &causes {
                li {
                    p { strong { (words::title(cause)) } }
                    p { (words::explanation(cause)) }
                    (list("items", words::evidence(cause, of)))
                    p { "Look at " (words::look_at(cause)) }
                }
            }
        }
        @if let Some(rest) = words::rest(&of.contents.traced.connections, &causes) { p { (rest) } }
        @let not_judged: Vec<String> = not_judged(of).iter().map(NotJudged::sentence).collect();
        @if !not_judged.is_empty() {
            h3 { "Not judged" }
            (list("items", not_judged))
        }
    }
}

/// A table of cells; the columns `texts` are not numbers.
fn table(label: &str, columns: &[(&str, &str)], rows: &[Vec<String>], texts: &[usize]) -> Markup {
    let class = |column: usize| (!texts.contains(&column)).then_some("number");
    let head = html! {
        @for (column, (name, what)) in columns.iter().enumerate() {
            th scope="col" class=[class(column)] title=[Some(what).filter(|what| !what.is_empty())] { (name) }
        }
    };
    let body = html! {
        @for row in rows {
            tr { @for (column, cell) in row.iter().enumerate() { td class=[class(column)] { (cell) } } }
        }
    };
    html! { (wide(label, None, &head, &body)) (meanings(columns.iter().copied())) }
}

fn connections(of: &CaptureAnalysis) -> Markup {
    let all = &of.contents.traced.connections;
    let shown = shown_connections(of, MOST_CONNECTIONS);
    let rows = shown
        .iter()
        .map(|place| connection_row(*place, &all[*place]));
    let rows: Vec<Vec<String>> = rows.collect();
    html! {
        @if !rows.is_empty() {
            section #connections {
                h2 { "Connections" }
                @if shown.len() < all.len() {
                    p { "The " (shown.len()) " with the most payload of " (all.len()) "." }
                }
                (table("Connections", &CONNECTION_COLUMNS, &rows, &[1, 2, 9]))
                @for place in shown.iter().take(courses::MOST_CONNECTIONS) {
                    details {
                        summary { "Connection " (place + 1) }
                        dl { @for (name, value) in details(&all[*place]) { dt { (name) } dd { (value) } } }
                    }
                }
            }
        }
    }
}

fn requests(of: &CaptureAnalysis) -> Markup {
    let shown = shown_requests(of, MOST_REQUESTS);
    let (count, all) = (shown.len() as u64, of.request_count());
    let rows = shown.into_iter().map(|request| request_row(of, request));
    let rows: Vec<Vec<String>> = rows.collect();
    html! {
        @if !rows.is_empty() {
            section #requests {
                h2 { "Requests" }
                @if count < all { p { "The slowest " (count) " of " (all) "." } }
                (table("Requests", &REQUEST_COLUMNS, &rows, &[8]))
            }
        }
    }
}

fn studied(study: &timeouts::TimeoutStudy) -> Markup {
    html! {
        section #timeouts {
            h2 { "Timeouts of other settings" }
            p { (timeouts::heading(study)) }
            @for of in timeouts::tables(study) {
                h3 { (of.title) }
                @let columns: Vec<(&str, &str)> = of.headers.iter().map(|name| (&**name, "")).collect();
                (table(of.title, &columns, &of.rows, &[0, 1]))
            }
            (list("items", timeouts::notes(study)))
        }
    }
}
