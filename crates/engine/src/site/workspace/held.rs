//! Tokens of the locks that a run holds, kept on this machine for as long as it holds them.
//!
//! A server may show a lock without its token (RFC 4918, section 15.8), and then only the run that
//! took the lock can release it. The file is for `prestan clean`, should the run be killed: only
//! its owner can read it, and it ends with the run. Its tokens are sent to the server that they
//! came from only.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use record::EventKind;
use serde::{Deserialize, Serialize};

use super::private;
use crate::watch::journal::Journal;

/// Excess of lines over locks from which on the file is rewritten.
const STALE_LINES: usize = 4096;

/// A lock that a run took.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct HeldLock {
    /// URL of the collection below which the run works.
    pub(crate) target: String,
    /// Path of the locked resource.
    pub(crate) path: String,
    /// As in a Lock-Token header, in angle brackets.
    pub(crate) token: String,
}

/// A line of the file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum LockLine {
    Taken(HeldLock),
    Released(String),
}

pub(crate) struct HeldLocks {
    /// The file; `None` if tokens are not kept.
    path: Option<PathBuf>,
    journal: Arc<Journal>,
    state: Mutex<HeldState>,
}

#[derive(Default)]
struct HeldState {
    /// Locks by token.
    locks: BTreeMap<String, HeldLock>,
    file: Option<File>,
    lines: usize,
    /// The file could not be written, and is not tried again.
    has_failed: bool,
}

impl HeldLocks {
    /// The locks of a run that has begun, and holds none yet.
    pub(crate) fn new(directory: Option<&Path>, run_id: &str, journal: Arc<Journal>) -> HeldLocks {
        HeldLocks {
            path: directory.map(|directory| file_of(directory, run_id)),
            journal,
            state: Mutex::default(),
        }
    }

    pub(crate) fn taken(&self, lock: HeldLock) {
        let mut state = self.state();
        state.locks.insert(lock.token.clone(), lock.clone());
        self.write(&mut state, &LockLine::Taken(lock));
    }

    pub(crate) fn released(&self, token: &str) {
        let mut state = self.state();
        if state.locks.remove(token).is_some() {
            self.write(&mut state, &LockLine::Released(token.to_owned()));
        }
    }

    /// The locks that are held below this target.
    pub(crate) fn below(&self, target: &str) -> Vec<HeldLock> {
        let state = self.state();
        let locks = state.locks.values().filter(|lock| lock.target == target);
        locks.cloned().collect()
    }

    /// The run is over. Tokens of leftovers on a server stay.
    pub(crate) fn end(&self, is_all_removed: bool) {
        let mut state = self.state();
        if let Some(path) = &self.path
            && state.file.is_some()
            && (is_all_removed || state.locks.is_empty())
        {
            state.file = None;
            // Failures are harmless: a remaining file has tokens of locks that are gone.
            let _ = fs::remove_file(path);
        }
    }

    fn write(&self, state: &mut HeldState, line: &LockLine) {
        let Some(path) = &self.path else { return };
        if state.has_failed {
            return;
        }
        let written = match &state.file {
            Some(_) if state.lines > state.locks.len() + STALE_LINES => state.write_anew(path),
            Some(_) => state.append(line),
            None => state.write_anew(path),
        };
        if let Err(error) = written {
            state.has_failed = true;
            let text = format!(
                "keeping the tokens of locks in {} failed: {error}; if this run is killed, its \
                 locks may last until the server ends them",
                path.display()
            );
            self.journal.write(EventKind::Warning { text });
        }
    }

    /// A panic while writing leaves a line at most, which readers skip.
    fn state(&self) -> MutexGuard<'_, HeldState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl HeldState {
    fn append(&mut self, line: &LockLine) -> io::Result<()> {
        self.lines += 1;
        match &mut self.file {
            Some(file) => file.write_all(text_of(line).as_bytes()),
            None => Ok(()),
        }
    }

    /// Replaces the file by one with the current locks.
    fn write_anew(&mut self, path: &Path) -> io::Result<()> {
        let taken = self.locks.values().cloned().map(LockLine::Taken);
        let lines: String = taken.map(|line| text_of(&line)).collect();
        self.file = Some(private::replace(path, &lines)?);
        self.lines = self.locks.len();
        Ok(())
    }
}

fn text_of(line: &LockLine) -> String {
    serde_json::to_string(line).unwrap_or_default() + "\n"
}

fn file_of(directory: &Path, run_id: &str) -> PathBuf {
    directory.join(format!("{run_id}.jsonl"))
}

/// The locks that a run of that name held below this target when it was killed.
pub(crate) fn kept(directory: Option<&Path>, run_id: &str, target: &str) -> Vec<HeldLock> {
    let text = directory.map(|directory| fs::read_to_string(file_of(directory, run_id)));
    let text = text.and_then(Result::ok).unwrap_or_default();
    let mut locks = BTreeMap::new();
    // The last line may be incomplete.
    let read = |line: &str| serde_json::from_str(line).ok();
    for line in text.lines().filter_map(read) {
        match line {
            LockLine::Taken(lock) => drop(locks.insert(lock.token.clone(), lock)),
            LockLine::Released(token) => drop(locks.remove(&token)),
        }
    }
    let locks = locks.into_values();
    locks.filter(|lock| lock.target == target).collect()
}

/// Removes the file of a run whose collection, with its locks, was removed.
pub(crate) fn forget(directory: Option<&Path>, run_id: &str) {
    if let Some(directory) = directory {
        // It may never have existed.
        let _ = fs::remove_file(file_of(directory, run_id));
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::clock::RunClock;
    use crate::watch::progress::Silent;

    const TARGET: &str = "http://127.0.0.1:1/dav/";

    fn lock(number: usize) -> HeldLock {
        HeldLock {
            target: TARGET.to_owned(),
            path: format!("/dav/PrestanTest-r/{number}"),
            token: format!("<urn:{number}>"),
        }
    }

    fn held(directory: &Path) -> HeldLocks {
        let journal = Arc::new(Journal::new(RunClock::start(), Arc::new(Silent), 0));
        HeldLocks::new(Some(directory), "r", journal)
    }

    #[test]
    fn what_is_held_can_be_read_by_its_owner_until_it_is_released() {
        let home = tempfile::tempdir().unwrap();
        let directory = home.path().join("prestan/locks");
        let held = held(&directory);
        assert!(!directory.exists(), "nothing is held");
        (0..3).for_each(|number| held.taken(lock(number)));
        held.released("<urn:1>");
        assert_eq!(held.below(TARGET), [lock(0), lock(2)]);
        assert_eq!(kept(Some(&directory), "r", TARGET), [lock(0), lock(2)]);
        // Other servers do not get them.
        assert_eq!(kept(Some(&directory), "r", "http://127.0.0.1:2/dav/"), []);
        assert_eq!(kept(Some(&directory), "other", TARGET), []);
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&directory), 0o700);
        assert_eq!(mode(&directory.join("r.jsonl")), 0o600);
        held.end(false);
        assert_eq!(kept(Some(&directory), "r", TARGET).len(), 2);
        held.taken(lock(5));
        held.end(true);
        forget(Some(&directory), "r");
        assert_eq!(fs::read_dir(&directory).unwrap().count(), 0);
    }

    #[test]
    fn a_long_run_does_not_fill_the_disk() {
        let home = tempfile::tempdir().unwrap();
        let held = held(home.path());
        held.taken(lock(0));
        for number in 1..2 * STALE_LINES {
            held.taken(lock(number));
            held.released(&lock(number).token);
        }
        let text = fs::read_to_string(home.path().join("r.jsonl")).unwrap();
        assert!(text.lines().count() < STALE_LINES + 10);
        assert_eq!(kept(Some(home.path()), "r", TARGET), [lock(0)]);
        // An incomplete line, as left by a kill.
        fs::write(home.path().join("r.jsonl"), &text[..text.len() - 9]).unwrap();
        assert!(kept(Some(home.path()), "r", TARGET).contains(&lock(0)));
    }

    #[test]
    fn a_link_is_not_followed_and_a_full_disk_is_reported_once() {
        let home = tempfile::tempdir().unwrap();
        let precious = home.path().join("precious");
        fs::write(&precious, "not ours").unwrap();
        std::os::unix::fs::symlink(&precious, home.path().join("r.new")).unwrap();
        let one = held(home.path());
        one.taken(lock(0));
        assert_eq!(fs::read_to_string(&precious).unwrap(), "not ours");
        assert_eq!(kept(Some(home.path()), "r", TARGET), [lock(0)]);
        // A file where the directory should be.
        let other = held(&precious);
        (0..3).for_each(|number| other.taken(lock(number)));
        assert_eq!(other.journal.events().len(), 1);
        assert_eq!(other.below(TARGET).len(), 3);
    }
}
