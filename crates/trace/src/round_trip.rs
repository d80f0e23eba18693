//! Round trips of a connection, as they passed the point of capture. Pure.
//!
//! A sample runs from a segment to the acknowledgment that covers it, both at the point of capture:
//! at the sender it is the whole round trip, elsewhere the part between that point and the
//! receiver, and it contains the receiver's delay of acknowledgments. Bytes that were sent twice
//! give none (Karn's rule: P. Karn, C. Partridge: Improving Round-Trip Time Estimates in Reliable
//! Transport Protocols, SIGCOMM 1987; RFC 6298, section 3).

use std::collections::VecDeque;

/// Round trips are clamped to this length, so that no sum of some of them overflows: nine years.
pub(crate) const LONGEST_RTT_NS: i64 = 1 << 58;

/// Time stamps (TSval) whose first segment is kept, for each direction.
const MOST_STAMPS: usize = 1024;

/// A round trip, measured by an acknowledgment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RttSample {
    /// Moment of the acknowledgment, in nanoseconds.
    pub at_ns: i64,
    /// The round trip, in nanoseconds.
    pub rtt_ns: i64,
    /// Number of the window of data in which the segment was sent: a window ends with the
    /// acknowledgment of the data that were in flight when it began.
    pub window: u32,
}

/// Round trips of one direction, in bounded memory: the first samples in their order, and a random
/// selection of all of them for percentiles.
#[derive(Debug, Clone, PartialEq)]
pub struct RoundTripTimes {
    samples: Vec<RttSample>,
    limit: usize,
    selected: Vec<i64>,
    count: u64,
    sum_ns: i128,
    smallest_ns: i64,
    largest_ns: i64,
    random: u64,
}

impl RoundTripTimes {
    pub(crate) fn new(limit: usize) -> RoundTripTimes {
        RoundTripTimes {
            samples: Vec::new(),
            limit,
            selected: Vec::new(),
            count: 0,
            sum_ns: 0,
            smallest_ns: i64::MAX,
            largest_ns: 0,
            random: 0x9e37_79b9_7f4a_7c15,
        }
    }

    pub(crate) fn add(&mut self, sample: RttSample) {
        if self.samples.len() < self.limit {
            self.samples.push(sample);
        }
        self.count += 1;
        self.sum_ns += i128::from(sample.rtt_ns);
        self.smallest_ns = self.smallest_ns.min(sample.rtt_ns);
        self.largest_ns = self.largest_ns.max(sample.rtt_ns);
        // Algorithm R (J. Vitter: Random Sampling with a Reservoir, 1985) with a fixed seed, so
        // that the same capture has the same percentiles.
        if self.selected.len() < self.limit {
            self.selected.push(sample.rtt_ns);
            return;
        }
        let index = self.next_random() % self.count;
        if let Some(selected) = self.selected.get_mut(index as usize) {
            *selected = sample.rtt_ns;
        }
    }

    /// Xorshift (G. Marsaglia, 2003).
    fn next_random(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random
    }

    /// The first samples, in the order of their acknowledgments; all, if [`count`](Self::count) is
    /// as many.
    pub fn samples(&self) -> &[RttSample] {
        &self.samples
    }

    /// Number of samples.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The smallest, in nanoseconds.
    pub fn smallest_ns(&self) -> Option<i64> {
        (self.count > 0).then_some(self.smallest_ns)
    }

    /// The largest, in nanoseconds.
    pub fn largest_ns(&self) -> Option<i64> {
        (self.count > 0).then_some(self.largest_ns)
    }

    /// The mean, in nanoseconds.
    pub fn mean_ns(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum_ns as f64 / self.count as f64)
    }

    /// The smallest sample that at least this share (0 to 1) of the samples do not exceed, in
    /// nanoseconds. Exact if all samples were kept, otherwise of a random selection.
    pub fn percentile_ns(&self, share: f64) -> Option<i64> {
        let mut sorted = self.selected.clone();
        sorted.sort_unstable();
        let rank = (share.clamp(0.0, 1.0) * sorted.len() as f64).ceil() as usize;
        sorted.get(rank.saturating_sub(1)).copied()
    }
}

/// Smoothed round trip and its variation (RFC 6298, section 2), for estimating how long the sender
/// can have waited.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SmoothedRoundTrip {
    srtt_ns: Option<i64>,
    rttvar_ns: i64,
    last_ns: i64,
}

impl SmoothedRoundTrip {
    pub(crate) fn add(&mut self, rtt_ns: i64) {
        self.last_ns = rtt_ns;
        match &mut self.srtt_ns {
            None => {
                self.srtt_ns = Some(rtt_ns);
                self.rttvar_ns = rtt_ns / 2;
            }
            Some(srtt_ns) => {
                let difference = (*srtt_ns - rtt_ns).abs();
                self.rttvar_ns += (difference - self.rttvar_ns) / 4;
                *srtt_ns += (rtt_ns - *srtt_ns) / 8;
            }
        }
    }

    pub(crate) fn srtt_ns(&self) -> Option<i64> {
        self.srtt_ns
    }

    /// The last round trip or the smoothed one, whichever is shorter.
    pub(crate) fn latest_ns(&self) -> Option<i64> {
        Some(self.srtt_ns?.min(self.last_ns))
    }
}

/// Moment at which each TSval of a direction passed first (RFC 7323, section 4).
#[derive(Debug, Clone, Default)]
pub(crate) struct SentStamps(VecDeque<(u32, i64)>);

impl SentStamps {
    pub(crate) fn sent(&mut self, value: u32, at_ns: i64) {
        let newest = self.0.back().map(|(value, _)| *value);
        if newest.is_some_and(|newest| !crate::sequence::is_behind(value, newest)) {
            return;
        }
        if self.0.len() >= MOST_STAMPS {
            self.0.pop_front();
        }
        self.0.push_back((value, at_ns));
    }

    /// The round trip of an acknowledgment that echoes the value, measured from the first segment
    /// with it: too long by up to one tick of its sender's clock.
    pub(crate) fn echoed(&mut self, echo: u32, at_ns: i64) -> Option<i64> {
        while let Some((value, _)) = self.0.front() {
            if !crate::sequence::is_behind(echo, *value) {
                break;
            }
            self.0.pop_front();
        }
        let (value, sent_at_ns) = self.0.front()?;
        (*value == echo).then(|| at_ns - sent_at_ns)
    }
}
