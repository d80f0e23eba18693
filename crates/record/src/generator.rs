//! Measurements of the load generator itself, on which its warnings are based.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Nanos, TestId};

/// Measurements of the load generator during the measured part of one test.
///
/// Times of threads are sums over all worker threads.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Generator {
    /// The test.
    pub test: TestId,
    /// Worker threads.
    pub workers: u32,
    /// Length of the measured part, nanoseconds.
    pub wall: Nanos,
    /// Processor time of the workers, nanoseconds.
    pub cpu: Nanos,
    /// Time in which workers could have run and had no processor; `None` if the system does not
    /// report it (`/proc/thread-self/schedstat`).
    pub queued: Option<Nanos>,
    /// Time in which a worker did not serve its users although something was due: the sum of the
    /// delays of a regular heartbeat beyond the normal.
    pub stalled: Nanos,
    /// Number of such delays.
    pub stalls: u64,
    /// The longest of these delays.
    pub longest_stall: Nanos,
    /// Time in which users had no measured operation in flight, because the server responded late,
    /// or because the suite has a pause or a request that is not measured: the sum over all users.
    pub rested: Nanos,
    /// Time in which a run beside others waited for its turn, between two batches of a test.
    pub waited: Nanos,
    /// Delay of operations caused by the load generator; only in an open loop.
    pub lateness: Option<Lateness>,
    /// Resources of this machine that were exhausted.
    pub exhausted: Exhausted,
}

impl Generator {
    /// Nanoseconds from one heartbeat of a worker thread to the next.
    pub const BEAT: Nanos = 10_000_000;

    /// Delay of a heartbeat from which it is a stall; shorter delays are normal scheduling.
    pub const HELD_UP: Nanos = 10_000_000;
}

/// Delay of operations that the server did not cause: *started* minus the later of *planned* and
/// the moment when a connection was free. Over all operations of a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Lateness {
    /// Number of operations.
    pub n: u64,
    /// Median, nanoseconds.
    pub p50: Nanos,
    /// 99th percentile, nanoseconds.
    pub p99: Nanos,
    /// Maximum, nanoseconds.
    pub max: Nanos,
}

/// Number of times that a resource of this machine was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Exhausted {
    /// Local ports.
    pub ports: u64,
    /// Open files.
    pub files: u64,
    /// Memory for sockets.
    pub buffers: u64,
}

impl Exhausted {
    /// True if a resource was exhausted.
    pub fn any(&self) -> bool {
        self.ports > 0 || self.files > 0 || self.buffers > 0
    }
}
