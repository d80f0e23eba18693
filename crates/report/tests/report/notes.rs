//! Notes about runs by their authors, in reports of several runs.

use record::NoteRecord;
use report::Comparisons;
use serde_json::{Value, json};

use crate::answers;

fn note(name: &str, text: &str) -> NoteRecord {
    NoteRecord {
        name: name.to_owned(),
        text: text.to_owned(),
    }
}

fn notes() -> Vec<NoteRecord> {
    vec![note("disk", "NVMe *fast*"), note("os", "Debian")]
}

fn expected_notes() -> Value {
    json!([{"name": "disk", "text": "NVMe *fast*"}, {"name": "os", "text": "Debian"}])
}

#[track_caller]
fn document(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn a_comparison_has_the_notes_of_each_server() {
    let mut all = answers::comparisons();
    let text = |all: &Comparisons| report::compare_text(all, false, 100);
    assert!(!text(&all).contains("Note "));
    assert!(
        document(&report::compare_json(&all))["a"]
            .get("notes")
            .is_none()
    );
    all.notes = notes();
    let text_of_one = text(&all);
    assert!(
        text_of_one.starts_with(
            "A: http://127.0.0.1:1/\nNote disk (A): NVMe *fast*\nNote os (A): Debian\nB: "
        ),
        "{text_of_one}"
    );
    assert_eq!(
        document(&report::compare_json(&all))["a"]["notes"],
        expected_notes()
    );
    let markdown = report::compare_markdown(&all);
    assert!(
        markdown
            .contains("\n- **Note disk (A)**: NVMe \\*fast\\*\n- **Note os (A)**: Debian\n- **B**"),
        "{markdown}"
    );
    // Runs that were made together have the same notes, which are shown once.
    all.versus[0].notes = notes();
    let text_of_both = text(&all);
    assert_eq!(text_of_both.matches("Note os").count(), 1, "{text_of_both}");
    assert!(
        text_of_both.contains("\nNote disk: NVMe *fast*\n"),
        "{text_of_both}"
    );
    assert_eq!(
        document(&report::compare_json(&all))["b"][0]["notes"],
        expected_notes()
    );
    assert!(report::compare_markdown(&all).contains("\n- **Note os**: Debian\n"));
}

#[test]
fn sweeps_and_searches_have_notes() {
    let (mut sweep, mut found) = (answers::sweep(), answers::found());
    assert!(document(&report::sweep_json(&sweep)).get("notes").is_none());
    assert!(
        document(&report::search_json(&found))
            .get("notes")
            .is_none()
    );
    (sweep.notes, found.notes) = (notes(), notes());
    for text in [
        report::sweep_text(&sweep, false, 100),
        report::search_text(&found, false, 100),
    ] {
        assert!(
            text.contains("\nNote disk: NVMe *fast*\nNote os: Debian\n"),
            "{text}"
        );
    }
    for json in [report::sweep_json(&sweep), report::search_json(&found)] {
        assert_eq!(document(&json)["notes"], expected_notes());
    }
}
