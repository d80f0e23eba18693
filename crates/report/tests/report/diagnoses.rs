//! Diagnoses as people and programs read them.

use insta::assert_snapshot;
use serde_json::Value;
use stats::{Diagnosis, Evidence, Figure, Finding, LeftOut, Quantity, WhyLeftOut};

use report::{Diagnosed, DiagnosedRun};

/// A server that speaks to the terminal, and suites of somebody's own.
const HOSTILE: &str = "Evil/1.0 \u{1b}[31m</script>\u{202e}";

fn just(name: &'static str, value: Quantity) -> Figure {
    Figure {
        name,
        value,
        interval: None,
        operations: None,
    }
}

fn mean(name: &'static str, ns: f64, half: f64) -> Figure {
    Figure {
        interval: Some((ns - half, ns + half)),
        operations: Some(100),
        ..just(name, Quantity::Time(ns))
    }
}

fn row(name: &str, figure: Figure) -> Evidence {
    Evidence {
        row: name.into(),
        figures: vec![figure],
    }
}

fn finding(rule: &'static str, run: usize, weight: f64) -> Finding {
    Finding {
        rule,
        title: "PUT is much slower than GET of the same size",
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
        look_at: "what a PUT does beside writing: fsync of each file or of its directory, a \
                  temporary file and a rename",
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
        server: server.map(str::to_owned),
        rows: 23,
    }
}

fn diagnosed() -> Diagnosed {
    Diagnosed {
        runs: vec![run("prestan", Some(HOSTILE)), run("listing", Some(HOSTILE))],
        diagnosis: Diagnosis {
            findings: vec![
                finding("put-against-get", 0, 0.342),
                Finding {
                    title: "There are two kinds of answers: quick ones and slow ones",
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
                why: WhyLeftOut::Evidence(format!("PROPFIND tree/: 403 {HOSTILE}")),
                disqualified: false,
            }],
            few: 3,
        },
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
    Diagnosed { runs, diagnosis }
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
        why: WhyLeftOut::Evidence("the load generator had no idle time".into()),
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
    let document: Value = serde_json::from_str(&text).unwrap();
    let schema: Value = serde_json::from_str(&report::diagnose_schema()).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let errors: Vec<String> = validator
        .iter_errors(&document)
        .map(|error| error.to_string())
        .collect();
    assert!(errors.is_empty(), "{errors:#?}");
    // Runs are counted through the whole document.
    assert_eq!(document["findings"][0]["run"], 1);
    assert_eq!(document["left_out"][0]["run"], 2);
    let alone: Value =
        serde_json::from_str(&report::findings_json(&diagnosed().diagnosis.findings)).unwrap();
    assert_eq!(alone[0]["rule"], "put-against-get");
    assert_snapshot!(text);
}
