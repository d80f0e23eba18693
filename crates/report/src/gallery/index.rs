//! The pages of a gallery that have no figures.

use maud::{Markup, html};
use stats::{Status, TestSummary};

use super::words;
use super::{Exhibit, Gallery, GalleryPlaces, GalleryRow};
use crate::document::{Block, ColumnKind, ReportTable, TableCell, TableColumn, TableRow};
use crate::incomplete::{HEADING, alert};
use crate::lists::number_of;
use crate::load;
use crate::markdown::{line, markdown as text_of};
use crate::page::Site;
use crate::page::markup::{Frame, boxed, document, list, mean, wide};
use crate::page::measured::{alike, explained};
use crate::page::site::{STYLE, links, style};
use crate::ranking::{heat, mean_of};
use crate::text::dav_classes;
use crate::units::factor;

pub(super) fn index(
    gallery: &Gallery<'_>,
    rows: &[GalleryRow<'_>],
    places: &GalleryPlaces,
    site: &Site,
) -> String {
    let link =
        |name: &str, file: &str, said: &str| html! { a.name href=(file) { (name) } " " (said) };
    let servers = gallery.exhibits.iter().zip(&places.servers);
    let servers = servers.enumerate().map(|(index, (exhibit, file))| {
        link(&exhibit.title, file, &words::server_sentence(index, rows))
    });
    let tests = rows.iter().zip(&places.tests);
    let tests = tests
        .filter_map(|(row, file)| Some(link(row.name, file, &words::test_sentence(gallery, row)?)));
    let content = html! {
        section #answer aria-label="Times the fastest" {
            (times_the_fastest(gallery, rows, places))
        }
        h2 { "Ranking" }
        (ranks(gallery, rows, places))
        (boxed("Warnings", "caution", words::disqualified(gallery)))
        h2 { "Mean response times" }
        (table(gallery, rows, places))
        h2 { "Server by server" }
        (list("counts", servers))
        @if let Some(words) = words::files_and_database(gallery) {
            h2 { "Files and a database" }
            p { (words) }
        }
        h2 { "Test by test" }
        (list("counts", tests))
    };
    page(gallery, site, "WebDAV servers side by side", &content)
}

fn page(gallery: &Gallery<'_>, site: &Site, title: &str, content: &Markup) -> String {
    let frame = Frame {
        title,
        policy: "default-src 'none'; style-src 'self' file:; img-src 'self' file: data:",
        style: style(STYLE),
        scripts: Markup::default(),
    };
    let servers = gallery.exhibits.len();
    let body = html! {
        a.skip href="#main" { "Skip to the text" }
        (links(site))
        header {
            h1 { (title) }
            p.what { (servers) " servers, measured on " (gallery.day) }
        }
        main #main {
            @if let Some(sentence) = words::incomplete(gallery) { (alert(&sentence)) }
            (content)
        }
        footer { p { "Made by " code { "prestan gallery" } "." } }
    };
    document(frame, &body)
}

fn servers(gallery: &Gallery<'_>, places: &GalleryPlaces) -> Markup {
    html! {
        @for (exhibit, file) in gallery.exhibits.iter().zip(&places.servers) {
            th scope="col" class="number" { a href=(file) { (exhibit.name) } }
        }
    }
}

/// How many times the mean of the fastest server each mean is: a cell for each test and server.
fn times_the_fastest(
    gallery: &Gallery<'_>,
    rows: &[GalleryRow<'_>],
    places: &GalleryPlaces,
) -> Markup {
    let head = html! { th scope="col" { "Test" } (servers(gallery, places)) };
    let line = |row: &GalleryRow<'_>| {
        let ranked = row.ranking();
        html! {
            @for (server, test) in row.servers.iter().enumerate() {
                @match (ranked.iter().find(|time| time.server == server), test) {
                    (Some(time), _) => td class={ "number heat" (heat(time.times)) } { "×" (factor(time.times)) },
                    (None, Some(test)) => td.number { (unranked(test)) },
                    (None, None) => td {},
                }
            }
        }
    };
    let body = html! {
        @for (row, file) in rows.iter().zip(&places.tests) {
            tr { th scope="row" { a href=(file) { (row.name) } } (line(row)) }
        }
    };
    html! {
        (wide("Times the fastest", Some("heat compact"), &head, &body))
        p.note {
            "×2 is twice the mean of the fastest server in this test, which is blue; – is what a server \
             cannot do."
        }
    }
}

fn unranked(row: &TestSummary) -> &'static str {
    match row.disqualified() {
        Some(_) => "inconclusive",
        None => without_time(row.status),
    }
}

fn ranks(gallery: &Gallery<'_>, rows: &[GalleryRow<'_>], places: &GalleryPlaces) -> Markup {
    let head = html! {
        th scope="col" { "Test" }
        @for rank in 1..=gallery.exhibits.len() { th scope="col" { (rank) "." } }
    };
    let body = html! {
        @for (row, file) in rows.iter().zip(&places.tests) {
            @let ranked = row.ranking();
            tr {
                th scope="row" { a href=(file) { (row.name) } }
                @for (index, time) in ranked.iter().enumerate() {
                    td class={ "heat" (heat(time.times)) } {
                        @if index > 0 && !ranked[index - 1].is_below(time) { "~ " }
                        (gallery.exhibits[time.server].name)
                    }
                }
                @for _ in ranked.len()..gallery.exhibits.len() { td {} }
            }
        }
    };
    html! {
        (wide("Ranking", Some("heat compact"), &head, &body))
        p.note {
            "The fastest is first. ~ means that the order is not certain: the 95 % interval overlaps that of the \
             server before."
        }
    }
}

fn table(gallery: &Gallery<'_>, rows: &[GalleryRow<'_>], places: &GalleryPlaces) -> Markup {
    let head = html! {
        th scope="col" { "Test" }
        (servers(gallery, places))
    };
    let body = html! {
        @for (row, file) in rows.iter().zip(&places.tests) {
            tr {
                th scope="row" { a href=(file) { (row.name) } }
                @for test in &row.servers {
                    @match test {
                        Some(test) => td.number { (cell(test)) },
                        None => td {},
                    }
                }
            }
        }
    };
    html! {
        (wide("All tests", None, &head, &body))
        p.note {
            "Means of all operations of " (number_of(gallery.runs as u64, "run")) " of each server, measured in turns, with \
             their 95 % intervals"
            @if gallery.runs > 1 { ", which include the variation between runs" } "."
        }
    }
}

fn cell(row: &TestSummary) -> Markup {
    match mean_of(row) {
        Some((of, ci95)) => mean(of, ci95),
        None => html! { (without_time(row.status)) },
    }
}

fn without_time(status: Status) -> &'static str {
    match status {
        Status::NotSupported | Status::Skipped => "–",
        Status::Failed => "failed",
        Status::Ok | Status::NotDrawn => "",
    }
}

pub(super) fn measured(gallery: &Gallery<'_>, site: &Site) -> String {
    let content = html! {
        p {
            "Every server was started on the machine that measured, with the configuration that is part of \
             Prestan, reached over loopback, and stopped. All of them were measured at the same time and in turns: \
             each server did a test, then each did the next, so that whatever the machine did meanwhile happened to \
             all of them."
        }
        p { "Every page shows " (number_of(gallery.runs as u64, "run")) " of each server." }
        (explained())
        p { "The command was " code { (gallery.command) } ", on " (gallery.day) "." }
        h2 { "Machine and parameters" }
        (list("items", alike_lines(gallery)))
        h2 { "Servers" }
        (versions(gallery))
        p.note {
            "A generator and a server on one machine share its processors. Ratios between servers are more \
             reliable than the times of a single server."
        }
    };
    page(gallery, site, "How it was measured", &content)
}

fn versions(gallery: &Gallery<'_>) -> Block {
    let row = |exhibit: &Exhibit<'_>| {
        let server = exhibit.shown.run.env.server.as_ref();
        let classes = server.map_or("none".to_owned(), dav_classes);
        let bias = load::bias(exhibit.shown.summary).unwrap_or_else(|| "-".to_owned());
        let Exhibit {
            name,
            title,
            version,
            ..
        } = exhibit;
        let cells = [
            name,
            title,
            version,
            &classes,
            exhibit.properties,
            exhibit.locks,
            &bias,
        ];
        TableRow::new(cells.map(TableCell::from))
    };
    let columns = [
        "Name",
        "Server",
        "Version",
        "DAV class",
        "Properties in",
        "Locks in",
        "Bias",
    ];
    Block::Table(ReportTable {
        name: "Servers".to_owned(),
        columns: columns
            .map(|name| TableColumn::new(name, ColumnKind::Text))
            .into(),
        rows: gallery.exhibits.iter().map(row).collect(),
        ..ReportTable::default()
    })
}

fn machine(exhibit: &Exhibit<'_>) -> String {
    let machine = &exhibit.shown.run.env.machine;
    format!(
        "{}, {} processors, {:.0} GiB, {}",
        machine.cpu,
        machine.cores,
        machine.memory_bytes as f64 / (1_u64 << 30) as f64,
        machine.os
    )
}

fn alike_lines(gallery: &Gallery<'_>) -> impl Iterator<Item = String> {
    let exhibits = gallery.exhibits.iter();
    let sides: Vec<_> = exhibits.map(|exhibit| exhibit.shown.side()).collect();
    let machine = gallery.exhibits.first().map(machine);
    let lines = alike(&sides).into_iter();
    let lines = lines.map(|(what, value)| format!("{what}: {value}"));
    machine.into_iter().chain(lines)
}

pub(super) fn markdown(gallery: &Gallery<'_>, rows: &[GalleryRow<'_>]) -> String {
    let names: Vec<String> = gallery
        .exhibits
        .iter()
        .map(|exhibit| text_of(&exhibit.name))
        .collect();
    let mut markdown = format!(
        "| | {} |\n|---|{}\n",
        names.join(" | "),
        "---:|".repeat(names.len())
    );
    for row in rows {
        let cells = row.servers.iter().map(|test| match test {
            Some(row) => match mean_of(row) {
                Some((mean, _)) => crate::human(mean),
                None => without_time(row.status).to_owned(),
            },
            None => String::new(),
        });
        let name = std::iter::once(text_of(row.name));
        markdown += &line(&name.chain(cells).collect::<Vec<_>>());
    }
    let versions = gallery.exhibits.iter().map(|exhibit| {
        if exhibit.version.is_empty() {
            exhibit.title.clone()
        } else {
            format!("{} {}", exhibit.title, exhibit.version)
        }
    });
    let machine = gallery.exhibits.first().map(machine).unwrap_or_default();
    let versions: Vec<String> = versions.collect();
    let measured = text_of(&format!(
        "Measured on {}; {machine}; {}.",
        gallery.day,
        versions.join("; ")
    ));
    markdown += &format!("\n{measured}\n");
    if let Some(sentence) = words::incomplete(gallery) {
        markdown += &format!("\n{HEADING} {}\n", text_of(&sentence));
    }
    for warning in words::disqualified(gallery) {
        markdown += &format!("\nWarning: {}.\n", text_of(&warning));
    }
    if let Some(words) = words::files_and_database(gallery) {
        markdown += &format!("\n{}\n", text_of(&words));
    }
    markdown
}
