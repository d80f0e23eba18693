//! The time stamps option (RFC 7323).

use smoltcp::wire::TcpTimestampRepr;

/// A tick, in nanoseconds.
const TICK_NS: u64 = 1_000_000;

/// Longest plausible round trip, in ticks: four minutes.
const LONGEST_TICKS: u32 = 240_000;

#[derive(Debug, Clone, Copy)]
pub(super) struct TimeStamps {
    /// The value that the next segment echoes.
    recent: u32,
    /// The value at the time 0.
    origin: u32,
}

impl TimeStamps {
    pub(super) fn new(recent: u32, origin: u32) -> TimeStamps {
        TimeStamps { recent, origin }
    }

    /// True if a segment with this value is at least as new as the echoed one (PAWS, section 5.3).
    pub(super) fn accepts(&self, value: u32) -> bool {
        value.wrapping_sub(self.recent).cast_signed() >= 0
    }

    /// Notes an acceptable segment with this value, which begins at the expected number or before
    /// it.
    pub(super) fn received(&mut self, value: u32) {
        self.recent = value;
    }

    pub(super) fn option(&self, now_ns: u64) -> TcpTimestampRepr {
        TcpTimestampRepr::new(self.value(now_ns), self.recent)
    }

    /// The round trip of the segment whose value is echoed.
    pub(super) fn round_trip(&self, now_ns: u64, echo: u32) -> Option<u64> {
        let ticks = self.value(now_ns).wrapping_sub(echo);
        (ticks <= LONGEST_TICKS).then(|| u64::from(ticks).max(1) * TICK_NS)
    }

    fn value(&self, now_ns: u64) -> u32 {
        self.origin.wrapping_add((now_ns / TICK_NS) as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_segments_are_refused_and_echoes_give_round_trips() {
        let mut stamps = TimeStamps::new(u32::MAX, u32::MAX - 1);
        assert!(stamps.accepts(3), "it has wrapped");
        stamps.received(3);
        assert!(!stamps.accepts(2));
        let option = stamps.option(5 * TICK_NS);
        assert_eq!((option.tsval, option.tsecr), (3, 3));
        let round_trip = stamps.round_trip(25 * TICK_NS, option.tsval);
        assert_eq!(round_trip, Some(20 * TICK_NS));
        assert_eq!(stamps.round_trip(25 * TICK_NS, 24), None, "of the future");
    }
}
