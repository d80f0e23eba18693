//! A text is what is written in the suite, and a number what YAML reads.

use std::sync::Arc;

use serde_json::Value;
use suite::{Body, Overrides, Plan, RequestPlan, Step, Text, param_value, parse, resolve};

fn plan_with(params: &str, steps: &str, changes: &[(&str, &str)]) -> Result<Plan, String> {
    let text = format!("suite: s\nparams: {params}\ntests: [{{name: T, loop: [{steps}]}}]\n");
    let overrides = Overrides {
        params: changes
            .iter()
            .map(|(name, value)| ((*name).to_owned(), param_value(value)))
            .collect(),
        ..Overrides::default()
    };
    let plan = parse("s.yaml", &text).and_then(|spec| resolve("s.yaml", &text, &spec, &overrides));
    plan.map_err(|error| error.to_string())
}

fn step(params: &str, step: &str, changes: &[(&str, &str)]) -> Step {
    let plan = plan_with(params, step, changes).unwrap_or_else(|error| panic!("{error}"));
    plan.tests[0].loops[0].steps[0].clone()
}

fn request(step: &str) -> Arc<RequestPlan> {
    match self::step("{}", step, &[]) {
        Step::Request(request) => request,
        other => panic!("{other:?}"),
    }
}

fn fixed(text: &Text) -> &str {
    match text {
        Text::Fixed(text) => text,
        Text::Live(_) => panic!("{text:?}"),
    }
}

#[test]
fn a_text_is_what_is_written() {
    for written in [
        "1.10",
        "0x1F",
        "0o17",
        "1_000",
        "1e3",
        "007",
        "18446744073709551616",
        ".inf",
        "True",
        "no",
        "2026-01-01",
    ] {
        let request = request(&format!(
            "{{PUT: {written}, headers: {{X-A: {written}}}, body: {{text: {written}}}, measure: M}}"
        ));
        assert_eq!(fixed(&request.path), written);
        let header = request.headers.iter().find(|own| own.name == "X-A");
        assert_eq!(header.map(|own| fixed(&own.value)), Some(written));
        let Body::Fixed(bytes) = &request.body else {
            panic!("{:?}", request.body);
        };
        assert_eq!(&**bytes, written.as_bytes());
    }
}

#[test]
fn where_a_number_is_wanted_it_is_read_by_the_rules_of_yaml() {
    for (written, number) in [
        ("1024", 1024),
        ("0x400", 1024),
        ("1_024", 1024),
        ("0o17", 15),
        ("1e1", 10),
        ("12.0", 12),
        ("\"{{ 5 + 5 }}\"", 10),
    ] {
        let repeat = step(
            "{}",
            &format!("{{repeat: {written}, steps: [{{GET: a, measure: M}}]}}"),
            &[],
        );
        assert!(
            matches!(repeat, Step::Repeat { times, .. } if times == number),
            "{written}: {repeat:?}"
        );
        let plan = plan_with(
            "{}",
            &format!("{{GET: a, expect: {{length: {written}}}, measure: M}}"),
            &[],
        );
        assert!(plan.is_ok(), "{written}: {plan:?}");
    }
}

/// What a parameter is in a path.
fn in_path(value: &str, changes: &[(&str, &str)]) -> Result<String, String> {
    let plan = plan_with(
        &format!("{{p: {value}}}"),
        "{GET: \"{{ p }}\", measure: M}",
        changes,
    )?;
    match &plan.tests[0].loops[0].steps[0] {
        Step::Request(request) => Ok(fixed(&request.path).to_owned()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_parameter_that_is_a_whole_number_keeps_its_digits() {
    for (written, shown) in [
        ("1e3", "1000"),
        ("12.0", "12"),
        ("-2.0", "-2"),
        ("1.5", "1.5"),
        ("0x1F", "31"),
        ("9223372036854775808", "9223372036854775808"),
        ("18446744073709551615", "18446744073709551615"),
        ("'1.10'", "1.10"),
    ] {
        assert_eq!(in_path(written, &[]), Ok(shown.to_owned()), "{written}");
    }
    for (changed, shown) in [
        ("1e3", "1000"),
        ("2.5", "2.5"),
        ("9223372036854775809", "9223372036854775809"),
        ("18446744073709551616", "18446744073709551616"),
    ] {
        assert_eq!(
            in_path("1", &[("p", changed)]),
            Ok(shown.to_owned()),
            "{changed}"
        );
    }
    // Arithmetic with what is known only later.
    let text = step("{p: 1e3}", "{GET: \"{{ p + n }}\", measure: M}", &[]);
    assert!(matches!(text, Step::Request(_)), "{text:?}");
    let names = plan_with("{p: [1e3, 2]}", "{GET: a, measure: M}", &[]).unwrap();
    assert_eq!(names.params["p"], Value::from(vec![1000, 2]));
    for beyond in ["18446744073709551616", "-9223372036854775809"] {
        let message = in_path(beyond, &[]).unwrap_err();
        assert!(
            message.starts_with(&format!("s.yaml:2:13: `{beyond}` has more than 64 bits")),
            "{message}"
        );
    }
}
