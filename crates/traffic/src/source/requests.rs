//! Requests at random distances, each with a number of blocks of random length.

use std::sync::Arc;

use rand_chacha::ChaCha8Rng;

use super::{BlockSource, ObjectPieces, PlannedDeparture, ScheduleClock, block_length};
use crate::probability::ProbabilityLaw;

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RequestLaws {
    /// Nanoseconds between two requests, and before the first.
    pub(crate) gap: ProbabilityLaw,
    pub(crate) blocks: ProbabilityLaw,
    /// Bytes of a block.
    pub(crate) size: ProbabilityLaw,
    /// Longest block in bytes; a longer one is cut into pieces of the same moment.
    pub(crate) most_bytes: Option<u32>,
}

/// The blocks of a request depart at one moment.
#[derive(Debug, Clone)]
pub(crate) struct Requests {
    laws: Arc<RequestLaws>,
    clock: ScheduleClock,
    at_ns: u64,
    blocks_left: u64,
    pieces: ObjectPieces,
}

impl Requests {
    pub(crate) fn new(laws: Arc<RequestLaws>) -> Self {
        Requests {
            laws,
            clock: ScheduleClock::default(),
            at_ns: 0,
            blocks_left: 0,
            pieces: ObjectPieces::default(),
        }
    }
}

impl BlockSource for Requests {
    fn next_block(&mut self, rng: &mut ChaCha8Rng) -> Option<PlannedDeparture> {
        if let Some(piece) = self.pieces.next() {
            return Some(piece);
        }
        if self.blocks_left == 0 {
            self.at_ns = self.clock.advance(self.laws.gap.draw(rng))?;
            self.blocks_left = self.laws.blocks.draw_whole(rng);
        }
        self.blocks_left -= 1;
        let bytes = self.laws.size.draw_whole(rng);
        let most_bytes = self.laws.most_bytes.unwrap_or(block_length(bytes));
        self.pieces = ObjectPieces::cut(self.at_ns, bytes, most_bytes);
        self.pieces.next()
    }
}
