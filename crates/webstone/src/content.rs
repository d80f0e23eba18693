//! Contents of the files of a list.

use suite::random_part;

/// Bytes that are made at a time, a multiple of eight.
const PIECE: u64 = 1 << 20;

/// The content of a file: bytes that do not compress, the same for a seed on any machine.
pub fn content(path: &str, size: u64, seed: u64) -> Vec<u8> {
    pieces(path, size, seed).flatten().collect()
}

/// The same in pieces that fit into memory, for any size.
pub fn pieces(path: &str, size: u64, seed: u64) -> impl Iterator<Item = Vec<u8>> {
    let seed = seed ^ number_of(path);
    let starts = (0..size.div_ceil(PIECE)).map(|piece| piece * PIECE);
    starts.map(move |from| random_part(seed, from, (size - from).min(PIECE) as usize))
}

/// FNV-1a (Fowler, Noll, Vo 1991): files of one size differ.
fn number_of(path: &str) -> u64 {
    path.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_has_its_size_and_depends_on_path_and_seed() {
        let file = content("a/file3k.html", 3072, 1);
        assert_eq!(file.len(), 3072);
        assert_eq!(file, content("a/file3k.html", 3072, 1));
        assert_ne!(file, content("b/file3k.html", 3072, 1));
        assert_ne!(file, content("a/file3k.html", 3072, 2));
        assert!(content("x", 0, 1).is_empty());
        // The same files can be made from a published list and seed in ten years.
        assert_eq!(file[..8], [205, 47, 16, 175, 66, 74, 34, 231]);
    }

    #[test]
    fn pieces_are_of_one_stream() {
        let long = content("x", PIECE + 5, 1);
        assert_eq!(long.len() as u64, PIECE + 5);
        let first = long.chunks_exact(8).next().map(<[u8]>::to_vec);
        let later = long
            .chunks_exact(8)
            .nth(PIECE as usize / 8 - 1)
            .map(<[u8]>::to_vec);
        assert_ne!(first, later);
        assert_eq!(long[..3072], content("x", 3072, 1));
        let sizes: Vec<usize> = pieces("x", PIECE + 5, 1).map(|piece| piece.len()).collect();
        assert_eq!(sizes, [PIECE as usize, 5]);
    }
}
