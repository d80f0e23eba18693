//! Templates of a trial, filled in with the levels of a cell.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use minijinja::value::{Object, ObjectRepr, ValueKind};
use minijinja::{Environment, ErrorKind, UndefinedBehavior};
use serde_json::Value;

use crate::error::ExperimentError;
use crate::file::{ExperimentSpec, LevelSpec};
use crate::record::LevelCombination;

/// Steps of the template engine for one text.
const FUEL: u64 = 100_000;
/// Longest text that a template becomes, in bytes.
const LONGEST: usize = 64 << 10;
/// Most values in a trial.
const MOST_VALUES: usize = 100_000;
/// Deepest nesting of maps and lists.
const DEEPEST: usize = 64;

/// The level of a factor: prints as its name, and has the values of the level.
#[derive(Debug)]
struct FilledLevel {
    name: String,
    values: BTreeMap<String, minijinja::Value>,
}

impl Object for FilledLevel {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn get_value(self: &Arc<Self>, key: &minijinja::Value) -> Option<minijinja::Value> {
        let key = key.as_str()?;
        if key == "name" {
            return Some(self.name.as_str().into());
        }
        self.values.get(key).cloned()
    }

    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// What is known while a value is filled in.
struct FilledText {
    /// Values that it may still have.
    left: usize,
    /// Whether a template of it was `null`.
    has_null: bool,
}

impl Default for FilledText {
    fn default() -> Self {
        FilledText {
            left: MOST_VALUES,
            has_null: false,
        }
    }
}

/// The names that templates within a value use.
pub(crate) fn variables(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => {
            let environment = Environment::empty();
            let expressions = text.split("{{").skip(1);
            let expressions = expressions.filter_map(|part| part.split_once("}}"));
            let compiled = expressions.map(|(own, _)| environment.compile_expression(own));
            // What cannot be compiled is an error of the file, and found where it is filled in.
            let used = compiled
                .flatten()
                .map(|own| own.undeclared_variables(false));
            used.flatten().collect()
        }
        Value::Array(items) => items.iter().flat_map(variables).collect(),
        Value::Object(members) => members.values().flat_map(variables).collect(),
        _ => Vec::new(),
    }
}

/// Fills in templates with the levels of one cell.
pub(crate) struct CellTemplates {
    environment: Environment<'static>,
    levels: BTreeMap<String, minijinja::Value>,
    names: BTreeMap<String, Vec<String>>,
}

impl CellTemplates {
    /// For a cell of the experiment.
    ///
    /// # Errors
    /// If the cell has not exactly one level of each factor.
    pub(crate) fn new(
        spec: &ExperimentSpec,
        cell: &LevelCombination,
    ) -> Result<Self, ExperimentError> {
        // Filters may make a text of any length from a short one; these do not.
        let mut environment = Environment::empty();
        environment.add_filter("default", minijinja::filters::default);
        environment.add_filter("int", minijinja::filters::int);
        environment.add_filter("round", minijinja::filters::round);
        environment.set_undefined_behavior(UndefinedBehavior::SemiStrict);
        environment.set_fuel(Some(FUEL));
        let (mut levels, mut names) = (BTreeMap::new(), BTreeMap::new());
        for factor in &spec.factors {
            let name = cell.level(&factor.name);
            crate::cells::check_level(factor, "cell", name)?;
            let Some(level) = factor.level(name) else {
                continue;
            };
            levels.insert(factor.name.clone(), filled(level));
            let values = level.values.keys().cloned();
            names.insert(factor.name.clone(), values.collect());
        }
        Ok(CellTemplates {
            environment,
            levels,
            names,
        })
    }

    /// Fills in all texts of a value. `place` is its key.
    ///
    /// # Errors
    /// The first text that cannot be filled in, with its key.
    pub(crate) fn fill(&self, place: &str, value: &Value) -> Result<Value, ExperimentError> {
        let mut filling = FilledText::default();
        self.fill_within(place, value, 0, &mut filling)
    }

    /// The same, of something that is left out as a whole if one of its templates is `null`.
    ///
    /// # Errors
    /// The first text that cannot be filled in, with its key.
    pub(crate) fn fill_entry(
        &self,
        place: &str,
        value: &Value,
    ) -> Result<Option<Value>, ExperimentError> {
        let mut filling = FilledText::default();
        let filled = self.fill_within(place, value, 0, &mut filling)?;
        Ok((!filling.has_null).then_some(filled))
    }

    fn fill_within(
        &self,
        place: &str,
        value: &Value,
        depth: usize,
        filling: &mut FilledText,
    ) -> Result<Value, ExperimentError> {
        if depth > DEEPEST {
            let message = format!("is nested more than {DEEPEST} levels deep");
            return Err(ExperimentError::new(place, message));
        }
        match value {
            Value::String(text) => {
                let filled = self.text(text, &mut filling.left);
                let filled = filled.map_err(|message| ExperimentError::new(place, message))?;
                filling.has_null |= filled.is_null();
                Ok(filled)
            }
            Value::Array(items) => {
                let mut filled = Vec::new();
                for (index, item) in items.iter().enumerate() {
                    let place = format!("{place}[{index}]");
                    filled.push(self.fill_within(&place, item, depth + 1, filling)?);
                }
                filled.retain(|item| !item.is_null());
                Ok(Value::Array(filled))
            }
            Value::Object(members) => {
                let mut filled = serde_json::Map::new();
                for (key, member) in members {
                    let place = format!("{place}.{key}");
                    let member = self.fill_within(&place, member, depth + 1, filling)?;
                    if !member.is_null() {
                        filled.insert(key.clone(), member);
                    }
                }
                Ok(Value::Object(filled))
            }
            other => Ok(other.clone()),
        }
    }

    /// What a text becomes: a value if it is one template and nothing else, or a text.
    fn text(&self, source: &str, left: &mut usize) -> Result<Value, String> {
        if source.contains("{%") {
            let source = shortened(source);
            return Err(format!(
                "`{source}`: a template is an expression, `{{{{ ... }}}}`"
            ));
        }
        if let Some(expression) = single(source) {
            return self.value(expression, left);
        }
        let (mut text, mut rest) = (String::new(), source);
        while let Some((before, after)) = rest.split_once("{{") {
            let Some((expression, behind)) = after.split_once("}}") else {
                return Err(format!("`{}` has no end", shortened(source)));
            };
            text.push_str(before);
            text.push_str(&self.inserted(expression, left)?);
            rest = behind;
            if text.len() > LONGEST {
                return Err(too_long(source));
            }
        }
        text.push_str(rest);
        Ok(Value::String(text))
    }

    /// The value of an expression.
    fn value(&self, expression: &str, left: &mut usize) -> Result<Value, String> {
        let value = self.evaluate(expression)?;
        as_json(&value, 0, left)
            .map_err(|message| format!("`{}`: {message}", shortened(expression)))
    }

    /// The value of an expression as a part of a text.
    fn inserted(&self, expression: &str, left: &mut usize) -> Result<String, String> {
        let value = self.evaluate(expression)?;
        match as_json(&value, 0, left) {
            Ok(Value::String(text)) => Ok(text),
            Ok(Value::Number(_) | Value::Bool(_)) => Ok(value.to_string()),
            Ok(_) => Err(format!(
                "`{}` is no text and no number",
                shortened(expression)
            )),
            Err(message) => Err(format!("`{}`: {message}", shortened(expression))),
        }
    }

    fn evaluate(&self, source: &str) -> Result<minijinja::Value, String> {
        // A list times a number is a list that takes no memory, but time where it is compared.
        let is_arithmetic = |c: char| c.is_ascii_alphanumeric() || "_.+-*/%() ".contains(c);
        if source.contains('*') && !source.chars().all(is_arithmetic) {
            let source = shortened(source);
            return Err(format!(
                "`{source}`: with `*`, only names, numbers and arithmetic can be used"
            ));
        }
        let explain = |error: &minijinja::Error| self.explain(error, source);
        let expression = self.environment.compile_expression(source);
        let expression = expression.map_err(|error| explain(&error))?;
        let levels = minijinja::Value::from_pairs(self.levels.clone());
        let value = expression.eval(levels).map_err(|error| explain(&error))?;
        if value.is_undefined() {
            return Err(self.unknown(source));
        }
        Ok(value)
    }

    fn unknown(&self, source: &str) -> String {
        let names = self.names.iter().flat_map(|(factor, values)| {
            let values = values.iter().map(move |value| format!("{factor}.{value}"));
            std::iter::once(factor.clone()).chain(values)
        });
        let names: Vec<String> = names.collect();
        format!(
            "a name in `{}` is not known in this cell; known are {}",
            shortened(source),
            names.join(", ")
        )
    }

    fn explain(&self, error: &minijinja::Error, source: &str) -> String {
        let is_undefined = |detail: &str| detail.contains("undefined");
        match error.kind() {
            ErrorKind::UndefinedError => self.unknown(source),
            ErrorKind::InvalidOperation if error.detail().is_some_and(is_undefined) => {
                self.unknown(source)
            }
            ErrorKind::OutOfFuel => format!("`{}` takes too long to evaluate", shortened(source)),
            kind => {
                let kind = kind.to_string();
                let detail = error.detail().unwrap_or(&kind);
                format!("`{}`: {detail}", shortened(source))
            }
        }
    }
}

/// A value of the template engine, with a limit of its parts.
fn as_json(value: &minijinja::Value, depth: usize, left: &mut usize) -> Result<Value, String> {
    if *left == 0 || depth > DEEPEST {
        return Err("has too many values, or is nested too deep".to_owned());
    }
    *left -= 1;
    let unusable = |error: &dyn fmt::Display| format!("cannot be used: {error}");
    match value.kind() {
        ValueKind::String if value.len().is_some_and(|length| length > LONGEST) => {
            Err(format!("grows to more than {} KiB", LONGEST >> 10))
        }
        ValueKind::None => Ok(Value::Null),
        ValueKind::Bool => Ok(Value::Bool(value.is_true())),
        ValueKind::Number => number(value).ok_or_else(|| unusable(value)),
        ValueKind::String | ValueKind::Plain => Ok(Value::String(value.to_string())),
        ValueKind::Seq => {
            let mut items = Vec::new();
            for item in value.try_iter().map_err(|error| unusable(&error))? {
                items.push(as_json(&item, depth + 1, left)?);
            }
            Ok(Value::Array(items))
        }
        ValueKind::Map => {
            let mut members = serde_json::Map::new();
            for key in value.try_iter().map_err(|error| unusable(&error))? {
                let member = value.get_item(&key).map_err(|error| unusable(&error))?;
                members.insert(key.to_string(), as_json(&member, depth + 1, left)?);
            }
            Ok(Value::Object(members))
        }
        kind => Err(unusable(&kind)),
    }
}

fn number(value: &minijinja::Value) -> Option<Value> {
    if value.is_integer() {
        return i64::try_from(value.clone()).ok().map(Value::from);
    }
    let number = f64::try_from(value.clone()).ok()?;
    serde_json::Number::from_f64(number).map(Value::Number)
}

/// A value of a level, for the template engine.
fn from_json(value: &Value) -> minijinja::Value {
    match value {
        Value::Null => minijinja::Value::from(()),
        Value::Bool(truth) => (*truth).into(),
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(integer), _) => integer.into(),
            (None, Some(float)) => float.into(),
            (None, None) => number.to_string().into(),
        },
        Value::String(text) => text.as_str().into(),
        Value::Array(items) => items.iter().map(from_json).collect(),
        Value::Object(members) => {
            let members = members.iter();
            minijinja::Value::from_pairs(members.map(|(key, own)| (key.clone(), from_json(own))))
        }
    }
}

fn filled(level: &LevelSpec) -> minijinja::Value {
    let values = level.values.iter();
    let values = values.map(|(name, value)| (name.clone(), from_json(value)));
    minijinja::Value::from_object(FilledLevel {
        name: level.name.clone(),
        values: values.collect(),
    })
}

/// The expression of a text that is one template and nothing else.
fn single(source: &str) -> Option<&str> {
    let inner = source.trim().strip_prefix("{{")?.strip_suffix("}}")?;
    (!inner.contains("{{") && !inner.contains("}}")).then_some(inner)
}

fn too_long(source: &str) -> String {
    let limit = LONGEST >> 10;
    format!("`{}` grows to more than {limit} KiB", shortened(source))
}

fn shortened(source: &str) -> String {
    let source = source.trim();
    match source.char_indices().nth(60) {
        Some((end, _)) => format!("{}...", &source[..end]),
        None => source.to_owned(),
    }
}
