//! Subjects of pages.

use record::Pace;

use super::tables::test_names;
use super::{PageRun, ReportPage};

/// The subject of a page, which decides about the parts that stand first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Subject {
    Diagnosis,
    Comparison,
    Growth,
    Capacity,
    Retrieval,
    Loads,
    Ranks,
    Tests,
}

impl Subject {
    pub(super) fn of(page: &ReportPage<'_>) -> Subject {
        let is_load = |run: &PageRun<'_>| run.run.plan.load.pace != Pace::Rounds;
        match page {
            _ if page.is_diagnosis => Subject::Diagnosis,
            _ if page.comparison.is_some() => Subject::Comparison,
            _ if page.sweep.is_some() => Subject::Growth,
            _ if page.search.is_some() => Subject::Capacity,
            _ if page.runs.iter().any(|run| run.summary.pages.is_some()) => Subject::Retrieval,
            _ if !page.runs.is_empty() && page.runs.iter().all(is_load) => Subject::Loads,
            _ if page.runs.len() > 1 && test_names(page).len() == 1 => Subject::Ranks,
            _ => Subject::Tests,
        }
    }
}
