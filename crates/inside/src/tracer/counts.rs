//! Calls by row, kind and target.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::rc::Rc;
use std::time::Duration;

use record::{CallTarget, MeasureId, TracedCall, TracedRow};

use crate::CurrentRow;

/// Kinds of calls that are told apart in one row.
const KINDS: usize = 200;

/// The calls of all rows.
#[derive(Debug, Default)]
pub(super) struct CallCounts {
    rows: HashMap<MeasureId, RowCalls>,
}

#[derive(Debug, Default)]
struct RowCalls {
    places: HashMap<(&'static str, Rc<CallTarget>), usize>,
    calls: Vec<TracedCall>,
    others: u64,
}

/// Where a call was counted.
#[derive(Debug, Clone, Copy)]
pub(super) struct Counted {
    row: MeasureId,
    place: usize,
}

impl CallCounts {
    /// Counts a call that began; `None` where its row has too many kinds already.
    pub(super) fn begun(
        &mut self,
        row: MeasureId,
        call: &'static str,
        target: &Rc<CallTarget>,
    ) -> Option<Counted> {
        let calls = self.rows.entry(row).or_default();
        let next = calls.calls.len();
        let place = match calls.places.entry((call, Rc::clone(target))) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(_) if next == KINDS => {
                calls.others += 1;
                return None;
            }
            Entry::Vacant(new) => {
                calls.calls.push(TracedCall {
                    call: call.to_owned(),
                    target: target.as_ref().clone(),
                    count: 0,
                    failed: 0,
                    bytes: 0,
                    lasted: 0,
                });
                *new.insert(next)
            }
        };
        calls.calls[place].count += 1;
        Some(Counted { row, place })
    }

    /// Adds how a call ended.
    pub(super) fn ended(&mut self, counted: Counted, failed: bool, bytes: u64, lasted: Duration) {
        let row = self.rows.get_mut(&counted.row);
        if let Some(call) = row.and_then(|row| row.calls.get_mut(counted.place)) {
            call.failed += u64::from(failed);
            call.bytes += bytes;
            call.lasted += u64::try_from(lasted.as_nanos()).unwrap_or(u64::MAX);
        }
    }

    /// Of all rows with operations, in the order of the plan.
    pub(super) fn into_rows(mut self, current: &CurrentRow) -> Vec<TracedRow> {
        let traced = current.measures().filter_map(|measure| {
            let operations = current.operations(measure);
            let mut row = self.rows.remove(&measure).unwrap_or_default();
            row.calls
                .sort_by(|a, b| (&a.call, &a.target).cmp(&(&b.call, &b.target)));
            (operations > 0).then_some(TracedRow {
                measure,
                operations,
                response_time: 0,
                ok: 0,
                calls: row.calls,
                other_calls: row.others,
            })
        });
        traced.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_beyond_the_limit_are_counted_together() {
        let current = CurrentRow::new(3);
        let row = MeasureId(1);
        current.begin(row);
        let mut counts = CallCounts::default();
        for number in 0..KINDS + 3 {
            let path = format!("{number:03}");
            let target = Rc::new(CallTarget::File { path });
            let counted = counts.begun(row, "unlink", &target);
            assert_eq!(counted.is_some(), number < KINDS);
        }
        let first = Rc::new(CallTarget::File {
            path: "000".to_owned(),
        });
        let again = counts.begun(row, "unlink", &first).unwrap();
        counts.ended(again, true, 5, Duration::from_nanos(7));
        let rows = counts.into_rows(&current);
        assert_eq!(rows.len(), 1);
        assert_eq!((rows[0].measure, rows[0].operations), (row, 1));
        assert_eq!((rows[0].calls.len(), rows[0].other_calls), (KINDS, 3));
        let call = &rows[0].calls[0];
        assert_eq!((call.count, call.failed), (2, 1));
        assert_eq!((call.bytes, call.lasted), (5, 7));
    }
}
