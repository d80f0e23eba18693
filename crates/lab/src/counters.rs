//! Counters of a link.

use std::time::Duration;

/// Counters of one direction of a link since it began.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LinkCounters {
    /// Frames that arrived at the link.
    pub frames: u64,
    /// Their bytes, from the Ethernet header on.
    pub bytes: u64,
    /// Frames dropped because the queue was full.
    pub dropped_by_queue: u64,
    /// Frames that a managed queue dropped because they had waited too long (CoDel).
    pub dropped_by_delay: u64,
    /// Frames dropped because too many were on the wire (the limit is [`crate::LinkModel::ROOM`]).
    pub dropped_by_memory: u64,
    /// Frames lost at random.
    pub lost: u64,
    /// Frames that were passed on twice.
    pub duplicated: u64,
    /// Frames passed on later than they arrived.
    pub delayed: u64,
    /// Frames that were overtaken by another.
    pub reordered: u64,
    /// Frames passed on to the other end, copies included.
    pub delivered: u64,
    /// Their bytes.
    pub delivered_bytes: u64,
    /// Frames that the other end's device refused.
    pub refused: u64,
    /// Most frames that waited in the queue at once.
    pub peak_queue_frames: usize,
    /// Most bytes that waited in the queue at once.
    pub peak_queue_bytes: usize,
}

impl LinkCounters {
    /// Adds a frame that was passed on, or that the device refused.
    pub(crate) fn count_delivery(&mut self, length: usize, is_accepted: bool) {
        if is_accepted {
            self.delivered += 1;
            self.delivered_bytes += length as u64;
        } else {
            self.refused += 1;
        }
    }
}

/// Buckets of [`DeliveryLateness`]: one for each microsecond, and the last for all that is longer.
const BUCKETS: usize = 1024;

/// Delay of departures after the planned moment, to a microsecond.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveryLateness {
    buckets: Box<[u64; BUCKETS]>,
    count: u64,
    longest: Duration,
}

impl DeliveryLateness {
    /// Number of frames.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The longest.
    pub fn longest(&self) -> Duration {
        self.longest
    }

    /// Quantile of a share (0 to 1) of the frames, rounded up to a microsecond; the longest, where
    /// that is more than a millisecond. Zero without frames.
    pub fn quantile(&self, share: f64) -> Duration {
        let mut seen = 0;
        for (micros, count) in (1..).zip(&self.buckets[..BUCKETS - 1]) {
            seen += count;
            if seen > 0 && seen as f64 >= share * self.count as f64 {
                return Duration::from_micros(micros).min(self.longest);
            }
        }
        self.longest
    }

    /// Copies another one without allocating.
    pub(crate) fn copy_from(&mut self, other: &DeliveryLateness) {
        *self.buckets = *other.buckets;
        (self.count, self.longest) = (other.count, other.longest);
    }

    pub(crate) fn add(&mut self, nanos: u64) {
        let bucket = usize::try_from(nanos / 1_000).unwrap_or(BUCKETS);
        self.buckets[bucket.min(BUCKETS - 1)] += 1;
        self.count += 1;
        self.longest = self.longest.max(Duration::from_nanos(nanos));
    }
}

impl Default for DeliveryLateness {
    fn default() -> DeliveryLateness {
        DeliveryLateness {
            buckets: Box::new([0; BUCKETS]),
            count: 0,
            longest: Duration::ZERO,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_of_lateness_are_exact_to_a_microsecond() {
        let mut lateness = DeliveryLateness::default();
        assert_eq!(lateness.quantile(0.99), Duration::ZERO);
        for nanos in (0..100).map(|n| n * 1_000 + 500) {
            lateness.add(nanos);
        }
        lateness.add(5_000_000);
        let table = [
            (0.0, 1_000),
            (0.5, 51_000),
            (0.99, 100_000),
            (1.0, 5_000_000),
        ];
        for (share, nanos) in table {
            assert_eq!(
                lateness.quantile(share),
                Duration::from_nanos(nanos),
                "{share}"
            );
        }
        assert_eq!(lateness.count(), 101);
    }
}
