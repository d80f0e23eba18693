//! Sweeps and searches as people and programs read them.

use insta::assert_snapshot;
use serde_json::Value;
use stats::Answer;

use crate::answers::{found, sweep};
use report::Found;

#[test]
fn a_sweep_for_people() {
    assert_snapshot!("sweep_text", report::sweep_text(&sweep(), false, 100));
    let colored = report::sweep_text(&sweep(), true, 100);
    assert!(colored.contains("\u{1b}[31m") && !colored.contains("\u{1b}[2J"));
}

fn valid(document: &str, schema: &str) -> Value {
    let document: Value = serde_json::from_str(document).unwrap();
    let schema: Value = serde_json::from_str(schema).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let errors: Vec<String> = validator
        .iter_errors(&document)
        .map(|error| format!("{error} at {}", error.instance_path()))
        .collect();
    assert_eq!(errors, [""; 0]);
    document
}

#[test]
fn a_sweep_for_programs() {
    let document = valid(&report::sweep_json(&sweep()), &report::sweep_schema());
    let copy = &document["tests"][0]["servers"][1];
    let per_unit = copy["law"]["terms"][0]["per_unit_us"].as_f64().unwrap();
    assert!((75.0..77.0).contains(&per_unit), "{copy:#}");
    assert_eq!(copy["effects"][1]["verdict"], "none");
    assert_eq!(copy["points"].as_array().unwrap().len(), 8);
    let failed = &document["tests"][2]["servers"][1]["points"][7];
    assert_eq!(
        (&failed["status"], &failed["mean_us"]),
        (&"failed".into(), &Value::Null)
    );
}

#[test]
fn a_search_for_people() {
    let text = report::search_text(&found(), false, 100);
    assert_snapshot!("search_text", text);
    let table = [
        (
            Some(4.0),
            None,
            false,
            "holds with 4 users, the most that was tried",
        ),
        (None, Some(1.0), false, "does not even hold with 1 user"),
        (None, None, false, "not known"),
    ];
    for (held, broken, confirmed, says) in table {
        let found = Found {
            answer: Answer {
                held,
                broken,
                confirmed,
            },
            ..found()
        };
        let text = report::search_text(&found, false, 200);
        assert!(text.contains(says), "{text}");
    }
    let stopped = Found {
        inconclusive: Some("late".to_owned()),
        answer: Answer {
            held: Some(4.0),
            broken: None,
            confirmed: false,
        },
        ..found()
    };
    let text = report::search_text(&stopped, false, 300);
    assert!(
        text.contains("holds with 4 users.") && text.contains("It ended there: "),
        "{text}"
    );
}

#[test]
fn a_search_for_programs() {
    let document = valid(&report::search_json(&found()), &report::search_schema());
    assert_eq!(
        (&document["answer"]["held"], &document["knee"]),
        (&16.0.into(), &8.0.into())
    );
    assert_eq!(document["points"][3]["p99_us"], Value::Null);
}
