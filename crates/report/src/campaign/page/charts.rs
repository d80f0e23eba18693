//! Charts of a page: a panel for our figures, and one for the published ones, each with a scale of its own.

use experiment::{CellEstimate, ChartSummary};
use maud::{Markup, html};

use crate::campaign::bars::{BarPanel, PanelSide};
use crate::campaign::numbers::{NOT_MEASURED, estimate, published, with_unit};
use crate::campaign::words::name_and_title;
use crate::campaign::{CampaignReport, doubts};
use crate::clean;
use crate::file_names::FileNames;
use crate::page::markup::wide;

/// All charts, each as an SVG document with a name for its file.
pub fn campaign_charts(of: &CampaignReport<'_>) -> Vec<(String, String)> {
    let mut names = FileNames::default();
    let charts = of.summary.charts.iter().flat_map(|chart| {
        let sides = [
            Some((PanelSide::Measured, "measured")),
            is_published(chart).then_some((PanelSide::Published, "published")),
        ];
        sides.into_iter().flatten().map(move |side| (chart, side))
    });
    charts
        .map(|(chart, (side, word))| {
            let name = names.of(&format!("{} {word}", chart.name));
            (
                name,
                clean(&BarPanel::of(chart, side).svg().into_string()) + "\n",
            )
        })
        .collect()
}

fn is_published(chart: &ChartSummary) -> bool {
    let mut cells = chart.values.iter().flatten();
    cells.any(|cell| cell.published.is_some())
}

pub(super) fn section(of: &CampaignReport<'_>) -> Markup {
    let charts = &of.summary.charts;
    html! {
        @if !charts.is_empty() {
            section #charts {
                h2 { "Charts" }
                p.note {
                    @if charts.iter().any(is_published) {
                        "Scales of the two sides differ: shapes and orders are compared, not absolute values. "
                    }
                    "Whiskers are 95 % intervals of the mean. \"≥\" and a pointed bar mean that repetitions did not end \
                     in time."
                }
                div.panels { @for chart in charts { (figure(chart)) } }
            }
        }
    }
}

fn figure(chart: &ChartSummary) -> Markup {
    let measured = BarPanel::of(chart, PanelSide::Measured);
    let beside = is_published(chart).then(|| BarPanel::of(chart, PanelSide::Published));
    let heading = name_and_title(&chart.name, &chart.title);
    // Marks stand in the table.
    let marks = doubts::legend(chart.values.iter().flatten());
    let is_log = measured.is_log() || beside.as_ref().is_some_and(BarPanel::is_log);
    html! {
        figure.beside[beside.is_some()] {
            figcaption { (heading) }
            div.panels {
                div { p.side { "Measured here" } (measured.svg()) }
                @if let Some(beside) = &beside { div { p.side { "Published" } (beside.svg()) } }
            }
            p.note {
                @if is_log { span { "Dots on a logarithmic scale: the values are too far apart for bars that begin at zero." } }
                @if measured.is_cut() { span { "An arrow marks an interval that goes on beyond the axis." } }
                @for mark in &marks { span { (mark) } }
                @if beside.is_none() { span { "No figures of this chart were published." } }
            }
            details { summary { "Figures of this chart" } (table(chart, &heading, beside.is_some())) }
        }
    }
}

/// The same as a table.
fn table(chart: &ChartSummary, heading: &str, is_published: bool) -> Markup {
    let (figure, unit) = &chart.figure;
    let has_bars = chart.bars.len() > 1;
    let head = html! {
        th scope="col" { "Group" }
        @if has_bars { th scope="col" { "Bar" } }
        th.number scope="col" { (with_unit(&clean(figure), *unit)) }
        @if is_published { th.number.published scope="col" { "published" } }
    };
    let nothing = CellEstimate::default();
    let row = |group: &String, bar: Option<&String>, cell: &CellEstimate| {
        html! {
            tr {
                th scope="row" { (group) }
                @if let Some(bar) = bar { td { (bar) } }
                td.number { @if cell.mean.is_some() { (estimate(cell)) } @else { (NOT_MEASURED) } }
                @if is_published { td.number.published { (cell.published.map_or("-".to_owned(), published)) } }
            }
        }
    };
    let body = html! {
        @for (place, group) in chart.groups.iter().enumerate() {
            @let values = chart.values.get(place);
            @let cell = |bar: usize| values.and_then(|values| values.get(bar)).unwrap_or(&nothing);
            @if has_bars {
                @for (bar, name) in chart.bars.iter().enumerate() { (row(group, Some(name), cell(bar))) }
            } @else { (row(group, None, cell(0))) }
        }
    };
    wide(heading, Some("compact"), &head, &body)
}
