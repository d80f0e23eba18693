//! `schemars`, for tests that compare the published schemas with the types. The program prints the published files,
//! and so is built without it: there `JsonSchema` derives nothing.

#[cfg(not(feature = "made"))]
pub use none::JsonSchema;
#[cfg(feature = "made")]
pub use schemars::*;

/// The schema of a type that is read from files, as it is published: indented JSON that ends with a newline.
#[cfg(feature = "made")]
#[must_use]
pub fn published<T: JsonSchema>() -> String {
    let text = serde_json::to_string_pretty(&schema_for!(T));
    text.expect("a schema is a tree of JSON") + "\n"
}

/// Compares the schema of today with the one that is published under this name in `docs`, which `cargo xtask bless`
/// renews.
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
