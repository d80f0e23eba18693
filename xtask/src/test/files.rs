//! Where the servers of the tests keep their files.

use std::env;
use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, Instant};

use tempfile::TempDir;

const PREFIX: &str = "prestan-tests-";

/// So long are processes that were just killed waited for, which still write.
const PATIENCE: Duration = Duration::from_secs(5);

/// A directory in memory that is removed when this is dropped.
///
/// Tests create and remove files by the ten thousand, and ext4 looks through the inodes that were freed during
/// the last five seconds for each new file: a run that takes 7 s in memory takes 55 s on a disk.
#[derive(Debug)]
pub(crate) struct FilesInMemory {
    directory: TempDir,
    /// Locked while this program lives.
    _lock: File,
}

impl FilesInMemory {
    /// `None` if another directory is asked for, or the system has none with enough room.
    pub(crate) fn create() -> Option<FilesInMemory> {
        const ROOM: u64 = 4 << 30;
        let memory = Path::new("/dev/shm");
        if env::var_os("TMPDIR").is_some() {
            return None;
        }
        let begun = File::open(memory).ok()?;
        // Of two that begin, one has locked its directory before the other looks.
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

/// Removes what killed runs have left: nobody has it locked.
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
        let place = |name: &str| parent.path().join(name);
        for name in ["prestan-tests-stale/file", "other/file"] {
            fs::create_dir_all(place(name)).unwrap();
        }
        let running = FilesInMemory::in_directory(parent.path()).unwrap();
        remove_stale(parent.path());
        assert!(!place("prestan-tests-stale").exists());
        assert!(place("other/file").exists() && running.path().exists());
        let path = running.path().to_owned();
        drop(running);
        assert!(!path.exists());
    }
}
