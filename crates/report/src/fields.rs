//! Objects of documents as tables of their fields.
//!
//! ```text
//!                                        +--> object in JSON
//! Described::describe: name, doc, value -+--> its schema
//!                                        `--> columns of a sheet
//! ```
//!
//! A field stands once, as columns of samples do in [`record::COLUMNS`].

mod value;

use std::marker::PhantomData;

#[cfg(feature = "schema")]
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serializer;
use serde::ser::SerializeMap;
use stats::Distribution;

use crate::json::pretty;
pub(crate) use value::{AsIs, AsJson, DocumentVersion, FieldValue, IfAny, Unless, each, plain};

/// A type whose values are objects in documents. Where an object needs more than one value, it is
/// a tuple of references.
pub(crate) trait Described: Sized {
    #[cfg(feature = "schema")]
    const ABOUT: ObjectAbout;

    /// Shows the fields to a visitor, in the order of documents.
    fn describe<'t>(visitor: &mut impl FieldVisitor<'t, Self>)
    where
        Self: 't;
}

/// Schema of an object, but for its fields.
#[cfg(feature = "schema")]
pub(crate) struct ObjectAbout {
    /// Empty for a schema that stands where it is used.
    pub(crate) name: &'static str,
    pub(crate) title: Option<&'static str>,
    pub(crate) doc: &'static [&'static str],
}

/// A field of objects about a `T`, but for its value.
pub(crate) struct DocumentField<T> {
    pub(crate) name: &'static str,
    #[cfg(feature = "schema")]
    pub(crate) doc: &'static [&'static str],
    /// All values, where these are known words.
    #[cfg(feature = "schema")]
    pub(crate) words: Option<fn() -> serde_json::Value>,
    /// Name on pages and in texts, of times that people see.
    pub(crate) label: Option<(FieldLabel, TimesOf<T>)>,
    /// Column of sheets.
    pub(crate) column: Option<SheetColumn<&'static str>>,
}

/// Something that is done with each field of an object.
pub(crate) trait FieldVisitor<'t, T: 't> {
    fn field<V: FieldValue>(&mut self, field: DocumentField<T>, value: impl Fn(&'t T) -> V);
}

/// The name of times for people.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FieldLabel {
    pub(crate) name: &'static str,
    /// Meaning, of times that texts show, too.
    pub(crate) meaning: Option<&'static str>,
}

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
/// Type, "Name" "Title", |value| {
///     /// Description of the field.
///     name [all words]: "label" "meaning" @ 3 "column" = value.number,
/// }
/// ```
///
/// The title, all words that the field can have, label, meaning, group of columns and name of the
/// column may be absent.
macro_rules! fields {
    ($(#[doc = $about:literal])+ $of:ty, $name:literal $($title:literal)?, |$value:pat_param| {
        $($(#[doc = $doc:literal])+ $field:ident $([$words:expr])? $(: $label:literal $($meaning:literal)?)?
            $(@ $group:literal $($column:literal)?)? = $figure:expr,)+
    }) => {
        impl $crate::fields::Described for $of {
            #[cfg(feature = "schema")]
            const ABOUT: $crate::fields::ObjectAbout = $crate::fields::ObjectAbout {
                name: $name,
                title: $crate::fields::fields!(@option $($title)?),
                doc: &[$($about),+],
            };

            #[allow(unused_variables, reason = "few fields need all parts of a tuple")]
            fn describe<'t>(visitor: &mut impl $crate::fields::FieldVisitor<'t, Self>)
            where
                Self: 't,
            {
                $(visitor.field(
                    $crate::fields::DocumentField {
                        name: stringify!($field),
                        #[cfg(feature = "schema")]
                        doc: &[$($doc),+],
                        #[cfg(feature = "schema")]
                        words: $crate::fields::fields!(@option $(|| serde_json::json!($words))?),
                        label: $crate::fields::fields!(@label |$value| $figure $(, $label $(, $meaning)?)?),
                        column: $crate::fields::fields!(@column $field $($group $($column)?)?),
                    },
                    |$value| $figure,
                );)+
            }
        }

        impl $crate::fields::FieldValue for $of {
            type Json = $crate::fields::Fields<Self>;

            fn write<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                $crate::fields::write_object(self, serializer)
            }

            fn cells(
                value: Option<&Self>,
                column: $crate::fields::SheetColumn,
            ) -> Vec<$crate::fields::SheetCell> {
                $crate::fields::cells_of_object(value, column)
            }
        }
    };
    (@option) => { None };
    (@option $value:expr) => { Some($value) };
    (@label |$value:pat_param| $figure:expr) => { None };
    (@label |$value:pat_param| $figure:expr, $name:literal $(, $meaning:literal)?) => {
        Some((
            $crate::fields::FieldLabel {
                name: $name,
                meaning: $crate::fields::fields!(@option $($meaning)?),
            },
            |$value| $figure,
        ))
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

/// The value as a document. Ends with a newline.
pub(crate) fn json_of(value: impl FieldValue) -> String {
    pretty(&AsJson(value))
}

/// The schema of documents about a `T`. Ends with a newline.
#[cfg(feature = "schema")]
pub(crate) fn schema_of<T: Described>() -> String {
    crate::json::schema_of::<Fields<T>>()
}

struct ObjectWriter<'t, T, M: SerializeMap> {
    of: &'t T,
    map: M,
    written: Result<(), M::Error>,
}

impl<'t, T, M: SerializeMap> FieldVisitor<'t, T> for ObjectWriter<'t, T, M> {
    fn field<V: FieldValue>(&mut self, field: DocumentField<T>, value: impl Fn(&'t T) -> V) {
        let value = value(self.of);
        if self.written.is_ok() && !value.is_absent() {
            self.written = self.map.serialize_entry(field.name, &AsJson(value));
        }
    }
}

pub(crate) fn write_object<T: Described, S: Serializer>(
    of: &T,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let mut object = ObjectWriter {
        of,
        map: serializer.serialize_map(None)?,
        written: Ok(()),
    };
    T::describe(&mut object);
    object.written?;
    object.map.end()
}

struct ObjectCells<'t, T> {
    of: Option<&'t T>,
    column: SheetColumn,
    cells: Vec<SheetCell>,
}

impl<'t, T> FieldVisitor<'t, T> for ObjectCells<'t, T> {
    fn field<V: FieldValue>(&mut self, field: DocumentField<T>, value: impl Fn(&'t T) -> V) {
        if let Some(column) = field.column {
            let value = self.of.map(value);
            let column = self.column.part(&column);
            self.cells.extend(V::cells(value.as_ref(), column));
        }
    }
}

pub(crate) fn cells_of_object<T: Described>(of: Option<&T>, column: SheetColumn) -> Vec<SheetCell> {
    let mut object = ObjectCells {
        of,
        column,
        cells: Vec::new(),
    };
    T::describe(&mut object);
    object.cells
}

struct ObjectTimes<'t, T>(&'t T, Vec<(FieldLabel, Distribution)>);

impl<'t, T> FieldVisitor<'t, T> for ObjectTimes<'t, T> {
    fn field<V: FieldValue>(&mut self, field: DocumentField<T>, _: impl Fn(&'t T) -> V) {
        let times = field
            .label
            .and_then(|(label, times)| Some((label, times(self.0)?)));
        self.1.extend(times);
    }
}

/// The times of a value that people see, by their labels.
pub(crate) fn labelled_times<T: Described>(of: &T) -> Vec<(FieldLabel, Distribution)> {
    let mut times = ObjectTimes(of, Vec::new());
    T::describe(&mut times);
    times.1
}

/// The type of objects about a `T` in schemas.
pub(crate) struct Fields<T>(PhantomData<T>);

#[cfg(feature = "schema")]
struct ObjectProperties<'g> {
    generator: &'g mut SchemaGenerator,
    properties: serde_json::Map<String, serde_json::Value>,
    required: Vec<&'static str>,
}

#[cfg(feature = "schema")]
impl<'t, T: 't> FieldVisitor<'t, T> for ObjectProperties<'_> {
    fn field<V: FieldValue>(&mut self, field: DocumentField<T>, _: impl Fn(&'t T) -> V) {
        let mut schema = self.generator.subschema_for::<V::Json>();
        schema.insert("description".to_owned(), description(field.doc).into());
        if let Some(words) = field.words {
            schema.insert("enum".to_owned(), words());
        }
        self.properties.insert(field.name.to_owned(), schema.into());
        if !V::IS_OPTIONAL {
            self.required.push(field.name);
        }
    }
}

#[cfg(feature = "schema")]
impl<T: Described> JsonSchema for Fields<T> {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        T::ABOUT.name.into()
    }

    fn inline_schema() -> bool {
        T::ABOUT.name.is_empty()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut object = ObjectProperties {
            generator,
            properties: serde_json::Map::new(),
            required: Vec::new(),
        };
        T::describe(&mut object);
        let mut schema = schemars::json_schema!({
            "description": description(T::ABOUT.doc),
            "type": "object",
            "properties": object.properties,
            "required": object.required,
            "additionalProperties": false,
        });
        if let Some(title) = T::ABOUT.title {
            schema.insert("title".to_owned(), title.into());
        }
        schema
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
            owner @ 2 = IfAny(shelf.owner.as_deref()),
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
        let json = |of: &Shelf| serde_json::to_string(&AsJson(of)).unwrap();
        let expected = r#"{"owner":"=Ann","books":3,"width_mm":[1.5,2.0],"is_empty":false}"#;
        assert_eq!(json(&full), expected);
        let expected = r#"{"books":0,"width_mm":null,"is_empty":true}"#;
        assert_eq!(json(&bare), expected);
        let columns = |of: Option<&Shelf>| {
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
            columns(Some(&full)),
            "2 shelf_owner '=Ann, 1 shelf_books 3, 1 shelf_width_low 1.5, 1 shelf_width_high 2"
        );
        let names = "2 shelf_owner , 1 shelf_books 0, 1 shelf_width_low , 1 shelf_width_high ";
        assert_eq!(columns(Some(&bare)), names);
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
