//! Templates stay within their limits.

use std::time::{Duration, Instant};

use super::*;

/// Each would take gigabytes or hours.
#[test]
fn nothing_takes_more_than_its_bounds() {
    let doubled = |start: &str, step: &str| format!("{start}{}", step.repeat(60));
    for text in [
        "{% for i in range(100000) %}{% for j in range(100000) %}{{ i * j }}{% endfor %}{% endfor %}".to_owned(),
        doubled("{% set x = 'aaaaaaaaaa' %}", "{% set x = x ~ x %}"),
        doubled("{% set x = 'aaaaaaaaaa' %}", "{% set x %}{{ x }}{{ x }}{% endset %}"),
        doubled("{% set x = [1] %}", "{% set x = x + x %}"),
        doubled("{% set x = [1] %}", "{% set x = [x, x] %}") + "{{ x }}",
        doubled("{% set x = [1] %}", "{% set x = [x, x] %}") + "{{ x == x }}",
        doubled("{% set x = {'a': 1} %}", "{% set x = {'a': x, 'b': x} %}") + "{{ x }}",
        doubled("{% set x = n %}", "{% set x = x + x %}"),
        doubled("{% set x = 'a' ~ n %}", "{% set x = x ~ x %}"),
        format!("{{{{ 'aaaaaaaaaa'{} }}}}", " | replace('a', 'aaaaaaaaaa')".repeat(20)),
        "{{ 'a' * 99999999999 }}{{ [1] * 99999999999 }}".to_owned(),
        "{{ [1] * 99999999999 }}".to_owned(),
        "{{ range(99999999999999) }}".to_owned(),
        "{{ range(-170141183460469231731687303715884105727, 170141183460469231731687303715884105727) }}".to_owned(),
        format!("{{% for i in range(30000) %}}{}{{% endfor %}}", "x".repeat(10_000)),
        "{% set x = 'a' * 500000 %}{% for i in range(30000) %}{{ 'b' in x }}{% endfor %}".to_owned(),
        "{% set x = 'a' * 500000 %}{% for i in range(30000) %}{{ x == x ~ '' }}{% endfor %}".to_owned(),
    ] {
        let begun = Instant::now();
        let error = rendered(&text).unwrap_err();
        let is_bound = matches!(error, TemplateError::TooLong | TemplateError::TooLarge);
        assert!(is_bound, "{}: {error:?}", &text[..40]);
        assert!(begun.elapsed() < Duration::from_secs(20), "{}", &text[..40]);
    }
}

/// With the limits of a suite, each would take many times the memory of its bytes.
#[test]
fn memory_is_bounded_before_it_is_taken() {
    let peak_kib = || -> u64 {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = line.unwrap().trim().trim_end_matches(" kB");
        kib.parse().unwrap()
    };
    let bounds = Bounds {
        steps: 20_000_000,
        bytes: 256 << 20,
    };
    for text in [
        "{{ range(9999999999) }}",
        "{{ range(9999999999) | length }}",
        "{{ ('a' * 90000000) | list }}",
        "{% for i in 'a' * 90000000 %}{% endfor %}",
        "{{ ('a,' * 40000000) | split(',') }}",
        "{{ ('&' * 60000000) | e }}",
        "{{ [1] * 60000000 }}",
        "{% set l = ('a' * 4000000) | list %}",
        "{% set l = ('a,' * 4000000) | split(',') %}",
    ] {
        let rendered = Template::parse(text).unwrap();
        let rendered = rendered.render(&named, &mut bounds.clone());
        assert_eq!(rendered, Err(TemplateError::TooLarge), "{text}");
        assert!(peak_kib() < 1 << 20, "{text}: {} KiB", peak_kib());
    }
}

#[test]
fn no_nesting_takes_the_stack() {
    for text in [
        format!("{{{{ {}1{} }}}}", "(".repeat(10_000), ")".repeat(10_000)),
        format!("{{{{ {}1 }}}}", "-".repeat(10_000)),
        format!("{{{{ {}1 }}}}", "not ".repeat(10_000)),
        format!("{{{{ {}1 }}}}", "1 + ".repeat(100_000)),
        format!("{{{{ 1{} }}}}", "[0]".repeat(100_000)),
        format!("{{{{ 1{} }}}}", " | abs".repeat(100_000)),
        format!("{{{{ {}1 }}}}", "1 and ".repeat(100_000)),
        format!("{{{{ {}1{} }}}}", "[".repeat(10_000), "]".repeat(10_000)),
        "{% if 1 %}".repeat(10_000),
        "{{1}}".repeat(500_000),
        "{##}a".repeat(1_100_000),
        format!("{{{{ {} }}}}", "1 if 1 else ".repeat(10_000)),
    ] {
        assert!(
            matches!(rendered(&text), Err(TemplateError::Syntax(_))),
            "{}",
            &text[..20]
        );
    }
    let sum = format!("{{{{ {}1 }}}}", "1 + ".repeat(199));
    assert_eq!(rendered(&sum).as_deref(), Ok("200"));
}

/// Each level would take space on the stack when the value is formatted or dropped.
#[test]
fn values_are_not_nested_deeper_than_the_stack() {
    let nested = |levels: usize, step: &str| {
        rendered(&format!(
            "{{% set x = [1] %}}{}{{{{ x }}}}",
            step.repeat(levels)
        ))
    };
    for step in [
        "{% set x = [x] %}",
        "{% set x = {'a': x} %}",
        "{% set x = [x] * 1 %}{% set x = [x] + [1] %}",
    ] {
        let error = nested(6_000, step).unwrap_err();
        assert_eq!(
            error.to_string(),
            "a value is nested more than 64 levels deep"
        );
    }
    assert!(nested(60, "{% set x = [x] %}").is_ok());
}

#[test]
fn names_are_short_and_counted() {
    let with_name = |length: usize| {
        let name = "A".repeat(length);
        rendered(&format!("{{% for {name} in range(2) %}}a{{% endfor %}}"))
    };
    assert_eq!(with_name(200).as_deref(), Ok("aa"));
    assert!(matches!(with_name(201), Err(TemplateError::Syntax(_))));
    let names: Vec<String> = (0..100).map(|number| format!("a{number}")).collect();
    let many = format!(
        "{{% set l = [range(100)] * 100 %}}{{% for i in range(1000) %}}{{% for {} in l %}}{{% endfor %}}{{% endfor %}}",
        names.join(", ")
    );
    assert_eq!(rendered(&many), Err(TemplateError::TooLong));
}

#[test]
fn what_is_given_by_name_is_counted() {
    let used = |times: usize| rendered(&"{% set a = large %}".repeat(times));
    assert_eq!(used(10).as_deref(), Ok(""));
    assert_eq!(used(11), Err(TemplateError::TooLarge));
}

#[test]
fn what_a_loop_knows_of_itself_is_counted_where_it_is_used() {
    let looped = |body: &str| {
        rendered(&format!(
            "{{% set l = range(300) %}}{{% for i in l %}}{{% for j in l %}}{body}{{% endfor %}}{{% endfor %}}"
        ))
    };
    assert_eq!(looped("{% if j %}{% endif %}").as_deref(), Ok(""));
    assert_eq!(
        looped("{% if loop %}{% endif %}"),
        Err(TemplateError::TooLong)
    );
}
