//! Another campaign of the same experiment, beside the first.

use experiment::{BesideSummary, OutsideFigure};

use super::CampaignReport;
use super::numbers::{range, sign, three};
use super::words::counted;
use crate::clean;
use crate::figure::percent;

/// Share of figures within their prediction from which a campaign is called repeatable: of independent figures 95 % lie
/// there, and those of a cell depend on each other.
const REPEATABLE: f64 = 0.9;

/// How many figures of the other campaign lie where the first predicts them.
pub(super) fn sentence(of: &BesideSummary) -> String {
    let Some(share) = of.share else {
        return "The other campaign has no figure of which this one has a prediction.".to_owned();
    };
    let judged = if share >= REPEATABLE {
        "the campaign is repeatable"
    } else {
        "the two campaigns differ"
    };
    format!(
        "Of {} of cells in the other campaign, {} lie within the 95 % prediction intervals of this one ({}): {judged}.",
        counted(of.compared, "figure"),
        of.within,
        percent(share)
    )
}

/// What every row says of a figure that lies elsewhere: cell, figure, where it was predicted, and its mean.
pub(super) const COLUMNS: [&str; 4] = ["Cell", "Figure", "Predicted", "Mean"];

/// Figures outside of their prediction.
pub(super) fn rows(of: &CampaignReport<'_>, beside: &BesideSummary) -> Vec<[String; 4]> {
    let outside = beside.outside.iter();
    outside.map(|figure| row(of, figure)).collect()
}

fn row(of: &CampaignReport<'_>, outside: &OutsideFigure) -> [String; 4] {
    let spec = of.figure(&outside.figure);
    let title = spec.map_or(&outside.figure, |spec| &spec.title);
    let sign = spec.map_or("", |spec| sign(spec.unit));
    let levels = outside.cell.0.iter();
    let levels: Vec<String> = levels
        .map(|(factor, level)| format!("{} {}", clean(factor), clean(level)))
        .collect();
    let with_sign = |text: String| format!("{text} {sign}").trim_end().to_owned();
    [
        levels.join(", "),
        clean(title),
        with_sign(range(outside.prediction, None)),
        with_sign(three(outside.mean)),
    ]
}
