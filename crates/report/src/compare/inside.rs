//! Costs of operations inside of two servers: processor time as a table, calls on their storage as
//! sentences.

use stats::{
    Compared, ComparedCost, ComparedInside, Comparison, CostCertainty, InsideCost, LEAST_STARTS,
    Verdict,
};

use super::words::{ratio, tone};
use crate::document::{Block, ListItem, ListLook};
use crate::inside::{count, name_of, unknown_calls};

const MOST_TARGETS: usize = 3;

fn looked_into(comparison: &Comparison) -> impl Iterator<Item = (&Compared, &ComparedInside)> {
    let rows = comparison.rows.iter();
    rows.filter_map(|row| Some((row, row.inside.as_ref()?)))
}

pub(crate) fn processors(comparison: &Comparison) -> Vec<(&str, &ComparedCost)> {
    let rows = looked_into(comparison);
    let rows = rows.map(|(row, inside)| (row.name.as_str(), inside.cost(InsideCost::Processor)));
    rows.filter_map(|(name, cost)| Some((name, cost?)))
        .collect()
}

/// Calls of all rows: a sentence for each difference, those that B makes more often first. Nothing
/// where no server was looked into.
pub(crate) fn calls(comparison: &Comparison) -> Vec<Block> {
    let traced = || looked_into(comparison).map(|(_, inside)| inside.traced);
    let (Some(least), Some(most)) = (traced().min(), traced().max()) else {
        return Vec::new();
    };
    if most == 0 {
        let unseen = looked_into(comparison).find_map(|(_, inside)| inside.unseen);
        return vec![Block::Note(match unseen {
            Some(by) => format!("Calls on the storage: {}.", unknown_calls(by)).into(),
            None => "System calls were not counted; `prestan report RUN` says why.".into(),
        })];
    }
    let (differences, varying) = differences(comparison);
    let runs = if least == most {
        format!("{most} runs of each")
    } else {
        format!("{least} to {most} runs of each")
    };
    let mut blocks = Vec::new();
    if differences.is_empty() {
        let none = format!("Calls on the storage, per operation: no difference ({runs}).");
        blocks.push(Block::Paragraph(none.into()));
    } else {
        let heading =
            format!("Calls on the storage that differ, per operation, with A and with B ({runs})");
        blocks.push(Block::list(heading, ListLook::Bare, differences));
    }
    if !varying.is_empty() {
        blocks.push(Block::Note(
            format!(
                "Inconclusive, as these numbers vary from run to run: {}.",
                varying.join(", ")
            )
            .into(),
        ));
    }
    if least < LEAST_STARTS {
        blocks.push(Block::Note(
            format!(
                "Numbers that never vary are facts from {LEAST_STARTS} runs of each server on; fewer are \
                 inconclusive. Measure for longer (--for), or fewer tests (--only)."
            )
            .into(),
        ));
    }
    blocks
}

/// A sentence for each difference, the worst first, and the numbers that vary from run to run.
fn differences(comparison: &Comparison) -> (Vec<ListItem>, Vec<String>) {
    let (mut differing, mut varying) = (Vec::new(), Vec::new());
    for (row, inside) in looked_into(comparison) {
        let calls = inside.costs.iter();
        for cost in calls.filter(|cost| cost.cost != InsideCost::Processor) {
            match (cost.verdict(), cost.certainty) {
                (Verdict::Same, _) => {}
                (Verdict::Inconclusive, CostCertainty::FewStarts) if cost.a == cost.b => {}
                (Verdict::Inconclusive, certainty) if certainty != CostCertainty::FewStarts => {
                    varying.push(format!("{} {}", row.name, cost_in_words(cost)));
                }
                (verdict, _) => {
                    let item = ListItem {
                        tone: tone(verdict),
                        ..sentence(&row.name, cost, inside.traced).into()
                    };
                    differing.push((verdict, item));
                }
            }
        }
    }
    differing.sort_by_key(|(verdict, _)| match verdict {
        Verdict::Slower => 0,
        Verdict::Faster => 1,
        _ => 2,
    });
    (
        differing.into_iter().map(|(_, item)| item).collect(),
        varying,
    )
}

/// `Put1K: fsync 2 -> 3 (collection: fdatasync 0 -> 1)`.
fn sentence(row: &str, cost: &ComparedCost, runs: usize) -> String {
    let targets = cost.differing.iter().take(MOST_TARGETS);
    let mut targets: Vec<String> = targets
        .map(|(call, target, a, b)| {
            format!("{}: {call} {} -> {}", name_of(target), count(*a), count(*b))
        })
        .collect();
    match cost.differing.len().saturating_sub(MOST_TARGETS) {
        0 => {}
        more => targets.push(format!("{more} more")),
    }
    let certainty = match (cost.certainty, cost.ratio()) {
        (CostCertainty::FewStarts, _) => format!("; inconclusive after {runs} runs"),
        (_, Some(of)) => {
            let (value, range) = ratio(of.value, of.evidence.map(|found| found.ci95()));
            let range = range.map_or(String::new(), |range| format!(", 95 % interval {range}"));
            format!("; B / A {value}{range}")
        }
        _ => String::new(),
    };
    format!(
        "{row}: {} ({}){certainty}",
        cost_in_words(cost),
        targets.join("; ")
    )
}

/// `fsync 2 -> 3`.
pub fn cost_in_words(cost: &ComparedCost) -> String {
    format!(
        "{} {} -> {}",
        cost.cost.name(),
        count(cost.a),
        count(cost.b)
    )
}
