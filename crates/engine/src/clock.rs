//! The one clock of a run.

use std::time::{Duration, Instant, SystemTime};

use record::Nanos;

/// Nanoseconds since the run began, from the monotonic clock. Copies agree.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RunClock {
    origin: Instant,
}

impl RunClock {
    /// A clock that stands at 0 now.
    pub(crate) fn start() -> Self {
        RunClock {
            origin: Instant::now(),
        }
    }

    /// Time since the start.
    pub(crate) fn now(&self) -> Nanos {
        nanos(self.origin.elapsed())
    }

    /// The moment `after` from now, for timers.
    pub(crate) fn deadline(after: Duration) -> tokio::time::Instant {
        tokio::time::Instant::now() + after
    }
}

/// A duration in the unit of the record; 584 years are the limit.
pub(crate) fn nanos(duration: Duration) -> Nanos {
    Nanos::try_from(duration.as_nanos()).unwrap_or(Nanos::MAX)
}

/// The time of day as RFC 3339 in UTC, to the millisecond.
pub fn time_of_day() -> String {
    let now: chrono::DateTime<chrono::Utc> = SystemTime::now().into();
    now.to_rfc3339_opts(chrono::SecondsFormat::Millis, true)
}
