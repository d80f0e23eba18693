//! Values with their position in the file.

use std::fmt;

use serde::de::{self, Deserializer, Visitor};
use serde::{Deserialize, Serialize, Serializer};
pub use yaml::Position;

/// A value of the suite file with its [`Position`].
#[derive(Debug, Clone)]
pub struct Located<T> {
    /// Value.
    pub value: T,
    /// Position.
    pub position: Position,
}

impl<T: PartialEq> PartialEq for Located<T> {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Located<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (value, position) = yaml::located(deserializer)?;
        Ok(Located { value, position })
    }
}

impl<T: Serialize> Serialize for Located<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.value.serialize(serializer)
    }
}

/// A number or a text that may contain `{{ }}`: `10`, `infinity`, `"{{ width }}"`. The notation is
/// kept: `1.10` is unchanged in a path or a header, and is a number only where one is expected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Scalar(pub String);

impl<'de> Deserialize<'de> for Scalar {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(ScalarVisitor)
    }
}

struct ScalarVisitor;

impl Visitor<'_> for ScalarVisitor {
    type Value = Scalar;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number or a text (a template needs quotes: \"{{ width }}\")")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Scalar, E> {
        Ok(Scalar(text.to_owned()))
    }

    fn visit_unit<E: de::Error>(self) -> Result<Scalar, E> {
        Err(E::custom(
            "a value is missing here; the empty text is written as `\"\"`",
        ))
    }
}

/// An optional text for which `null` is four characters, not absence.
pub(crate) fn written<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}
