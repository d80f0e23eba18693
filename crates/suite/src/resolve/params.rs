//! Parameters: their defaults, values from the command line, and `each`, which makes one test for
//! every value of a list.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::Value;
use yaml::{PlainScalar, WrittenValue};

use super::SuiteSource;
use crate::error::SuiteError;
use crate::position::Located;
use crate::spec::{ActionSpec, StepSpec, SuiteSpec, TestSpec};
use crate::template::is_name;

/// Parameters by name: numbers, texts, truth values, and lists of these, in their notation.
pub(crate) type Params = BTreeMap<String, WrittenValue>;

/// The parameters of a suite with their values in this run.
pub(super) fn merged(
    file: &SuiteSource<'_>,
    spec: &SuiteSpec,
    changes: &BTreeMap<String, String>,
) -> Result<Params, SuiteError> {
    let mut params = Params::from([("requests".to_owned(), WrittenValue::plain("10"))]);
    for (name, located) in &spec.params {
        if !is_name(name) || name == "n" || name == "user" {
            return Err(file.error(
                located.position,
                format!(
                    "`{name}` is no name for a parameter; use letters, digits and _, not n or user"
                ),
            ));
        }
        check_value(name, &located.value)
            .map_err(|message| file.error(located.position, message))?;
        params.insert(name.clone(), located.value.clone());
    }
    for (name, text) in changes {
        let Some(param) = params.get_mut(name) else {
            return Err(file.error_anywhere(unknown(name, &params)));
        };
        let value = changed(name, param, text).and_then(|value| {
            check_value(name, &value)?;
            Ok(value)
        });
        *param = value.map_err(|message| file.error_anywhere(message))?;
    }
    Ok(params)
}

/// The values of parameters for a record.
pub(super) fn recorded(params: &Params) -> BTreeMap<String, Value> {
    fn value(written: &WrittenValue) -> Value {
        match written {
            WrittenValue::List(items) => items.iter().map(value).collect(),
            scalar => match scalar.scalar() {
                Some((PlainScalar::Truth(truth), _)) => truth.into(),
                Some((PlainScalar::Natural(number), _)) => number.into(),
                Some((PlainScalar::Negative(number), _)) => number.into(),
                // If JSON can represent the number.
                Some((PlainScalar::Real(number), text)) => match Value::from(number) {
                    Value::Null => text.into(),
                    number => number,
                },
                Some((_, text)) => text.into(),
                None => Value::Null,
            },
        }
    }
    let all = params.iter();
    all.map(|(name, param)| (name.clone(), value(param)))
        .collect()
}

/// Parameters whose notation differs from their recorded value: `1.10`.
pub(super) fn written(
    params: &Params,
    recorded: &BTreeMap<String, Value>,
) -> BTreeMap<String, String> {
    let text = |value: &WrittenValue| {
        value
            .scalar()
            .map_or_else(|| value.to_string(), |(_, text)| text.to_owned())
    };
    let shown = |recorded: &Value| match recorded {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let differs = |(name, text): &(&String, String)| shown(&recorded[*name]) != *text;
    let all = params.iter().map(|(name, param)| (name, text(param)));
    all.filter(differs)
        .map(|(name, text)| (name.clone(), text))
        .collect()
}

#[derive(Clone, Copy, PartialEq)]
enum ParamKind {
    Truth,
    Number,
    Text,
}

impl ParamKind {
    /// The type of a scalar; `None` for anything else.
    fn of(value: &WrittenValue) -> Option<ParamKind> {
        match value.scalar()?.0 {
            PlainScalar::Truth(_) => Some(ParamKind::Truth),
            PlainScalar::Natural(_) | PlainScalar::Negative(_) | PlainScalar::Real(_) => {
                Some(ParamKind::Number)
            }
            PlainScalar::Text => Some(ParamKind::Text),
            PlainScalar::Null => None,
        }
    }
}

/// The new value of a parameter, of the type of its default. In place of a list, a text with commas
/// is one.
fn changed(name: &str, default: &WrittenValue, text: &str) -> Result<WrittenValue, String> {
    let WrittenValue::List(items) = default else {
        return typed(name, ParamKind::of(default), text);
    };
    let mut kinds = items.iter().map(ParamKind::of);
    let first = kinds.next().flatten();
    // In a list with values of several types, each may have any of them.
    let kind = first.filter(|first| kinds.all(|other| other == Some(*first)));
    if !text.contains(',') {
        return typed(name, kind, text);
    }
    let values = text.split(',').map(|value| typed(name, kind, value.trim()));
    values.collect::<Result<_, _>>().map(WrittenValue::List)
}

/// A text as a value of that type; of any type without one.
fn typed(name: &str, kind: Option<ParamKind>, text: &str) -> Result<WrittenValue, String> {
    let value = WrittenValue::plain(text);
    match (kind, ParamKind::of(&value)) {
        (Some(ParamKind::Text), _) => Ok(WrittenValue::quoted(text)),
        (None, None) => Ok(WrittenValue::quoted(text)),
        (None, Some(_)) => Ok(value),
        (Some(kind), found) if Some(kind) == found => Ok(value),
        (Some(kind), _) => {
            let kind = match kind {
                ParamKind::Truth => "true or false",
                _ => "a number",
            };
            Err(format!(
                "`{name}` is {kind} in the suite, and `{text}` is not"
            ))
        }
    }
}

fn check_value(name: &str, value: &WrittenValue) -> Result<(), String> {
    let values = match value {
        WrittenValue::List(values) if values.is_empty() => {
            return Err(format!("`{name}` is an empty list"));
        }
        WrittenValue::List(values) => values.as_slice(),
        _ => std::slice::from_ref(value),
    };
    if !values.iter().all(|value| ParamKind::of(value).is_some()) {
        return Err(format!(
            "`{name}` must be a number, a text, true or false, or a list of these"
        ));
    }
    let mut known = values.iter().enumerate();
    match known.find(|(number, value)| values[..*number].contains(value)) {
        Some((_, twice)) => Err(format!("{} stands in `{name}` twice", plain(twice))),
        None => Ok(()),
    }
}

/// A test, and its parameters.
pub(super) struct Variant<'a> {
    pub(super) test: Cow<'a, TestSpec>,
    pub(super) params: Cow<'a, Params>,
    /// Suffix of its names if it is one of several.
    pub(super) suffix: String,
}

/// All tests of a suite; those with `each` once for each value of the parameter.
pub(super) fn variants<'a>(
    file: &SuiteSource<'_>,
    spec: &'a SuiteSpec,
    params: &'a Params,
) -> Result<Vec<Variant<'a>>, SuiteError> {
    let mut variants = Vec::new();
    for Located { value: test, .. } in &spec.tests {
        let as_written = Variant {
            test: Cow::Borrowed(test),
            params: Cow::Borrowed(params),
            suffix: String::new(),
        };
        let Some(each) = &test.each else {
            variants.push(as_written);
            continue;
        };
        let name = each.value.as_str();
        match params.get(name) {
            Some(WrittenValue::List(values)) => {
                let many = values.len() > 1;
                variants.extend(values.iter().map(|value| {
                    let suffix = if many {
                        format!("x{}", plain(value))
                    } else {
                        String::new()
                    };
                    Variant {
                        test: Cow::Owned(renamed(test, &suffix)),
                        params: Cow::Owned(with(params, name, value)),
                        suffix,
                    }
                }));
            }
            Some(_) => variants.push(as_written),
            None => {
                return Err(file.error(each.position, unknown(name, params)));
            }
        }
    }
    Ok(variants)
}

fn with(params: &Params, name: &str, value: &WrittenValue) -> Params {
    let mut params = params.clone();
    params.insert(name.to_owned(), value.clone());
    params
}

/// The test with a suffix to its names.
fn renamed(test: &TestSpec, suffix: &str) -> TestSpec {
    let mut test = test.clone();
    test.name.value += suffix;
    test.looped_mut().for_each(|step| rename(step, suffix));
    test
}

fn rename(step: &mut StepSpec, suffix: &str) {
    if let Some(measure) = &mut step.with.measure {
        measure.value += suffix;
    }
    match &mut step.action {
        ActionSpec::Page(name) | ActionSpec::Start(name) | ActionSpec::Stop(name) => {
            name.value += suffix;
        }
        ActionSpec::Choose(choices) => {
            let steps = choices.iter_mut().flat_map(|choice| &mut choice.steps);
            steps.for_each(|step| rename(step, suffix));
        }
        _ => {}
    }
    let steps = step.with.steps.iter_mut().chain(&mut step.with.otherwise);
    steps.for_each(|step| rename(step, suffix));
}

fn unknown(name: &str, params: &Params) -> String {
    let known = params.keys().map(String::as_str);
    let hint = ::nearest::hint(name, known, "it has");
    format!("the suite has no parameter `{name}`; {hint}")
}

/// A scalar in a name: a number in decimal digits.
fn plain(value: &WrittenValue) -> String {
    match value.scalar() {
        Some((PlainScalar::Text, text)) => text.to_owned(),
        Some((_, text)) => yaml::decimal(text).unwrap_or_else(|| text.to_owned()),
        None => String::new(),
    }
}
