//! The one clock of a run.

#[cfg(test)]
pub(crate) mod simulated;
pub(crate) mod stamp_book;
pub(crate) mod stamps;
pub(crate) mod timekeeper;

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use record::Nanos;

use crate::clock::stamps::RealNanos;

/// Nanoseconds since the run began, from the monotonic clock. Copies agree.
///
/// The clock is read several times in every operation, so reading is a subtraction, and not the
/// arithmetic of seconds and nanoseconds of [`std::time::Instant`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct RunClock {
    origin: Nanos,
}

impl RunClock {
    pub(crate) fn start() -> Self {
        RunClock {
            origin: monotonic(),
        }
    }

    pub(crate) fn now(&self) -> Nanos {
        monotonic() - self.origin
    }

    /// A moment of the run on the [monotonic] clock.
    pub(crate) fn monotonic(&self, moment: Nanos) -> Nanos {
        self.origin.saturating_add(moment)
    }

    /// The moment of the run at which the [monotonic] clock has this value.
    pub(crate) fn moment(&self, monotonic: Nanos) -> Nanos {
        monotonic.saturating_sub(self.origin)
    }
}

/// The monotonic clock in nanoseconds, which never goes back and is never negative.
pub(crate) fn monotonic() -> Nanos {
    #[cfg(test)]
    if let Some(now) = simulated::read() {
        return now;
    }
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the kernel writes one `timespec` to `time`; this clock exists on every system, so
    // that the call cannot fail.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec as Nanos * 1_000_000_000 + time.tv_nsec as Nanos
}

/// The time of day, which can be set, in nanoseconds since 1970.
pub(crate) fn real() -> RealNanos {
    #[cfg(test)]
    if let Some(day) = simulated::read_day() {
        return day;
    }
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, nanos).cast_signed()
}

/// True if time on this thread is that of a test.
pub(crate) fn is_simulated() -> bool {
    #[cfg(test)]
    return simulated::now().is_some();
    #[cfg(not(test))]
    false
}

/// A duration in the unit of the record; 584 years are the limit.
pub(crate) fn nanos(duration: Duration) -> Nanos {
    Nanos::try_from(duration.as_nanos()).unwrap_or(Nanos::MAX)
}

/// The time of day as RFC 3339 in UTC, to the millisecond.
pub fn time_of_day() -> String {
    let now = chrono::DateTime::from_timestamp_nanos(real());
    now.to_rfc3339_opts(chrono::SecondsFormat::Millis, true)
}

/// Converts the kernel's stamps, which are times of day, to moments of a run.
///
/// Monotonic time and time of day run at the same rate, adjustments included; they diverge only
/// when the time of day is set. So one difference holds until then, and a stamp that cannot be true
/// (before what it follows, or in the future) is the reason to check for such a step.
#[derive(Debug)]
pub(crate) struct WallClock {
    clock: RunClock,
    /// Time of day at the beginning of the run, by the current setting.
    origin: AtomicI64,
    /// When a step of the time of day was last noticed; 0 when never.
    stepped: AtomicU64,
}

/// Largest deviation of a correct stamp from a reading in user space: the error of
/// [`WallClock::measure`], with room.
pub(crate) const TOLERANCE: Nanos = 1_000;
/// Smaller differences are noise of measuring twice, not a step of the clock.
const SMALLEST_STEP: i64 = 5_000;

impl WallClock {
    pub(crate) fn new(clock: RunClock) -> Self {
        WallClock {
            clock,
            origin: AtomicI64::new(WallClock::measure(clock)),
            stepped: AtomicU64::new(0),
        }
    }

    /// The moment of a stamp; `None` when it lies before the run.
    pub(crate) fn moment(&self, at: RealNanos) -> Option<Nanos> {
        let origin = self.origin.load(Ordering::Acquire);
        Nanos::try_from(at.checked_sub(origin)?).ok()
    }

    /// Checks if the time of day was set, and returns by how much it went forward.
    pub(crate) fn look_for_step(&self) -> Option<i64> {
        self.moved_to(WallClock::measure(self.clock))
    }

    pub(crate) fn last_step(&self) -> Nanos {
        self.stepped.load(Ordering::Acquire)
    }

    fn moved_to(&self, origin: i64) -> Option<i64> {
        let before = self.origin.load(Ordering::Relaxed);
        let step = origin - before;
        if step.abs() < SMALLEST_STEP {
            return None;
        }
        // First, so that the new origin is not used for earlier operations: a thread that sees the
        // new origin sees this as well.
        self.stepped.fetch_max(self.clock.now(), Ordering::AcqRel);
        // Of several threads that notice, one reports it.
        self.origin
            .compare_exchange(before, origin, Ordering::Release, Ordering::Relaxed)
            .ok()
            .map(|_| step)
    }

    /// The time of day at the start of `clock`: the narrowest of several readings of one clock
    /// between two of the other. An interruption in between can only widen one.
    fn measure(clock: RunClock) -> i64 {
        let reading = || {
            let before = clock.now();
            let day = real();
            let width = clock.now() - before;
            let origin = day - (before + width / 2).cast_signed();
            (width, origin)
        };
        (0..16).map(|_| reading()).min().unwrap_or_default().1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_of_day_becomes_the_moment_of_the_run() {
        let clock = RunClock::start();
        let wall = WallClock::new(clock);
        let before = clock.now();
        let day = real();
        let after = clock.now();
        let moment = wall.moment(day).unwrap();
        assert!(before <= moment + TOLERANCE && moment <= after + TOLERANCE);
        assert_eq!(wall.moment(0), None, "1970 is not in this run");
    }

    #[test]
    fn a_step_is_reported_once_and_noise_never() {
        let wall = WallClock::new(RunClock::start());
        assert_eq!(wall.look_for_step(), None, "the clock was not set");
        let origin = wall.origin.load(Ordering::Relaxed);
        let stamp = origin + 1_000_000;
        assert_eq!(wall.moment(stamp), Some(1_000_000));
        let steps = [3_600_000_000_000, -2_000_000];
        for step in steps {
            let origin = wall.origin.load(Ordering::Relaxed);
            assert_eq!(wall.moved_to(origin + step), Some(step));
            assert_eq!(wall.moved_to(origin + step), None, "reported already");
        }
        let all: i64 = steps.iter().sum();
        assert_eq!(wall.moved_to(origin + all + 900), None);
        // Stamps taken after the steps lead to the moments at which they were taken.
        assert_eq!(wall.moment(stamp + all), Some(1_000_000));
    }
}
