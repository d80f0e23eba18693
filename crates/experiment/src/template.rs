//! Templates of a trial, filled in with the levels of a cell.

use std::collections::BTreeMap;
use std::rc::Rc;

use ::template::{Bounds, Expression, Never, TemplateError};
use serde_json::Value;
use yaml::{PlainScalar, WrittenValue};

use crate::FileError;
use crate::file::{ExperimentSpec, LevelSpec};
use crate::record::LevelCombination;

/// Limits of the templates of one text, which has at most 64 KiB.
const BOUNDS: Bounds = Bounds {
    steps: 100_000,
    bytes: LONGEST,
};
/// Longest result of a template in bytes.
const LONGEST: usize = 64 << 10;
const MOST_VALUES: usize = 100_000;
const DEEPEST: usize = 64;

/// A value of an expression.
type LevelValue = ::template::Value<Never>;

struct FilledText {
    /// Remaining number of values.
    left: usize,
    /// A template of it was `null`.
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
            let expressions = text.split("{{").skip(1);
            let expressions = expressions.filter_map(|part| part.split_once("}}"));
            // Invalid expressions are reported when they are filled in.
            let read = expressions.filter_map(|(source, _)| Expression::parse(source).ok());
            read.flat_map(|expression| expression.names()).collect()
        }
        Value::Array(items) => items.iter().flat_map(variables).collect(),
        Value::Object(members) => members.values().flat_map(variables).collect(),
        _ => Vec::new(),
    }
}

pub(crate) struct CellTemplates {
    levels: BTreeMap<String, LevelValue>,
    names: BTreeMap<String, Vec<String>>,
}

impl CellTemplates {
    /// For a cell of the experiment.
    ///
    /// # Errors
    /// The cell has not exactly one level of each factor.
    pub(crate) fn new(spec: &ExperimentSpec, cell: &LevelCombination) -> Result<Self, FileError> {
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
        Ok(CellTemplates { levels, names })
    }

    /// Fills in all texts of a value. `place` is its key.
    ///
    /// # Errors
    /// The first text that cannot be filled in, with its key.
    pub(crate) fn fill(&self, place: &str, value: &Value) -> Result<Value, FileError> {
        let mut filling = FilledText::default();
        self.fill_within(place, value, 0, &mut filling)
    }

    /// The same, for an entry that is left out as a whole if one of its templates is `null`.
    ///
    /// # Errors
    /// The first text that cannot be filled in, with its key.
    pub(crate) fn fill_entry(
        &self,
        place: &str,
        value: &Value,
    ) -> Result<Option<Value>, FileError> {
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
    ) -> Result<Value, FileError> {
        if depth > DEEPEST {
            let message = format!("is nested more than {DEEPEST} levels deep");
            return Err(FileError::new(place, message));
        }
        match value {
            Value::String(text) => {
                let filled = self.text(text, &mut filling.left);
                let filled = filled.map_err(|message| FileError::new(place, message))?;
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

    /// The result of a text: a value if it is one template and nothing else, otherwise a text.
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

    fn evaluate(&self, source: &str) -> Result<LevelValue, String> {
        let explain = |error| self.explain(error, source);
        let expression = Expression::parse(source).map_err(explain)?;
        let named = |name: &str| self.levels.get(name).cloned();
        expression
            .value(&named, &mut BOUNDS.clone())
            .map_err(explain)
    }

    fn explain(&self, error: TemplateError, source: &str) -> String {
        let source = shortened(source);
        match error {
            TemplateError::Unknown(name) => {
                let names = self.names.iter().flat_map(|(factor, values)| {
                    let values = values.iter().map(move |value| format!("{factor}.{value}"));
                    std::iter::once(factor.clone()).chain(values)
                });
                let names: Vec<String> = names.collect();
                format!(
                    "`{name}` in `{source}` is not known in this cell; known are {}",
                    names.join(", ")
                )
            }
            TemplateError::TooLong => format!("`{source}` takes too long to evaluate"),
            TemplateError::TooLarge => too_long(&source),
            error => format!("`{source}`: {error}"),
        }
    }
}

/// The value of an expression, with a limit of its parts.
fn as_json(value: &LevelValue, depth: usize, left: &mut usize) -> Result<Value, String> {
    if *left == 0 || depth > DEEPEST {
        return Err("has too many values, or is nested too deep".to_owned());
    }
    *left -= 1;
    let unusable = || format!("cannot be used: {value}");
    Ok(match value {
        LevelValue::Missing { .. } | LevelValue::None => Value::Null,
        LevelValue::Flag(flag) => Value::Bool(*flag),
        LevelValue::Integer(number) => i64::try_from(*number).map_err(|_| unusable())?.into(),
        LevelValue::Real(number) => {
            let number = serde_json::Number::from_f64(*number);
            Value::Number(number.ok_or_else(unusable)?)
        }
        LevelValue::Text(text) | LevelValue::Named(text, _) => Value::String((**text).to_owned()),
        LevelValue::List(items) => {
            let items = items.iter().map(|item| as_json(item, depth + 1, left));
            Value::Array(items.collect::<Result<_, _>>()?)
        }
        LevelValue::Map(members) => {
            let mut found = serde_json::Map::new();
            for (key, member) in &**members {
                found.insert(key.clone(), as_json(member, depth + 1, left)?);
            }
            Value::Object(found)
        }
        LevelValue::Written(_, value) => as_json(value, depth, left)?,
        LevelValue::Later(never) => match *never {},
        LevelValue::Parts(_) => return Err(unusable()),
    })
}

/// A value of a level, for expressions. A number is inserted into a text as written.
fn level_value(written: &WrittenValue) -> LevelValue {
    match written {
        WrittenValue::List(items) => {
            LevelValue::List(Rc::new(items.iter().map(level_value).collect()))
        }
        WrittenValue::Map(members) => {
            let members = members.iter();
            let members = members.map(|(key, member)| (key.clone(), level_value(member)));
            LevelValue::Map(Rc::new(members.collect()))
        }
        scalar => {
            let (is, text) = scalar.scalar().unwrap_or((PlainScalar::Null, ""));
            let value = match is {
                PlainScalar::Null => return LevelValue::None,
                PlainScalar::Text => return text.into(),
                PlainScalar::Truth(truth) => LevelValue::Flag(truth),
                PlainScalar::Natural(number) => LevelValue::Integer(number.into()),
                PlainScalar::Negative(number) => LevelValue::Integer(number.into()),
                PlainScalar::Real(number) => LevelValue::Real(number),
            };
            LevelValue::Written(text.into(), Rc::new(value))
        }
    }
}

/// A level: its name as text, and its values as members.
fn filled(level: &LevelSpec) -> LevelValue {
    let values = level.values.iter();
    let values = values.map(|(name, value)| (name.clone(), level_value(value)));
    let name = ("name".to_owned(), level.name.as_str().into());
    let members = values.chain([name]).collect();
    LevelValue::Named(level.name.as_str().into(), Rc::new(members))
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
