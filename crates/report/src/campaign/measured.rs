//! How a campaign was measured, and its trials.

use experiment::{FactorSpec, LevelSpec, TrialRecord};
use maud::html;

use super::numbers::{in_unit, three, with_unit};
use super::{CampaignReport, words};
use crate::document::{
    Block, ColumnKind, ListItem, ListLook, ReportTable, TableCell, TableColumn, TableRow, Words,
};
use crate::page::drawn;

/// Width of the picture of a laboratory in pixels: that of the page, as one may have ten columns.
const PICTURE: u32 = 1100;

const MOST_TRIALS: usize = 1000;

pub(super) fn measured(of: &CampaignReport<'_>) -> Block {
    let picture = of.picture.map(|[wide, narrow]| {
        Block::Page(drawn::in_shapes([(wide, PICTURE), (narrow, drawn::NARROW)]))
    });
    let command = Some(&of.record.command).filter(|command| !command.is_empty());
    let command =
        command.map(|command| ("repeat it with".to_owned(), Words::default().code(command)));
    let facts = command.into_iter().chain(words::facts(of)).collect();
    let factors = of.experiment.factors.iter().map(|factor| ListItem {
        words: title(factor).into(),
        below: vec![levels(of, factor)],
        ..ListItem::default()
    });
    let trial = html! {
        details {
            summary { "A trial, as the experiment describes it" }
            @for line in trial(of) { pre { (line) } }
        }
    };
    let blocks = [
        Block::Facts(facts),
        Block::list("What was varied", ListLook::Bullets, factors),
        Block::Page(trial),
    ];
    let blocks = picture.into_iter().chain(blocks).collect();
    Block::Section("measured", "How it was measured".to_owned(), blocks)
}

fn title(factor: &FactorSpec) -> &str {
    factor.title.as_ref().unwrap_or(&factor.name)
}

fn levels(of: &CampaignReport<'_>, factor: &FactorSpec) -> Block {
    let is_measured = |level: &&LevelSpec| {
        let mut cells = of.record.cells.iter();
        cells.any(|cell| cell.level(&factor.name) == level.name)
    };
    let levels = factor.levels.iter().filter(is_measured).map(|level| {
        let title = level.title.as_ref().filter(|title| **title != level.name);
        let title = title.map_or(String::new(), |title| format!(" ({title})"));
        let values = facts(&level.values).join(", ");
        let name = Words::from(format!("{}{title}", level.name));
        name.then(": ", Words::default().plain(values))
    });
    Block::list("", ListLook::Bare, levels)
}

/// `congestion: cubic`, each a text.
fn facts<N: std::fmt::Display, V: std::fmt::Display>(
    of: &std::collections::BTreeMap<N, V>,
) -> Vec<String> {
    let facts = of.iter();
    facts
        .map(|(name, value)| format!("{name}: {value}"))
        .collect()
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

pub(super) fn trials(of: &CampaignReport<'_>) -> Option<Block> {
    use ColumnKind::{Number, Sentence, Text};
    let (all, shown) = (of.trials.len(), of.trials.len().min(MOST_TRIALS));
    let column = |name: &str, kind| TableColumn::new(name, kind);
    let factors = of.experiment.factors.iter();
    let factors = factors.map(|factor| column(title(factor), Text));
    let trial_columns = [
        column("Repetition", Number),
        column("Begun", Text),
        column("Took", Number),
    ];
    let figures = of.experiment.figures.values();
    let figures = figures.map(|figure| column(&with_unit(&figure.title, figure.unit), Number));
    let notes = [column("Notes", Sentence), column("In force", Sentence)];
    let table = ReportTable {
        name: "Trials".to_owned(),
        columns: factors
            .chain(trial_columns)
            .chain(figures)
            .chain(notes)
            .collect(),
        rows: of.trials[..shown]
            .iter()
            .map(|trial| row(of, trial))
            .collect(),
        ..ReportTable::default()
    };
    let section = html! {
        section #trials {
            h2 { "Trials" }
            @if shown < all { p { "The first " (shown) " of " (all) "." } }
            details {
                summary { (words::counted(shown, "trial")) ", with their figures" }
                (Block::Table(table))
            }
        }
    };
    (all > 0).then_some(Block::Page(section))
}

fn row(of: &CampaignReport<'_>, trial: &TrialRecord) -> TableRow {
    let levels = of.experiment.factors.iter().map(|factor| {
        let name = trial.cell.level(&factor.name);
        let mut levels = factor.levels.iter();
        let level = levels.find(|level| level.name == name);
        let title = level.and_then(|level| level.title.as_deref());
        TableCell::from(title.unwrap_or(name))
    });
    let trial_cells = [
        trial.repetition.to_string().into(),
        (&trial.started).into(),
        words::duration(trial.seconds).into(),
    ];
    let figures = of.experiment.figures.iter().map(|(name, figure)| {
        let value = trial.figures.get(name);
        let shown = value.map(|value| three(in_unit(*value, figure.unit)));
        TableCell::from(shown.unwrap_or_else(|| "-".to_owned()))
    });
    let failed = trial.failed.iter().map(|why| format!("failed: {why}"));
    let notes: Vec<String> = failed.chain(trial.warnings.iter().cloned()).collect();
    let notes = [notes, facts(&trial.facts)].map(|notes| notes.join("; ").into());
    let cells = levels.chain(trial_cells).chain(figures).chain(notes);
    TableRow::new(cells)
}
