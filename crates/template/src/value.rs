//! Values of expressions.

use std::collections::BTreeMap;
use std::fmt::{self, Debug, Write as _};
use std::rc::Rc;

use crate::TemplateError;
use crate::operators::TemplateOperator;

/// A value that is known only later. Clones take little memory, whatever its size.
pub trait Later: Clone + PartialEq + Debug {
    /// Name in messages.
    fn name(&self) -> String;

    /// Size in bytes.
    fn size(&self) -> usize;

    /// A whole number; `None` for one that cannot be combined with later values.
    fn constant(number: i64) -> Option<Self>;

    /// The result of an operation with both; `None` if there is none.
    fn apply(operator: TemplateOperator, left: &Self, right: &Self)
    -> Option<Result<Self, String>>;
}

/// For templates without later values.
#[derive(Debug, Clone, PartialEq)]
pub enum Never {}

impl Later for Never {
    fn name(&self) -> String {
        match *self {}
    }

    fn size(&self) -> usize {
        match *self {}
    }

    fn constant(_: i64) -> Option<Never> {
        None
    }

    fn apply(_: TemplateOperator, left: &Never, _: &Never) -> Option<Result<Never, String>> {
        match *left {}
    }
}

/// A part of a text.
#[derive(Debug, Clone, PartialEq)]
pub enum TextPart<L> {
    /// A known text.
    Text(String),
    /// A later value.
    Later(L),
}

/// A value.
#[derive(Debug, Clone, PartialEq)]
pub enum Value<L> {
    /// The value of an unknown name, which can only be tested.
    Missing {
        /// The name.
        name: Rc<str>,
        /// The name is that of a member, which may be tested for truth.
        is_member: bool,
    },
    /// `none`
    None,
    /// `true` or `false`
    Flag(bool),
    /// A whole number.
    Integer(i128),
    /// Any number.
    Real(f64),
    /// A text.
    Text(Rc<str>),
    /// Values in order.
    List(Rc<Vec<Value<L>>>),
    /// Values by their names.
    Map(Rc<BTreeMap<String, Value<L>>>),
    /// The same with a name, which represents it as text.
    Named(Rc<str>, Rc<BTreeMap<String, Value<L>>>),
    /// A number or a truth value, and its notation, which is inserted.
    Written(Rc<str>, Rc<Value<L>>),
    /// A value that is known only later.
    Later(L),
    /// A text with parts that are known only later.
    Parts(Rc<Vec<TextPart<L>>>),
}

impl<L> From<&str> for Value<L> {
    fn from(text: &str) -> Value<L> {
        Value::Text(text.into())
    }
}

impl<L> From<String> for Value<L> {
    fn from(text: String) -> Value<L> {
        Value::Text(text.into())
    }
}

impl<L: Later> Value<L> {
    /// `loop` in one of `rounds` iterations.
    pub(crate) fn position(index: usize, rounds: usize) -> Value<L> {
        let number = |number: usize| Value::Integer(number as i128);
        let members = [
            ("index", number(index + 1)),
            ("index0", number(index)),
            ("first", Value::Flag(index == 0)),
            ("last", Value::Flag(index + 1 == rounds)),
            ("length", number(rounds)),
        ];
        let members = members.map(|(name, value)| (name.to_owned(), value));
        Value::Map(Rc::new(BTreeMap::from(members)))
    }

    /// The value without its notation.
    pub(crate) fn bare(&self) -> &Value<L> {
        match self {
            Value::Written(_, value) => value,
            other => other,
        }
    }

    /// Kind of the value, for messages.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Value::Written(_, value) => value.kind(),
            Value::Missing { .. } => "nothing",
            Value::None => "none",
            Value::Flag(_) => "a truth value",
            Value::Integer(_) | Value::Real(_) => "a number",
            Value::Text(_) | Value::Named(..) => "a text",
            Value::List(_) => "a list",
            Value::Map(_) => "a map",
            Value::Later(_) | Value::Parts(_) => "a value that is known later",
        }
    }

    /// As a whole number; truth values are 0 and 1; `None` for anything else.
    pub(crate) fn integer(&self) -> Option<i128> {
        match self.bare() {
            Value::Flag(flag) => Some(i128::from(*flag)),
            Value::Integer(number) => Some(*number),
            _ => None,
        }
    }

    /// As a number; `None` for anything else.
    pub(crate) fn real(&self) -> Option<f64> {
        match self.bare() {
            Value::Real(number) => Some(*number),
            _ => self.integer().map(|number| number as f64),
        }
    }

    pub(crate) fn text(&self) -> Option<&str> {
        match self {
            Value::Text(text) | Value::Named(text, _) => Some(text),
            _ => None,
        }
    }

    /// The members of a map, or of a named value.
    pub(crate) fn members(&self) -> Option<&BTreeMap<String, Value<L>>> {
        match self {
            Value::Map(members) | Value::Named(_, members) => Some(members),
            _ => None,
        }
    }

    /// The first later value in it, including within lists and maps.
    pub(crate) fn later(&self) -> Option<&L> {
        match self {
            Value::Later(later) => Some(later),
            Value::Parts(parts) => parts.iter().find_map(|part| match part {
                TextPart::Later(later) => Some(later),
                TextPart::Text(_) => None,
            }),
            Value::List(items) => items.iter().find_map(Value::later),
            Value::Map(members) => members.values().find_map(Value::later),
            _ => None,
        }
    }
}

/// The text that is inserted. Within lists and maps, texts have quotes.
impl<L: Later> fmt::Display for Value<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Missing { .. } => Ok(()),
            Value::None => f.write_str("none"),
            Value::Flag(flag) => write!(f, "{flag}"),
            Value::Integer(number) => write!(f, "{number}"),
            // Very large and very small numbers have an exponent.
            Value::Real(number) => write!(f, "{number:?}"),
            Value::Text(text) | Value::Named(text, _) | Value::Written(text, _) => {
                f.write_str(text)
            }
            Value::List(items) => {
                f.write_char('[')?;
                for (index, item) in items.iter().enumerate() {
                    f.write_str(if index > 0 { ", " } else { "" })?;
                    item.within(f)?;
                }
                f.write_char(']')
            }
            Value::Map(members) => {
                f.write_char('{')?;
                for (index, (name, value)) in members.iter().enumerate() {
                    f.write_str(if index > 0 { ", " } else { "" })?;
                    write!(f, "{name:?}: ")?;
                    value.within(f)?;
                }
                f.write_char('}')
            }
            Value::Later(later) => f.write_str(&later.name()),
            Value::Parts(parts) => parts.iter().try_for_each(|part| match part {
                TextPart::Text(text) => f.write_str(text),
                TextPart::Later(later) => f.write_str(&later.name()),
            }),
        }
    }
}

impl<L: Later> Value<L> {
    fn within(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.text() {
            Some(text) => write!(f, "{text:?}"),
            None => write!(f, "{self}"),
        }
    }
}

/// Refuses the value of an unknown name.
pub(crate) fn known<L>(value: Value<L>) -> Result<Value<L>, TemplateError> {
    match value {
        Value::Missing { name, .. } => Err(TemplateError::Unknown((*name).to_owned())),
        value => Ok(value),
    }
}

/// True if a value counts as true: empty and zero do not, nor does a missing member.
pub(crate) fn truth<L: Later>(value: &Value<L>) -> Result<bool, TemplateError> {
    Ok(match value.bare() {
        Value::Missing {
            is_member: true, ..
        }
        | Value::None => false,
        Value::Missing { name, .. } => return Err(TemplateError::Unknown((**name).to_owned())),
        Value::Flag(flag) => *flag,
        Value::Integer(number) => *number != 0,
        Value::Real(number) => *number != 0.0,
        Value::Text(text) => !text.is_empty(),
        Value::List(items) => !items.is_empty(),
        Value::Map(members) => !members.is_empty(),
        Value::Named(..) | Value::Written(..) => true,
        Value::Later(_) | Value::Parts(_) => return Err(later_of([value])),
    })
}

/// The beginning of a text, for a message.
pub(crate) fn shortened(text: &str) -> String {
    match text.char_indices().nth(40) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

/// Refuses infinite and undefined results.
pub(crate) fn finite<L>(number: f64) -> Result<Value<L>, TemplateError> {
    if number.is_finite() {
        Ok(Value::Real(number))
    } else {
        Err(too_large())
    }
}

pub(crate) fn too_large() -> TemplateError {
    unfit("a number is too large")
}

pub(crate) fn unfit(message: impl Into<String>) -> TemplateError {
    TemplateError::Unfit(message.into())
}

/// Refuses later values.
pub(crate) fn known_now<'v, L: Later + 'v>(
    values: impl IntoIterator<Item = &'v Value<L>>,
) -> Result<(), TemplateError> {
    match values.into_iter().find_map(Value::later) {
        Some(later) => Err(TemplateError::Later(later.name())),
        None => Ok(()),
    }
}

/// The error of values that do not fit, or that are known only later.
pub(crate) fn unfit_or_later<'v, L: Later + 'v>(
    values: impl IntoIterator<Item = &'v Value<L>>,
    message: impl FnOnce() -> String,
) -> TemplateError {
    known_now(values).err().unwrap_or_else(|| unfit(message()))
}

/// The error of an operation that needs one of these later values.
pub(crate) fn later_of<'v, L: Later + 'v>(
    values: impl IntoIterator<Item = &'v Value<L>>,
) -> TemplateError {
    let mut later = values.into_iter().filter_map(Value::later);
    TemplateError::Later(later.next().map_or_else(String::new, Later::name))
}
