//! Names of runs on a page: recognisable for people, and each different.

use std::collections::BTreeSet;

use super::{PageRun, ReportPage, diagnosis};
use crate::clean;

/// Longest name that figures have room for, in characters.
const LONGEST: usize = 48;

/// A name for each run: the one that was given, the software that the server reports, or its
/// address. Where two would be the same, they are distinguished by their addresses, or else by the
/// names of the runs.
pub(super) fn of(page: &ReportPage<'_>) -> Vec<String> {
    if page.is_diagnosis {
        return diagnosis::names(page);
    }
    let ways: [fn(&PageRun<'_>) -> String; 3] = [
        short_name,
        |run| format!("{} ({})", short_name(run), address(&run.run.plan.target)),
        |run| format!("{} ({})", short_name(run), clean(&run.run.plan.run_id)),
    ];
    for way in ways {
        let names: Vec<String> = page.runs.iter().map(way).collect();
        if names.iter().collect::<BTreeSet<_>>().len() == names.len() {
            return names;
        }
    }
    let numbered = page.runs.iter().zip(1..);
    numbered
        .map(|(run, number)| format!("{} #{number}", short_name(run)))
        .collect()
}

fn short_name(run: &PageRun<'_>) -> String {
    let label = run.run.plan.label.as_deref();
    let name = run.name.as_deref().or(label).or(run.software());
    match name.filter(|name| !name.trim().is_empty()) {
        Some(name) => shortened(&clean(name)),
        None => address(&run.run.plan.target),
    }
}

/// The first letters of a text after [`clean()`], and dots.
pub(super) fn shortened(name: &str) -> String {
    if name.chars().count() <= LONGEST {
        return name.to_owned();
    }
    let mut kept = String::new();
    for letter in figures::letters(name) {
        if kept.chars().count() + letter.chars().count() >= LONGEST {
            break;
        }
        kept += letter;
    }
    kept + "…"
}

/// Host and port of a URL.
fn address(url: &str) -> String {
    let rest = without_scheme(url);
    shortened(&clean(rest.split('/').next().unwrap_or(rest)))
}

pub(super) fn without_scheme(url: &str) -> &str {
    url.split_once("://").map_or(url, |(_, rest)| rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_does_not_end_within_what_stands_for_a_letter() {
        let table = [
            ("x".repeat(48), "x".repeat(48)),
            ("x".repeat(49), "x".repeat(47) + "…"),
            ("x".repeat(45) + "\u{202e}", "x".repeat(45) + "…"),
            (
                "x".repeat(39) + "\u{202e}yyy",
                "x".repeat(39) + "\\u{202e}…",
            ),
        ];
        for (name, expected) in table {
            assert_eq!(shortened(&clean(&name)), expected);
        }
    }
}
