//! What goes on inside of the server, as JSON.

use record::{CallTarget, TracedCall};
use schemars::JsonSchema;
use serde::Serialize;
use stats::{InsideFigure, InsideMean, InsideRow, Summary};

use super::calls::slowed;
use super::{test_of, timed};
use crate::json::{thousandths, us};

/// What operations cost inside of the server.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields, rename = "Inside")]
pub(crate) struct InsideJson {
    /// What could not be watched, each in a sentence.
    pub(crate) missing: Vec<String>,
    /// The rows for which something was counted.
    pub(crate) rows: Vec<InsideRowJson>,
}

/// What an operation of a row costs inside of the server. Means are over all operations that were sent, also failed ones.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields, rename = "InsideRow")]
pub(crate) struct InsideRowJson {
    /// Name of the row.
    pub(crate) measure: String,
    /// Operations over which was counted.
    pub(crate) operations: u64,
    /// Processor time in microseconds.
    pub(crate) processor_us: Option<InsideMeanJson>,
    /// Part of it in the kernel in percent; null where it was too short to tell. There is no interval.
    pub(crate) kernel_percent: Option<f64>,
    /// Time in which threads were ready and had no processor, in microseconds.
    pub(crate) queued_us: Option<InsideMeanJson>,
    /// Times that a thread waited for something.
    pub(crate) waits: Option<InsideMeanJson>,
    /// Times that a thread lost its processor to another.
    pub(crate) preemptions: Option<InsideMeanJson>,
    /// System calls that read (`read` and its like; not `recv`); null where they could not be counted.
    pub(crate) reads: Option<InsideMeanJson>,
    /// System calls that write (`write` and its like; not `send`).
    pub(crate) writes: Option<InsideMeanJson>,
    /// Bytes that these read.
    pub(crate) read_bytes: Option<InsideMeanJson>,
    /// Bytes that these wrote.
    pub(crate) written_bytes: Option<InsideMeanJson>,
    /// Bytes from a disk.
    pub(crate) disk_read_bytes: Option<InsideMeanJson>,
    /// Bytes for a disk.
    pub(crate) disk_written_bytes: Option<InsideMeanJson>,
    /// By how much the resident memory of the server grew over all operations, in bytes.
    pub(crate) memory_growth_bytes: i64,
    /// Threads of the server at the end of its last batch.
    pub(crate) threads: u64,
    /// Its system calls, in a pass of its own; null where it was not traced.
    pub(crate) traced: Option<TracedJson>,
}

/// A mean per operation.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields, rename = "InsideMean")]
pub(crate) struct InsideMeanJson {
    /// The mean.
    pub(crate) mean: f64,
    /// Its 95 % interval; null with too few operations.
    pub(crate) ci95: Option<[f64; 2]>,
}

/// System calls of a row.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields, rename = "Traced")]
pub(crate) struct TracedJson {
    /// Operations that were traced.
    pub(crate) operations: u64,
    /// Median time of an operation while it was traced, over that when it was not; null where one of both is not known, or
    /// several users were at work when it was not. There is no interval: a few operations are traced.
    pub(crate) slowed: Option<f64>,
    /// By call and target.
    pub(crate) calls: Vec<TracedCallJson>,
    /// Calls of kinds beyond those that are kept.
    pub(crate) other_calls: u64,
}

/// System calls of one kind on targets of one kind, over all traced operations.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields, rename = "TracedCall")]
pub(crate) struct TracedCallJson {
    /// Name of the system call.
    pub(crate) call: String,
    /// `collection` (of the run), `file`, `client`, `socket`, `event` or `nothing`.
    pub(crate) target: String,
    /// Path of the file, or with whom the socket is connected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) name: Option<String>,
    /// Calls per operation.
    pub(crate) per_operation: f64,
    /// Calls that failed, over all operations.
    pub(crate) failed: u64,
    /// Bytes per operation.
    pub(crate) bytes_per_operation: f64,
    /// Time per operation in calls that began and ended within it, in microseconds, while traced. There is no interval: a
    /// few operations are traced.
    pub(crate) lasted_us: f64,
}

impl InsideMeanJson {
    fn of(mean: Option<InsideMean>, unit: impl Fn(f64) -> f64) -> Option<InsideMeanJson> {
        mean.map(|own| InsideMeanJson {
            mean: unit(own.mean),
            ci95: own.interval.map(|(low, high)| [unit(low), unit(high)]),
        })
    }
}

/// What went on inside of the server; `None` where nobody looked.
pub(crate) fn of_run(users: u32, summary: &Summary) -> Option<InsideJson> {
    let inside = summary.inside.as_ref()?;
    let rows = inside
        .rows
        .iter()
        .filter_map(|row| of_row(row, users, summary));
    Some(InsideJson {
        missing: inside.missing.clone(),
        rows: rows.collect(),
    })
}

fn of_row(row: &InsideRow, users: u32, summary: &Summary) -> Option<InsideRowJson> {
    let test = test_of(summary, row.measure)?;
    let number = |figure| InsideMeanJson::of(row.mean(figure), thousandths);
    let time = |figure| InsideMeanJson::of(row.mean(figure), us);
    Some(InsideRowJson {
        measure: test.name.clone(),
        operations: row.operations,
        processor_us: time(InsideFigure::Processor),
        kernel_percent: row.kernel_share.map(|share| thousandths(share * 100.0)),
        queued_us: time(InsideFigure::Queued),
        waits: number(InsideFigure::Waits),
        preemptions: number(InsideFigure::Preemptions),
        reads: number(InsideFigure::Reads),
        writes: number(InsideFigure::Writes),
        read_bytes: number(InsideFigure::ReadBytes),
        written_bytes: number(InsideFigure::WrittenBytes),
        disk_read_bytes: number(InsideFigure::DiskReadBytes),
        disk_written_bytes: number(InsideFigure::DiskWrittenBytes),
        memory_growth_bytes: row.counted.memory_growth,
        threads: row.counted.threads,
        traced: row.traced.as_ref().map(|traced| TracedJson {
            operations: traced.operations,
            slowed: slowed(traced, timed(users, test)).map(thousandths),
            calls: traced
                .calls
                .iter()
                .map(|own| of_call(own, traced.operations))
                .collect(),
            other_calls: traced.other_calls,
        }),
    })
}

fn of_call(own: &TracedCall, operations: u64) -> TracedCallJson {
    let each = |sum: u64| sum as f64 / operations.max(1) as f64;
    let (target, name) = match &own.target {
        CallTarget::Collection => ("collection", None),
        CallTarget::File { path } => ("file", Some(path.clone())),
        CallTarget::Client => ("client", None),
        CallTarget::Socket { peer } => ("socket", Some(peer.clone())),
        CallTarget::Event => ("event", None),
        CallTarget::Nothing => ("nothing", None),
    };
    TracedCallJson {
        call: own.call.clone(),
        target: target.to_owned(),
        name: name.filter(|name| !name.is_empty()),
        per_operation: thousandths(each(own.count)),
        failed: own.failed,
        bytes_per_operation: thousandths(each(own.bytes)),
        lasted_us: us(each(own.lasted)),
    }
}
