//! Defects of suite files, and their errors.

use std::fmt::Write;

use suite::{Overrides, Selection, SuiteError, parse, resolve};

/// A suite with one test with this loop.
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

/// Defective steps of a loop, by their defect.
const STEPS: &str = r#"
    no action => - body: {size: 1}↵  measure: M
    two actions => - PUT: a↵  GET: b↵  measure: M
    unknown key => - PUT: a↵  mesure: M
    small method => - put: a↵  measure: M
    nothing measured => - GET: a
    size beyond 64 bits => - PUT: a↵  body: {size: 18446744073709551616}↵  measure: M
    bare braces => - GET: {{ width }}↵  measure: M
    path up => - GET: ../a↵  measure: M
    path from root => - GET: /etc/passwd↵  measure: M
    strange depth => - PROPFIND: a↵  depth: 2↵  measure: M
    no time => - LOCK: a↵  timeout: soon↵  measure: M
    no size => - PUT: a↵  body: {size: big}↵  measure: M
    huge body => - PUT: a↵  body: {size: 2GiB}↵  measure: M
    two bodies => - PUT: a↵  body: {size: 1, text: x}↵  measure: M
    empty body => - PUT: a↵  body: {}↵  measure: M
    unknown fill => - PUT: a↵  body: {size: 1, fill: zeros}↵  measure: M
    no status => - GET: a↵  expect: {status: [ok]}↵  measure: M
    status out of range => - GET: a↵  expect: {status: [99]}↵  measure: M
    live expectation => - GET: a↵  expect: {body: {text: "{{ n }}"}}↵  measure: M
    no status that is unsupported => - GET: a↵  unsupported: [99]↵  measure: M
    no header that is missing => - GET: a↵  unsupported: [ETag]↵  measure: M
    a missing header that is none => - GET: a↵  unsupported: [no E Tag]↵  measure: M
    unknown save => - LOCK: a↵  save: {t: body}↵  measure: M
    save over a parameter => - LOCK: a↵  save: {width: lock-token}↵  measure: M
    our header => - GET: a↵  headers: {Host: elsewhere}↵  measure: M
    repetition with a name that is taken => - repeat: 2↵  as: width↵  steps: [{GET: a, measure: M}]
    the name of a repetition outside of it
        => - repeat: 2↵  as: i↵  steps: [{GET: "{{ i }}"}]↵- GET: "{{ i }}"↵  measure: M
    computing with the number of a repetition => - repeat: 2↵  as: i↵  steps: [{GET: "{{ i / 2 }}", measure: M}]
    a name without a repetition => - GET: a↵  as: i↵  measure: M
    header with a key => - COPY: a↵  headers: {Destination: /elsewhere}↵  measure: M
    another method in a header => - GET: a↵  headers: {X-HTTP-Method-Override: DELETE}↵  measure: M
    another method in another header => - GET: a↵  headers: {x-method-override: "{{ n }}"}↵  measure: M
    path that a server says => - LOCK: a↵  save: {t: header X}↵- GET: "{{ t }}"↵  measure: M
    no header name => - GET: a↵  headers: {"a b": c}↵  measure: M
    a condition on n => - GET: "{% if n > 1 %}warm{% endif %}"↵  measure: M
    a condition on the user => - GET: "{% if user in [0, 1] %}admin{% endif %}"↵  measure: M
    a condition on what is saved
        => - LOCK: a↵  save: {t: lock-token}↵- GET: a↵  headers: {X-T: "{{ 'x' if t else 'y' }}"}↵  measure: M
    a part of what is saved => - LOCK: a↵  save: {t: lock-token}↵- GET: a↵  headers: {X-T: "{{ t[0] }}"}↵  measure: M
    the smallest of what is known later => - GET: "{{ [n, user] | min }}"↵  measure: M
    unknown name => - GET: "{{ widht }}"↵  measure: M
    unknown filter => - GET: "{{ width | lenght }}"↵  measure: M
    used before it is saved => - GET: a↵  headers: {X-T: "{{ t }}"}↵  measure: M↵- GET: b↵  save: {t: header X}
    used in the step that saves it => - GET: a↵  save: {t: header X}↵  expect: {contains: ["{{ t }}"]}↵  measure: M
    saved in another alternative
        => - choose:↵  - weight: 1↵    steps: [{GET: a, save: {t: header X}}]↵  - weight: 1↵    steps: [{GET: b, headers: {X-T: "{{ t }}"}, measure: M}]
    a header of two lines => - GET: a↵  headers: {X-A: "b\nc"}↵  measure: M
    a type of two lines => - PUT: a↵  body: {text: x, type: "b\r\nc"}↵  measure: M
    a timeout of half a second => - LOCK: a↵  timeout: 500ms↵  measure: M
    a timeout that is too long => - LOCK: a↵  timeout: 4294967296s↵  measure: M
    a pause without a unit => - GET: a↵  measure: M↵- think: {constant: 100}
    an unknown alias => - GET: a↵  headers: {Accept: */*}↵  measure: M
    computing with n => - GET: "{{ n / 2 }}"↵  measure: M
    filtering n => - GET: "{{ n | upper | replace('N', 'X') }}"↵  measure: M
    broken template => - GET: "{% for %}"↵  measure: M
    broken template of a secret => - GET: a↵  headers: {X-Api-Key: "s3cret{{ 1 / 0 }}"}↵  measure: M
    endless template
        => - GET: "{% for i in range(99999) %}{% for j in range(99999) %}{{ j }}{% endfor %}{% endfor %}"↵  measure: M
    measured tree of resources => - tree: t/↵  measure: M
    tree of collections with body => - tree: t/↵  of: collections↵  body: {size: 1}↵  measure: M
    deep tree => - tree: t/↵  depth: 0↵  of: collections↵  measure: M
    large tree => - tree: t/↵  depth: 1000↵  width: 1000000↵  of: collections↵  measure: M
    live tree => - tree: "t{{ n }}/"↵  of: collections↵  measure: M
    length beside a body => - GET: a↵  expect: {length: 3, body: {size: 3}}↵  measure: M
    length of a HEAD => - HEAD: a↵  expect: {length: 3}↵  measure: M
    no length => - GET: a↵  expect: {length: long}↵  measure: M
    page without files => - page: P
    page with a bad name => - page: a page↵  steps: [{GET: a, measure: M}]
    page that writes => - page: P↵  steps: [{PUT: a, measure: M}]
    page with something else in it => - page: P↵  steps: [{think: {constant: 1s}}, {GET: a, measure: M}]
    file of a page that is not measured => - page: P↵  steps: [{GET: a, measure: M}, {GET: b}]
    parts outside a page => - parts: html↵  measure: M
    parts without a file that names them => - page: P↵  measure: M↵  steps: [{parts: html}, {GET: a}]
    parts that a HEAD would name => - page: P↵  measure: M↵  steps: [{HEAD: a}, {parts: html}]
    parts twice => - page: P↵  measure: M↵  steps: [{GET: a}, {parts: html}, {parts: html}]
    parts in an unknown language => - page: P↵  measure: M↵  steps: [{GET: a}, {parts: latex}]
    parts with a body => - page: P↵  measure: M↵  steps: [{GET: a}, {parts: html, body: {size: 1}}]
    query of a PUT => - PUT: a↵  query: b↵  measure: M
    query with a blank => - GET: a↵  query: 'b c'↵  measure: M
    query that names a method => - GET: a↵  query: _Method=PUT↵  measure: M
    query with a saved name => - GET: a↵  save: {t: header ETag}↵- GET: a↵  query: 'b={{ t }}'↵  measure: M
    file of a page that saves => - page: P↵  steps: [{GET: a, measure: M, save: {t: header ETag}}]
    files of two pages of one name
        => - page: P↵  measure: M↵  steps: [{GET: a}]↵- page: Q↵  measure: M↵  steps: [{GET: a}]
    verified in an unknown way => - GET: a↵  measure: M↵  verify: all
    verified tree => - tree: t/↵  verify: full↵- GET: a↵  measure: M
    file of a page and a step of one name => - page: P↵  steps: [{GET: a, measure: M}]↵- GET: a↵  measure: M
    two pages of one name => - page: P↵  steps: [{GET: a, measure: M}]↵- page: p↵  steps: [{GET: a, measure: N}]
    repeat without steps => - repeat: 3
    repeat never => - repeat: x↵  steps: [{GET: a, measure: M}]
    choose without weight => - choose: [{weight: 0, steps: [{GET: a, measure: M}]}]
    negative weight => - choose: [{weight: -1, steps: [{GET: a, measure: M}]}]
    think of nothing => - GET: a↵  measure: M↵- think: {}
    think backwards => - GET: a↵  measure: M↵- think: {uniform: [2s, 1s]}
    key that means nothing => - GET: a↵  width: 3↵  measure: M
    measure is no name => - GET: a↵  measure: "a b"
"#;

/// Defective `http` keys of a test, by their defect, with the content of the loop.
const CONNECTIONS: &str = r#"
    unknown version => page => {version: 3}
    unknown key of http => page => {parallel: 4}
    no connection => page => {connections: 0}
    connections of a template that varies => page => {connections: "{{ n }}"}
    kept for ever => page => {keep: ever}
    pipeline of HTTP/1.0 => page => {version: "1.0", pipeline: 4}
    pipeline of one request => page => {keep: request, pipeline: 4}
    pipeline over several connections => page => {connections: 2, pipeline: 4}
    one request, all at once => page => {at_once: true}
    connections without a page => request => {connections: 4}
    pipeline without a page => request => {pipeline: 4}
    kept for a page without one => request => {keep: page}
"#;

/// Defective files, by their defect.
const FILES: &str = r#"
    empty =>
    no YAML => suite: [unclosed
    not a mapping => - a↵- b
    no suite => tests: []
    no tests => suite: s↵tests: []
    unknown key => suite: s↵tets: []↵tests: []
    saved in set-up and used in the loop
        => suite: s↵tests:↵- name: T↵  setup: [{GET: login, save: {token: header X-Token}}]↵  loop: [{GET: me, headers: {X-T: "{{ token }}"}, measure: Me}]
    bad name => suite: a b↵tests: [{name: T, loop: [{GET: a, measure: M}]}]
    bad parameter => suite: s↵params: {n: 1}↵tests: [{name: T, loop: [{GET: a, measure: M}]}]
    mapping as parameter => suite: s↵params: {a: {b: 1}}↵tests: [{name: T, loop: [{GET: a, measure: M}]}]
    list of lists as parameter => suite: s↵params: {a: [1, [2]]}↵tests: [{name: T, loop: [{GET: a, measure: M}]}]
    empty list as parameter => suite: s↵params: {a: []}↵tests: [{name: T, each: a, loop: [{GET: a, measure: M}]}]
    a value twice => suite: s↵params: {a: [1, 2, 1]}↵tests: [{name: T, each: a, loop: [{GET: a, measure: M}]}]
    each of what is not there => suite: s↵tests: [{name: T, each: a, loop: [{GET: a, measure: M}]}]
    each of values that make no name
        => suite: s↵params: {a: [1, a b]}↵tests: [{name: T, each: a, loop: [{GET: a, measure: M}]}]
    a list for a number
        => suite: s↵params: {a: [1, 2]}↵tests: [{name: T, requests: "{{ a }}", loop: [{GET: a, measure: M}]}]
    unknown need => suite: s↵tests: [{name: T, needs: speed, loop: [{GET: a, measure: M}]}]
    requests of nothing => suite: s↵tests: [{name: T, requests: 0, loop: [{GET: a, measure: M}]}]
    two tests of a name
        => suite: s↵tests: [{name: T, loop: [{GET: a, measure: M}]}, {name: t, loop: [{GET: a, measure: N}]}]
    measured in two tests
        => suite: s↵tests: [{name: T, loop: [{GET: a, measure: M}]}, {name: U, loop: [{GET: a, measure: M}]}]
    measured in set-up => suite: s↵tests: [{name: T, setup: [{PUT: a, measure: M}], loop: [{GET: a, measure: N}]}]
    writing to a reader => suite: s↵needs: http↵tests: [{name: T, loop: [{PUT: a, measure: M}]}]
    target that there is not => suite: s↵targets: {a: one}↵tests: [{name: T, loop: [{GET: a, target: b, measure: M}]}]
    target of a suite without any => suite: s↵tests: [{name: T, loop: [{GET: a, target: b, measure: M}]}]
    target that is not used => suite: s↵targets:↵  a: one↵  b: two↵tests: [{name: T, loop: [{GET: a, measure: M}]}]
    row of two targets
        => suite: s↵targets:↵  a: one↵  b: two↵tests: [{name: T, loop: [{GET: a, measure: M}, {GET: a, target: b, measure: M}]}]
    page of two targets
        => suite: s↵targets:↵  a: one↵  b: two↵tests: [{name: T, loop: [{page: P, steps: [{GET: a, measure: M}, {GET: a, target: b, measure: N}]}]}]
    target of a pause
        => suite: s↵targets:↵  a: one↵  b: two↵tests: [{name: T, loop: [{GET: a, target: b, measure: M}, {think: {constant: 1s}, target: b}]}]
    background of nothing => suite: s↵background: {load: a}↵tests: [{name: T, loop: [{GET: a, measure: M}]}]
    background of two => suite: s↵background: {file: f, traffic: {}}↵tests: [{name: T, loop: [{GET: a, measure: M}]}]
    background with an unknown key
        => suite: s↵background: {file: f, lod: a}↵tests: [{name: T, loop: [{GET: a, measure: M}]}]
    background that is a list => suite: s↵background: [f]↵tests: [{name: T, loop: [{GET: a, measure: M}]}]
    background without loads => suite: s↵background: {traffic: {}}↵tests: [{name: T, loop: [{GET: a, measure: M}]}]
    background of another load
        => suite: s↵background: {load: b, traffic: {models: {m: {cbr: {rate: 1mbit, block: 1KiB}}}, components: {c: {model: m, protocol: udp}}, loads: {a: {flows: [{component: c}]}}}}↵tests: [{name: T, loop: [{GET: a, measure: M}]}]
    background of one of several loads
        => suite: s↵background: {traffic: {models: {m: {cbr: {rate: 1mbit, block: 1KiB}}}, components: {c: {model: m, protocol: udp}}, loads: {a: {flows: [{component: c}]}, b: {flows: [{component: c}]}}}}↵tests: [{name: T, loop: [{GET: a, measure: M}]}]
    background of a component that there is not
        => suite: s↵background: {traffic: {loads: {a: {flows: [{component: c}]}}}}↵tests: [{name: T, loop: [{GET: a, measure: M}]}]
    background that is never stable
        => suite: s↵background: {file: f, stable: 0%}↵tests: [{name: T, loop: [{GET: a, measure: M}]}]
    capture of too little => suite: s↵capture: {snap: 10}↵tests: [{name: T, loop: [{GET: a, measure: M}]}]
    capture of a text => suite: s↵capture: file.pcapng↵tests: [{name: T, loop: [{GET: a, measure: M}]}]
    duplicate key => suite: s↵suite: t↵tests: [{name: T, loop: [{GET: a, measure: M}]}]
    billion laughs
        => a: &a [x,x,x,x,x,x,x,x,x]↵b: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]↵c: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]↵d: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]↵e: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]↵f: [*e,*e,*e,*e,*e,*e,*e,*e,*e]
"#;

/// Users with roles and stop-watches.
const ROLES: &str = "suite: s
stopwatches:
  Handover: {across: users}
tests:
  - name: Editing
    shared: true
    roles:
      writer:
        pace: 15ms
        loop:
          - start: Open
          - PUT: doc
            body: {size: 1KiB}
            measure: Write
          - stop: Open
          - start: Handover
      reader:
        users: 2
        loop:
          - GET: doc
            measure: Read
          - stop: Handover
";

/// Changes that make it defective.
const CHANGES_OF_ROLES: &[(&str, &str)] = &[
    ("pace: 15ms", "pace: soon"),
    ("          - stop: Open\n", ""),
    ("          - start: Open\n", ""),
    ("start: Open", "start: Write"),
    ("stopwatches:\n  Handover: {across: users}\n", ""),
    ("  Handover: {across", "  Hangover: {across"),
    ("across: users", "across: everybody"),
    ("measure: Read", "measure: Write"),
    ("users: 2", "users: 0"),
    (
        "- stop: Handover",
        "- stop: Handover\n          - when: p50(Raed) > 1 ms\n            steps: [{end: test}]",
    ),
    (
        "- stop: Handover",
        "- stop: Handover\n          - when: p50(Read) > 1 ms",
    ),
    (
        "    shared: true\n",
        "    shared: true\n    loop: [{GET: doc}]\n",
    ),
];

/// The key `adapt` of a suite, and a step that changes the number of users.
const ADAPT: &[(&str, &str)] = &[
    ("{users: [1, 6], every: 300ms}", "users: 7"),
    ("{users: [1, 6], every: 300ms}", "users: many"),
    ("{users: [1, 6], every: 300ms}", "HEAD: a"),
    ("{users: [1, 6], every: 300ms, ladder: [1, 2]}", "users: 2"),
    ("{users: [1, 6], every: 300ms, ladder: [7]}", "HEAD: a"),
    ("{users: [6, 1], every: 300ms, ladder: [1]}", "HEAD: a"),
    ("{users: [1, 6], every: 1ms, ladder: [1]}", "HEAD: a"),
    (
        "{users: [1, 6], every: 1s, raise: p50(Raed) < 1 s, lower: p50(Read) > 2 s}",
        "HEAD: a",
    ),
];

/// Constraints that are invalid in a suite that measures `Get` and has the parameter `least`.
const CONSTRAINTS: &[&str] = &[
    "fast: p99(Gte) < 5 ms",
    "fast: p99(Get) < 5",
    "fast: \"p99(Get) < 5 parsecs\"",
    "fast: p99(Get) <",
    "fast: not fast",
    "least: p99(Get) < 5 ms",
    "p99: p99(Get) < 5 ms",
    "fast: failures < 0",
];

#[test]
fn what_is_said_about_every_wrong_file() {
    let mut messages = String::new();
    let mut note = |what: &str, text: &str| {
        let Err(error) = attempt(text, &Overrides::default()) else {
            panic!("{what}: was accepted\n{text}");
        };
        writeln!(messages, "## {what}\n{error}\n").unwrap();
    };
    for [what, text] in cases::rows(FILES) {
        note(what, text);
    }
    for [what, steps] in cases::rows(STEPS) {
        note(what, &with_loop(steps));
    }
    for (from, to) in CHANGES_OF_ROLES {
        assert!(ROLES.contains(from), "{from}");
        let what = format!("roles with `{}` for `{}`", to.trim(), from.trim());
        note(&what, &ROLES.replacen(from, to, 1));
    }
    for (adapt, step) in ADAPT {
        let loops = format!("[{{name: T, loop: [{{GET: a, measure: Read}}, {{{step}}}]}}]");
        let text = format!("suite: s\nadapt: {adapt}\ntests: {loops}");
        note(&format!("{adapt}, {step}"), &text);
    }
    note(
        "users without adapt",
        &with_loop("- GET: a\n  measure: M\n- users: 2"),
    );
    for constraint in CONSTRAINTS {
        let loops = "[{name: T, loop: [{GET: a, measure: Get}]}]";
        let text =
            format!("suite: s\nparams: {{least: 2}}\nconstraints:\n  {constraint}\ntests: {loops}");
        note(constraint, &text);
    }
    for [what, step, http] in cases::rows(CONNECTIONS) {
        let step = match step {
            "page" => "{page: P, measure: M, steps: [{GET: a}, {GET: b}]}",
            _ => "{GET: a, measure: M}",
        };
        note(
            what,
            &format!("suite: s\ntests: [{{name: T, http: {http}, loop: [{step}]}}]"),
        );
    }
    insta::assert_snapshot!(messages);
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
    let mut messages = String::new();
    for (what, overrides) in [
        ("unknown parameter", param("depth", "3")),
        ("parameter of nothing", param("width", "")),
        ("parameter of another type", param("width", "wide")),
        ("no such test", selected(&["Raed"], &[])),
        ("nothing left", selected(&["Read"], &["R*"])),
    ] {
        let error = attempt(&text, &overrides).unwrap_err();
        writeln!(messages, "## {what}\n{error}\n").unwrap();
    }
    insta::assert_snapshot!(messages);
    for good in [
        selected(&["read"], &[]),
        selected(&["T"], &["Write"]),
        selected(&["*r*"], &[]),
    ] {
        attempt(&text, &good).unwrap();
    }
}
