//! Runs of WebSTONE: rows for pages and for the number, of which more is better.

use record::{EventKind, MeasureId, Moments, Outcome, Pace, PageRecord, Run, Sample};

use super::super::*;
use crate::summarise;
use crate::testing::{self, RunBuilder};

const MS: u64 = 1_000_000;
const S: u64 = 1_000 * MS;

/// Ten seconds in which one child loads a page of one file, which takes `ms` milliseconds;
/// `incomplete` of the visits are incomplete.
fn run(id: &str, ms: u64, incomplete: usize) -> Run {
    let mut samples: Vec<Sample> = (0..10 * S / (ms * MS))
        .map(|visit| {
            let (from, to) = (visit * ms * MS, (visit + 1) * ms * MS - 1);
            Sample {
                visit: Some(visit),
                moments: Moments {
                    planned: from,
                    started: from,
                    sent: Some(from),
                    acked: None,
                    first: Some(to),
                    done: Some(to),
                },
                ..testing::sample(MeasureId(0), 0, Outcome::Ok)
            }
        })
        .collect();
    for sample in samples.iter_mut().take(incomplete) {
        sample.outcome = Outcome::WrongStatus;
    }
    RunBuilder::new(1)
        .test("Pages", &[("/index.html", "GET")])
        .with(|run| {
            run.plan.run_id = id.to_owned();
            run.plan.load.pace = Pace::Closed;
            run.plan.pages = vec![PageRecord {
                name: "home".to_owned(),
                weight: 1.0,
                files: vec![MeasureId(0)],
                bytes: None,
                parts: None,
            }];
            run.samples = samples;
        })
        .event_at(0, |test| EventKind::MeasuringStarted { test })
        .event_at(10 * S, |test| EventKind::MeasuringEnded { test })
        .build()
}

fn compared(ms_of_b: u64, incomplete: usize) -> Vec<Compared> {
    let runs = |name: &str, ms: u64, incomplete: usize| -> Vec<(Run, Summary)> {
        let run = |index: u64| {
            let run = run(&format!("{name}{index}"), ms + index % 2, incomplete);
            let summary = summarise(&run);
            (run, summary)
        };
        (0..5).map(run).collect()
    };
    let (a, b) = (runs("a", 20, 0), runs("b", ms_of_b, incomplete));
    fn sides(runs: &[(Run, Summary)]) -> Vec<Side<'_>> {
        runs.iter()
            .map(|(run, summary)| Side {
                plan: &run.plan,
                env: &run.env,
                summary,
            })
            .collect()
    }
    compare(&sides(&a), &sides(&b), 0.02).unwrap().rows
}

#[test]
fn pages_and_the_number_have_rows_and_fewer_pages_are_slower() {
    let rows = compared(30, 0);
    let names: Vec<(RowKind, &str)> = rows.iter().map(|row| (row.kind, &*row.name)).collect();
    assert_eq!(
        names,
        [
            (RowKind::Number, "WEBSTONE number"),
            (RowKind::Page, "page home"),
            (RowKind::Operation, "/index.html"),
        ]
    );
    for row in &rows {
        assert_eq!(row.verdict, Verdict::Slower, "{row:?}");
        let ratio = row.ratio.unwrap();
        assert!((1.4..1.55).contains(&ratio.value), "{row:?}");
    }
    // 2950 pages a minute, or so.
    let number = 60e9 / rows[0].a.mean.unwrap();
    assert!((2_850.0..3_010.0).contains(&number), "{number}");
    let back = compared(14, 0);
    assert!(
        back.iter().all(|row| row.verdict == Verdict::Faster),
        "{back:?}"
    );
}

#[test]
fn incomplete_pages_are_failures_of_the_page() {
    let rows = compared(20, 400);
    let page = &rows[1];
    assert_eq!((page.b.failed, page.a.failed), (2_000, 0), "{page:?}");
    let failing = page.failing.unwrap();
    assert_eq!(failing.p, 2.0 / 32.0);
    assert_eq!(failing.pairs_needed, Some(8), "{failing:?}");
    assert_eq!(rows[0].failing, None);
    assert_eq!(rows[0].verdict, Verdict::Slower);
}
