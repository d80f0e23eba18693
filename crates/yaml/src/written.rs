//! Values that keep their notation.

use std::collections::BTreeMap;
use std::fmt::{self, Write};

use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, Serializer};

use crate::scalar::PlainScalar;

/// Name of a newtype by which a value requests its notation from the reader of this crate: no Rust
/// type can have this name.
pub(crate) const WRITTEN: &str = "a value as it is written";

/// The only key of a map that represents a plain scalar in formats that would change it: `1.10`,
/// `1e3`.
const AS_WRITTEN: &str = "as written";

/// A value of any type. A plain scalar has a type by the core schema of YAML 1.2, and its notation.
#[derive(Debug, Clone)]
pub enum WrittenValue {
    /// A text, a number, a truth value or `null`.
    Scalar {
        /// Its characters.
        text: String,
        /// Neither quoted nor a block, so that it may be more than a text.
        is_plain: bool,
    },
    /// Values in order.
    List(Vec<WrittenValue>),
    /// Values by their names.
    Map(BTreeMap<String, WrittenValue>),
}

impl WrittenValue {
    /// A plain scalar.
    pub fn plain(text: impl Into<String>) -> WrittenValue {
        WrittenValue::Scalar {
            text: text.into(),
            is_plain: true,
        }
    }

    /// A text, regardless of its characters.
    pub fn quoted(text: impl Into<String>) -> WrittenValue {
        WrittenValue::Scalar {
            text: text.into(),
            is_plain: false,
        }
    }

    /// Type and characters of a scalar; `None` for a list or a map. A whole number may be written
    /// as `1e3`.
    pub fn scalar(&self) -> Option<(PlainScalar, &str)> {
        match self {
            WrittenValue::Scalar { text, is_plain } => {
                let is = if *is_plain {
                    PlainScalar::of(text).as_whole()
                } else {
                    PlainScalar::Text
                };
                Some((is, text))
            }
            WrittenValue::List(_) | WrittenValue::Map(_) => None,
        }
    }
}

/// Compares types and characters; texts are equal with and without quotes.
impl PartialEq for WrittenValue {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (WrittenValue::List(items), WrittenValue::List(others)) => items == others,
            (WrittenValue::Map(members), WrittenValue::Map(others)) => members == others,
            _ => self
                .scalar()
                .is_some_and(|scalar| other.scalar() == Some(scalar)),
        }
    }
}

/// JSON, except for numbers, which keep their notation.
impl fmt::Display for WrittenValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WrittenValue::Scalar { text, .. } => match self.scalar() {
                Some((PlainScalar::Text, _)) => write!(f, "{}", json_text(text)),
                _ => f.write_str(text),
            },
            WrittenValue::List(items) => {
                f.write_char('[')?;
                for (index, item) in items.iter().enumerate() {
                    f.write_str(if index > 0 { "," } else { "" })?;
                    item.fmt(f)?;
                }
                f.write_char(']')
            }
            WrittenValue::Map(members) => {
                f.write_char('{')?;
                for (index, (name, value)) in members.iter().enumerate() {
                    f.write_str(if index > 0 { "," } else { "" })?;
                    write!(f, "{}:{value}", json_text(name))?;
                }
                f.write_char('}')
            }
        }
    }
}

fn json_text(text: &str) -> serde_json::Value {
    text.into()
}

impl<'de> Deserialize<'de> for WrittenValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_newtype_struct(WRITTEN, WrittenVisitor)
    }
}

struct WrittenVisitor;

impl<'de> Visitor<'de> for WrittenVisitor {
    type Value = WrittenValue;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    /// Called by readers other than that of this crate.
    fn visit_newtype_struct<D: Deserializer<'de>>(self, value: D) -> Result<Self::Value, D::Error> {
        let value = value.deserialize_any(self)?;
        let written = match &value {
            WrittenValue::Map(members) if members.len() == 1 => members.get(AS_WRITTEN),
            _ => None,
        };
        Ok(match written {
            Some(WrittenValue::Scalar { text, .. }) => WrittenValue::plain(text),
            _ => value,
        })
    }

    /// The characters of a plain scalar, from the reader of this crate.
    fn visit_bytes<E: de::Error>(self, text: &[u8]) -> Result<WrittenValue, E> {
        let text = std::str::from_utf8(text).map_err(E::custom)?;
        Ok(WrittenValue::plain(text))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<WrittenValue, E> {
        Ok(WrittenValue::quoted(text))
    }

    fn visit_unit<E: de::Error>(self) -> Result<WrittenValue, E> {
        Ok(WrittenValue::plain("null"))
    }

    fn visit_bool<E: de::Error>(self, truth: bool) -> Result<WrittenValue, E> {
        Ok(WrittenValue::plain(truth.to_string()))
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<WrittenValue, E> {
        Ok(WrittenValue::plain(number.to_string()))
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<WrittenValue, E> {
        Ok(WrittenValue::plain(number.to_string()))
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<WrittenValue, E> {
        Ok(WrittenValue::plain(format!("{number:?}")))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<WrittenValue, A::Error> {
        let mut found = Vec::new();
        while let Some(item) = items.next_element()? {
            found.push(item);
        }
        Ok(WrittenValue::List(found))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<WrittenValue, A::Error> {
        let mut found = BTreeMap::new();
        while let Some((name, value)) = members.next_entry()? {
            found.insert(name, value);
        }
        Ok(WrittenValue::Map(found))
    }
}

/// The value, unless that loses its notation; [`Deserialize`] takes both.
impl Serialize for WrittenValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            WrittenValue::List(items) => items.serialize(serializer),
            WrittenValue::Map(members) => members.serialize(serializer),
            WrittenValue::Scalar {
                text,
                is_plain: false,
            } => serializer.serialize_str(text),
            WrittenValue::Scalar { text, .. } => match PlainScalar::of(text) {
                PlainScalar::Null => serializer.serialize_unit(),
                PlainScalar::Text => serializer.serialize_str(text),
                PlainScalar::Truth(truth) if *text == truth.to_string() => {
                    serializer.serialize_bool(truth)
                }
                PlainScalar::Natural(number) if *text == number.to_string() => {
                    serializer.serialize_u64(number)
                }
                PlainScalar::Negative(number) if *text == number.to_string() => {
                    serializer.serialize_i64(number)
                }
                PlainScalar::Real(number) if *text == format!("{number:?}") => {
                    serializer.serialize_f64(number)
                }
                _ => {
                    let mut written = serializer.serialize_map(Some(1))?;
                    written.serialize_entry(AS_WRITTEN, text)?;
                    written.end()
                }
            },
        }
    }
}
