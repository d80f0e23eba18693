//! What runs say of their pages: the number in short, a table of all pages, and the report of 1995.

use maud::{Markup, PreEscaped, html};
use record::Run;
use stats::{Distribution, PageSummary, PagesSummary, Visits};

use super::ShownPage;
use super::figure_parts::FigurePart;
use super::markup::{heading, headings, list, mean, meanings};
use super::tables::{self, count, nothing, number, section, timed, timed_statistic};
use crate::table::few;
use crate::times::{MAX, MEAN, P50, P90, P99};
use crate::webstone::{self, a_minute};

const COLUMNS: [(&str, &str); 11] = [
    ("size", "Bytes of all files of the page"),
    (
        "weight",
        "How often it is drawn, relative to the other pages",
    ),
    ("complete", "Loads with every file as expected"),
    ("incomplete", "Loads that miss a file, or a byte of one"),
    ("connects", "Connections that were opened"),
    ("mean", "Mean time to load the page, and its 95 % interval"),
    (
        "p50",
        "Half of the loads took no longer; its 95 % interval, - where there are too few",
    ),
    (
        "p90",
        "Nine in ten took no longer; its 95 % interval, - where there are too few",
    ),
    (
        "p99",
        "99 in a hundred took no longer; its 95 % interval, - where there are too few",
    ),
    ("max", "The slowest load"),
    (
        "first byte",
        "Mean time to the first byte of the first file, and its 95 % interval",
    ),
];

const SEGMENTS: [(&str, &str); 2] = [
    (
        "segments out",
        "TCP segments sent on connections that ended with these pages, those that close them not included; - \
         where connections are kept",
    ),
    ("segments in", "TCP segments received on them"),
];

fn runs_with_pages<'a>(
    of: &ShownPage<'a>,
) -> impl Iterator<Item = (&'a Run, &'a PagesSummary, &'a str)> + use<'a> {
    of.named()
        .filter_map(|(run, name)| Some((run.run, run.summary.pages.as_ref()?, name)))
}

/// The number of each run, and what goes with it.
pub(super) fn in_short(of: &ShownPage<'_>) -> impl Iterator<Item = Markup> {
    runs_with_pages(of).map(|(_, pages, name)| {
        let Visits {
            complete,
            incomplete,
            ..
        } = pages.all;
        let class = if incomplete > 0 { "bad" } else { "ok" };
        let (rate, interval) = a_minute(pages.per_minute, pages.per_minute_ci95, pages.wanders);
        let in_all = format!("{complete} in {:.1} s", pages.window_s);
        html! {
            bdi.name { (name) } " " strong { (rate) } " complete pages a minute " (interval) ": "
            (in_all) ", " span class=(class) { (incomplete) " incomplete" }
        }
    })
}

pub(super) fn tables(of: &ShownPage<'_>) -> Markup {
    let several = of.runs.len() > 1;
    let runs =
        || runs_with_pages(of).map(|(run, pages, name)| (run, pages, several.then_some(name)));
    if runs().next().is_none() {
        return Markup::default();
    }
    let has_segments = runs().any(|(_, pages, _)| pages.all.segments.is_some());
    let segments = if has_segments { &SEGMENTS[..] } else { &[] };
    let head = html! {
        (heading("Page", "", "text"))
        @if several { (heading(of.page.run_heading(), "", "text")) }
        (headings(&COLUMNS))
        (headings(segments))
    };
    let body = html! { @for (_, pages, server) in runs() { (rows(pages, server, has_segments)) } };
    let mut loads = runs().flat_map(|(_, pages, _)| &pages.pages);
    let starred = loads.any(|page| page.visits.load.as_ref().is_some_and(few));
    let below = html! {
        (tables::footnote(starred, "loads"))
        (meanings(COLUMNS.into_iter().chain(segments.iter().copied())))
        @if !FigurePart::Retrieval.is_first(of.subject) { (FigurePart::Retrieval.places(of)) }
        @for (run, pages, server) in runs() { (report(run, pages, server)) }
    };
    section("pages", "Pages", &head, &body, &below)
}

/// Pages one by one, all of them together, and the share of each server.
fn rows(pages: &PagesSummary, server: Option<&str>, has_segments: bool) -> Markup {
    let rows_of_pages = pages.pages.iter().map(|PageSummary { page, visits }| {
        let size = page.bytes.map_or_else(nothing, |bytes| count(bytes, ""));
        let known = html! { (size) (number(page.weight, page.weight, "")) };
        (page.name.as_str(), known, visits)
    });
    let unknown = || html! { (nothing()) (nothing()) };
    let all = std::iter::once(("All pages", unknown(), &pages.all));
    let servers = pages.servers.iter();
    let servers = servers.map(|of| (of.url.as_str(), unknown(), &of.visits));
    html! {
        @for (position, (name, known, visits)) in rows_of_pages.chain(all).chain(servers).enumerate() {
            tr {
                th scope="row" data-sort=(position) { (name) }
                @if let Some(server) = server { td { (server) } }
                (known)
                (retrieved(visits))
                @if has_segments { (segments(visits)) }
            }
        }
    }
}

fn retrieved(of: &Visits) -> Markup {
    html! {
        (count(of.complete, ""))
        (count(of.incomplete, if of.incomplete > 0 { "bad" } else { "" }))
        (count(of.connects, ""))
        @match &of.load {
            Some(load) => (loads(load)),
            None => @for _ in 0..5 { (nothing()) },
        }
        @match &of.first_byte {
            Some(times) => (timed(times.mean, mean(times.mean, times.ci95))),
            None => (nothing()),
        }
    }
}

fn segments(of: &Visits) -> Markup {
    html! {
        @match &of.segments {
            Some(segments) => { (count(segments.sent, "")) (count(segments.received, "")) },
            None => @for _ in 0..2 { (nothing()) },
        }
    }
}

fn loads(load: &Distribution) -> Markup {
    html! { @for of in [&MEAN, &P50, &P90, &P99, &MAX] { (timed_statistic(of, None, load)) } }
}

/// A line break of a text that is shown as it is written.
const LINE_BREAK: PreEscaped<&str> = PreEscaped("&#10;");

/// The report of 1995, and what is known beside it.
fn report(run: &Run, pages: &PagesSummary, server: Option<&str>) -> Markup {
    let classic = webstone::classic(run, pages).into_iter();
    let lines = classic.chain([String::new()]);
    let lines = lines.chain(webstone::later(run, pages));
    html! {
        details {
            summary {
                "In the words of WebSTONE" @if let Some(server) = server { ": " bdi { (server) } }
            }
            p { "These lines have no intervals." }
            pre {
                @for (index, line) in lines.enumerate() {
                    @if index > 0 { (LINE_BREAK) }
                    (line)
                }
            }
            p { "Beyond WebSTONE, with 95 % intervals:" }
            (list("items", webstone::beyond(run, pages)))
        }
    }
}
