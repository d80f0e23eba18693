//! Charts of a page: one with our figures, and one with the published ones, each with a scale of its own.

use experiment::ChartSummary;
use figures::{Figure, FileStyle};
use maud::{Markup, html};

use crate::campaign::CampaignReport;
use crate::campaign::bars::{BarChart, ChartSide};
use crate::clean;
use crate::file_names::FileNames;
use crate::page::drawn;

/// All charts, each as an SVG document with a name for its file.
pub fn campaign_charts(of: &CampaignReport<'_>) -> Vec<(String, String)> {
    let title = clean(&of.experiment.title);
    let charts = figures(of).into_iter().flatten();
    let documents = charts.map(|chart| {
        let document = figures::file(&chart, &FileStyle::default(), &title);
        (chart.id, document)
    });
    documents.collect()
}

/// The figures of each chart: ours, and the published ones where there are any.
fn figures(of: &CampaignReport<'_>) -> Vec<Vec<Figure>> {
    let mut names = FileNames::default();
    let mut side = |chart: &ChartSummary, side: ChartSide| {
        let id = names.of(&format!("{} {}", chart.name, side.word()));
        BarChart::of(chart, side, is_published(chart)).figure(id)
    };
    let charts = of.summary.charts.iter().map(|chart| {
        let mut sides = vec![side(chart, ChartSide::Measured)];
        if is_published(chart) {
            sides.push(side(chart, ChartSide::Published));
        }
        sides
    });
    charts.collect()
}

fn is_published(chart: &ChartSummary) -> bool {
    let mut cells = chart.values.iter().flatten();
    cells.any(|cell| cell.published.is_some())
}

pub(super) fn section(of: &CampaignReport<'_>) -> Markup {
    let charts = figures(of);
    html! {
        @if !charts.is_empty() {
            section #charts {
                h2 { "Charts" }
                @if charts.iter().any(|sides| sides.len() > 1) {
                    p.note { "Scales of the two sides differ: shapes and orders are compared, not absolute values." }
                }
                @for sides in &charts {
                    div.panels { @for side in sides { (drawn::figure(side)) } }
                }
            }
        }
    }
}
