//! Cost of an operation inside of the server: counts of its processes over operations.
//!
//! The mean of a count over operations is the ratio of two sums over batches, and its interval is
//! that of a ratio estimator ([`crate::interval`]), over at most [`MOST`] groups of batches that
//! follow each other.

pub(crate) mod flame;
mod shares;
pub(crate) mod storage;

use record::{
    AsyncInterface, Event, EventKind, InsideBatch, InsideCounts, InsideRecord, MeasureId,
    PlanRecord, ServerProcessRecord, TracedRow,
};

use self::flame::StackProfile;
use crate::interval::{MOST, ratio_interval};
use crate::{Summary, TestSummary};

pub use shares::TracedShares;

/// Ticks of processor time from which the kernel's share is reported: its error is 7 % at most.
const ENOUGH_TICKS: u64 = 50;

/// Activity inside of the server during a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct InsideSummary {
    /// The processes that were watched, as far as they are known.
    pub processes: Vec<ServerProcessRecord>,
    /// Items that could not be watched, each in a sentence.
    pub missing: Vec<String>,
    /// The rows with counts or traces, in the order of the plan.
    pub rows: Vec<InsideRow>,
    /// The rows whose stacks were sampled, in the order of the plan.
    pub sampled: Vec<StackProfile>,
    /// The interface by which the server makes calls that are no system calls: its work on the
    /// storage is not known.
    pub unseen: Option<AsyncInterface>,
}

/// Cost of an operation of a row inside of the server.
#[derive(Debug, Clone, PartialEq)]
pub struct InsideRow {
    /// The row.
    pub measure: MeasureId,
    /// Operations over which was counted, also those that failed.
    pub operations: u64,
    /// Sum of all counts.
    pub counted: InsideCounts,
    /// Means per operation, by figure; empty where nothing was counted.
    pub means: Vec<(InsideFigure, InsideMean)>,
    /// Part of the processor time in the kernel, from 0 to 1; `None` where the time is too short.
    pub kernel_share: Option<f64>,
    /// Its system calls, in a pass in which it was traced.
    pub traced: Option<TracedRow>,
    /// By which interface the server makes further calls.
    pub unseen: Option<AsyncInterface>,
}

/// A figure of an operation inside of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum InsideFigure {
    /// Processor time, in nanoseconds.
    Processor,
    /// Time in which threads were ready and had no processor, in nanoseconds.
    Queued,
    /// Times that a thread waited for something.
    Waits,
    /// Times that a thread lost its processor to another.
    Preemptions,
    /// System calls that read.
    Reads,
    /// System calls that write.
    Writes,
    /// Bytes that these read.
    ReadBytes,
    /// Bytes that these wrote.
    WrittenBytes,
    /// Bytes from a disk.
    DiskReadBytes,
    /// Bytes for a disk.
    DiskWrittenBytes,
    /// Instructions.
    Instructions,
    /// Cycles of the processor.
    Cycles,
    /// Accesses to memory that no cache had.
    CacheMisses,
}

/// A mean per operation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct InsideMean {
    /// The mean.
    pub mean: f64,
    /// Its 95 % interval; `None` with fewer than two batches.
    pub interval: Option<(f64, f64)>,
}

impl InsideFigure {
    /// All of them.
    pub const ALL: [InsideFigure; 13] = [
        InsideFigure::Processor,
        InsideFigure::Queued,
        InsideFigure::Waits,
        InsideFigure::Preemptions,
        InsideFigure::Reads,
        InsideFigure::Writes,
        InsideFigure::ReadBytes,
        InsideFigure::WrittenBytes,
        InsideFigure::DiskReadBytes,
        InsideFigure::DiskWrittenBytes,
        InsideFigure::Instructions,
        InsideFigure::Cycles,
        InsideFigure::CacheMisses,
    ];

    /// True if it is counted of each thread.
    fn is_of_threads(self) -> bool {
        matches!(
            self,
            InsideFigure::Queued | InsideFigure::Waits | InsideFigure::Preemptions
        )
    }

    /// True for counts that the kernel shows only to the user of a process and to root.
    fn is_io(self) -> bool {
        self != InsideFigure::Processor && !self.is_of_threads() && !self.is_of_processor()
    }

    /// True for counts of system calls and of their bytes.
    fn is_of_calls(self) -> bool {
        matches!(
            self,
            InsideFigure::Reads
                | InsideFigure::Writes
                | InsideFigure::ReadBytes
                | InsideFigure::WrittenBytes
        )
    }

    /// True for counts that only some processors provide, and not those of most virtual machines.
    fn is_of_processor(self) -> bool {
        matches!(
            self,
            InsideFigure::Instructions | InsideFigure::Cycles | InsideFigure::CacheMisses
        )
    }

    fn of(self, counts: &InsideCounts) -> u64 {
        match self {
            InsideFigure::Processor => counts.processor,
            InsideFigure::Queued => counts.queued,
            InsideFigure::Waits => counts.waits,
            InsideFigure::Preemptions => counts.preemptions,
            InsideFigure::Reads => counts.reads,
            InsideFigure::Writes => counts.writes,
            InsideFigure::ReadBytes => counts.read_bytes,
            InsideFigure::WrittenBytes => counts.written_bytes,
            InsideFigure::DiskReadBytes => counts.disk_read_bytes,
            InsideFigure::DiskWrittenBytes => counts.disk_written_bytes,
            InsideFigure::Instructions => counts.instructions,
            InsideFigure::Cycles => counts.cycles,
            InsideFigure::CacheMisses => counts.cache_misses,
        }
    }
}

impl InsideSummary {
    pub(crate) fn of(plan: &PlanRecord, events: &[Event]) -> Option<InsideSummary> {
        let record = plan.inside.as_ref()?;
        let unseen = events.iter().find_map(|event| match event.kind {
            EventKind::UnseenCalls { by } => Some(by),
            _ => None,
        });
        let measures = (0..plan.measures.len()).filter_map(|index| u16::try_from(index).ok());
        let rows = measures.map(|index| InsideRow::of(MeasureId(index), events, record, unseen));
        Some(InsideSummary {
            processes: record.processes.clone(),
            missing: record.missing.clone(),
            rows: rows.filter(InsideRow::has_something).collect(),
            sampled: StackProfile::all(events),
            unseen,
        })
    }
}

/// Slow-down by tracing, as a factor, from which shares of the time are not reported: they would be
/// those of the tracing.
const MOST_SLOWED: f64 = 1.2;

/// By how much tracing slowed operations down, from their beginning to the end of their response:
/// as a ratio of medians, or of means where that is more, as shares are those of sums, and one slow
/// operation of five would be most of a sum. `None` where no traced one was ok, and where several
/// users were at work, as tracing had one.
pub fn slowed(traced: &TracedRow, users: u32, test: &TestSummary) -> Option<f64> {
    let timed = test.total.as_ref().filter(|_| users == 1)?;
    if traced.ok == 0 || timed.p50 == 0 {
        return None;
    }
    let of_medians = traced.median as f64 / timed.p50 as f64;
    let of_means = traced.took as f64 / traced.ok as f64 / timed.mean;
    Some(if of_means > MOST_SLOWED {
        of_medians.max(of_means)
    } else {
        of_medians
    })
}

/// True if shares of the time of a row that was slowed down by this factor are reported. Where the
/// timed operations were slower than the traced ones, there was another cause.
pub fn tells_shares(slowed: Option<f64>) -> bool {
    slowed.is_some_and(|factor| (1.0 / MOST_SLOWED..=MOST_SLOWED).contains(&factor))
}

impl Summary {
    /// The counts inside of the server for the row of this name.
    pub(crate) fn inside_of(&self, row: &str) -> Option<&InsideRow> {
        let index = self.tests.iter().position(|test| test.name == row)?;
        let mut rows = self.inside.as_ref()?.rows.iter();
        rows.find(|row| usize::from(row.measure.0) == index)
    }
}

impl InsideRow {
    fn of(
        measure: MeasureId,
        events: &[Event],
        record: &InsideRecord,
        unseen: Option<AsyncInterface>,
    ) -> InsideRow {
        let batches: Vec<&InsideBatch> = events
            .iter()
            .filter_map(|event| match &event.kind {
                EventKind::Inside(batch) if batch.measure == measure => Some(batch),
                _ => None,
            })
            .collect();
        let traced = events.iter().find_map(|event| match &event.kind {
            EventKind::Traced(traced) if traced.measure == measure => Some(traced.clone()),
            _ => None,
        });
        let operations = batches.iter().map(|batch| batch.operations).sum();
        let mut counted = InsideCounts::default();
        for batch in &batches {
            counted.add(&batch.counted);
        }
        let groups = groups(&batches);
        let mean = |figure: InsideFigure| {
            let parts = groups
                .iter()
                .map(|(operations, counts)| (figure.of(counts) as f64, *operations as f64));
            let mean = figure.of(&counted) as f64 / operations as f64;
            let interval = ratio_interval(parts, mean);
            (figure, InsideMean { mean, interval })
        };
        let ticks = counted.system_ticks + counted.user_ticks;
        let share = counted.system_ticks as f64 / ticks as f64;
        InsideRow {
            measure,
            operations,
            counted,
            means: InsideFigure::ALL
                .into_iter()
                .filter(|figure| operations > 0 && !(record.without_io && figure.is_io()))
                .filter(|figure| !(record.without_threads && figure.is_of_threads()))
                .filter(|figure| unseen.is_none() || !figure.is_of_calls())
                .filter(|figure| !figure.is_of_processor() || counted.instructions > 0)
                // Every response takes processor time: here another process, which was not watched,
                // responded.
                .filter(|_| counted.processor > 0)
                .map(mean)
                .collect(),
            kernel_share: (ticks >= ENOUGH_TICKS).then_some(share),
            traced,
            unseen,
        }
    }

    /// All its calls; `None` where none were counted, no operation was ok, or the server makes
    /// others that are not seen.
    pub fn traced_calls(&self) -> Option<&TracedRow> {
        let traced = self.traced.as_ref().filter(|_| self.unseen.is_none());
        traced.filter(|row| row.ok > 0 && row.operations > 0)
    }

    fn has_something(&self) -> bool {
        self.operations > 0 || self.traced.is_some()
    }

    /// The mean of a figure per operation.
    pub fn mean(&self, figure: InsideFigure) -> Option<InsideMean> {
        let found = self.means.iter().find(|(known, _)| *known == figure);
        found.map(|(_, mean)| *mean)
    }
}

/// At most [`MOST`] groups of batches that follow each other: their operations, and their counts.
fn groups(batches: &[&InsideBatch]) -> Vec<(u64, InsideCounts)> {
    let size = batches.len().div_ceil(MOST).max(1);
    let group = |batches: &[&InsideBatch]| {
        let mut counts = InsideCounts::default();
        for batch in batches {
            counts.add(&batch.counted);
        }
        (batches.iter().map(|batch| batch.operations).sum(), counts)
    };
    batches.chunks(size).map(group).collect()
}
