//! The data of a page: the documents for programs as they are.

use record::Nanos;
use serde::Serialize;
use stats::TestSummary;

use super::{PageRun, ReportPage};
use crate::json::{document as result, visible};
use crate::table::{in_words, shown_times};
use crate::{Diagnosed, compare, diagnose, search, sweep, wire};

#[derive(Serialize)]
struct Data<'a> {
    /// Heading of runs: the kind of subject that each run stands for.
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
    /// Result of each test without a time, in words.
    words: Vec<Option<&'static str>>,
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
    let text = serde_json::to_string(&data)
        .expect("only a map with keys other than strings, or a type of ours that refuses, fails");
    visible(&text)
}

fn without_time(test: &TestSummary) -> Option<&'static str> {
    match shown_times(test) {
        Some(_) => None,
        None => Some(in_words(test).0),
    }
}

/// To the microsecond, which is finer than anybody can see.
pub(super) fn seconds(ns: Nanos) -> f64 {
    (ns as f64 / 1e3).round() / 1e6
}
