//! One row over several runs of one server.
//!
//! Counts are those of all runs. Estimates come from the operations of the runs in which no warning
//! disqualifies the row, all operations alike, and their intervals from how much these runs differ.

use super::{Connects, Note, RowTally, SegmentCount, TestSummary};
use crate::bias::Differences;
use crate::failures;
use crate::interval::ratio_interval;
use crate::origins::ResponseOrigins;
use crate::spread::{ROWS, spread};
use crate::times::Times;
use crate::told::push_new;
use crate::{Outcomes, P99_NEEDS, Status, Warning, WarningKind};

/// A run's operations, and its row of them.
pub(crate) type RunRow<'a> = (&'a RowTally, &'a TestSummary);

/// Of the rows of several runs, those that estimates are made of: no warning disqualifies them; all of
/// them where a warning disqualifies each.
pub(crate) fn sound<T>(
    rows: &[T],
    is_disqualified: impl Fn(&T) -> bool,
) -> impl Iterator<Item = &T> {
    let is_any_sound = !rows.iter().all(&is_disqualified);
    let rows = rows.iter();
    rows.filter(move |row| !(is_any_sound && is_disqualified(row)))
}

/// The row of all these runs, at least one.
pub(crate) fn pooled(runs: &[RunRow<'_>]) -> TestSummary {
    let (_, first) = runs[0];
    if runs.len() == 1 {
        return first.clone();
    }
    let sound: Vec<RunRow<'_>> = sound(runs, |(_, row)| row.disqualified().is_some())
        .copied()
        .collect();
    let worst = runs.iter().map(|(_, row)| *row);
    let worst = worst.fold(first, |worst, row| {
        if row.status.badness() > worst.status.badness() {
            row
        } else {
            worst
        }
    });
    let times = |of: fn(&RowTally) -> &Times| -> Vec<&Times> {
        sound.iter().map(|(tally, _)| of(tally)).collect()
    };
    let describe = |of: fn(&RowTally) -> &Times| Times::describe_runs(&times(of));
    let response = describe(|tally| &tally.response);
    let planned = describe(|tally| &tally.planned);
    let sum = |of: fn(&TestSummary) -> u64| runs.iter().map(|(_, row)| of(row)).sum();
    let outcomes = |of: fn(&TestSummary) -> &Outcomes| {
        let all = runs.iter().map(|(_, row)| of(row));
        all.fold(Outcomes::default(), |all, own| all.plus(own))
    };
    let rate = PooledRate::of(&sound);
    let waited = planned.or(response);
    let left_out = runs.len() - sound.len();
    let failed = || runs.iter().filter(|(_, row)| row.status == Status::Failed);
    let mut row = TestSummary {
        name: first.name.clone(),
        test: first.test.clone(),
        method: first.method.clone(),
        unit: first.unit,
        http: first.http,
        status: worst.status,
        evidence: worst.evidence.clone(),
        outcomes: outcomes(|row| &row.outcomes),
        left_out_outcomes: outcomes(|row| &row.left_out_outcomes),
        early: sum(|row| row.early),
        shared_first: sum(|row| row.shared_first),
        origins: ResponseOrigins::together(runs.iter().map(|(_, row)| &row.origins)),
        missed: sum(|row| row.missed),
        response,
        planned,
        upload: describe(|tally| &tally.upload),
        total: describe(|tally| &tally.total),
        bias: {
            let runs = sound.iter().map(|(tally, _)| tally.bias.clone());
            Differences::describe_runs(&runs.collect::<Vec<_>>())
        },
        spread: match &first.spread[..] {
            [] => Vec::new(),
            _ => {
                let merged = |of| all_of(&times(of));
                let [response, planned] = [
                    merged(|tally| &tally.response),
                    merged(|tally| &tally.planned),
                ];
                spread(&response, &planned, ROWS)
            }
        },
        connects: Connects {
            count: sum(|row| row.connects.count),
            tcp: describe(|tally| &tally.tcp),
            tls: describe(|tally| &tally.tls),
            tls_resumed: describe(|tally| &tally.tls_resumed),
            resent: sum(|row| row.connects.resent),
            segments: {
                let mut all = None;
                let own = runs.iter().map(|(_, row)| row.connects.segments);
                own.for_each(|own| SegmentCount::add(&mut all, own));
                all
            },
        },
        bytes_sent: sum(|row| row.bytes_sent),
        bytes_received: sum(|row| row.bytes_received),
        window_s: rate.window_s,
        per_second: rate.per_second,
        per_second_ci95: rate.ci95,
        // The interval comes from how much runs differ, whatever the rate did in each of them.
        wanders: false,
        failures: failures::together(runs.iter().map(|(_, row)| &row.failures[..])),
        notes: {
            let told = runs.iter().flat_map(|(_, row)| &row.notes);
            let told = told.filter(|note| matches!(note, Note::Remark(_)));
            let without = (left_out > 0).then_some(Note::RunsLeftOut {
                left_out,
                of: runs.len(),
            });
            let notes = each_once(told).into_iter();
            notes
                .chain(Note::of_dominated(waited))
                .chain(without)
                .collect()
        },
        warnings: {
            let has_enough = response.is_none_or(|times| times.n >= P99_NEEDS);
            let told = sound.iter().flat_map(|(_, row)| &row.warnings);
            let told = told
                .filter(|warning| !(has_enough && warning.kind == WarningKind::FewForPercentiles));
            let mut warnings = Warning::worst_of(told);
            for warning in &mut warnings {
                if let (WarningKind::FewForPercentiles, Some(times)) = (warning.kind, response) {
                    let shares = warning.shares.iter_mut();
                    shares.for_each(|share| share.count = times.n);
                }
            }
            warnings
        },
        may_be_no_failure: failed().count() > 0 && failed().all(|(_, row)| row.may_be_no_failure),
    };
    row.notes.extend(Note::of_slow_body(&row));
    row
}

/// All times of these together.
fn all_of(runs: &[&Times]) -> Times {
    let mut all = Times::default();
    runs.iter().for_each(|run| all.merge(run));
    all
}

/// Each item once, in the order of its first place.
pub(crate) fn each_once<'a, T: Clone + PartialEq + 'a>(
    items: impl Iterator<Item = &'a T>,
) -> Vec<T> {
    let mut all = Vec::new();
    items.for_each(|item| push_new(&mut all, item.clone()));
    all
}

/// Throughput of several runs.
struct PooledRate {
    window_s: Option<f64>,
    per_second: Option<f64>,
    ci95: Option<(f64, f64)>,
}

impl PooledRate {
    /// What all of these runs completed in the sum of their windows.
    fn of(runs: &[RunRow<'_>]) -> PooledRate {
        let windows = runs.iter().filter_map(|(_, row)| row.window_s);
        let window_s: Option<f64> = windows.reduce(|all, own| all + own);
        let parts = runs.iter().filter_map(|(_, row)| {
            let window_s = row.window_s.filter(|s| *s > 0.0)?;
            Some((row.per_second? * window_s, window_s))
        });
        let parts: Vec<(f64, f64)> = parts.collect();
        let (completed, seconds) = parts
            .iter()
            .fold((0.0, 0.0), |(all, time), (own, of)| (all + own, time + of));
        let per_second = (seconds > 0.0).then(|| completed / seconds);
        // Runs that took turns with others ended their operations in lumps. That is in no interval from
        // one run; what differs from run to run is not touched by it.
        let ci95 = per_second.and_then(|rate| ratio_interval(parts.iter().copied(), rate));
        PooledRate {
            window_s,
            per_second,
            ci95,
        }
    }
}
