//! `--only` and `--skip`.

use std::collections::BTreeSet;

use wildmatch::WildMatch;

use super::{SuiteSource, Variant, measures_of};
use crate::error::SuiteError;

/// Selection of tests, by name or pattern (`*Col`, `Put?K`) of a test or of its measures.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Selection {
    /// Only these; empty: all.
    pub only: Vec<String>,
    /// Not these.
    pub skip: Vec<String>,
}

impl Selection {
    /// The names of the selected measures.
    pub(super) fn apply<'a>(
        &self,
        file: &SuiteSource<'_>,
        variants: &'a [Variant<'_>],
    ) -> Result<BTreeSet<&'a str>, SuiteError> {
        let names = variants.iter().flat_map(|Variant { test, .. }| {
            let measures = measures_of(test).into_iter();
            measures.map(|measure| (test.name.value.as_str(), measure.name))
        });
        let names: Vec<(&str, &str)> = names.collect();
        if names.len() > usize::from(u16::MAX) {
            return Err(file.error_anywhere("the suite measures more than 65,535 things"));
        }
        for pattern in self.only.iter().chain(&self.skip) {
            if !names
                .iter()
                .any(|(test, measure)| matches(pattern, test, measure))
            {
                let known = names.iter().map(|(_, measure)| *measure);
                let hint = nearest::hint(pattern, known, "there are");
                let message = format!("no test matches `{pattern}`; {hint}");
                return Err(file.error_anywhere(message));
            }
        }
        let chosen = names.into_iter().filter(|(test, measure)| {
            let any = |patterns: &[String]| {
                let mut patterns = patterns.iter();
                patterns.any(|pattern| matches(pattern, test, measure))
            };
            (self.only.is_empty() || any(&self.only)) && !any(&self.skip)
        });
        let chosen: BTreeSet<&str> = chosen.map(|(_, measure)| measure).collect();
        if chosen.is_empty() {
            return Err(file.error_anywhere("no test is left: everything selected is skipped"));
        }
        Ok(chosen)
    }
}

fn matches(pattern: &str, test: &str, measure: &str) -> bool {
    let pattern = WildMatch::new_case_insensitive(pattern);
    pattern.matches(measure) || pattern.matches(test)
}
