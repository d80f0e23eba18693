//! `--label`: a report does not identify the measured server.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use testbed::fault::{Builder, Rule};

use crate::support::faulty::{Faulty, status};
use crate::support::{Outcome, Prestan};

/// The server's own description.
const SOFTWARE: &str = "Telltale/1.2 (Secretos)";
const DAV: &str = "1,2,<http://telltale.example/dav/>";

/// Words of the report that lead to a server, in lower case.
fn traces(faulty: &Faulty) -> Vec<String> {
    let address = faulty.url();
    let address = address.trim_start_matches("http://").trim_end_matches('/');
    let (host, port) = address.split_once(':').unwrap();
    let port = format!(":{port}");
    let words = ["telltale", "secretos", "localhost", host, &port, "http://1"];
    words.map(str::to_owned).into()
}

/// A server that names itself wherever it can, and at which many operations fail.
fn talkative() -> Faulty {
    let body = format!("<address>{SOFTWARE} at 127.0.0.1</address>");
    let elsewhere = [
        ("Location", "http://telltale.example:9/x"),
        ("Server", SOFTWARE),
    ];
    let options = [
        ("Server", SOFTWARE),
        ("DAV", DAV),
        ("Allow", "GET, PUT, X-TELLTALE, Secretos/1.2"),
    ];
    let rules = [
        Rule::new(status(200, &options, "")).method("OPTIONS"),
        Rule::new(status(500, &[("Server", SOFTWARE)], &body)).tag("(Get1K)"),
        Rule::new(status(302, &elsewhere, "")).tag("(Put1K)"),
        Rule::new(status(503, &[], &body))
            .method("DELETE")
            .tag("clean"),
    ];
    Faulty::new(|builder| rules.into_iter().fold(builder, Builder::rule))
}

/// The options that write every format.
fn formats(name: &str) -> String {
    let formats = ["json", "csv", "junit", "log", "html", "output"];
    formats
        .map(|format| format!("--{format} {name}.{format} "))
        .concat()
}

/// Checks all files of a report, and that they are about this label.
#[track_caller]
fn assert_anonymous(outcome: &Outcome, name: &str, label: &str, faulty: &Faulty) {
    for format in ["json", "csv", "junit", "html", "output", "log"] {
        let text = outcome.read(&format!("{name}.{format}"));
        assert_no_trace(&text, faulty);
        assert!(format == "log" || text.contains(label), "{name}.{format}");
    }
}

#[track_caller]
fn assert_no_trace(text: &str, faulty: &Faulty) {
    let lower = text.to_lowercase();
    for trace in traces(faulty) {
        if let Some(found) = lower.find(&trace) {
            let around: String = lower[..found].chars().rev().take(200).collect();
            let around: String = around.chars().rev().collect();
            panic!("{trace} stands behind: {around}");
        }
    }
}

fn run(faulty: &Faulty, label: &str) -> Outcome {
    let url = faulty.url().replace("127.0.0.1", "localhost");
    prestan!("{url} --only Get1K,Put1K,Get64K -r 2 --run-id one")
        .words(&formats("run"))
        .words(label)
        .run()
}

#[test]
fn a_label_replaces_all_that_identifies_a_server() {
    let faulty = talkative();
    let outcome = run(&faulty, "--label 'Server A'").ended(1);
    assert_anonymous(&outcome, "run", "Server A", &faulty);
    let text = outcome.read("run.output");
    for part in [
        "prestan on Server A\n",
        "Server A (address and software not shown)",
    ] {
        assert!(text.contains(part), "{text}");
    }
    let json: serde_json::Value = serde_json::from_str(&outcome.read("run.json")).unwrap();
    assert_eq!(json["server"]["allow"], serde_json::json!(["GET", "PUT"]));
    // The record keeps all, and its label: it is not printed without one.
    let plan = outcome.read("state/prestan/runs/one/plan.yaml");
    let env = outcome.read("state/prestan/runs/one/env.json");
    assert!(plan.contains("http://localhost:") && env.contains(SOFTWARE));
    prestan!(outcome.again() => "report one")
        .words(&formats("again"))
        .ends(0);
    assert_anonymous(&outcome, "again", "Server A", &faulty);
    for format in ["json", "csv", "junit", "output", "log"] {
        let [first, again] = ["run", "again"].map(|name| outcome.read(&format!("{name}.{format}")));
        assert_eq!(first, again, "{format}");
    }
}

#[test]
fn a_recorded_run_is_labelled_when_it_is_published() {
    let faulty = talkative();
    let outcome = run(&faulty, "");
    let text = outcome.read("run.output");
    assert!(
        text.contains(SOFTWARE) && text.contains("localhost"),
        "{text}"
    );
    let report = prestan!(outcome.again() => "report one --label 'Server B'");
    report.words(&formats("again")).ends(0);
    assert_anonymous(&outcome, "again", "Server B", &faulty);
    let twice = prestan!(outcome.again() => "report one --label B --label C").ends(2);
    twice.stderr_has("2 times for 1 servers");
}

#[test]
fn servers_of_comparisons_and_sweeps_have_labels() {
    let (one, other) = (talkative(), talkative());
    let labels = "--label First --label Second --json c.json --html c.html --output c.txt";
    let files = "--json c.json --html c.html --output c.txt";
    let compared =
        prestan!("compare {one} {other} --only Get64K --repeat 2 -r 5 --run-id both").words(labels);
    let compared = compared.run();
    assert!([0, 3].contains(&compared.code), "{compared}");
    let check = |outcome: &Outcome, labels: &[&str]| {
        for name in ["c.json", "c.html", "c.txt"] {
            let text = outcome.read(name);
            assert_no_trace(&text, &one);
            assert_no_trace(&text, &other);
            let has_all = labels.iter().all(|label| text.contains(label));
            assert!(has_all, "{name}: {text}");
        }
    };
    check(&compared, &["First", "Second"]);
    let again = prestan!(compared.again() => "compare both");
    check(&again.words(files).run(), &["First", "Second"]);
    for runs in ["both", "both-a1 both-b1"] {
        let again = prestan!(compared.again() => "compare --label Third --label Fourth");
        check(&again.words(runs).words(files).run(), &["Third", "Fourth"]);
    }
    let swept = prestan!("sweep {one} {other} --only Get64K --repeat 2 -r 3 --vary width=1,2")
        .words(labels);
    check(&swept.run(), &["First", "Second"]);
}

/// One server ends while the other one is measured: a script starts a server under the name of
/// another program, and either ends when the file appears, or makes it after a number of runs.
const SCRIPT: &str = r#"#!/bin/sh
[ "$1" = --version ] && exec echo dufs 1.0
'PROGRAM' serve --port "${3#--port=}" "$1" & server=$!
if [ "$ROLE" = ends ]; then
    until [ -e 'FLAG' ]; do sleep 0.01; done
    kill -9 $server
    exit 7
fi
until ls "$1" | grep -q 'PrestanTest-.*-\(9\|1[0-9]\)$'; do sleep 0.01; done
: > 'FLAG'
wait $server
"#;

#[test]
fn a_server_that_ends_is_named_by_its_label_whichever_is_measured() {
    let prestan = Prestan::new();
    let flag = prestan.home().join("flag").display().to_string();
    let script = SCRIPT.replace("PROGRAM", env!("CARGO_BIN_EXE_prestan"));
    let script = prestan.file("server", &script.replace("FLAG", &flag));
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let server = |role: &str| format!("dufs,program={},env.ROLE={role}", script.display());
    let outcome = prestan!(prestan => "sweep --server {} --server {} --label First --label Second --note disk=NVMe \
        --vary requests=300,400 --repeat 4 --run-id both --only Put1K,Get1K --warmup 1 -q --json s.json --html s.html", server("ends"), server("stays")).ends(4);
    outcome.stdout_has(": First ended during run ");
    outcome.stderr_lacks("still on the server");
    for name in ["s.json", "s.html"] {
        let text = outcome.read(name);
        assert!(text.contains("First ended during run "), "{name}");
        assert!(
            !text.contains("dufs") && !text.contains("127.0.0.1"),
            "{name}"
        );
    }
    outcome.stdout_lacks("dufs");
}

#[test]
fn a_diagnosis_has_a_label_and_notes() {
    let faulty = talkative();
    let url = faulty.url();
    let outcome = prestan!("diagnose {url} -r 5 --quiet --suite prestan --load-users 1 --skip \
        *Mult,*Dead*,Mk*,*Col*,*1024K --label 'Server A' --note disk=NVMe --json d.json --html d.html --output d.txt")
        .ends(0);
    for name in ["d.json", "d.html", "d.txt"] {
        let text = outcome.read(name);
        assert_no_trace(&text, &faulty);
        assert!(text.contains("Server A") && text.contains("NVMe"), "{name}");
    }
    let recorded = prestan!(outcome.again() => "diagnose --label B").ends(2);
    recorded.stderr_has("recorded runs are given");
    prestan!("diagnose {url} --label A --label B").ends(2);
}
