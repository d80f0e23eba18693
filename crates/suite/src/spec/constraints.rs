//! Constraints as written: `fast: p99(Get) < 5 ms`, or with keys.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use serde::de::{self, Deserializer, MapAccess, Visitor};

use super::Located;
use crate::error::SuiteError;

/// A constraint: its expression, or `{expression: ..., abort: true}`.
#[derive(Debug, Clone, PartialEq)]
pub struct ConstraintSpec {
    /// The expression, which must be true.
    pub expression: Located<String>,
    /// The run ends when it cannot become true any more.
    pub abort: bool,
}

enum WrittenConstraint {
    Expression(String),
    Keys {
        expression: Located<String>,
        abort: bool,
    },
}

impl<'de> Deserialize<'de> for ConstraintSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Located { value, position } = Located::<WrittenConstraint>::deserialize(deserializer)?;
        Ok(match value {
            WrittenConstraint::Expression(value) => ConstraintSpec {
                expression: Located { value, position },
                abort: false,
            },
            WrittenConstraint::Keys { expression, abort } => ConstraintSpec { expression, abort },
        })
    }
}

impl<'de> Deserialize<'de> for WrittenConstraint {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ConstraintVisitor)
    }
}

struct ConstraintVisitor;

impl<'de> Visitor<'de> for ConstraintVisitor {
    type Value = WrittenConstraint;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an expression, for example `p99(Get) < 5 ms`")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<WrittenConstraint, E> {
        Ok(WrittenConstraint::Expression(text.to_owned()))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<WrittenConstraint, A::Error> {
        let (mut expression, mut abort) = (None, false);
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "expression" => expression = Some(map.next_value()?),
                "abort" => abort = map.next_value()?,
                other => return Err(de::Error::unknown_field(other, &["expression", "abort"])),
            }
        }
        let expression = expression.ok_or_else(|| de::Error::missing_field("expression"))?;
        Ok(WrittenConstraint::Keys { expression, abort })
    }
}

/// Parses the constraints of a file, and ignores the rest.
pub(crate) fn constraints(
    name: &str,
    text: &str,
) -> Result<BTreeMap<String, ConstraintSpec>, SuiteError> {
    #[derive(Deserialize)]
    struct ConstraintsOnly {
        #[serde(default)]
        constraints: BTreeMap<String, ConstraintSpec>,
    }
    let read: ConstraintsOnly = super::parse(name, text)?;
    Ok(read.constraints)
}
