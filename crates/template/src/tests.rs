//! Templates have the values that Jinja gives them.

use std::collections::BTreeMap;
use std::rc::Rc;

use proptest::prelude::*;

use super::*;

mod bounds;

/// A number that is known only later: its name, or an operation with it.
#[derive(Debug, Clone, PartialEq)]
struct Written(String);

impl Later for Written {
    fn name(&self) -> String {
        self.0.clone()
    }

    fn size(&self) -> usize {
        self.0.len()
    }

    fn constant(number: i64) -> Option<Written> {
        Some(Written(number.to_string()))
    }

    fn apply(
        operator: TemplateOperator,
        left: &Written,
        right: &Written,
    ) -> Option<Result<Written, String>> {
        let sign = match operator {
            TemplateOperator::Add => "+",
            TemplateOperator::Subtract => "-",
            TemplateOperator::Multiply => "*",
            _ => return None,
        };
        Some(Ok(Written(format!("({}{sign}{})", left.0, right.0))))
    }
}

const BOUNDS: Bounds = Bounds {
    steps: 1_000_000,
    bytes: 1 << 20,
};

fn named(name: &str) -> Option<Value<Written>> {
    let members = [
        ("site".to_owned(), "wide".into()),
        ("delay".to_owned(), Value::Real(0.5)),
    ];
    Some(match name {
        "width" => Value::Integer(3),
        "half" => Value::Real(0.5),
        "name" => "x&y".into(),
        "version" => Value::Written("1.10".into(), Rc::new(Value::Real(1.1))),
        "off" => Value::Written("False".into(), Rc::new(Value::Flag(false))),
        "two" => Value::Written("0x2".into(), Rc::new(Value::Integer(2))),
        "empty" => "".into(),
        "yes" => Value::Flag(true),
        "words" => Value::List(Rc::new(vec!["b".into(), "a".into(), "c".into()])),
        "level" => Value::Named("far".into(), Rc::new(BTreeMap::from(members))),
        "large" => "x".repeat(100_000).into(),
        "n" | "user" => Value::Later(Written(name.to_owned())),
        _ => return None,
    })
}

/// Renders a text. Later values are in `<>`.
fn rendered(text: &str) -> Result<String, TemplateError> {
    let parts = Template::parse(text)?.render(&named, &mut BOUNDS.clone())?;
    let parts = parts.into_iter().map(|part| match part {
        TextPart::Text(text) => text,
        TextPart::Later(Written(name)) => format!("<{name}>"),
    });
    Ok(parts.collect())
}

#[track_caller]
fn check(table: &str) {
    for [text, expected] in cases::rows(table) {
        assert_eq!(rendered(text).as_deref(), Ok(expected), "{text}");
    }
}

/// The values are those of Jinja, except for the notation of truth values, `none`, and texts within
/// lists and maps, and for levels.
#[test]
fn expressions_have_the_values_of_jinja() {
    check(
        r#"
        plain { text } => plain { text }
        a{{ width }}b{{width}} => a3b3
        {{ 1 + 2 * 3 }} {{ (1 + 2) * 3 }} {{ 7 // 2 }} {{ -7 // 2 }} => 7 9 3 -4
        {{ 7 % 3 }} {{ -7 % 3 }} {{ 7 % -3 }} {{ 7.5 % 2 }} => 1 2 -2 1.5
        {{ 2 ** 10 }} {{ 7 / 2 }} {{ 6 / 2 }} {{ 2 ** -1 }} => 1024 3.5 3.0 0.5
        {{ 1_000 }} {{ 1e3 }} {{ 1.50 }} {{ -width }} => 1000 1000.0 1.5 -3
        {{ 'a' ~ 1 + 'b' }} => a1b
        {{ 'a' + 'b' }} {{ 'ab' * 2 }} {{ [1] + [2] }} => ab abab [1, 2]
        {{ width > 2 and width < 4 }} {{ not width }} {{ 0 or 'x' }} => true false x
        {{ 'b' in words }} {{ 'd' not in words }} {{ 'x' in name }} => true true true
        {{ 1 == 1.0 }} {{ 'a' < 'b' }} {{ 1 != 'a' }} => true true true
        {{ 'y' if width == 3 else 'n' }}{{ 'z' if false }} => y
        {{ level }} {{ level.site }} {{ level['site'] }} {{ level.delay * 2 }} => far wide wide 1.0
        {{ level == 'far' }} {{ 'big' if level.missing else 'small' }} => true small
        {{ words[0] }}{{ words[-1] }} {{ words[1:] }} {{ name[:1] }} {{ 'äbc'[-2:] }} => bc ["a", "c"] x bc
        {{ {'a': 1, 'b': [none, true]} }} => {"a": 1, "b": [none, true]}
        {{ {'a': {'b': 2}}.a.b }}{{ {} }} => 2{}
        {{ "it's" }} {{ 'a\n\'b\'' }} {{ '}}' }} => it's a↵'b' }}
        {{ [] * 1000000000000000000 }} => []
        {{ 'äbc'[0] }}{{ 'äbc'[-1] }}{{ 'abc'.1 }} {{ 'abc'[3] is defined }} => äcb false
        {{ level[0] }} {{ {'far': 1}[level] }} => f 1
        {{ [[1, 2], [3, 4]].0.1 }} {{ [1.5].0 }} => 2 1.5
    "#,
    );
}

#[test]
fn numbers_are_those_of_python() {
    check("
        {{ 1 % 0.1 }} {{ 7 // 0.1 }} {{ -1 % 0.1 }} {{ 7.5 % -2 }} {{ -7.5 // 2 }}
            => 0.09999999999999995 69.0 5.551115123125783e-17 -0.5 -4.0
        {{ 1 ** 5000000000 }} {{ (-1) ** 5000000001 }} {{ 0 ** 5000000000 }} {{ 0 ** 0 }} => 1 -1 0 1
        {{ true == 1 }} {{ true + 1 }} {{ [true, 3] | sum }} {{ 0 in [false] }} {{ true | int }} => true 2 4 true 1
        {{ true < 2 }} {{ true == 'x' }} {{ false == none }} => true false false
        {{ 9007199254740993 == 9007199254740992.0 }} {{ 9007199254740993 > 9007199254740992.0 }} => false true
        {{ 1e15 }} {{ 0.0001 }} {{ 1.0 }} => 1000000000000000.0 0.0001 1.0
        {{ 2.5 | round }} {{ 3.5 | round }} {{ -2.5 | round }} {{ 0.15 | round(1) }} {{ 2.675 | round(2) }}
            => 2.0 4.0 -2.0 0.1 2.67
        {{ 1234 | round(-2) }} {{ 1250 | round(-2) }} {{ 1350 | round(-2) }} {{ -15 | round(-1) }} {{ 5 | round(-30) }}
            => 1200 1200 1400 -20 0
        {{ 1234.5 | round(-2) }} {{ 5.5 | round(-400) }} {{ 1.5 | round(400) }} {{ 1e15 | round(15) }}
            => 1200.0 0.0 1.5 1000000000000000.0
    ");
    // Jinja writes exponents differently: `1e+300` is the same.
    check("{{ 1e300 | round(15) }} {{ 1.5e-7 }} => 1e300 1.5e-7");
}

#[test]
fn filters_and_tests_are_those_of_jinja() {
    check(
        r#"
        {{ name | upper }} {{ name | e }} {{ 'ab CD' | capitalize }} => X&Y x&amp;y Ab cd
        {{ nothing | default('d') }} {{ empty | default('d') }}{{ empty | d('d', true) }} => d d
        {{ level.missing | default([]) | length }} {{ words | length }} {{ 'äb' | count }} => 0 3 2
        {{ words | join(', ') }} {{ words | sort | join }} {{ words | reverse | first }} => b, a, c abc c
        {{ [3, 1, 2] | max }} {{ [3, 1.5] | min }} {{ [1, 2] | sum }} {{ words | last }} => 3 1.5 3 c
        {{ ' 7 ' | int + 1 }} {{ 7.9 | int }} {{ 'x' | int(0) }} {{ '1.5' | float }} => 8 7 0 1.5
        {{ 2.567 | round(2) }} {{ 2.5 | round }} {{ 7 | round }} {{ -3 | abs }} => 2.57 2.0 7 3
        {{ -level.delay | abs }} {{ 12 | string | length }} => 0.5 2
        {{ 'a-b-c' | replace('-', '+') }} {{ 'a b' | split | last }} {{ 'a,b' | split(',') }} => a+b+c b ["a", "b"]
        {{ ' a ' | trim }} {{ 'abc' | list | first }} {{ 'AB' | lower }} => a a ab
        {{ nothing is defined }} {{ name is defined }} {{ level.x is undefined }} => false true true
        {{ 4 is even }} {{ 4 is not odd }} {{ 9 is divisibleby(3) }} {{ none is none }} => true true true true
        {{ 1.5 is number }} {{ name is string }} => true true
        {{ level | first }} {{ level | list | join('-') }} {{ level | length }} => f f-a-r 3
        {{ range(3) }} {{ range(1, 3) }} {{ range(5, 0, -2) }} {{ range(stop=2) }} => [0, 1, 2] [1, 2] [5, 3, 1] [0, 1]
    "#,
    );
}

#[test]
fn statements_are_those_of_jinja() {
    check("
        {% for i in range(width) %}{{ i }},{% endfor %} => 0,1,2,
        {% for i in [] %}x{% else %}none{% endfor %} => none
        {% for i in range(6) if i % 2 %}{{ loop.index }}:{{ i }}{{ '' if loop.last else ' ' }}{% endfor %}
            => 1:1 2:3 3:5
        {% for a, b in [[1, 2], [3, 4]] %}{{ a }}-{{ b }};{% endfor %} => 1-2;3-4;
        {% for k in {'b': 1, 'a': 2} %}{{ k }}{% endfor %} => ab
        {% for i in range(2) %}{% for j in range(2) %}{{ loop.index0 }}{% endfor %}{{ loop.length }}{% endfor %}
            => 012012
        {% if width > 5 %}a{% elif width > 2 %}b{% else %}c{% endif %} => b
        {% set a = 2 %}{{ a * width }}{% set a %}<{{ a }}>{% endset %}{{ a }} => 6<2>
        {% set a = 1 %}{% for i in range(2) %}{% set a = a + 1 %}{{ a }}{% endfor %}{{ a }} => 221
        a {%- if true %} b {% endif -%} c => a b c
        a {{- 1 -}} b{#- comment -#} c {# {{ #}d↵ => a1bc d↵
        {% raw %}{{ a }}{% if %}{% endraw %}{{ width }} => {{ a }}{% if %}3
        x {%- raw -%}  a  {%- endraw -%}  b{% raw %} c {%- endraw %} d => xab c d
        {% for c in level %}{{ c }},{% endfor %} => f,a,r,
        {% for i in 'ab' %}{% for j in [] %}{% else %}{% if 1 %}{{ loop.index }}{% endif %}{% endfor %}{% endfor %}
            => 12
        {% for i in 'ab' %}{% for j in range(loop.index) %}-{% endfor %},{% endfor %} => -,--,
    ");
}

#[test]
fn what_is_known_later_is_inserted_and_reckoned_with() {
    check(
        "
        a{{ n }}b => a<n>b
        {{ n + 1 }} {{ 2 * (user - n) }} {{ -n }} => <(n+1)> <(2*(user-n))> <(0-n)>
        {{ 'file-' ~ n ~ '.txt' }}{% set m = n %}{{ m }} => file-<n>.txt<n>
        {% set t %}{{ n }}-{{ width }}{% endset %}{{ t }}{{ t }} => <n>-3<n>-3
        {% for n in range(2) %}{{ n + 1 }}{% endfor %}{{ n }} => 12<n>
        {{ [n, user][1] }} => <user>
        {{ n is defined }} => true
    ",
    );
    for text in [
        "{{ n / 2 }}",
        "{{ n | upper }}",
        "{{ n == 1 }}",
        "{% if n %}a{% endif %}",
        "{{ 'a' if user == 0 else 'b' }}",
        "{% for i in n %}{% endfor %}",
        "{{ range(n) }}",
        "{{ [n] }}",
        "{{ [n] | join }}",
        "{{ 'a' * n }}",
        "{{ n + 'a' }}",
        "{{ n + 0.5 }}",
        "{{ ('a' ~ n) | length }}",
        "{{ n is odd }}",
        "{{ 4 is divisibleby(n) }}",
        "{{ n[0] }}",
        "{{ n.a }}",
        "{{ 'abc'[n:] }}",
        "{{ {n: 1} }}",
        "{{ [n, 1] | min }}",
        "{{ [n, 1] | sort }}",
        "{{ n in [1, 2] }}",
        "{{ 1 in [n] }}",
        "{{ 'a' | replace('a', n) }}",
        "{{ '' | default('b', n) }}",
        "{{ 1.5 | round(n) }}",
        "{% for a, b in [n] %}{% endfor %}",
    ] {
        let error = rendered(text).unwrap_err();
        assert!(
            matches!(error, TemplateError::Later(_)),
            "{text}: {error:?}"
        );
    }
}

#[test]
fn a_number_is_inserted_as_it_is_written() {
    check(
        "
        {{ version }}-{{ off }}-{{ two }} => 1.10-False-0x2
        {{ version ~ 'a' }}{{ [version] | join }} => 1.10a1.10
        {{ version | string }}{{ [version, 1] | max }} => 1.101.10
        {{ two * 2 }} {{ -two }} {{ two + n }} => 4 -2 <(2+n)>
        {{ version == 1.1 }} {{ version in [1.1] }} {{ two < 3 }} => true true true
        {% if off %}a{% else %}b{% endif %}{{ not off }} => btrue
        {{ 'abc'[two] }}{{ 'abc'[:two] }}{{ range(two) | length }} => cab2
        {{ two is even }} {{ two is number }} {{ two is string }} => true true false
        {{ version | round(1) }} {{ version | int }} {{ two | abs }} => 1.1 1 2
    ",
    );
}

#[test]
fn what_has_no_value_says_why() {
    let table = "
        {{ nmae }} => `nmae` is not known
        {{ level.nmae }} => `nmae` is not known
        {% if nmae %}a{% endif %} => `nmae` is not known
        {{ name => `}}` is missing
        {{ }} => `}}` stands in the place of a value
        {{ a b }} => `b` is not expected
        {% for %} => a name is missing
        {% for i in range(2) %}a => `{% endfor %}` is missing
        {% endfor %} => `{% endfor %}` ends nothing
        {% macro a() %} => `macro` is no statement; there are for, if, set and raw
        {% raw %} => `{% endraw %}` is missing
        {# a => `#}` is missing
        {{ 'a }} => `'` is missing
        {{ 1 // 0 }} => a division by zero
        {{ 1.5 % 0 }} => a division by zero
        {{ 2 ** 999 }} => a number is too large
        {{ name - 1 }} => `-` has no meaning for a text and a number
        {{ name < 1 }} => `<` has no meaning for a text and a number
        {{ 1 | first }} => there is nothing like the items of a number
        {{ name | round(a=1) }} => the arguments of `round` are precision
        {{ name | upper(1) }} => the arguments of `upper` are none
        {{ [1, 'a'] | sort }} => a number and a text have no order
        {{ 'x' | int }} => there is nothing like a number in a text
        {{ name.x }} => a text has no members
        {{ range(1, 2, 0) }} => the step of `range` is not 0
        {{ a ? b }} => `?` means nothing here
        {% set loop = 1 %} => `loop` cannot be a name
        {{ 1 == 1 == 1 }} => two comparisons in a row: join them with `and`, or write parentheses
        {{ 1 < 2 not in [3] }} => two comparisons in a row: join them with `and`, or write parentheses
        {{ 0 ** -1 }} => a division by zero
        {{ (-8) ** 0.5 }} => `**` has no meaning for a negative number and a fraction
        {{ 1e300 * 1e300 }} => a number is too large
        {{ 1e300 // 1e-300 }} => a number is too large
        {{ 10.0 ** 400 }} => a number is too large
        {{ 1e999 }} => `1e999` is too large
        {{ 'inf' | float }} => there is nothing like a number in a text
        {{ (-170141183460469231731687303715884105727 - 1) | abs }} => a number is too large
        {{ range(stop=2, 5) }} => `range` is given `stop` twice
        {{ 1.0[0] }} => a number has no member 0
        {{ words[none] }} => there is nothing like a member that is none
    ";
    for [text, expected] in cases::rows(table) {
        let error = rendered(text).unwrap_err().to_string();
        assert_eq!(error, expected, "{text}");
    }
    for text in [
        "{{ a | nofilter }}",
        "{{ 1 is notest }}",
        "{{ nofunction(1) }}",
    ] {
        let error = rendered(&text.replace("a |", "1 |"))
            .unwrap_err()
            .to_string();
        assert!(error.starts_with("there is no "), "{error}");
    }
}

#[test]
fn messages_repeat_no_texts_and_are_short() {
    let written = "{{ 'Bearer s3cret' 'x' }}";
    let error = rendered(written).unwrap_err().to_string();
    assert_eq!(error, "a text in quotes is not expected");
    for text in [
        "{{ {}['a' * 100000] }}".to_owned(),
        format!("{{{{ {} }}}}", "1".repeat(100_000)),
        format!("{{{{ {} }}}}", "a".repeat(100_000)),
        "{{ 1 1e300 }}".to_owned(),
    ] {
        let error = rendered(&text).unwrap_err().to_string();
        assert!(error.len() < 100, "{error}");
    }
}

#[test]
fn the_names_in_an_expression_are_known() {
    let names = |text: &str| {
        let expression = Expression::parse(text).unwrap();
        expression.names().into_iter().collect::<Vec<_>>()
    };
    assert_eq!(
        names(
            "a.b[c] + (d | default(e)) if f is odd else [g, {'h': -i}, j[k:l], range(m), not o or p]"
        ),
        [
            "a", "c", "d", "e", "f", "g", "i", "j", "k", "l", "m", "o", "p"
        ]
    );
}

/// The guide lists all of them.
#[test]
fn all_filters_and_tests_are_documented() {
    let guide = include_str!("../../../docs/SUITES.md");
    let templates = guide.split("\n## Templates\n").nth(1).unwrap();
    let listed = templates.split("Filters are ").nth(1).unwrap();
    let listed = listed.split('.').next().unwrap();
    let words: Vec<&str> = listed.split(|c: char| !c.is_ascii_alphabetic()).collect();
    let all = filters::FILTERS.iter().map(|(name, ..)| name);
    for name in all.chain(filters::TESTS.iter().map(|(name, ..)| name)) {
        assert!(words.contains(name), "{name}");
    }
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in "([a-n{}%#'\"\\[\\]()|.,:+*/~=<> 0-9-]|\\{\\{|\\}\\}|\\{%|%\\}|for |in |if |end|set |range\\(|n){0,40}") {
        let _ = rendered(&text);
    }

    #[test]
    fn sums_and_products_are_right(a in -1_000_i64..1_000, b in 1_i64..1_000, c in -1_000_i64..1_000) {
        let text = format!("{{{{ ({a}) + ({b}) * ({c}) - ({a}) // ({b}) + ({c}) % ({b}) }}}}");
        let expected = a + b * c - a.div_euclid(b) + c.rem_euclid(b);
        prop_assert_eq!(rendered(&text).unwrap(), expected.to_string());
    }
}
