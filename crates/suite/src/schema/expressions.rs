//! Descriptions and examples of expressions for editors.

use constraint::{Statistic, UnitKind};
use schemars::{Schema, SchemaGenerator, json_schema};

/// Constraints, each with another part of the language.
const CONSTRAINTS: [&str; 12] = [
    "p99(Get1K) < 5 ms",
    "p99(Save, samples >= 1000) < 50 ms",
    "mean(CopyCol) < 40 * mean(Copy)",
    "max(Save, over >= 10 s) < 2 s",
    "failure_rate(Save) < 0.1 %",
    "failures == 0",
    "rate(Save) >= 100 /s and goodput(Read) > 10 MB/s",
    "operations(Read) >= 1000",
    "last(OpenToSaved) < 3 s or first(OpenToSaved) < 3 s",
    "connections(Read) <= 4 and bytes_received(Read) < 1 GB",
    "p50(Read, stage 2) < 2 * p50(Read, stage 1)",
    "p99(Save) ± 5 %",
];
/// Conditions, which are evaluated while a test goes on.
const CONDITIONS: [&str; 4] = [
    "p99(Read, last 10 s) < 20 ms",
    "p99(Read, last 10 s, samples >= 500) > 20 ms",
    "failures(Save) > 10",
    "not rate(Read, last 5 s) > 100 /s",
];

/// An expression that must be true in the end.
pub(crate) fn constraint(_: &mut SchemaGenerator) -> Schema {
    expression("Must be true at the end.", &CONSTRAINTS)
}

/// An expression that decides about steps.
pub(crate) fn condition(_: &mut SchemaGenerator) -> Schema {
    expression(
        "Decides what is done; evaluated about five times a second.",
        &CONDITIONS,
    )
}

fn expression(purpose: &str, examples: &[&str]) -> Schema {
    let statistics: Vec<&str> = Statistic::names().collect();
    let units: Vec<&str> = UnitKind::signs().collect();
    json_schema!({
        "type": "string",
        "description": format!(
            "{purpose} STATISTIC(ROW), STATISTIC(ROW, last 10 s), STATISTIC(ROW, stage 2) or STATISTIC for each row; \
             a further restriction is `samples >= 100` or `over >= 10 s`. Statistics: {}, and other percentiles. Units: \
             {}. Operators: < <= > >= == != ± + - * / and or not.",
            statistics.join(", "),
            units.join(" "),
        ),
        "examples": examples,
    })
}

#[cfg(test)]
mod tests {
    use constraint::Constraint;

    use super::*;

    #[test]
    fn examples_are_expressions_and_show_every_statistic_that_has_a_name() {
        let all = [&CONSTRAINTS[..], &CONDITIONS].concat();
        for example in &all {
            let parsed =
                Constraint::parse(example).unwrap_or_else(|why| panic!("{example}: {why}"));
            assert_eq!(parsed.to_string(), *example, "as `suites fmt` writes it");
        }
        let generator = &mut SchemaGenerator::default();
        for schema in [constraint(generator), condition(generator)] {
            let description = schema.get("description").unwrap().as_str().unwrap();
            for word in ["p99.9", "failure_rate", "connections", " ms ", "KiB/s", "%"] {
                assert!(description.contains(word), "{word}: {description}");
            }
            assert!(
                schema.get("pattern").is_none(),
                "it would refuse a right one"
            );
        }
    }
}
