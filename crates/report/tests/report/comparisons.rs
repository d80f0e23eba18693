//! Comparisons as people and programs read them.

use insta::assert_snapshot;
use serde_json::Value;

use crate::answers::comparisons;

#[test]
fn for_people() {
    assert_snapshot!(
        "comparison_text",
        report::compare_text(&comparisons(), false, 100)
    );
    assert!(report::compare_text(&comparisons(), true, 100).contains("\u{1b}[31mPut1K"));
}

#[test]
fn for_pull_requests() {
    assert_snapshot!(
        "comparison_markdown",
        report::compare_markdown(&comparisons())
    );
}

#[test]
fn for_programs() {
    let text = report::compare_json(&comparisons());
    assert_snapshot!("comparison_json", text);
    let schema: Value = serde_json::from_str(&report::compare_schema()).unwrap();
    let validator = jsonschema::draft202012::new(&schema).unwrap();
    let mut document: Value = serde_json::from_str(&text).unwrap();
    let errors = |document: &Value| validator.iter_errors(document).count();
    assert_eq!(errors(&document), 0);
    document["tests"][0]["verdict"] = "perhaps".into();
    assert_eq!(errors(&document), 1);
}
