//! Filters, tests and functions.

use std::cmp::Ordering;

use crate::TemplateError;
use crate::evaluate::{Arguments, TemplateEvaluation};
use crate::operators::{TemplateOperator, is_equal, order};
use crate::value::{
    Later, Value, finite, known, known_now, too_large, truth, unfit, unfit_or_later,
};

/// Filters: names, names of arguments, and results.
pub const FILTERS: [(&str, &[&str], &str); 26] = [
    ("abs", &[], "the number without its sign"),
    ("capitalize", &[], "the text, its first letter a capital"),
    ("count", &[], "how many items, letters or members there are"),
    ("d", &["value", "boolean"], "as `default`"),
    (
        "default",
        &["value", "boolean"],
        "the value, or this one where there is none; with `true`, also where it is empty or zero",
    ),
    ("e", &[], "as `escape`"),
    ("escape", &[], "the text for XML and HTML"),
    ("first", &[], "the first item or letter"),
    ("float", &["default"], "the number with a fraction"),
    ("int", &["default"], "the number without its fraction"),
    ("join", &["separator"], "the items as one text"),
    ("last", &[], "the last item or letter"),
    ("length", &[], "as `count`"),
    ("list", &[], "the letters of a text, the names of a map"),
    ("lower", &[], "the text in small letters"),
    ("max", &[], "the largest item"),
    ("min", &[], "the smallest item"),
    (
        "replace",
        &["old", "new"],
        "the text with another one in the place of each of these",
    ),
    ("reverse", &[], "the items or letters from the last on"),
    ("round", &["precision"], "the number with so many digits"),
    ("sort", &[], "the items in order"),
    (
        "split",
        &["separator"],
        "the parts of the text, between blanks where no separator is given",
    ),
    ("string", &[], "the value as a text"),
    ("sum", &[], "the items added"),
    ("trim", &[], "the text without blanks around it"),
    ("upper", &[], "the text in capitals"),
];

/// Tests: names, names of arguments, and meaning.
pub const TESTS: [(&str, &[&str], &str); 8] = [
    ("defined", &[], "there is a value"),
    (
        "divisibleby",
        &["number"],
        "it can be divided by the number",
    ),
    ("even", &[], "it is a number that can be divided by two"),
    ("none", &[], "it is `none`"),
    ("number", &[], "it is a number"),
    ("odd", &[], "it is a number that cannot be divided by two"),
    ("string", &[], "it is a text"),
    ("undefined", &[], "there is no value"),
];

/// Functions: names, names of arguments, and results.
pub const FUNCTIONS: [(&str, &[&str], &str); 1] = [(
    "range",
    &["start", "stop", "step"],
    "the whole numbers from `start`, or 0, to before `stop`",
)];

type Found<L> = Result<Value<L>, TemplateError>;

/// Digits before or after the point beyond which rounding changes nothing.
const MOST_DIGITS: i128 = 324;

/// The values of arguments, in the order of their names.
fn arguments<L, const COUNT: usize>(
    (kind, name): (&str, &str),
    all: &[(&str, &[&str], &str)],
    given: Arguments<L>,
) -> Result<[Option<Value<L>>; COUNT], TemplateError> {
    let known = all.iter().find(|(filter, ..)| *filter == name);
    let Some((_, names, _)) = known else {
        let hint = nearest::hint(name, all.iter().map(|(name, ..)| *name), "there are");
        return Err(unfit(format!("there is no {kind} `{name}`; {hint}")));
    };
    let mut found = [const { None }; COUNT];
    for (index, (given_name, value)) in given.into_iter().enumerate() {
        let index = match &given_name {
            None => Some(index),
            Some(given) => names.iter().position(|name| name == given),
        };
        let argument = index.and_then(|index| names.get(index).zip(found.get_mut(index)));
        match argument {
            Some((_, found @ None)) => *found = Some(value),
            Some((argument, _)) => {
                return Err(unfit(format!("`{name}` is given `{argument}` twice")));
            }
            None => {
                let names = match names {
                    [] => "none".to_owned(),
                    names => names.join(", "),
                };
                return Err(unfit(format!("the arguments of `{name}` are {names}")));
            }
        }
    }
    Ok(found)
}

pub(crate) fn filter<L: Later>(
    evaluation: &mut TemplateEvaluation<'_, L>,
    name: &str,
    value: Value<L>,
    given: Arguments<L>,
) -> Found<L> {
    let [first, second] = arguments(("filter", name), &FILTERS, given)?;
    if ["default", "d"].contains(&name) {
        let counts_empty = second.as_ref().map_or(Ok(false), truth)?;
        let is_there = !matches!(value, Value::Missing { .. }) && (!counts_empty || truth(&value)?);
        return Ok(if is_there {
            value
        } else {
            first.unwrap_or("".into())
        });
    }
    let value = known(value)?;
    evaluation.weighs(&value)?;
    let arguments = [first.as_ref(), second.as_ref()];
    known_now(arguments.into_iter().flatten())?;
    match name {
        "count" | "length" => {
            let count = evaluation.listed(&value)?.len();
            Ok(Value::Integer(count as i128))
        }
        "abs" | "float" | "int" | "round" => number_filter(
            evaluation,
            name,
            value.bare(),
            arguments[0].map(Value::bare),
        ),
        "capitalize" | "e" | "escape" | "lower" | "replace" | "split" | "string" | "trim"
        | "upper" => text_filter(evaluation, name, &value, arguments),
        _ => list_filter(evaluation, name, &value, arguments[0]),
    }
}

/// Filters of numbers.
fn number_filter<L: Later>(
    evaluation: &TemplateEvaluation<'_, L>,
    name: &str,
    value: &Value<L>,
    argument: Option<&Value<L>>,
) -> Found<L> {
    let no_number = || evaluation.no_use("a number in", value);
    let read = |text: &str| -> Option<Value<L>> {
        // First as a whole number.
        let whole = text.trim().parse().ok().map(Value::Integer);
        whole.or_else(|| finite(text.trim().parse().ok()?).ok())
    };
    match name {
        "int" | "float" => {
            let number = match (value.text(), value.integer()) {
                (Some(text), _) => read(text),
                (None, Some(number)) => Some(Value::Integer(number)),
                (None, None) => value.real().map(Value::Real),
            };
            let found = match (name, number) {
                ("float", Some(number)) => number.real().map(Value::Real),
                (_, Some(Value::Real(number))) if number.abs() < 1e38 => {
                    Some(Value::Integer(number as i128))
                }
                (_, Some(Value::Integer(number))) => Some(Value::Integer(number)),
                _ => None,
            };
            found.or(argument.cloned()).ok_or_else(no_number)
        }
        "abs" => match value {
            Value::Integer(number) => {
                let number = number.checked_abs().ok_or_else(too_large)?;
                Ok(Value::Integer(number))
            }
            Value::Real(number) => Ok(Value::Real(number.abs())),
            _ => Err(no_number()),
        },
        _ => match (value, argument.unwrap_or(&Value::Integer(0))) {
            (Value::Real(number), Value::Integer(digits)) => finite(rounded(*number, *digits)),
            (Value::Integer(number), Value::Integer(digits)) => {
                let number = rounded_integer(*number, *digits).ok_or_else(too_large)?;
                Ok(Value::Integer(number))
            }
            (Value::Real(_) | Value::Integer(_), _) => {
                Err(unfit("the precision of `round` is a whole number"))
            }
            _ => Err(no_number()),
        },
    }
}

/// Rounds to `digits` digits after the point; negative: before it. A half is rounded to even.
fn rounded(number: f64, digits: i128) -> f64 {
    let digits = digits.clamp(-MOST_DIGITS, MOST_DIGITS) as i32;
    match usize::try_from(digits) {
        // Multiplying might round twice, or overflow.
        Ok(digits) => format!("{number:.digits$}").parse().unwrap_or(number),
        Err(_) => match 10_f64.powi(-digits) {
            f64::INFINITY => 0.0,
            scale => (number / scale).round_ties_even() * scale,
        },
    }
}

/// The same for a whole number; `None` if it is too large.
fn rounded_integer(number: i128, digits: i128) -> Option<i128> {
    if digits >= 0 {
        return Some(number);
    }
    let digits = u32::try_from(digits.unsigned_abs()).unwrap_or(u32::MAX);
    let Some(scale) = 10_i128.checked_pow(digits) else {
        return Some(0);
    };
    let (below, rest) = (number.div_euclid(scale), number.rem_euclid(scale));
    let is_up = match rest.cmp(&(scale - rest)) {
        Ordering::Equal => below % 2 != 0,
        order => order.is_gt(),
    };
    (below + i128::from(is_up)).checked_mul(scale)
}

/// Filters of texts; a number is its digits.
fn text_filter<L: Later>(
    evaluation: &mut TemplateEvaluation<'_, L>,
    name: &str,
    value: &Value<L>,
    arguments: [Option<&Value<L>>; 2],
) -> Found<L> {
    let text = evaluation.shown(value)?;
    match name {
        "capitalize" => {
            let mut letters = text.chars();
            let first = letters.next().into_iter();
            let first: String = first.flat_map(char::to_uppercase).collect();
            evaluation.made(first + &letters.as_str().to_lowercase())
        }
        "e" | "escape" => escaped(evaluation, &text),
        "lower" => evaluation.made(text.to_lowercase()),
        "replace" => replaced(evaluation, &text, arguments),
        "split" => split(evaluation, &text, arguments[0]),
        "string" => Ok(text.into()),
        "trim" => evaluation.made(text.trim().to_owned()),
        _ => evaluation.made(text.to_uppercase()),
    }
}

fn split<L: Later>(
    evaluation: &mut TemplateEvaluation<'_, L>,
    text: &str,
    separator: Option<&Value<L>>,
) -> Found<L> {
    let separator = separator.map(Value::text);
    let parts: Box<dyn Iterator<Item = &str>> = match separator {
        None => Box::new(text.split_whitespace()),
        Some(Some(separator)) if !separator.is_empty() => Box::new(text.split(separator)),
        Some(_) => return Err(unfit("the separator of `split` is a text")),
    };
    let mut items = Vec::new();
    for part in parts {
        evaluation.texts_come(1, part.len())?;
        items.push(part.into());
    }
    evaluation.list(items)
}

fn escaped<L: Later>(evaluation: &mut TemplateEvaluation<'_, L>, text: &str) -> Found<L> {
    let mut escaped = String::new();
    for letter in text.chars() {
        let mut bytes = [0; 4];
        let written = match letter {
            '&' => "&amp;",
            '<' => "&lt;",
            '>' => "&gt;",
            '"' => "&quot;",
            '\'' => "&#39;",
            other => other.encode_utf8(&mut bytes),
        };
        evaluation.bytes(written.len())?;
        escaped.push_str(written);
    }
    Ok(escaped.into())
}

fn replaced<L: Later>(
    evaluation: &mut TemplateEvaluation<'_, L>,
    text: &str,
    arguments: [Option<&Value<L>>; 2],
) -> Found<L> {
    let [Some(old), Some(new)] = arguments.map(|argument| argument.and_then(Value::text)) else {
        return Err(unfit("`replace` needs two texts: the old and the new one"));
    };
    // Before memory is allocated.
    let grows = text.matches(old).count().saturating_mul(new.len());
    evaluation.bytes(text.len().saturating_add(grows))?;
    Ok(text.replace(old, new).into())
}

/// Filters of lists.
fn list_filter<L: Later>(
    evaluation: &mut TemplateEvaluation<'_, L>,
    name: &str,
    value: &Value<L>,
    argument: Option<&Value<L>>,
) -> Found<L> {
    let mut items = evaluation.listed(value)?;
    let extreme = |items: &[Value<L>], takes: fn(Ordering) -> bool| {
        let mut best: Option<&Value<L>> = None;
        for item in items {
            let order = best.map(|best| order(item, best).ok_or_else(|| unordered(best, item)));
            if order.transpose()?.is_none_or(takes) {
                best = Some(item);
            }
        }
        best.cloned()
            .ok_or_else(|| unfit(format!("`{name}` of nothing")))
    };
    match name {
        "first" => items
            .into_iter()
            .next()
            .ok_or_else(|| unfit("`first` of nothing")),
        "last" => items.pop().ok_or_else(|| unfit("`last` of nothing")),
        "max" => extreme(&items, Ordering::is_gt),
        "min" => extreme(&items, Ordering::is_lt),
        "list" => evaluation.list(items),
        "reverse" => {
            items.reverse();
            match value.text() {
                Some(text) => evaluation.made(text.chars().rev().collect()),
                None => evaluation.list(items),
            }
        }
        "sort" => {
            for pair in items.windows(2) {
                order(&pair[0], &pair[1]).ok_or_else(|| unordered(&pair[0], &pair[1]))?;
            }
            items.sort_by(|a, b| order(a, b).unwrap_or(Ordering::Equal));
            evaluation.list(items)
        }
        "sum" => items.iter().try_fold(Value::Integer(0), |sum, item| {
            let sum = TemplateOperator::Add.apply_to_numbers(&sum, item);
            sum.unwrap_or_else(|| Err(evaluation.no_use("a number in", item)))
        }),
        // Unknown names were refused before.
        _ => {
            let separator = argument.map_or(Ok(""), |evaluation| {
                evaluation
                    .text()
                    .ok_or_else(|| unfit("the separator of `join` is a text"))
            })?;
            let mut text = String::new();
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    evaluation.bytes(separator.len())?;
                    text.push_str(separator);
                }
                text.push_str(&evaluation.shown(item)?);
            }
            Ok(text.into())
        }
    }
}

fn unordered<L: Later>(one: &Value<L>, other: &Value<L>) -> TemplateError {
    unfit_or_later([one, other], || {
        format!("{} and {} have no order", one.kind(), other.kind())
    })
}

pub(crate) fn test<L: Later>(
    evaluation: &mut TemplateEvaluation<'_, L>,
    name: &str,
    value: Value<L>,
    given: Arguments<L>,
) -> Result<bool, TemplateError> {
    let [argument] = arguments(("test", name), &TESTS, given)?;
    let is_missing = matches!(value, Value::Missing { .. });
    match name {
        "defined" => return Ok(!is_missing),
        "undefined" => return Ok(is_missing),
        _ => {}
    }
    let value = known(value)?;
    evaluation.weighs(&value)?;
    known_now([Some(&value), argument.as_ref()].into_iter().flatten())?;
    let divided = |by: &Value<L>| {
        let rest = TemplateOperator::Remainder.apply_to_numbers(&value, by);
        let rest = rest.unwrap_or_else(|| Err(evaluation.no_use("a number in", &value)));
        rest.map(|rest| is_equal(&rest, &Value::Integer(0)))
    };
    match (name, &argument) {
        ("divisibleby", Some(number)) => divided(number),
        ("divisibleby", None) => Err(unfit("`divisibleby` needs a number")),
        ("even", _) => divided(&Value::Integer(2)),
        ("odd", _) => divided(&Value::Integer(2)).map(|is_even| !is_even),
        ("number", _) => Ok(value.real().is_some()),
        ("string", _) => Ok(value.text().is_some()),
        _ => Ok(value == Value::None),
    }
}

pub(crate) fn function<L: Later>(
    evaluation: &mut TemplateEvaluation<'_, L>,
    name: &str,
    given: Arguments<L>,
) -> Found<L> {
    let found = arguments(("function", name), &FUNCTIONS, given)?;
    let whole = |value: Option<Value<L>>| match value.as_ref().map(Value::bare) {
        None => Ok(None),
        Some(Value::Integer(number)) => Ok(Some(*number)),
        Some(other) => Err(evaluation.no_use("a whole number in", other)),
    };
    let [start, stop, step] = found.map(whole);
    let (start, stop, step) = (start?, stop?, step?.unwrap_or(1));
    let (start, stop) = match (start, stop) {
        (Some(start), Some(stop)) => (start, stop),
        (Some(stop), None) => (0, stop),
        (None, stop) => (
            0,
            stop.ok_or_else(|| unfit("`range` needs a whole number"))?,
        ),
    };
    if step == 0 {
        return Err(unfit("the step of `range` is not 0"));
    }
    let mut numbers = Vec::new();
    let mut number = start;
    while (step > 0 && number < stop) || (step < 0 && number > stop) {
        evaluation.items_come(1)?;
        numbers.push(Value::Integer(number));
        number = number.saturating_add(step);
    }
    evaluation.list(numbers)
}
