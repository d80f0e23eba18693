//! Cells: combinations of levels, and the selection of those to measure.

use std::collections::{BTreeMap, BTreeSet};

use crate::FileError;
use crate::file::{ExperimentSpec, FactorSpec, OneOrMore, Where};
use crate::record::LevelCombination;

impl OneOrMore {
    /// The names, in order.
    pub fn names(&self) -> &[String] {
        match self {
            OneOrMore::One(name) => std::slice::from_ref(name),
            OneOrMore::More(names) => names,
        }
    }
}

impl Where {
    /// True if a cell has one of these levels.
    pub fn matches(&self, cell: &LevelCombination) -> bool {
        self.0.iter().all(|(factor, levels)| {
            let level = cell.0.get(factor);
            level.is_some_and(|level| levels.names().contains(level))
        })
    }
}

impl LevelCombination {
    /// The level of a factor; empty if it has none.
    pub fn level(&self, factor: &str) -> &str {
        self.0.get(factor).map_or("", String::as_str)
    }
}

impl ExperimentSpec {
    /// The factor of that name.
    pub fn factor(&self, name: &str) -> Option<&FactorSpec> {
        self.factors.iter().find(|factor| factor.name == name)
    }

    pub(crate) fn combinations(&self) -> usize {
        let levels = self.factors.iter().map(|factor| factor.levels.len());
        levels.fold(1, usize::saturating_mul)
    }

    /// All cells, with `--full`: in the order of factors, the last factor changing fastest.
    pub fn all_cells(&self) -> Vec<LevelCombination> {
        let mut cells = vec![BTreeMap::new()];
        for factor in &self.factors {
            let longer = |cell: BTreeMap<String, String>| {
                factor.levels.iter().map(move |level| {
                    let mut cell = cell.clone();
                    cell.insert(factor.name.clone(), level.name.clone());
                    cell
                })
            };
            cells = cells.into_iter().flat_map(longer).collect();
        }
        let cells = cells.into_iter().map(LevelCombination);
        cells.filter(|cell| is_any(&self.cells, cell)).collect()
    }

    /// The cells to measure: those of `short` unless all are requested, and of them those that
    /// match all `scenarios`. A scenario is `FACTOR=LEVEL[,LEVEL]...`, or levels alone that no
    /// other factor has; scenarios of the same factor are alternatives. Scenarios that `short`
    /// leaves out are measured nevertheless.
    ///
    /// # Errors
    /// A scenario names a level that the experiment does not have, or no cell is left.
    pub fn chosen_cells(
        &self,
        full: bool,
        scenarios: &[String],
    ) -> Result<Vec<LevelCombination>, FileError> {
        let chosen = self.scenarios(scenarios)?;
        let mut cells = self.all_cells();
        cells.retain(|cell| chosen.matches(cell));
        if cells.is_empty() {
            let message = "the experiment has no cell with these levels";
            return Err(FileError::new("--scenario", message));
        }
        let is_short = |cell: &&LevelCombination| is_any(&self.short, cell);
        let short: Vec<LevelCombination> = cells.iter().filter(is_short).cloned().collect();
        Ok(if full || short.is_empty() {
            cells
        } else {
            short
        })
    }

    fn scenarios(&self, scenarios: &[String]) -> Result<Where, FileError> {
        let mut chosen: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for scenario in scenarios {
            let (factor, levels) = match scenario.split_once('=') {
                Some((factor, levels)) => (Some(factor.trim()), levels),
                None => (None, scenario.as_str()),
            };
            for level in levels.split(',').map(str::trim) {
                if level.contains('=') {
                    let message = format!(
                        "`{scenario}` has more than one factor; write --scenario for each of them"
                    );
                    return Err(FileError::new("--scenario", message));
                }
                let factor = self.scenario_factor(factor, level)?;
                let levels = chosen.entry(factor.name.clone()).or_default();
                levels.insert(level.to_owned());
            }
        }
        let levels = |levels: BTreeSet<String>| OneOrMore::More(levels.into_iter().collect());
        let chosen = chosen.into_iter();
        Ok(Where(
            chosen
                .map(|(factor, factor_levels)| (factor, levels(factor_levels)))
                .collect(),
        ))
    }

    fn scenario_factor(&self, factor: Option<&str>, level: &str) -> Result<&FactorSpec, FileError> {
        let place = "--scenario";
        if let Some(name) = factor {
            let factor = known_factor(self, place, name)?;
            check_level(factor, place, level)?;
            return Ok(factor);
        }
        let has_it = |factor: &&FactorSpec| factor.level(level).is_some();
        let factors: Vec<&FactorSpec> = self.factors.iter().filter(has_it).collect();
        match factors[..] {
            [factor] => Ok(factor),
            [] => {
                let all = self.factors.iter().flat_map(|factor| &factor.levels);
                let known = all.map(|level| level.name.as_str());
                Err(FileError::unknown(place, "level", level, known))
            }
            [one, other, ..] => {
                let message = format!(
                    "`{level}` is a level of `{}` and of `{}`; write {}={level}",
                    one.name, other.name, one.name
                );
                Err(FileError::new(place, message))
            }
        }
    }
}

impl FactorSpec {
    /// The level of that name.
    pub fn level(&self, name: &str) -> Option<&crate::file::LevelSpec> {
        self.levels.iter().find(|level| level.name == name)
    }
}

pub(crate) fn is_any(parts: &[Where], cell: &LevelCombination) -> bool {
    parts.is_empty() || parts.iter().any(|part| part.matches(cell))
}

pub(crate) fn known_factor<'a>(
    spec: &'a ExperimentSpec,
    place: &str,
    name: &str,
) -> Result<&'a FactorSpec, FileError> {
    let known = spec.factors.iter().map(|factor| factor.name.as_str());
    spec.factor(name)
        .ok_or_else(|| FileError::unknown(place, "factor", name, known))
}

pub(crate) fn check_level(factor: &FactorSpec, place: &str, name: &str) -> Result<(), FileError> {
    if factor.level(name).is_some() {
        return Ok(());
    }
    let known = factor.levels.iter().map(|level| level.name.as_str());
    let kind = format!("level of `{}`", factor.name);
    Err(FileError::unknown(place, &kind, name, known))
}
