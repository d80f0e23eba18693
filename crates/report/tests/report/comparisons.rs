//! Comparisons as people and programs read them.

use insta::assert_snapshot;
use serde_json::Value;
use stats::testing::RunBuilder;
use stats::{Side, Summary, compare, summarise};

use report::{Comparisons, Versus};

/// A run of four rows, which take so long.
fn run(id: &str, us: [u64; 3]) -> record::Run {
    let builder = RunBuilder::new(1)
        .test("Upload", &[("Put1K", "PUT")])
        .ok("Put1K", 60, |i| us[0] + i % 7)
        .test("Fetch", &[("Get1K", "GET")])
        .ok("Get1K", 60, |i| us[1] + i % 5)
        .test("Find", &[("Propfind", "PROPFIND")])
        .ok("Propfind", 60, |i| us[2] + i * 7919 % 100)
        .test("Fails", &[("Lock", "LOCK")])
        .ok("Lock", 60, |_| 80)
        .test("Stumbles", &[("UnLock", "UNLOCK")])
        .ok("UnLock", 60, |_| 80);
    builder.with(|run| run.plan.run_id = id.to_owned()).build()
}

fn comparisons() -> Comparisons {
    let a = run("a", [100, 1_000, 100]);
    let mut b = run("b", [150, 1_000, 104]);
    for (row, failures) in [(3, 20), (4, 1)] {
        let of_row = b
            .samples
            .iter_mut()
            .filter(|sample| sample.measure.0 == row);
        for sample in of_row.take(failures) {
            sample.outcome = record::Outcome::WrongStatus;
        }
    }
    let (of_a, of_b) = (summarise(&a), summarise(&b));
    fn side<'a>(run: &'a record::Run, summary: &'a Summary) -> Side<'a> {
        Side {
            plan: &run.plan,
            env: &run.env,
            summary,
        }
    }
    let comparison = compare(&[side(&a, &of_a)], &[side(&b, &of_b)], 0.02).unwrap();
    Comparisons {
        name: "http://127.0.0.1:1/".to_owned(),
        runs: vec!["runs/a".to_owned()],
        versus: vec![Versus {
            name: "evil|`\u{1b}[31m`".to_owned(),
            runs: vec!["runs/b".to_owned()],
            comparison,
        }],
    }
}

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
