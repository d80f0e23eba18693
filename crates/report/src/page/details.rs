//! Test by test: every percentile, and how its operations ended. Scripts show one test at a time,
//! with its figures.

use stats::{Distribution, TestSummary};

use super::Page;
use super::markup::{mean, percentile, text, time};
use super::tables::{heading, test_names};
use crate::human;
use crate::load::{handshakes, per_second};
use crate::reasons::reason;
use crate::table::in_words;

/// What a percentile has beside it.
const INTERVAL: &str = "With its 95 % interval; - where there are too few operations";

/// Columns: heading, and what a reader may ask about it.
const COLUMNS: [(&str, &str); 10] = [
    ("n", ""),
    ("min", ""),
    ("p50", INTERVAL),
    ("p90", INTERVAL),
    ("p95", INTERVAL),
    ("p99", INTERVAL),
    ("p99.9", INTERVAL),
    ("max", ""),
    ("mean", "With its 95 % interval; - for one operation"),
    (
        "sd",
        "Standard deviation. It has no interval: none covers 95 % where times have a long tail",
    ),
];

/// A part for each test.
pub(super) fn tables(page: &Page<'_>, names: &[String]) -> String {
    let whose = |name: &str| match names {
        [_, _, ..] => format!("{name}: "),
        _ => String::new(),
    };
    let of_test = |name: &str| {
        let rows: Vec<(String, &TestSummary)> = page
            .runs
            .iter()
            .zip(names)
            .filter_map(|(run, of)| {
                let mut rows = run.summary.tests.iter();
                Some((whose(of), rows.find(|row| row.name == name)?))
            })
            .collect();
        let ended = rows.iter().map(|(whose, row)| {
            format!(
                "<p class=\"outcomes\">{}</p>\n",
                text(&format!("{whose}{}", ended(row)))
            )
        });
        let ended: String = ended.collect();
        format!(
            "<div class=\"of-test\"><h3>{}</h3>\n{ended}{}</div>\n",
            text(name),
            percentiles(&rows)
        )
    };
    test_names(page).into_iter().map(of_test).collect()
}

fn percentiles(rows: &[(String, &TestSummary)]) -> String {
    let lines = rows.iter().flat_map(|(whose, row)| {
        let kinds = [
            ("response time", &row.response),
            ("latency from schedule", &row.planned),
            ("upload", &row.upload),
            ("total time", &row.total),
        ];
        let kinds = kinds.into_iter();
        let kinds = kinds.filter_map(|(kind, times)| Some((kind, times.as_ref()?)));
        let kinds = kinds.chain(handshakes(&row.connects));
        kinds.map(move |(kind, times)| line(&format!("{whose}{kind}"), times))
    });
    let lines: String = lines.collect();
    if lines.is_empty() {
        return String::new();
    }
    let head = COLUMNS.map(|(name, what)| heading(name, what, "number"));
    format!(
        "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"Percentiles\"><table>\n\
         <thead><tr><td></td>{}</tr></thead>\n<tbody>\n{lines}</tbody></table></div>\n",
        head.concat()
    )
}

fn line(what: &str, times: &Distribution) -> String {
    let at = |ns: u64| time(ns as f64);
    let [of_p50, of_p90, of_p95, of_p99, of_p999] = times.percentiles_ci95;
    let cells = [
        times.n.to_string(),
        at(times.min),
        percentile(times.p50, of_p50, ""),
        percentile(times.p90, of_p90, ""),
        percentile(times.p95, of_p95, ""),
        percentile(times.p99, of_p99, ""),
        percentile(times.p999, of_p999, ""),
        at(times.max),
        mean(times.mean, times.ci95),
        times.sd.map_or("-".to_owned(), time),
    ];
    let cells = cells.map(|cell| format!("<td>{cell}</td>"));
    format!(
        "<tr><th scope=\"row\">{}</th>{}</tr>\n",
        text(what),
        cells.concat()
    )
}

/// `GET, ok; outcomes: 98 ok, 2 reset; 412 req/s (405 .. 419) for 2.4 s`.
fn ended(row: &TestSummary) -> String {
    let status = match row.response {
        Some(_) => row.status.name().replace('_', " "),
        None => in_words(row).0.to_owned(),
    };
    let outcomes = row.outcomes.iter().filter(|(_, count)| *count > 0);
    let outcomes = outcomes.map(|(outcome, count)| format!("{count} {outcome}"));
    let apart = [
        (row.left_out(), "left out"),
        (row.early, "with an early response"),
        (row.missed, "without time stamps"),
    ];
    let apart = apart.into_iter().filter(|(count, _)| *count > 0);
    let apart = apart.map(|(count, what)| format!("{count} {what}"));
    let counts: Vec<String> = outcomes.chain(apart).collect();
    let counts = match counts.is_empty() {
        true => "none".to_owned(),
        false => counts.join(", "),
    };
    let rate = match (row.per_second, row.window_s) {
        (Some(rate), Some(seconds)) => format!(
            "; {} for {}",
            per_second(rate, row.per_second_ci95),
            human(seconds * 1e9)
        ),
        _ => String::new(),
    };
    let evidence = row.evidence.as_ref();
    let evidence = evidence.map_or(String::new(), |why| format!("; {}", reason(why)));
    format!(
        "{}, {status}; outcomes: {counts}{rate}{evidence}",
        row.method
    )
}
