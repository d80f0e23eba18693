//! Values of fields.

use std::collections::BTreeMap;

use record::{
    AdaptRecord, AddressChoice, Clock, ConstraintSense, Exhausted, LeftBehind, Machine, NoteRecord,
    Pace, SuiteRecord, TimeUnit, Verify,
};
use schemars::JsonSchema;
#[cfg(feature = "schema")]
use schemars::{Schema, SchemaGenerator};
use serde::{Serialize, Serializer};
use stats::{Conclusion, Status};

use super::{SheetCell, SheetColumn};
use crate::json::SeedJson;

pub(crate) trait FieldValue {
    /// The type with its schema.
    type Json: JsonSchema;
    /// Fields with such values may be absent.
    #[cfg(feature = "schema")]
    const IS_OPTIONAL: bool = false;

    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error>;

    /// The field is not written.
    fn is_absent(&self) -> bool {
        false
    }

    /// Null, false, or an empty list.
    fn is_nothing(&self) -> bool {
        false
    }

    fn cells(value: Option<&Self>, column: SheetColumn) -> Vec<SheetCell> {
        let text = value.map_or_else(String::new, cell);
        vec![SheetCell { column, text }]
    }
}

fn cell(value: &(impl FieldValue + ?Sized)) -> String {
    use serde_json::Value;
    match serde_json::to_value(AsJson(value)) {
        Ok(Value::String(text)) => crate::csv::cell(&text),
        // Without `.0` behind whole numbers.
        Ok(Value::Number(number)) if number.is_f64() => {
            number.as_f64().unwrap_or_default().to_string()
        }
        Ok(value @ (Value::Number(_) | Value::Bool(_))) => value.to_string(),
        _ => String::new(),
    }
}

/// A value for types that write themselves.
pub(crate) struct AsJson<V>(pub(crate) V);

impl<V: FieldValue> Serialize for AsJson<V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.write(serializer)
    }
}

/// A value for each item.
pub(crate) fn each<T, V>(items: impl IntoIterator<Item = T>, value: impl Fn(T) -> V) -> Vec<V> {
    items.into_iter().map(value).collect()
}

/// Values of types that write themselves.
macro_rules! plain {
    ($($of:ty),+ $(,)?) => {
        $(impl $crate::fields::FieldValue for $of {
            type Json = $of;

            fn write<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serde::Serialize::serialize(self, serializer)
            }
        })+
    };
}
pub(crate) use plain;

plain!(SeedJson, u64, u32, u16, u8, i64, usize, f64, String);
plain!(
    AdaptRecord,
    AddressChoice,
    Clock,
    Conclusion,
    ConstraintSense,
    Exhausted,
    LeftBehind,
    Machine,
    NoteRecord,
    Pace,
    Status,
    SuiteRecord,
    TimeUnit,
    Verify,
);

impl FieldValue for bool {
    type Json = bool;

    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.serialize(serializer)
    }

    fn is_nothing(&self) -> bool {
        !self
    }
}

impl FieldValue for str {
    type Json = String;

    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.serialize(serializer)
    }
}

impl<V: FieldValue + ?Sized> FieldValue for &V {
    type Json = V::Json;
    #[cfg(feature = "schema")]
    const IS_OPTIONAL: bool = V::IS_OPTIONAL;

    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        V::write(self, serializer)
    }

    fn is_absent(&self) -> bool {
        V::is_absent(self)
    }

    fn is_nothing(&self) -> bool {
        V::is_nothing(self)
    }

    fn cells(value: Option<&Self>, column: SheetColumn) -> Vec<SheetCell> {
        V::cells(value.copied(), column)
    }
}

impl<V: FieldValue> FieldValue for Option<V> {
    type Json = Option<V::Json>;

    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Some(value) => value.write(serializer),
            None => serializer.serialize_unit(),
        }
    }

    fn is_nothing(&self) -> bool {
        self.is_none()
    }

    fn cells(value: Option<&Self>, column: SheetColumn) -> Vec<SheetCell> {
        V::cells(value.and_then(Option::as_ref), column)
    }
}

impl<V: FieldValue> FieldValue for [V] {
    type Json = Vec<V::Json>;

    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter().map(AsJson))
    }

    fn is_nothing(&self) -> bool {
        self.is_empty()
    }
}

impl<V: FieldValue> FieldValue for Vec<V> {
    type Json = Vec<V::Json>;

    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self[..].write(serializer)
    }

    fn is_nothing(&self) -> bool {
        self.is_empty()
    }
}

impl<V: FieldValue, const N: usize> FieldValue for [V; N]
where
    [V::Json; N]: JsonSchema,
{
    type Json = [V::Json; N];

    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self[..].write(serializer)
    }
}

impl<V: FieldValue> FieldValue for BTreeMap<String, V> {
    type Json = BTreeMap<String, V::Json>;

    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter().map(|(name, value)| (name, AsJson(value))))
    }

    fn is_nothing(&self) -> bool {
        self.is_empty()
    }
}

impl FieldValue for (f64, f64) {
    type Json = [f64; 2];

    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.serialize(serializer)
    }

    fn cells(value: Option<&Self>, column: SheetColumn) -> Vec<SheetCell> {
        let (low, high) = value.copied().unzip();
        let ends = [("low", low), ("high", high)].into_iter();
        let cells = ends.flat_map(|(name, end)| {
            let group = column.group;
            f64::cells(end.as_ref(), column.part(&SheetColumn { group, name }))
        });
        cells.collect()
    }
}

/// A value whose field is absent where the value is null, false or an empty list.
pub(crate) struct IfAny<V>(pub(crate) V);

impl<V: FieldValue> FieldValue for IfAny<V> {
    type Json = V::Json;
    #[cfg(feature = "schema")]
    const IS_OPTIONAL: bool = true;

    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.write(serializer)
    }

    fn is_absent(&self) -> bool {
        self.0.is_nothing()
    }
}

/// A value whose field is absent on a condition.
pub(crate) struct Unless<V>(pub(crate) bool, pub(crate) V);

impl<V: FieldValue> FieldValue for Unless<V> {
    type Json = V::Json;
    #[cfg(feature = "schema")]
    const IS_OPTIONAL: bool = true;

    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.1.write(serializer)
    }

    fn is_absent(&self) -> bool {
        self.0
    }
}

pub(crate) struct AsIs<V>(pub(crate) V);

impl<V: Serialize + JsonSchema> FieldValue for AsIs<V> {
    type Json = V;

    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

pub(crate) struct DocumentVersion<const N: u32>;

impl<const N: u32> FieldValue for DocumentVersion<N> {
    type Json = Self;

    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u32(N)
    }
}

#[cfg(feature = "schema")]
impl<const N: u32> JsonSchema for DocumentVersion<N> {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Version".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = u32::json_schema(generator);
        schema.insert("const".to_owned(), N.into());
        schema
    }
}
