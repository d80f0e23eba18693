//! Blocks of one length at a constant rate.

use rand::Rng;
use rand_chacha::ChaCha8Rng;

use super::{BlockSource, PlannedDeparture};
use crate::probability::open_unit;

/// A constant rate, as the exact fraction of nanoseconds between two blocks.
#[derive(Debug, Clone)]
pub(crate) struct Steady {
    block_bytes: u32,
    interval: Interval,
    /// When the first block departs; equal flows do not depart together.
    phase_ns: Option<u64>,
    count: u64,
}

/// Nanoseconds between two blocks, as a fraction, so that the n-th block has no error that grows
/// with n.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Interval {
    nanos: u128,
    per: u128,
}

impl Interval {
    /// The interval between blocks of a length at a rate.
    pub(crate) fn at_rate(block_bytes: u32, bits_per_second: u64) -> Self {
        Interval {
            nanos: u128::from(block_bytes) * 8 * 1_000_000_000,
            per: u128::from(bits_per_second.max(1)),
        }
    }

    pub(crate) fn from_nanos(nanos: u64) -> Self {
        Interval {
            nanos: u128::from(nanos.max(1)),
            per: 1,
        }
    }

    /// The time of `count` intervals, rounded down to nanoseconds.
    pub(crate) fn times(self, count: u64) -> Option<u64> {
        let nanos = self.nanos.checked_mul(u128::from(count))? / self.per;
        u64::try_from(nanos).ok()
    }

    /// Number of the times of 0, 1, 2 ... intervals that are before a time.
    fn before(self, nanos: u64) -> u64 {
        let count = (u128::from(nanos) * self.per).div_ceil(self.nanos.max(1));
        u64::try_from(count).unwrap_or(u64::MAX)
    }
}

impl Steady {
    pub(crate) fn new(block_bytes: u32, interval: Interval) -> Self {
        Steady {
            block_bytes,
            interval,
            phase_ns: None,
            count: 0,
        }
    }

    pub(crate) fn beginning_at(first_ns: u64, block_bytes: u32, interval: Interval) -> Self {
        Steady {
            phase_ns: Some(first_ns),
            ..Steady::new(block_bytes, interval)
        }
    }
}

impl BlockSource for Steady {
    fn next_block(&mut self, rng: &mut ChaCha8Rng) -> Option<PlannedDeparture> {
        let drawn = || random_phase(self.interval, rng);
        let phase_ns = *self.phase_ns.get_or_insert_with(drawn);
        let at_ns = self.interval.times(self.count)?.checked_add(phase_ns)?;
        self.count += 1;
        Some(PlannedDeparture {
            at_ns,
            bytes: self.block_bytes,
        })
    }

    fn skip_until(&mut self, at_ns: u64) -> u64 {
        // The phase is drawn with the first block.
        let Some(phase_ns) = self.phase_ns else {
            return 0;
        };
        let before = self.interval.before(at_ns.saturating_sub(phase_ns));
        let skipped = before.saturating_sub(self.count);
        self.count += skipped;
        skipped
    }
}

fn random_phase(interval: Interval, rng: &mut impl Rng) -> u64 {
    let whole = interval.times(1).unwrap_or(u64::MAX);
    (whole as f64 * open_unit(rng)) as u64
}

#[cfg(test)]
mod tests {
    use crate::DepartureSchedule;

    #[test]
    fn a_constant_rate_is_kept_by_every_moment() {
        let blocks = DepartureSchedule::constant_rate(1_000, 3_000, 0);
        let blocks: Vec<_> = blocks.take(7).collect();
        assert_eq!(blocks[1].at_ns, 333_333_333);
        assert_eq!(blocks[6].at_ns, 2_000_000_000);
    }

    #[test]
    fn skipping_blocks_is_the_same_as_stepping_over_them() {
        // A gap that is no whole number, one of them, and one shorter than a nanosecond.
        for (rate, bytes) in [
            (300_000_000, 1000),
            (100_000_000, 1000),
            (100_000_000_000, 32),
        ] {
            for at_ns in [0, 1, 6, 7, 8, 9_999, 10_000, 10_006, 10_007, 10_008, 13_340] {
                let mut skipping = DepartureSchedule::constant_rate(bytes, rate, 7);
                let mut stepping = DepartureSchedule::constant_rate(bytes, rate, 7).peekable();
                // Some have departed already.
                for _ in 0..2 {
                    assert_eq!(skipping.next(), stepping.next());
                }
                let mut stepped = 0;
                while stepping.next_if(|block| block.at_ns < at_ns).is_some() {
                    stepped += 1;
                }
                assert_eq!(skipping.skip_until(at_ns), stepped, "{rate} {at_ns}");
                assert_eq!(skipping.next(), stepping.next(), "{rate} {at_ns}");
            }
        }
    }
}
