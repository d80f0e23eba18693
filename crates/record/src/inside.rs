//! Figures from inside the server while it served the operations of a row: counters of its
//! processes, and, in a separate pass that is not timed, its system calls.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{MeasureId, Nanos};

/// The watched processes of a server on this machine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InsideRecord {
    /// Figures that could not be read, and the remedies, each in a sentence.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
    /// Processes at the start of the run, by number.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub processes: Vec<ServerProcessRecord>,
    /// Reads and writes, and their bytes, could not be counted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub without_io: bool,
    /// Waits of threads could not be counted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub without_threads: bool,
}

/// A process of a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ServerProcessRecord {
    /// Process number.
    pub pid: u32,
    /// Name of its program, of which the kernel keeps 15 characters.
    pub name: String,
    /// Its threads.
    pub threads: u64,
}

/// Counts of the processes of a server while it served some operations of one row, and none of
/// another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InsideBatch {
    /// The row.
    pub measure: MeasureId,
    /// Number of operations.
    pub operations: u64,
    /// Duration.
    pub lasted: Nanos,
    /// Counts.
    #[serde(flatten)]
    pub counted: InsideCounts,
}

/// Counts of all processes of a server together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InsideCounts {
    /// Processor time of the threads, by the clocks of the processes.
    pub processor: Nanos,
    /// The part of it in the kernel, in ticks of the kernel's clock (a hundredth of a second);
    /// sampled by the kernel.
    pub system_ticks: u64,
    /// The rest of it in such ticks.
    pub user_ticks: u64,
    /// Time in which threads were ready to run, and had no processor.
    pub queued: Nanos,
    /// Times that a thread gave up its processor to wait.
    pub waits: u64,
    /// Times that a thread lost its processor to another.
    pub preemptions: u64,
    /// System calls that read.
    pub reads: u64,
    /// System calls that write.
    pub writes: u64,
    /// Bytes read by them.
    pub read_bytes: u64,
    /// Bytes written by them.
    pub written_bytes: u64,
    /// Bytes read from a disk.
    pub disk_read_bytes: u64,
    /// Bytes to be written to a disk.
    pub disk_written_bytes: u64,
    /// Instructions, if the processor counts them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub instructions: u64,
    /// Processor cycles in which its threads were at work.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cycles: u64,
    /// Accesses to memory that missed all caches.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cache_misses: u64,
    /// Growth of the resident memory in bytes; negative if it shrank.
    pub memory_growth: i64,
    /// Threads at the end.
    pub threads: u64,
}

/// System calls of a server during operations of one row, in a pass in which it was traced.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TracedRow {
    /// The row.
    pub measure: MeasureId,
    /// Number of traced operations.
    pub operations: u64,
    /// Total time of operations that were ok, from their beginning to the end of their response.
    pub took: Nanos,
    /// The median of these times; 0 without any.
    pub median: Nanos,
    /// Number of operations that were ok.
    pub ok: u64,
    /// By call and target.
    pub calls: Vec<TracedCall>,
    /// Calls whose file or peer is `*`, because there were too many kinds to distinguish.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub other_calls: u64,
}

/// Calls of one kind on targets of one kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TracedCall {
    /// Name of the system call.
    pub call: String,
    /// Its target.
    pub target: CallTarget,
    /// The calls wait for a lock of threads or of a file; other calls of the same name may wait for
    /// anything.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub for_lock: bool,
    /// The calls write, and wait until the data is on the disk (O_DSYNC, O_SYNC, RWF_DSYNC,
    /// RWF_SYNC).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub synchronous: bool,
    /// Number of calls.
    pub count: u64,
    /// Number of failed calls. "Nothing yet" and "not in time" are no failures (EAGAIN, EALREADY,
    /// EINPROGRESS, EINTR, ETIMEDOUT).
    #[serde(default, skip_serializing_if = "is_zero")]
    pub failed: u64,
    /// Bytes that were read or written.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub bytes: u64,
    /// Time in calls that began and ended within an operation, from its first byte to its last.
    /// Tracing adds some microseconds to each of them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub lasted: Nanos,
}

/// An interface by which a program passes calls to the kernel that are no system calls, so neither
/// tracing nor the counters of a process include them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AsyncInterface {
    /// io_uring(7).
    IoUring,
    /// io_submit(2).
    LinuxAio,
}

/// Target of a system call.
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum CallTarget {
    /// A path in the collection that the run made.
    Collection,
    /// Another file or directory.
    File {
        /// Its path; relative to the storage of the server if it is below or beside it, and with
        /// `*` for numbers and random parts.
        path: String,
    },
    /// A TCP connection that the server accepted, or the socket that accepts them.
    Client,
    /// A connection or a socket of another kind, such as one with a database.
    Socket {
        /// Its peer, or the path of a local socket; empty if unknown.
        peer: String,
    },
    /// A pipe, an event, a timer, a watch of other files, or waiting for any of several files.
    Event,
    /// No file and no connection: memory, locks, time.
    Nothing,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl AsyncInterface {
    /// Name of the kind.
    pub fn name(self) -> &'static str {
        match self {
            AsyncInterface::IoUring => "io_uring",
            AsyncInterface::LinuxAio => "Linux AIO",
        }
    }
}

impl InsideCounts {
    /// Adds later counts.
    pub fn add(&mut self, later: &InsideCounts) {
        let counts = &mut *self;
        counts.processor += later.processor;
        counts.system_ticks += later.system_ticks;
        counts.user_ticks += later.user_ticks;
        counts.queued += later.queued;
        counts.waits += later.waits;
        counts.preemptions += later.preemptions;
        counts.reads += later.reads;
        counts.writes += later.writes;
        counts.read_bytes += later.read_bytes;
        counts.written_bytes += later.written_bytes;
        counts.disk_read_bytes += later.disk_read_bytes;
        counts.disk_written_bytes += later.disk_written_bytes;
        counts.instructions += later.instructions;
        counts.cycles += later.cycles;
        counts.cache_misses += later.cache_misses;
        counts.memory_growth += later.memory_growth;
        if later.threads > 0 {
            counts.threads = later.threads;
        }
    }
}

impl InsideBatch {
    /// Adds later counts of the same row.
    pub fn add(&mut self, later: &InsideBatch) {
        self.operations += later.operations;
        self.lasted += later.lasted;
        self.counted.add(&later.counted);
    }
}
