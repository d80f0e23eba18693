//! The data of a page: the documents for programs as they are, and what only figures need.
//!
//! Columns instead of a list of objects, since their names would take more room than the figures.

use serde::Serialize;
use stats::{Bar, Bucket, Details, DistributionStep, DrawnOperation, TestSummary, TimeLine};

use super::{PageRun, ReportPage};
use crate::json::{document as result, us};
use crate::table::{in_words, shown_times};
use crate::{Diagnosed, compare, diagnose, search, sweep, wire};

#[derive(Serialize)]
struct Data<'a> {
    /// What the runs stand for.
    run_heading: &'static str,
    runs: Vec<RunFigures<'a>>,
    comparison: Option<compare::wire::ComparisonDocument>,
    sweep: Option<sweep::wire::SweepDocument>,
    search: Option<search::wire::SearchDocument>,
    findings: Option<Vec<diagnose::wire::FindingJson>>,
}

#[derive(Serialize)]
struct RunFigures<'a> {
    name: &'a str,
    result: wire::ResultDocument,
    details: Option<Vec<TestFigures>>,
    /// What became of each test without a time, in words.
    words: Vec<Option<&'static str>>,
}

#[derive(Serialize)]
struct TestFigures {
    histogram: Histogram,
    ecdf: Ecdf,
    time_line: TimeLineFigure,
}

#[derive(Serialize)]
struct Histogram {
    from_us: Vec<f64>,
    to_us: Vec<f64>,
    n: Vec<u64>,
}

#[derive(Serialize)]
struct Ecdf {
    /// Every step of the distribution function is there.
    all: bool,
    us: Vec<f64>,
    /// Operations that took no longer.
    n: Vec<u64>,
}

/// Moments are in seconds since the first operation.
#[derive(Serialize)]
#[serde(untagged)]
enum TimeLineFigure {
    Every {
        every: bool,
        at_s: Vec<f64>,
        us: Vec<f64>,
        failed_at_s: Vec<f64>,
    },
    Buckets {
        every: bool,
        length_s: f64,
        n: Vec<u64>,
        min_us: Vec<Option<f64>>,
        max_us: Vec<Option<f64>>,
        mean_us: Vec<Option<f64>>,
        failed: Vec<u64>,
    },
}

pub(super) fn document<'a>(page: &ReportPage<'a>, names: &'a [String]) -> String {
    let shown = |(run, name): (&PageRun<'_>, &'a String)| RunFigures {
        name,
        result: result(run.run, run.summary),
        details: run
            .details
            .as_ref()
            .map(|details| details.iter().map(TestFigures::from).collect()),
        words: run.summary.tests.iter().map(without_time).collect(),
    };
    let data = Data {
        run_heading: page.run_heading(),
        runs: page.runs.iter().zip(names).map(shown).collect(),
        comparison: page.comparison.map(compare::wire::ComparisonDocument::from),
        sweep: page.sweep.map(sweep::wire::SweepDocument::from),
        search: page.search.map(search::wire::SearchDocument::from),
        findings: page.diagnosed.map(|all| {
            let found = |(first, diagnosed): (usize, &'a Diagnosed)| {
                let findings = diagnosed.diagnosis.findings.iter();
                findings.map(move |finding| diagnose::wire::found(finding, first))
            };
            diagnose::with_places(all).flat_map(found).collect()
        }),
    };
    serde_json::to_string(&data)
        .expect("only a map with keys other than strings, or a type of ours that refuses, fails")
}

fn without_time(test: &TestSummary) -> Option<&'static str> {
    match shown_times(test) {
        Some(_) => None,
        None => Some(in_words(test).0),
    }
}

impl From<&Details> for TestFigures {
    fn from(details: &Details) -> TestFigures {
        let bars = |of: fn(&Bar) -> u64| details.histogram.iter().map(of).collect::<Vec<u64>>();
        let steps = &details.steps;
        TestFigures {
            histogram: Histogram {
                from_us: bars(|bar| bar.from).into_iter().map(exact).collect(),
                to_us: bars(|bar| bar.to).into_iter().map(exact).collect(),
                n: bars(|bar| bar.response),
            },
            ecdf: Ecdf {
                all: details.all_steps,
                us: steps
                    .iter()
                    .map(|step: &DistributionStep| exact(step.value))
                    .collect(),
                n: steps.iter().map(|step| step.count).collect(),
            },
            time_line: (&details.time_line).into(),
        }
    }
}

impl From<&TimeLine> for TimeLineFigure {
    fn from(line: &TimeLine) -> TimeLineFigure {
        match line {
            TimeLine::Every(operations) => every(operations),
            TimeLine::Buckets { length, buckets } => {
                let some = |of: fn(&Bucket) -> f64| {
                    let value = |bucket| us(of(bucket));
                    buckets
                        .iter()
                        .map(|bucket| (bucket.n > 0).then(|| value(bucket)))
                        .collect()
                };
                TimeLineFigure::Buckets {
                    every: false,
                    length_s: *length as f64 / 1e9,
                    n: buckets.iter().map(|bucket| bucket.n).collect(),
                    min_us: some(|bucket| bucket.min as f64),
                    max_us: some(|bucket| bucket.max as f64),
                    mean_us: some(|bucket| bucket.sum as f64 / bucket.n as f64),
                    failed: buckets.iter().map(|bucket| bucket.failed).collect(),
                }
            }
        }
    }
}

fn every(operations: &[DrawnOperation]) -> TimeLineFigure {
    let begin = operations.first().map_or(0, |operation| operation.at);
    // A microsecond is finer than anybody can see.
    let at = |operation: &DrawnOperation| ((operation.at - begin) as f64 / 1e3).round() / 1e6;
    let took = |operation: &DrawnOperation| Some((at(operation), exact(operation.took?)));
    let (at_s, times) = operations.iter().filter_map(took).unzip();
    let failed = operations
        .iter()
        .filter(|operation| operation.took.is_none());
    TimeLineFigure::Every {
        every: true,
        at_s,
        us: times,
        failed_at_s: failed.map(at).collect(),
    }
}

fn exact(ns: record::Nanos) -> f64 {
    us(ns as f64)
}
