//! The tables of the page. They are there without any script; scripts make them sortable.

use maud::{Markup, Render, html};
use record::TimeUnit;
use stats::{Distribution, P99_NEEDS, Status, TestSummary};

use super::markup::{heading, headings, meanings, rate, statistic, wide};
use super::{ReportPage, ShownPage};
use crate::json::{thousandths, us};
use crate::lists::distinct;
use crate::table::{few, in_words, shown_times};
use crate::times::{MAX, MEAN, P50, P90, P99, TimeStatistic};
use crate::units::human_range_in;

const RANKED: [&TimeStatistic; 4] = [&P50, &P90, &P99, &MAX];

fn columns() -> Vec<(&'static str, String)> {
    let plain = |name: &'static str, meaning: &str| (name, meaning.to_owned());
    let ranked = RANKED.map(|of| match of.without_interval() {
        Some(when) => (
            of.label,
            format!("{}; its 95 % interval, - {when}", of.hint),
        ),
        None => plain(of.label, of.hint),
    });
    let mut columns = vec![
        plain("n", "Operations with a response time"),
        plain(MEAN.label, MEAN.hint),
        plain(
            "95 % interval",
            "In which the true mean lies, 19 times out of 20; - for one operation",
        ),
    ];
    columns.extend(ranked);
    columns.push(plain(
        "req/s",
        "Expected operations per second, the other steps of their test included; its 95 % interval, - where there are too few operations, the rate was changed on purpose, or runs took turns",
    ));
    columns.push(plain(
        "failed",
        "Operations that did not end as expected; no time includes them",
    ));
    columns
}

pub(super) fn rows(of: &ShownPage<'_>) -> Markup {
    let page = of.page;
    let tests = test_names(page);
    let several = page.runs.len() > 1;
    let columns = columns();
    let width = columns.len();
    let head = html! {
        (heading("Test", "", "text"))
        @if several { (heading(page.run_heading(), "", "text")) }
        (heading("Method", "", "text"))
        (headings(&columns))
    };
    let cells = tests.iter().enumerate().flat_map(|(position, name)| {
        of.named().filter_map(move |(run, server)| {
            let test = run.summary.tests.iter().find(|test| test.name == *name);
            // Suites have few tests in common.
            let is_row = !page.is_diagnosis || test.is_some();
            is_row.then(|| row(position, name, several.then_some(server), test, width))
        })
    });
    let body = html! { @for row in cells { (row) } };
    let summaries = page.runs.iter().map(|run| run.summary);
    let mut shown = summaries.flat_map(|summary| &summary.tests);
    let starred = shown.any(|test| test.response.is_some_and(|times| few(&times)));
    let below = html! { (footnote(starred, "operations")) (meanings(columns.iter().map(|(name, what)| (*name, what.as_str())))) };
    html! {
        @if !tests.is_empty() {
            (section("tests", "All tests", &head, &body, &below))
        } @else if !page.runs.is_empty() {
            section id="tests" {
                h2 { "All tests" }
                p { "Nothing was measured: the plan has no test." }
            }
        }
    }
}

/// What a star behind p99 means, where there is one.
pub(super) fn footnote(starred: bool, of: &str) -> Markup {
    html! {
        @if starred {
            p.note { "* fewer than " (P99_NEEDS) " " (of) ", so p99 is their maximum" }
        }
    }
}

/// A section with a table that scripts make sortable.
pub(super) fn section(
    id: &str,
    title: &str,
    head: &Markup,
    body: &Markup,
    below: &Markup,
) -> Markup {
    html! {
        section id=(id) { h2 { (title) } (wide(title, Some("sorts"), head, body)) (below) }
    }
}

pub(super) fn test_names<'a>(page: &ReportPage<'a>) -> Vec<&'a str> {
    let tests = page.runs.iter().flat_map(|run| &run.summary.tests);
    distinct(tests.map(|test| test.name.as_str()))
}

fn row(
    position: usize,
    name: &str,
    server: Option<&str>,
    test: Option<&TestSummary>,
    width: usize,
) -> Markup {
    let method = test.map_or("", |test| &test.method);
    let times = test.and_then(shown_times);
    html! {
        tr {
            th scope="row" data-sort=(position) { (name) }
            @if let Some(server) = server { td { (server) } }
            td { (method) }
            @match (test, times) {
                (Some(test), Some(times)) => (figures(test, times)),
                (test, _) => td colspan=(width) class="words" { (without_time(test)) },
            }
        }
    }
}

fn without_time(test: Option<&TestSummary>) -> Markup {
    let Some(test) = test else {
        return html! { "not part of this run" };
    };
    let (word, why) = in_words(test);
    let class = match test.status {
        Status::Failed => "bad",
        Status::NotSupported | Status::Skipped | Status::NotDrawn | Status::Ok => "caution",
    };
    html! { span class=(class) { (word) } " " (why) }
}

fn figures(test: &TestSummary, times: &Distribution) -> Markup {
    let failed = match test.failed() {
        0 if test.status == Status::Failed => number(0.0, "failed", "bad"),
        0 => count(0, ""),
        some => count(some, "bad"),
    };
    let unit = test.unit;
    html! {
        (count(times.n, ""))
        (timed(times.mean, MEAN.shown(unit, times)))
        @match times.ci95 {
            Some(ends) => (timed(ends.1 - ends.0, human_range_in(unit, ends))),
            None => (nothing()),
        }
        @for of in RANKED { (timed_statistic(of, unit, times)) }
        @match test.rate {
            Some(of) => (number(thousandths(of.per_second), rate(of), "")),
            None => (nothing()),
        }
        (failed)
    }
}

/// A statistic with its interval; a star where p99 is the maximum.
pub(super) fn timed_statistic(
    of: &TimeStatistic,
    unit: Option<TimeUnit>,
    times: &Distribution,
) -> Markup {
    let star = if *of == P99 && few(times) { "*" } else { "" };
    let shown = statistic(of, unit, times, star);
    of.of(times).map_or_else(nothing, |ns| timed(ns, shown))
}

/// A time for people; the figure of the JSON document beside it, for sorting.
pub(super) fn timed(ns: f64, shown: impl Render) -> Markup {
    number(us(ns), shown, "")
}

pub(super) fn count(count: u64, class: &str) -> Markup {
    number(count as f64, count, class)
}

/// A figure, and how it is written for people.
pub(super) fn number(value: f64, shown: impl Render, class: &str) -> Markup {
    let class = Some(class).filter(|class| !class.is_empty());
    html! { td class=[class] data-sort=(value) { (shown) } }
}

/// No figure; it is sorted behind all others.
pub(super) fn nothing() -> Markup {
    html! { td data-sort="" { "-" } }
}
