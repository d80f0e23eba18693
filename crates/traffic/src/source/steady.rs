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
    /// When the first block departs; flows that are alike do not depart together.
    phase_ns: Option<u64>,
    count: u64,
}

/// Nanoseconds between two blocks, as a fraction, so that the n-th block has no error that grows with n.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Interval {
    nanos: u128,
    per: u128,
}

impl Interval {
    /// Between blocks of a length at a rate.
    pub(crate) fn of_rate(block_bytes: u32, bits_per_second: u64) -> Self {
        Interval {
            nanos: u128::from(block_bytes) * 8 * 1_000_000_000,
            per: u128::from(bits_per_second.max(1)),
        }
    }

    pub(crate) fn of_nanos(nanos: u64) -> Self {
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
}

impl BlockSource for Steady {
    fn next_block(&mut self, rng: &mut ChaCha8Rng) -> Option<PlannedDeparture> {
        let phase_ns = match self.phase_ns {
            Some(phase_ns) => phase_ns,
            None => *self.phase_ns.insert(random_phase(self.interval, rng)),
        };
        let at_ns = self.interval.times(self.count)?.checked_add(phase_ns)?;
        self.count += 1;
        Some(PlannedDeparture {
            at_ns,
            bytes: self.block_bytes,
        })
    }
}

fn random_phase(interval: Interval, rng: &mut impl Rng) -> u64 {
    let whole = interval.times(1).unwrap_or(u64::MAX);
    (whole as f64 * open_unit(rng)) as u64
}
