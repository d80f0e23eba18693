//! The rows of a JSON result, and their common properties.

use std::collections::BTreeMap;

use builtin::{BuiltinFile, SUITES};
use serde_json::Value;
use suite::Overrides;

/// The rows of the suite `prestan`, in the order of the report.
pub(crate) fn of_prestan() -> Vec<String> {
    let text = BuiltinFile::find(SUITES, "prestan").unwrap().text;
    let spec = suite::parse("prestan", text).unwrap();
    let plan = suite::resolve("prestan", text, &spec, &Overrides::default()).unwrap();
    let measures = plan.measures.into_iter();
    measures.map(|measure| measure.name).collect()
}

pub(crate) fn rows(document: &Value) -> &Vec<Value> {
    document["tests"].as_array().unwrap()
}

#[track_caller]
pub(crate) fn row<'a>(document: &'a Value, name: &str) -> &'a Value {
    let found = rows(document).iter().find(|row| row["measure"] == name);
    found.unwrap_or_else(|| panic!("no row {name}"))
}

/// Names of all rows, in order.
pub(crate) fn names(document: &Value) -> Vec<&str> {
    let rows = rows(document).iter();
    rows.map(|row| row["measure"].as_str().unwrap()).collect()
}

/// Each row's status.
pub(crate) fn statuses(document: &Value) -> BTreeMap<&str, &str> {
    let statuses = rows(document)
        .iter()
        .map(|row| row["status"].as_str().unwrap());
    names(document).into_iter().zip(statuses).collect()
}

/// Contradictions in a result: outcomes that do not add up to the operations, times of operations
/// that were not ok, an `ok` without measurements.
pub(crate) fn contradictions(document: &Value) -> Vec<String> {
    let number = |value: &Value| value.as_u64().unwrap_or_default();
    let sum = |counts: &Value| -> u64 { counts.as_object().unwrap().values().map(number).sum() };
    let mut found = Vec::new();
    for row in rows(document) {
        let mut expect = |what: &str, holds: bool| {
            if !holds {
                found.push(format!("{}: {what}", row["measure"]));
            }
        };
        let ok = number(&row["outcomes"]["ok"]);
        let operations = number(&row["operations"]);
        expect(
            "outcomes are not operations",
            sum(&row["outcomes"]) == operations,
        );
        expect(
            "outcomes left out are not operations left out",
            sum(&row["left_out_outcomes"]) == number(&row["left_out"]),
        );
        // A server may respond before it has the whole request, and the kernel may lose a time
        // stamp: then there is no response time.
        let untimed = number(&row["early"]) + number(&row["missed"]);
        expect(
            "a response time for each ok operation that can have one",
            number(&row["response_us"]["n"]) == ok - untimed,
        );
        expect(
            "a total time for each ok operation",
            number(&row["total_us"]["n"]) == ok,
        );
        let all_ok = ok == operations && sum(&row["left_out_outcomes"]) + operations > 0;
        expect("ok, and not all is", row["status"] != "ok" || all_ok);
    }
    let left_out: u64 = rows(document)
        .iter()
        .map(|row| number(&row["left_out"]))
        .sum();
    if left_out != number(&document["left_out"]) {
        found.push("the rows leave out another number than the run".to_owned());
    }
    found
}

/// Fails when the result contradicts itself.
#[track_caller]
pub(crate) fn assert_adds_up(document: &Value) {
    assert_eq!(contradictions(document), [""; 0]);
}

/// True if a constraint needs an estimate that is missing or one-sided: too little was measured, or
/// a busy machine left too little of it.
pub(crate) fn lacks_estimates(document: &Value) -> bool {
    let constraints = document["constraints"].as_array().unwrap().iter();
    let mut readings =
        constraints.flat_map(|constraint| constraint["readings"].as_array().unwrap());
    readings.any(|reading| {
        let mut ends = reading["interval"].as_array().into_iter().flatten();
        reading["unknown"].is_string() || ends.any(Value::is_null)
    })
}
