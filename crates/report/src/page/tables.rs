//! The tables of the page. They are there without any script; scripts make them sortable.

use record::Nanos;
use stats::{Distribution, P99_NEEDS, Status, TestSummary};

use super::Page;
use super::markup::{percentile, range, rate, text, time};
use crate::json::{thousandths, us};
use crate::table::{few, in_words, shown_times};

/// Columns of figures: heading, and what a reader may ask about it.
const COLUMNS: [(&str, &str); 9] = [
    ("n", "Operations with a response time"),
    ("mean", "Mean response time"),
    (
        "95 % interval",
        "In which the true mean lies, 19 times out of 20; - for one operation",
    ),
    (
        "p50",
        "Half of the operations took no longer; its 95 % interval, - where there are too few operations",
    ),
    (
        "p90",
        "Nine in ten took no longer; its 95 % interval, - where there are too few operations",
    ),
    (
        "p99",
        "99 in a hundred took no longer; its 95 % interval, - where there are too few operations",
    ),
    ("max", "The slowest operation"),
    (
        "req/s",
        "Expected operations a second, the other steps of their test included; its 95 % interval, - where there are too few operations, the rate was changed on purpose, or runs took turns",
    ),
    (
        "failed",
        "Operations that did not end as expected; no time includes them",
    ),
];

/// Every test of every run.
pub(super) fn rows(page: &Page<'_>, names: &[String]) -> String {
    let tests = test_names(page);
    if tests.is_empty() {
        return match page.runs.is_empty() {
            true => String::new(),
            false => "<section id=\"tests\"><h2>All tests</h2>\n\
                      <p>Nothing was measured: the plan has no test.</p>\n</section>\n"
                .to_owned(),
        };
    }
    let several = page.runs.len() > 1;
    let mut head = heading("Test", "", "text");
    if several {
        head += &heading(page.run_heading(), "", "text");
    }
    head += &heading("Method", "", "text");
    for (name, what) in COLUMNS {
        head += &heading(name, what, "number");
    }
    let mut body = String::new();
    for (place, name) in tests.iter().enumerate() {
        for (run, of) in page.runs.iter().zip(names) {
            let test = run.summary.tests.iter().find(|test| test.name == *name);
            // Suites have few tests in common.
            if page.is_diagnosis && test.is_none() {
                continue;
            }
            let server = if several { Some(of.as_str()) } else { None };
            body += &row(place, name, server, test);
        }
    }
    let starred = page
        .runs
        .iter()
        .flat_map(|run| &run.summary.tests)
        .any(|test| test.response.is_some_and(|times| few(&times)));
    let footnote = footnote(starred, "operations");
    section("tests", "All tests", &head, &body, &footnote)
}

/// What a star behind p99 means, where there is one.
pub(super) fn footnote(starred: bool, of: &str) -> String {
    match starred {
        true => format!(
            "<p class=\"note\">* fewer than {P99_NEEDS} {of}, so p99 is their maximum</p>\n"
        ),
        false => String::new(),
    }
}

/// A section with a table that scripts make sortable.
pub(super) fn section(id: &str, title: &str, head: &str, body: &str, below: &str) -> String {
    format!(
        "<section id=\"{id}\"><h2>{title}</h2>\n\
         <div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"{title}\">\
         <table class=\"sorts\">\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody></table></div>\n\
         {below}</section>\n"
    )
}

pub(super) fn test_names<'a>(page: &Page<'a>) -> Vec<&'a str> {
    let mut names: Vec<&str> = Vec::new();
    for test in page.runs.iter().flat_map(|run| &run.summary.tests) {
        if !names.contains(&test.name.as_str()) {
            names.push(&test.name);
        }
    }
    names
}

pub(super) fn heading(name: &str, what: &str, class: &str) -> String {
    let title = match what {
        "" => String::new(),
        what => format!(" title=\"{}\"", text(what)),
    };
    format!(
        "<th scope=\"col\" class=\"{class}\"{title}>{}</th>",
        text(name)
    )
}

fn row(place: usize, name: &str, server: Option<&str>, test: Option<&TestSummary>) -> String {
    let mut cells = format!(
        "<th scope=\"row\" data-sort=\"{place}\">{}</th>",
        text(name)
    );
    if let Some(server) = server {
        cells += &format!("<td>{}</td>", text(server));
    }
    let method = test.map_or("", |test| &test.method);
    cells += &format!("<td>{}</td>", text(method));
    let times = test.and_then(shown_times);
    cells += &match (test, times) {
        (Some(test), Some(times)) => figures(test, times),
        (Some(test), None) => {
            let (word, why) = in_words(test);
            let class = match test.status {
                Status::Failed => "bad",
                Status::NotSupported | Status::Skipped | Status::NotDrawn | Status::Ok => "doubt",
            };
            format!(
                "<td colspan=\"{}\" class=\"words\"><span class=\"{class}\">{word}</span> {}</td>",
                COLUMNS.len(),
                text(&why)
            )
        }
        (None, _) => format!(
            "<td colspan=\"{}\" class=\"words\">not part of this run</td>",
            COLUMNS.len()
        ),
    };
    format!("<tr>{cells}</tr>\n")
}

fn figures(test: &TestSummary, times: &Distribution) -> String {
    let at = |ns: Nanos, ends, star: &str| number(us(ns as f64), &percentile(ns, ends, star), "");
    let [of_p50, of_p90, _, of_p99, _] = times.percentiles_ci95;
    let star = if few(times) { "*" } else { "" };
    let interval = match times.ci95 {
        Some(ends) => number(us(ends.1 - ends.0), &range(ends), ""),
        None => nothing(),
    };
    let rate = match test.per_second {
        Some(of) => number(thousandths(of), &rate(of, test.per_second_ci95), ""),
        None => nothing(),
    };
    let failed = match test.failed() {
        0 if test.status == Status::Failed => number(0.0, "failed", "bad"),
        0 => number(0.0, "0", ""),
        some => number(some as f64, &some.to_string(), "bad"),
    };
    [
        number(times.n as f64, &times.n.to_string(), ""),
        timed(times.mean),
        interval,
        at(times.p50, of_p50, ""),
        at(times.p90, of_p90, ""),
        at(times.p99, of_p99, star),
        timed(times.max as f64),
        rate,
        failed,
    ]
    .concat()
}

/// A time for people; the figure of the JSON document beside it, for sorting.
fn timed(ns: f64) -> String {
    number(us(ns), &time(ns), "")
}

/// A figure, and how it is written for people, as HTML.
pub(super) fn number(value: f64, shown: &str, class: &str) -> String {
    let class = match class {
        "" => String::new(),
        class => format!(" class=\"{class}\""),
    };
    format!("<td{class} data-sort=\"{value}\">{shown}</td>")
}

/// No figure; it is sorted behind all others.
pub(super) fn nothing() -> String {
    "<td data-sort=\"\">-</td>".to_owned()
}
