//! How a flow behaves: the schedules of the crate `traffic`, or any others.

use traffic::{Behaviour, PlannedDeparture};

/// The blocks of a flow, in the order of their moments.
pub type BlockSchedule = Box<dyn Iterator<Item = PlannedDeparture> + Send>;

/// How a source behaves.
pub enum FlowBehaviour {
    /// As fast as it goes, or evenly at the rate that was agreed.
    Full {
        /// Bytes of a block.
        block_bytes: u32,
    },
    /// By a schedule.
    Scheduled(BlockSchedule),
}

impl From<Behaviour> for FlowBehaviour {
    fn from(behaviour: Behaviour) -> FlowBehaviour {
        match behaviour {
            Behaviour::Full { block_bytes } => FlowBehaviour::Full { block_bytes },
            Behaviour::Scheduled(schedule) => FlowBehaviour::Scheduled(Box::new(schedule)),
        }
    }
}

impl std::fmt::Debug for FlowBehaviour {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            FlowBehaviour::Full { block_bytes } => {
                write!(formatter, "Full {{ block_bytes: {block_bytes} }}")
            }
            FlowBehaviour::Scheduled(_) => formatter.write_str("Scheduled"),
        }
    }
}

/// Blocks at constant gaps that make this rate.
pub fn constant_rate(bytes_per_second: u64, block_bytes: u32) -> BlockSchedule {
    Box::new(EvenBlocks::new(bytes_per_second, block_bytes, 0))
}

/// Blocks at constant gaps. The moments are computed from the number of the block, so that no rounding adds up.
#[derive(Debug)]
pub(crate) struct EvenBlocks {
    rate: u128,
    block_bytes: u32,
    first_ns: u64,
    number: u64,
}

impl EvenBlocks {
    /// The first block departs at `first_ns`.
    pub(crate) fn new(bytes_per_second: u64, block_bytes: u32, first_ns: u64) -> EvenBlocks {
        EvenBlocks {
            rate: bytes_per_second.max(1).into(),
            block_bytes,
            first_ns,
            number: 0,
        }
    }

    /// What a block takes, in ns, times the rate.
    fn block_time(&self) -> u128 {
        u128::from(self.block_bytes) * 1_000_000_000
    }

    /// Skips the blocks before a moment; how many there are.
    pub(crate) fn skip_until(&mut self, at_ns: u64) -> u64 {
        let since_first = u128::from(at_ns.saturating_sub(self.first_ns));
        let number = (since_first * self.rate).div_ceil(self.block_time().max(1));
        let number = u64::try_from(number).unwrap_or(u64::MAX);
        let skipped = number.saturating_sub(self.number);
        self.number += skipped;
        skipped
    }
}

impl Iterator for EvenBlocks {
    type Item = PlannedDeparture;

    fn next(&mut self) -> Option<PlannedDeparture> {
        let nanos = u128::from(self.number) * self.block_time() / self.rate;
        self.number = self.number.checked_add(1)?;
        Some(PlannedDeparture {
            at_ns: u64::try_from(nanos)
                .unwrap_or(u64::MAX)
                .saturating_add(self.first_ns),
            bytes: self.block_bytes,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_constant_rate_is_kept_by_every_moment() {
        let blocks: Vec<_> = constant_rate(3_000, 1_000).take(7).collect();
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
                let mut skipping = EvenBlocks::new(rate, bytes, 7);
                let mut stepping = EvenBlocks::new(rate, bytes, 7).peekable();
                // Some are gone already.
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
