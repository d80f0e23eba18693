//! What goes on inside of the server, as JSON.

use record::{AsyncInterface, CallTarget, ServerProcessRecord, TracedCall, TracedRow};
use stats::{
    InsideFigure, InsideMean, InsideRow, InsideSummary, Summary, TestSummary, TracedShares, slowed,
};

use super::{flame, test_of};
use crate::fields::{IfAny, each, fields};
use crate::json::{percent, thousandths, us};

/// Costs of the operations of a run inside of the server.
pub(crate) struct InsideDocument<'a> {
    inside: &'a InsideSummary,
    summary: &'a Summary,
    users: u32,
    with_stacks: bool,
}

struct RowInside<'a> {
    row: &'a InsideRow,
    test: &'a TestSummary,
    users: u32,
}

/// `None` where nobody looked.
pub(crate) fn run_document(
    users: u32,
    summary: &Summary,
    with_stacks: bool,
) -> Option<InsideDocument<'_>> {
    Some(InsideDocument {
        inside: summary.inside.as_ref()?,
        summary,
        users,
        with_stacks,
    })
}

impl<'a> InsideDocument<'a> {
    fn rows(&self) -> Vec<RowInside<'a>> {
        let row = |row: &'a InsideRow| {
            Some(RowInside {
                row,
                test: test_of(self.summary, row.measure)?,
                users: self.users,
            })
        };
        self.inside.rows.iter().filter_map(row).collect()
    }
}

impl RowInside<'_> {
    fn mean(&self, figure: InsideFigure, unit: fn(f64) -> f64) -> Option<InsideMean> {
        self.row.mean(figure).map(|estimate| InsideMean {
            mean: unit(estimate.mean),
            interval: estimate.interval.map(|(low, high)| (unit(low), unit(high))),
        })
    }
}

fields! {
    /// What operations cost inside of the server.
    InsideDocument<'_>, "Inside", |of| {
        /// The processes that were watched when the run began.
        processes = &of.inside.processes,
        /// What could not be watched, each in a sentence.
        missing = &of.inside.missing,
        /// An interface by which the server makes calls that are no system calls (`io_uring`,
        /// `Linux AIO`), so that its calls on the storage are not known; null where none was seen.
        unseen_calls = of.inside.unseen.map(AsyncInterface::name),
        /// The rows for which something was counted.
        rows = of.rows(),
        /// Samples of the stacks of the server, for flame graphs; absent where it was not sampled.
        flames = IfAny(flame::profiles(of.inside, of.summary, of.with_stacks)),
    }
}

fields! {
    /// A process of the server.
    ServerProcessRecord, "ServerProcess", |process| {
        /// Its number.
        pid = process.pid,
        /// The name of its program.
        name = &process.name,
        /// Its threads.
        threads = process.threads,
    }
}

fields! {
    /// What an operation of a row costs inside of the server. Means are over all operations that
    /// were sent, also failed ones.
    RowInside<'_>, "InsideRow", |of| {
        /// Name of the row.
        measure = &of.test.name,
        /// Operations over which was counted.
        operations = of.row.operations,
        /// Processor time in microseconds.
        processor_us = of.mean(InsideFigure::Processor, us),
        /// Part of it in the kernel in percent; null where it was too short to tell. There is no
        /// interval.
        kernel_percent = of.row.kernel_share.map(percent),
        /// Time in which threads were ready and had no processor, in microseconds.
        queued_us = of.mean(InsideFigure::Queued, us),
        /// Times that a thread waited for something.
        waits = of.mean(InsideFigure::Waits, thousandths),
        /// Times that a thread lost its processor to another.
        preemptions = of.mean(InsideFigure::Preemptions, thousandths),
        /// System calls that read (`read` and its like; not `recv`); null where they could not be
        /// counted.
        reads = of.mean(InsideFigure::Reads, thousandths),
        /// System calls that write (`write` and its like; not `send`).
        writes = of.mean(InsideFigure::Writes, thousandths),
        /// Bytes that these read.
        read_bytes = of.mean(InsideFigure::ReadBytes, thousandths),
        /// Bytes that these wrote.
        written_bytes = of.mean(InsideFigure::WrittenBytes, thousandths),
        /// Bytes from a disk.
        disk_read_bytes = of.mean(InsideFigure::DiskReadBytes, thousandths),
        /// Bytes for a disk.
        disk_written_bytes = of.mean(InsideFigure::DiskWrittenBytes, thousandths),
        /// Instructions; null, as the two below, where the processor of this machine does not count
        /// them.
        instructions = of.mean(InsideFigure::Instructions, thousandths),
        /// Cycles of the processor.
        cycles = of.mean(InsideFigure::Cycles, thousandths),
        /// Accesses to memory that no cache had.
        cache_misses = of.mean(InsideFigure::CacheMisses, thousandths),
        /// By how much the resident memory of the server grew over all operations, in bytes.
        memory_growth_bytes = of.row.counted.memory_growth,
        /// Threads of the server at the end of its last batch.
        threads = of.row.counted.threads,
        /// Its system calls, in a pass of its own; null where it was not traced.
        traced = of.row.traced.as_ref().map(|traced| (traced, of)),
    }
}

fields! {
    /// A mean per operation.
    InsideMean, "InsideMean", |estimate| {
        /// The mean.
        mean = estimate.mean,
        /// Its 95 % interval; null with too few operations.
        ci95 = estimate.interval,
    }
}

fields! {
    /// System calls of a row.
    (&TracedRow, &RowInside<'_>), "Traced", |(traced, of)| {
        /// Operations that were traced.
        operations = traced.operations,
        /// Median time of an operation while it was traced, over that when it was not; null where
        /// one of both is not known, or several users were at work when it was not. There is no
        /// interval: a few operations are traced.
        slowed = slowed(traced, of.users, of.test).map(thousandths),
        /// What the time of the traced operations went into; null where tracing slowed them by more
        /// than 20 %, or it is not known whether it did.
        shares = of.row.shares(of.users, of.test),
        /// By call and target.
        calls = each(&traced.calls, |call| (call, traced.operations)),
        /// Calls of kinds beyond those that are kept.
        other_calls = traced.other_calls,
    }
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

fields! {
    /// System calls of one kind on targets of one kind, over all traced operations.
    (&TracedCall, u64), "TracedCall", |(call, operations)| {
        /// Name of the system call.
        call = &call.call,
        /// `collection` (of the run), `file`, `client`, `socket`, `event` or `nothing`.
        target = target(&call.target).0,
        /// Path of the file, or with whom the socket is connected.
        name = IfAny(target(&call.target).1),
        /// Whether they wait for a lock of threads or of a file.
        for_lock = call.for_lock,
        /// Whether they write, and wait until that is on the disk (O_DSYNC, RWF_DSYNC).
        synchronous = call.synchronous,
        /// Calls per operation.
        per_operation = thousandths(per(call.count, *operations)),
        /// Calls that failed, over all operations.
        failed = call.failed,
        /// Bytes per operation.
        bytes_per_operation = thousandths(per(call.bytes, *operations)),
        /// Time per operation in calls that began and ended within it, in microseconds, while
        /// traced. There is no interval: a few operations are traced.
        lasted_us = us(per(call.lasted, *operations)),
    }
}

fn per(sum: u64, operations: u64) -> f64 {
    sum as f64 / operations.max(1) as f64
}

/// What a call was about: its kind, and the path or the peer where it has one.
pub(crate) fn target(target: &CallTarget) -> (&'static str, Option<&str>) {
    let (kind, name) = match target {
        CallTarget::Collection => ("collection", None),
        CallTarget::File { path } => ("file", Some(path.as_str())),
        CallTarget::Client => ("client", None),
        CallTarget::Socket { peer } => ("socket", Some(peer.as_str())),
        CallTarget::Event => ("event", None),
        CallTarget::Nothing => ("nothing", None),
    };
    (kind, name.filter(|name| !name.is_empty()))
}
