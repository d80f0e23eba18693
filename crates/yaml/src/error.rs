//! Errors of documents.

use std::fmt;

use serde::de::{self, Expected, Unexpected};

use crate::position::Position;

/// Most characters of a text that an error quotes.
const QUOTED: usize = 60;

/// A defect of a document. It is printed as `line 3, column 5: message`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{message}", position.map(|position| format!("line {}, column {}: ", position.line, position.column)).unwrap_or_default())]
pub struct YamlError {
    position: Option<Position>,
    message: String,
    /// True if it is about a key of the current mapping, not about the mapping.
    is_about_key: bool,
}

impl YamlError {
    pub(crate) fn new(position: Position, message: impl Into<String>) -> Self {
        YamlError {
            position: Some(position),
            message: message.into(),
            is_about_key: false,
        }
    }

    /// Sets the position, unless it has one: that of an inner node.
    pub(crate) fn at(mut self, position: Position) -> Self {
        self.position.get_or_insert(position);
        self
    }

    /// Sets the position if the error is about a key.
    pub(crate) fn at_key(self, position: Position) -> Self {
        if self.is_about_key {
            self.at(position)
        } else {
            self
        }
    }

    /// Position; `None` only if a type refuses a value made from a whole document.
    pub fn position(&self) -> Option<Position> {
        self.position
    }

    /// Message without the position.
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl de::Error for YamlError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        YamlError {
            position: None,
            message: message.to_string(),
            is_about_key: false,
        }
    }

    fn invalid_type(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        other_than(expected, found)
    }

    fn invalid_value(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        other_than(expected, found)
    }

    fn unknown_variant(variant: &str, expected: &'static [&'static str]) -> Self {
        unknown("name", variant, expected)
    }

    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Self {
        YamlError {
            is_about_key: true,
            ..unknown("field", field, expected)
        }
    }
}

/// A text of a document as quoted in a message.
pub(crate) fn quoted(text: &str) -> String {
    match text.char_indices().nth(QUOTED) {
        Some((end, _)) => format!("`{}...`", &text[..end]),
        None => format!("`{text}`"),
    }
}

fn unknown(what: &str, name: &str, expected: &[&str]) -> YamlError {
    let expected = match expected {
        [] => ", and there are none".to_owned(),
        [only] => format!(", expected {only}"),
        all => match nearest::meant(name, all.iter().copied()) {
            Some(meant) => format!("; did you mean `{meant}`?"),
            None => format!(", expected one of {}", all.join(", ")),
        },
    };
    de::Error::custom(format!("unknown {what} {}{expected}", quoted(name)))
}

/// An error about an unexpected value, in terms of documents.
pub(crate) fn other_than(expected: &dyn Expected, found: Unexpected<'_>) -> YamlError {
    let expected = match expected.to_string().as_str() {
        "i8" | "i16" | "i32" | "i64" | "isize" => "a whole number".to_owned(),
        "u8" => format!("a whole number up to {}", u8::MAX),
        "u16" => format!("a whole number up to {}", u16::MAX),
        "u32" => format!("a whole number up to {}", u32::MAX),
        "u64" | "usize" => "a whole number that is not negative".to_owned(),
        "f32" | "f64" => "a number".to_owned(),
        other => other.to_owned(),
    };
    let found = match found {
        Unexpected::Unit | Unexpected::Option => "nothing".to_owned(),
        Unexpected::Seq => "a list".to_owned(),
        Unexpected::Map => "keys with values".to_owned(),
        Unexpected::Bool(truth) => format!("`{truth}`"),
        Unexpected::Unsigned(number) => format!("`{number}`"),
        Unexpected::Signed(number) => format!("`{number}`"),
        Unexpected::Float(number) => format!("`{number}`"),
        Unexpected::Str(text) => quoted(text),
        other => other.to_string(),
    };
    de::Error::custom(format!("expected {expected}, found {found}"))
}
