//! What makes the intervals of a campaign doubtful: a mark behind each of them, and what the mark means.

use std::collections::BTreeSet;

use experiment::{CellEstimate, EstimateWarning};

use super::CampaignReport;
use crate::clean;
use crate::lists::enumerated;

const ALL: [EstimateWarning; 3] = [
    EstimateWarning::HeavyTail,
    EstimateWarning::Changing,
    EstimateWarning::Undetermined,
];

fn mark(of: EstimateWarning) -> &'static str {
    match of {
        EstimateWarning::HeavyTail => "*",
        EstimateWarning::Changing => "~",
        EstimateWarning::Undetermined => "?",
    }
}

/// As documents call it.
pub(super) fn name(of: EstimateWarning) -> &'static str {
    match of {
        EstimateWarning::HeavyTail => "heavy_tail",
        EstimateWarning::Changing => "changing",
        EstimateWarning::Undetermined => "undetermined",
    }
}

/// The marks behind an interval.
pub(super) fn marks(of: &CellEstimate) -> String {
    let marked = ALL
        .into_iter()
        .filter(|warning| of.warnings.contains(warning));
    marked.map(mark).collect()
}

/// What the marks of some figures mean, in sentences.
pub(super) fn legend<'a>(cells: impl IntoIterator<Item = &'a CellEstimate>) -> Vec<String> {
    let cells = cells.into_iter().filter(|cell| cell.interval.is_some());
    let found: BTreeSet<EstimateWarning> = cells
        .flat_map(|cell| cell.warnings.iter().copied())
        .collect();
    let told = found.into_iter().map(|warning| {
        let meaning = match warning {
            EstimateWarning::HeavyTail => {
                "now and then a repetition differs by much; the interval is of the spread of all cells together"
            }
            EstimateWarning::Changing => "the machine changed during the campaign",
            EstimateWarning::Undetermined => "the repetitions differ too much for an interval",
        };
        format!("{} {meaning}.", mark(warning))
    });
    told.collect()
}

/// The figures of the campaign that are doubtful, in sentences.
pub(super) fn of_figures(of: &CampaignReport<'_>) -> Vec<String> {
    let told = ALL.into_iter().filter_map(|warning| {
        let cells = of.summary.cells.iter();
        let doubtful = cells.filter(|cell| cell.estimate.warnings.contains(&warning));
        let names: BTreeSet<&str> = doubtful.map(|cell| cell.figure.as_str()).collect();
        let titles = names.into_iter().map(|name| clean(of.figure(name).map_or(name, |spec| &spec.title)));
        let titles = enumerated(&titles.collect::<Vec<_>>());
        (!titles.is_empty()).then(|| match warning {
            EstimateWarning::HeavyTail => format!(
                "{titles}: now and then a repetition differs by much from the others of its cell, as where a \
                 retransmission timeout happens or not. Few repetitions do not show how often, so that intervals \
                 are of the spread of all cells together."
            ),
            EstimateWarning::Changing => format!(
                "{titles}: all cells changed together from one repetition to another, so that the machine was not \
                 the same throughout. The intervals are about the time of this campaign only."
            ),
            EstimateWarning::Undetermined => format!(
                "{titles}: the repetitions of a cell differ so much that its mean may be a thousand times the largest \
                 of them. Such a cell has no interval; more repetitions (--repeat) give it one."
            ),
        })
    });
    told.collect()
}
