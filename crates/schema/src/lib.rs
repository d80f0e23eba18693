//! `schemars`, for tests that compare the published schemas with the types. The program prints the
//! published files, and so is built without it: there `JsonSchema` derives nothing.

#[cfg(not(feature = "made"))]
pub use none::JsonSchema;

/// A type with a schema: every type, where none is made.
#[cfg(not(feature = "made"))]
pub trait JsonSchema {}
#[cfg(not(feature = "made"))]
impl<T: ?Sized> JsonSchema for T {}

#[cfg(feature = "made")]
pub use schemars::*;

/// The schema of a type that is read from files, as it is published: indented JSON that ends with a
/// newline.
#[cfg(feature = "made")]
pub fn published<T: JsonSchema>() -> String {
    let text = serde_json::to_string_pretty(&schema_for!(T));
    text.expect("a schema is a tree of JSON") + "\n"
}

/// The schema of a type that is written.
#[cfg(feature = "made")]
pub fn written<T: JsonSchema>() -> String {
    let settings = generate::SchemaSettings::draft2020_12().for_serialize();
    let schema = settings.into_generator().into_root_schema_for::<T>();
    serde_json::to_string(&schema).expect("a schema is a tree of JSON")
}

/// The schema of what is written, as it is published: fields that it does not know are permitted,
/// so that it is true of what later versions write.
///
/// # Panics
/// Where it is no schema.
#[cfg(feature = "made")]
pub fn open(schema: &str) -> String {
    fn opened(value: &mut serde_json::Value) {
        use serde_json::Value;
        match value {
            Value::Object(fields) => {
                for keyword in ["additionalProperties", "unevaluatedProperties"] {
                    if fields.get(keyword) == Some(&Value::Bool(false)) {
                        fields.remove(keyword);
                    }
                }
                fields.values_mut().for_each(opened);
            }
            Value::Array(items) => items.iter_mut().for_each(opened),
            _ => {}
        }
    }
    let mut schema = serde_json::from_str(schema).expect("a schema is JSON");
    opened(&mut schema);
    // It has the usual order of keywords, which a map has not.
    let schema = Schema::try_from(schema).expect("it was a schema");
    serde_json::to_string_pretty(&schema).expect("a schema is a tree of JSON") + "\n"
}

/// Compares the schema of today with the one that is published under this name in `docs`, which
/// `cargo xtask bless` renews.
///
/// # Panics
/// Where they differ.
#[cfg(feature = "made")]
pub fn assert_published(name: &str, today: &str) {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let path = path.join(name);
    if std::env::var_os("PRESTAN_BLESS").is_some() {
        std::fs::write(&path, today).expect("docs can be written");
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        kept == today,
        "docs/{name} is stale; `cargo xtask bless` renews it"
    );
}
