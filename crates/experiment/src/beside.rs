//! Comparison of two campaigns of the same experiment.

use serde::Serialize;

use crate::record::LevelCombination;
use crate::summary::{CampaignSummary, CellEstimate, FigureRange};

/// Share of means of a second campaign within the predictions of the first.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct BesideSummary {
    /// Number of cell figures with a prediction from the first campaign and a mean from the second.
    pub compared: usize,
    /// Means within their predictions.
    pub within: usize,
    /// `within` over `compared`; none if nothing could be compared.
    pub share: Option<f64>,
    /// Means outside of their predictions.
    pub outside: Vec<OutsideFigure>,
}

/// A mean outside of its prediction.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OutsideFigure {
    /// The cell.
    pub cell: LevelCombination,
    /// Name of the figure.
    pub figure: String,
    /// The prediction.
    pub prediction: FigureRange,
    /// The mean of the second campaign.
    pub mean: f64,
}

/// Compares the second campaign with the first. A prediction is for as many repetitions as the
/// first has, and is made wider or narrower for another number.
pub fn beside(first: &CampaignSummary, second: &CampaignSummary) -> BesideSummary {
    let mut summary = BesideSummary::default();
    for of_first in &first.cells {
        let is_same = |candidate: &&crate::CellFigure| {
            candidate.cell == of_first.cell
                && candidate.figure == of_first.figure
                && candidate.unit == of_first.unit
        };
        let Some(of_second) = second.cells.iter().find(is_same) else {
            continue;
        };
        let predicted = prediction(&of_first.estimate, of_second.estimate.count);
        let (Some(prediction), Some(mean)) = (predicted, of_second.estimate.mean) else {
            continue;
        };
        summary.compared += 1;
        if (prediction.low..=prediction.high).contains(&mean) {
            summary.within += 1;
        } else {
            summary.outside.push(OutsideFigure {
                cell: of_first.cell.clone(),
                figure: of_first.figure.clone(),
                prediction,
                mean,
            });
        }
    }
    if summary.compared > 0 {
        summary.share = Some(summary.within as f64 / summary.compared as f64);
    }
    summary
}

/// Predicts the mean of `count` repetitions. The variance of its distance from the first mean is
/// the sum of the variances of both.
fn prediction(estimate: &CellEstimate, count: usize) -> Option<FigureRange> {
    let (mean, range) = estimate.mean.zip(estimate.prediction)?;
    if count == estimate.count || count == 0 {
        return Some(range);
    }
    let (first, second) = (estimate.count as f64, count as f64);
    let factor = ((1.0 / first + 1.0 / second) / (2.0 / first)).sqrt();
    Some(if range.low > 0.0 {
        let scaled = |end: f64| mean * (end / mean).powf(factor);
        FigureRange {
            low: scaled(range.low),
            high: scaled(range.high),
        }
    } else {
        let scaled = |end: f64| mean + (end - mean) * factor;
        FigureRange {
            low: scaled(range.low),
            high: scaled(range.high),
        }
    })
}
