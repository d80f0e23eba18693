//! A condition on what was measured: `p99 < 50ms and failures == 0`.

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::str::FromStr;

use minijinja::value::ValueKind;
use minijinja::{Environment, UndefinedBehavior};
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

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
const NAMES: [&str; 11] = [
    "mean",
    "p50",
    "p90",
    "p95",
    "p99",
    "p999",
    "max",
    "operations",
    // Operations that failed, or were dropped.
    "failures",
    // Their share.
    "failure_rate",
    // Expected responses a second.
    "throughput",
];

/// Where the times are in [`NAMES`], and the share.
const TIMES: std::ops::Range<usize> = 0..7;
const SHARE: usize = 9;

/// Units of times, in nanoseconds.
const TIME_UNITS: [(&str, f64); 6] = [
    ("ns", 1.0),
    ("us", 1e3),
    // MICRO SIGN and GREEK SMALL LETTER MU look the same.
    ("\u{b5}s", 1e3),
    ("\u{3bc}s", 1e3),
    ("ms", 1e6),
    ("s", 1e9),
];

/// In what times and shares are counted: 1 is a nanosecond, and the whole.
#[derive(Debug, Clone, Copy)]
struct Scale {
    time: f64,
    share: f64,
}

const PLAIN: Scale = Scale {
    time: 1.0,
    share: 1.0,
};

/// Figures that are made up to see whether a condition compares what can be compared.
const MADE_UP: usize = 300;

/// Steps an expression may take.
const FUEL: u64 = 10_000;
/// Longest expression.
const LONGEST: usize = 1_000;

/// Why a text is no expression.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    /// A name that does not exist.
    #[error("there is no `{0}`")]
    Name(String),
    /// What the parser or the interpreter made of it.
    #[error("{0}")]
    Expression(String),
}

/// What is wrong with a condition.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConditionError {
    /// It is too long.
    #[error("a condition has {LONGEST} characters at most")]
    TooLong,
    /// It is no expression, or not one over these names.
    #[error(
        "`{text}` is no condition ({why}); there are {}, with times like 50ms and shares like 1%, \
         `and`, `or` and `not`",
        NAMES.join(", ")
    )]
    NoExpression {
        /// As it was written.
        text: String,
        /// What is wrong with it.
        why: Unreadable,
    },
    /// It has a value that neither holds nor fails.
    #[error("`{0}` is no condition; compare something, `p99 < 50ms` for example")]
    NoComparison(String),
    /// A time is compared with a number that has no unit.
    #[error("`{0}` compares a time with a number that has no unit; write 50ms for example")]
    TimeWithoutUnit(String),
    /// A share is compared with a number that has no unit.
    #[error("`{0}` compares a share with a number that has no unit; write 1% for example")]
    ShareWithoutUnit(String),
    /// Digits that are no number.
    #[error("`{0}` is not a number")]
    NoNumber(String),
    /// A unit that does not exist.
    #[error("`{unit}` is not a unit in `{number}{unit}`; there are ns, µs, ms, s and %")]
    NoUnit {
        /// The number before it.
        number: String,
        /// As it was written.
        unit: String,
    },
}

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
            return Err(ConditionError::TooLong);
        }
        let condition = Condition {
            text: text.trim().to_owned(),
            plain: without_units(text, PLAIN)?,
        };
        condition.check_names()?;
        condition.holds_for(&[1.0; NAMES.len()])?;
        condition.check_units()?;
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
        let asked = self.names()?;
        let is_known = |asked: &&String| NAMES.contains(&asked.as_str());
        match asked.iter().find(|asked| !is_known(asked)) {
            Some(unknown) => Err(self.unreadable(Unreadable::Name(unknown.clone()))),
            None => Ok(()),
        }
    }

    fn names(&self) -> Result<HashSet<String>, ConditionError> {
        let environment = Environment::empty();
        let expression = environment.compile_expression(&self.plain);
        let expression = expression.map_err(|error| self.wrong(&error))?;
        Ok(expression.undeclared_variables(false))
    }

    /// Refuses `p99 < 50`: whether it holds would depend on the unit in which times are counted. So
    /// it is evaluated in two units that are far apart, for many figures, and must not differ.
    fn check_units(&self) -> Result<(), ConditionError> {
        let time = |time| Scale { time, ..PLAIN };
        let share = |share| Scale { share, ..PLAIN };
        if self.depends_on(time(1e-12), time(1e12))? {
            return Err(ConditionError::TimeWithoutUnit(self.text.clone()));
        }
        let asks_share = self.names()?.contains(NAMES[SHARE]);
        if asks_share && self.depends_on(share(1e-12), share(1e12))? {
            return Err(ConditionError::ShareWithoutUnit(self.text.clone()));
        }
        Ok(())
    }

    fn depends_on(&self, one: Scale, other: Scale) -> Result<bool, ConditionError> {
        let in_scale = |scale| -> Result<Condition, ConditionError> {
            Ok(Condition {
                text: self.text.clone(),
                plain: without_units(&self.text, scale)?,
            })
        };
        let (of_one, of_other) = (in_scale(one)?, in_scale(other)?);
        let mut rng = ChaCha8Rng::seed_from_u64(0);
        Ok((0..MADE_UP).any(|_| {
            let figures = made_up(&mut rng);
            let held = of_one.holds_for(&scaled(figures, one));
            let holds = of_other.holds_for(&scaled(figures, other));
            matches!((held, holds), (Ok(held), Ok(holds)) if held != holds)
        }))
    }

    fn holds_for(&self, figures: &[f64; NAMES.len()]) -> Result<bool, ConditionError> {
        let mut environment = Environment::empty();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        environment.set_fuel(Some(FUEL));
        let names = NAMES.iter().zip(figures);
        let context: BTreeMap<&str, f64> = names.map(|(name, figure)| (*name, *figure)).collect();
        let value = environment
            .compile_expression(&self.plain)
            .and_then(|expression| expression.eval(context))
            .map_err(|error| self.wrong(&error))?;
        match value.kind() {
            ValueKind::Bool => Ok(value.is_true()),
            _ => Err(ConditionError::NoComparison(self.text.clone())),
        }
    }

    fn unreadable(&self, why: Unreadable) -> ConditionError {
        ConditionError::NoExpression {
            text: self.text.clone(),
            why,
        }
    }

    fn wrong(&self, error: &minijinja::Error) -> ConditionError {
        self.unreadable(Unreadable::Expression(error.to_string()))
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

/// Times from a nanosecond to hours, counts up to a million, of which half have no failure.
fn made_up(rng: &mut ChaCha8Rng) -> [f64; NAMES.len()] {
    let mut up_to = |digits: f64| 10.0_f64.powf(rng.random_range(0.0..digits));
    let mut figures = [1.0; NAMES.len()];
    figures[TIMES].fill_with(|| up_to(13.0));
    let operations = up_to(6.0).ceil();
    let failures = up_to(6.0).floor().min(operations);
    let failures = if rng.random_bool(0.5) { 0.0 } else { failures };
    figures[TIMES.end..].copy_from_slice(&[
        operations,
        failures,
        failures / operations,
        10.0_f64.powf(rng.random_range(0.0..6.0)),
    ]);
    figures
}

fn scaled(mut figures: [f64; NAMES.len()], scale: Scale) -> [f64; NAMES.len()] {
    for time in &mut figures[TIMES] {
        *time *= scale.time;
    }
    figures[SHARE] *= scale.share;
    figures
}

/// Numbers with units become numbers.
fn without_units(text: &str, scale: Scale) -> Result<String, ConditionError> {
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
            plain += &in_units(number, unit, scale)?;
            rest = after;
        } else {
            // A name may have digits in it.
            let end = if first.is_alphabetic() || first == '_' {
                rest.find(|c: char| !c.is_alphanumeric() && c != '_')
                    .unwrap_or(rest.len())
            } else {
                first.len_utf8()
            };
            let (word, after) = rest.split_at(end);
            plain += word;
            rest = after;
        }
    }
    Ok(plain)
}

fn in_units(number: &str, unit: &str, scale: Scale) -> Result<String, ConditionError> {
    let value: f64 = number
        .parse()
        .map_err(|_| ConditionError::NoNumber(number.to_owned()))?;
    let time = TIME_UNITS.iter().find(|(name, _)| *name == unit);
    match (unit, time) {
        ("", _) => Ok(number.to_owned()),
        ("%", _) => Ok(format!("{:?}", value * 0.01 * scale.share)),
        (_, Some((_, factor))) => Ok(format!("{:?}", value * factor * scale.time)),
        (_, None) => Err(ConditionError::NoUnit {
            number: number.to_owned(),
            unit: unit.to_owned(),
        }),
    }
}
