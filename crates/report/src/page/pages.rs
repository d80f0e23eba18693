//! What runs say of their pages: the number in short, a table of all pages, and the report of 1995.

use record::{Nanos, Run};
use stats::{Distribution, PageSummary, PagesSummary, Visits};

use super::markup::{mean, percentile, text, time};
use super::tables::{self, heading, nothing, number, section};
use super::{Page, PageRun};
use crate::json::us;
use crate::table::few;
use crate::webstone::{self, a_minute};

/// Columns of figures: heading, and what a reader may ask about it.
const COLUMNS: [(&str, &str); 11] = [
    ("size", "Bytes of all files of the page"),
    ("weight", "How often it is drawn, beside the others"),
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

/// Runs that fetched pages, with what they say of them and how they are called.
fn of_runs<'a>(
    page: &'a Page<'_>,
    names: &'a [String],
) -> impl Iterator<Item = (&'a Run, &'a PagesSummary, &'a str)> {
    let runs = page.runs.iter().zip(names);
    runs.filter_map(|(PageRun { run, summary, .. }, name)| {
        Some((*run, summary.pages.as_ref()?, name.as_str()))
    })
}

/// The number of each run, and what goes with it.
pub(super) fn in_short(page: &Page<'_>, names: &[String]) -> Vec<String> {
    let of_run = |(_, pages, name): (&Run, &PagesSummary, &str)| {
        let Visits {
            complete,
            incomplete,
            ..
        } = pages.all;
        let class = if incomplete > 0 { "bad" } else { "ok" };
        let (rate, interval) = a_minute(pages.per_minute, pages.per_minute_ci95, pages.wanders);
        format!(
            "<span class=\"name\">{}</span> <strong>{rate}</strong> complete pages a minute {interval}: \
             {complete} in {:.1} s, <span class=\"{class}\">{incomplete} incomplete</span>",
            text(name),
            pages.window_s,
        )
    };
    of_runs(page, names).map(of_run).collect()
}

/// All pages of all runs, and the report of 1995 of each.
pub(super) fn tables(page: &Page<'_>, names: &[String]) -> String {
    let several = page.runs.len() > 1;
    let mut body = String::new();
    let mut reports = String::new();
    for (run, pages, name) in of_runs(page, names) {
        let server = several.then_some(name);
        for (place, of) in pages.pages.iter().enumerate() {
            let PageSummary { page, visits } = of;
            let size = match page.bytes {
                Some(bytes) => number(bytes as f64, &bytes.to_string(), ""),
                None => nothing(),
            };
            let weight = number(page.weight, &page.weight.to_string(), "");
            body += &row(place, (&page.name, server), size + &weight, visits);
        }
        let known = nothing() + &nothing();
        let mut place = pages.pages.len();
        body += &row(place, ("All pages", server), known.clone(), &pages.all);
        for of in &pages.servers {
            place += 1;
            body += &row(place, (&of.url, server), known.clone(), &of.visits);
        }
        reports += &report(run, pages, server);
    }
    if body.is_empty() {
        return String::new();
    }
    let mut head = heading("Page", "", "text");
    if several {
        head += &heading(page.run_heading(), "", "text");
    }
    for (name, what) in COLUMNS {
        head += &heading(name, what, "number");
    }
    let all = of_runs(page, names).flat_map(|(_, pages, _)| &pages.pages);
    let mut loads = all.filter_map(|of| of.visits.load.as_ref());
    let footnote = tables::footnote(loads.any(few), "loads");
    let below = format!("{footnote}<div class=\"figures\" id=\"pages-figures\"></div>\n{reports}");
    section("pages", "Pages", &head, &body, &below)
}

fn row(place: usize, (name, server): (&str, Option<&str>), known: String, of: &Visits) -> String {
    let server = server.map_or(String::new(), |name| format!("<td>{}</td>", text(name)));
    let count = |count: u64, class| number(count as f64, &count.to_string(), class);
    let incomplete = if of.incomplete > 0 { "bad" } else { "" };
    let times = match &of.load {
        Some(load) => loads(load),
        None => nothing().repeat(5),
    };
    let first_byte = match &of.first_byte {
        Some(times) => number(us(times.mean), &mean(times.mean, times.ci95), ""),
        None => nothing(),
    };
    let cells = [
        format!(
            "<th scope=\"row\" data-sort=\"{place}\">{}</th>",
            text(name)
        ),
        server,
        known,
        count(of.complete, ""),
        count(of.incomplete, incomplete),
        count(of.connects, ""),
        times,
        first_byte,
    ];
    format!("<tr>{}</tr>\n", cells.concat())
}

fn loads(load: &Distribution) -> String {
    let [of_p50, of_p90, _, of_p99, _] = load.percentiles_ci95;
    let at = |ns: Nanos, ends, star| number(us(ns as f64), &percentile(ns, ends, star), "");
    let star = if few(load) { "*" } else { "" };
    [
        number(us(load.mean), &mean(load.mean, load.ci95), ""),
        at(load.p50, of_p50, ""),
        at(load.p90, of_p90, ""),
        at(load.p99, of_p99, star),
        number(us(load.max as f64), &time(load.max as f64), ""),
    ]
    .concat()
}

/// The report of 1995, and what is known beside it.
fn report(run: &Run, pages: &PagesSummary, server: Option<&str>) -> String {
    let whose = server.map_or(String::new(), |name| format!(": {}", text(name)));
    let beyond = webstone::beyond(run, pages).into_iter();
    let beyond: String = beyond
        .map(|line| format!("<li>{}</li>\n", text(&line)))
        .collect();
    let mut lines = webstone::classic(run, pages);
    lines.push(String::new());
    lines.extend(webstone::later(run, pages));
    let classic: Vec<String> = lines.iter().map(|line| text(line)).collect();
    format!(
        "<details><summary>In the words of WebSTONE{whose}</summary>\n<p>These lines have no intervals.</p>\n<pre>{}</pre>\n\
         <p>Beyond WebSTONE, with 95 % intervals:</p>\n<ul class=\"items\">\n{beyond}</ul></details>\n",
        classic.join("\n")
    )
}
