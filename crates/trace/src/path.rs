//! Round trips of a path, and estimates for a capture near the receiver: round trips by the data
//! that its acknowledgments release, and the moments from which its window permitted data. Pure.

use std::collections::VecDeque;

use crate::round_trip::{LONGEST_RTT_NS, SentStamps, SmoothedRoundTrip};

/// Ends of windows that are kept. Of more, every second one is.
const MOST_LIMITS: usize = 512;

/// A round trip that exceeds the shortest one by this, and is twice as long, contains a queue.
const LEAST_QUEUE_NS: i64 = 5_000_000;

/// Means over waits for acknowledgments.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PathMeans {
    waits: i64,
    rtt_sum_ns: i128,
    flight_sum: i128,
    /// The shortest round trip of the connection until then, in nanoseconds.
    pub shortest_rtt_ns: i64,
}

impl PathMeans {
    pub(crate) fn add(&mut self, path: PathRoundTrip, flight: i64) {
        self.waits += 1;
        self.rtt_sum_ns += i128::from(path.now_ns);
        self.flight_sum += i128::from(flight);
        self.shortest_rtt_ns = path.shortest_ns;
    }

    pub(crate) fn join(&mut self, other: PathMeans) {
        self.waits += other.waits;
        self.rtt_sum_ns += other.rtt_sum_ns;
        self.flight_sum += other.flight_sum;
        self.shortest_rtt_ns = other.shortest_rtt_ns;
    }

    /// The round trip, in nanoseconds.
    pub fn rtt_ns(&self) -> i64 {
        (self.rtt_sum_ns / i128::from(self.waits.max(1))) as i64
    }

    /// Bytes in flight.
    pub fn flight(&self) -> i64 {
        (self.flight_sum / i128::from(self.waits.max(1))) as i64
    }
}

/// Round trips of the data of an end: the shorter one of the last and the smoothed one, since one
/// late acknowledgment is no queue; and the shortest one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PathRoundTrip {
    pub(crate) now_ns: i64,
    pub(crate) shortest_ns: i64,
}

impl PathRoundTrip {
    /// A round trip, if only one is known.
    pub(crate) fn always(rtt_ns: i64) -> PathRoundTrip {
        PathRoundTrip {
            now_ns: rtt_ns,
            shortest_ns: rtt_ns,
        }
    }

    pub(crate) fn has_queue(self) -> bool {
        let queue_ns = self.now_ns - self.shortest_ns;
        queue_ns >= LEAST_QUEUE_NS && queue_ns >= self.shortest_ns
    }
}

/// Ends of a receiver's window, with their moments.
#[derive(Debug, Default)]
pub(crate) struct WindowPermissions(VecDeque<(i64, i64)>);

impl WindowPermissions {
    /// Adds the end of a window, offered from this moment on.
    pub(crate) fn offered(&mut self, limit: i64, at_ns: i64) {
        if self.0.back().is_some_and(|(last, _)| *last >= limit) {
            return;
        }
        if self.0.len() >= MOST_LIMITS {
            let mut is_kept = false;
            self.0.retain(|_| {
                is_kept = !is_kept;
                is_kept
            });
        }
        self.0.push_back((limit, at_ns));
    }

    /// Moment from which bytes up to the offset may be sent.
    pub(crate) fn permitted_ns(&mut self, end: i64) -> Option<i64> {
        while self.0.front().is_some_and(|(limit, _)| *limit < end) {
            self.0.pop_front();
        }
        self.0.front().map(|(_, at_ns)| *at_ns)
    }
}

/// Round trips from acknowledgments without data to the data that they release, by time stamps (RFC
/// 7323, section 4): too long by up to one tick of the clock of the acknowledging end.
#[derive(Debug, Default)]
pub(crate) struct EchoedRoundTrip {
    stamps: SentStamps,
    smoothed: SmoothedRoundTrip,
    shortest_ns: Option<i64>,
    last_echo: Option<u32>,
}

impl EchoedRoundTrip {
    /// Adds an acknowledgment with this TSval.
    pub(crate) fn sent(&mut self, value: u32, at_ns: i64) {
        self.stamps.sent(value, at_ns);
    }

    /// Adds data that echo the TSval, this long after the data before them. After a longer pause,
    /// the pause takes the time.
    pub(crate) fn echoed(&mut self, echo: u32, at_ns: i64, since_data_ns: i64) {
        // The first data that echo a value follow from it. Later ones may have waited.
        if self.last_echo.replace(echo) == Some(echo) {
            return;
        }
        let Some(rtt_ns) = self.stamps.echoed(echo, at_ns) else {
            return;
        };
        let rtt_ns = rtt_ns.clamp(0, LONGEST_RTT_NS);
        if since_data_ns <= rtt_ns / 2 {
            self.smoothed.add(rtt_ns);
            let shortest_ns = self.shortest_ns.get_or_insert(rtt_ns);
            *shortest_ns = rtt_ns.min(*shortest_ns);
        }
    }

    pub(crate) fn path(&self) -> Option<PathRoundTrip> {
        Some(PathRoundTrip {
            now_ns: self.smoothed.latest_ns()?,
            shortest_ns: self.shortest_ns?,
        })
    }
}
