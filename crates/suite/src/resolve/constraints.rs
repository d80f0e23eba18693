//! Constraints: parsed, checked, and left out if their tests are.

use std::collections::{BTreeMap, BTreeSet};

use constraint::{CheckedConstraint, Constraint, ConstraintSubject, Scope, Statistic};
use record::{ConstraintRecord, ConstraintSense, MeasureRecord, PageRecord, PlanRecord};

use super::conditions::{WrittenConditions, at};
use super::pages::pages_of;
use super::params::Variant;
use super::{SuiteSource, measures_of};
use crate::error::SuiteError;
use crate::plan::Plan;
use crate::position::Located;
use crate::spec::ConstraintSpec;
use crate::template::is_name;

/// Names that the constraints of a file can use, and those that are selected.
pub(super) struct Nameable<'a> {
    pub(super) measurements: Vec<&'a str>,
    pub(super) selected: BTreeSet<&'a str>,
    pub(super) params: &'a BTreeMap<String, serde_json::Value>,
}

impl<'a> Nameable<'a> {
    /// All tests of a suite, of which a plan has some.
    pub(super) fn of_suite(variants: &'a [Variant<'_>], plan: &'a Plan) -> Nameable<'a> {
        let tests = variants.iter().map(|variant| &variant.test);
        let measures = tests
            .flat_map(|test| measures_of(test))
            .map(|measure| measure.name);
        let pages = variants.iter().flat_map(|variant| pages_of(&variant.test));
        Nameable {
            measurements: measures.chain(pages).collect(),
            ..Nameable::measured(&plan.measures, &plan.pages, &plan.params)
        }
    }

    /// The measurements of a run, and nothing else.
    fn measured(
        measures: &'a [MeasureRecord],
        pages: &'a [PageRecord],
        params: &'a BTreeMap<String, serde_json::Value>,
    ) -> Nameable<'a> {
        let measures = measures.iter().map(|measure| measure.name.as_str());
        let names = measures.chain(pages.iter().map(|page| page.name.as_str()));
        Nameable {
            measurements: names.clone().collect(),
            selected: names.collect(),
            params,
        }
    }

    fn scope(&self, constraints: BTreeMap<&'a str, &'a Constraint>) -> Scope<'a> {
        let number = |(name, value): (&'a String, &serde_json::Value)| {
            Some((name.as_str(), value.as_f64()?))
        };
        Scope {
            subject: ConstraintSubject::Run,
            measurements: self.measurements.clone(),
            components: None,
            parameters: self.params.iter().filter_map(number).collect(),
            constraints,
        }
    }
}

/// The constraints of a file, in order, without those of rows that are not selected.
pub(super) fn records(
    file: &SuiteSource<'_>,
    constraints: &BTreeMap<String, ConstraintSpec>,
    nameable: &Nameable<'_>,
) -> Result<Vec<ConstraintRecord>, SuiteError> {
    let mut written: Vec<(&str, &ConstraintSpec, Constraint)> = Vec::new();
    for (name, spec) in constraints {
        let text = &spec.expression;
        check_name(name, nameable.params).map_err(|why| file.error(text.position, why))?;
        let constraint = Constraint::parse(&text.value);
        let constraint = constraint.map_err(|why| at(file, text, &why))?;
        written.push((name, spec, constraint));
    }
    written.sort_by_key(|(_, spec, _)| spec.expression.position);
    let by_name = written
        .iter()
        .map(|(name, _, constraint)| (*name, constraint));
    let scope = nameable.scope(by_name.collect());
    let mut records: Vec<ConstraintRecord> = Vec::new();
    for (name, spec, constraint) in &written {
        let checked = constraint
            .check(&scope)
            .map_err(|why| at(file, &spec.expression, &why))?;
        if is_of(&checked, &nameable.selected) {
            records.push(ConstraintRecord {
                name: (*name).to_owned(),
                expression: constraint.to_string(),
                sense: ConstraintSense::Holds,
                abort: spec.abort,
            });
        }
    }
    Ok(records)
}

/// The constraints of a file, which may be a whole suite, for a recorded run.
pub fn constraints_for(
    name: &str,
    text: &str,
    plan: &PlanRecord,
) -> Result<Vec<ConstraintRecord>, SuiteError> {
    let file = SuiteSource::new(name, text);
    let constraints = crate::spec::constraints(name, text)?;
    let nameable = Nameable::measured(&plan.measures, &plan.pages, &plan.params);
    let records = records(&file, &constraints, &nameable)?;
    match records.len() {
        0 => Err(file.error_anywhere(
            "there is no constraint in it; write `constraints:`, and below it NAME: EXPRESSION",
        )),
        _ => Ok(records),
    }
}

/// A constraint of the command line, for a plan.
///
/// # Errors
/// The defect, with a mark below its position.
pub fn constraint_for(
    option: &str,
    constraint: &Constraint,
    sense: ConstraintSense,
    plan: &Plan,
) -> Result<ConstraintRecord, String> {
    let nameable = Nameable::measured(&plan.measures, &plan.pages, &plan.params);
    constraint_of(option, constraint, sense, (&nameable, &plan.constraints))
}

/// The same, for a recorded run.
///
/// # Errors
/// The defect, with a mark below its position.
pub fn constraint_for_recorded(
    option: &str,
    constraint: &Constraint,
    sense: ConstraintSense,
    plan: &PlanRecord,
) -> Result<ConstraintRecord, String> {
    let nameable = Nameable::measured(&plan.measures, &plan.pages, &plan.params);
    constraint_of(option, constraint, sense, (&nameable, &plan.constraints))
}

fn constraint_of(
    option: &str,
    constraint: &Constraint,
    sense: ConstraintSense,
    (nameable, others): (&Nameable<'_>, &[ConstraintRecord]),
) -> Result<ConstraintRecord, String> {
    let others: BTreeMap<&str, Constraint> = others
        .iter()
        .filter_map(|other| {
            Some((
                other.name.as_str(),
                Constraint::parse(&other.expression).ok()?,
            ))
        })
        .collect();
    let others = others.iter().map(|(name, other)| (*name, other)).collect();
    let expression = constraint.to_string();
    // Positions refer to the text in the message.
    let shown = Constraint::parse(&expression);
    let checked = shown.and_then(|shown| shown.check(&nameable.scope(others)));
    checked.map_err(|why| format!("{option}: {}", why.marked(&expression)))?;
    Ok(ConstraintRecord {
        name: option.to_owned(),
        expression,
        sense,
        abort: false,
    })
}

impl WrittenConditions {
    /// All of them, as text.
    pub(super) fn checked(
        self,
        file: &SuiteSource<'_>,
        nameable: &Nameable<'_>,
    ) -> Result<Vec<String>, SuiteError> {
        let scope = nameable.scope(BTreeMap::new());
        let checked = |(text, constraint): &(Located<String>, Constraint)| {
            let checked = constraint
                .check(&scope)
                .map_err(|why| at(file, text, &why))?;
            if !is_of(&checked, &nameable.selected) {
                let why = "this condition names what is not selected, and could never be true; select it, too";
                return Err(file.error(text.position, why));
            }
            Ok(constraint.to_string())
        };
        self.0.borrow().iter().map(checked).collect()
    }
}

fn is_of(constraint: &CheckedConstraint, selected: &BTreeSet<&str>) -> bool {
    let mut measurements = constraint
        .characteristics()
        .filter(|of| !of.statistic.is_background())
        .filter_map(|of| of.measurement.as_deref());
    measurements.all(|name| selected.contains(name))
}

fn check_name(name: &str, params: &BTreeMap<String, serde_json::Value>) -> Result<(), String> {
    let is_statistic = Statistic::named(name).is_some_and(|known| !known.is_compared());
    if !is_name(name) || is_statistic || ["and", "or", "not"].contains(&name) {
        return Err(format!(
            "`{name}` is no name for a constraint; use letters, digits and _, and no name of a statistic"
        ));
    }
    if params.contains_key(name) {
        return Err(format!(
            "`{name}` is the name of a parameter; give the constraint another one"
        ));
    }
    Ok(())
}
