//! Objects of documents as tables of their fields.
//!
//! ```text
//!                                        +--> object in JSON
//! Described::FIELDS: name, doc, value ---+--> its schema
//!                                        `--> columns of a sheet
//! ```
//!
//! A field stands once, as columns of samples do in [`record::COLUMNS`].

use std::marker::PhantomData;

use schemars::JsonSchema;
#[cfg(feature = "schema")]
use schemars::{Schema, SchemaGenerator};
use serde::{Serialize, Serializer};
use stats::Distribution;

/// A type whose values are objects in documents.
pub(crate) trait Described: Sized + 'static {
    /// Name of its schema.
    #[cfg(feature = "schema")]
    const NAME: &'static str;
    /// Lines of the description in the schema.
    #[cfg(feature = "schema")]
    const DOC: &'static [&'static str];
    /// Fields, in the order of documents.
    const FIELDS: &'static [DocumentField<Self>];
}

/// A field of objects about a `T`.
pub(crate) struct DocumentField<T: 'static> {
    /// Name in JSON.
    pub(crate) name: &'static str,
    /// Lines of the description in the schema.
    #[cfg(feature = "schema")]
    pub(crate) doc: &'static [&'static str],
    /// Name on pages and in texts, of times that people see.
    pub(crate) label: Option<(FieldLabel, TimesOf<T>)>,
    /// Column of sheets.
    pub(crate) column: Option<SheetColumn<&'static str>>,
    /// Value.
    pub(crate) value: &'static dyn ValueOf<T>,
}

/// The name of times for people.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FieldLabel {
    pub(crate) name: &'static str,
    /// Meaning, of times that texts show, too.
    pub(crate) meaning: Option<&'static str>,
}

/// The times of a value.
type TimesOf<T> = fn(&T) -> Option<Distribution>;

/// The columns of a field in sheets, or one of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SheetColumn<S = String> {
    /// Columns of a larger group stand further right. A new column gets the largest group, so that
    /// sheets that name their columns by letters stay right.
    pub(crate) group: u8,
    /// Name, and of a field that is an object itself what the names of its columns begin with.
    pub(crate) name: S,
}

/// A cell of a sheet; its text is empty where there is no value.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct SheetCell {
    pub(crate) column: SheetColumn,
    pub(crate) text: String,
}

impl SheetColumn {
    /// The column of a part: its name follows this one.
    fn part(&self, part: &SheetColumn<&str>) -> SheetColumn {
        let names = [&self.name, part.name].into_iter();
        let names: Vec<&str> = names.filter(|name| !name.is_empty()).collect();
        SheetColumn {
            group: self.group.max(part.group),
            name: names.join("_"),
        }
    }
}

/// Declares the fields of a type:
///
/// ```text
/// /// Description of the object.
/// Type, "Name", |value| {
///     /// Description of the field.
///     name: "label" "meaning" @ 3 "column" = value.number,
/// }
/// ```
///
/// Label, meaning, group of columns and name of the column may be absent.
macro_rules! fields {
    ($(#[doc = $about:literal])+ $of:ty, $name:literal, |$value:ident| {
        $($(#[doc = $doc:literal])+ $field:ident $(: $label:literal $($meaning:literal)?)?
            $(@ $group:literal $($column:literal)?)? = $figure:expr,)+
    }) => {
        impl $crate::fields::Described for $of {
            #[cfg(feature = "schema")]
            const NAME: &'static str = $name;
            #[cfg(feature = "schema")]
            const DOC: &'static [&'static str] = &[$($about),+];
            const FIELDS: &'static [$crate::fields::DocumentField<$of>] = &[$($crate::fields::DocumentField {
                name: stringify!($field),
                #[cfg(feature = "schema")]
                doc: &[$($doc),+],
                label: $crate::fields::fields!(@label |$value| $figure $(, $label $(, $meaning)?)?),
                column: $crate::fields::fields!(@column $field $($group $($column)?)?),
                value: &$crate::fields::Of(|$value: &$of| $figure),
            }),+];
        }
    };
    (@label |$value:ident| $figure:expr) => { None };
    (@label |$value:ident| $figure:expr, $name:literal) => {
        Some(($crate::fields::FieldLabel { name: $name, meaning: None }, |$value| $figure))
    };
    (@label |$value:ident| $figure:expr, $name:literal, $meaning:literal) => {
        Some(($crate::fields::FieldLabel { name: $name, meaning: Some($meaning) }, |$value| $figure))
    };
    (@column $field:ident) => { None };
    (@column $field:ident $group:literal) => {
        Some($crate::fields::SheetColumn { group: $group, name: stringify!($field) })
    };
    (@column $field:ident $group:literal $name:literal) => {
        Some($crate::fields::SheetColumn { group: $group, name: $name })
    };
}
pub(crate) use fields;

/// A value of a field.
pub(crate) trait FieldValue: Sized {
    /// The type with its schema.
    type Json: JsonSchema;
    /// Fields with such values may be absent.
    #[cfg(feature = "schema")]
    const IS_OPTIONAL: bool = false;

    /// The value in JSON.
    fn json(self) -> JsonValue;

    /// The value in its columns of a sheet.
    fn cells(value: Option<Self>, column: SheetColumn) -> Vec<SheetCell> {
        let text = value.map_or_else(String::new, |value| value.json().cell());
        vec![SheetCell { column, text }]
    }
}

/// A value as it is written.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum JsonValue {
    Null,
    /// The field is not written.
    Absent,
    Count(u64),
    Number(f64),
    Flag(bool),
    Text(String),
    List(Vec<JsonValue>),
    Object(Vec<(&'static str, JsonValue)>),
    /// A type that writes itself.
    Other(serde_json::Value),
}

impl JsonValue {
    /// The value in a cell of a sheet.
    fn cell(self) -> String {
        match self {
            JsonValue::Count(count) => count.to_string(),
            JsonValue::Number(number) => number.to_string(),
            JsonValue::Flag(flag) => flag.to_string(),
            JsonValue::Text(text) | JsonValue::Other(serde_json::Value::String(text)) => {
                crate::csv::cell(&text)
            }
            JsonValue::Null
            | JsonValue::Absent
            | JsonValue::List(_)
            | JsonValue::Object(_)
            | JsonValue::Other(_) => String::new(),
        }
    }
}

impl Serialize for JsonValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            JsonValue::Null | JsonValue::Absent => serializer.serialize_unit(),
            JsonValue::Count(count) => serializer.serialize_u64(*count),
            JsonValue::Number(number) => serializer.serialize_f64(*number),
            JsonValue::Flag(flag) => serializer.serialize_bool(*flag),
            JsonValue::Text(text) => serializer.serialize_str(text),
            JsonValue::List(all) => serializer.collect_seq(all),
            JsonValue::Object(fields) => {
                let is_there = |(_, value): &&(_, JsonValue)| !matches!(value, JsonValue::Absent);
                let fields = fields.iter().filter(is_there);
                serializer.collect_map(fields.map(|(name, value)| (name, value)))
            }
            JsonValue::Other(value) => value.serialize(serializer),
        }
    }
}

/// Values that are written as they are: type, schema, variant.
macro_rules! plain {
    ($($of:ty => $variant:ident),+ $(,)?) => {
        $(impl FieldValue for $of {
            type Json = $of;

            fn json(self) -> JsonValue {
                JsonValue::$variant(self.into())
            }
        })+
    };
}

plain!(u64 => Count, u32 => Count, u16 => Count, f64 => Number, bool => Flag, String => Text, &'static str => Text);

impl<V: FieldValue> FieldValue for Option<V> {
    type Json = Option<V::Json>;

    fn json(self) -> JsonValue {
        self.map_or(JsonValue::Null, V::json)
    }

    fn cells(value: Option<Self>, column: SheetColumn) -> Vec<SheetCell> {
        V::cells(value.flatten(), column)
    }
}

impl<V: FieldValue> FieldValue for Vec<V> {
    type Json = Vec<V::Json>;

    fn json(self) -> JsonValue {
        JsonValue::List(self.into_iter().map(V::json).collect())
    }
}

impl<V: FieldValue, const N: usize> FieldValue for [V; N]
where
    [V::Json; N]: JsonSchema,
{
    type Json = [V::Json; N];

    fn json(self) -> JsonValue {
        JsonValue::List(self.into_iter().map(V::json).collect())
    }
}

/// The ends of an interval.
impl FieldValue for (f64, f64) {
    type Json = [f64; 2];

    fn json(self) -> JsonValue {
        <[f64; 2]>::from(self).json()
    }

    fn cells(value: Option<Self>, column: SheetColumn) -> Vec<SheetCell> {
        let (low, high) = value.unzip();
        let ends = [("low", low), ("high", high)].into_iter();
        let cells = ends.flat_map(|(name, end)| {
            let group = column.group;
            f64::cells(end, column.part(&SheetColumn { group, name }))
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

    fn json(self) -> JsonValue {
        match self.0.json() {
            JsonValue::Null | JsonValue::Flag(false) => JsonValue::Absent,
            JsonValue::List(all) if all.is_empty() => JsonValue::Absent,
            value => value,
        }
    }
}

/// A value whose field is absent on a condition.
pub(crate) struct Unless<V>(pub(crate) bool, pub(crate) V);

impl<V: FieldValue> FieldValue for Unless<V> {
    type Json = V::Json;
    #[cfg(feature = "schema")]
    const IS_OPTIONAL: bool = true;

    fn json(self) -> JsonValue {
        let Unless(is_absent, value) = self;
        if is_absent {
            JsonValue::Absent
        } else {
            value.json()
        }
    }
}

/// A value that writes itself.
pub(crate) struct AsIs<V>(pub(crate) V);

impl<V: Serialize + JsonSchema> FieldValue for AsIs<V> {
    type Json = V;

    fn json(self) -> JsonValue {
        let value = serde_json::to_value(self.0);
        JsonValue::Other(value.expect("no value of documents is a map with keys other than text"))
    }
}

impl<T: Described> FieldValue for T {
    type Json = Fields<T>;

    fn json(self) -> JsonValue {
        object(&self)
    }

    fn cells(value: Option<Self>, column: SheetColumn) -> Vec<SheetCell> {
        let parts = T::FIELDS.iter().filter_map(|field| {
            let column = column.part(field.column.as_ref()?);
            Some(field.value.cells(value.as_ref(), column))
        });
        parts.flatten().collect()
    }
}

fn object<T: Described>(of: &T) -> JsonValue {
    let fields = T::FIELDS.iter();
    let fields = fields.map(|field| (field.name, field.value.json(of)));
    JsonValue::Object(fields.collect())
}

/// The times of a value that people see, by their labels.
pub(crate) fn labelled_times<T: Described>(
    of: &T,
) -> impl Iterator<Item = (FieldLabel, Distribution)> {
    let labels = T::FIELDS.iter().filter_map(|field| field.label);
    labels.filter_map(move |(label, times)| Some((label, times(of)?)))
}

/// How the value of a field comes from a `T`.
pub(crate) trait ValueOf<T> {
    fn json(&self, of: &T) -> JsonValue;
    fn cells(&self, of: Option<&T>, column: SheetColumn) -> Vec<SheetCell>;
    #[cfg(feature = "schema")]
    fn is_optional(&self) -> bool;
    #[cfg(feature = "schema")]
    fn schema(&self, generator: &mut SchemaGenerator) -> Schema;
}

/// A function that gives the value.
pub(crate) struct Of<T, V>(pub(crate) fn(&T) -> V);

impl<T, V: FieldValue> ValueOf<T> for Of<T, V> {
    fn json(&self, of: &T) -> JsonValue {
        (self.0)(of).json()
    }

    fn cells(&self, of: Option<&T>, column: SheetColumn) -> Vec<SheetCell> {
        V::cells(of.map(self.0), column)
    }

    #[cfg(feature = "schema")]
    fn is_optional(&self) -> bool {
        V::IS_OPTIONAL
    }

    #[cfg(feature = "schema")]
    fn schema(&self, generator: &mut SchemaGenerator) -> Schema {
        generator.subschema_for::<V::Json>()
    }
}

/// The object about a `T` in a document of other types.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Fields<T> {
    value: JsonValue,
    of: PhantomData<T>,
}

impl<T: Described> From<&T> for Fields<T> {
    fn from(of: &T) -> Fields<T> {
        Fields {
            value: object(of),
            of: PhantomData,
        }
    }
}

impl<T> Serialize for Fields<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.value.serialize(serializer)
    }
}

#[cfg(feature = "schema")]
impl<T: Described> JsonSchema for Fields<T> {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        T::NAME.into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut properties = serde_json::Map::new();
        for field in T::FIELDS {
            let mut schema = field.value.schema(generator);
            schema.insert("description".to_owned(), description(field.doc).into());
            properties.insert(field.name.to_owned(), schema.into());
        }
        let required = T::FIELDS.iter().filter(|field| !field.value.is_optional());
        let required: Vec<&str> = required.map(|field| field.name).collect();
        schemars::json_schema!({
            "description": description(T::DOC),
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": false,
        })
    }
}

/// Lines of doc comments as text.
#[cfg(feature = "schema")]
fn description(lines: &[&str]) -> String {
    let lines: Vec<&str> = lines.iter().map(|line| line.trim()).collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Shelf {
        books: u64,
        width: Option<(f64, f64)>,
        owner: Option<String>,
    }

    fields! {
        /// A shelf.
        Shelf, "Shelf", |shelf| {
            /// Name of the person.
            owner @ 2 = IfAny(shelf.owner.clone()),
            /// Books.
            books @ 1 = shelf.books,
            /// Least and greatest width.
            width_mm @ 1 "width" = shelf.width,
            /// No column.
            is_empty = shelf.books == 0,
        }
    }

    #[test]
    fn object_and_columns_come_from_one_table() {
        let full = Shelf {
            books: 3,
            width: Some((1.5, 2.0)),
            owner: Some("=Ann".to_owned()),
        };
        let bare = Shelf {
            books: 0,
            width: None,
            owner: None,
        };
        let json = |of: &Shelf| serde_json::to_string(&Fields::from(of)).unwrap();
        let expected = r#"{"owner":"=Ann","books":3,"width_mm":[1.5,2.0],"is_empty":false}"#;
        assert_eq!(json(&full), expected);
        let expected = r#"{"books":0,"width_mm":null,"is_empty":true}"#;
        assert_eq!(json(&bare), expected);
        let columns = |of: Option<Shelf>| {
            let column = SheetColumn {
                group: 0,
                name: "shelf".to_owned(),
            };
            let cells = Shelf::cells(of, column).into_iter();
            let shown = |cell: SheetCell| {
                let SheetColumn { group, name } = cell.column;
                format!("{group} {name} {}", cell.text)
            };
            cells.map(shown).collect::<Vec<_>>().join(", ")
        };
        assert_eq!(
            columns(Some(full)),
            "2 shelf_owner '=Ann, 1 shelf_books 3, 1 shelf_width_low 1.5, 1 shelf_width_high 2"
        );
        let names = "2 shelf_owner , 1 shelf_books 0, 1 shelf_width_low , 1 shelf_width_high ";
        assert_eq!(columns(Some(bare)), names);
        assert_eq!(columns(None), names.replace('0', ""));
    }

    #[cfg(feature = "schema")]
    #[test]
    fn a_schema_requires_what_is_always_there() {
        let settings = schemars::generate::SchemaSettings::draft2020_12().for_serialize();
        let schema = settings
            .into_generator()
            .into_root_schema_for::<Fields<Shelf>>();
        assert_eq!(
            schema.as_value()["required"],
            serde_json::json!(["books", "width_mm", "is_empty"])
        );
        assert_eq!(
            schema.as_value()["properties"]["books"]["description"],
            "Books."
        );
    }
}
