//! Parameters: their defaults, what the command line makes of them, and `each`, which makes one
//! test for every value of a list.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::Value;

use super::SuiteSource;
use crate::error::SuiteError;
use crate::place::Placed;
use crate::spec::{ActionSpec, StepSpec, SuiteSpec, TestSpec};
use crate::template::is_name;

/// Parameters by name: numbers, texts, and lists of these.
pub(super) type Params = BTreeMap<String, Value>;

/// What a command line says of a parameter: a whole number, or else a text.
pub fn param_value(text: &str) -> Value {
    text.parse::<i64>()
        .map_or_else(|_| text.into(), Value::from)
}

/// The parameters of a suite with the values they have this time.
pub(super) fn merged(
    file: &SuiteSource<'_>,
    spec: &SuiteSpec,
    changes: &BTreeMap<String, Value>,
) -> Result<Params, SuiteError> {
    let mut params = Params::from([("requests".to_owned(), Value::from(10))]);
    for (name, placed) in &spec.params {
        if !is_name(name) || name == "n" || name == "user" {
            return Err(file.error(
                placed.place,
                format!(
                    "`{name}` is no name for a parameter; use letters, digits and _, not n or user"
                ),
            ));
        }
        check_value(name, &placed.value).map_err(|message| file.error(placed.place, message))?;
        params.insert(name.clone(), with_whole_numbers(placed.value.clone()));
    }
    for (name, value) in changes {
        let Some(param) = params.get_mut(name) else {
            return Err(file.error_anywhere(unknown(name, &params)));
        };
        let value = with_whole_numbers(changed(param, value));
        check_value(name, &value).map_err(|message| file.error_anywhere(message))?;
        *param = value;
    }
    Ok(params)
}

/// Numbers without a fraction are whole, however they are written: `1e3` is 1000.
fn with_whole_numbers(value: Value) -> Value {
    /// Beyond, not every whole number is a float.
    const EXACT: f64 = (1_u64 << 53) as f64;
    match value {
        Value::Array(values) => values.into_iter().map(with_whole_numbers).collect(),
        Value::Number(number) => match number.as_f64() {
            Some(float) if number.is_f64() && float.fract() == 0.0 && float.abs() <= EXACT => {
                Value::from(float as i64)
            }
            _ => Value::Number(number),
        },
        _ => value,
    }
}

/// The new value of a parameter. In place of a list, a text with commas is one, and in place of a number any number that
/// does not lose digits.
fn changed(default: &Value, value: &Value) -> Value {
    let number = |text: &str| -> Option<Value> {
        let number = text
            .parse::<f64>()
            .ok()
            .filter(|number| number.is_finite())?;
        if text.bytes().all(|byte| byte.is_ascii_digit()) {
            text.parse::<u64>().ok().map(Value::from)
        } else {
            Some(number.into())
        }
    };
    match value.as_str() {
        Some(text) if default.is_number() => number(text).unwrap_or_else(|| value.clone()),
        Some(text) if default.is_array() && text.contains(',') => text
            .split(',')
            .map(|value| param_value(value.trim()))
            .collect(),
        _ => value.clone(),
    }
}

fn check_value(name: &str, value: &Value) -> Result<(), String> {
    let is_scalar = |value: &Value| value.is_number() || value.is_string() || value.is_boolean();
    let values = match value {
        Value::Array(values) if values.is_empty() => {
            return Err(format!("`{name}` is an empty list"));
        }
        Value::Array(values) => values.as_slice(),
        _ => std::slice::from_ref(value),
    };
    if !values.iter().all(is_scalar) {
        return Err(format!(
            "`{name}` must be a number, a text, or a list of these"
        ));
    }
    let mut known = values.iter().enumerate();
    match known.find(|(number, value)| values[..*number].contains(value)) {
        Some((_, twice)) => Err(format!("{} stands in `{name}` twice", plain(twice))),
        None => Ok(()),
    }
}

/// A test as it is run, and the parameters it sees.
pub(super) struct Variant<'a> {
    pub(super) test: Cow<'a, TestSpec>,
    pub(super) params: Cow<'a, Params>,
    /// What stands behind its names where it is one of several.
    pub(super) suffix: String,
}

/// All tests of a suite; those with `each` as often as the parameter has values.
pub(super) fn variants<'a>(
    file: &SuiteSource<'_>,
    spec: &'a SuiteSpec,
    params: &'a Params,
) -> Result<Vec<Variant<'a>>, SuiteError> {
    let mut variants = Vec::new();
    for Placed { value: test, .. } in &spec.tests {
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
            Some(Value::Array(values)) => {
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
                return Err(file.error(each.place, unknown(name, params)));
            }
        }
    }
    Ok(variants)
}

fn with(params: &Params, name: &str, value: &Value) -> Params {
    let mut params = params.clone();
    params.insert(name.to_owned(), value.clone());
    params
}

/// The test with this behind its names.
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
    let known: Vec<&str> = params.keys().map(String::as_str).collect();
    let known = known.join(", ");
    format!("the suite has no parameter `{name}`; it has {known}")
}

/// A text without its quotes.
fn plain(value: &Value) -> String {
    match value.as_str() {
        Some(text) => text.to_owned(),
        None => value.to_string(),
    }
}
