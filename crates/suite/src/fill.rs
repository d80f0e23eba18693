//! Bodies of a given size.

/// Content of a body of a given size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Fill {
    /// The sentence of the original Prestan, over and over.
    #[default]
    Text,
    /// Bytes that do not compress, the same ones for the same seed on every machine.
    Random {
        /// Start of the sequence.
        seed: u64,
    },
}

const SENTENCE: &[u8] = b"This is Prestan test file.\n";

/// Exactly `size` bytes of that content.
pub fn filled(fill: Fill, size: usize) -> Vec<u8> {
    match fill {
        Fill::Text => SENTENCE.iter().copied().cycle().take(size).collect(),
        Fill::Random { seed } => random(seed, size),
    }
}

/// Part of a random content: `size` bytes from byte `from`, a multiple of eight.
pub fn random_part(seed: u64, from: u64, size: usize) -> Vec<u8> {
    random(seed.wrapping_add((from / 8).wrapping_mul(STEP)), size)
}

/// Increment of the state of SplitMix64.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// The first number of SplitMix64 with that seed (Steele, Lea, Flood 2014): enough to defeat
/// compression, and a few lines that will give the same bytes in ten years, which a library does
/// not promise.
pub fn mixed(seed: u64) -> u64 {
    let mut word = seed.wrapping_add(STEP);
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

fn random(seed: u64, size: usize) -> Vec<u8> {
    let mut state = seed;
    let mut bytes = Vec::with_capacity(size + 8);
    while bytes.len() < size {
        bytes.extend_from_slice(&mixed(state).to_le_bytes());
        state = state.wrapping_add(STEP);
    }
    bytes.truncate(size);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_filling_are_the_whole() {
        let whole = filled(Fill::Random { seed: 7 }, 1000);
        let parts = [(0, 16), (16, 400), (416, 584)];
        let parts = parts.map(|(from, size)| random_part(7, from, size));
        assert_eq!(parts.concat(), whole);
    }

    #[test]
    fn sizes_are_exact_and_random_is_reproducible() {
        for size in [0, 1, 7, 8, 9, 1024, 65_536] {
            assert_eq!(filled(Fill::Text, size).len(), size);
            assert_eq!(filled(Fill::Random { seed: 1 }, size).len(), size);
        }
        // First output of SplitMix64 for seed 0, from its reference implementation.
        let first = filled(Fill::Random { seed: 0 }, 8);
        assert_eq!(
            u64::from_le_bytes(first.try_into().unwrap()),
            0xe220_a839_7b1d_cdaf
        );
        assert_ne!(
            filled(Fill::Random { seed: 1 }, 64),
            filled(Fill::Random { seed: 2 }, 64)
        );
    }
}
