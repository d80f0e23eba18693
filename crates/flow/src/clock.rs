//! The clocks of the system, in nanoseconds.
//!
//! The clock of the day can be set while traffic flows, by a user or by NTP: delays computed from
//! it would be wrong by that step from then on, and seconds would be missing or occur twice. Time
//! stamps therefore start at the clock of the day and advance with the monotonic clock.

use std::sync::OnceLock;

use rustix::time::{ClockId, clock_gettime};

/// A kernel's stamp that is older than this was made before the clock of the day was set.
const OLDEST_STAMP_NS: u64 = 10_000_000_000;
/// The two clocks are read to the nanosecond, and advance alike between steps.
const SLACK_NS: i64 = 1_000;
/// Readings of both clocks at the beginning, of which the quickest is used.
const FIRST_READINGS: usize = 8;

fn nanos(clock: ClockId) -> i64 {
    let now = clock_gettime(clock);
    now.tv_sec * 1_000_000_000 + now.tv_nsec
}

/// Never set, and the same for all threads: for durations and deadlines.
pub(crate) fn monotonic_ns() -> u64 {
    nanos(ClockId::Monotonic).unsigned_abs()
}

/// Nanoseconds since 1970 as of the first call in this process, and never set since: for time
/// stamps.
pub(crate) fn stamp_ns() -> u64 {
    let offset_ns = first_offset_ns();
    nanos(ClockId::Monotonic)
        .saturating_add(offset_ns)
        .unsigned_abs()
}

/// Initial lead of the clock of the day over the monotonic one.
fn first_offset_ns() -> i64 {
    static OFFSET: OnceLock<i64> = OnceLock::new();
    *OFFSET.get_or_init(|| {
        let readings = (0..FIRST_READINGS).map(|_| ClockReading::now());
        let quickest = readings.min_by_key(|reading| reading.after - reading.before);
        quickest.map_or(0, ClockReading::middle)
    })
}

/// The clock of the day, and the monotonic one before and after it.
#[derive(Debug, Clone, Copy)]
struct ClockReading {
    before: i64,
    day: i64,
    after: i64,
}

impl ClockReading {
    fn now() -> ClockReading {
        ClockReading {
            before: nanos(ClockId::Monotonic),
            day: nanos(ClockId::Realtime),
            after: nanos(ClockId::Monotonic),
        }
    }

    fn middle(self) -> i64 {
        self.day - i64::midpoint(self.before, self.after)
    }
}

/// Converts stamps of the kernel, which are by the clock of the day, to those of [`stamp_ns`].
#[derive(Debug)]
pub(crate) struct DatagramStamps {
    /// Lead of the clock of the day over the monotonic one.
    offset_ns: i64,
    first_offset_ns: i64,
}

impl DatagramStamps {
    pub(crate) fn new() -> DatagramStamps {
        let offset_ns = first_offset_ns();
        DatagramStamps {
            offset_ns,
            first_offset_ns: offset_ns,
        }
    }

    /// Notices if the clock of the day was set, and returns [`stamp_ns`].
    pub(crate) fn look(&mut self) -> u64 {
        self.note(ClockReading::now())
    }

    fn note(&mut self, reading: ClockReading) -> u64 {
        // The thread can be interrupted between the readings: an offset that may still hold is
        // kept.
        let least = reading.day - reading.after - SLACK_NS;
        let most = reading.day - reading.before + SLACK_NS;
        if !(least..=most).contains(&self.offset_ns) {
            self.offset_ns = reading.middle();
        }
        let now = reading.after.saturating_add(self.first_offset_ns);
        now.unsigned_abs()
    }

    /// A stamp of the kernel, made before the last [`look`](Self::look), which returned `now_ns`.
    pub(crate) fn convert(&self, day_ns: u64, now_ns: u64) -> u64 {
        let set_by_ns = self.first_offset_ns.saturating_sub(self.offset_ns);
        let converted_ns = day_ns.saturating_add_signed(set_by_ns);
        let is_possible = converted_ns <= now_ns && now_ns - converted_ns <= OLDEST_STAMP_NS;
        if is_possible { converted_ns } else { now_ns }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY_NS: i64 = 1_700_000_000_000_000_000;

    #[test]
    fn a_clock_that_is_set_changes_no_stamp() {
        let mut stamps = DatagramStamps {
            offset_ns: DAY_NS,
            first_offset_ns: DAY_NS,
        };
        let mut now = 5_000_000_000_i64;
        // Steps of the clock of the day before each reading: none, an hour ahead, a day back.
        for step in [0, 3_600_000_000_000, -86_400_000_000_000, 0] {
            now += 1_000_000_000;
            let offset = stamps.offset_ns + step;
            let reading = |lasts: i64| ClockReading {
                before: now,
                day: now + lasts / 2 + offset,
                after: now + lasts,
            };
            let seen = stamps.note(reading(40));
            assert_eq!(seen.cast_signed(), now + 40 + DAY_NS, "{step}");
            // A datagram that arrived 1 ms before.
            let stamp = (now - 1_000_000 + offset).unsigned_abs();
            let found = stamps.convert(stamp, seen).cast_signed();
            assert_eq!(found, now - 1_000_000 + DAY_NS, "{step}");
            // The thread did not run for 5 ms between the readings: the offset is as exact as
            // before.
            let offset_ns = stamps.offset_ns;
            stamps.note(reading(5_000_000));
            assert_eq!(stamps.offset_ns, offset_ns);
        }
    }

    #[test]
    fn a_stamp_from_before_the_clock_was_set_is_replaced() {
        let stamps = DatagramStamps {
            offset_ns: 2 * DAY_NS,
            first_offset_ns: DAY_NS,
        };
        let now = (DAY_NS + 7).unsigned_abs();
        for stamp in [DAY_NS, 3 * DAY_NS, 0, i64::MAX] {
            assert_eq!(stamps.convert(stamp.unsigned_abs(), now), now);
        }
    }

    #[test]
    fn stamps_are_of_the_day_and_those_of_the_kernel_agree() {
        let mut stamps = DatagramStamps::new();
        let day = nanos(ClockId::Realtime).unsigned_abs();
        let now = stamps.look();
        let converted = stamps.convert(day, now);
        assert!(now - converted < 1_000_000_000, "{now} {converted}");
        assert!(stamp_ns() >= now && day.abs_diff(now) < 3_600_000_000_000);
    }
}
