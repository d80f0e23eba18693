//! The active row.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use record::MeasureId;

/// The row whose operation is in progress, one operation at a time. Written by the thread that
/// sends the requests, read by others; without a lock.
#[derive(Debug)]
pub struct CurrentRow {
    moment: AtomicU64,
    /// Operations that began, by the number of the measure.
    operations: Vec<AtomicU64>,
    /// The row that was active when the server ended.
    cut: OnceLock<Option<MeasureId>>,
}

/// The state of [`CurrentRow`] at one moment: one number, so that its parts are consistent.
///
/// ```text
/// bit 63      32   31            1    0
///     row + 1      operation          under way
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Moment(u64);

const UNDER_WAY: u64 = 1;
const OPERATION: u64 = 0xffff_fffe;
const ROW: u32 = 32;

impl CurrentRow {
    /// For the rows of a plan with this number of measures. None is active.
    pub fn new(measures: usize) -> CurrentRow {
        CurrentRow {
            moment: AtomicU64::new(0),
            operations: (0..measures).map(|_| AtomicU64::new(0)).collect(),
            cut: OnceLock::new(),
        }
    }

    /// Begins an operation of this row: its first byte is about to be sent. The server should be
    /// idle, so that all its work from now on is for this row.
    ///
    /// After the end of the server there are no operations.
    pub fn begin(&self, row: MeasureId) {
        if self.cut.get().is_some() {
            return;
        }
        if let Some(operations) = self.operations.get(usize::from(row.0)) {
            operations.fetch_add(1, Ordering::Relaxed);
        }
        let next = (self.moment.load(Ordering::Relaxed) & OPERATION).wrapping_add(2) & OPERATION;
        let row = (u64::from(row.0) + 1) << ROW;
        self.moment.store(row | next | UNDER_WAY, Ordering::Release);
    }

    /// The last byte of the response arrived. Work of the server still belongs to the row.
    pub fn response_received(&self) {
        self.moment.fetch_and(!UNDER_WAY, Ordering::Release);
    }

    /// Work of the server belongs to no row from now on.
    pub fn rest(&self) {
        self.moment.fetch_and(OPERATION, Ordering::Release);
    }

    /// Notes that the server has ended. An operation in progress was cut, and does not count.
    pub fn server_ended(&self) {
        self.cut.get_or_init(|| self.row());
        self.rest();
    }

    /// The row of the operation that was cut by the end of the server.
    pub(crate) fn cut(&self) -> Option<MeasureId> {
        self.cut.get().copied().flatten()
    }

    /// The active row.
    pub fn row(&self) -> Option<MeasureId> {
        self.moment().row()
    }

    /// Number of operations of a row that began.
    pub fn operations(&self, row: MeasureId) -> u64 {
        let operations = self.operations.get(usize::from(row.0));
        operations.map_or(0, |operations| operations.load(Ordering::Relaxed))
    }

    /// All measures of the plan.
    pub(crate) fn measures(&self) -> impl Iterator<Item = MeasureId> {
        (0..self.operations.len()).filter_map(|index| u16::try_from(index).ok().map(MeasureId))
    }

    pub(crate) fn moment(&self) -> Moment {
        Moment(self.moment.load(Ordering::Acquire))
    }
}

impl Moment {
    pub(crate) fn row(self) -> Option<MeasureId> {
        let row = (self.0 >> ROW).checked_sub(1)?;
        u16::try_from(row).ok().map(MeasureId)
    }

    /// True if the same operation was in progress at both moments.
    pub(crate) fn is_same_operation(self, other: Moment) -> bool {
        self == other && self.0 & UNDER_WAY != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_know_their_row_and_operation() {
        let current = CurrentRow::new(2);
        assert_eq!(current.row(), None);
        current.begin(MeasureId(0));
        let first = current.moment();
        assert_eq!(first.row(), Some(MeasureId(0)));
        assert!(first.is_same_operation(current.moment()));
        current.response_received();
        assert_eq!(current.row(), Some(MeasureId(0)));
        assert!(!first.is_same_operation(current.moment()));
        assert!(!current.moment().is_same_operation(current.moment()));
        current.begin(MeasureId(0));
        assert!(!first.is_same_operation(current.moment()));
        current.begin(MeasureId(1));
        current.rest();
        assert_eq!(current.row(), None);
        current.begin(MeasureId(u16::MAX));
        assert_eq!(current.row(), Some(MeasureId(u16::MAX)));
        assert_eq!(current.operations(MeasureId(0)), 2);
        assert_eq!(current.operations(MeasureId(1)), 1);
        assert_eq!(current.operations(MeasureId(2)), 0);
    }

    #[test]
    fn no_operation_begins_after_the_end_of_the_server() {
        let current = CurrentRow::new(2);
        current.begin(MeasureId(1));
        assert_eq!(current.cut(), None);
        current.server_ended();
        current.begin(MeasureId(0));
        current.server_ended();
        assert_eq!((current.row(), current.cut()), (None, Some(MeasureId(1))));
        assert_eq!(current.operations(MeasureId(0)), 0);
    }
}
