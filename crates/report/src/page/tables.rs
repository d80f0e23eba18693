//! The tables of the page. They are there without any script; scripts make them sortable.

use record::Nanos;
use stats::{Compared, Distribution, P99_NEEDS, Status, TestSummary};

use super::Page;
use super::markup::{list, range, text, time};
use crate::Versus;
use crate::compare::{cells, legend};
use crate::json::us;

/// Columns of figures: heading, and what a reader may ask about it.
const COLUMNS: [(&str, &str); 8] = [
    ("n", "Operations with a response time"),
    ("mean", "Mean response time"),
    (
        "95 % interval",
        "In which the true mean lies, 19 times out of 20",
    ),
    ("p50", "Half of the operations took no longer"),
    ("p90", "Nine in ten took no longer"),
    ("p99", "99 in a hundred took no longer"),
    ("max", "The slowest operation"),
    (
        "failed",
        "Operations that did not end as expected; they are in no time",
    ),
];

/// Every test of every run.
pub(super) fn rows(page: &Page<'_>, names: &[String]) -> String {
    let tests = test_names(page);
    if tests.is_empty() {
        return match page.runs.is_empty() {
            true => String::new(),
            false => section("<p>Nothing was measured: the plan has no test.</p>\n"),
        };
    }
    let several = page.runs.len() > 1;
    let mut head = heading("Test", "", "text");
    if several {
        head += &heading("Server", "", "text");
    }
    head += &heading("Method", "", "text");
    for (name, what) in COLUMNS {
        head += &heading(name, what, "number");
    }
    let mut body = String::new();
    for (place, name) in tests.iter().enumerate() {
        for (run, of) in page.runs.iter().zip(names) {
            let test = run.summary.tests.iter().find(|test| test.name == *name);
            let server = if several { Some(of.as_str()) } else { None };
            body += &row(place, name, server, test);
        }
    }
    let starred = page
        .runs
        .iter()
        .flat_map(|run| &run.summary.tests)
        .any(|test| test.response.is_some_and(|times| few(&times)));
    let footnote = match starred {
        true => format!(
            "<p class=\"note\">* fewer than {P99_NEEDS} operations, so p99 is their maximum</p>\n"
        ),
        false => String::new(),
    };
    section(&format!(
        "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"All tests\">\
         <table id=\"rows\">\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody></table></div>\n{footnote}"
    ))
}

fn section(content: &str) -> String {
    format!("<section id=\"tests\"><h2>All tests</h2>\n{content}</section>\n")
}

fn test_names<'a>(page: &Page<'a>) -> Vec<&'a str> {
    let mut names: Vec<&str> = Vec::new();
    for test in page.runs.iter().flat_map(|run| &run.summary.tests) {
        if !names.contains(&test.name.as_str()) {
            names.push(&test.name);
        }
    }
    names
}

fn heading(name: &str, what: &str, class: &str) -> String {
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
    let times = test.and_then(|test| {
        let supported = test.status != Status::NotSupported;
        test.response.as_ref().filter(|_| supported)
    });
    cells += &match (test, times) {
        (Some(test), Some(times)) => figures(test, times),
        (Some(test), None) => {
            let why = test.evidence.as_deref().unwrap_or_default();
            let word = test.status.name().replace('_', " ");
            let class = match test.status {
                Status::Failed => "bad",
                Status::NotSupported | Status::Ok => "doubt",
            };
            let word = if test.status == Status::Ok {
                "no response time"
            } else {
                &word
            };
            format!(
                "<td colspan=\"{}\" class=\"words\"><span class=\"{class}\">{word}</span> {}</td>",
                COLUMNS.len(),
                text(why)
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
    let at = |ns: Nanos| timed(ns as f64, "");
    let star = if few(times) { "*" } else { "" };
    let interval = times.ci95.map_or_else(
        || "<td class=\"number\">-</td>".to_owned(),
        |ends| number(us(ends.1 - ends.0), &range(ends), ""),
    );
    let failed = match test.failed() {
        0 if test.status == Status::Failed => number(0.0, "failed", "bad"),
        0 => number(0.0, "0", ""),
        some => number(some as f64, &some.to_string(), "bad"),
    };
    [
        number(times.n as f64, &times.n.to_string(), ""),
        timed(times.mean, ""),
        interval,
        at(times.p50),
        at(times.p90),
        timed(times.p99 as f64, star),
        at(times.max),
        failed,
    ]
    .concat()
}

/// A time for people; the figure of the JSON document beside it, for sorting.
fn timed(ns: f64, mark: &str) -> String {
    number(us(ns), &format!("{}{mark}", time(ns)), "")
}

fn number(value: f64, shown: &str, class: &str) -> String {
    format!("<td class=\"number {class}\" data-sort=\"{value}\">{shown}</td>")
}

fn few(times: &Distribution) -> bool {
    times.n < P99_NEEDS
}

/// The comparison: ratios of all others to A, coloured, with the verdicts in words.
pub(super) fn comparison(page: &Page<'_>) -> String {
    let Some(all) = page.comparison else {
        return String::new();
    };
    let mut head = heading("Test", "", "text");
    head += &heading(&format!("A: {}", all.name), "Mean response time", "number");
    for versus in &all.versus {
        head += &heading(
            &versus.name,
            "Mean, ratio to A with its 95 % interval, verdict",
            "number",
        );
    }
    let first = all
        .versus
        .first()
        .map_or(&[][..], |versus| &versus.comparison.rows);
    let body: String = first
        .iter()
        .map(|row| {
            let mut html = format!("<th scope=\"row\">{}</th>", text(&row.name));
            html += &format!("<td class=\"number\">{}</td>", micro(&cells(row)[1]));
            for versus in &all.versus {
                let same = versus.comparison.rows.iter().find(|of| of.name == row.name);
                html += &same.map_or("<td></td>".to_owned(), compared);
            }
            format!("<tr>{html}</tr>\n")
        })
        .collect();
    let words = all.versus.iter().map(|versus| {
        let caveats = versus.comparison.caveats.iter();
        let caveats = list("items", caveats.map(|caveat| text(&caveat.to_string())));
        format!(
            "<p class=\"note\">{}: {}</p>\n{caveats}",
            text(&versus.name),
            text(&legend(&versus.comparison))
        )
    });
    let mut words: String = words.collect();
    let is_of_more = |versus: &Versus| versus.comparison.pairs > 1;
    if !page.runs.is_empty() && all.versus.iter().any(is_of_more) {
        words += "<p class=\"note\">The comparison is of all runs; everything else on this page is of \
                  the first run of each server.</p>\n";
    }
    format!(
        "<section id=\"comparison\"><h2>Comparison</h2>\n\
         <div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"Comparison\"><table class=\"heat\">\n\
         <thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody></table></div>\n{words}\
         <div id=\"ratios\" class=\"figures\"></div></section>\n"
    )
}

fn micro(cell: &str) -> String {
    text(cell).replace(" us", " µs")
}

fn compared(row: &Compared) -> String {
    let [_, _, mean, ratio, interval, _, words] = cells(row).map(|cell| micro(&cell));
    let ratio = match ratio.is_empty() {
        true => String::new(),
        false => format!("<strong>{ratio}</strong> <small>{interval}</small> "),
    };
    format!(
        "<td class=\"number heat{}\" data-sort=\"{}\"><span class=\"mean\">{mean}</span> {ratio}<span class=\"says\">{words}</span></td>",
        heat(row),
        row.ratio.map_or(0.0, |ratio| ratio.value),
    )
}

/// Minus three (much faster) to three (much slower).
fn heat(row: &Compared) -> i8 {
    let size = row.ratio.map_or(1.0, |ratio| ratio.value.log2().abs());
    let step = match size {
        size if size >= 1.0 => 3,
        size if size >= 0.3 => 2,
        _ => 1,
    };
    match row.verdict {
        verdict if verdict.is_worse() => step,
        verdict if verdict.is_better() => -step,
        _ => 0,
    }
}
