//! What a sweep and a search found, in words: before their figures.

use super::Page;
use super::comparison;
use super::markup::{list, text};
use super::sections::section;
use crate::{Found, Sweep, search, sweep};

/// In short: what was asked, answered.
pub(super) fn in_short(page: &Page<'_>) -> String {
    let compared = page.comparison.map_or(String::new(), comparison::in_short);
    let swept = page.sweep.map_or(String::new(), of_sweep);
    let found = page.search.map_or(String::new(), of_search);
    compared + &swept + &found
}

fn of_sweep(sweep: &Sweep) -> String {
    let doubts = sweep.caveats.iter().map(|caveat| text(caveat)).collect();
    let answers = sweep.rows.iter().flat_map(|row| {
        let servers = sweep.servers.iter().zip(&row.servers);
        servers.map(|(server, swept)| {
            let on = match sweep.servers.len() {
                1 => String::new(),
                _ => format!(" on {}", text(&server.name)),
            };
            let sentence = text(&sweep::words::sentence(sweep, swept));
            format!(
                "<span class=\"name\">{}</span>{on} {sentence}",
                text(&row.name)
            )
        })
    });
    let how = format!("<p>{}</p>\n", text(&sweep::how(sweep)));
    section("Warnings", "doubt", doubts) + &list("counts", answers) + &how
}

fn of_search(found: &Found) -> String {
    format!("<p>{}</p>\n", text(&search::verdict(found)))
}
