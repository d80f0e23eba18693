//! Experiments, cells and campaigns shared by several tests.

use std::collections::BTreeMap;

use builtin::{BuiltinFile, EXPERIMENTS};
use experiment::{CampaignRecord, ExperimentSpec, LevelCombination, TrialRecord};

pub(crate) const RIGHT: &str = include_str!("right.yaml");

pub(crate) fn right() -> ExperimentSpec {
    ExperimentSpec::read("x", RIGHT).unwrap_or_else(|error| panic!("{error}"))
}

pub(crate) fn built_in(name: &str) -> ExperimentSpec {
    let file = BuiltinFile::find(EXPERIMENTS, name).unwrap_or_else(|| panic!("{name}"));
    ExperimentSpec::read(file.name, file.text).unwrap_or_else(|error| panic!("{error}"))
}

pub(crate) fn cell(levels: &[(&str, &str)]) -> LevelCombination {
    let level = |(factor, level): &(&str, &str)| ((*factor).to_owned(), (*level).to_owned());
    LevelCombination(levels.iter().map(level).collect())
}

pub(crate) fn campaign(
    spec: &ExperimentSpec,
    cells: Vec<LevelCombination>,
    repetitions: u32,
) -> CampaignRecord {
    CampaignRecord {
        format: 1,
        program: String::new(),
        name: "x".to_owned(),
        experiment: spec.clone(),
        cells,
        repetitions,
        seed: 1,
        command: String::new(),
        started: String::new(),
        facts: BTreeMap::new(),
    }
}

pub(crate) fn recorded(
    cell: &LevelCombination,
    repetition: u32,
    figures: &[(&str, f64)],
) -> TrialRecord {
    let figure = |(name, value): &(&str, f64)| ((*name).to_owned(), *value);
    TrialRecord {
        cell: cell.clone(),
        repetition,
        started: String::new(),
        seconds: 1.0,
        figures: figures.iter().map(figure).collect(),
        facts: BTreeMap::new(),
        warnings: Vec::new(),
        failed: None,
    }
}
