//! Common features of all commands that measure, tested with each of them.

use std::collections::BTreeSet;

use testbed::need_or;

use crate::support::{Prestan, names_in, serve, sub_commands};

/// Each command that measures a server that a command starts, without that server: as short as it
/// can be.
const SHORT: [&str; 7] = [
    "run listing --only Infinityx10 -r 3",
    "load OPTIONS / --total 20",
    "search OPTIONS / --find users --to 2 --while 'failures == 0' --duration 50ms",
    "sweep --suite listing --only Infinityx10 --vary users=1,2 --repeat 2 -r 3",
    "diagnose --suite locks -r 3 --load-users 1",
    "webstone --page file1k.html --prepare --repeat 3",
    "webstone --page file1k.html --prepare --repeat 3 --children 1,2",
];

#[test]
fn a_server_is_started_and_measured_with_its_packets_for_a_pull_request() {
    let starting = |name: &String| {
        let help = prestan!("{name} --help").run().stdout;
        help.contains("--start <COMMAND>")
    };
    let starting: BTreeSet<String> = sub_commands().into_iter().filter(starting).collect();
    let short = SHORT.map(|line| line.split(' ').next().unwrap().to_owned());
    assert_eq!(BTreeSet::from(short), starting);

    let start = serve();
    let captures = need_or(capture::available()).is_some();
    for short in SHORT {
        let prestan = Prestan::new().words(short);
        let file = prestan.home().join("x.pcapng");
        let mut prestan = prestan!(prestan => "--inconclusive pass --start {start} --markdown -");
        if captures {
            prestan = prestan!(prestan => "--capture {}", file);
        }
        let outcome = prestan.ends(0);
        let runs = outcome.runs().len();
        assert!(runs > 0, "{short}: {outcome}");

        let lines: Vec<&str> = outcome.stdout.lines().collect();
        assert_eq!(lines.first(), Some(&"```text"), "{short}: {outcome}");
        assert_eq!(lines.last(), Some(&"```"), "{short}: {outcome}");
        assert!(lines.len() > 4, "{short}: {outcome}");

        let names = names_in(outcome.home());
        let captured = names
            .iter()
            .filter(|name| name.ends_with(".pcapng"))
            .count();
        // Each run has a file of its own.
        let expected = if captures { runs } else { 0 };
        assert_eq!(captured, expected, "{short}: {outcome}");
    }
}

#[test]
fn a_command_with_a_bad_template_is_refused_before_anything_is_started() {
    let start = "touch started; : {{ port }} {{ nothing }}";
    for short in SHORT.into_iter().chain(["compare"]) {
        let prestan = Prestan::new().words(short);
        let prestan = match short {
            "compare" => prestan!(prestan => "--start-a {start} --start-b true"),
            _ => prestan!(prestan => "--start {start}"),
        };
        let outcome = prestan.ends(2);
        outcome.stderr_has(": bad template: ");
        assert!(!outcome.home().join("started").exists(), "{outcome}");
    }
}

/// Commands that measure at an address without a listener.
const NOBODY_LISTENS: [&str; 8] = [
    "http://127.0.0.1:1/",
    "load GET http://127.0.0.1:1/",
    "search http://127.0.0.1:1/ --find users --while 'failures == 0'",
    "sweep http://127.0.0.1:1/ --vary users=1,2",
    "compare http://127.0.0.1:1/ http://127.0.0.1:1/x/",
    "diagnose http://127.0.0.1:1/",
    "webstone http://127.0.0.1:1/",
    "webstone http://127.0.0.1:1/ --children 1,2",
];

#[test]
fn what_measured_nothing_leaves_nothing() {
    let captures = need_or(capture::available()).is_some();
    for command in NOBODY_LISTENS {
        let mut prestan = prestan!(Prestan::new().words(command) => "--save kept/here");
        if captures {
            prestan = prestan.words("--capture x.pcapng");
        }
        let outcome = prestan.ends(4);
        let left = names_in(outcome.home());
        let is_clean = left.iter().all(|name| name == "state");
        assert!(is_clean, "{left:?}: {outcome}");
    }
}

#[test]
fn a_series_sends_post_where_that_is_allowed() {
    let suite = "suite: posts\nneeds: cgi\ntests:\n  - name: Post\n    loop:\n      - POST: a\n        measure: Post\n";
    for command in [
        "compare http://127.0.0.1:1/ http://127.0.0.1:1/x/",
        "sweep http://127.0.0.1:1/ --vary users=1,2",
        "diagnose http://127.0.0.1:1/",
    ] {
        let with = |options: &str| {
            let prestan = Prestan::new().words(command);
            prestan.file("posts.yaml", suite);
            prestan!(prestan => "--suite posts.yaml").words(options)
        };
        with("").ends(2).stderr_has("give --writes");
        // No listener there.
        with("--writes").ends(4);
    }
}

#[test]
fn a_path_on_a_server_that_is_started_is_the_one_that_is_asked_for() {
    let start = serve();
    let put = prestan!("load PUT /a%20b.txt --writes --body x --total 5 --start {start} --json -");
    let outcome = put.ends(0);
    let target = outcome.json()["target"].as_str().unwrap().to_owned();
    assert!(target.ends_with("/a%20b.txt"), "{target}");
    prestan!("load GET '/f{{{{ n }}}}' --expect 404 --total 5 --start {start}").ends(0);
    for wrong in [
        "load GET index.html",
        "load GET 127.0.0.1:8080/x",
        "load GET a/b",
    ] {
        let outcome = prestan!(Prestan::new().words(wrong) => "--start {start}").ends(2);
        outcome.stderr_has("write a path on it");
    }
}

#[test]
fn what_is_asked_of_other_servers_does_not_concern_the_demo() {
    prestan!("demo --only Get1K -r 3")
        .env("PRESTAN_USER", "ann")
        .ends(0);
}

#[test]
fn a_condition_of_a_diagnosis_is_about_the_suites_that_have_its_row() {
    let start = serve();
    let suites = "--suite locks,listing --skip '*x1000,*x10000' -r 50 --load-users 1";
    let judged = |condition: &str| {
        let prestan = Prestan::new().words("diagnose").words(suites);
        prestan!(prestan => "--start {start} --fail-if {condition}").run()
    };
    let outcome = judged("mean(PutHeldx0) > 1 ns");
    assert!([0, 1].contains(&outcome.code), "{outcome}");
    assert_eq!(judged("p99(Nonsense) > 1 s").code, 2);
}

#[test]
fn a_url_and_a_server_that_is_started_contradict_each_other() {
    let start = serve();
    for command in [
        "load GET http://127.0.0.1:1/",
        "search http://127.0.0.1:1/ --find users --while 'failures == 0'",
        "webstone http://127.0.0.1:1/",
    ] {
        let outcome = prestan!(Prestan::new().words(command) => "--start {start}").ends(2);
        outcome.stderr_has("to be started");
    }
}
