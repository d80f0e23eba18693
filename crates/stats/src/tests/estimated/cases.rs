//! Small cases by hand, and runs from their samples to their estimates.

use std::borrow::Cow;
use std::convert::Infallible;

use constraint::WhyUnknown;
use record::{EventKind, MeasureId, Outcome, Pace, Run, Sample};

use crate::estimated::{EstimatedStatistic, FactOfRow, MISS, RunEstimates};
use crate::summarise::added_up;
use crate::testing::{self, RunBuilder, US};
use crate::{Summariser, summarise};

/// An operation that took so many microseconds and began at that millisecond.
fn op(ms: u64, us: u64, outcome: Outcome) -> Sample {
    let mut sample = testing::sample(MeasureId(0), 0, outcome);
    let began = ms * 1_000_000;
    sample.moments = testing::moments(began, began, began + us * US, began + us * US);
    sample
}

fn run(samples: impl IntoIterator<Item = Sample>) -> Run {
    let builder = RunBuilder::new(1).test("Get", &[("Get", "GET")]);
    samples
        .into_iter()
        .fold(builder, |builder, sample| builder.sample("Get", sample))
        .build()
}

fn estimates(run: &Run) -> RunEstimates<'static> {
    let samples = || Ok(std::iter::once(Ok::<_, Infallible>(&run.samples)));
    let Ok((windows, summariser)) = added_up(&run.plan, &run.events, samples);
    let spans = windows.spans(&summariser, &run.events);
    RunEstimates::of(Cow::Owned(summariser), &run.events, spans)
}

/// So many operations of 100 us and some more, one a millisecond, of which each tenth fails.
fn steady(n: u64) -> Run {
    run((0..n).map(|at| {
        let failed = at % 10 == 9;
        let outcome = if failed {
            Outcome::WrongStatus
        } else {
            Outcome::Ok
        };
        op(at, 100 + at * 7919 % 100, outcome)
    }))
}

#[test]
fn facts_are_those_of_the_operations_that_count() {
    let run = run([
        op(5, 300, Outcome::Ok),
        op(1, 200, Outcome::Ok),
        op(0, 900, Outcome::WrongStatus),
        op(9, 250, Outcome::Ok),
        op(3, 100, Outcome::Ok),
    ]);
    let found = estimates(&run);
    let us = |time: u64| Some(time * US);
    let expected = [
        (FactOfRow::Min, us(100)),
        (FactOfRow::Max, us(300)),
        (FactOfRow::First, us(200)),
        (FactOfRow::Last, us(250)),
        (FactOfRow::Operations, Some(5)),
        (FactOfRow::Failures, Some(1)),
        (
            FactOfRow::BytesSent,
            Some(run.samples.iter().map(|s| s.bytes_sent).sum()),
        ),
        (
            FactOfRow::BytesReceived,
            Some(run.samples.iter().map(|s| s.bytes_received).sum()),
        ),
        (FactOfRow::Connections, Some(0)),
    ];
    for (fact, value) in expected {
        assert_eq!(found.fact(0, fact), value, "{fact:?}");
        assert_eq!(found.fact(1, fact), None);
    }
    assert_eq!(found.row_named("Get"), Some(0));
    assert_eq!(found.row_named("Put"), None);
}

#[test]
fn what_is_too_little_has_no_estimate() {
    let nothing = estimates(&run([]));
    let few = estimates(&run((0..29).map(|ms| op(ms, 100 + ms, Outcome::Ok))));
    use EstimatedStatistic as S;
    for statistic in [
        S::Mean,
        S::Sd,
        S::Percentile(500_000),
        S::Rate,
        S::Goodput,
        S::FailureRate,
    ] {
        let of = |run: &RunEstimates<'_>, row| run.estimate(row, statistic, MISS);
        assert_eq!(
            of(&nothing, 0),
            Err(WhyUnknown::NoOperation),
            "{statistic:?}"
        );
        assert_eq!(of(&few, 7), Err(WhyUnknown::NotMeasured));
    }
    let needs = |needed| {
        Err(WhyUnknown::TooFew {
            samples: 29,
            needed,
        })
    };
    assert_eq!(few.estimate(0, S::Mean, MISS), needs(30));
    assert_eq!(few.estimate(0, S::Sd, MISS), needs(30));
    assert_eq!(few.estimate(0, S::Rate, MISS), needs(100));
    // Times that only rise: each run of neighbours is alike.
    let rising = few.estimate(0, S::Percentile(500_000), MISS);
    assert!(
        matches!(
            rising,
            Err(WhyUnknown::TooFew {
                samples: 29,
                needed: 100..
            })
        ),
        "{rising:?}"
    );
}

#[test]
fn no_failure_in_a_thousand_operations_is_no_certainty() {
    let found = estimates(&run((0..1000).map(|ms| op(ms, 100, Outcome::Ok))));
    let rate = found
        .estimate(0, EstimatedStatistic::FailureRate, MISS)
        .unwrap();
    assert_eq!((rate.value, rate.low), (0.0, 0.0));
    assert!(
        (rate.high - (1.0 - 0.001_f64.powf(0.001))).abs() < 1e-9,
        "{rate:?}"
    );
}

#[test]
fn a_percentile_that_too_few_times_exceed_has_no_upper_end() {
    let found = estimates(&steady(900));
    let of = |ppm| {
        found
            .estimate(0, EstimatedStatistic::Percentile(ppm), MISS)
            .unwrap()
    };
    let (p99, p999) = (of(990_000), of(999_000));
    assert!(p99.high <= 200e3 && p99.low > 150e3, "{p99:?}");
    assert_eq!(p999.high, f64::INFINITY);
    assert!(p999.low > 150e3 && p999.low <= p999.value, "{p999:?}");
}

#[test]
fn estimates_lie_in_their_intervals_and_rates_are_those_of_the_report() {
    let run = steady(2000);
    let found = estimates(&run);
    let row = &summarise(&run).tests[0];
    use EstimatedStatistic as S;
    let response = row.response.unwrap();
    let expected = [
        (S::Mean, response.mean),
        (S::Sd, response.sd.unwrap()),
        (S::Percentile(900_000), response.p90 as f64),
        (S::Rate, row.per_second().unwrap()),
        (S::Goodput, row.per_second().unwrap() * 500.0),
        (S::FailureRate, 0.1),
    ];
    for (statistic, value) in expected {
        let estimate = found.estimate(0, statistic, MISS).unwrap();
        assert!(
            (estimate.value / value - 1.0).abs() < 0.001,
            "{statistic:?} {value} {estimate:?}"
        );
        assert!(
            estimate.low <= estimate.value && estimate.value <= estimate.high,
            "{estimate:?}"
        );
        // A look later, the interval is wider.
        let wider = found.estimate(0, statistic, MISS / 100.0).unwrap();
        assert!(
            wider.low <= estimate.low && wider.high >= estimate.high,
            "{statistic:?}"
        );
    }
}

#[test]
fn parts_of_a_run_make_the_estimates_of_the_whole() {
    let run = steady(500);
    let mut parts = [Summariser::new(&run.plan), Summariser::new(&run.plan)];
    for (index, sample) in run.samples.iter().enumerate() {
        parts[index % 2].add(
            std::slice::from_ref(sample),
            crate::MeasurementWindow::Everything,
        );
    }
    let [mut all, other] = parts;
    all.merge(&other);
    let spans = all.windows(&run.events);
    let merged = RunEstimates::of(Cow::Borrowed(&all), &run.events, spans);
    let whole = estimates(&run);
    use EstimatedStatistic as S;
    for statistic in [
        S::Mean,
        S::Sd,
        S::Percentile(500_000),
        S::Rate,
        S::FailureRate,
    ] {
        let (found, expected) = (
            merged.estimate(0, statistic, MISS),
            whole.estimate(0, statistic, MISS),
        );
        assert_eq!(found, expected, "{statistic:?}");
        assert!(found.is_ok(), "{statistic:?}: {found:?}");
    }
    for fact in [FactOfRow::First, FactOfRow::Last, FactOfRow::Min] {
        assert_eq!(merged.fact(0, fact), whole.fact(0, fact));
    }
}

#[test]
fn a_rate_that_was_changed_or_interrupted_has_no_estimate() {
    let mut changed = steady(500);
    let stage = |rate| record::Stage {
        rate,
        duration_s: 1.0,
    };
    changed.plan.load.pace = match testing::open_loop() {
        Pace::Open {
            arrivals,
            max_waiting,
            ..
        } => Pace::Open {
            arrivals,
            stages: vec![stage(10.0), stage(20.0)],
            max_waiting,
        },
        other => other,
    };
    let mut waited = steady(500);
    let mut generator = testing::generator(record::TestId(0));
    generator.waited = 1_000_000;
    waited.events.push(record::Event {
        at: 0,
        kind: EventKind::Generator(generator),
    });
    for run in [changed, waited] {
        let rate = estimates(&run).estimate(0, EstimatedStatistic::Rate, MISS);
        assert_eq!(rate, Err(WhyUnknown::NotSteady));
        assert!(
            estimates(&run)
                .estimate(0, EstimatedStatistic::FailureRate, MISS)
                .is_ok()
        );
    }
}
