//! What is in the files of a list.

use suite::{Fill, filled};

/// The content of a file: bytes that do not compress, the same for a seed on any machine.
pub fn content(path: &str, size: u64, seed: u64) -> Vec<u8> {
    let seed = seed ^ number_of(path);
    filled(
        Fill::Random { seed },
        usize::try_from(size).unwrap_or(usize::MAX),
    )
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
    }
}
