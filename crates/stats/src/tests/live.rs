//! Constraints while a run goes on, and those of parts of it.

use record::{ConstraintRecord, ConstraintSense, EventKind, Nanos, Pace, Run, Stage};

use crate::testing::{RunBuilder, open_loop};
use crate::{Conclusion, LiveJudge, MeasurementWindow, Summary, summarise};

const MS: Nanos = 1_000_000;

fn constraint(expression: &str, abort: bool) -> ConstraintRecord {
    ConstraintRecord {
        name: expression.to_owned(),
        expression: expression.to_owned(),
        sense: ConstraintSense::Holds,
        abort,
    }
}

/// A closed loop of one user whose i-th operation has a response time of `us(i)` microseconds.
fn closed(n: u64, us: impl Fn(u64) -> u64, constraints: &[(&str, bool)]) -> Run {
    let all = constraints
        .iter()
        .map(|(text, abort)| constraint(text, *abort));
    let all: Vec<_> = all.collect();
    RunBuilder::new(1)
        .with(|run| {
            run.plan.load.pace = Pace::Closed;
            run.plan.load.requests = None;
            run.plan.constraints = all;
        })
        .test("Get", &[("Get", "GET")])
        .event_at(0, |test| EventKind::MeasuringStarted { test })
        .ok("Get", n, us)
        .build()
}

/// The first moment at which a constraint ends the run, in milliseconds, with the name of it.
fn ended(run: &Run) -> Option<(Nanos, String)> {
    let mut judge = LiveJudge::new(&run.plan, &[]).unwrap();
    let window = MeasurementWindow::Between {
        start: 0,
        end: Nanos::MAX,
    };
    for samples in run.samples.chunks(10) {
        judge.add(samples, window);
        if let Some(name) = judge.broken(Some(0)) {
            let at = samples[samples.len() - 1].moments.done.unwrap();
            return Some((at / MS, name));
        }
    }
    None
}

#[test]
fn a_hopeless_run_ends_at_a_look_and_no_sooner() {
    // Of 2 ms each, spread evenly.
    let run = |constraints: &[(&str, bool)]| closed(4000, |i| 1800 + i * 7919 % 400, constraints);
    let (at, name) = ended(&run(&[("p50(Get) < 1 ms", true)])).unwrap();
    assert!((1000..1100).contains(&at), "{at}");
    assert_eq!(name, "p50(Get) < 1 ms");
    assert_eq!(ended(&run(&[("p50(Get) < 1 s", true)])), None);
    assert_eq!(
        LiveJudge::new(&run(&[("p50(Get) < 1 ms", false)]).plan, &[]).map(|_| ()),
        None
    );
    // Too few for its interval at the first looks.
    let (at, _) = ended(&run(&[("p99(Get) < 1 ms", true)])).unwrap();
    assert!(at >= 1000, "{at}");
}

#[test]
fn what_can_still_be_fulfilled_ends_nothing() {
    let run = closed(
        4000,
        |_| 2000,
        &[
            ("operations(Get) > 1000000", true),
            ("bytes_received(Get) > 1 GB", true),
            ("connections(Get) > 10", true),
            ("max(Get) > 1 s", true),
            ("min(Get) < 1 ms", true),
            ("last(Get) < 1 ms", true),
        ],
    );
    assert_eq!(ended(&run), None);
    for hopeless in [
        "operations(Get) < 10",
        "max(Get) < 1 ms",
        "min(Get) > 1 s",
        "first(Get) > 1 s",
    ] {
        let run = closed(4000, |_| 2000, &[(hopeless, true)]);
        assert_eq!(ended(&run).map(|ended| ended.1).as_deref(), Some(hopeless));
    }
}

#[test]
fn a_bound_at_the_true_value_seldom_ends_a_run() {
    // Independent, from 1 to 3 ms, median 2 ms. Some 1000 operations until the first of 7 looks.
    let mut ends = 0;
    for seed in 1..=60_u64 {
        let mut state = seed;
        let times: Vec<u64> = (0..16_000)
            .map(|_| {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                1000 + (state >> 33) % 2001
            })
            .collect();
        let run = closed(
            times.len() as u64,
            |i| times[i as usize],
            &[("p50(Get) < 2 ms", true)],
        );
        ends += u32::from(ended(&run).is_some());
    }
    // One of 1000 is allowed; of 60, two have a probability of 0.2 %.
    assert!(ends < 2, "{ends}");
}

#[test]
fn conditions_compare_what_was_measured_so_far() {
    let run = closed(
        3000,
        |i| if i < 1500 { 1000 } else { 5000 },
        &[("fine", false)],
    );
    let conditions = [
        "p50(Get) > 3 ms",
        "p50(Get, last 1 s) > 3 ms",
        "p50(Get, last 1 s, samples >= 100000) > 0 s + 1 ns",
    ];
    let mut plan = run.plan.clone();
    plan.constraints.clear();
    let mut judge = LiveJudge::new(&plan, &conditions.map(str::to_owned)).unwrap();
    let window = MeasurementWindow::Between {
        start: 0,
        end: Nanos::MAX,
    };
    assert_eq!(judge.conditions(Some(0)), [false; 3]);
    judge.add(&run.samples[..1400], window);
    assert_eq!(judge.conditions(Some(0)), [false, false, false]);
    judge.add(&run.samples[1400..2200], window);
    assert_eq!(judge.conditions(Some(0)), [false, true, false]);
    judge.add(&run.samples[2200..], window);
    assert_eq!(judge.conditions(Some(0)), [false, true, false]);
}

/// The figure of the only reading of the only constraint.
fn read(run: &Run, expression: &str) -> (Conclusion, String) {
    let mut run = run.clone();
    run.plan.constraints = vec![constraint(expression, false)];
    let Summary { constraints, .. } = summarise(&run);
    let figure = &constraints[0].readings[0].figure;
    (constraints[0].verdict, format!("{figure:?}"))
}

#[test]
fn a_sliding_window_has_what_began_in_it() {
    // One operation every 1.03 ms, and the last of 3000 ends at 3.09 s.
    let run = closed(3000, |_| 1000, &[]);
    let (_, figure) = read(&run, "operations(Get, last 1 s) > 0");
    let end = run.samples.last().unwrap().moments.done.unwrap();
    let began = run
        .samples
        .iter()
        .filter(|sample| sample.moments.started + 1000 * MS >= end)
        .count();
    assert_eq!(figure, format!("Fact({began}.0)"));
    let (_, whole) = read(&run, "operations(Get, last 1 h) > 0");
    assert_eq!(whole, "Fact(3000.0)");
    let (verdict, _) = read(&run, "operations(Get, stage 2) > 0");
    assert_eq!(verdict, Conclusion::Inconclusive);
}

#[test]
fn a_stage_has_what_was_planned_in_it() {
    let stages = [1.0, 2.0, 3.0].map(|rate| Stage {
        rate: rate * 100.0,
        duration_s: 1.0,
    });
    let mut run = RunBuilder::new(1)
        .with(|run| run.plan.load.pace = open_loop())
        .test("Get", &[("Get", "GET")])
        .event_at(0, |test| EventKind::MeasuringStarted { test })
        .ok("Get", 600, |_| 1000)
        .build();
    let Pace::Open {
        stages: planned, ..
    } = &mut run.plan.load.pace
    else {
        unreachable!("it is an open loop");
    };
    *planned = stages.to_vec();
    for (index, sample) in run.samples.iter_mut().enumerate() {
        sample.phase = match index {
            0..100 => 0,
            100..300 => 1,
            _ => 2,
        };
    }
    for (stage, operations) in [(1, "100.0"), (2, "200.0"), (3, "300.0")] {
        let (_, figure) = read(&run, &format!("operations(Get, stage {stage}) > 0"));
        assert_eq!(figure, format!("Fact({operations})"));
    }
    // The rate was changed on purpose, but for that of a stage.
    assert_eq!(read(&run, "rate(Get) > 1 /s").0, Conclusion::Inconclusive);
    assert_eq!(read(&run, "rate(Get, stage 3) > 1 /s").0, Conclusion::Pass);
    assert_eq!(
        read(&run, "operations(Get, stage 4) > 0").0,
        Conclusion::Inconclusive
    );
}
