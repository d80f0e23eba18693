//! The page of a campaign.

mod charts;
mod details;
mod tables;

use maud::{Markup, html};

use super::{CampaignReport, beside, doubts, explained, words};
use crate::clean;
use crate::page::markup::{boxed, list, wide};
use crate::page::{PageDocument, with_figures};

pub use charts::campaign_charts;

/// What only this page has.
const STYLE: &str = include_str!("../../page/campaign.css");

/// The campaign as a page.
pub fn campaign_page(of: &CampaignReport<'_>) -> PageDocument {
    with_figures(&of.experiment.title, STYLE, body(of))
}

fn body(of: &CampaignReport<'_>) -> Markup {
    let spec = of.experiment;
    html! {
        @if !of.summary.tables.is_empty() { a.skip href="#tables" { "Skip to the tables" } }
        header {
            h1 { (spec.title) }
            @if let Some(source) = &spec.source { p.what { (source) } }
        }
        main {
            (in_short(of))
            (tables::findings(of))
            (charts::section(of))
            (tables::section(of))
            (differences(of))
            (other_campaign(of))
            (details::measured(of))
            (details::trials(of))
        }
        footer { p { "Made by Prestan." } }
    }
}

fn in_short(of: &CampaignReport<'_>) -> Markup {
    let summary = of.summary;
    let important = words::important(&summary.findings);
    html! {
        section #answer {
            h2 { "In short" }
            p { (words::measured(of)) }
            @match words::to_go_on(of) {
                None => p { (words::progress(of)) },
                Some(to_go_on) => div.box.doubt { p { (words::progress(of)) " " (to_go_on) } },
            }
            (headline(of))
            p { strong { (words::conclusion(of)) } }
            @if !important.is_empty() {
                p.label { "Most important findings" }
                ol.first {
                    @for finding in important {
                        li {
                            (finding.claim) ": " (tables::verdict(finding.verdict)) ", "
                            (words::evidence(of, finding)) "."
                        }
                    }
                }
            }
            (boxed("Failed trials", "bad", summary.failures.iter().map(words::of_trials)))
            (boxed("Warnings", "doubt", warnings(of)))
            (boxed("What is missing", "plain", explained::missing(of)))
        }
    }
}

fn warnings(of: &CampaignReport<'_>) -> Vec<String> {
    let of_trials = of.summary.warnings.iter().map(words::of_trials);
    of_trials.chain(doubts::of_figures(of)).collect()
}

/// The figures that a reader looks for first.
fn headline(of: &CampaignReport<'_>) -> Markup {
    let summary = of.summary;
    let orders = words::all_orders(summary);
    let holds = summary.findings.iter();
    let holds = holds
        .filter(|finding| finding.verdict == experiment::PairVerdict::Holds)
        .count();
    let parts = [
        ("Trials", summary.ended_trials, summary.planned_trials, true),
        (
            "Findings that hold",
            holds,
            summary.findings.len(),
            !summary.findings.is_empty(),
        ),
        (
            "Pairs as published",
            orders.same,
            words::pairs(orders),
            words::pairs(orders) > 0,
        ),
    ];
    html! {
        dl.headline {
            @for (what, count, all, _) in parts.into_iter().filter(|(.., is_shown)| *is_shown) {
                div { dt { (what) } dd { (count) small { "of " (all) } } }
            }
        }
    }
}

/// What another campaign says.
fn other_campaign(of: &CampaignReport<'_>) -> Markup {
    let Some(other) = of.beside else {
        return Markup::default();
    };
    let head = html! { @for column in beside::COLUMNS { th scope="col" { (column) } } };
    let body = html! {
        @for [cell, figure, predicted, mean] in beside::rows(of, other) {
            tr { th scope="row" { (cell) } td { (figure) } td.number { (predicted) } td.number { (mean) } }
        }
    };
    html! {
        section #beside {
            h2 { "Beside another campaign" }
            p { (beside::sentence(other)) }
            @if !other.outside.is_empty() { (wide("Figures outside of their prediction", Some("compact"), &head, &body)) }
        }
    }
}

fn differences(of: &CampaignReport<'_>) -> Markup {
    let differences = of.experiment.differences.iter();
    let differences: Vec<String> = differences.map(|difference| clean(difference)).collect();
    html! {
        @if !differences.is_empty() {
            section #differences {
                h2 { "What differs from the source" }
                (list("items", differences))
            }
        }
    }
}
