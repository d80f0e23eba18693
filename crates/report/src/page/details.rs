//! Test by test: every percentile, how its operations ended, and its figures. Scripts show one test
//! at a time.

use maud::{Markup, html};
use record::TimeUnit;
use stats::{Distribution, TestSummary};

use super::markup::{headings, meanings, statistic, wide};
use super::tables::test_names;
use super::{ShownPage, figure_parts};
use crate::fields::labelled_times;
use crate::load::{outcomes, per_second};
use crate::reasons::reason;
use crate::table::in_words;
use crate::times::STATISTICS;
use crate::units::human;

fn columns() -> Vec<(&'static str, String)> {
    let statistics = STATISTICS.iter().map(|of| match of.without_interval() {
        Some(when) => (of.label, format!("With its 95 % interval; - {when}")),
        None => (of.label, of.hint.to_owned()),
    });
    std::iter::once(("n", String::new()))
        .chain(statistics)
        .collect()
}

/// A part for each test.
pub(super) fn tables(of: &ShownPage<'_>) -> Markup {
    let whose = |name: &str| html! { @if of.names.len() > 1 { bdi { (name) } ": " } };
    let rows = |name: &str| -> Vec<(Markup, &TestSummary)> {
        let rows = of.named().filter_map(|(run, of)| {
            let mut rows = run.summary.tests.iter();
            Some((whose(of), rows.find(|row| row.name == name)?))
        });
        rows.collect()
    };
    html! {
        @for name in test_names(of.page) {
            @let rows = rows(name);
            div.of-test data-test=(name) {
                h3 { (name) }
                @if let Some(title) = rows.iter().find_map(|(_, row)| row.title.as_ref()) {
                    p.what { bdi { (title) } }
                }
                @for (whose, row) in &rows { p.outcomes { (whose) (ended(row)) } }
                (percentiles(&rows))
                div.figures { (figure_parts::details(of, name)) }
            }
        }
    }
}

pub(super) fn legend() -> Markup {
    let columns = columns();
    meanings(columns.iter().map(|(name, what)| (*name, what.as_str())))
}

fn percentiles(rows: &[(Markup, &TestSummary)]) -> Markup {
    let lines = rows.iter().flat_map(|(whose, row)| {
        let kinds = labelled_times(*row).into_iter();
        let kinds = kinds.chain(labelled_times(&row.connects));
        kinds.map(move |(kind, times)| line(row.unit, html! { (whose) (kind.name) }, &times))
    });
    let lines = html! { @for line in lines { (line) } };
    if lines.0.is_empty() {
        return lines;
    }
    let head = html! { td {} (headings(&columns())) };
    wide("Percentiles", None, &head, &lines)
}

fn line(unit: Option<TimeUnit>, what: Markup, times: &Distribution) -> Markup {
    html! {
        tr {
            th scope="row" { (what) }
            td { (times.n) }
            @for of in STATISTICS { td { (statistic(of, unit, times, "")) } }
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
    let rate = match (row.rate, row.window_s) {
        (Some(rate), Some(seconds)) => {
            format!("; {} for {}", per_second(rate), human(seconds * 1e9))
        }
        _ => String::new(),
    };
    let evidence = row.evidence.as_ref();
    let evidence = evidence.map_or(String::new(), |why| format!("; {}", reason(why)));
    format!(
        "{}, {status}; outcomes: {counts}{rate}{evidence}",
        row.method
    )
}
