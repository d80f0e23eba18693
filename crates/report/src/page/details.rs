//! Test by test: every percentile, how its operations ended, and its figures. Scripts show one test at a time.

use maud::{Markup, html};
use record::TimeUnit;
use stats::{Distribution, TestSummary};

use super::charts::Charts;
use super::markup::{headings, mean, meanings, percentile, wide};
use super::subject::Subject;
use super::tables::test_names;
use super::{ReportPage, figure_parts};
use crate::load::{handshakes, outcomes, per_second};
use crate::reasons::reason;
use crate::table::in_words;
use crate::units::{human, human_in};

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
pub(super) fn tables(
    page: &ReportPage<'_>,
    names: &[String],
    charts: &Charts,
    subject: Subject,
) -> Markup {
    let whose = |name: &str| html! { @if names.len() > 1 { bdi { (name) } ": " } };
    let rows = |name: &str| -> Vec<(Markup, &TestSummary)> {
        let runs = page.runs.iter().zip(names);
        let rows = runs.filter_map(|(run, of)| {
            let mut rows = run.summary.tests.iter();
            Some((whose(of), rows.find(|row| row.name == name)?))
        });
        rows.collect()
    };
    html! {
        @for name in test_names(page) {
            @let rows = rows(name);
            div.of-test data-test=(name) {
                h3 { (name) }
                @if let Some(title) = page.runs.iter().find_map(|run| run.run.plan.title_of(name)) {
                    p.what { bdi { (title) } }
                }
                @for (whose, row) in &rows { p.outcomes { (whose) (ended(row)) } }
                (percentiles(&rows))
                div.figures { (figure_parts::details(charts, name, subject, page.runs.len())) }
            }
        }
    }
}

/// What the columns of all parts mean.
pub(super) fn legend() -> Markup {
    meanings(COLUMNS)
}

fn percentiles(rows: &[(Markup, &TestSummary)]) -> Markup {
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
        kinds.map(move |(kind, times)| line(row.unit, html! { (whose) (kind) }, times))
    });
    let lines = html! { @for line in lines { (line) } };
    if lines.0.is_empty() {
        return lines;
    }
    let head = html! { td {} (headings(&COLUMNS)) };
    wide("Percentiles", None, &head, &lines)
}

fn line(unit: Option<TimeUnit>, what: Markup, times: &Distribution) -> Markup {
    let [of_p50, of_p90, of_p95, of_p99, of_p999] = times.percentiles_ci95;
    let percentiles = [
        (times.p50, of_p50),
        (times.p90, of_p90),
        (times.p95, of_p95),
        (times.p99, of_p99),
        (times.p999, of_p999),
    ];
    html! {
        tr {
            th scope="row" { (what) }
            td { (times.n) }
            td { (human_in(unit, times.min as f64)) }
            @for (ns, ci95) in percentiles { td { (percentile(unit, ns, ci95, "")) } }
            td { (human_in(unit, times.max as f64)) }
            td { (mean(unit, times.mean, times.ci95)) }
            td { (times.sd.map_or("-".to_owned(), |sd| human_in(unit, sd))) }
        }
    }
}

/// `GET, ok; outcomes: 98 ok, 2 reset; 412 req/s (405 .. 419) for 2.4 s`.
fn ended(row: &TestSummary) -> String {
    let status = match row.response {
        Some(_) => row.status.name().replace('_', " "),
        None => in_words(row).0.to_owned(),
    };
    let apart = [
        (row.left_out(), "left out"),
        (row.early, "with an early response"),
        (row.missed, "without time stamps"),
    ];
    let apart = apart.into_iter().filter(|(count, _)| *count > 0);
    let apart = apart.map(|(count, what)| format!("{count} {what}"));
    let counts: Vec<String> = outcomes(row).chain(apart).collect();
    let counts = match &counts[..] {
        [] => "none".to_owned(),
        counts => counts.join(", "),
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
