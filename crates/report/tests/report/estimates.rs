//! Every estimate has its interval or a sign that it has none: in JSON documents, as in their
//! schemas, and on pages.

use record::{ConstraintRecord, ConstraintSense, Nanos, PlanRecord, Run, Sample};
use serde_json::Value;
use stats::summarise;

use crate::numbers::Interval::{Key, Place};
use crate::numbers::{CAMPAIGN, Numbers, RESULT, SEARCH, SWEEP};
use crate::page::{markup, page_of};
use crate::{answers, campaigns, documents, runs};

/// A number, one that may be null, or a list of them.
fn is_numeric(schema: &Value) -> bool {
    let types = schema.get("type").into_iter();
    let types = types.flat_map(|of| of.as_array().map_or(vec![of], |all| all.iter().collect()));
    let parts = ["items", "prefixItems", "anyOf", "oneOf"].map(|key| schema.get(key));
    let mut parts = parts.into_iter().flatten().flat_map(|part| match part {
        Value::Array(all) => all.iter().collect(),
        one => vec![one],
    });
    types
        .into_iter()
        .any(|of| of == "number" || of == "integer")
        || parts.any(is_numeric)
}

fn properties(of: &Value) -> Vec<(&str, &Value)> {
    let fields = of["properties"].as_object().into_iter().flatten();
    let variants = of["oneOf"].as_array().into_iter().flatten();
    fields
        .map(|(key, schema)| (key.as_str(), schema))
        .chain(variants.flat_map(properties))
        .collect()
}

/// Errors of these numbers, by the schema of their document.
fn complaints(schema: &Value, numbers: &[Numbers]) -> Vec<String> {
    let types = schema["$defs"].as_object().unwrap();
    let types = types.iter().map(|(name, of)| (name.as_str(), of));
    let types: Vec<(&str, &Value)> = types.chain([("", schema)]).collect();
    let mut wrong = Vec::new();
    for (name, of) in &types {
        let known = numbers.iter().find(|known| known.of == *name);
        for (key, property) in properties(of).into_iter().filter(|(_, of)| is_numeric(of)) {
            let is = |keys: &[&str]| keys.contains(&key);
            let (is_estimate, is_without, is_fact) = known.map_or((false, false, false), |known| {
                let is_estimate = known.estimates.iter().any(|(estimate, _)| *estimate == key);
                (is_estimate, is(known.without), is(known.facts))
            });
            let lists = [is_estimate, is_without, is_fact];
            if lists.iter().filter(|is_there| **is_there).count() != 1 {
                wrong.push(format!(
                    "{name}.{key} is a number: one of an estimate with an interval, an estimate without one, \
                     and a fact"
                ));
            }
            let description = property["description"].as_str().unwrap_or_default();
            if is_without && !description.replace('\n', " ").contains("no interval") {
                wrong.push(format!("{name}.{key} does not say that it has no interval"));
            }
        }
    }
    for known in numbers {
        let of = types.iter().find(|(name, _)| *name == known.of);
        let has = |key: &str| {
            let fields = of.map(|(_, of)| properties(of)).unwrap_or_default();
            fields
                .into_iter()
                .any(|(name, of)| name == key && is_numeric(of))
        };
        let estimates = known
            .estimates
            .iter()
            .flat_map(|(key, interval)| match interval {
                Key(interval) | Place(interval, _) => [*key, *interval],
            });
        let named = estimates.chain(known.without.iter().chain(known.facts).copied());
        let unknown = named.filter(|key| !has(key));
        wrong.extend(unknown.map(|key| format!("{}.{key} is no number of the schema", known.of)));
    }
    wrong
}

/// Calls `check` for every object of a document, with the name of its type.
fn each_object<'a>(
    root: &Value,
    (name, schema): (&str, &Value),
    value: &'a Value,
    check: &mut impl FnMut(&str, &'a Value),
) {
    if let Some(reference) = schema["$ref"].as_str() {
        let name = reference.trim_start_matches("#/$defs/");
        return each_object(root, (name, &root["$defs"][name]), value, check);
    }
    for variant in ["anyOf", "oneOf"]
        .iter()
        .filter_map(|key| schema[key].as_array())
        .flatten()
    {
        let is_null = variant["type"] == "null";
        if !is_null && !value.is_null() {
            each_object(root, (name, variant), value, check);
        }
    }
    match value {
        Value::Array(all) => {
            for one in all {
                each_object(root, (name, &schema["items"]), one, check);
            }
        }
        Value::Object(_) => {
            check(name, value);
            for (key, property) in schema["properties"].as_object().into_iter().flatten() {
                each_object(root, ("", property), &value[key], check);
            }
        }
        _ => {}
    }
}

/// Asserts that estimates lie in their intervals, and gives those that have been seen with one.
fn seen<'a>(
    schema: &Value,
    numbers: &[Numbers],
    documents: &'a [Value],
) -> Vec<(String, &'a Value)> {
    let mut seen = Vec::new();
    for document in documents {
        each_object(schema, ("", schema), document, &mut |name, object| {
            let Some(known) = numbers.iter().find(|known| known.of == name) else {
                return;
            };
            for (key, interval) in known.estimates {
                let ends = match interval {
                    Key(interval) => object.get(interval),
                    Place(interval, index) => object.get(interval).and_then(|all| all.get(index)),
                };
                let ends = ends.unwrap_or_else(|| panic!("{name}.{key} has no interval: {object}"));
                if let (Some(estimate), [low, high]) = (
                    object[key].as_f64(),
                    &[0, 1].map(|end| ends.get(end).and_then(Value::as_f64))[..],
                ) && let (Some(low), Some(high)) = (low, high)
                {
                    assert!(
                        (*low..=*high).contains(&estimate),
                        "{name}.{key}: {estimate} in {ends}"
                    );
                    seen.push((format!("{name}.{key}"), ends));
                }
            }
        });
    }
    seen
}

/// A run that is long enough for the interval of p99.9: sixty times another one.
fn long() -> Run {
    let short = runs::kernel();
    let again = |(repeat, sample): (u64, &Sample)| {
        let mut sample = sample.clone();
        let later = |moment: &mut Option<Nanos>| {
            *moment = moment.map(|moment| moment + repeat * 1_000_000_000);
        };
        let moments = &mut sample.moments;
        moments.started += repeat * 1_000_000_000;
        let rest = [
            &mut moments.sent,
            &mut moments.acked,
            &mut moments.first,
            &mut moments.done,
        ];
        rest.into_iter().for_each(later);
        sample
    };
    let samples = (0..60).flat_map(|repeat| short.samples.iter().map(move |one| (repeat, one)));
    let constraint = ConstraintRecord {
        name: "fast".to_owned(),
        expression: "mean < 1 s".to_owned(),
        sense: ConstraintSense::Holds,
        abort: false,
    };
    Run {
        samples: samples.map(again).collect(),
        plan: PlanRecord {
            constraints: vec![constraint],
            ..short.plan.clone()
        },
        ..short
    }
}

fn parsed(json: &str) -> Value {
    serde_json::from_str(json).unwrap()
}

#[track_caller]
fn assert_all_have_one(schema: &str, numbers: &[Numbers], documents: &[Value], never: &[&str]) {
    let schema = parsed(schema);
    assert_eq!(complaints(&schema, numbers), [""; 0]);
    let seen = seen(&schema, numbers, documents);
    for known in numbers {
        for (key, _) in known.estimates {
            let name = format!("{}.{key}", known.of);
            let is_there = seen.iter().any(|(seen, _)| *seen == name);
            assert_eq!(is_there, !never.contains(&name.as_str()), "{name}");
        }
    }
}

#[test]
fn every_estimate_of_a_result_has_its_interval() {
    let runs = documents::all_runs().into_iter().chain([long()]);
    let document = |run: Run| parsed(&report::json(&run, &summarise(&run), &[]));
    let documents: Vec<Value> = runs.map(document).collect();
    assert_all_have_one(&report::schema(), RESULT, &documents, &[]);
}

#[test]
fn every_estimate_of_a_search_and_a_sweep_has_its_interval() {
    let found = parsed(&report::search_json(&answers::found()));
    // A trial of three operations has none of its percentiles.
    let never = ["Point.p50_us", "Point.p99_us"];
    assert_all_have_one(&report::search_schema(), SEARCH, &[found], &never);
    let swept = parsed(&report::sweep_json(&answers::sweep()));
    assert_all_have_one(&report::sweep_schema(), SWEEP, &[swept], &[]);
}

#[test]
fn every_estimate_of_a_campaign_has_its_interval() {
    let of = campaigns::plain();
    let document = parsed(&report::campaign_json(&of.report()));
    assert_all_have_one(&report::campaign_schema(), CAMPAIGN, &[document], &[]);
}

/// Makes a good schema a bad one.
type Change = fn(&mut Value);

#[test]
fn a_number_that_nobody_decided_about_is_noticed() {
    let good = parsed(&report::schema());
    let changes: [(&str, Change); 4] = [
        ("Test.loss is a number", |schema| {
            schema["$defs"]["Test"]["properties"]["loss"] =
                serde_json::json!({"type": ["number", "null"]});
        }),
        ("Extra.loss is a number", |schema| {
            schema["$defs"]["Extra"] =
                serde_json::json!({"properties": {"loss": {"type": "number"}}});
        }),
        ("Distribution.sd does not say", |schema| {
            schema["$defs"]["Distribution"]["properties"]["sd"]["description"] = "".into();
        }),
        ("Test.per_second_ci95 is no number", |schema| {
            let test = schema["$defs"]["Test"]["properties"]
                .as_object_mut()
                .unwrap();
            test.remove("per_second_ci95");
        }),
    ];
    for (expected, change) in changes {
        let mut schema = good.clone();
        change(&mut schema);
        let wrong = complaints(&schema, RESULT);
        assert!(wrong[0].starts_with(expected), "{wrong:?}");
    }
    let mut document = parsed(&report::json(
        &runs::closed(),
        &summarise(&runs::closed()),
        &[],
    ));
    document["tests"][0]["per_second_ci95"] = serde_json::json!([1.0, 2.0]);
    let outside = std::panic::catch_unwind(|| seen(&good, RESULT, &[document]).len());
    assert!(outside.is_err());
}

/// The text between the first of these marks and the next of those.
fn between<'a>(text: &'a str, mark: &str, end: &str) -> &'a str {
    let (_, rest) = text.split_once(mark).unwrap_or_else(|| panic!("no {mark}"));
    rest.split_once(end).unwrap_or_else(|| panic!("no {end}")).0
}

/// Cells of a table under these headings.
fn cells<'a>(table: &'a str, headings: &[&str]) -> Vec<&'a str> {
    let heads = between(table, "<thead><tr>", "</tr>");
    let heads: Vec<&str> = heads
        .split_inclusive("</t")
        .filter(|head| head.contains("<th") || head.contains("<td"))
        .collect();
    let columns = headings.iter().map(|name| {
        let is_it = |head: &&str| head.ends_with(&format!(">{name}</t"));
        heads
            .iter()
            .position(is_it)
            .unwrap_or_else(|| panic!("no {name}"))
    });
    let columns: Vec<usize> = columns.collect();
    let rows = between(table, "<tbody>", "</tbody>").split("<tr>").skip(1);
    let rows = rows.filter(|row| !row.contains("colspan"));
    let cells = rows.flat_map(|row| {
        let row: Vec<&str> = row.split("</t").collect();
        columns
            .iter()
            .map(|column| row[*column])
            .collect::<Vec<_>>()
    });
    cells.collect()
}

#[test]
fn every_estimate_on_a_page_has_its_interval_or_a_sign() {
    let (mut intervals, mut signs) = (0, 0);
    for run in [
        runs::classic(),
        runs::mixed(),
        runs::kernel(),
        runs::open(),
        runs::pages(),
        runs::connecting(),
    ] {
        let page = markup(&page_of(&run));
        let tests = between(&page, "<section id=\"tests\">", "</section>");
        let mut all = cells(tests, &["p50", "p90", "p99", "req/s"]);
        let details = page.split("aria-label=\"Percentiles\"").skip(1);
        let columns = ["p50", "p90", "p95", "p99", "p99.9", "mean"];
        all.extend(details.flat_map(|table| cells(table, &columns)));
        if let Some((_, pages)) = page.split_once("<section id=\"pages\">") {
            all.extend(cells(pages, &["mean", "p50", "p90", "p99", "first byte"]));
        }
        for cell in all {
            let is_sign = cell.contains(" <small>-</small>");
            assert!(is_sign || cell.contains(" .. "), "{cell}");
            signs += usize::from(is_sign);
            intervals += usize::from(!is_sign);
        }
        // Each table's heading, and the text below all of them.
        assert_eq!(
            details_of_sd(&page),
            page.matches("aria-label=\"Percentiles\"").count() + 1
        );
    }
    assert!(intervals > 100 && signs > 100, "{intervals} {signs}");
    let page = markup(&page_of(&runs::kernel()));
    for text in ["over-reported by 19.0 µs (p50; 18", "(p99; no interval)"] {
        assert!(page.contains(text), "no {text}");
    }
}

fn details_of_sd(page: &str) -> usize {
    page.matches("It has no interval: none covers").count()
}
