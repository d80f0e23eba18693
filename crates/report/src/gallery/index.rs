//! The pages of a gallery that have no figures.

use stats::{Status, TestSummary};

use super::words;
use super::{Exhibit, Gallery, Places, Row, mean_of};
use crate::load;
use crate::markdown::markdown as text_of;
use crate::page::Site;
use crate::page::markup::{fill, list, mean, text};
use crate::page::measured::{EXPLAINED, alike};
use crate::page::sections::section;
use crate::page::site::links;

const TEMPLATE: &str = include_str!("../../page/gallery.html");

/// The first page: every mean, and in words what is remarkable.
pub(super) fn index(
    gallery: &Gallery<'_>,
    rows: &[Row<'_>],
    places: &Places,
    site: &Site,
) -> String {
    let servers = gallery.exhibits.iter().zip(&places.servers);
    let servers = servers.enumerate().map(|(place, (exhibit, file))| {
        format!(
            "<a class=\"name\" href=\"{file}\">{}</a> {}",
            text(&exhibit.title),
            text(&words::of_server(place, rows))
        )
    });
    let tests = rows.iter().zip(&places.tests);
    let tests = tests.filter_map(|(row, file)| {
        let said = text(&words::of_test(gallery, row)?);
        let name = text(row.name);
        Some(format!(
            "<a class=\"name\" href=\"{file}\">{name}</a> {said}"
        ))
    });
    let database = words::files_and_database(gallery)
        .map(|words| format!("<h2>Files and a database</h2>\n<p>{}</p>\n", text(&words)));
    let warnings = words::disqualified(gallery);
    let warnings = warnings.iter().map(|warning| text(warning)).collect();
    let content = format!(
        "{}<h2>Mean response times</h2>\n{}<h2>Server by server</h2>\n{}{}<h2>Test by test</h2>\n{}",
        section("Warnings", "doubt", warnings),
        table(gallery, rows, places),
        list("counts", servers),
        database.unwrap_or_default(),
        list("counts", tests),
    );
    page(gallery, site, "WebDAV servers side by side", &content)
}

fn page(gallery: &Gallery<'_>, site: &Site, title: &str, content: &str) -> String {
    fill(TEMPLATE, |part| match part {
        "title" => text(title),
        "what" => text(&format!(
            "{} servers, measured on {}",
            gallery.exhibits.len(),
            gallery.day
        )),
        "links" => links(site),
        "content" => content.to_owned(),
        other => unreachable!("the template has no part {other}"),
    })
}

fn table(gallery: &Gallery<'_>, rows: &[Row<'_>], places: &Places) -> String {
    let servers = gallery.exhibits.iter().zip(&places.servers);
    let heads = servers.map(|(exhibit, file)| {
        let name = text(&exhibit.name);
        format!("<th scope=\"col\" class=\"number\"><a href=\"{file}\">{name}</a></th>")
    });
    let heads: String = heads.collect();
    let row = |(row, file): (&Row<'_>, &String)| {
        let cells = row.servers.iter();
        let cells = cells.map(|test| test.map_or("<td></td>".to_owned(), cell));
        let cells: String = cells.collect();
        let name = text(row.name);
        format!("<tr><th scope=\"row\"><a href=\"{file}\">{name}</a></th>{cells}</tr>\n")
    };
    let body: String = rows.iter().zip(&places.tests).map(row).collect();
    let runs = gallery.runs;
    format!(
        "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"All tests\"><table>\n\
         <thead><tr><th scope=\"col\">Test</th>{heads}</tr></thead>\n<tbody>\n{body}</tbody></table></div>\n\
         <p class=\"note\">Means of all operations of {runs} runs of each server, measured in turns, with their \
         95 % intervals, which include the variation between runs.</p>\n"
    )
}

fn cell(row: &TestSummary) -> String {
    let shown = match mean_of(row) {
        Some((of, ci95)) => mean(of, ci95),
        None => without_time(row.status).to_owned(),
    };
    format!("<td class=\"number\">{shown}</td>")
}

fn without_time(status: Status) -> &'static str {
    match status {
        Status::NotSupported | Status::Skipped => "–",
        Status::Failed => "failed",
        Status::Ok | Status::NotDrawn => "",
    }
}

/// Machine, versions, parameters.
pub(super) fn measured(gallery: &Gallery<'_>, site: &Site) -> String {
    let versions = gallery.exhibits.iter().map(|exhibit| {
        let shown = &exhibit.shown;
        let classes = match &shown.run.env.server {
            Some(server) if !server.dav.is_empty() => server.dav.join(", "),
            _ => "none".to_owned(),
        };
        let cells = [
            text(&exhibit.title),
            text(&exhibit.version),
            text(&classes),
            exhibit.properties.to_owned(),
            exhibit.locks.to_owned(),
        ];
        let cells = cells.map(|cell| format!("<td>{cell}</td>")).concat();
        let bias = load::bias(shown.summary).unwrap_or_else(|| "-".to_owned());
        format!(
            "<tr><th scope=\"row\">{}</th>{cells}<td>{}</td></tr>\n",
            text(&exhibit.name),
            text(&bias)
        )
    });
    let versions: String = versions.collect();
    let machine = alike_lines(gallery);
    let content = format!(
        "<p>Every server was started on the machine that measured, with the configuration that is part of \
         Prestan, reached over loopback, and stopped. All of them were measured at the same time and in turns: each \
         server did a test, then each did the next, so that whatever the machine did meanwhile happened to all of \
         them.</p>\n\
         <p>Every page shows all {} runs of each server.</p>\n{EXPLAINED}\
         <p>The command was <code>{}</code>, on {}.</p>\n{machine}\
         <h2>Servers</h2>\n<div class=\"wide\"><table>\n<thead><tr><th>Name</th><th>Server</th><th>Version</th>\
         <th>DAV class</th><th>Properties in</th><th>Locks in</th><th>Bias</th></tr></thead>\n<tbody>\n{versions}</tbody></table></div>\n\
         <p class=\"note\">A generator and a server on one machine share its processors. What the figures say of \
         servers beside each other holds better than what each says alone.</p>\n",
        gallery.runs,
        text(&gallery.command),
        text(&gallery.day),
    );
    page(gallery, site, "How it was measured", &content)
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

/// What all servers were measured with.
fn alike_lines(gallery: &Gallery<'_>) -> String {
    let told: Vec<_> = gallery
        .exhibits
        .iter()
        .map(|exhibit| exhibit.shown.told())
        .collect();
    let machine = gallery.exhibits.first().map(machine);
    let lines = alike(&told).into_iter();
    let lines = lines.map(|(what, value)| format!("{what}: {value}"));
    let lines = machine.into_iter().chain(lines).map(|line| text(&line));
    format!("<h2>Machine and parameters</h2>\n{}", list("items", lines))
}

/// Every mean, for a README.
pub(super) fn markdown(gallery: &Gallery<'_>, rows: &[Row<'_>]) -> String {
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
        let cells: Vec<String> = cells.collect();
        let name = text_of(row.name);
        markdown += &format!("| {name} | {} |\n", cells.join(" | "));
    }
    let versions = gallery
        .exhibits
        .iter()
        .map(|exhibit| match exhibit.version.is_empty() {
            true => exhibit.title.clone(),
            false => format!("{} {}", exhibit.title, exhibit.version),
        });
    let machine = gallery.exhibits.first().map(machine).unwrap_or_default();
    let versions: Vec<String> = versions.collect();
    let measured = text_of(&format!(
        "Measured on {}; {machine}; {}.",
        gallery.day,
        versions.join("; ")
    ));
    markdown += &format!("\n{measured}\n");
    for warning in words::disqualified(gallery) {
        markdown += &format!("\nWarning: {}.\n", text_of(&warning));
    }
    if let Some(words) = words::files_and_database(gallery) {
        markdown += &format!("\n{}\n", text_of(&words));
    }
    markdown
}
