//! How a flow behaves: by a schedule of the crate `traffic`, or by any other.

use traffic::{Behaviour, DepartureSchedule, PlannedDeparture};

/// The blocks of a flow, in the order of their moments.
pub enum BlockSchedule {
    /// Blocks of a model.
    Planned(DepartureSchedule),
    /// Any other blocks.
    Given(Box<dyn Iterator<Item = PlannedDeparture> + Send>),
}

impl BlockSchedule {
    /// Skips blocks before a moment, as many as one step can, and returns their number.
    pub(crate) fn skip_until(&mut self, at_ns: u64) -> u64 {
        match self {
            BlockSchedule::Planned(schedule) => schedule.skip_until(at_ns),
            BlockSchedule::Given(_) => 0,
        }
    }
}

impl Iterator for BlockSchedule {
    type Item = PlannedDeparture;

    fn next(&mut self) -> Option<PlannedDeparture> {
        match self {
            BlockSchedule::Planned(schedule) => schedule.next(),
            BlockSchedule::Given(blocks) => blocks.next(),
        }
    }
}

impl From<DepartureSchedule> for BlockSchedule {
    fn from(schedule: DepartureSchedule) -> BlockSchedule {
        BlockSchedule::Planned(schedule)
    }
}

impl<I: Iterator<Item = PlannedDeparture> + Send + 'static> From<Box<I>> for BlockSchedule {
    fn from(blocks: Box<I>) -> BlockSchedule {
        BlockSchedule::Given(blocks)
    }
}

/// How a source behaves.
pub enum FlowBehaviour {
    /// As fast as possible, or evenly at the agreed rate.
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
            Behaviour::Scheduled(schedule) => FlowBehaviour::Scheduled(schedule.into()),
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
