//! Tables of a page: findings, and figures with the published ones beside them.

use experiment::{CellEstimate, FindingSummary, PairVerdict, ShownUnit, TableSummary};
use maud::{Markup, html};

use crate::campaign::numbers::{
    NOT_MEASURED, marked_interval, mean, published, unfinished, with_unit,
};
use crate::campaign::text::is_published;
use crate::campaign::{CampaignReport, doubts, explained, words};
use crate::clean;
use crate::figure::NONE;
use crate::page::markup::{list, wide, wide_below};

/// A verdict in its colour.
pub(super) fn verdict(of: PairVerdict) -> Markup {
    let class = match of {
        PairVerdict::Holds => "ok",
        PairVerdict::Fails => "bad",
        PairVerdict::Inconclusive => "doubt",
    };
    html! { span class=(class) { (words::verdict(of)) } }
}

/// All findings, with what each verdict rests on.
pub(super) fn findings(of: &CampaignReport<'_>) -> Markup {
    let findings = &of.summary.findings;
    let is_sourced = findings.iter().any(|finding| finding.source.is_some());
    let head = html! {
        th scope="col" { "Finding" }
        th scope="col" { "Verdict" }
        th scope="col" { "Evidence" }
        @if is_sourced { th scope="col" { "Source" } }
    };
    let body = html! {
        @for finding in findings {
            tr {
                th.words scope="row" { (finding.claim) }
                td { (verdict(finding.verdict)) }
                (evidence(of, finding))
                @if is_sourced { td.source { (finding.source.as_deref().unwrap_or_default()) } }
            }
        }
    };
    html! {
        @if !findings.is_empty() {
            section #findings {
                h2 { "Findings" }
                (wide("Findings", Some("judged"), &head, &body))
                p.note {
                    "A finding holds if all of its parts do, and does not hold if one does not. One that says that a \
                     figure is less in some parts and more in others holds if there are parts of both kinds. Means have \
                     their 95 % intervals behind them."
                }
            }
        }
    }
}

fn evidence(of: &CampaignReport<'_>, finding: &FindingSummary) -> Markup {
    html! {
        td.words {
            p { (words::evidence(of, finding)) }
            @if let Some(why) = explained::of_finding(of, finding) { p { (why) } }
            @if finding.parts.len() > 1 {
                details {
                    summary { "Part by part" }
                    (list("items", words::parts(of, finding)))
                }
            }
        }
    }
}

/// All tables.
pub(super) fn section(of: &CampaignReport<'_>) -> Markup {
    let tables = &of.summary.tables;
    html! {
        @if !tables.is_empty() {
            section #tables {
                h2 { "Tables" }
                p.note {
                    "Means of all repetitions with their 95 % intervals"
                    @if words::pairs(words::all_orders(of.summary)) > 0 { ", and the published figures. " (words::PAIRS) }
                    @else { "." }
                }
                @for table in tables { (published_table(table)) }
            }
        }
    }
}

fn published_table(of: &TableSummary) -> Markup {
    let heading = words::name_and_title(&of.name, &of.title);
    let are_published: Vec<bool> = (0..of.columns.len())
        .map(|column| is_published(of, column))
        .collect();
    let head = headings(of, &are_published);
    let body = html! {
        @for (place, levels) in of.rows.iter().enumerate() {
            @let cells = of.cells.get(place);
            tr {
                @for factor in 0..of.row_factors.len() {
                    @let level = levels.get(factor).map_or("", String::as_str);
                    @if factor == 0 { th scope="row" { (level) } } @else { td { (level) } }
                }
                @for (column, is_published) in are_published.iter().enumerate() {
                    (pair(cells.and_then(|cells| cells.get(column)), *is_published))
                }
            }
        }
    };
    let orders = of.columns.iter().zip(&of.orders);
    let orders = orders.filter_map(|((title, _), counts)| {
        Some(format!("{}: {}.", clean(title), words::orders(*counts)?))
    });
    let marks = doubts::legend(of.cells.iter().flatten());
    html! {
        h3 { (heading) }
        (wide_below(&heading, Some("compact paired"), &head, &body))
        @if !marks.is_empty() { p.note { (marks.join(" ")) } }
        (list("counts", orders))
        @if let Some(why) = explained::of_table(of) { p { (why) } }
    }
}

/// What columns show, and below where some are published, whose figures they are.
fn headings(of: &TableSummary, are_published: &[bool]) -> Markup {
    let columns = || of.columns.iter().zip(are_published);
    let title = |title: &String, unit: ShownUnit| with_unit(&clean(title), unit);
    let is_published = are_published.contains(&true);
    html! {
        tr.groups[is_published] {
            @for factor in &of.row_factors { th scope="col" rowspan=[is_published.then_some(2)] { (factor) } }
            @for ((name, unit), is_published) in columns() {
                @let (scope, class) = if *is_published { ("colgroup", "first") } else { ("col", "number first") };
                th class=(class) scope=(scope) colspan=[is_published.then_some(2)] { (title(name, *unit)) }
            }
        }
        @if is_published { tr {
            @for (_, is_published) in columns() {
                th.number.first scope="col" { "here" }
                @if *is_published { th.number.published scope="col" { "published" } }
            }
        } }
    }
}

/// Our figure, and the published one where the column has some.
fn pair(cell: Option<&CellEstimate>, is_published: bool) -> Markup {
    let value = cell.and_then(|cell| cell.published);
    html! {
        td.number.first {
            @match cell.and_then(|cell| Some((cell, mean(cell)?))) {
                Some((cell, mean)) => {
                    (mean) small {
                        (marked_interval(cell).unwrap_or_else(|| NONE.to_owned()))
                        @if let Some(unfinished) = unfinished(cell) { "; " (unfinished) }
                    }
                }
                None => span.published { (NOT_MEASURED) },
            }
        }
        @if is_published { td.number.published { (value.map_or("-".to_owned(), published)) } }
    }
}
