//! `--suite`: a suite in place of the measurements of the file.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::FileError;
use crate::cells::is_any;
use crate::file::{ColumnSpec, ExperimentSpec, FigureSpec, OneOrMore, ShownUnit, TableSpec, Where};
use crate::setup::{TrialSetup, is_bare};
use crate::template;

/// Longest time of all tests together in a trial.
const LONGEST: &str = "30m";

/// A suite that is measured in place of single requests.
#[derive(Debug, Clone, Copy)]
pub struct ChosenSuite<'a> {
    /// Its name or file.
    pub name: &'a str,
    /// Further arguments of `prestan run`.
    pub arguments: &'a [String],
    /// Its rows.
    pub rows: &'a [String],
}

impl ExperimentSpec {
    /// Replaces all measurements by a suite, between the same hosts and beside the same background.
    /// Its tables have the rows of the suite. Factors that matter for the former measurement only
    /// are removed. Cells whose server is a bare host, which stores nothing, are left out, and so
    /// are captures, of gigabytes. Published figures, about something else, are removed.
    ///
    /// # Errors
    /// No cell is left, or the trials of the file are invalid.
    pub fn with_suite(&self, suite: ChosenSuite<'_>) -> Result<ExperimentSpec, FileError> {
        let mut spec = ExperimentSpec {
            title: format!("The suite {} in: {}", suite.name, self.title),
            figures: BTreeMap::new(),
            tables: Vec::new(),
            charts: Vec::new(),
            findings: Vec::new(),
            published: String::new(),
            differences: Vec::new(),
            ..self.clone()
        };
        let measured = measure(&mut spec.trial, suite)?;
        let lab = serde_json::to_value(&spec.lab).unwrap_or_default();
        let used = [&spec.trial, &lab].map(template::variables).concat();
        spec.factors.retain(|factor| used.contains(&factor.name));
        (spec.cells, spec.short) = self.cells_that_store(&used)?;
        for name in &measured {
            spec.add_rows(name, suite, measured.len() > 1);
        }
        spec.check()?;
        Ok(spec)
    }

    /// The cells whose servers are no bare hosts, and those of them that are measured without
    /// `--full`; only with these factors.
    fn cells_that_store(&self, factors: &[String]) -> Result<(Vec<Where>, Vec<Where>), FileError> {
        let (mut cells, mut short) = (Vec::new(), Vec::new());
        for cell in self.all_cells() {
            let TrialSetup { trial, lab, .. } = self.setup(&cell)?;
            if trial
                .measured
                .values()
                .any(|measured| is_bare(&lab, &measured.to))
            {
                continue;
            }
            let is_short = is_any(&self.short, &cell);
            let levels = cell
                .0
                .into_iter()
                .filter(|(factor, _)| factors.contains(factor));
            let only: Where = Where(
                levels
                    .map(|(factor, level)| (factor, OneOrMore::One(level)))
                    .collect(),
            );
            if is_short && !short.contains(&only) {
                short.push(only.clone());
            }
            if !cells.contains(&only) {
                cells.push(only);
            }
        }
        if short.is_empty() {
            let message =
                "its servers are bare hosts, which store nothing; name others (--server apache)";
            return Err(FileError::new("--suite", message));
        }
        Ok((cells, short))
    }

    /// Adds figures and a table for the rows of the measurement with this name.
    fn add_rows(&mut self, name: &str, suite: ChosenSuite<'_>, is_one_of_several: bool) {
        let figure = |row: &String| format!("{name}.{row}.mean");
        for row in suite.rows {
            let shown = FigureSpec {
                title: row.clone(),
                unit: ShownUnit::Ms,
                more_is_better: Some(false),
                of: None,
                apart_from: None,
            };
            self.figures.insert(figure(row), shown);
        }
        let column = |row| ColumnSpec {
            figure: figure(row),
            title: None,
            within: Where::default(),
        };
        let owner = if is_one_of_several {
            format!(", {name}")
        } else {
            String::new()
        };
        self.tables.push(TableSpec {
            name: format!("Suite {}{owner}", suite.name),
            title: "Mean response time".to_owned(),
            within: Where::default(),
            rows: self
                .factors
                .iter()
                .map(|factor| factor.name.clone())
                .collect(),
            turned: Some("Test".to_owned()),
            columns: suite.rows.iter().map(column).collect(),
            note: None,
        });
    }
}

/// Replaces all measurements of a trial by the suite. Returns their names.
fn measure(trial: &mut Value, suite: ChosenSuite<'_>) -> Result<Vec<String>, FileError> {
    let message = "is no section with names, so that no suite can be in its place";
    let unknown = || FileError::new("trial.measured", message);
    let trial = trial.as_object_mut().ok_or_else(unknown)?;
    trial.remove("captures");
    trial.insert("longest".to_owned(), LONGEST.into());
    let measured = trial.get_mut("measured").and_then(Value::as_object_mut);
    let measured = measured.ok_or_else(unknown)?;
    for measured_part in measured.values_mut() {
        let [from, to] = ["from", "to"].map(|key| measured_part.get(key).cloned());
        *measured_part = json!({
            "from": from, "to": to, "suite": suite.name, "arguments": suite.arguments,
        });
    }
    Ok(measured.keys().cloned().collect())
}
