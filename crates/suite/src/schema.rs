//! The JSON schema of suite files, for editors.

use crate::spec::SuiteSpec;

/// The schema as indented JSON, generated from the types that read suite files.
pub fn schema() -> String {
    let schema = schemars::schema_for!(SuiteSpec);
    let mut text = serde_json::to_string_pretty(&schema).unwrap_or_default();
    text.push('\n');
    text
}
