//! What a sweep and a search found, in words: before their figures.

use maud::{Markup, html};

use super::ReportPage;
use super::markup::{boxed, list};
use super::names::shortened;
use crate::document::html_of;
use crate::{Sweep, compare, search, sweep};

/// In short: what was asked, answered.
pub(super) fn in_short(page: &ReportPage<'_>) -> Markup {
    html! {
        @if let Some(compared) = page.comparison { (compare::document::in_short(compared, shortened)) }
        @if let Some(sweep) = page.sweep { (of_sweep(sweep)) }
        @if let Some(found) = page.search { p { (search::answer_in_words(found)) } }
    }
}

/// What to know before believing the answers, and how they were found.
pub(super) fn warnings(page: &ReportPage<'_>) -> Markup {
    html! {
        @if let Some(compared) = page.comparison { (html_of(&compare::document::all_warnings(compared))) }
        @if let Some(sweep) = page.sweep {
            (boxed("Warnings", "doubt", &sweep.caveats))
            p { (sweep::how(sweep)) }
        }
        @if let Some(found) = page.search { (boxed("Warnings", "doubt", &found.caveats)) }
    }
}

fn of_sweep(sweep: &Sweep) -> Markup {
    let answers = sweep.rows.iter().flat_map(|row| {
        let servers = sweep.servers.iter().zip(&row.servers);
        servers.map(|(server, swept)| {
            html! {
                bdi.name { (row.name) }
                @if sweep.servers.len() > 1 { " on " bdi { (server.name) } }
                " " (sweep::sentences(sweep, swept).join("; "))
            }
        })
    });
    list("counts", answers)
}
