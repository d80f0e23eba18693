//! Texts keep their notation, and numbers have their YAML value.

use std::sync::Arc;

use serde_json::Value;
use suite::{Body, Overrides, Plan, RequestPlan, Step, Text, parse, resolve};

fn plan_with(params: &str, steps: &str, changes: &[(&str, &str)]) -> Result<Plan, String> {
    let text = format!("suite: s\nparams: {params}\ntests: [{{name: T, loop: [{steps}]}}]\n");
    let overrides = Overrides {
        params: changes
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
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
        "null",
        "~",
    ] {
        let request = request(&format!(
            "{{PUT: {written}, headers: {{X-A: {written}}}, body: {{text: {written}}}, measure: M}}"
        ));
        assert_eq!(fixed(&request.path), written);
        let header = request.headers.iter().find(|header| header.name == "X-A");
        assert_eq!(header.map(|header| fixed(&header.value)), Some(written));
        let Body::Fixed(bytes) = &request.body else {
            panic!("{:?}", request.body);
        };
        assert_eq!(&**bytes, written.as_bytes());
    }
}

#[test]
fn a_value_that_is_not_written_is_refused() {
    for (step, position) in [
        ("{GET: , measure: M}", "s.yaml:3:30"),
        ("{GET: a, headers: {X-A: }, measure: M}", ""),
        ("{GET: a, query: , measure: M}", ""),
        ("{MOVE: a, to: , measure: M}", ""),
        ("{PUT: a, body: {text: }, measure: M}", ""),
        ("{GET: a, expect: {contains: [a, &x ]}, measure: M}", ""),
    ] {
        let why = plan_with("{}", step, &[]).map(drop);
        let message = "a value is missing here; the empty text is written as `\"\"`";
        assert!(
            why.as_ref()
                .is_err_and(|why| why.contains(message) && why.contains(position)),
            "{step}: {why:?}"
        );
    }
    let request = request("{PUT: a, headers: {X-A: \"\"}, body: {text: \"\"}, measure: M}");
    assert_eq!(fixed(&request.headers[0].value), "");
    for text in [
        "suite: s\ntitle:\ntests: [{name: T, loop: [{GET: a, measure: M}]}]\n",
        "suite: s\ntests: [{name: T, title: , loop: [{GET: a, measure: M}]}]\n",
    ] {
        let why = parse("s.yaml", text).map_err(|error| error.to_string());
        let message = "expected a text, found nothing";
        assert!(
            why.as_ref().is_err_and(|why| why.contains(message)),
            "{text}: {why:?}"
        );
    }
    let titled =
        "suite: s\ntitle: null\ntests: [{name: T, title: ~, loop: [{GET: a, measure: M}]}]\n";
    let titled = parse("s.yaml", titled).unwrap();
    assert_eq!(titled.title, "null");
    assert_eq!(titled.tests[0].value.title.as_deref(), Some("~"));
    // A key with a default gets it.
    let plan = "suite: s\ntests: [{name: T, requests: , loop: [{GET: a, expect: {length: }, measure: M}]}]\n";
    assert!(parse("s.yaml", plan).is_ok());
}

#[test]
fn a_header_is_there_once_whatever_its_capitals() {
    let steps = "{GET: a, headers: {\nx-a: 2,\nX-B: 1,\nX-A: 1}, measure: M}";
    let why = plan_with("{}", steps, &[]).unwrap_err();
    let expected =
        "the header X-A is here a second time, as x-a in line 4; capitals make no difference";
    assert!(why.contains(expected) && why.contains("s.yaml:6:"), "{why}");
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
        let repeat = format!("{{repeat: {written}, steps: [{{GET: a, measure: M}}]}}");
        let repeat = step("{}", &repeat, &[]);
        assert!(
            matches!(repeat, Step::Repeat { times, .. } if times == number),
            "{written}: {repeat:?}"
        );
        let length = format!("{{GET: a, expect: {{length: {written}}}, measure: M}}");
        let plan = plan_with("{}", &length, &[]);
        assert!(plan.is_ok(), "{written}: {plan:?}");
    }
}

#[test]
fn a_parameter_is_sent_as_it_is_written() {
    for written in [
        "1.10",
        "007",
        "1e3",
        "12.0",
        "0x1F",
        "1_000",
        "12345678901234567890123",
        "-9223372036854775809",
        "True",
        "no",
    ] {
        assert_eq!(
            made(written, "{{ p }}", &[]),
            Ok(written.to_owned()),
            "{written}"
        );
        // In a list as well, and from the command line.
        let of_list = made(&format!("[1, {written}]"), "{{ p | last }}", &[]);
        assert_eq!(of_list, Ok(written.to_owned()));
        let default = if written == "True" { "false" } else { "1" };
        let default = if ["007", "no"].contains(&written) {
            "text"
        } else {
            default
        };
        let changed = made(default, "{{ p }}", &[("p", written)]);
        assert_eq!(changed, Ok(written.to_owned()), "{written}");
    }
    assert_eq!(made("'1.10'", "{{ p }}", &[]), Ok("1.10".to_owned()));
    // The value is recorded, and its notation if that differs.
    let params = "{a: 1.10, b: [1, 0x1F], c: 1.5, d: '5', e: [x, true], f: [\"a\\u00a0\\t\\\"\"]}";
    let plan = plan_with(params, "{GET: a, measure: M}", &[("c", "1e3")]).unwrap();
    assert_eq!(plan.params["a"], 1.1);
    let written = plan.written_params.iter();
    let written: Vec<_> = written
        .map(|(name, text)| (name.as_str(), text.as_str()))
        .collect();
    assert_eq!(written, [("a", "1.10"), ("b", "[1,0x1F]"), ("c", "1e3")]);
}

/// The result of a template with a parameter.
fn made(value: &str, template: &str, changes: &[(&str, &str)]) -> Result<String, String> {
    let step = format!("{{GET: \"{template}\", measure: M}}");
    let plan = plan_with(&format!("{{p: {value}}}"), &step, changes)?;
    match &plan.tests[0].loops[0].steps[0] {
        Step::Request(request) => Ok(fixed(&request.path).to_owned()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_parameter_has_a_type_for_conditions_and_arithmetic() {
    let table = "
        1.10 => {{ p == 1.1 }}-{{ p * 10 }}-{{ p }} => true-11.0-1.10
        1e3 => {{ p + 1 }}-{{ p | int }}-{{ -p }} => 1001-1000--1000
        0x1F => {{ p // 2 }} => 15
        12345678901234567890123 => {{ p - 1 }} => 12345678901234567890122
        1 => {{ [5, 6][p] }}{{ 'abc'[p:] }}{{ range(p) | length }} => 6bc1
        [1e1, 9] => {{ p | max }}-{{ p | sum }} => 1e1-19
        False => {% if p %}on{% else %}off{% endif %} => off
        no => {% if p == 'no' %}text{% endif %} => text
        007 => {% if p == '007' %}text{% endif %} => text
    ";
    for [value, template, expected] in cases::rows(table) {
        let made = made(value, template, &[]);
        assert_eq!(made, Ok(expected.to_owned()), "{value} {template}");
    }
    // With a value that is known only later.
    let text = step("{p: 1e3}", "{GET: \"{{ p + n }}\", measure: M}", &[]);
    assert!(matches!(text, Step::Request(_)), "{text:?}");
    let names = plan_with("{p: [1e3, 2]}", "{GET: a, measure: M}", &[]).unwrap();
    assert_eq!(names.params["p"], Value::from(vec![1000, 2]));
}

#[test]
fn a_parameter_keeps_the_type_of_its_default() {
    let gzip = "{% if p %}on{% else %}off{% endif %}";
    assert_eq!(made("true", gzip, &[("p", "false")]).as_deref(), Ok("off"));
    assert_eq!(
        made("5KiB", "{{ p ~ 1 }}", &[("p", "8")]).as_deref(),
        Ok("81")
    );
    let sum = "{{ p | sum }}";
    assert_eq!(made("[1, 2]", sum, &[("p", "3, 4")]).as_deref(), Ok("7"));
    let table = "
        true => off => `p` is true or false in the suite, and `off` is not
        3 => wide => `p` is a number in the suite, and `wide` is not
        [1, 2] => 3,x => `p` is a number in the suite, and `x` is not
    ";
    for [default, changed, why] in cases::rows(table) {
        let refused = made(default, "a", &[("p", changed)]).unwrap_err();
        assert_eq!(refused, format!("s.yaml: {why}"));
    }
}

#[test]
fn what_may_have_been_saved_can_be_used() {
    for steps in [
        "{repeat: 2, steps: [{GET: a, headers: {X: \"{{ t }}\"}, measure: M}, {GET: b, save: {t: header X}}]}",
        "{choose: [{weight: 1, steps: [{GET: a, save: {t: header X}, measure: M}]}, {weight: 1, steps: [{GET: b}]}]}, \
         {GET: c, headers: {X: \"{{ t }}\"}}",
    ] {
        plan_with("{}", steps, &[]).unwrap_or_else(|error| panic!("{error}"));
    }
    let text = "suite: s\ntests:\n- name: T\n  loop: [{LOCK: a, save: {t: lock-token}, measure: M}]\n  \
                cleanup: [{UNLOCK: a, headers: {Lock-Token: \"{{ t }}\"}}]\n";
    let spec = parse("s.yaml", text).unwrap();
    resolve("s.yaml", text, &spec, &Overrides::default()).unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn timeouts_of_locks_are_those_of_the_header() {
    for (written, sent) in [
        ("600s", "Second-600"),
        ("1h", "Second-3600"),
        ("4294967295s", "Second-4294967295"),
        ("Second-600", "Second-600"),
        ("Infinite", "Infinite"),
        (
            "'Infinite, Second-4100000000'",
            "Infinite, Second-4100000000",
        ),
    ] {
        let request = request(&format!("{{LOCK: a, timeout: {written}, measure: M}}"));
        let mut headers = request.headers.iter();
        let timeout = headers.find(|header| header.name == "Timeout").unwrap();
        assert_eq!(fixed(&timeout.value), sent, "{written}");
    }
}
