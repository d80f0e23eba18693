//! Documents, their values, and the errors of defective ones.

use std::collections::BTreeMap;
use std::fmt;

use proptest::prelude::*;
use serde::de::{self, Deserialize, DeserializeOwned, Deserializer, MapAccess, Visitor};
use serde_json::{Value, json};
use yaml::{PlainScalar, Position, WrittenValue, located, read, read_up_to};

fn value(text: &str) -> Value {
    read(text).unwrap_or_else(|error| panic!("{text}\n{error}"))
}

#[derive(Debug, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Everything {
    name: String,
    #[serde(default)]
    port: u16,
    #[serde(default)]
    share: f64,
    #[serde(default)]
    is_on: bool,
    #[serde(default)]
    list: Vec<String>,
    #[serde(default)]
    pair: Option<(i32, i32)>,
    #[serde(default)]
    kind: Option<Kind>,
    #[serde(default)]
    either: Option<Either>,
    #[serde(default)]
    by_number: BTreeMap<u32, char>,
}

#[derive(Debug, PartialEq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Plain,
    Sized(u32),
    Both(u32, u32),
    Keys { a: u32 },
}

#[derive(Debug, PartialEq, serde::Deserialize)]
#[serde(untagged)]
enum Either {
    Number(u32),
    Text(String),
    Keys { a: Kind },
}

/// A text with its position.
#[derive(Debug, PartialEq)]
struct At(String, u32, u32);

impl<'de> Deserialize<'de> for At {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (text, Position { line, column }) = located(deserializer)?;
        Ok(At(text, line, column))
    }
}

#[test]
fn every_kind_of_value_is_read() {
    let text = "name: 1.10\nport: 0x50\nshare: 3\nis_on: yes\nlist: [a, '', 007]\npair: [-1, +2]\nkind: plain\n\
        either: {a: {sized: 3}}\nby_number: {1: x, 2: ü}\n";
    let expected = Everything {
        // Where a text is expected, the notation is kept.
        name: "1.10".to_owned(),
        port: 80,
        share: 3.0,
        is_on: true,
        list: vec!["a".to_owned(), String::new(), "007".to_owned()],
        pair: Some((-1, 2)),
        kind: Some(Kind::Plain),
        either: Some(Either::Keys { a: Kind::Sized(3) }),
        by_number: BTreeMap::from([(1, 'x'), (2, 'ü')]),
    };
    assert_eq!(read::<Everything>(text).unwrap(), expected);

    let whole: Vec<i32> = read("[1e3, -2.0, 0x1F, 1_000]").unwrap();
    assert_eq!(whole, [1000, -2, 31, 1000]);
    let real: Vec<f64> = read("[1e3, -2.5, 1e300, .inf]").unwrap();
    assert_eq!(real, [1000.0, -2.5, 1e300, f64::INFINITY]);

    let kinds: Vec<Kind> = read("[plain, plain: , sized: 1, both: [1, 2], keys: {a: 1}]").unwrap();
    let expected = [
        Kind::Plain,
        Kind::Plain,
        Kind::Sized(1),
        Kind::Both(1, 2),
        Kind::Keys { a: 1 },
    ];
    assert_eq!(kinds, expected);
    let either: Vec<Either> = read("[1, '1', x]").unwrap();
    let text = |text: &str| Either::Text(text.to_owned());
    assert_eq!(either, [Either::Number(1), text("1"), text("x")]);
    // A key without a value has nothing, or an empty value.
    let empty: Everything = read("{name: x, list: , pair: , by_number: ~}").unwrap();
    assert!(empty.list.is_empty() && empty.pair.is_none() && empty.by_number.is_empty());
}

#[test]
fn a_document_is_what_it_is_in_json() {
    let cases = [
        (
            "a: 1\nb: [x, 'y', \"\\u00fc\\n\"]\n",
            json!({"a": 1, "b": ["x", "y", "ü\n"]}),
        ),
        (
            "a: |\n  one\n  two\nb: >-\n  one\n  two\n",
            json!({"a": "one\ntwo\n", "b": "one two"}),
        ),
        (
            "- null\n- ~\n-\n- 'null'\n- yes\n- true\n",
            json!([null, null, null, "null", "yes", true]),
        ),
        (
            "{a: -1.5, b: 1e3, c: 1_000}",
            json!({"a": -1.5, "b": 1000.0, "c": 1000}),
        ),
        (
            "a: &x {b: 1}\nc: *x\nd: [*x]\n",
            json!({"a": {"b": 1}, "c": {"b": 1}, "d": [{"b": 1}]}),
        ),
        ("a: &x 1\nb: &x 2\nc: *x\n", json!({"a": 1, "b": 2, "c": 2})),
        ("!!str 1", json!("1")),
        ("! 1", json!("1")),
        ("!!int 1", json!(1)),
        ("!!int \"7\"", json!(7)),
        ("!!float 7", json!(7)),
        ("!!bool TRUE", json!(true)),
        ("!!null ''", json!(null)),
        ("!!map {a: !!seq []}", json!({"a": []})),
        ("--- # first\n1\n...\n", json!(1)),
        ("# a comment\n'a # b' # another\n", json!("a # b")),
        // Merged keys: existing ones stay.
        (
            "a: &x {b: 1, c: 2}\nd: {<<: *x, c: 3}\n",
            json!({"a": {"b": 1, "c": 2}, "d": {"b": 1, "c": 3}}),
        ),
        (
            "{<<: [{a: 1}, {a: 2, b: 2}], c: 3}",
            json!({"a": 1, "b": 2, "c": 3}),
        ),
        ("{'<<': 1}", json!({"<<": 1})),
    ];
    for (text, expected) in cases {
        assert_eq!(value(text), expected, "{text}");
    }
}

#[test]
fn values_know_their_positions() {
    let text = "a: [one, 'two']\nüb: &x three\nc:\n  - *x\nd: |\n  four\n";
    let values: BTreeMap<String, Value> = read(text).unwrap();
    assert_eq!(values.len(), 4);
    #[derive(serde::Deserialize)]
    struct Positions {
        a: Vec<At>,
        #[serde(rename = "üb")]
        b: At,
        c: Vec<At>,
        d: At,
    }
    let found: Positions = read(text).unwrap();
    let at = |text: &str, line, column| At(text.to_owned(), line, column);
    assert_eq!(found.a, [at("one", 1, 5), at("two", 1, 10)]);
    assert_eq!(found.b, at("three", 2, 8));
    // Its use, not its definition.
    assert_eq!(found.c, [at("three", 4, 5)]);
    assert_eq!(found.d.0, "four\n");
    // Other deserialisers have no positions.
    assert_eq!(serde_json::from_str::<At>("\"x\"").unwrap(), at("x", 0, 0));
}

/// A type that reads its keys itself.
#[derive(Debug)]
struct ByHand;

impl<'de> Deserialize<'de> for ByHand {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ByHandVisitor;
        impl<'de> Visitor<'de> for ByHandVisitor {
            type Value = ByHand;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("keys")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<ByHand, A::Error> {
                while let Some(key) = map.next_key::<String>()? {
                    if key != "a" {
                        return Err(de::Error::unknown_field(&key, &["a"]));
                    }
                    map.next_value::<u32>()?;
                }
                Err(de::Error::custom("nothing is right"))
            }
        }
        deserializer.deserialize_any(ByHandVisitor)
    }
}

#[test]
fn an_error_about_a_key_is_at_the_key() {
    let cases = [
        (
            "- a: 1\n  b: 2",
            "line 2, column 3: unknown field `b`, expected a",
        ),
        ("- a: 1", "line 1, column 3: nothing is right"),
        ("- 1", "line 1, column 3: expected keys, found `1`"),
    ];
    for (text, expected) in cases {
        assert_eq!(message_of::<Vec<ByHand>>(text), expected, "{text}");
    }
}

fn message_of<T: DeserializeOwned>(text: &str) -> String {
    match read::<T>(text) {
        Ok(_) => panic!("{text} can be read"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn what_is_said_of_a_wrong_value() {
    let table = "
        port: 1 => line 1, column 1: missing field `name`
        name: x↵prt: 1 => line 2, column 1: unknown field `prt`; did you mean `port`?
        - a => line 1, column 1: expected keys with values, found a list
        x => line 1, column 1: expected keys with values, found `x`
        name:↵port: 1 => line 1, column 5: expected a text, found nothing
        name: [a] => line 1, column 7: expected a text, found a list
        {name: x, port: http} => line 1, column 17: expected a whole number, found `http`
        {name: x, port: 70000} => line 1, column 17: expected a whole number up to 65535, found `70000`
        {name: x, port: -1} => line 1, column 17: expected a whole number up to 65535, found `-1`
        {name: x, port: 1.5} => line 1, column 17: expected a whole number up to 65535, found `1.5`
        {name: x, share: 5 %} => line 1, column 18: expected a number, found `5 %`
        {name: x, is_on: maybe} => line 1, column 18: expected true or false, found `maybe`
        {name: x, list: a} => line 1, column 17: expected a list, found `a`
        {name: x, list: [{}]} => line 1, column 18: expected a text, found keys with values
        {name: x, pair: [1]} => line 1, column 17: invalid length 1, expected a tuple of size 2
        {name: x, kind: big} => line 1, column 17: unknown name `big`, expected one of plain, sized, both, keys
        {name: x, kind: sized} => line 1, column 17: `sized` needs a value
        {name: x, kind: {plain: 1}} => line 1, column 25: expected nothing, found `1`
        {name: x, kind: {sized: 1, both: 1}}
            => line 1, column 17: expected a single key with its value, found keys with values
        {name: x, either: []} => line 1, column 19: data did not match any variant of untagged enum Either
        {name: x, by_number: {a: b}} => line 1, column 23: expected a whole number, found `a`
        {name: x, ? [1] : 2} => line 1, column 13: expected a text, found a list
    ";
    for [text, expected] in cases::rows(table) {
        assert_eq!(message_of::<Everything>(text), expected, "{text}");
    }
    let long = message_of::<u32>(&"ü".repeat(100));
    assert!(
        long.ends_with("ü...`") && long.chars().count() < 120,
        "{long}"
    );
}

#[test]
fn a_written_value_has_a_type_and_its_characters() {
    let text = "a: 1.10\nb: [007, 1e3, no, '5', null]\nc: {d: 0x1F, e: true, f: True, g: 12345678901234567890123}\n";
    let read: WrittenValue = read(text).unwrap();
    let shown = r#"{"a":1.10,"b":["007",1e3,"no","5",null],"c":{"d":0x1F,"e":true,"f":True,"g":12345678901234567890123}}"#;
    assert_eq!(read.to_string(), shown);
    let WrittenValue::Map(members) = &read else {
        panic!("{read:?}")
    };
    assert_eq!(
        members["a"].scalar(),
        Some((PlainScalar::Real(1.1), "1.10"))
    );
    // Other formats keep it, too.
    let json = serde_json::to_string(&read).unwrap();
    assert_eq!(serde_json::from_str::<WrittenValue>(&json).unwrap(), read);
    // Texts are those of JSON.
    let texts: String = ('\0'..'\u{2100}').collect();
    let list = WrittenValue::List(vec![WrittenValue::quoted(&*texts)]);
    assert_eq!(list.to_string(), serde_json::to_string(&[texts]).unwrap());
}

#[test]
fn what_is_said_of_a_wrong_document() {
    let table = "
        => line 1, column 1: there is nothing to be read
        # nothing↵ => line 1, column 1: there is nothing to be read
        a: 1↵---↵b: 2↵ => line 2, column 1: a second document begins, and only one is read
        a: 1↵b: 2↵a: 3↵ => line 3, column 1: `a` is here a second time
        a: !secret 1 => line 1, column 12: the tag `!secret` has no meaning here
        a: !!int abc => line 1, column 10: the tag `!!int` does not fit this value
        !!int 1.5 => line 1, column 7: the tag `!!int` does not fit this value
        !!float x => line 1, column 9: the tag `!!float` does not fit this value
        !!bool yes => line 1, column 8: the tag `!!bool` does not fit this value
        !!null x => line 1, column 8: the tag `!!null` does not fit this value
        !!seq {a: 1} => line 1, column 7: the tag `!!seq` does not fit this value
        !!map [1] => line 1, column 7: the tag `!!map` does not fit this value
        !!str [1] => line 1, column 7: the tag `!!str` does not fit this value
        !!seq x => line 1, column 7: the tag `!!seq` does not fit this value
        a: 18446744073709551616
            => line 1, column 4: `18446744073709551616` has more than 64 bits; put it in quotes if it is a text, or write a point or an exponent
        -9223372036854775809
            => line 1, column 1: `-9223372036854775809` has more than 64 bits; put it in quotes if it is a text, or write a point or an exponent
        0x10000000000000000
            => line 1, column 1: `0x10000000000000000` has more than 64 bits; put it in quotes if it is a text, or write a point or an exponent
        a: &x [*x] => line 1, column 8: this alias stands for something that it is in
        Accept: */*
            => line 1, column 9: nothing above has the `&name` for which this `*name` stands; a text that begins with `*` or `&` needs quotes
        a: b: c => line 1, column 5: `:` is not expected here; a text with a colon and a blank in it needs quotes
        a:↵  - b↵ c
            => line 3, column 2: another key of the mapping above is expected here; look at quotes and indentation
        {<<: 1} => line 1, column 6: what `<<` takes over is keys with values, or a list of these
    ";
    for [text, expected] in cases::rows(table) {
        assert_eq!(message_of::<Value>(text), expected, "{text}");
    }
    for text in ["a: [1", "a: {b", "a: \"b", "a: *x", "%YAML 9.0\n---\na"] {
        let message = message_of::<Value>(text);
        assert!(
            message.starts_with("line 1, column ") || message.starts_with("line 2, column "),
            "{text}: {message}"
        );
    }
}

#[test]
fn documents_are_bounded() {
    let deep = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    value(&deep(64));
    let message = message_of::<Value>(&deep(65));
    assert!(
        message.contains("more than 64 lists and mappings in one another"),
        "{message}"
    );
    // The scanner has a limit of its own, with the same message.
    for much in [format!("a: {}", deep(300)), "- ".repeat(300)] {
        let message = message_of::<Value>(&much);
        assert!(
            message.contains("more than 64 lists and mappings in one another"),
            "{message}"
        );
    }
    // By aliases, too.
    let nested: String = (1..70)
        .map(|n| format!("- &x{n} [*x{}]\n", n - 1))
        .collect();
    let message = message_of::<Value>(&format!("- &x0 []\n{nested}"));
    assert!(message.contains("in one another"), "{message}");
    let laughs: String = (1..20)
        .map(|n| format!("- &x{n} [{}]\n", vec![format!("*x{}", n - 1); 9].join(",")))
        .collect();
    let message = message_of::<Value>(&format!("- &x0 ha\n{laughs}"));
    assert!(message.contains("more than 250000 values"), "{message}");
    let long = format!("[{}1]", "1,".repeat(249_998));
    assert_eq!(value(&long).as_array().unwrap().len(), 249_999);
    let longer = format!("[{}1]", "1,".repeat(249_999));
    let message = message_of::<Value>(&longer);
    assert!(message.contains("more than 250000 values"), "{message}");
    assert!(read_up_to::<Value>(&longer, 250_001).is_ok());
}

/// The expansion of a few bytes is counted before it is made: merged keys, dropped duplicates, and
/// long texts.
#[test]
fn what_merges_and_aliases_stand_for_is_bounded() {
    let keys: String = (0..40_000).map(|n| format!("k{n}: 1, ")).collect();
    let many = |what: &str, count: usize| vec![what; count].join(",");
    let mapping_merged = format!("- &b {{{keys}}}\n- {{<<: [{}]}}\n", many("*b", 600));
    let dropped_again = format!(
        "- &b {{k: 1}}\n- &l [{}]\n{}",
        many("*b", 5000),
        "- {<<: *l}\n".repeat(5000)
    );
    let inline = format!("{}{{{keys}}}{}", "{<<: ".repeat(60), "}".repeat(60));
    let long = "x".repeat(1 << 18);
    let long_text = format!("- &t {long}\n- [{}]\n", many("*t", 10_000));
    let long_key = format!("- &t {long}\n{}", "- {*t : 1}\n".repeat(10_000));
    let merged_long_key = format!(
        "- &b {{? {long}\n : 1}}\n- {{<<: [{}]}}\n",
        many("*b", 10_000)
    );
    for text in [
        mapping_merged,
        dropped_again,
        inline,
        long_text,
        long_key,
        merged_long_key,
    ] {
        let message = message_of::<Value>(&text);
        assert!(
            message.contains("more than 250000 values"),
            "{}: {message}",
            &text[..20]
        );
    }
    // A large document without aliases is read.
    let large = format!("- &b {{{keys}}}\n- {{<<: *b, k0: 2, own: {long}}}\n");
    let large = value(&large);
    assert_eq!(large[1].as_object().unwrap().len(), 40_001);
    assert_eq!((&large[0]["k0"], &large[1]["k0"]), (&json!(1), &json!(2)));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_is_read_there_is_no_panic(text in "([ab]|[-:?,&*!|>'\"%@`#{}\\[\\]] ?|<<|\n *|é|\u{0}){0,40}") {
        let _ = read::<Value>(&text);
        let _ = read::<Everything>(&text);
    }
}
