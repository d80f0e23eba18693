//! Directory of the files of the tests' servers.

use std::env;
use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, Instant};

use tempfile::TempDir;

const PREFIX: &str = "prestan-tests-";

/// Longest wait for processes that were just killed, which may still write.
const PATIENCE: Duration = Duration::from_secs(5);

/// A directory in memory. Dropping it removes it.
///
/// Tests create and remove ten thousands of files, and for each new file, ext4 searches the inodes
/// that were freed during the last five seconds: a run that takes 7 s in memory takes 55 s on a
/// disk.
#[derive(Debug)]
pub(crate) struct FilesInMemory {
    directory: TempDir,
    /// Locked while this program lives.
    _lock: File,
}

impl FilesInMemory {
    /// `None` if another directory is requested, or the system has none with enough space.
    pub(crate) fn create() -> Option<FilesInMemory> {
        const ROOM: u64 = 4 << 30;
        let memory = Path::new("/dev/shm");
        if env::var_os("TMPDIR").is_some() {
            return None;
        }
        let begun = File::open(memory).ok()?;
        // If two begin at the same time, one has locked its directory before the other looks.
        begun.lock().ok()?;
        remove_stale(memory);
        let space = rustix::fs::statvfs(memory).ok()?;
        let has_room = space.f_bavail.saturating_mul(space.f_frsize) >= ROOM;
        if has_room {
            FilesInMemory::in_directory(memory)
        } else {
            None
        }
    }

    fn in_directory(parent: &Path) -> Option<FilesInMemory> {
        let directory = tempfile::Builder::new().prefix(PREFIX).tempdir_in(parent);
        let directory = directory.ok()?;
        let lock = File::open(directory.path()).ok()?;
        lock.try_lock().ok()?;
        Some(FilesInMemory {
            directory,
            _lock: lock,
        })
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }
}

impl Drop for FilesInMemory {
    fn drop(&mut self) {
        let deadline = Instant::now() + PATIENCE;
        while fs::remove_dir_all(self.path()).is_err()
            && self.path().exists()
            && Instant::now() < deadline
        {
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// Removes leftovers of killed runs: directories without a lock.
fn remove_stale(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let is_ours = entry.file_name().to_string_lossy().starts_with(PREFIX);
        let is_free = || File::open(entry.path()).is_ok_and(|lock| lock.try_lock().is_ok());
        if is_ours && is_free() {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_killed_runs_have_left_is_removed_and_nothing_else() {
        let parent = tempfile::tempdir().unwrap();
        let path = |name: &str| parent.path().join(name);
        for name in ["prestan-tests-stale/file", "other/file"] {
            fs::create_dir_all(path(name)).unwrap();
        }
        let running = FilesInMemory::in_directory(parent.path()).unwrap();
        remove_stale(parent.path());
        assert!(!path("prestan-tests-stale").exists());
        assert!(path("other/file").exists() && running.path().exists());
        let path = running.path().to_owned();
        drop(running);
        assert!(!path.exists());
    }
}
