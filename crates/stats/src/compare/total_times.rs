//! Rows whose total times differ by more than their response times: a difference that ratios of
//! response times exclude.

use super::rows::{RowKind, RowName};
use super::{Side, rows};

/// Smallest difference, as a share of the larger total time.
const SHARE: f64 = 0.25;

const NANOS: f64 = 50_000.0;

/// A row, and its median total times in nanoseconds, averaged over the runs of a server.
#[derive(Debug, Clone, PartialEq)]
pub struct TotalTimes {
    /// Name of the row.
    pub row: String,
    /// With A.
    pub a: f64,
    /// With B.
    pub b: f64,
}

#[derive(Debug, Clone, Copy)]
struct RunMedians {
    total: f64,
    /// The part of the total time that is not in the response time.
    outside: f64,
}

/// The rows whose time outside the response time differs by so much, with one sign in all pairs.
pub(super) fn differing(a: &[Side<'_>], b: &[Side<'_>]) -> Vec<TotalTimes> {
    let operations = rows::names(a).into_iter();
    let operations = operations.filter(|row| row.kind == RowKind::Operation);
    operations
        .filter_map(|row| differing_row(a, b, &row))
        .collect()
}

fn differing_row(a: &[Side<'_>], b: &[Side<'_>], row: &RowName) -> Option<TotalTimes> {
    let pairs = a.iter().zip(b);
    let pairs = pairs.filter_map(|(a, b)| Some((medians(a, row)?, medians(b, row)?)));
    let (a, b): (Vec<RunMedians>, Vec<RunMedians>) = pairs.unzip();
    let mean = |runs: &[RunMedians], of: fn(&RunMedians) -> f64| {
        runs.iter().map(of).sum::<f64>() / runs.len() as f64
    };
    let totals = (mean(&a, |run| run.total), mean(&b, |run| run.total));
    let difference = mean(&b, |run| run.outside) - mean(&a, |run| run.outside);
    let is_large = difference.abs() >= NANOS.max(SHARE * totals.0.max(totals.1));
    let have_its_sign = a
        .iter()
        .zip(&b)
        .all(|(a, b)| (b.outside - a.outside) * difference > 0.0);
    let outside = (mean(&a, |run| run.outside), mean(&b, |run| run.outside));
    let ratio = (totals.1 / totals.0).ln().abs();
    let ratio_of_responses = ((totals.1 - outside.1) / (totals.0 - outside.0)).ln().abs();
    let is_hidden = ratio > ratio_of_responses || ratio_of_responses.is_nan();
    (is_large && have_its_sign && is_hidden).then(|| TotalTimes {
        row: row.name.clone(),
        a: totals.0,
        b: totals.1,
    })
}

fn medians(side: &Side<'_>, row: &RowName) -> Option<RunMedians> {
    let mut tests = side.summary.tests.iter();
    let found = tests.find(|test| test.name == row.name)?;
    let total = found.total.as_ref()?.p50 as f64;
    let response = found.response.as_ref()?.p50 as f64;
    Some(RunMedians {
        total,
        outside: total - response,
    })
}
