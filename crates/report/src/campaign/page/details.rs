//! How a campaign was measured, and its trials.

use experiment::{FactorSpec, LevelSpec, TrialRecord};
use maud::{Markup, html};

use crate::campaign::numbers::{in_unit, three, with_unit};
use crate::campaign::{CampaignReport, words};
use crate::clean;
use crate::page::drawn;
use crate::page::markup::{list, wide};

/// Width of the picture of a laboratory in pixels: that of the page, as one may have ten columns.
const PICTURE: u32 = 1100;

/// Trials of the list.
const MOST_TRIALS: usize = 1000;

/// Laboratory, machine, factors, and the command.
pub(super) fn measured(of: &CampaignReport<'_>) -> Markup {
    let spec = of.experiment;
    html! {
        section #measured {
            h2 { "How it was measured" }
            @if !of.record.command.is_empty() { p { "Repeat it with " code { (of.record.command) } "." } }
            @if let Some([wide, narrow]) = of.picture {
                (drawn::in_shapes([(wide, PICTURE), (narrow, drawn::NARROW)]))
            }
            dl { @for (what, value) in words::facts(of) { dt { (what) } dd { (value) } } }
            @if !spec.factors.is_empty() {
                h3 { "What was varied" }
                dl { @for factor in &spec.factors { dt { (title(factor)) } dd { (levels(of, factor)) } } }
            }
            details {
                summary { "A trial, as the experiment describes it" }
                @for line in trial(of) { pre { (line) } }
            }
        }
    }
}

fn title(factor: &FactorSpec) -> &str {
    factor.title.as_ref().unwrap_or(&factor.name)
}

/// The levels of a factor that cells of the campaign have.
fn levels(of: &CampaignReport<'_>, factor: &FactorSpec) -> Markup {
    let cells = &of.record.cells;
    let is_measured = |level: &&LevelSpec| {
        let mut cells = cells.iter();
        cells.any(|cell| cell.level(&factor.name) == level.name)
    };
    let name = |level: &LevelSpec| {
        let title = level.title.as_ref().filter(|title| **title != level.name);
        title.map_or(level.name.clone(), |title| {
            format!("{} ({title})", level.name)
        })
    };
    let line = |level: &LevelSpec| {
        let values = level.values.iter();
        let values: Vec<String> = values
            .map(|(name, value)| format!("{name}: {value}"))
            .collect();
        let colon = if values.is_empty() { "" } else { ": " };
        format!("{}{colon}{}", name(level), values.join(", "))
    };
    list("counts", factor.levels.iter().filter(is_measured).map(line))
}

/// The description, a part for each key. Line ends would become visible as control characters.
fn trial(of: &CampaignReport<'_>) -> Vec<String> {
    let description = &of.experiment.trial;
    match description.as_object() {
        Some(parts) => parts
            .iter()
            .map(|(name, part)| format!("{name}: {part}"))
            .collect(),
        None => vec![description.to_string()],
    }
}

/// All trials, closed at first.
pub(super) fn trials(of: &CampaignReport<'_>) -> Markup {
    let spec = of.experiment;
    let shown = &of.trials[..of.trials.len().min(MOST_TRIALS)];
    let is_known = shown.iter().any(|trial| !trial.facts.is_empty());
    let head = html! {
        @for factor in &spec.factors { th scope="col" { (title(factor)) } }
        th.number scope="col" { "Repetition" }
        th scope="col" { "Begun" }
        th.number scope="col" { "Took" }
        @for figure in spec.figures.values() {
            th.number scope="col" { (with_unit(&clean(&figure.title), figure.unit)) }
        }
        th scope="col" { "Notes" }
        @if is_known { th scope="col" { "In force" } }
    };
    let body = html! { @for trial in shown { (row(of, trial, is_known)) } };
    html! {
        @if !of.trials.is_empty() {
            section #trials {
                h2 { "Trials" }
                @if shown.len() < of.trials.len() {
                    p { "The first " (shown.len()) " of " (of.trials.len()) "." }
                }
                details {
                    summary { (words::counted(shown.len(), "trial")) ", with their figures" }
                    (wide("Trials", None, &head, &body))
                }
            }
        }
    }
}

fn row(of: &CampaignReport<'_>, trial: &TrialRecord, is_known: bool) -> Markup {
    let spec = of.experiment;
    let levels = spec.factors.iter().map(|factor| {
        let name = trial.cell.0.get(&factor.name)?;
        let mut levels = factor.levels.iter();
        let level = levels.find(|level| level.name == *name);
        Some(level.and_then(|level| level.title.as_ref()).unwrap_or(name))
    });
    let failed = trial.failed.iter().map(|why| format!("failed: {why}"));
    let notes: Vec<String> = failed.chain(trial.warnings.iter().cloned()).collect();
    let facts = trial
        .facts
        .iter()
        .map(|(name, value)| format!("{name}: {value}"));
    let facts: Vec<String> = facts.collect();
    html! {
        tr {
            @for level in levels { td { (level.map_or("-", String::as_str)) } }
            td.number { (trial.repetition) }
            td { (trial.started) }
            td.number { (words::duration(trial.seconds)) }
            @for (name, figure) in &spec.figures {
                td.number {
                    @match trial.figures.get(name) {
                        Some(value) => (three(in_unit(*value, figure.unit))),
                        None => "-",
                    }
                }
            }
            td.words { (notes.join("; ")) }
            @if is_known { td.words { (facts.join("; ")) } }
        }
    }
}
