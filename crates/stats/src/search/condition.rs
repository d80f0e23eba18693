//! A condition on what was measured: `p99 < 50ms and failures == 0`.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use minijinja::value::ValueKind;
use minijinja::{Environment, UndefinedBehavior};

use crate::{Summary, TestSummary};

/// A condition on each row of a result: a Jinja expression over `mean`, `p50`, `p99`, `failures` and so on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    /// As it was written.
    text: String,
    /// With times in nanoseconds and shares as numbers.
    plain: String,
}

/// What can be asked of a row. Times are those that are [waited](TestSummary::waited).
const NAMES: [(&str, &str); 11] = [
    ("mean", "mean time"),
    ("p50", "median"),
    ("p90", "90th percentile"),
    ("p95", "95th percentile"),
    ("p99", "99th percentile"),
    ("p999", "99.9th percentile"),
    ("max", "greatest time"),
    ("operations", "operations"),
    ("failures", "operations that failed, or were dropped"),
    ("failure_rate", "their share, 1% for example"),
    ("throughput", "expected answers a second"),
];

/// Units of times, in nanoseconds, and of shares.
const UNITS: [(&str, f64); 6] = [
    ("ns", 1.0),
    ("us", 1e3),
    ("µs", 1e3),
    ("ms", 1e6),
    ("s", 1e9),
    ("%", 0.01),
];

/// Steps an expression may take.
const FUEL: u64 = 10_000;
/// Longest expression.
const LONGEST: usize = 1_000;

/// What is wrong with a condition: one sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConditionError(String);

impl fmt::Display for ConditionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ConditionError {}

impl fmt::Display for Condition {
    /// As it was written.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for Condition {
    type Err = ConditionError;

    fn from_str(text: &str) -> Result<Condition, ConditionError> {
        if text.len() > LONGEST {
            return Err(ConditionError(format!(
                "a condition has {LONGEST} characters at most"
            )));
        }
        let condition = Condition {
            text: text.trim().to_owned(),
            plain: without_units(text)?,
        };
        condition.check_names()?;
        condition.holds_for(&[1.0; NAMES.len()])?;
        Ok(condition)
    }
}

impl Condition {
    /// Whether it holds for every row. A row without a time is one for which it does not.
    ///
    /// # Errors
    /// Where the expression cannot be evaluated for these figures.
    pub fn holds(&self, summary: &Summary) -> Result<bool, ConditionError> {
        for row in &summary.tests {
            let Some(figures) = figures(row) else {
                return Ok(false);
            };
            if !self.holds_for(&figures)? {
                return Ok(false);
            }
        }
        Ok(!summary.tests.is_empty())
    }

    /// Also of what need not be evaluated, after an `or` for example.
    fn check_names(&self) -> Result<(), ConditionError> {
        let environment = Environment::empty();
        let expression = environment.compile_expression(&self.plain);
        let expression = expression.map_err(|error| self.wrong(&error.to_string()))?;
        let asked = expression.undeclared_variables(false);
        let is_known = |asked: &&String| NAMES.iter().any(|(name, _)| name == asked);
        match asked.iter().find(|asked| !is_known(asked)) {
            Some(unknown) => Err(self.wrong(&format!("there is no `{unknown}`"))),
            None => Ok(()),
        }
    }

    fn holds_for(&self, figures: &[f64; NAMES.len()]) -> Result<bool, ConditionError> {
        let mut environment = Environment::empty();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        environment.set_fuel(Some(FUEL));
        let names = NAMES.iter().zip(figures);
        let context: BTreeMap<&str, f64> =
            names.map(|((name, _), figure)| (*name, *figure)).collect();
        let value = environment
            .compile_expression(&self.plain)
            .and_then(|expression| expression.eval(context))
            .map_err(|error| self.wrong(&error.to_string()))?;
        match value.kind() {
            ValueKind::Bool => Ok(value.is_true()),
            _ => Err(ConditionError(format!(
                "`{}` is no condition; compare something, `p99 < 50ms` for example",
                self.text
            ))),
        }
    }

    fn wrong(&self, why: &str) -> ConditionError {
        let names: Vec<&str> = NAMES.iter().map(|(name, _)| *name).collect();
        ConditionError(format!(
            "`{}` is no condition ({why}); there are {}, with times like 50ms and shares like \
             1%, `and`, `or` and `not`",
            self.text,
            names.join(", ")
        ))
    }
}

fn figures(row: &TestSummary) -> Option<[f64; NAMES.len()]> {
    let times = row.waited()?;
    let (all, failed) = (row.operations() + row.left_out(), row.failed());
    Some([
        times.mean,
        times.p50 as f64,
        times.p90 as f64,
        times.p95 as f64,
        times.p99 as f64,
        times.p999 as f64,
        times.max as f64,
        all as f64,
        failed as f64,
        failed as f64 / all.max(1) as f64,
        row.per_second.unwrap_or(0.0),
    ])
}

/// Numbers with units become numbers.
fn without_units(text: &str) -> Result<String, ConditionError> {
    let mut plain = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        if first.is_ascii_digit() {
            let end = rest
                .find(|c: char| !c.is_ascii_digit() && c != '.')
                .unwrap_or(rest.len());
            let (number, after) = rest.split_at(end);
            let end = after
                .find(|c: char| !c.is_alphabetic() && c != '%')
                .unwrap_or(after.len());
            let (unit, after) = after.split_at(end);
            plain += &in_units(number, unit)?;
            rest = after;
        } else {
            // A name may have digits in it.
            let end = match first.is_alphabetic() || first == '_' {
                true => rest
                    .find(|c: char| !c.is_alphanumeric() && c != '_')
                    .unwrap_or(rest.len()),
                false => first.len_utf8(),
            };
            let (word, after) = rest.split_at(end);
            plain += word;
            rest = after;
        }
    }
    Ok(plain)
}

fn in_units(number: &str, unit: &str) -> Result<String, ConditionError> {
    let value: f64 = number
        .parse()
        .map_err(|_| ConditionError(format!("`{number}` is no number")))?;
    if unit.is_empty() {
        return Ok(number.to_owned());
    }
    let known = UNITS.iter().find(|(name, _)| *name == unit);
    match known {
        Some((_, factor)) => Ok(format!("{:?}", value * factor)),
        None => Err(ConditionError(format!(
            "`{unit}` is no unit in `{number}{unit}`; there are ns, us, ms, s and %"
        ))),
    }
}
