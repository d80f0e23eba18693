//! The time of a capture, which never goes back. Pure.
//!
//! Time stamps go back where a clock was set, where several cards or queues stamp packets, and
//! where captures were concatenated. From such a point, times continue at the latest one. The time
//! that passed until then is unknown, and no figure of a request or a round trip contains it.

/// Time stamps of different connections are out of order by up to this; beyond it, the clock was
/// set back.
pub(crate) const MOST_DISORDER_NS: i64 = 1_000_000_000;

/// Time stamps are clamped to these, so that no difference of two overflows: 1896 to 2116.
const EARLIEST_NS: i64 = -(1 << 61);
const LATEST_NS: i64 = 1 << 62;

/// Reversals that are listed.
const MOST_NAMED: usize = 5;

/// A packet whose time stamp is before that of another one that it follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockReversal {
    /// Its number.
    pub packet: u64,
    /// The number of the other.
    pub follows: u64,
    /// Difference of the time stamps, in nanoseconds.
    pub back_ns: i64,
}

/// Reversals of the time stamps of a capture.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClockReversals {
    /// Number of reversals.
    pub count: u64,
    /// The first of them.
    pub first: Vec<ClockReversal>,
}

impl ClockReversals {
    pub(crate) fn add(&mut self, reversal: ClockReversal) {
        self.count += 1;
        if self.first.len() < MOST_NAMED {
            self.first.push(reversal);
        }
    }
}

/// Converts time stamps to moments.
#[derive(Debug, Default)]
pub(crate) struct CaptureClock {
    /// Correction of time stamps of a clock that was set back, in nanoseconds.
    shift_ns: i64,
    /// Correction of the last time stamp.
    pub(crate) added_ns: i64,
    /// The latest moment, and its packet.
    latest: Option<(i64, u64)>,
    pub(crate) reversals: ClockReversals,
}

impl CaptureClock {
    /// The moment of a packet: at most [`MOST_DISORDER_NS`] before the latest one.
    pub(crate) fn moment(&mut self, packet: u64, stamp_ns: i64) -> i64 {
        let stamp_ns = stamp_ns.clamp(EARLIEST_NS, LATEST_NS);
        let (latest_ns, latest) = *self.latest.get_or_insert((stamp_ns, packet));
        // The current shift first: a clock can be set right again, and packets of two clocks can
        // alternate.
        let shifted_ns = stamp_ns.saturating_add(self.shift_ns).min(LATEST_NS);
        let is_possible = |at_ns: &i64| latest_ns - at_ns <= MOST_DISORDER_NS;
        let possible = [stamp_ns, shifted_ns].into_iter().find(is_possible);
        let at_ns = possible.unwrap_or_else(|| {
            self.reversals.add(ClockReversal {
                packet,
                follows: latest,
                back_ns: latest_ns - self.added_ns - stamp_ns,
            });
            latest_ns + 1
        });
        self.added_ns = at_ns - stamp_ns;
        if self.added_ns != 0 {
            self.shift_ns = self.added_ns;
        }
        if at_ns >= latest_ns {
            self.latest = Some((at_ns, packet));
        }
        at_ns
    }
}
