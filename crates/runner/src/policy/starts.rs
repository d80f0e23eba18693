//! The order in which the servers of a block are started.
//!
//! The server that is started last is the youngest during the whole block. A random order makes
//! this random like everything else that differs between starts; and of two consecutive blocks,
//! each server is started before each other one in one of them, so that their mean ages differ
//! little.

use rand::SeedableRng;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;

/// Indices of `servers` servers, in the order of their starts for a block; the first block is
/// number 1.
pub(super) fn start_order(seed: u64, block: u32, servers: usize) -> Vec<usize> {
    let pair = u64::from(block.div_ceil(2));
    let mut rng = StdRng::seed_from_u64(seed.rotate_left(32) ^ pair);
    let mut order: Vec<usize> = (0..servers).collect();
    order.shuffle(&mut rng);
    if block.is_multiple_of(2) {
        order.reverse();
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_server_is_the_younger_one_in_half_of_the_blocks() {
        for (seed, servers) in [(0, 2), (1, 2), (7, 3), (8, 5)] {
            for one in 0..servers {
                for other in (0..servers).filter(|other| *other != one) {
                    let is_before = |block| {
                        let order = start_order(seed, block, servers);
                        let index = |wanted| order.iter().position(|index| *index == wanted);
                        index(one) < index(other)
                    };
                    let before = (1..=20).filter(|block| is_before(*block)).count();
                    assert_eq!(before, 10, "{one} and {other} of {servers}");
                }
            }
        }
    }

    #[test]
    fn chance_decides_who_is_started_first() {
        let first = |seed| start_order(seed, 1, 2)[0];
        let begun: usize = (0..1000).map(first).sum();
        assert!((430..570).contains(&begun), "{begun}");
        // The order is drawn anew for each pair of blocks.
        let changes =
            (0..1000u64).filter(|seed| start_order(*seed, 1, 2) != start_order(*seed, 3, 2));
        assert!((430..570).contains(&changes.count()));
    }
}
