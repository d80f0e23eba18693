//! What an operation costs inside of the server: counts of its processes over operations.
//!
//! The mean of a count over operations is the ratio of two sums over batches, and its interval is that of a ratio
//! estimator ([`crate::interval`]), over at most [`MOST`] groups of batches that follow each other.

use record::{Event, EventKind, InsideBatch, InsideCounts, MeasureId, PlanRecord, TracedRow};

use crate::interval::{MOST, ratio_interval};

/// Ticks of processor time from which the share of the kernel is told: of 50, it has an error of 7 % at most.
const ENOUGH_TICKS: u64 = 50;

/// What went on inside of the server during a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct InsideSummary {
    /// What could not be watched, each in a sentence.
    pub missing: Vec<String>,
    /// The rows for which something was counted or traced, in the order of the plan.
    pub rows: Vec<InsideRow>,
}

/// What an operation of a row costs inside of the server.
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
    /// Part of the processor time in the kernel, from 0 to 1; `None` where it was too short to tell.
    pub kernel_share: Option<f64>,
    /// Its system calls, in a pass in which it was traced.
    pub traced: Option<TracedRow>,
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
    pub const ALL: [InsideFigure; 10] = [
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
    ];

    /// Whether it comes from what the kernel lets only the user of a process and root read.
    fn is_io(self) -> bool {
        !matches!(
            self,
            InsideFigure::Processor
                | InsideFigure::Queued
                | InsideFigure::Waits
                | InsideFigure::Preemptions
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
        }
    }
}

impl InsideSummary {
    /// Of the events of a run; `None` where the server was not watched.
    pub(crate) fn of(plan: &PlanRecord, events: &[Event]) -> Option<InsideSummary> {
        let record = plan.inside.as_ref()?;
        let measures = (0..plan.measures.len()).filter_map(|place| u16::try_from(place).ok());
        let rows = measures.map(|place| InsideRow::of(MeasureId(place), events, record.without_io));
        Some(InsideSummary {
            missing: record.missing.clone(),
            rows: rows.filter(InsideRow::has_something).collect(),
        })
    }
}

impl InsideRow {
    fn of(measure: MeasureId, events: &[Event], without_io: bool) -> InsideRow {
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
                .filter(|figure| operations > 0 && !(without_io && figure.is_io()))
                .map(mean)
                .collect(),
            kernel_share: (ticks >= ENOUGH_TICKS).then_some(share),
            traced,
        }
    }

    fn has_something(&self) -> bool {
        self.operations > 0 || self.traced.is_some()
    }

    /// The mean of a figure per operation.
    pub fn mean(&self, figure: InsideFigure) -> Option<InsideMean> {
        let found = self.means.iter().find(|(own, _)| *own == figure);
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
