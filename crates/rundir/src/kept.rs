//! What can be done with a recorded run: its size, whether it goes on, and its removal.

use std::ffi::OsString;
use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

use crate::samples::is_of_samples;
use crate::{BESIDE, ENV, EVENTS, PACKETS, PLAN, RunDirError, SUITE, is_run, reading, writing};

/// Whether the run is being recorded: its process holds a lock on the events.
pub fn goes_on(path: &Path) -> bool {
    let events = File::open(path.join(EVENTS));
    events.is_ok_and(|events| matches!(events.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

/// Bytes of the files of a run, with those of the loads beside it.
pub fn size_on_disk(path: &Path) -> u64 {
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    let sizes = entries.map(|entry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => size_on_disk(&entry.path()),
        Ok(metadata) => metadata.len(),
        Err(_) => 0,
    });
    sizes.sum()
}

/// Removes the directory of a run that is over.
///
/// # Errors
/// When it is not the directory of a run, the run goes on, a file in it is none of the run, or a file
/// cannot be removed. In the first three cases nothing is removed.
pub fn remove(path: &Path) -> Result<(), RunDirError> {
    if !is_run(path) || path.is_symlink() {
        return Err(refused(path, "is not the directory of a run"));
    }
    if goes_on(path) {
        return Err(refused(path, "the run has not ended"));
    }
    remove_files(path)
}

/// The same, whether or not the run is over.
pub(crate) fn remove_files(path: &Path) -> Result<(), RunDirError> {
    let (files, beside) = files_of(path)?;
    for load in &beside {
        remove_files(load)?;
    }
    let besides = path.join(BESIDE);
    if besides.is_dir() {
        fs::remove_dir(&besides).map_err(|error| writing(&besides, error))?;
    }
    for file in &files {
        fs::remove_file(file).map_err(|error| writing(file, error))?;
    }
    fs::remove_dir(path).map_err(|error| writing(path, error))
}

/// The files of a run, the plan last, so that what is left of a removal that failed is still known as a
/// run; and the directories of the loads beside it.
fn files_of(path: &Path) -> Result<(Vec<PathBuf>, Vec<PathBuf>), RunDirError> {
    let mut files = Vec::new();
    let mut beside = Vec::new();
    for (name, place) in entries(path)? {
        let name = name.to_string_lossy().into_owned();
        let whole = name.strip_suffix(".part").unwrap_or(&name);
        let is_directory = place.is_dir() && !place.is_symlink();
        if is_directory && name == BESIDE {
            for (_, load) in entries(&place)? {
                files_of(&load)?;
                beside.push(load);
            }
        } else if !is_directory
            && ([PLAN, SUITE, ENV, EVENTS, PACKETS].contains(&whole) || is_of_samples(whole))
        {
            files.push(place);
        } else {
            return Err(refused(
                &place,
                "is not a file of the run; nothing is removed",
            ));
        }
    }
    files.sort_by_key(|file| file.ends_with(PLAN));
    Ok((files, beside))
}

fn entries(path: &Path) -> Result<Vec<(OsString, PathBuf)>, RunDirError> {
    let entries = fs::read_dir(path).map_err(|error| reading(path, error))?;
    let named = entries.map(|entry| entry.map(|entry| (entry.file_name(), entry.path())));
    named
        .collect::<Result<_, _>>()
        .map_err(|error| reading(path, error))
}

fn refused(path: &Path, message: &str) -> RunDirError {
    RunDirError::Damaged {
        path: path.to_owned(),
        message: message.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RunDir;
    use crate::tests::{env, plan};

    fn run_in(path: &Path) -> RunDir {
        RunDir::create(path, &plan(), "suite: s\n", &env()).unwrap()
    }

    #[test]
    fn a_run_is_removed_when_it_is_over_and_with_the_loads_beside_it() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("run");
        let run = run_in(&path);
        let beside = run_in(&path.join(BESIDE).join("load"));
        assert!(goes_on(&path) && size_on_disk(&path) > 500);
        let refused = remove(&path).unwrap_err().to_string();
        assert!(refused.ends_with("the run has not ended"), "{refused}");
        drop((run, beside));
        assert!(!goes_on(&path));
        remove(&path).unwrap();
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 0);
    }

    #[test]
    fn nothing_else_is_removed() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("run");
        drop(run_in(&path));
        fs::write(path.join("notes.txt"), "mine").unwrap();
        let refused = remove(&path).unwrap_err().to_string();
        assert!(
            refused.ends_with("is not a file of the run; nothing is removed"),
            "{refused}"
        );
        assert!(is_run(&path));
        let other = home.path().join("other");
        fs::create_dir(&other).unwrap();
        let refused = remove(&other).unwrap_err().to_string();
        assert!(
            refused.ends_with("is not the directory of a run"),
            "{refused}"
        );
        // A link to a run elsewhere is no run of ours to remove.
        let link = home.path().join("link");
        fs::remove_file(path.join("notes.txt")).unwrap();
        std::os::unix::fs::symlink(&path, &link).unwrap();
        assert!(remove(&link).is_err());
        assert!(is_run(&path), "what the link names is still there");
    }

    #[test]
    fn a_run_with_nothing_to_record_is_discarded_while_it_goes_on() {
        let home = tempfile::tempdir().unwrap();
        let run = run_in(&home.path().join("run"));
        run.discard().unwrap();
        assert!(!run.path().exists());
    }
}
