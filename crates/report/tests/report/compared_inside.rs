//! Costs inside of two servers beside each other, and how they grow.

use record::{
    CallTarget, Event, EventKind, InsideBatch, InsideCounts, InsideRecord, MeasureId, Run,
    TracedRow,
};
use report::page::ReportPage;
use report::{Comparisons, Design, Sweep, SweepServer, Varied, Versus};
use stats::testing::{RunBuilder, traced_call};
use stats::{Side, Summary, Swept, summarise};

const TRACED: u64 = 5;

struct Costs {
    processor_us: u64,
    calls: Vec<(&'static str, CallTarget, u64)>,
}

fn collection(call: &'static str, count: u64) -> (&'static str, CallTarget, u64) {
    (call, CallTarget::Collection, count)
}

fn file(call: &'static str, path: &str, count: u64) -> (&'static str, CallTarget, u64) {
    let path = path.to_owned();
    (call, CallTarget::File { path }, count)
}

fn look_into(run: &mut Run, rows: Vec<Costs>) {
    run.plan.inside = Some(InsideRecord {
        missing: Vec::new(),
        without_io: false,
        without_threads: false,
        processes: Vec::new(),
    });
    for (
        index,
        Costs {
            processor_us,
            calls,
        },
    ) in (0..).zip(rows)
    {
        let measure = MeasureId(index);
        let batch = |number: u64| {
            EventKind::Inside(InsideBatch {
                measure,
                operations: 10,
                lasted: 5_000_000,
                counted: InsideCounts {
                    processor: 10_000 * processor_us + 1_000 * number,
                    ..InsideCounts::default()
                },
            })
        };
        let call = |(call, target, count)| traced_call(call, target, count * TRACED);
        let traced = EventKind::Traced(TracedRow {
            measure,
            operations: TRACED,
            took: 2_000_000,
            median: 400_000,
            ok: TRACED,
            calls: calls.into_iter().map(call).collect(),
            other_calls: 0,
        });
        let kinds = (0..6).map(batch).chain([traced]);
        run.events.extend(kinds.map(|kind| Event { at: 1, kind }));
    }
}

fn run(id: &str, rows: Vec<Costs>) -> Run {
    let builder = RunBuilder::new(1)
        .test("Upload", &[("Put1K", "PUT")])
        .ok("Put1K", 60, |i| 300 + i % 7)
        .test("Find", &[("Propfind", "PROPFIND")])
        .ok("Propfind", 60, |i| 200 + i % 5);
    let mut run = builder.with(|run| run.plan.run_id = id.to_owned()).build();
    look_into(&mut run, rows);
    run
}

/// A server and a branch of it that needs one more fsync for a PUT, fewer stat for a PROPFIND and 5
/// % more processor time for both; opens vary from start to start.
fn comparisons(pairs: u64) -> Comparisons {
    let runs_of_server = |name: &str, is_b: bool| -> Vec<Run> {
        let more = u64::from(is_b);
        let costs = |number: u64| {
            let processor = |us: u64| us + us * more / 20 + number % 3;
            vec![
                Costs {
                    processor_us: processor(200),
                    calls: vec![
                        collection("openat", 2),
                        collection("fsync", 1 + more),
                        collection("rename", 1),
                        file("fdatasync", "journal\u{1b}[2J", more),
                    ],
                },
                Costs {
                    processor_us: processor(100),
                    calls: vec![
                        collection("newfstatat", 30 - 10 * more),
                        collection("openat", 8 + (number * 7 + more) % 3),
                    ],
                },
            ]
        };
        (0..pairs)
            .map(|number| run(&format!("{name}{number}"), costs(number)))
            .collect()
    };
    let (a, b) = (runs_of_server("a", false), runs_of_server("b", true));
    let summaries = |runs: &[Run]| runs.iter().map(summarise).collect::<Vec<Summary>>();
    let (summaries_a, summaries_b) = (summaries(&a), summaries(&b));
    let sides = |runs: &'_ [Run], summaries: &'_ [Summary]| -> Comparisons {
        let side = |(run, summary)| -> Side<'_> {
            let run: &Run = run;
            Side {
                plan: &run.plan,
                env: &run.env,
                summary,
            }
        };
        let first: Vec<Side<'_>> = a.iter().zip(&summaries_a).map(side).collect();
        let second: Vec<Side<'_>> = runs.iter().zip(summaries).map(side).collect();
        Comparisons {
            name: "main".to_owned(),
            runs: Vec::new(),
            seeds: Vec::new(),
            notes: Vec::new(),
            versus: vec![Versus {
                name: "branch".to_owned(),
                runs: Vec::new(),
                seeds: Vec::new(),
                notes: Vec::new(),
                comparison: stats::compare(&first, &second, 0.02).unwrap(),
            }],
            incomplete: None,
        }
    };
    sides(&b, &summaries_b)
}

#[test]
fn what_a_branch_costs_more_is_told_beside_times() {
    let all = comparisons(8);
    insta::assert_snapshot!(report::compare_text(&all, false, 110));
    insta::assert_snapshot!(report::compare_markdown(&all));
    let json = report::compare_json(&all);
    let document: serde_json::Value = serde_json::from_str(&json).unwrap();
    let put = &document["tests"][0]["inside"];
    let cost = |name: &str| {
        let mut costs = put["costs"].as_array().unwrap().iter();
        let cost = costs.find(|cost| cost["cost"] == name);
        cost.unwrap_or_else(|| panic!("{put:#}"))
    };
    assert_eq!(cost("processor")["verdict"], "more", "{put:#}");
    let fsync = cost("fsync");
    assert_eq!(
        (&fsync["verdict"], &fsync["is_fact"]),
        (&"more".into(), &true.into())
    );
    let page = ReportPage {
        comparison: Some(&all),
        ..ReportPage::default()
    };
    let page = report::page::html(&page);
    assert!(page.contains("id=\"compared-inside\""));
    assert!(
        page.contains("fsync 1 -&gt; 3") && !page.contains('\u{1b}'),
        "{page}"
    );
}

/// Of recorded runs, the names of rows may be anything.
#[test]
fn a_hostile_name_of_a_row_does_not_reach_the_terminal() {
    let mut all = comparisons(8);
    for row in &mut all.versus[0].comparison.rows {
        row.name = format!("evil\u{1b}[2J {}", row.name);
    }
    let text = report::compare_text(&all, false, 110);
    assert!(text.contains("vary from run to run"), "{text}");
    assert!(!text.contains('\u{1b}'), "{text:?}");
    assert!(!report::compare_markdown(&all).contains('\u{1b}'));
}

#[test]
fn a_few_runs_show_differences_and_decide_nothing() {
    insta::assert_snapshot!(report::compare_text(&comparisons(3), false, 110));
}

#[test]
fn costs_that_grow_have_a_law() {
    let widths = [10, 30, 100, 300];
    let costs = |width: u64, repeat: u64| {
        vec![
            Costs {
                processor_us: 100,
                calls: vec![collection("fsync", 2), collection("openat", 3 + repeat % 2)],
            },
            Costs {
                processor_us: 50 + 4 * width + repeat,
                calls: vec![
                    collection("newfstatat", 4 + 3 * width),
                    collection("openat", 2),
                    collection("getdents64", 1 + width * width / 100),
                ],
            },
        ]
    };
    let mut summaries = Vec::new();
    for repeat in 0..3 {
        for (level, width) in widths.iter().enumerate() {
            let run = run("sweep", costs(*width, repeat));
            summaries.push(([level], repeat as usize, summarise(&run)));
        }
    }
    let swept: Vec<Swept<'_>> = summaries
        .iter()
        .map(|(levels, repeat, summary)| Swept {
            server: 0,
            levels,
            repeat: *repeat,
            summary,
        })
        .collect();
    let values = widths.map(|width| width as f64).to_vec();
    let sweep = Sweep {
        suite: "listing".to_owned(),
        notes: Vec::new(),
        rows: stats::sweep(std::slice::from_ref(&values), &swept, 0.05),
        vary: vec![Varied {
            name: "width".to_owned(),
            values,
            written: widths.iter().map(ToString::to_string).collect(),
        }],
        design: Design::Grid,
        repeats: 3,
        seed: 7,
        same_within: 0.05,
        servers: vec![SweepServer {
            name: "http://127.0.0.1:1/".to_owned(),
            target: "http://127.0.0.1:1/".to_owned(),
            software: None,
        }],
        incomplete: None,
        caveats: Vec::new(),
    };
    insta::assert_snapshot!(report::sweep_text(&sweep, false, 110));
    insta::assert_snapshot!(report::sweep_json(&sweep));
}
