//! Caveats of a campaign: unreliable intervals, cells that were not measured, and differences from
//! the source, explained or marked as unexplained.

use std::collections::BTreeSet;

use experiment::{CellEstimate, EstimateWarning, FindingSummary, PairVerdict, TableSummary};

use super::CampaignReport;
use super::numbers::WARNINGS;
use super::words::{counted, trials_line};
use crate::lists::{distinct, enumerated};

pub(super) fn warnings(of: &CampaignReport<'_>) -> Vec<String> {
    let trials = of.summary.warnings.iter().map(trials_line);
    let figures = WARNINGS
        .into_iter()
        .filter_map(|(warning, ..)| figures(of, warning));
    trials.chain(figures).collect()
}

fn figures(of: &CampaignReport<'_>, warning: EstimateWarning) -> Option<String> {
    let cells = of.summary.cells.iter();
    let uncertain = cells.filter(|cell| cell.estimate.warnings.contains(&warning));
    let names: BTreeSet<&str> = uncertain.map(|cell| cell.figure.as_str()).collect();
    let titles = names
        .into_iter()
        .map(|name| of.figure(name).map_or(name, |spec| &spec.title));
    let titles = enumerated(&titles.collect::<Vec<_>>());
    let words = match warning {
        EstimateWarning::HeavyTail => {
            "now and then a repetition differs by much from the others of its cell, as where a retransmission timeout \
             happens or not. Few repetitions do not show how often, so that intervals are of the spread of all cells \
             together."
        }
        EstimateWarning::Changing => {
            "all cells changed together from one repetition to another, so that the machine was not the same \
             throughout. The intervals are about the time of this campaign only."
        }
        EstimateWarning::Undetermined => {
            "the repetitions of a cell differ so much that its mean may be a thousand times the largest of them. Such \
             a cell has no interval; more repetitions (--repeat) give it one."
        }
    };
    (!titles.is_empty()).then(|| format!("{titles}: {words}"))
}

pub(super) fn legend<'a>(cells: impl IntoIterator<Item = &'a CellEstimate>) -> Vec<String> {
    let cells = cells.into_iter().filter(|cell| cell.interval.is_some());
    let found: Vec<EstimateWarning> = cells
        .flat_map(|cell| cell.warnings.iter().copied())
        .collect();
    let marks = WARNINGS
        .into_iter()
        .filter(|(warning, ..)| found.contains(warning));
    let sentences = marks.map(|(_, mark, _, meaning)| format!("{mark} {meaning}."));
    sentences.collect()
}

pub(super) fn missing(of: &CampaignReport<'_>) -> Vec<String> {
    let (spec, summary) = (of.experiment, of.summary);
    let shown = summary
        .tables
        .iter()
        .map(|table| (&table.name, &table.title));
    let shown: Vec<_> = shown.collect();
    let tables = spec.tables.iter().map(|table| (&table.name, &table.title));
    let tables = tables.filter(|table| !shown.contains(table));
    let drawn = summary
        .charts
        .iter()
        .map(|chart| (&chart.name, &chart.title));
    let drawn: Vec<_> = drawn.collect();
    let charts = spec.charts.iter().map(|chart| (&chart.name, &chart.title));
    let charts = charts.filter(|chart| !drawn.contains(chart));
    let names = tables
        .chain(charts)
        .map(|(name, title)| if name.is_empty() { title } else { name });
    let names = distinct(names);
    let mut sentences = Vec::new();
    if !names.is_empty() {
        let is_short = of.record.cells.len() < spec.all_cells().len();
        let remedy = if is_short { remedy(of) } else { "" };
        sentences.push(format!("Not measured: {}.{remedy}", enumerated(&names)));
    }
    let cells = summary
        .tables
        .iter()
        .flat_map(|table| &table.cells)
        .flatten();
    let (measured, empty): (Vec<_>, Vec<_>) = cells.partition(|cell| cell.mean.is_some());
    if !empty.is_empty() {
        let all = measured.len() + empty.len();
        sentences.push(format!(
            "{} of {} in the tables below have no figure.",
            empty.len(),
            counted(all, "place")
        ));
    }
    let judged = &summary.findings;
    let is_judged = |claim: &String| judged.iter().any(|finding| finding.claim == *claim);
    let findings = spec.findings.iter().map(|finding| &finding.claim);
    let open = findings.filter(|claim| !is_judged(claim)).count();
    if open > 0 {
        sentences.push(format!(
            "{} could not be judged, because no cell of {} was measured.",
            counted(open, "finding"),
            if open == 1 { "it" } else { "them" }
        ));
    }
    sentences
}

/// How cells that were left out are measured. `--full` alone does not measure those that
/// `--scenario` excludes.
fn remedy(of: &CampaignReport<'_>) -> &'static str {
    let has = |option: &str| of.record.command.split(' ').any(|word| word == option);
    match (has("--scenario"), has("--full")) {
        (false, _) => " The option --full measures all cells.",
        (true, false) => " The option --full without --scenario measures all cells.",
        (true, true) => " Without --scenario, all cells are measured.",
    }
}

/// The reason why a table differs from the published one; or that it is unexplained.
pub(super) fn table_reason(of: &TableSummary) -> Option<String> {
    if let Some(note) = &of.note {
        return Some(note.clone());
    }
    let reversed = of.orders.iter().map(|order| order.reversed);
    match reversed.fold(0_usize, usize::saturating_add) {
        0 => None,
        1 => Some("Unexplained: a pair is the other way round than published.".to_owned()),
        pairs => Some(format!(
            "Unexplained: {pairs} pairs are the other way round than published."
        )),
    }
}

/// The reason why a finding does not hold; or that it is unexplained.
pub(super) fn finding_reason(of: &CampaignReport<'_>, finding: &FindingSummary) -> Option<String> {
    if finding.verdict != PairVerdict::Fails {
        return None;
    }
    let note = of.finding(finding).and_then(|spec| spec.note.as_ref());
    Some(note.map_or_else(|| "Unexplained.".to_owned(), String::clone))
}
