//! Verdicts on constraints at the end of a run: pass, fail, or inconclusive.

use record::{ConstraintRecord, ConstraintSense, EventKind};

use crate::Conclusion::{self, Fail, Inconclusive, Pass};
use crate::testing::{self, RunBuilder};
use crate::{ReadFigure, summarise};

/// Verdicts on these constraints, each with its first reading.
fn judged(builder: &RunBuilder, expressions: &[&str]) -> Vec<(Conclusion, ReadFigure)> {
    let record = |text: &&str| ConstraintRecord {
        name: "own".to_owned(),
        expression: (*text).to_owned(),
        sense: ConstraintSense::Holds,
        abort: false,
    };
    let all = expressions.iter().map(record).collect();
    let run = builder.clone().with(|run| run.plan.constraints = all);
    let judged = summarise(&run.build()).constraints.into_iter();
    let with_reading = judged.map(|judged| (judged.verdict, judged.readings[0].figure.clone()));
    with_reading.collect()
}

#[track_caller]
fn assert_judged(builder: &RunBuilder, expected: &[(&str, Conclusion)]) {
    let (expressions, expected): (Vec<&str>, Vec<Conclusion>) = expected.iter().copied().unzip();
    let judged: Vec<Conclusion> = judged(builder, &expressions)
        .into_iter()
        .map(|(verdict, _)| verdict)
        .collect();
    assert_eq!(judged, expected, "{expressions:?}");
}

/// A run of `n` files that are read in 3 ms each.
fn read(n: u64) -> RunBuilder {
    let builder = RunBuilder::new(1).test("Files", &[("Get", "GET")]);
    builder.ok("Get", n, |index| 3_000 + index % 50)
}

#[test]
fn a_verdict_needs_operations_time_and_a_server_that_can_do_it() {
    let builder = read(1000).test("Writes", &[("Put", "PUT")]);
    let unable = builder.event("Put", |test, _| EventKind::NotSupported {
        test,
        step: None,
        evidence: "PUT g: 501 Not Implemented".to_owned(),
    });
    assert_judged(
        &unable,
        &[
            ("p50(Get) < 10 s", Pass),
            ("p50(Get) < 1 ms", Fail),
            ("p99.9(Get) < 10 s", Inconclusive),
            ("p50(Get, samples >= 100000) < 10 s", Inconclusive),
            ("p50(Get, over >= 1 h) < 10 s", Inconclusive),
            ("p50(Put) < 10 s", Inconclusive),
            // True for any result of PUT.
            ("p50(Put) < 10 s or failures(Get) == 0", Pass),
            // A server without PUT fails in no row.
            ("failures == 0", Pass),
        ],
    );
    // A percentile may be longer than any operation that there was, and so can fail only.
    let (_, tail) = judged(&unable, &["p99.9(Get) < 10 s"]).remove(0);
    assert!(
        matches!(tail, ReadFigure::Estimate { high, .. } if high.is_infinite()),
        "{tail:?}"
    );
}

#[test]
fn a_bound_within_the_interval_decides_nothing() {
    let (_, figure) = judged(&read(1000), &["mean(Get) < 10 s"]).remove(0);
    let ReadFigure::Estimate { low, high, .. } = figure else {
        panic!("{figure:?}");
    };
    let at = format!("mean(Get) < {} us", (low + high) / 2e3);
    assert_judged(&read(1000), &[(&at, Inconclusive)]);
}

#[test]
fn a_load_generator_without_a_processor_decides_about_counts_only() {
    let saturated = read(300).event("Get", |test, _| {
        let mut generator = testing::generator(test);
        generator.cpu = generator.wall * u64::from(generator.workers);
        EventKind::Generator(generator)
    });
    assert_judged(
        &saturated,
        &[
            ("p50(Get) < 10 s", Inconclusive),
            ("mean(Get) < 10 s", Inconclusive),
            ("failures(Get) == 0 and operations(Get) == 300", Pass),
        ],
    );
}
