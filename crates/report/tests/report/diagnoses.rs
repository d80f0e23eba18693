//! Diagnoses as people and programs read them.

use insta::assert_snapshot;
use serde_json::Value;
use stats::{
    Diagnosis, Evidence, Finding, LeftOut, NamedQuantity, Quantity, StatusReason, Summary,
    WhyLeftOut,
};

use record::{NoteRecord, Run};
use report::page::{ReportPage, html};
use report::{Diagnosed, DiagnosedRun, Incomplete, NotMeasured};

use crate::documents::valid;
use crate::{page, runs, sweeps};

/// A server that speaks to the terminal, and suites that are not built in.
const HOSTILE: &str = "Evil/1.0 \u{1b}[31m</script>\u{202e}";

fn just(name: &'static str, value: Quantity) -> NamedQuantity {
    NamedQuantity {
        name,
        value,
        interval: None,
        operations: None,
    }
}

fn mean(name: &'static str, ns: f64, half: f64) -> NamedQuantity {
    NamedQuantity {
        interval: Some((ns - half, ns + half)),
        operations: Some(100),
        ..just(name, Quantity::Time(ns))
    }
}

fn row(name: &str, figure: NamedQuantity) -> Evidence {
    Evidence {
        row: name.into(),
        figures: vec![figure],
    }
}

fn finding(rule: &'static str, run: usize, weight: f64) -> Finding {
    Finding {
        rule,
        figures: vec![
            mean("slow", 14.2e6, 0.3e6),
            mean("quick", 54e3, 6e3),
            just("floor", Quantity::Time(50e3)),
            just("ratio", Quantity::Ratio(263.0)),
            just("size", Quantity::Text("1 KiB".into())),
        ],
        evidence: vec![
            row("Put1K", mean("mean", 14.2e6, 0.3e6)),
            row("Get1K", mean("mean", 54e3, 6e3)),
            row("Put64K", mean("mean", 15e6, 0.1e6)),
            row("Get64K", mean("mean", 86e3, 6e3)),
            row("Put1024K", mean("mean", 19e6, 0.1e6)),
            row("Get1024K", mean("mean", 186e3, 6e3)),
        ],
        is_seen_once: false,
        tests: vec!["Put1K".into(), "Get1K".into()],
        run,
        weight,
    }
}

fn run(suite: &str, server: Option<&str>) -> DiagnosedRun {
    DiagnosedRun {
        name: format!("runs/{suite}"),
        suite: suite.to_owned(),
        target: "http://127.0.0.1:8080/dav/".into(),
        users: if suite == "listing" { 4 } else { 1 },
        seed: 1.into(),
        server: server.map(str::to_owned),
        notes: Vec::new(),
        rows: 23,
    }
}

fn evidence(text: &str) -> StatusReason {
    StatusReason::Evidence(text.to_owned())
}

fn diagnosed() -> Diagnosed {
    Diagnosed {
        runs: vec![run("prestan", Some(HOSTILE)), run("listing", Some(HOSTILE))],
        diagnosis: Diagnosis {
            findings: vec![
                finding("put-against-get", 0, 0.342),
                Finding {
                    figures: vec![
                        just("rows", Quantity::Count(1)),
                        just("row", Quantity::Text("Depth1x10".into())),
                    ],
                    evidence: vec![Evidence {
                        row: "Depth1x10".into(),
                        figures: vec![
                            just("quick_share", Quantity::Share(0.8)),
                            just("quick", Quantity::Time(1.2e6)),
                            just("slow_share", Quantity::Share(0.2)),
                            just("slow", Quantity::Time(9.2e6)),
                            just("operations", Quantity::Count(20)),
                        ],
                    }],
                    tests: vec!["Depth1x10".into()],
                    ..finding("two-modes", 1, 0.001)
                },
            ],
            seen_once: vec![Finding {
                is_seen_once: true,
                ..finding("put-against-get", 0, 0.1)
            }],
            left_out: vec![LeftOut {
                run: 1,
                row: "Infinityx100".into(),
                why: WhyLeftOut::Evidence(evidence(&format!("PROPFIND tree/: 403 {HOSTILE}"))),
                disqualified: false,
            }],
            few: 3,
        },
        incomplete: None,
    }
}

pub(crate) fn of(findings: Vec<Finding>, left_out: Vec<LeftOut>) -> Diagnosed {
    let diagnosis = Diagnosis {
        findings,
        seen_once: Vec::new(),
        left_out,
        few: 0,
    };
    let runs = vec![run("prestan", None)];
    Diagnosed {
        runs,
        diagnosis,
        incomplete: None,
    }
}

#[test]
fn notes_of_runs_are_told_once() {
    let note = |name: &str| NoteRecord {
        name: name.to_owned(),
        text: "x".to_owned(),
    };
    let mut one = diagnosed();
    assert!(!report::diagnose_text(&[one.clone()], false, 100).contains("Note "));
    one.runs[0].notes = vec![note("disk"), note("os")];
    one.runs[1].notes = vec![note("disk")];
    let text = report::diagnose_text(&[one.clone()], false, 100);
    assert!(text.contains("\nNote disk: x\nNote os: x\n\n"), "{text}");
    let json: serde_json::Value = serde_json::from_str(&report::diagnose_json(&[one])).unwrap();
    assert_eq!(json["runs"][1]["notes"][0]["name"], "disk");
}

#[test]
fn for_people() {
    assert_snapshot!(report::diagnose_text(&[diagnosed()], false, 80));
    assert_snapshot!(
        "in_colours",
        report::diagnose_text(&[diagnosed()], true, 120).replace('\u{1b}', "<ESC>")
    );
}

#[test]
fn nothing_is_an_answer_and_a_disqualified_row_is_none() {
    let disqualified = LeftOut {
        run: 0,
        row: "Lock".into(),
        why: WhyLeftOut::Evidence(evidence("the load generator had no idle time")),
        disqualified: true,
    };
    let both = [of(vec![], vec![]), of(vec![], vec![disqualified])];
    assert_snapshot!(report::diagnose_text(&both, false, 80));
    let few = |few: usize| {
        let mut nothing = of(vec![], vec![]);
        nothing.diagnosis.few = few;
        report::diagnose_text(&[nothing], false, 300)
    };
    assert!(few(1).contains("23 rows). One of them has fewer than 50 operations, too few"));
    assert!(few(12).contains("12 of them have fewer than 50 operations"));
    assert!(!few(0).contains("fewer"));
}

#[test]
fn for_programs() {
    let all = [of(vec![], vec![]), diagnosed()];
    let text = report::diagnose_json(&all);
    let document = valid(&text, &report::diagnose_schema());
    // Runs are counted through the whole document.
    assert_eq!(document["findings"][0]["run"], 1);
    assert_eq!(document["left_out"][0]["run"], 2);
    let alone: Value =
        serde_json::from_str(&report::findings_json(&diagnosed().diagnosis.findings)).unwrap();
    assert_eq!(alone[0]["rule"], "put-against-get");
    assert_snapshot!(text);
}

fn missing(suite: &str, users: u32, is_repeat: bool) -> NotMeasured {
    NotMeasured {
        suite: suite.to_owned(),
        users,
        is_repeat,
    }
}

fn interrupted() -> Incomplete {
    Incomplete {
        not_measured: vec![missing("locks", 1, false), missing("prestan", 8, false)],
        ..sweeps::ended_early("diagnosis", None)
    }
}

#[test]
fn an_incomplete_diagnosis_begins_with_what_is_missing() {
    let first_line = |incomplete: Incomplete| {
        let mut diagnosed = of(vec![], vec![]);
        diagnosed.incomplete = Some(incomplete);
        let text = report::diagnose_text(&[diagnosed], false, 300);
        text.lines().next().unwrap().to_owned()
    };
    assert_eq!(
        first_line(interrupted()),
        "Incomplete: the diagnosis was interrupted. Not measured: suite locks, suite prestan with 8 users."
    );
    let failed = Incomplete {
        not_measured: vec![missing("listing", 1, true)],
        ..sweeps::ended_early("diagnosis", Some(&format!("the disk is full {HOSTILE}")))
    };
    let line = first_line(failed);
    assert!(
        line.starts_with(
            "Incomplete: the diagnosis ended early: the disk is full Evil/1.0 \\u{1b}"
        ),
        "{line}"
    );
    assert!(
        line.ends_with("Not measured: suite listing (second run)."),
        "{line}"
    );
}

#[test]
fn programs_see_that_a_diagnosis_is_incomplete() {
    let mut diagnosed = diagnosed();
    diagnosed.incomplete = Some(interrupted());
    let document = valid(
        &report::diagnose_json(&[diagnosed]),
        &report::diagnose_schema(),
    );
    let incomplete = &document["incomplete"];
    assert_eq!(incomplete["reason"], "interrupted");
    assert_eq!(incomplete["not_measured"][0]["suite"], "locks");
    assert_eq!(incomplete["not_measured"][1]["users"], 8);
}

/// The page of runs of these suites, with these numbers of users, at these targets.
fn page_of(runs: &[(&str, u32, &str)], diagnosed: &[Diagnosed]) -> String {
    let runs: Vec<(Run, Summary)> = runs
        .iter()
        .map(|(suite, users, target)| {
            let mut run = runs::classic();
            run.plan.suite.name = (*suite).to_owned();
            run.plan.load.users = *users;
            run.plan.target = (*target).to_owned();
            let summary = stats::summarise(&run);
            (run, summary)
        })
        .collect();
    let shown = runs
        .iter()
        .map(|(run, summary)| page::without_details(run, summary));
    let page = html(&ReportPage {
        runs: shown.collect(),
        diagnosed: Some(diagnosed),
        is_diagnosis: true,
        ..ReportPage::default()
    });
    page::markup(&page)
}

const TARGET: &str = "http://127.0.0.1:8080/dav/";

#[test]
fn the_page_is_about_one_server_and_its_runs_are_suites() {
    let runs = [
        ("prestan", 1, TARGET),
        ("listing", 1, TARGET),
        ("prestan", 1, TARGET),
        ("prestan", 8, TARGET),
    ];
    let mut diagnosed = of(vec![finding("put-against-get", 1, 0.1)], vec![]);
    diagnosed.runs = vec![run("prestan", None); 4];
    diagnosed.incomplete = Some(interrupted());
    let page = page_of(&runs, &[diagnosed]);
    let (before, rest) = page.split_once("</header>").unwrap();
    assert!(
        before.contains(&format!("<h1>Diagnosis of {TARGET}</h1>")),
        "{before}"
    );
    assert_eq!(
        before.matches(TARGET).count(),
        2,
        "title and heading: {before}"
    );
    for name in ["prestan", "listing", "prestan #2", "prestan, 8 users"] {
        let name = format!("<bdi class=\"name\">{name}</bdi>");
        assert!(before.contains(&name), "no {name} in {before}");
    }
    let overview = rest
        .split_once("<section id=\"answer\" aria-label=\"In short\">")
        .unwrap()
        .1;
    assert!(
        overview.trim_start().starts_with(
            "<div class=\"box bad\"><p><strong>Incomplete:</strong> the diagnosis was interrupted."
        ),
        "{overview}"
    );
    assert!(
        page.contains("<h3><span class=\"caution\"><bdi>listing</bdi>: PUT is much slower"),
        "{page}"
    );
    assert!(page.contains(">Run</th>") && !page.contains(">Server</th>"));
    assert!(!page.contains("4 servers"));
}

#[test]
fn the_page_of_two_servers_names_both_before_their_suites() {
    let runs = [("prestan", 1, TARGET), ("prestan", 1, "http://h/b/")];
    let both = [of(vec![], vec![]), of(vec![], vec![])];
    let page = page_of(&runs, &both);
    assert!(page.contains("<h1>Diagnosis of 2 servers</h1>"));
    for name in ["127.0.0.1:8080/dav/", "h/b/"] {
        let run = format!("<bdi class=\"name\">{name}: prestan</bdi>");
        assert!(page.contains(&run), "no {run}");
        let findings = format!("<p><bdi>{name}</bdi>: None (44 checks");
        assert!(page.contains(&findings), "no {findings}");
    }
}
