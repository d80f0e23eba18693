//! A load whose number of users changed: its steps as text, in JSON and on the page.

use record::{AdaptRecord, EventKind, Pace, Run};
use report::{TextOptions, text};
use stats::summarise;
use stats::testing::RunBuilder;

use crate::page::{page_of, page_of_runs};

/// One user and then four, with 120 operations each.
fn run() -> Run {
    let mut run = RunBuilder::new(4)
        .with(|run| {
            run.plan.load.pace = Pace::Closed;
            run.plan.load.requests = None;
            run.plan.load.adapt = Some(AdaptRecord {
                least: 1,
                most: 4,
                every_s: 0.5,
                ladder: vec![1, 4],
                raise: None,
                lower: None,
            });
        })
        .test("Get", &[("Get", "GET")])
        .event_at(0, |test| EventKind::MeasuringStarted { test })
        .event_at(0, |_| EventKind::LoadChanged { users: 1, phase: 0 })
        .ok("Get", 60, |_| 1000)
        .event("Get", |_, _| EventKind::LoadChanged { users: 4, phase: 1 })
        .build();
    let half = run.samples.len() / 2;
    for sample in &mut run.samples[half..] {
        sample.phase = 1;
    }
    run
}

#[test]
fn each_number_of_users_has_a_line() {
    let run = run();
    let summary = summarise(&run);
    let steps: Vec<(u32, u64)> = summary
        .load_steps
        .iter()
        .map(|step| (step.users, step.operations))
        .collect();
    assert_eq!(steps, [(1, 120), (4, 120)]);
    let shown = text(&run, &summary, &[], &TextOptions::default());
    assert!(
        shown.contains("\n1, 4 users, each for 0.5 s. No intervals: a step is short.\n"),
        "{shown}"
    );
    let lines = shown
        .lines()
        .skip_while(|line| !line.contains("per second"))
        .skip(1);
    let users: Vec<&str> = lines
        .take(2)
        .filter_map(|line| line.split_whitespace().nth(2))
        .collect();
    assert_eq!(users, ["1", "4"], "{shown}");
    let json: serde_json::Value = serde_json::from_str(&report::json(&run, &summary, &[])).unwrap();
    assert_eq!(json["load_steps"][1]["users"], 4);
    assert_eq!(json["load"]["adapt"]["ladder"], serde_json::json!([1, 4]));
    let page = page_of(&run);
    let table = page.split_once("id=\"load-steps\"").unwrap().1;
    assert!(
        table.contains("Load, step by step") && table.contains("1, 4 users, each for 0.5 s"),
        "{table}"
    );
}

#[test]
fn several_runs_share_a_table() {
    let mut other = run();
    other.plan.target = "http://192.0.2.9/".to_owned();
    let page = page_of_runs(&[run(), other]);
    assert_eq!(page.matches("id=\"load-steps\"").count(), 1);
    let (_, table) = page.split_once("id=\"load-steps\"").unwrap();
    let (table, _) = table.split_once("</section>").unwrap();
    let (_, body) = table.split_once("<tbody>").unwrap();
    let (body, below) = body.split_once("</tbody>").unwrap();
    assert_eq!(body.matches("<tr>").count(), 4, "{body}");
    assert_eq!(body.matches("(192.0.2.9)</td>").count(), 2, "{body}");
    assert_eq!(
        below.matches("1, 4 users, each for 0.5 s").count(),
        2,
        "{below}"
    );
}
