//! How a load went, as figures: planned and sent requests, responses, their times, and their
//! statuses.

use figures::{Figure, MarkShape};
use record::{Outcome, Pace, Run};
use stats::testing::RunBuilder;
use stats::{Conclusion, summarise};

use crate::page::figures_of_runs;

/// A load at a rate of 1000 a second, of which the last third was dropped. Its times are `slow`
/// times as long.
fn load(slow: u64) -> Run {
    RunBuilder::new(1)
        .with(|run| run.plan.load.pace = stats::testing::open_loop())
        .test("Get", &[("Get", "GET")])
        .ok("Get", 4_000, move |i| slow * (300 + i * 7919 % 400))
        .ops("Get", 1_000, Outcome::WrongStatus, |_| 500)
        .ops("Get", 2_000, Outcome::Dropped, |_| 0)
        .with(|run| {
            for (index, sample) in run.samples.iter_mut().enumerate() {
                sample.moments.planned = index as u64 * 1_000_000;
                let moments = &mut sample.moments;
                let started = moments.started;
                moments.started = moments.planned + 40_000;
                for moment in [&mut moments.sent, &mut moments.first, &mut moments.done] {
                    *moment = moment.map(|moment| moment - started + moments.planned + 40_000);
                }
                sample.status = match sample.outcome {
                    Outcome::Ok => Some(200),
                    Outcome::WrongStatus => Some(503),
                    _ => None,
                };
            }
        })
        .build()
}

fn figures(runs: &[Run]) -> Vec<Figure> {
    let runs = runs.iter().map(|run| (run.clone(), summarise(run)));
    figures_of_runs(&runs.collect::<Vec<_>>())
}

#[track_caller]
fn called<'f>(figures: &'f [Figure], id: &str) -> &'f Figure {
    let ids: Vec<&str> = figures.iter().map(|figure| figure.id.as_str()).collect();
    let found = figures.iter().find(|figure| figure.id == id);
    found.unwrap_or_else(|| panic!("no {id}: {ids:?}"))
}

/// The value of a line at a share of the time; `None` where there is none.
fn at(figure: &Figure, panel: usize, key: &str, share: f64) -> Option<f64> {
    let index = figure.keys.iter().position(|entry| entry.name == key);
    assert!(index.is_some(), "{key}: {:?}", figure.keys);
    let mut series = figure.panels[panel].series.iter();
    let drawn = series.find(|series| series.key == index)?;
    let line = drawn.marks.iter().find_map(|mark| match &mark.shape {
        MarkShape::Line(points, _) => Some(points),
        _ => None,
    })?;
    let value = line[(line.len() as f64 * share) as usize].1;
    (!value.is_nan()).then_some(value)
}

#[track_caller]
fn assert_near(value: Option<f64>, expected: f64) {
    let value = value.unwrap();
    assert!(
        (value - expected).abs() <= expected * 0.03 + 0.5,
        "{value} {expected}"
    );
}

#[test]
fn a_load_is_shown_over_time() {
    let all = figures(&[load(1)]);
    let throughput = called(&all, "throughput-Get");
    for (line, early, late) in [
        ("planned", 1000.0, 1000.0),
        ("sent", 1000.0, 0.0),
        ("answered", 1000.0, 0.0),
    ] {
        assert_near(at(throughput, 0, line, 0.3), early);
        assert_near(at(throughput, 0, line, 0.9), late);
    }
    // The areas are stacked: the upper edge is the sum.
    let status = called(&all, "status-Get");
    let names: Vec<&str> = status.keys.iter().map(|key| key.name.as_str()).collect();
    assert_eq!(names, ["200", "dropped", "503"]);
    for (line, early, late) in [
        ("200", 1000.0, 0.0),
        ("dropped", 1000.0, 1000.0),
        ("503", 1000.0, 1000.0),
    ] {
        assert_near(at(status, 0, line, 0.3), early);
        assert_near(at(status, 0, line, 0.9), late);
    }
    // Each has a separate line, and no two of them differ by their colour only.
    let dropped = |row: &&[String]| row[0] == "dropped";
    let rates: Vec<&str> = status.rows().filter(dropped).map(|row| &*row[2]).collect();
    assert!(!rates.is_empty() && rates.iter().all(|rate| !rate.starts_with("2000")));
    let dashes: Vec<_> = status.keys.iter().map(|key| key.look.dash).collect();
    assert!(dashes[0] != dashes[1] && dashes[1] != dashes[2]);
    // From the planned moment on.
    let percentiles = called(&all, "percentiles-Get");
    assert_near(at(percentiles, 0, "p50", 0.3), 550.0);
    assert_eq!(at(percentiles, 0, "p50", 0.9), None);
    for words in ["latency from schedule", "without an interval"] {
        let text = format!("{} {}", percentiles.title, percentiles.note);
        assert!(text.contains(words), "{words}: {text}");
    }
}

#[test]
fn runs_have_a_panel_each_with_the_same_axes() {
    let all = figures(&[load(1), load(3)]);
    for id in ["throughput-Get", "percentiles-Get", "status-Get"] {
        let panels = &called(&all, id).panels;
        assert_eq!(panels.len(), 2);
        assert_eq!(panels[0].x.ends(), panels[1].x.ends(), "{id}");
        assert_eq!(panels[0].y.ends(), panels[1].y.ends(), "{id}");
        assert_ne!(panels[0].title, panels[1].title);
    }
    // No panel is stacked upon the one above it.
    assert_near(at(called(&all, "status-Get"), 1, "503", 0.3), 1000.0);
    let percentiles = called(&all, "percentiles-Get");
    assert_near(at(percentiles, 1, "p50", 0.3), 1550.0);
    assert_eq!(percentiles.columns.len(), 4);
}

#[test]
fn a_suite_has_no_course() {
    let run = RunBuilder::new(1)
        .test("Get", &[("Get", "GET")])
        .ok("Get", 20, |_| 100)
        .build();
    let all = figures(&[run]);
    for kind in ["throughput-", "percentiles-", "status-"] {
        assert!(
            all.iter().all(|figure| !figure.id.starts_with(kind)),
            "{kind}"
        );
    }
    assert!(all.iter().any(|figure| figure.id == "ecdf-Get"));
}

#[test]
fn what_measured_nothing_is_inconclusive() {
    let cut_off = RunBuilder::new(2)
        .with(|run| run.plan.load.pace = Pace::Closed)
        .test("Get", &[("Get", "GET")])
        .ok("Get", 2, |_| 500)
        .with(|run| run.plan.load.requests = None)
        .build();
    let summary = summarise(&cut_off);
    assert_eq!(summary.conclusion(), Conclusion::Inconclusive);
    let why = report::inconclusive(&summary);
    let says = "Get: no operation in the measurement window";
    assert_eq!(why.as_deref(), Some(says));
}
