//! Files of a run directory: for their owner only, and never through a link that is there already.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Readable and writable by the owner: a suite and its parameters may be confidential.
const PRIVATE: u32 = 0o600;

/// What is appended to the name of a file that is not complete yet.
const PART: &str = "part";

/// Creates a file where nothing is: a file or a symbolic link of that name is an error.
pub(crate) fn create_new(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true);
    options.mode(PRIVATE).open(path)
}

/// Creates a file with this content.
pub(crate) fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    create_new(path)?.write_all(bytes)
}

/// Writes a file under another name first, so that `path` is at any moment the old or the new one.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let part = part_of(path);
    let replaced = write_new(&part, bytes).and_then(|()| fs::rename(&part, path));
    replaced.inspect_err(|_| discard(&part))
}

/// The name of a file until it is complete.
pub(crate) fn part_of(path: &Path) -> PathBuf {
    path.with_added_extension(PART)
}

/// Removes what could not be completed: on a full disk, its space serves the rest of the record.
pub(crate) fn discard(part: &Path) {
    // A failure is about to be reported, and this one adds nothing to it.
    let _ = fs::remove_file(part);
}
