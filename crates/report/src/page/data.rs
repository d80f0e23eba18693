//! The data of a page: the documents for programs as they are.

use record::Nanos;
use serde::Serialize;
use stats::{Finding, TestSummary};

use super::{PageRun, ReportPage};
use crate::diagnose::all_findings;
use crate::fields::AsJson;
use crate::json::visible;
use crate::result::ResultDocument;
use crate::table::{in_words, shown_times};
use crate::{Comparisons, SearchResult, Sweep};

#[derive(Serialize)]
struct Data<'a> {
    run_heading: &'static str,
    runs: Vec<RunFigures<'a>>,
    comparison: Option<AsJson<&'a Comparisons>>,
    sweep: Option<AsJson<&'a Sweep>>,
    search: Option<AsJson<&'a SearchResult>>,
    findings: Option<AsJson<Vec<(&'a Finding, usize)>>>,
}

#[derive(Serialize)]
struct RunFigures<'a> {
    name: &'a str,
    result: AsJson<ResultDocument<'a>>,
    /// Result of each test without a time, in words.
    words: Vec<Option<&'static str>>,
}

pub(super) fn document<'a>(page: &ReportPage<'a>, names: &'a [String]) -> String {
    let shown = |(page_run, name): (&PageRun<'a>, &'a String)| RunFigures {
        name,
        result: AsJson(ResultDocument {
            run: page_run.run,
            summary: page_run.summary,
            beside: &[],
            // The graphs of the page show the stacks, and would have them twice.
            with_stacks: false,
        }),
        words: page_run.summary.tests.iter().map(without_time).collect(),
    };
    let data = Data {
        run_heading: page.run_heading(),
        runs: page.runs.iter().zip(names).map(shown).collect(),
        comparison: page.comparison.map(AsJson),
        sweep: page.sweep.map(AsJson),
        search: page.search.map(AsJson),
        findings: page.diagnosed.map(|all| AsJson(all_findings(all))),
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
