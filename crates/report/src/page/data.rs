//! The data of a page: the documents for programs as they are, and what only figures need.
//!
//! Columns instead of a list of objects, since their names would take more room than the figures.

use std::collections::BTreeSet;

use record::{Nanos, Outcome};
use serde::Serialize;
use stats::{
    Bar, Bucket, Details, DistributionStep, DrawnOperation, LoadCourse, LoadPart,
    OutcomeWithStatus, TestSummary, TimeLine,
};

use super::course::BackgroundCourseFigure;
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
    /// Background traffic over time; absent without any.
    #[serde(skip_serializing_if = "Option::is_none")]
    background: Option<BackgroundCourseFigure>,
    /// What became of each test without a time, in words.
    words: Vec<Option<&'static str>>,
}

#[derive(Serialize)]
struct TestFigures {
    histogram: Histogram,
    ecdf: Ecdf,
    time_line: TimeLineFigure,
    /// How a load went; absent of a suite in rounds.
    #[serde(skip_serializing_if = "Option::is_none")]
    load: Option<LoadFigure>,
}

/// The parts of the time of a load, each described in all lists at the same place.
#[derive(Serialize)]
struct LoadFigure {
    /// A schedule decided when operations began.
    open: bool,
    /// The middle of each part, in seconds since the beginning of the first.
    at_s: Vec<f64>,
    /// The length of each; the first and the last are shorter.
    length_s: Vec<f64>,
    planned: Vec<u64>,
    sent: Vec<u64>,
    done: Vec<u64>,
    p50_us: Vec<Option<f64>>,
    p90_us: Vec<Option<f64>>,
    p99_us: Vec<Option<f64>>,
    endings: Vec<EndingFigure>,
}

/// How many operations of each part ended in one way.
#[derive(Serialize)]
struct EndingFigure {
    /// The status of the response, or what became of the operation.
    name: String,
    ok: bool,
    n: Vec<u64>,
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

/// The graphs of the page show the stacks, and would have them twice.
fn without_stacks(mut result: wire::ResultDocument) -> wire::ResultDocument {
    let flames = result.inside.iter_mut().flat_map(|own| &mut own.flames);
    flames.for_each(|own| own.stacks.clear());
    result
}

pub(super) fn document<'a>(page: &ReportPage<'a>, names: &'a [String]) -> String {
    let shown = |(run, name): (&PageRun<'_>, &'a String)| RunFigures {
        name,
        result: without_stacks(result(run.run, run.summary)),
        details: run
            .details
            .as_ref()
            .map(|details| details.iter().map(TestFigures::from).collect()),
        background: BackgroundCourseFigure::of(run),
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
            load: details.load.as_ref().map(LoadFigure::from),
        }
    }
}

impl From<&LoadCourse> for LoadFigure {
    fn from(course: &LoadCourse) -> LoadFigure {
        let parts = &course.parts;
        let begin = parts.first().map_or(0, |part| part.from);
        let middle = |part: &LoadPart| seconds(part.from - begin + part.length / 2);
        let counts = |of: fn(&LoadPart) -> u64| parts.iter().map(of).collect::<Vec<u64>>();
        let percentile = |place: usize| {
            let of = move |part: &LoadPart| part.percentiles[place].map(exact);
            parts.iter().map(of).collect()
        };
        let endings: BTreeSet<OutcomeWithStatus> = parts
            .iter()
            .flat_map(|part| part.endings.keys().copied())
            .collect();
        let ended = |ending: OutcomeWithStatus| EndingFigure {
            name: ended(ending),
            ok: ending.outcome == Outcome::Ok,
            n: parts
                .iter()
                .map(|part| part.endings.get(&ending).copied().unwrap_or(0))
                .collect(),
        };
        LoadFigure {
            open: course.open,
            at_s: parts.iter().map(middle).collect(),
            length_s: parts.iter().map(|part| seconds(part.length)).collect(),
            planned: counts(|part| part.planned),
            sent: counts(|part| part.sent),
            done: counts(|part| part.done),
            p50_us: percentile(0),
            p90_us: percentile(1),
            p99_us: percentile(2),
            endings: endings.into_iter().map(ended).collect(),
        }
    }
}

/// `200`, `404`, `200 (wrong body)`, `timeout`: a status that was not expected needs no more words.
fn ended(OutcomeWithStatus { status, outcome }: OutcomeWithStatus) -> String {
    let word = outcome.name().replace('_', " ");
    match (status, outcome) {
        (None, _) => word,
        (
            Some(status),
            Outcome::Ok | Outcome::WrongStatus | Outcome::Unsupported | Outcome::Refused,
        ) => status.to_string(),
        (Some(status), _) => format!("{status} ({word})"),
    }
}

/// To the microsecond, which is finer than anybody can see.
pub(super) fn seconds(ns: Nanos) -> f64 {
    (ns as f64 / 1e3).round() / 1e6
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
    let at = |operation: &DrawnOperation| seconds(operation.at - begin);
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

pub(super) fn exact(ns: record::Nanos) -> f64 {
    us(ns as f64)
}
