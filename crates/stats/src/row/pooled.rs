//! One row over several runs of one server.
//!
//! Counts are those of all runs. Estimates come from the operations of the runs in which no warning
//! disqualifies the row, all operations alike, and their intervals from how much these runs differ.

use record::{MeasureId, PlanRecord};

use super::{EstimatedRate, Note, RowTally, TestSummary};
use crate::failures;
use crate::interval::ratio_interval;
use crate::origins::ResponseOrigins;
use crate::run_events::push_new;
use crate::{Distribution, P99_NEEDS, Status, Warning, WarningKind};

/// A run's operations, and its row of them.
pub(crate) type RunRow<'a> = (&'a RowTally, &'a TestSummary);

/// Of the rows of several runs, those that estimates are made of: no warning disqualifies them; all
/// of them where a warning disqualifies each.
pub(crate) fn sound<T>(
    rows: &[T],
    is_disqualified: impl Fn(&T) -> bool,
) -> impl Iterator<Item = &T> {
    let is_any_sound = !rows.iter().all(&is_disqualified);
    let rows = rows.iter();
    rows.filter(move |row| !(is_any_sound && is_disqualified(row)))
}

/// The row of the measure `id` of `plan` in all these runs, at least one.
pub(crate) fn pooled(plan: &PlanRecord, id: MeasureId, runs: &[RunRow<'_>]) -> TestSummary {
    let (_, first) = runs[0];
    if runs.len() == 1 {
        return first.clone();
    }
    let rows = || runs.iter().map(|(_, row)| *row);
    let sound: Vec<RunRow<'_>> = sound(runs, |(_, row)| row.disqualified().is_some())
        .copied()
        .collect();
    let [all, of_sound] = [runs, &sound[..]].map(|of| -> Vec<&RowTally> {
        let tallies = of.iter().map(|(tally, _)| *tally);
        tallies.collect()
    });
    let mut row = TestSummary::counted(plan, id, &all, &of_sound);
    let worst = rows().fold(first, |worst, row| {
        if row.status.badness() > worst.status.badness() {
            row
        } else {
            worst
        }
    });
    (row.status, row.evidence) = (worst.status, worst.evidence.clone());
    row.origins = ResponseOrigins::together(rows().map(|row| &row.origins));
    (row.window_s, row.rate) = pooled_rate(&sound);
    row.failures = failures::together(runs.iter().map(|(_, row)| &row.failures[..]));
    let remarks = rows().flat_map(|row| &row.notes);
    let remarks = each_once(remarks.filter(|note| matches!(note, Note::Remark(_))));
    let left_out = runs.len() - sound.len();
    let left_out = (left_out > 0).then_some(Note::RunsLeftOut {
        left_out,
        of: runs.len(),
    });
    row.notes = Note::all(&row, remarks, left_out);
    row.warnings = warnings(&sound, row.response);
    let failed = || rows().filter(|row| row.status == Status::Failed);
    row.may_be_no_failure = failed().count() > 0 && failed().all(|row| row.may_be_no_failure);
    row
}

fn warnings(runs: &[RunRow<'_>], response: Option<Distribution>) -> Vec<Warning> {
    let has_enough = response.is_none_or(|times| times.n >= P99_NEEDS);
    let is_left =
        |warning: &&Warning| !(has_enough && warning.kind == WarningKind::FewForPercentiles);
    let recorded = runs.iter().flat_map(|(_, row)| &row.warnings);
    let mut warnings = Warning::worst_of(recorded.filter(is_left));
    for warning in &mut warnings {
        if let (WarningKind::FewForPercentiles, Some(times)) = (warning.kind, response) {
            let shares = warning.shares.iter_mut();
            shares.for_each(|share| share.count = times.n);
        }
    }
    warnings
}

pub(crate) fn each_once<'a, T: Clone + PartialEq + 'a>(
    items: impl Iterator<Item = &'a T>,
) -> Vec<T> {
    let mut all = Vec::new();
    items.for_each(|item| push_new(&mut all, item.clone()));
    all
}

/// The sum of the windows of these runs, and the rate of what all of them completed in it.
fn pooled_rate(runs: &[RunRow<'_>]) -> (Option<f64>, Option<EstimatedRate>) {
    let windows = runs.iter().filter_map(|(_, row)| row.window_s);
    let window_s: Option<f64> = windows.reduce(|all, window_s| all + window_s);
    let parts = runs.iter().filter_map(|(_, row)| {
        let window_s = row.window_s.filter(|s| *s > 0.0)?;
        Some((row.rate?.per_second * window_s, window_s))
    });
    let parts: Vec<(f64, f64)> = parts.collect();
    let (completed, seconds) = parts.iter().fold((0.0, 0.0), |(all, time), (count, of)| {
        (all + count, time + of)
    });
    let rate = (seconds > 0.0).then(|| completed / seconds);
    // Runs that took turns with others ended their operations in lumps. That is in no interval from
    // one run, and does not change what differs from run to run: the rate does not wander.
    let rate = rate.map(|per_second| EstimatedRate {
        per_second,
        ci95: ratio_interval(parts.iter().copied(), per_second),
    });
    (window_s, rate)
}
