//! The orders of rows, compared with the published ones.

use stats::holm;

use crate::relation;
use crate::series::FigureSeries;
use crate::spread::PooledSpread;
use crate::summary::OrderingCount;

/// Relative difference below which published figures have no order.
const SAME: f64 = 0.05;
/// Accepted rate of wrong orders, over all pairs of a column.
pub(crate) const ACCEPTED: f64 = 0.05;

pub(crate) struct OrderedRow {
    pub(crate) published: Option<f64>,
    pub(crate) series: FigureSeries,
}

/// Counts the orders of pairs of rows of a column. P-values are corrected for pairs (Holm).
pub(crate) fn orders(rows: &[OrderedRow], spread: &PooledSpread) -> OrderingCount {
    let (mut tests, mut count) = (Vec::new(), OrderingCount::default());
    for (index, one) in rows.iter().enumerate() {
        for other in &rows[index + 1..] {
            let (Some(first), Some(second)) = (one.published, other.published) else {
                continue;
            };
            let are_measured = !one.series.values.is_empty() && !other.series.values.is_empty();
            let larger = first.abs().max(second.abs());
            if !are_measured || (first - second).abs() <= SAME * larger {
                continue;
            }
            let test = relation::compare(&one.series, &other.series, spread, None);
            let (same, reversed) = if first < second {
                (test.less, test.more)
            } else {
                (test.more, test.less)
            };
            tests.push((2.0 * same.min(reversed), same < reversed));
        }
    }
    let p: Vec<f64> = tests.iter().map(|(p, _)| p.min(1.0)).collect();
    for (p, (_, is_same)) in holm(&p).into_iter().zip(tests) {
        match (p < ACCEPTED, is_same) {
            (false, _) => count.inconclusive += 1,
            (true, true) => count.same += 1,
            (true, false) => count.reversed += 1,
        }
    }
    count
}
