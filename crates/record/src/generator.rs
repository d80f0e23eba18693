//! What the generator saw of itself while it measured: the material of self-distrust.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Nanos, TestId};

/// How the generator fared during the measured part of one test.
///
/// Times of threads are sums over all worker threads.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Generator {
    /// Which test.
    pub test: TestId,
    /// Worker threads.
    pub workers: u32,
    /// Length of the measured part, nanoseconds.
    pub wall: Nanos,
    /// Processor time of the workers, nanoseconds.
    pub cpu: Nanos,
    /// Time in which workers could have run and had no processor; `None` where the system does
    /// not tell (`/proc/thread-self/schedstat`).
    pub queued: Option<Nanos>,
    /// Time in which a worker did not come round to its users although something was due: the
    /// sum of the delays of a regular heartbeat beyond what is normal.
    pub stalled: Nanos,
    /// How many such delays there were.
    pub stalls: u64,
    /// The longest of these delays.
    pub longest_stall: Nanos,
    /// Time in which users had no measured operation under way, because the server had not answered them
    /// before, or because the suite has a pause or a request that is not measured: the sum over all
    /// users.
    pub rested: Nanos,
    /// Time in which a run beside others waited for its turn, between two batches of a test.
    pub waited: Nanos,
    /// How late operations began by the generator's own fault; only in an open loop.
    pub lateness: Option<Lateness>,
    /// Resources of this machine that ran out.
    pub exhausted: Exhausted,
}

impl Generator {
    /// Nanoseconds from one heartbeat of a worker thread to the next.
    pub const BEAT: Nanos = 10_000_000;

    /// A heartbeat that is later than this many nanoseconds is a stall; less is an ordinary moment
    /// without a processor.
    pub const HELD_UP: Nanos = 10_000_000;
}

/// *started* minus the later of *planned* and the moment when a connection was free: what the
/// server cannot be blamed for. Over all operations of a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Lateness {
    /// Operations.
    pub n: u64,
    /// Median, nanoseconds.
    pub p50: Nanos,
    /// 99th percentile, nanoseconds.
    pub p99: Nanos,
    /// Maximum, nanoseconds.
    pub max: Nanos,
}

/// How often a resource of this machine was refused.
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
    /// Something ran out.
    pub fn any(&self) -> bool {
        self.ports > 0 || self.files > 0 || self.buffers > 0
    }
}
