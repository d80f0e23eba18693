//! Documents written as JSON or as YAML are read again.

use proptest::prelude::*;
use serde_json::{Value, json};
use yaml::read;

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        (-1e6..1e6_f64).prop_map(Value::from),
        proptest::num::f64::NORMAL.prop_map(Value::from),
        "[ -~¡-힣]{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 5, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            proptest::collection::btree_map("[ -~¡-힣]{0,6}", inner, 0..5)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn written_and_read(expected: &Value) -> (Result<Value, yaml::YamlError>, String) {
    let text = serde_saphyr::to_string(expected).unwrap_or_else(|error| panic!("{error}"));
    (read(&text), text)
}

/// The crate that writes plans must quote texts that have another type in this one.
#[test]
fn texts_that_look_like_something_else_stay_texts() {
    let texts = [
        "1_000",
        "0o17",
        "0x1F",
        "0b1",
        "1.10",
        "1e3",
        ".inf",
        "-.INF",
        ".nan",
        "no",
        "yes",
        "y",
        "on",
        "true",
        "~",
        "",
        "null",
        "Null",
        "<<",
        "=",
        "-",
        "- a",
        "a: b",
        "# a",
        " a",
        "a ",
        "*a",
        "&a",
        "!a",
        "%a",
        "@a",
        "`a",
        "'a'",
        "\"",
        "2026-01-01",
        "12:30",
        "18446744073709551616",
        "0x10000000000000000",
        "---",
        "...",
        "?",
        "{a",
        "[",
        "a,b",
        "\u{feff}",
        "\t",
        "a\nb",
        "a\n",
        "\r",
        "\u{85}",
        "\u{2028}",
        "\0",
        "\u{1b}",
    ];
    for text in texts {
        let expected = json!({"a": text, "list": [text], text: 1});
        let (found, written) = written_and_read(&expected);
        assert_eq!(found, Ok(expected), "{written}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// JSON is YAML, if its texts can be printed.
    #[test]
    fn what_is_written_as_json_is_read(expected in any_json()) {
        let texts = [serde_json::to_string(&expected), serde_json::to_string_pretty(&expected)];
        for text in texts {
            prop_assert_eq!(read::<Value>(&text.unwrap()), Ok(expected.clone()));
        }
    }

    /// Plans are written and read by different crates.
    #[test]
    fn what_is_written_as_yaml_is_read(expected in any_json()) {
        let (found, written) = written_and_read(&expected);
        prop_assert_eq!(found, Ok(expected), "{}", written);
    }

    #[test]
    fn texts_of_digits_stay_texts(
        text in "[-+]?(0[xob])?[0-9a-f_]{0,30}(\\.[0-9_]{0,3})?(e[-+]?[0-9]{1,3})?|[-+]?\\.(inf|nan|Inf|NaN)|[ -~]{0,6}",
    ) {
        let expected = json!({"a": text, "list": [text], text.clone(): 1});
        let (found, written) = written_and_read(&expected);
        prop_assert_eq!(found, Ok(expected), "{}", written);
    }
}
