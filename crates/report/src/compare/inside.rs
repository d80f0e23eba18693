//! What operations cost inside of two servers: processor time as a table, calls on their storage as sentences.

use stats::{
    CallsCertainty, Compared, ComparedCalls, ComparedInside, ComparedProcessor, Comparison,
    CostVerdict, LEAST_STARTS,
};

use super::words::ratio;
use crate::clean;
use crate::inside::{count, name_of, unknown_calls};

/// Targets of a difference that are named.
const MOST_TARGETS: usize = 3;

/// What heads the table of processor times.
pub(crate) const HEADING: &str = "Processor time of the servers, per operation";

/// The rows that were looked into, with what was found.
fn looked_into(comparison: &Comparison) -> impl Iterator<Item = (&Compared, &ComparedInside)> {
    let rows = comparison.rows.iter();
    rows.filter_map(|row| Some((row, row.inside.as_ref()?)))
}

/// Rows with processor time of both servers.
pub(crate) fn processors(comparison: &Comparison) -> Vec<(&str, &ComparedProcessor)> {
    let all = looked_into(comparison);
    all.filter_map(|(row, inside)| Some((row.name.as_str(), inside.processor.as_ref()?)))
        .collect()
}

/// What is said of the calls of all rows: a heading, and a sentence for each difference.
pub(crate) struct CallsInWords {
    pub(crate) heading: String,
    /// What B does more, what it does less, and what is not certain, each with its verdict.
    pub(crate) differences: Vec<(CostVerdict, String)>,
    /// What else there is to know.
    pub(crate) remarks: Vec<String>,
}

/// Nothing where no server was looked into.
pub(crate) fn calls_in_words(comparison: &Comparison) -> Option<CallsInWords> {
    let rows: Vec<(&Compared, &ComparedInside)> = looked_into(comparison).collect();
    if rows.is_empty() {
        return None;
    }
    let traced: Vec<usize> = rows.iter().map(|(_, own)| own.traced).collect();
    let (least, most) = (traced.iter().min()?, traced.iter().max()?);
    if *most == 0 {
        let why = match rows.iter().find_map(|(_, own)| own.unseen) {
            Some(by) => format!("Calls on the storage: {}.", unknown_calls(by)),
            None => "System calls were not counted; `prestan report RUN` says why.".to_owned(),
        };
        return Some(CallsInWords {
            heading: String::new(),
            differences: Vec::new(),
            remarks: vec![why],
        });
    }
    let mut differences = Vec::new();
    let mut varying = Vec::new();
    for (row, inside) in &rows {
        for own in &inside.calls {
            match own.verdict() {
                CostVerdict::Same => {}
                CostVerdict::Inconclusive if own.certainty != CallsCertainty::FewStarts => {
                    varying.push(clean(&format!("{} {}", row.name, calls_that_differ(own))));
                }
                CostVerdict::Inconclusive if own.a == own.b => {}
                verdict => {
                    let says = sentence(&row.name, own, inside.traced);
                    differences.push((verdict, says));
                }
            }
        }
    }
    let order = |verdict: &CostVerdict| match verdict {
        CostVerdict::More => 0,
        CostVerdict::Less => 1,
        _ => 2,
    };
    differences.sort_by_key(|(verdict, _)| order(verdict));
    let runs = if least == most {
        format!("{most} runs of each")
    } else {
        format!("{least} to {most} runs of each")
    };
    let heading = if differences.is_empty() {
        format!("Calls on the storage, per operation: no difference ({runs}).")
    } else {
        format!("Calls on the storage that differ, per operation, with A and with B ({runs}):")
    };
    let mut remarks = Vec::new();
    if !varying.is_empty() {
        remarks.push(format!(
            "Inconclusive, as these numbers vary from run to run: {}.",
            varying.join(", ")
        ));
    }
    if *least < LEAST_STARTS {
        remarks.push(format!(
            "Numbers that never vary are facts from {LEAST_STARTS} runs of each server on; fewer are inconclusive. Measure for \
             longer (--for), or fewer tests (--only)."
        ));
    }
    Some(CallsInWords {
        heading,
        differences,
        remarks,
    })
}

/// `Put1K: fsync 2 -> 3 (collection: fdatasync 0 -> 1)`.
fn sentence(row: &str, own: &ComparedCalls, runs: usize) -> String {
    let targets = own.differing.iter().take(MOST_TARGETS);
    let mut targets: Vec<String> = targets
        .map(|(call, target, a, b)| {
            format!("{}: {call} {} -> {}", name_of(target), count(*a), count(*b))
        })
        .collect();
    match own.differing.len().saturating_sub(MOST_TARGETS) {
        0 => {}
        more => targets.push(format!("{more} more")),
    }
    let certainty = match own.certainty {
        CallsCertainty::Varying {
            ratio: of,
            added: 0.0,
        } => {
            let (value, range) = ratio(of.value, of.evidence.map(|found| found.ci95()));
            let range = range.map_or(String::new(), |range| format!(", 95 % interval {range}"));
            format!("; B / A {value}{range}")
        }
        CallsCertainty::FewStarts => format!("; inconclusive after {runs} runs"),
        CallsCertainty::Constant | CallsCertainty::Varying { .. } | CallsCertainty::Unknown => {
            String::new()
        }
    };
    clean(&format!(
        "{row}: {} ({}){certainty}",
        calls_that_differ(own),
        targets.join("; ")
    ))
}

/// `fsync 2 -> 3`.
pub fn calls_that_differ(own: &ComparedCalls) -> String {
    format!("{} {} -> {}", own.call.name(), count(own.a), count(own.b))
}
