//! What a campaign did not measure, and what differs from the source: explained, or said to be unexplained.

use experiment::{FindingSummary, PairVerdict, TableSummary};

use super::CampaignReport;
use super::words::counted;
use crate::clean;
use crate::lists::{distinct, enumerated};

/// What of the experiment was not measured, in sentences.
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
        .map(|(name, title)| clean(if name.is_empty() { title } else { name }));
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

/// How cells that were left out are measured. `--full` alone does not measure those that `--scenario` excludes.
fn remedy(of: &CampaignReport<'_>) -> &'static str {
    let has = |option: &str| of.record.command.split(' ').any(|word| word == option);
    match (has("--scenario"), has("--full")) {
        (false, _) => " The option --full measures all cells.",
        (true, false) => " The option --full without --scenario measures all cells.",
        (true, true) => " Without --scenario, all cells are measured.",
    }
}

/// What differs in a table from the published one, and why; or that nobody knows.
pub(super) fn of_table(of: &TableSummary) -> Option<String> {
    if let Some(note) = &of.note {
        return Some(clean(note));
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

/// Why a finding does not hold, or that nobody knows.
pub(super) fn of_finding(of: &CampaignReport<'_>, finding: &FindingSummary) -> Option<String> {
    if finding.verdict != PairVerdict::Fails {
        return None;
    }
    let note = of.finding(finding).and_then(|spec| spec.note.as_ref());
    Some(note.map_or_else(|| "Unexplained.".to_owned(), |note| clean(note)))
}
