//! The documents for programs: JSON against its published schema, CSV against its rules.

use proptest::prelude::*;
use record::{MeasureId, Outcome, Run};
use serde_json::{Value, json};
use stats::testing::{self, RunBuilder};

use crate::runs;

/// Makes a good document a bad one.
type Breakage = fn(&mut Value);

fn document(run: &Run) -> Value {
    serde_json::from_str(&report::json(run, &stats::summarise(run), &[])).unwrap()
}

fn sheet(run: &Run) -> Vec<Vec<String>> {
    let text = report::csv(run, &stats::summarise(run));
    assert!(text.ends_with("\r\n") && !text.replace("\r\n", "").contains(['\r', '\n']));
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .from_reader(text.as_bytes());
    let record = |record: csv::StringRecord| record.iter().map(str::to_owned).collect();
    reader
        .records()
        .map(|found| record(found.unwrap()))
        .collect()
}

fn validator() -> jsonschema::Validator {
    let schema: Value = serde_json::from_str(&report::schema()).unwrap();
    jsonschema::draft202012::new(&schema).unwrap()
}

/// A document of this schema.
#[track_caller]
pub(crate) fn valid(document: &str, schema: &str) -> Value {
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
fn the_published_schemas_are_those_of_the_types() {
    for (name, schema) in [
        ("result.schema.json", report::schema()),
        ("compare.schema.json", report::compare_schema()),
        ("sweep.schema.json", report::sweep_schema()),
        ("runs.schema.json", report::runs_schema()),
        ("search.schema.json", report::search_schema()),
        ("diagnosis.schema.json", report::diagnose_schema()),
        ("analysis.schema.json", report::analysis_schema()),
        ("campaign.schema.json", report::campaign_schema()),
        (
            "plan.schema.json",
            schemars::written::<record::PlanRecord>(),
        ),
        (
            "env.schema.json",
            schemars::written::<record::Environment>(),
        ),
        ("event.schema.json", schemars::written::<record::Event>()),
    ] {
        schemars::assert_published(name, &schemars::open(&schema));
    }
}

/// A field that a later version adds is none that the published schemas refuse.
#[test]
fn the_published_schemas_know_what_is_written_and_permit_more() {
    let published = |name: &str| {
        let docs = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
        let schema = std::fs::read_to_string(docs.join(name)).unwrap();
        jsonschema::draft202012::new(&serde_json::from_str(&schema).unwrap()).unwrap()
    };
    let assert_known = |validator: &jsonschema::Validator, mut document: Value| {
        let errors = |document: &Value| {
            let errors = validator.iter_errors(document);
            errors
                .map(|e| format!("{e} at {}", e.instance_path()))
                .collect::<Vec<_>>()
        };
        assert_eq!(errors(&document), [""; 0], "{document:#}");
        document["of_tomorrow"] = json!({"any": 1});
        assert_eq!(errors(&document), [""; 0], "{document:#}");
    };
    let [result, plan, env, event] =
        ["result", "plan", "env", "event"].map(|name| published(&format!("{name}.schema.json")));
    for run in all_runs() {
        assert_known(&result, document(&run));
        assert_known(&plan, serde_json::to_value(&run.plan).unwrap());
        assert_known(&env, serde_json::to_value(&run.env).unwrap());
        for each in &run.events {
            assert_known(&event, serde_json::to_value(each).unwrap());
        }
        let mut nested = document(&run);
        nested["prestan"]["of_tomorrow"] = json!(1);
        assert_known(&result, nested);
    }
    assert!(!event.is_valid(&json!({"at": 1, "event": "goal", "reached": "yes"})));
    assert!(!plan.is_valid(&json!({"format": 5})));
}

#[test]
fn documents_keep_to_the_schema() {
    for run in all_runs() {
        valid(
            &report::json(&run, &stats::summarise(&run), &[]),
            &report::schema(),
        );
    }
}

#[test]
fn the_schema_refuses_what_is_no_result() {
    let good = document(&runs::mixed());
    let validator = validator();
    let breakages: [(&str, Breakage); 8] = [
        ("a field too many", |d| d["tests"][0]["extra"] = json!(1)),
        ("a field too few", |d| {
            drop(d["tests"][0].as_object_mut().unwrap().remove("outcomes"))
        }),
        ("an outcome too few", |d| {
            drop(
                d["tests"][0]["outcomes"]
                    .as_object_mut()
                    .unwrap()
                    .remove("reset"),
            );
        }),
        ("an unknown status", |d| {
            d["tests"][0]["status"] = json!("fine")
        }),
        ("a text for a number", |d| {
            d["tests"][0]["response_us"]["p99"] = json!("1 ms")
        }),
        ("an interval with one end", |d| {
            d["tests"][0]["response_us"]["ci95"] = json!([1.0])
        }),
        ("another version", |d| d["schema_version"] = json!(4)),
        ("a negative count", |d| d["left_out"] = json!(-1)),
    ];
    assert!(validator.is_valid(&good));
    for (what, breakage) in breakages {
        let mut bad = good.clone();
        breakage(&mut bad);
        assert_ne!(bad, good, "{what}");
        assert!(!validator.is_valid(&bad), "{what}");
    }
}

#[test]
fn json_documents() {
    let run = runs::mixed();
    insta::assert_snapshot!(
        "mixed_json",
        report::json(&run, &stats::summarise(&run), &[])
    );
    let run = runs::open();
    insta::assert_snapshot!(
        "open_json",
        report::json(&run, &stats::summarise(&run), &[])
    );
    let run = runs::empty();
    insta::assert_snapshot!(
        "empty_json",
        report::json(&run, &stats::summarise(&run), &[])
    );
}

#[test]
fn csv_documents() {
    for (name, run) in [
        ("mixed_csv", runs::mixed()),
        ("awkward_csv", runs::awkward()),
    ] {
        let text = report::csv(&run, &stats::summarise(&run));
        insta::assert_snapshot!(name, text.replace("\r\n", "\n"));
    }
}

#[test]
fn csv_has_a_header_and_a_row_a_test_all_of_one_length() {
    for run in all_runs() {
        let rows = sheet(&run);
        assert_eq!(rows.len(), 1 + run.plan.measures.len());
        assert!(rows.iter().all(|row| row.len() == rows[0].len()));
        let mut names = rows[0].clone();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), rows[0].len(), "a name twice");
    }
}

/// Programs join the documents, the sheets and the samples of a run by it.
#[test]
fn a_row_has_one_name_everywhere() {
    fn named(schema: &Value, found: &mut Vec<String>) {
        for (key, of) in schema["properties"].as_object().into_iter().flatten() {
            let description = of["description"].as_str().unwrap_or_default();
            if description.starts_with("Name of the row") && !description.contains("or test") {
                found.push(key.clone());
            }
        }
        let types = schema["$defs"].as_object().into_iter().flatten();
        types.for_each(|(_, of)| named(of, found));
    }
    for (schema, rows) in [
        (report::schema(), 4),
        (report::compare_schema(), 1),
        (report::sweep_schema(), 1),
        (report::diagnose_schema(), 2),
    ] {
        let mut found = Vec::new();
        named(&serde_json::from_str(&schema).unwrap(), &mut found);
        assert_eq!(found, vec!["measure"; rows]);
    }
    assert_eq!(record::COLUMNS[0].name, "measure");
    assert!(report::log_header().starts_with("measure,"));
    let header = &sheet(&runs::mixed())[0];
    assert!(header.contains(&"measure".to_owned()) && !header.contains(&"name".to_owned()));
}

#[test]
fn awkward_texts_come_back_as_one_harmless_cell() {
    let rows = sheet(&runs::awkward());
    let name = rows[0].iter().position(|name| name == "measure").unwrap();
    assert_eq!(rows[1][name], "'=SUM(A1)");
    assert_eq!(rows[2][name], "a \"quoted\", text\\nof two lines");
}

#[test]
fn an_inconclusive_result_says_so_and_why() {
    let bad = document(&runs::open());
    assert_eq!(bad["conclusion"], "inconclusive");
    let why = bad["inconclusive"].as_str().unwrap();
    assert!(why.contains("did not keep its schedule"), "{why}");
    assert_eq!(bad["load"]["pace"]["model"], "open");
    let good = document(&runs::kernel());
    assert_eq!(
        (&good["conclusion"], &good["inconclusive"]),
        (&json!("pass"), &Value::Null)
    );
    assert_eq!(good["load"]["pace"], json!({"model": "rounds"}));
}

#[test]
fn the_clock_of_the_kernel_is_in_both_documents() {
    let document = document(&runs::kernel());
    assert_eq!(
        (&document["clock"], &document["missed"]),
        (&json!("kernel"), &json!(1))
    );
    let row = &document["tests"][0];
    assert_eq!(
        (&row["missed"], &row["response_us"]["n"]),
        (&json!(1), &json!(199))
    );
    assert_eq!(row["upload_us"]["p50"], json!(40.0));
    let rows = sheet(&runs::kernel());
    let column = |name| rows[0].iter().position(|found| found == name).unwrap();
    assert_eq!(rows[1][column("missed")], "1");
    assert_eq!(
        rows[1][column("bias_us_p99")],
        row["bias_us"]["p99"].to_string()
    );
    assert_eq!(rows[1][column("upload_us_p50")], "40");
    assert_eq!(rows[1][column("planned_us_p50")], "");
}

/// The same number in both documents, and to the nanosecond.
#[test]
fn times_are_exact_to_the_nanosecond() {
    let mut sample = testing::sample(MeasureId(0), 0, Outcome::Ok);
    sample.moments = testing::moments(0, 1_000, 14_249_123, 20_000_001);
    let run = RunBuilder::new(1)
        .test("Get", &[("Get", "GET")])
        .sample("Get", sample)
        .build();
    let document = document(&run);
    assert_eq!(
        document["tests"][0]["response_us"]["p50"].to_string(),
        "14248.123"
    );
    assert_eq!(
        document["tests"][0]["total_us"]["max"].to_string(),
        "20000.001"
    );
    assert_eq!(document["tests"][0]["response_us"]["sd"], Value::Null);
    let rows = sheet(&run);
    let column = rows[0]
        .iter()
        .position(|name| name == "response_us_p50")
        .unwrap();
    assert_eq!(rows[1][column], "14248.123");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn outcomes_add_up_in_every_document(
        samples in proptest::collection::vec((0_u32..3, 0_u64..1_000, 0..Outcome::ALL.len()), 0..60)
    ) {
        let empty = RunBuilder::new(3).test("Put1K", &[("Put1K", "PUT")]);
        let run = samples.into_iter().fold(empty, |builder, (user, started, outcome)| {
            let mut sample = testing::sample(MeasureId(0), user, Outcome::ALL[outcome]);
            sample.moments.started = started;
            builder.sample("Put1K", sample)
        });
        let run = run.build();
        let document = document(&run);
        let test = &document["tests"][0];
        let sum = |counts: &Value| -> u64 {
            counts.as_object().unwrap().values().map(|count| count.as_u64().unwrap()).sum()
        };
        prop_assert_eq!(&json!(sum(&test["outcomes"])), &test["operations"]);
        prop_assert_eq!(&json!(sum(&test["left_out_outcomes"])), &test["left_out"]);
        prop_assert_eq!(sum(&test["outcomes"]) + sum(&test["left_out_outcomes"]), run.samples.len() as u64);
        prop_assert_eq!(&test["left_out"], &document["left_out"]);
        prop_assert!(validator().is_valid(&document));
    }
}

pub(crate) fn all_runs() -> [Run; 12] {
    [
        runs::classic(),
        runs::mixed(),
        runs::interrupted(),
        runs::empty(),
        runs::awkward(),
        runs::kernel(),
        runs::closed(),
        runs::open(),
        runs::pages(),
        runs::connecting(),
        runs::looked_into(),
        runs::server_view(),
    ]
}
