//! Background traffic beside the runs of a page: a table, and figures over time.

use maud::{Markup, html};
use record::{BackgroundComponent, BackgroundRecord};
use stats::units::human;
use stats::{BackgroundFigures, BackgroundSummary, PartOfRun};

use super::ReportPage;
use super::charts::Charts;
use super::figure_parts::FigurePart;
use super::markup::{heading, wide};
use super::subject::Subject;
use super::tables::{nothing, number};
use crate::background::{bits, faults_in_words, planned, rate, source_in_words, stalls_in_words};
use crate::figure::percent;
use crate::generators;

const HEADINGS: [&str; 9] = [
    "Flows",
    "Planned",
    "Sent",
    "Received",
    "Lost",
    "Jitter",
    "Delay variation, up to",
    "Retransmissions",
    "Stalls",
];

/// A table of all runs with background traffic; nothing for others.
pub(super) fn table(
    page: &ReportPage<'_>,
    names: &[String],
    charts: &Charts,
    subject: Subject,
) -> Markup {
    let runs = page.runs.iter().zip(names);
    let with: Vec<(&String, &BackgroundRecord, &BackgroundSummary)> = runs
        .filter_map(|(of, name)| {
            let record = of.run.plan.background.as_ref()?;
            Some((name, record, of.summary.background.as_ref()?))
        })
        .collect();
    if with.is_empty() {
        return Markup::default();
    }
    let is_one = page.runs.len() == 1;
    let head = html! {
        @if !is_one { (heading("Run", "", "text")) }
        (heading("Component", "", "text"))
        @for name in HEADINGS { (heading(name, "", "number")) }
    };
    let body = html! {
        @for (name, record, summary) in &with {
            @for (place, component) in record.components.iter().enumerate() {
                tr {
                    @if !is_one { td { (name) } }
                    td { bdi { (component.name) } " (" (component.protocol) ")" }
                    (row(component, summary.figures(Some(place), PartOfRun::Whole)))
                }
            }
        }
    };
    let below = html! {
        @for (name, record, summary) in &with {
            p.note {
                @if !is_one { bdi { (name) } ": " }
                (source_in_words(record)) ". Counts while measuring, without intervals."
            }
            @for sentence in generators::in_words(record, summary.end.as_ref().map(|(_, end)| end)) {
                p.label { (sentence) }
            }
            @for fault in faults_in_words(record, summary) { p.note { (fault) } }
        }
    };
    html! {
        section #background {
            h2 { "Background traffic" }
            (FigurePart::Background.places(charts, subject))
            (wide("Background traffic", Some("sorts"), &head, &body))
            (below)
        }
    }
}

fn row(component: &BackgroundComponent, figures: Option<BackgroundFigures>) -> Markup {
    let shown = |value: Option<f64>, shown: fn(f64) -> String, class: &str| match value {
        Some(value) => number(value, shown(value), class),
        None => nothing(),
    };
    let is_udp = component.protocol == "udp";
    let counts = figures.map(|own| own.counts);
    let rate_of = |bytes: fn(&record::BackgroundCounts) -> u64| {
        figures.map(|own| rate(bytes(&own.counts), own.span))
    };
    let loss = counts.and_then(|own| own.loss()).filter(|_| is_udp);
    let time = |ns: Option<record::Nanos>| ns.map(|ns| ns as f64);
    html! {
        (number(f64::from(component.flows), component.flows.to_string(), ""))
        (number(component.planned_bps.unwrap_or(f64::MAX), planned(component), ""))
        (shown(rate_of(|own| own.sent_bytes), bits, ""))
        (shown(rate_of(|own| own.received_bytes), bits, ""))
        (shown(loss, percent, if loss > Some(0.0) { "bad" } else { "" }))
        (shown(counts.and_then(|own| time(own.jitter)), human, ""))
        (shown(counts.and_then(|own| time(own.delay_variation)), human, ""))
        @match counts.filter(|_| !is_udp) {
            Some(own) => (number(own.retransmissions as f64, own.retransmissions.to_string(), "")),
            None => (nothing()),
        }
        @match counts.and_then(|own| own.stalls) {
            Some(own) => (number(own.total as f64, stalls_in_words(own), "")),
            None => (nothing()),
        }
    }
}
