//! The repetitions of a figure in some cells, as recorded.

use std::collections::{BTreeMap, BTreeSet};

use crate::file::{ExperimentSpec, ShownUnit};
use crate::log::last_of_each;
use crate::record::{LevelCombination, TrialRecord};

impl ShownUnit {
    /// Factor from the unit of trials to this one.
    pub fn factor(self) -> f64 {
        match self {
            ShownUnit::S | ShownUnit::Number => 1.0,
            ShownUnit::Ms => 1e3,
            ShownUnit::Mbit => 1e-6,
            ShownUnit::Percent => 1e2,
        }
    }

    pub(crate) fn is_time(self) -> bool {
        matches!(self, ShownUnit::S | ShownUnit::Ms)
    }
}

/// A figure by repetition.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct FigureSeries {
    /// Repetition and figure, in the unit of reports. In the order of repetitions.
    pub(crate) values: Vec<(u32, f64)>,
    /// Number of repetitions with an unfinished measurement, if the figure is a time.
    pub(crate) unfinished: usize,
}

impl FigureSeries {
    pub(crate) fn figures(&self) -> Vec<f64> {
        self.values.iter().map(|(_, value)| *value).collect()
    }
}

pub(crate) struct TrialTable<'a> {
    spec: &'a ExperimentSpec,
    trials: BTreeMap<&'a LevelCombination, BTreeMap<u32, &'a TrialRecord>>,
}

impl<'a> TrialTable<'a> {
    /// The last record of each trial counts. Failed trials are left out.
    pub(crate) fn new(spec: &'a ExperimentSpec, trials: &'a [TrialRecord]) -> Self {
        let mut table: BTreeMap<_, BTreeMap<_, _>> = BTreeMap::new();
        for ((cell, repetition), trial) in last_of_each(trials) {
            let repetitions = table.entry(cell).or_default();
            if trial.failed.is_none() {
                repetitions.insert(repetition, trial);
            }
        }
        TrialTable {
            spec,
            trials: table,
        }
    }

    /// The mean of a figure over some cells, for each repetition that has it in all of those cells
    /// that ever have it: means over different cells could not be compared.
    pub(crate) fn series(&self, figure: &str, cells: &[&LevelCombination]) -> FigureSeries {
        let Some(spec) = self.spec.figures.get(figure) else {
            return FigureSeries::default();
        };
        let value = |trial: &&TrialRecord| {
            let value = trial.figures.get(figure)? * spec.unit.factor();
            value.is_finite().then_some(value)
        };
        let of_cells = cells.iter().filter_map(|cell| self.trials.get(*cell));
        let has_any = |trials: &&BTreeMap<u32, &TrialRecord>| {
            trials.values().any(|trial| value(trial).is_some())
        };
        let cells: Vec<&BTreeMap<u32, &TrialRecord>> = of_cells.filter(has_any).collect();
        let repetitions: BTreeSet<u32> =
            cells.iter().flat_map(|cell| cell.keys().copied()).collect();
        let unfinished_name = spec
            .of
            .as_deref()
            .unwrap_or(figure)
            .split('.')
            .next()
            .map(|name| format!("{name}.unfinished"));
        let is_unfinished = |trial: &&&TrialRecord| {
            let name = unfinished_name.as_ref();
            let unfinished = name.and_then(|name| trial.figures.get(name));
            spec.unit.is_time() && unfinished.is_some_and(|share| *share > 0.0)
        };
        let mut series = FigureSeries::default();
        for repetition in repetitions {
            let trials: Option<Vec<&TrialRecord>> = cells
                .iter()
                .map(|cell| cell.get(&repetition).copied())
                .collect();
            let trials = trials.unwrap_or_default();
            let values: Option<Vec<f64>> = trials.iter().map(value).collect();
            let Some(values) = values.filter(|values| !values.is_empty()) else {
                continue;
            };
            let mean = stats::interval::mean(&values);
            if mean.is_finite() {
                series.values.push((repetition, mean));
                let unfinished = trials.iter().any(|trial| is_unfinished(&trial));
                series.unfinished += usize::from(unfinished);
            }
        }
        series
    }
}
