//! A campaign for spreadsheets: a line for each figure of each cell, and a line for each trial.

use std::collections::BTreeSet;

use experiment::{CellFigure, FigureRange, ShownUnit, TrialRecord};

use super::CampaignReport;
use super::json::{BaseUnit, decimal};
use super::numbers::{WARNINGS, in_base};
use crate::csv::{cell, lines, optional};

const OF_CELL: [&str; 12] = [
    "figure",
    "unit",
    "repetitions",
    "unfinished",
    "mean",
    "ci95_low",
    "ci95_high",
    "predicted_low",
    "predicted_high",
    "published",
    "title",
    "warnings",
];

/// A line for each figure of each measured cell, with a header line; lines end with CR LF. Figures
/// are in the unit that the line names. Columns of factors are called `factor:NAME`.
pub fn campaign_csv(of: &CampaignReport<'_>) -> String {
    let factors = factors(of);
    let header = factor_columns(&factors).chain(OF_CELL.map(str::to_owned));
    let rows = of
        .summary
        .cells
        .iter()
        .map(|figure| cell_row(of, &factors, figure));
    lines(std::iter::once(header.collect::<Vec<_>>()).chain(rows))
}

fn factors<'a>(of: &CampaignReport<'a>) -> Vec<&'a str> {
    let factors = of.experiment.factors.iter();
    factors.map(|factor| factor.name.as_str()).collect()
}

fn factor_columns(factors: &[&str]) -> impl Iterator<Item = String> {
    factors.iter().map(|name| cell(&format!("factor:{name}")))
}

fn cell_row(of: &CampaignReport<'_>, factors: &[&str], figure: &CellFigure) -> Vec<String> {
    let unit = figure.unit;
    let estimate = &figure.estimate;
    let base = |value: Option<f64>| optional(value.and_then(|value| shown_in_base(value, unit)));
    let ends = |range: Option<FigureRange>| {
        [range.map(|range| range.low), range.map(|range| range.high)].map(base)
    };
    let levels = factors.iter().map(|factor| level(&figure.cell.0, factor));
    let warnings = WARNINGS
        .iter()
        .filter(|(warning, ..)| estimate.warnings.contains(warning));
    let warnings: Vec<&str> = warnings.map(|(_, _, name, _)| *name).collect();
    let title = of.figure(&figure.figure).map_or("", |spec| &spec.title);
    levels
        .chain([
            cell(&figure.figure),
            BaseUnit::from(unit).name().to_owned(),
            estimate.count.to_string(),
            estimate.unfinished.to_string(),
            base(estimate.mean),
        ])
        .chain(ends(estimate.interval))
        .chain(ends(estimate.prediction))
        .chain([base(estimate.published), cell(title), warnings.join(";")])
        .collect()
}

fn shown_in_base(value: f64, unit: ShownUnit) -> Option<f64> {
    in_base(value, unit).map(decimal)
}

fn level(levels: &std::collections::BTreeMap<String, String>, factor: &str) -> String {
    levels
        .get(factor)
        .map_or(String::new(), |level| cell(level))
}

/// A line for each trial, with a header line; lines end with CR LF. Columns of factors are called
/// `factor:NAME`, those of figures `figure:NAME`. Figures are in seconds, bit/s, shares from 0 to
/// 1, and numbers; those that a trial does not have are empty.
pub fn campaign_trials_csv(of: &CampaignReport<'_>) -> String {
    let factors = factors(of);
    let figures: BTreeSet<&str> = of.trials.iter().flat_map(figure_names).collect();
    let header = factor_columns(&factors)
        .chain(
            [
                "repetition",
                "started",
                "seconds",
                "failed",
                "warnings",
                "facts",
            ]
            .map(str::to_owned),
        )
        .chain(figures.iter().map(|name| cell(&format!("figure:{name}"))));
    let rows = of.trials.iter().map(|trial| {
        let levels = factors.iter().map(|factor| level(&trial.cell.0, factor));
        let values = figures.iter().map(|name| {
            let value = trial.figures.get(*name).copied();
            optional(value.filter(|value| value.is_finite()))
        });
        let in_force = trial
            .facts
            .iter()
            .map(|(name, value)| format!("{name}: {value}"));
        let in_force: Vec<String> = in_force.collect();
        let facts = [
            trial.repetition.to_string(),
            cell(&trial.started),
            optional(Some(trial.seconds).filter(|seconds| seconds.is_finite())),
            cell(trial.failed.as_deref().unwrap_or_default()),
            cell(&trial.warnings.join("; ")),
            cell(&in_force.join("; ")),
        ];
        levels.chain(facts).chain(values).collect::<Vec<_>>()
    });
    lines(std::iter::once(header.collect::<Vec<_>>()).chain(rows))
}

fn figure_names(trial: &TrialRecord) -> impl Iterator<Item = &str> {
    trial.figures.keys().map(String::as_str)
}
