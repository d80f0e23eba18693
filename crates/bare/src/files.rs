//! The files that the server has in memory.

use std::collections::BTreeMap;
use std::sync::Arc;

use topology::PAPER_FILES_KIB;

/// Files by their paths, which begin with a slash.
#[derive(Debug, Clone, Default)]
pub struct ServedFiles(BTreeMap<String, Arc<[u8]>>);

impl ServedFiles {
    /// No files.
    pub fn new() -> ServedFiles {
        ServedFiles::default()
    }

    /// The files of the dissertation, `/504k`, `/320k` and `/160k`, each with that many KiB of
    /// [`test_pattern`].
    pub fn paper() -> ServedFiles {
        let mut files = ServedFiles::new();
        for kib in PAPER_FILES_KIB {
            files.insert(format!("/{kib}k"), test_pattern(kib * 1024));
        }
        files
    }

    /// Adds a file, or replaces it.
    pub fn insert(&mut self, path: impl Into<String>, contents: impl Into<Arc<[u8]>>) {
        self.0.insert(path.into(), contents.into());
    }

    /// All files: their paths and contents.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &[u8])> {
        let files = self.0.iter();
        files.map(|(path, contents)| (path.as_str(), &**contents))
    }

    pub(crate) fn find(&self, path: &str) -> Option<&Arc<[u8]>> {
        self.0.get(path)
    }
}

/// Bytes without a short period, so that misplaced bytes are detected: an xorshift generator (G.
/// Marsaglia, 2003), the same for every file.
pub fn test_pattern(length: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_u32;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        (state >> 24) as u8
    };
    (0..length).map(|_| next()).collect()
}
