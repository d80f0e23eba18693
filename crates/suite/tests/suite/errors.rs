//! Every way in which a suite file can be wrong, and what is said about it.

use std::fmt::Write;

use suite::{Overrides, Selection, SuiteError, parse, resolve};

/// A suite with one test whose loop is this.
fn with_loop(steps: &str) -> String {
    let steps: String = steps
        .lines()
        .map(|line| format!("      {line}\n"))
        .collect();
    format!("suite: s\nparams: {{width: 3}}\ntests:\n  - name: T\n    loop:\n{steps}")
}

fn attempt(text: &str, overrides: &Overrides) -> Result<(), SuiteError> {
    let spec = parse("s.yaml", text)?;
    resolve("s.yaml", text, &spec, overrides).map(|_| ())
}

/// Wrong steps of a loop, by what is wrong with them.
const STEPS: &[(&str, &str)] = &[
    ("no action", "- body: {size: 1}\n  measure: M"),
    ("two actions", "- PUT: a\n  GET: b\n  measure: M"),
    ("unknown key", "- PUT: a\n  mesure: M"),
    ("small method", "- put: a\n  measure: M"),
    ("nothing measured", "- GET: a"),
    (
        "size beyond 64 bits",
        "- PUT: a\n  body: {size: 18446744073709551616}\n  measure: M",
    ),
    ("bare braces", "- GET: {{ width }}\n  measure: M"),
    ("path up", "- GET: ../a\n  measure: M"),
    ("path from root", "- GET: /etc/passwd\n  measure: M"),
    ("strange depth", "- PROPFIND: a\n  depth: 2\n  measure: M"),
    ("no time", "- LOCK: a\n  timeout: soon\n  measure: M"),
    ("no size", "- PUT: a\n  body: {size: big}\n  measure: M"),
    ("huge body", "- PUT: a\n  body: {size: 2GiB}\n  measure: M"),
    (
        "two bodies",
        "- PUT: a\n  body: {size: 1, text: x}\n  measure: M",
    ),
    ("empty body", "- PUT: a\n  body: {}\n  measure: M"),
    (
        "unknown fill",
        "- PUT: a\n  body: {size: 1, fill: zeros}\n  measure: M",
    ),
    (
        "no status",
        "- GET: a\n  expect: {status: [ok]}\n  measure: M",
    ),
    (
        "status out of range",
        "- GET: a\n  expect: {status: [99]}\n  measure: M",
    ),
    (
        "live expectation",
        "- GET: a\n  expect: {body: {text: \"{{ n }}\"}}\n  measure: M",
    ),
    (
        "no status that is unsupported",
        "- GET: a\n  unsupported: [99]\n  measure: M",
    ),
    (
        "no header that is missing",
        "- GET: a\n  unsupported: [ETag]\n  measure: M",
    ),
    (
        "a missing header that is none",
        "- GET: a\n  unsupported: [no E Tag]\n  measure: M",
    ),
    ("unknown save", "- LOCK: a\n  save: {t: body}\n  measure: M"),
    (
        "save over a parameter",
        "- LOCK: a\n  save: {width: lock-token}\n  measure: M",
    ),
    (
        "our header",
        "- GET: a\n  headers: {Host: elsewhere}\n  measure: M",
    ),
    (
        "repetition with a name that is taken",
        "- repeat: 2\n  as: width\n  steps: [{GET: a, measure: M}]",
    ),
    (
        "the name of a repetition outside of it",
        "- repeat: 2\n  as: i\n  steps: [{GET: \"{{ i }}\"}]\n- GET: \"{{ i }}\"\n  measure: M",
    ),
    (
        "computing with the number of a repetition",
        "- repeat: 2\n  as: i\n  steps: [{GET: \"{{ i / 2 }}\", measure: M}]",
    ),
    (
        "a name without a repetition",
        "- GET: a\n  as: i\n  measure: M",
    ),
    (
        "header with a key",
        "- COPY: a\n  headers: {Destination: /elsewhere}\n  measure: M",
    ),
    (
        "another method in a header",
        "- GET: a\n  headers: {X-HTTP-Method-Override: DELETE}\n  measure: M",
    ),
    (
        "another method in another header",
        "- GET: a\n  headers: {x-method-override: \"{{ n }}\"}\n  measure: M",
    ),
    (
        "path that a server says",
        "- LOCK: a\n  save: {t: header X}\n- GET: \"{{ t }}\"\n  measure: M",
    ),
    (
        "no header name",
        "- GET: a\n  headers: {\"a b\": c}\n  measure: M",
    ),
    (
        "a condition on n",
        "- GET: \"{% if n > 1 %}warm{% endif %}\"\n  measure: M",
    ),
    (
        "a condition on the user",
        "- GET: \"{% if user in [0, 1] %}admin{% endif %}\"\n  measure: M",
    ),
    (
        "a condition on what is saved",
        "- LOCK: a\n  save: {t: lock-token}\n- GET: a\n  headers: {X-T: \"{{ 'x' if t else 'y' }}\"}\n  measure: M",
    ),
    (
        "a part of what is saved",
        "- LOCK: a\n  save: {t: lock-token}\n- GET: a\n  headers: {X-T: \"{{ t[0] }}\"}\n  measure: M",
    ),
    (
        "the smallest of what is known later",
        "- GET: \"{{ [n, user] | min }}\"\n  measure: M",
    ),
    ("unknown name", "- GET: \"{{ widht }}\"\n  measure: M"),
    (
        "unknown filter",
        "- GET: \"{{ width | lenght }}\"\n  measure: M",
    ),
    (
        "used before it is saved",
        "- GET: a\n  headers: {X-T: \"{{ t }}\"}\n  measure: M\n- GET: b\n  save: {t: header X}",
    ),
    (
        "used in the step that saves it",
        "- GET: a\n  save: {t: header X}\n  expect: {contains: [\"{{ t }}\"]}\n  measure: M",
    ),
    (
        "saved in another alternative",
        "- choose:\n  - weight: 1\n    steps: [{GET: a, save: {t: header X}}]\n  - weight: 1\n    steps: [{GET: b, headers: {X-T: \"{{ t }}\"}, measure: M}]",
    ),
    (
        "a header of two lines",
        "- GET: a\n  headers: {X-A: \"b\\nc\"}\n  measure: M",
    ),
    (
        "a type of two lines",
        "- PUT: a\n  body: {text: x, type: \"b\\r\\nc\"}\n  measure: M",
    ),
    (
        "a timeout of half a second",
        "- LOCK: a\n  timeout: 500ms\n  measure: M",
    ),
    (
        "a timeout that is too long",
        "- LOCK: a\n  timeout: 4294967296s\n  measure: M",
    ),
    (
        "a pause without a unit",
        "- GET: a\n  measure: M\n- think: {constant: 100}",
    ),
    (
        "an unknown alias",
        "- GET: a\n  headers: {Accept: */*}\n  measure: M",
    ),
    ("computing with n", "- GET: \"{{ n / 2 }}\"\n  measure: M"),
    (
        "filtering n",
        "- GET: \"{{ n | upper | replace('N', 'X') }}\"\n  measure: M",
    ),
    ("broken template", "- GET: \"{% for %}\"\n  measure: M"),
    (
        "broken template of a secret",
        "- GET: a\n  headers: {X-Api-Key: \"s3cret{{ 1 / 0 }}\"}\n  measure: M",
    ),
    (
        "endless template",
        "- GET: \"{% for i in range(99999) %}{% for j in range(99999) %}{{ j }}{% endfor %}{% endfor %}\"\n  measure: M",
    ),
    ("measured tree of resources", "- tree: t/\n  measure: M"),
    (
        "tree of collections with body",
        "- tree: t/\n  of: collections\n  body: {size: 1}\n  measure: M",
    ),
    (
        "deep tree",
        "- tree: t/\n  depth: 0\n  of: collections\n  measure: M",
    ),
    (
        "large tree",
        "- tree: t/\n  depth: 1000\n  width: 1000000\n  of: collections\n  measure: M",
    ),
    (
        "live tree",
        "- tree: \"t{{ n }}/\"\n  of: collections\n  measure: M",
    ),
    (
        "length beside a body",
        "- GET: a\n  expect: {length: 3, body: {size: 3}}\n  measure: M",
    ),
    (
        "length of a HEAD",
        "- HEAD: a\n  expect: {length: 3}\n  measure: M",
    ),
    (
        "no length",
        "- GET: a\n  expect: {length: long}\n  measure: M",
    ),
    ("page without files", "- page: P"),
    (
        "page with a bad name",
        "- page: a page\n  steps: [{GET: a, measure: M}]",
    ),
    (
        "page that writes",
        "- page: P\n  steps: [{PUT: a, measure: M}]",
    ),
    (
        "page with something else in it",
        "- page: P\n  steps: [{think: {constant: 1s}}, {GET: a, measure: M}]",
    ),
    (
        "file of a page that is not measured",
        "- page: P\n  steps: [{GET: a, measure: M}, {GET: b}]",
    ),
    ("parts outside a page", "- parts: html\n  measure: M"),
    (
        "parts without a file that names them",
        "- page: P\n  measure: M\n  steps: [{parts: html}, {GET: a}]",
    ),
    (
        "parts that a HEAD would name",
        "- page: P\n  measure: M\n  steps: [{HEAD: a}, {parts: html}]",
    ),
    (
        "parts twice",
        "- page: P\n  measure: M\n  steps: [{GET: a}, {parts: html}, {parts: html}]",
    ),
    (
        "parts in an unknown language",
        "- page: P\n  measure: M\n  steps: [{GET: a}, {parts: latex}]",
    ),
    (
        "parts with a body",
        "- page: P\n  measure: M\n  steps: [{GET: a}, {parts: html, body: {size: 1}}]",
    ),
    ("query of a PUT", "- PUT: a\n  query: b\n  measure: M"),
    (
        "query with a blank",
        "- GET: a\n  query: 'b c'\n  measure: M",
    ),
    (
        "query that names a method",
        "- GET: a\n  query: _Method=PUT\n  measure: M",
    ),
    (
        "query with a saved name",
        "- GET: a\n  save: {t: header ETag}\n- GET: a\n  query: 'b={{ t }}'\n  measure: M",
    ),
    (
        "file of a page that saves",
        "- page: P\n  steps: [{GET: a, measure: M, save: {t: header ETag}}]",
    ),
    (
        "files of two pages of one name",
        "- page: P\n  measure: M\n  steps: [{GET: a}]\n- page: Q\n  measure: M\n  steps: [{GET: a}]",
    ),
    (
        "verified in an unknown way",
        "- GET: a\n  measure: M\n  verify: all",
    ),
    (
        "verified tree",
        "- tree: t/\n  verify: full\n- GET: a\n  measure: M",
    ),
    (
        "file of a page and a step of one name",
        "- page: P\n  steps: [{GET: a, measure: M}]\n- GET: a\n  measure: M",
    ),
    (
        "two pages of one name",
        "- page: P\n  steps: [{GET: a, measure: M}]\n- page: p\n  steps: [{GET: a, measure: N}]",
    ),
    ("repeat without steps", "- repeat: 3"),
    (
        "repeat never",
        "- repeat: x\n  steps: [{GET: a, measure: M}]",
    ),
    (
        "choose without weight",
        "- choose: [{weight: 0, steps: [{GET: a, measure: M}]}]",
    ),
    (
        "negative weight",
        "- choose: [{weight: -1, steps: [{GET: a, measure: M}]}]",
    ),
    ("think of nothing", "- GET: a\n  measure: M\n- think: {}"),
    (
        "think backwards",
        "- GET: a\n  measure: M\n- think: {uniform: [2s, 1s]}",
    ),
    (
        "key that means nothing",
        "- GET: a\n  width: 3\n  measure: M",
    ),
    ("measure is no name", "- GET: a\n  measure: \"a b\""),
];

/// Wrong uses of connections of a test, by what is wrong with them; the loop of the second ones has a page.
const CONNECTIONS: &[(&str, bool, &str)] = &[
    ("unknown version", true, "{version: 3}"),
    ("unknown key of http", true, "{parallel: 4}"),
    ("no connection", true, "{connections: 0}"),
    (
        "connections of a template that varies",
        true,
        "{connections: \"{{ n }}\"}",
    ),
    ("kept for ever", true, "{keep: ever}"),
    (
        "pipeline of HTTP/1.0",
        true,
        "{version: \"1.0\", pipeline: 4}",
    ),
    (
        "pipeline of one request",
        true,
        "{keep: request, pipeline: 4}",
    ),
    (
        "pipeline over several connections",
        true,
        "{connections: 2, pipeline: 4}",
    ),
    ("one request, all at once", true, "{at_once: true}"),
    ("connections without a page", false, "{connections: 4}"),
    ("pipeline without a page", false, "{pipeline: 4}"),
    ("kept for a page without one", false, "{keep: page}"),
];

/// Wrong files, by what is wrong with them.
const FILES: &[(&str, &str)] = &[
    ("empty", ""),
    ("no YAML", "suite: [unclosed"),
    ("not a mapping", "- a\n- b"),
    ("no suite", "tests: []"),
    ("no tests", "suite: s\ntests: []"),
    ("unknown key", "suite: s\ntets: []\ntests: []"),
    (
        "saved in set-up and used in the loop",
        "suite: s\ntests:\n- name: T\n  setup: [{GET: login, save: {token: header X-Token}}]\n  loop: [{GET: me, headers: {X-T: \"{{ token }}\"}, measure: Me}]",
    ),
    (
        "bad name",
        "suite: a b\ntests: [{name: T, loop: [{GET: a, measure: M}]}]",
    ),
    (
        "bad parameter",
        "suite: s\nparams: {n: 1}\ntests: [{name: T, loop: [{GET: a, measure: M}]}]",
    ),
    (
        "mapping as parameter",
        "suite: s\nparams: {a: {b: 1}}\ntests: [{name: T, loop: [{GET: a, measure: M}]}]",
    ),
    (
        "list of lists as parameter",
        "suite: s\nparams: {a: [1, [2]]}\ntests: [{name: T, loop: [{GET: a, measure: M}]}]",
    ),
    (
        "empty list as parameter",
        "suite: s\nparams: {a: []}\ntests: [{name: T, each: a, loop: [{GET: a, measure: M}]}]",
    ),
    (
        "a value twice",
        "suite: s\nparams: {a: [1, 2, 1]}\ntests: [{name: T, each: a, loop: [{GET: a, measure: M}]}]",
    ),
    (
        "each of what is not there",
        "suite: s\ntests: [{name: T, each: a, loop: [{GET: a, measure: M}]}]",
    ),
    (
        "each of values that make no name",
        "suite: s\nparams: {a: [1, a b]}\ntests: [{name: T, each: a, loop: [{GET: a, measure: M}]}]",
    ),
    (
        "a list for a number",
        "suite: s\nparams: {a: [1, 2]}\ntests: [{name: T, requests: \"{{ a }}\", loop: [{GET: a, measure: M}]}]",
    ),
    (
        "unknown need",
        "suite: s\ntests: [{name: T, needs: speed, loop: [{GET: a, measure: M}]}]",
    ),
    (
        "requests of nothing",
        "suite: s\ntests: [{name: T, requests: 0, loop: [{GET: a, measure: M}]}]",
    ),
    (
        "two tests of a name",
        "suite: s\ntests: [{name: T, loop: [{GET: a, measure: M}]}, {name: t, loop: [{GET: a, measure: N}]}]",
    ),
    (
        "measured in two tests",
        "suite: s\ntests: [{name: T, loop: [{GET: a, measure: M}]}, {name: U, loop: [{GET: a, measure: M}]}]",
    ),
    (
        "measured in set-up",
        "suite: s\ntests: [{name: T, setup: [{PUT: a, measure: M}], loop: [{GET: a, measure: N}]}]",
    ),
    (
        "writing to a reader",
        "suite: s\nneeds: http\ntests: [{name: T, loop: [{PUT: a, measure: M}]}]",
    ),
    (
        "target that there is not",
        "suite: s\ntargets: {a: one}\ntests: [{name: T, loop: [{GET: a, target: b, measure: M}]}]",
    ),
    (
        "target of a suite without any",
        "suite: s\ntests: [{name: T, loop: [{GET: a, target: b, measure: M}]}]",
    ),
    (
        "target that is not used",
        "suite: s\ntargets:\n  a: one\n  b: two\ntests: [{name: T, loop: [{GET: a, measure: M}]}]",
    ),
    (
        "row of two targets",
        "suite: s\ntargets:\n  a: one\n  b: two\ntests: [{name: T, loop: [{GET: a, measure: M}, {GET: a, target: b, measure: M}]}]",
    ),
    (
        "page of two targets",
        "suite: s\ntargets:\n  a: one\n  b: two\ntests: [{name: T, loop: [{page: P, steps: [{GET: a, measure: M}, {GET: a, target: b, measure: N}]}]}]",
    ),
    (
        "target of a pause",
        "suite: s\ntargets:\n  a: one\n  b: two\ntests: [{name: T, loop: [{GET: a, target: b, measure: M}, {think: {constant: 1s}, target: b}]}]",
    ),
    (
        "background of nothing",
        "suite: s\nbackground: {load: a}\ntests: [{name: T, loop: [{GET: a, measure: M}]}]",
    ),
    (
        "background of two",
        "suite: s\nbackground: {file: f, traffic: {}}\ntests: [{name: T, loop: [{GET: a, measure: M}]}]",
    ),
    (
        "background with an unknown key",
        "suite: s\nbackground: {file: f, lod: a}\ntests: [{name: T, loop: [{GET: a, measure: M}]}]",
    ),
    (
        "background that is a list",
        "suite: s\nbackground: [f]\ntests: [{name: T, loop: [{GET: a, measure: M}]}]",
    ),
    (
        "background without loads",
        "suite: s\nbackground: {traffic: {}}\ntests: [{name: T, loop: [{GET: a, measure: M}]}]",
    ),
    (
        "background of another load",
        "suite: s\nbackground: {load: b, traffic: {models: {m: {cbr: {rate: 1mbit, block: 1KiB}}}, components: {c: {model: m, protocol: udp}}, loads: {a: {flows: [{component: c}]}}}}\ntests: [{name: T, loop: [{GET: a, measure: M}]}]",
    ),
    (
        "background of one of several loads",
        "suite: s\nbackground: {traffic: {models: {m: {cbr: {rate: 1mbit, block: 1KiB}}}, components: {c: {model: m, protocol: udp}}, loads: {a: {flows: [{component: c}]}, b: {flows: [{component: c}]}}}}\ntests: [{name: T, loop: [{GET: a, measure: M}]}]",
    ),
    (
        "background of a component that there is not",
        "suite: s\nbackground: {traffic: {loads: {a: {flows: [{component: c}]}}}}\ntests: [{name: T, loop: [{GET: a, measure: M}]}]",
    ),
    (
        "background that is never stable",
        "suite: s\nbackground: {file: f, stable: 0%}\ntests: [{name: T, loop: [{GET: a, measure: M}]}]",
    ),
    (
        "capture of too little",
        "suite: s\ncapture: {snap: 10}\ntests: [{name: T, loop: [{GET: a, measure: M}]}]",
    ),
    (
        "capture of a text",
        "suite: s\ncapture: file.pcapng\ntests: [{name: T, loop: [{GET: a, measure: M}]}]",
    ),
    (
        "duplicate key",
        "suite: s\nsuite: t\ntests: [{name: T, loop: [{GET: a, measure: M}]}]",
    ),
    (
        "billion laughs",
        "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: [*e,*e,*e,*e,*e,*e,*e,*e,*e]",
    ),
];

#[test]
fn what_is_said_about_every_wrong_file() {
    let mut said = String::new();
    let mut note = |what: &str, text: &str| {
        let Err(error) = attempt(text, &Overrides::default()) else {
            panic!("{what}: was accepted\n{text}");
        };
        writeln!(said, "## {what}\n{error}\n").unwrap();
    };
    for (what, text) in FILES {
        note(what, text);
    }
    for (what, steps) in STEPS {
        note(what, &with_loop(steps));
    }
    for (what, has_page, http) in CONNECTIONS {
        let step = if *has_page {
            "{page: P, measure: M, steps: [{GET: a}, {GET: b}]}"
        } else {
            "{GET: a, measure: M}"
        };
        note(
            what,
            &format!("suite: s\ntests: [{{name: T, http: {http}, loop: [{step}]}}]"),
        );
    }
    insta::assert_snapshot!(said);
}

#[test]
fn what_is_said_about_wrong_overrides() {
    let text = with_loop("- GET: a\n  measure: Read\n- PUT: b\n  measure: Write");
    let selected = |only: &[&str], skip: &[&str]| Overrides {
        selection: Selection {
            only: only.iter().map(|name| (*name).to_owned()).collect(),
            skip: skip.iter().map(|name| (*name).to_owned()).collect(),
        },
        ..Overrides::default()
    };
    let param = |name: &str, value: &str| Overrides {
        params: [(name.to_owned(), value.to_owned())].into(),
        ..Overrides::default()
    };
    let mut said = String::new();
    for (what, overrides) in [
        ("unknown parameter", param("depth", "3")),
        ("parameter of nothing", param("width", "")),
        ("parameter of another type", param("width", "wide")),
        ("no such test", selected(&["Raed"], &[])),
        ("nothing left", selected(&["Read"], &["R*"])),
    ] {
        let error = attempt(&text, &overrides).unwrap_err();
        writeln!(said, "## {what}\n{error}\n").unwrap();
    }
    insta::assert_snapshot!(said);
    for good in [
        selected(&["read"], &[]),
        selected(&["T"], &["Write"]),
        selected(&["*r*"], &[]),
    ] {
        attempt(&text, &good).unwrap();
    }
}
