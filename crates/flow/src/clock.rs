//! The two clocks of the system, in nanoseconds.

use rustix::time::{ClockId, clock_gettime};

fn nanos(clock: ClockId) -> i64 {
    let now = clock_gettime(clock);
    now.tv_sec * 1_000_000_000 + now.tv_nsec
}

/// Never set, and the same for all threads: for durations and deadlines.
pub(crate) fn monotonic_ns() -> u64 {
    nanos(ClockId::Monotonic).unsigned_abs()
}

/// Nanoseconds since 1970, as the kernel stamps packets.
pub(crate) fn wall_ns() -> u64 {
    nanos(ClockId::Realtime).unsigned_abs()
}
