//! What goes on inside of the server, as JSON.

use record::{AsyncInterface, CallTarget, ServerProcessRecord, TracedCall};
use schemars::JsonSchema;
use serde::Serialize;
use stats::{InsideFigure, InsideMean, InsideRow, Summary, TracedShares, slowed};

use super::flame::{self, FlameJson};
use super::test_of;
use crate::fields::{Fields, fields};
use crate::json::{thousandths, us};

/// What operations cost inside of the server.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields, rename = "Inside")]
pub(crate) struct InsideJson {
    /// The processes that were watched when the run began.
    pub(crate) processes: Vec<Fields<ServerProcessRecord>>,
    /// What could not be watched, each in a sentence.
    pub(crate) missing: Vec<String>,
    /// An interface by which the server makes calls that are no system calls (`io_uring`, `Linux
    /// AIO`), so that its calls on the storage are not known; null where none was seen.
    pub(crate) unseen_calls: Option<&'static str>,
    /// The rows for which something was counted.
    pub(crate) rows: Vec<InsideRowJson>,
    /// Samples of the stacks of the server, for flame graphs; absent where it was not sampled.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) flames: Vec<FlameJson>,
}

fields! {
    /// A process of the server.
    ServerProcessRecord, "ServerProcess", |process| {
        /// Its number.
        pid = process.pid,
        /// The name of its program.
        name = process.name.clone(),
        /// Its threads.
        threads = process.threads,
    }
}

/// What an operation of a row costs inside of the server. Means are over all operations that were
/// sent, also failed ones.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields, rename = "InsideRow")]
pub(crate) struct InsideRowJson {
    /// Name of the row.
    pub(crate) measure: String,
    /// Operations over which was counted.
    pub(crate) operations: u64,
    /// Processor time in microseconds.
    pub(crate) processor_us: Option<InsideMeanJson>,
    /// Part of it in the kernel in percent; null where it was too short to tell. There is no
    /// interval.
    pub(crate) kernel_percent: Option<f64>,
    /// Time in which threads were ready and had no processor, in microseconds.
    pub(crate) queued_us: Option<InsideMeanJson>,
    /// Times that a thread waited for something.
    pub(crate) waits: Option<InsideMeanJson>,
    /// Times that a thread lost its processor to another.
    pub(crate) preemptions: Option<InsideMeanJson>,
    /// System calls that read (`read` and its like; not `recv`); null where they could not be
    /// counted.
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
    /// Instructions; null, as the two below, where the processor of this machine does not count
    /// them.
    pub(crate) instructions: Option<InsideMeanJson>,
    /// Cycles of the processor.
    pub(crate) cycles: Option<InsideMeanJson>,
    /// Accesses to memory that no cache had.
    pub(crate) cache_misses: Option<InsideMeanJson>,
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
    /// Median time of an operation while it was traced, over that when it was not; null where one
    /// of both is not known, or several users were at work when it was not. There is no interval: a
    /// few operations are traced.
    pub(crate) slowed: Option<f64>,
    /// What the time of the traced operations went into; null where tracing slowed them by more
    /// than 20 %, or it is not known whether it did.
    pub(crate) shares: Option<Fields<TracedShares>>,
    /// By call and target.
    pub(crate) calls: Vec<TracedCallJson>,
    /// Calls of kinds beyond those that are kept.
    pub(crate) other_calls: u64,
}

fields! {
    /// Parts of the time of traced operations, from their beginning to the end of their response,
    /// in calls that began and ended within them. What several threads do at the same time is in
    /// them several times.
    TracedShares, "TracedShares", |shares| {
        /// Waiting until files are on the disk (fsync and its like), in percent. There is no
        /// interval.
        sync_percent = percent(shares.sync),
        /// Other calls on files and directories, in percent. There is no interval.
        files_percent = percent(shares.files),
        /// Waiting for locks of threads (futex) and files (flock, fcntl), in percent. There is no
        /// interval.
        locks_percent = percent(shares.locks),
        /// Calls on connections with other processes than the client, in percent. There is no
        /// interval.
        others_percent = percent(shares.others),
        /// Threads that were ready and had no processor, all together, in percent of the time of an
        /// operation that is not traced; null where that was not counted. There is no interval.
        queued_percent = shares.queued.map(percent),
    }
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
    /// Whether they wait for a lock of threads or of a file.
    pub(crate) for_lock: bool,
    /// Whether they write, and wait until that is on the disk (O_DSYNC, RWF_DSYNC).
    pub(crate) synchronous: bool,
    /// Calls per operation.
    pub(crate) per_operation: f64,
    /// Calls that failed, over all operations.
    pub(crate) failed: u64,
    /// Bytes per operation.
    pub(crate) bytes_per_operation: f64,
    /// Time per operation in calls that began and ended within it, in microseconds, while traced.
    /// There is no interval: a few operations are traced.
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
        processes: inside.processes.iter().map(Fields::from).collect(),
        missing: inside.missing.clone(),
        unseen_calls: inside.unseen.map(AsyncInterface::name),
        rows: rows.collect(),
        flames: flame::of_run(inside, summary),
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
        kernel_percent: row.kernel_share.map(percent),
        queued_us: time(InsideFigure::Queued),
        waits: number(InsideFigure::Waits),
        preemptions: number(InsideFigure::Preemptions),
        reads: number(InsideFigure::Reads),
        writes: number(InsideFigure::Writes),
        read_bytes: number(InsideFigure::ReadBytes),
        written_bytes: number(InsideFigure::WrittenBytes),
        disk_read_bytes: number(InsideFigure::DiskReadBytes),
        disk_written_bytes: number(InsideFigure::DiskWrittenBytes),
        instructions: number(InsideFigure::Instructions),
        cycles: number(InsideFigure::Cycles),
        cache_misses: number(InsideFigure::CacheMisses),
        memory_growth_bytes: row.counted.memory_growth,
        threads: row.counted.threads,
        traced: row.traced.as_ref().map(|traced| TracedJson {
            operations: traced.operations,
            slowed: slowed(traced, users, test).map(thousandths),
            shares: row.shares(users, test).as_ref().map(Fields::from),
            calls: traced
                .calls
                .iter()
                .map(|own| of_call(own, traced.operations))
                .collect(),
            other_calls: traced.other_calls,
        }),
    })
}

fn percent(share: f64) -> f64 {
    thousandths(share * 100.0)
}

fn of_call(own: &TracedCall, operations: u64) -> TracedCallJson {
    let each = |sum: u64| sum as f64 / operations.max(1) as f64;
    let (target, name) = target(&own.target);
    TracedCallJson {
        call: own.call.clone(),
        target: target.to_owned(),
        name,
        for_lock: own.for_lock,
        synchronous: own.synchronous,
        per_operation: thousandths(each(own.count)),
        failed: own.failed,
        bytes_per_operation: thousandths(each(own.bytes)),
        lasted_us: us(each(own.lasted)),
    }
}

/// What a call was about: its kind, and the path or the peer where it has one.
pub(crate) fn target(target: &CallTarget) -> (&'static str, Option<String>) {
    let (kind, name) = match target {
        CallTarget::Collection => ("collection", None),
        CallTarget::File { path } => ("file", Some(path.clone())),
        CallTarget::Client => ("client", None),
        CallTarget::Socket { peer } => ("socket", Some(peer.clone())),
        CallTarget::Event => ("event", None),
        CallTarget::Nothing => ("nothing", None),
    };
    (kind, name.filter(|name| !name.is_empty()))
}
