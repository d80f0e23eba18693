//! The figures of an experiment, from those of a trial: under another name, or differences.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::FileError;
use crate::file::ExperimentSpec;
use crate::record::{LevelCombination, TrialRecord};
use crate::template::CellTemplates;

/// Figures of a trial from which those of the experiment are made, in one cell.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FigureTerms(BTreeMap<String, FigureTermsOf>);

#[derive(Debug, Clone, PartialEq)]
struct FigureTermsOf {
    base: String,
    apart_from: Option<String>,
}

impl FigureTerms {
    /// The terms of a cell.
    ///
    /// # Errors
    /// The first template that cannot be filled in.
    pub(crate) fn new(spec: &ExperimentSpec, cell: &LevelCombination) -> Result<Self, FileError> {
        let mut templates = None;
        let mut sources = BTreeMap::new();
        for (name, figure) in &spec.figures {
            let mut filled = |key: &str, text: &str| {
                if !text.contains("{{") {
                    return Ok(text.to_owned());
                }
                let templates = match &mut templates {
                    Some(templates) => templates,
                    none => none.insert(CellTemplates::new(spec, cell)?),
                };
                let place = format!("figures.{name}.{key}");
                match templates.fill(&place, &Value::String(text.to_owned()))? {
                    Value::String(text) => Ok(text),
                    _ => Err(FileError::new(place, "is no name of a figure")),
                }
            };
            let base = filled("of", figure.of.as_ref().unwrap_or(name))?;
            let other = figure.apart_from.as_ref();
            let apart_from = other
                .map(|template| filled("apart_from", template))
                .transpose()?;
            sources.insert(name.clone(), FigureTermsOf { base, apart_from });
        }
        Ok(FigureTerms(sources))
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().flat_map(|(name, source)| {
            let used = std::iter::once(&source.base).chain(&source.apart_from);
            used.map(|level| (name.as_str(), level.as_str()))
        })
    }

    fn value(&self, name: &str, trial: &TrialRecord) -> Option<f64> {
        let FigureTermsOf { base, apart_from } = self.0.get(name)?;
        let value = *trial.figures.get(base)?;
        match apart_from {
            Some(other) => Some((value - trial.figures.get(other)?).abs()),
            None => Some(value),
        }
    }
}

impl ExperimentSpec {
    /// The trials with the figures of the experiment added. A trial whose cell the experiment does
    /// not have is unchanged.
    pub fn with_own_figures(&self, trials: &[TrialRecord]) -> Vec<TrialRecord> {
        let mut sources: BTreeMap<&LevelCombination, Option<FigureTerms>> = BTreeMap::new();
        let mut shown = trials.to_vec();
        for (trial, shown) in trials.iter().zip(&mut shown) {
            let of_cell = || FigureTerms::new(self, &trial.cell).ok();
            let Some(sources) = sources.entry(&trial.cell).or_insert_with(of_cell) else {
                continue;
            };
            for name in self.figures.keys() {
                match sources.value(name, trial) {
                    Some(value) => shown.figures.insert(name.clone(), value),
                    None => shown.figures.remove(name),
                };
            }
        }
        shown
    }
}
