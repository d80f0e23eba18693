//! Calls by row, kind and target.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::rc::Rc;
use std::time::Duration;

use record::{CallTarget, MeasureId, TracedCall, TracedRow};

use crate::CurrentRow;

/// Kinds of calls in one row, above which files are not distinguished.
const KINDS: usize = 200;

#[derive(Debug, Default)]
pub(super) struct CallCounts {
    rows: HashMap<MeasureId, RowCalls>,
}

#[derive(Debug, Default)]
struct RowCalls {
    indices: HashMap<(&'static str, Rc<CallTarget>, CallManner), usize>,
    calls: Vec<TracedCall>,
    others: u64,
    /// The number of the operation that was counted last, from 1, and the calls and others before
    /// it.
    last: u64,
    before_last: (Vec<TracedCall>, u64),
}

/// Reason for which a call waits, if known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum CallManner {
    Usual,
    ForLock,
    /// A write that ends when its data are on the disk.
    Synchronous,
}

impl RowCalls {
    /// Index of the count for this kind of call. After too many kinds, files and peers are not
    /// distinguished any more, so that the numbers of calls stay true.
    fn index(&mut self, call: &'static str, target: &Rc<CallTarget>, manner: CallManner) -> usize {
        let next = self.calls.len();
        let key = match (
            self.indices.entry((call, Rc::clone(target), manner)),
            &**target,
        ) {
            (Entry::Occupied(known), _) => return *known.get(),
            (Entry::Vacant(new), CallTarget::File { .. } | CallTarget::Socket { .. })
                if next >= KINDS =>
            {
                self.others += 1;
                let any = "*".to_owned();
                let target = match new.key().1.as_ref() {
                    CallTarget::Socket { .. } => CallTarget::Socket { peer: any },
                    _ => CallTarget::File { path: any },
                };
                (call, Rc::new(target), manner)
            }
            (Entry::Vacant(new), _) => new.into_key(),
        };
        let target = CallTarget::clone(&key.1);
        *self.indices.entry(key).or_insert_with(|| {
            self.calls.push(TracedCall {
                call: call.to_owned(),
                target,
                for_lock: manner == CallManner::ForLock,
                synchronous: manner == CallManner::Synchronous,
                count: 0,
                failed: 0,
                bytes: 0,
                lasted: 0,
            });
            next
        })
    }
}

/// Position of the count of a call.
#[derive(Debug, Clone, Copy)]
pub(super) struct Counted {
    row: MeasureId,
    index: usize,
}

impl CallCounts {
    /// Counts a call that began in this operation of its row.
    pub(super) fn begun(
        &mut self,
        (row, operation): (MeasureId, u64),
        call: &'static str,
        target: &Rc<CallTarget>,
        manner: CallManner,
    ) -> Counted {
        let calls = self.rows.entry(row).or_default();
        if calls.last != operation {
            calls.last = operation;
            calls.before_last = (calls.calls.clone(), calls.others);
        }
        let index = calls.index(call, target, manner);
        calls.calls[index].count += 1;
        Counted { row, index }
    }

    /// Adds the result of a call.
    pub(super) fn ended(&mut self, counted: Counted, failed: bool, bytes: u64, lasted: Duration) {
        let row = self.rows.get_mut(&counted.row);
        if let Some(call) = row.and_then(|row| row.calls.get_mut(counted.index)) {
            call.failed += u64::from(failed);
            call.bytes += bytes;
            call.lasted += u64::try_from(lasted.as_nanos()).unwrap_or(u64::MAX);
        }
    }

    /// All rows with operations, in the order of the plan, without the operation that was cut.
    pub(super) fn into_rows(mut self, current: &CurrentRow) -> Vec<TracedRow> {
        let traced = current.measures().filter_map(|measure| {
            let mut operations = current.operations(measure);
            let mut row = self.rows.remove(&measure).unwrap_or_default();
            if current.cut() == Some(measure) {
                if row.last == operations {
                    (row.calls, row.others) = row.before_last;
                }
                operations -= 1;
            }
            let order = |call: &TracedCall| (call.for_lock, call.synchronous);
            row.calls.sort_by(|a, b| {
                (&a.call, &a.target, order(a)).cmp(&(&b.call, &b.target, order(b)))
            });
            (operations > 0).then_some(TracedRow {
                measure,
                operations,
                took: 0,
                median: 0,
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
    fn files_beyond_the_limit_are_counted_together() {
        let current = CurrentRow::new(3);
        let row = MeasureId(1);
        current.begin(row);
        let mut counts = CallCounts::default();
        let file = |path: &str| {
            Rc::new(CallTarget::File {
                path: path.to_owned(),
            })
        };
        for number in 0..KINDS + 3 {
            let path = format!("{number:03}");
            counts.begun((row, 1), "unlink", &file(&path), CallManner::Usual);
        }
        let again = counts.begun((row, 1), "unlink", &file("000"), CallManner::Usual);
        counts.ended(again, true, 5, Duration::from_nanos(7));
        let collection = Rc::new(CallTarget::Collection);
        counts.begun((row, 1), "fsync", &collection, CallManner::Usual);
        let rows = counts.into_rows(&current);
        assert_eq!(rows.len(), 1);
        assert_eq!((rows[0].measure, rows[0].operations), (row, 1));
        assert_eq!((rows[0].calls.len(), rows[0].other_calls), (KINDS + 2, 3));
        let [fsync, others, first, ..] = &rows[0].calls[..] else {
            panic!("{rows:?}");
        };
        assert_eq!((fsync.call.as_str(), fsync.count), ("fsync", 1));
        assert_eq!((&others.target, others.count), (&*file("*"), 3));
        assert_eq!((first.count, first.failed), (2, 1));
        assert_eq!((first.bytes, first.lasted), (5, 7));
    }

    #[test]
    fn an_operation_that_was_cut_is_not_counted() {
        let (row, other) = (MeasureId(0), MeasureId(1));
        let counted = |calls_of_last: u64| {
            let current = CurrentRow::new(2);
            let mut counts = CallCounts::default();
            let nothing = Rc::new(CallTarget::Nothing);
            for (of, calls) in [(other, 1), (row, 3), (row, 3), (row, calls_of_last)] {
                current.begin(of);
                for _ in 0..calls {
                    let operation = (of, current.operations(of));
                    counts.begun(operation, "fsync", &nothing, CallManner::Usual);
                }
            }
            current.server_ended();
            let rows = counts.into_rows(&current);
            let count = |row: &TracedRow| (row.operations, row.calls[0].count);
            (count(&rows[0]), count(&rows[1]))
        };
        assert_eq!(counted(2), ((2, 6), (1, 1)));
        // It was cut before the server began with it.
        assert_eq!(counted(0), ((2, 6), (1, 1)));
    }

    #[test]
    fn waiting_for_a_lock_is_counted_apart() {
        let current = CurrentRow::new(1);
        let row = MeasureId(0);
        current.begin(row);
        let mut counts = CallCounts::default();
        let nothing = Rc::new(CallTarget::Nothing);
        for (manner, lasted) in [
            (CallManner::ForLock, 5),
            (CallManner::Usual, 7),
            (CallManner::ForLock, 5),
        ] {
            let counted = counts.begun((row, 1), "futex", &nothing, manner);
            counts.ended(counted, false, 0, Duration::from_nanos(lasted));
        }
        let rows = counts.into_rows(&current);
        let calls = rows[0].calls.iter();
        let found: Vec<_> = calls
            .map(|call| (call.for_lock, call.count, call.lasted))
            .collect();
        assert_eq!(found, [(false, 1, 7), (true, 2, 10)]);
    }
}
