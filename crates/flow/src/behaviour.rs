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

/// Blocks at constant gaps that make this rate. The moments are computed from the number of the
/// block, so that no rounding adds up.
pub fn constant_rate(bytes_per_second: u64, block_bytes: u32) -> BlockSchedule {
    let rate = u128::from(bytes_per_second.max(1));
    let bytes = u128::from(block_bytes);
    Box::new((0_u64..).map(move |number| {
        let nanos = u128::from(number) * bytes * 1_000_000_000 / rate;
        PlannedDeparture {
            at_ns: u64::try_from(nanos).unwrap_or(u64::MAX),
            bytes: block_bytes,
        }
    }))
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
}
