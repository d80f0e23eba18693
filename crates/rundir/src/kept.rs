//! Operations on a recorded run: reading, size, state and removal.

use std::ffi::{OsStr, OsString};
use std::fs::{File, TryLockError};
use std::iter;
use std::path::Path;
use std::time::SystemTime;

use record::Run;
use rustix::fs::FileType;

use crate::error::{RunDirError, damaged};
use crate::folder::{Folder, FolderEntry};
use crate::names::{BESIDE, EVENTS, PACKETS, PLAN, is_of_run};
use crate::{Recorded, Samples, read};

/// The open directory of a recorded run. No links in it are followed.
#[derive(Debug)]
pub struct RunFolder(Folder);

impl RunFolder {
    /// Opens a directory, with any content.
    pub fn open(path: &Path) -> Result<RunFolder, RunDirError> {
        Folder::open(path).map(RunFolder)
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// The directory of a load beside it.
    pub fn load_beside(&self, name: &str) -> Result<RunFolder, RunDirError> {
        self.0.folder(BESIDE)?.folder(name).map(RunFolder)
    }

    /// The directories of all loads beside it, each opened when it is reached.
    ///
    /// # Errors
    /// They cannot be listed; a single one cannot be opened, or is no directory.
    pub fn loads_beside(
        &self,
    ) -> Result<impl Iterator<Item = Result<RunFolder, RunDirError>> + use<>, RunDirError> {
        let beside = beside(&self.0)?;
        let loads = beside.as_ref().map_or(Ok(Vec::new()), Folder::entries)?;
        let open = move |load: FolderEntry| Some(beside.as_ref()?.folder(load.name).map(RunFolder));
        Ok(loads.into_iter().filter_map(open))
    }

    /// True if it holds a run.
    pub fn is_run(&self) -> bool {
        self.0.has(PLAN)
    }

    /// Start of its run; `None` if there is none. The plan is written first and never again, and
    /// some file systems have no creation time of directories.
    pub fn begun(&self) -> Option<SystemTime> {
        let plan = self.0.file(PLAN).ok()?;
        plan.metadata().ok()?.modified().ok()
    }

    /// The run is being recorded: its process holds a lock on the events.
    pub fn goes_on(&self) -> bool {
        let events = self.0.file(EVENTS);
        events.is_ok_and(|events| matches!(events.try_lock_shared(), Err(TryLockError::WouldBlock)))
    }

    /// Bytes of the files of the run, including the loads beside it.
    pub fn size(&self) -> u64 {
        let size = |run: &RunFolder| -> u64 {
            let entries = run.0.entries().unwrap_or_default().into_iter();
            let files = entries.filter(|entry| entry.kind == FileType::RegularFile);
            files.map(|file| file.bytes).fold(0, u64::saturating_add)
        };
        let beside = self.loads_beside().into_iter().flatten().flatten();
        let sizes = iter::once(size(self)).chain(beside.map(|load| size(&load)));
        sizes.fold(0, u64::saturating_add)
    }

    /// The packets between the run and its servers; `None` if none were recorded.
    pub fn packets(&self) -> Result<Option<File>, RunDirError> {
        let has_packets = self.0.has(PACKETS);
        has_packets.then(|| self.0.file(PACKETS)).transpose()
    }

    /// Reads everything except its samples, which can then be read in pieces.
    pub fn record(self) -> Result<Recorded, RunDirError> {
        let Run {
            plan, env, events, ..
        } = self.without_samples()?;
        let path = self.path().to_owned();
        let samples = Samples::open(self.0, &plan)?;
        if let Some(recorded) = env.samples.filter(|recorded| *recorded != samples.count()) {
            let message = format!(
                "{} of its {recorded} operations are in the files of samples: some are missing, or are those of another \
                 run",
                samples.count()
            );
            return Err(damaged(&path, message));
        }
        Ok(Recorded {
            samples,
            plan,
            env,
            events,
        })
    }

    /// Reads everything except its samples, whatever their state.
    pub fn without_samples(&self) -> Result<Run, RunDirError> {
        Ok(Run {
            plan: read::plan(&self.0)?,
            env: read::environment(&self.0)?,
            events: read::events(&self.0)?,
            samples: Vec::new(),
        })
    }
}

/// The directory of the loads beside a run.
fn beside(run: &Folder) -> Result<Option<Folder>, RunDirError> {
    let mut entries = run.entries()?.into_iter();
    let beside = entries.find(|entry| entry.name == BESIDE);
    beside.map(|entry| run.folder(entry.name)).transpose()
}

/// Names of the files of a run, the plan last, so that the rest after a failed removal is still
/// recognised as a run.
fn files_among(
    entries: impl Iterator<Item = FolderEntry>,
    run: &Folder,
) -> Result<Vec<OsString>, RunDirError> {
    let mut files = Vec::new();
    for FolderEntry { name, kind, .. } in entries {
        if kind != FileType::RegularFile || !is_of_run(&name) {
            let message = "is not a file of the run; nothing is removed";
            return Err(damaged(&run.path().join(name), message.to_owned()));
        }
        files.push(name);
    }
    files.sort_by_key(|file| file == PLAN);
    Ok(files)
}

/// Removes the directory of a run that has ended.
///
/// # Errors
/// The path is not the directory of a run by the name of that run, the run goes on, the directory
/// has a file that does not belong to the run, or a file cannot be removed. In the first three
/// cases nothing is removed.
pub fn remove(path: &Path) -> Result<(), RunDirError> {
    let (parent, name) = parent_of(path)?;
    let run = RunFolder(parent.folder(name)?);
    let refused = |message: &str| Err(damaged(path, message.to_owned()));
    if !run.is_run() {
        return refused("is not the directory of a run");
    }
    if run.goes_on() {
        return refused("the run has not ended");
    }
    empty(&run.0, run.0.entries()?)?;
    parent.remove_folder(name)
}

/// Removes a run that is being recorded, and nothing else: also its directory if that was made for
/// it and still has the same name.
pub(crate) fn discard(run: &Folder, is_made: bool) -> Result<(), RunDirError> {
    let mut made = run.entries()?;
    made.retain(|entry| is_of_run(&entry.name) || entry.name == BESIDE);
    empty(run, made)?;
    if !is_made {
        return Ok(());
    }
    let reference = run.reference()?;
    match parent_of(run.path()) {
        Ok((parent, name))
            if parent
                .folder(name)
                .is_ok_and(|found| reference.same(found).is_ok()) =>
        {
            // Fails if another file was put into it.
            let _ = parent.remove_folder(name);
        }
        _ => {}
    }
    Ok(())
}

/// The parent directory of this one, and its name there.
fn parent_of(path: &Path) -> Result<(Folder, &OsStr), RunDirError> {
    let named = path.parent().zip(path.file_name());
    let (parent, name) = named.ok_or_else(|| {
        let message = "leads to a directory without its name; name it as what is above it does";
        damaged(path, message.to_owned())
    })?;
    Ok((Folder::open(parent)?, name))
}

/// Removes these files of a run and the loads beside it; removes nothing if there is any other
/// file.
fn empty(run: &Folder, entries: Vec<FolderEntry>) -> Result<(), RunDirError> {
    let beside = beside(run)?;
    let entries = entries.into_iter();
    let files = files_among(entries.filter(|entry| entry.name != BESIDE), run)?;
    let remove = |folder: &Folder, files: &[OsString]| -> Result<(), RunDirError> {
        files.iter().try_for_each(|file| folder.remove_file(file))
    };
    if let Some(beside) = beside {
        let looked_at = |FolderEntry { name, .. }| {
            let load = beside.folder(&name)?;
            Ok((
                load.reference()?,
                files_among(load.entries()?.into_iter(), &load)?,
                name,
            ))
        };
        let loads = beside.entries()?.into_iter().map(looked_at);
        for (reference, files, name) in loads.collect::<Result<Vec<_>, RunDirError>>()? {
            remove(&reference.same(beside.folder(&name)?)?, &files)?;
            beside.remove_folder(&name)?;
        }
        run.remove_folder(BESIDE)?;
    }
    remove(run, &files)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::names::ENV;
    use crate::tests::{env, plan};
    use crate::{RunDir, is_run, load};

    fn run_in(path: &Path) -> RunDir {
        RunDir::create(path, &plan(), "suite: s\n", &env()).unwrap()
    }

    #[test]
    fn a_run_is_removed_when_it_is_over_and_with_the_loads_beside_it() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("run");
        let run = run_in(&path);
        let beside = run_in(&path.join(BESIDE).join("load"));
        let folder = RunFolder::open(&path).unwrap();
        assert!(folder.goes_on() && folder.size() > 500);
        let refused = remove(&path).unwrap_err().to_string();
        assert!(refused.ends_with("the run has not ended"), "{refused}");
        drop((run, beside));
        assert!(!folder.goes_on());
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
        // A link to a run elsewhere must not be removed.
        let link = home.path().join("link");
        fs::remove_file(path.join("notes.txt")).unwrap();
        symlink(&path, &link).unwrap();
        assert!(remove(&link).is_err());
        assert!(is_run(&path), "what the link names is still there");
    }

    #[test]
    fn a_load_beside_that_is_a_link_is_another_run() {
        let home = tempfile::tempdir().unwrap();
        let (path, other) = (home.path().join("run"), home.path().join("other"));
        drop((run_in(&path), run_in(&other)));
        fs::create_dir(path.join(BESIDE)).unwrap();
        symlink(&other, path.join(BESIDE).join("load")).unwrap();
        let refused = remove(&path).unwrap_err().to_string();
        assert!(refused.ends_with("is followed"), "{refused}");
        fs::rename(path.join(BESIDE), home.path().join("loads")).unwrap();
        symlink(home.path().join("loads"), path.join(BESIDE)).unwrap();
        assert!(remove(&path).is_err());
        assert!(remove(&home.path().join("loads/load/")).is_err());
        assert!(is_run(&path) && is_run(&other) && load(&other).is_ok());
        let folder = RunFolder::open(&path).unwrap();
        for name in ["load", "..", ".", "", "load/..", "/", "../../other"] {
            assert!(folder.load_beside(name).is_err(), "{name}");
        }
        assert!(folder.size() < 2 * RunFolder::open(&other).unwrap().size());
    }

    /// Replaces each file of a run by `put`, and reads and removes the run.
    fn instead_of_each_file(put: impl Fn(&Path)) {
        for name in [PLAN, ENV, EVENTS, "samples-00001.parquet"] {
            let home = tempfile::tempdir().unwrap();
            let path = home.path().join("run");
            let run = run_in(&path);
            let mut samples = run.samples_writer(&plan());
            samples.write(&[record::Sample::blank()]).unwrap();
            samples.finish().unwrap();
            drop(run);
            load(&path).unwrap();
            fs::rename(path.join(name), home.path().join(name)).unwrap();
            put(&path.join(name));
            let failed = load(&path).unwrap_err().to_string();
            assert!(failed.ends_with("is followed"), "{failed}");
            let folder = RunFolder::open(&path).unwrap();
            assert!(!folder.goes_on() && folder.size() < 10_000);
            assert_eq!(folder.begun().is_some(), name != PLAN);
            assert!(remove(&path).is_err() && path.join(PLAN).symlink_metadata().is_ok());
        }
    }

    #[test]
    fn links_are_not_read() {
        instead_of_each_file(|path| symlink("/dev/zero", path).unwrap());
        // A link to the file itself.
        instead_of_each_file(|path| {
            symlink(Path::new("..").join(path.file_name().unwrap()), path).unwrap();
            symlink(".", path.with_file_name("b")).unwrap();
        });
    }

    #[test]
    fn nobody_waits_for_a_pipe() {
        let mode = rustix::fs::Mode::RWXU;
        let (cwd, kind) = (rustix::fs::CWD, FileType::Fifo);
        instead_of_each_file(|path| rustix::fs::mknodat(cwd, path, kind, mode, 0).unwrap());
        instead_of_each_file(|path| drop(std::os::unix::net::UnixListener::bind(path).unwrap()));
        instead_of_each_file(|path| fs::create_dir(path).unwrap());
    }

    #[test]
    fn a_run_with_nothing_to_record_is_discarded_while_it_goes_on() {
        let home = tempfile::tempdir().unwrap();
        let run = run_in(&home.path().join("run"));
        run.discard().unwrap();
        assert!(!run.path().exists());
    }

    #[test]
    fn a_directory_that_was_there_stays_with_what_was_in_it() {
        let home = tempfile::tempdir().unwrap();
        fs::write(home.path().join("notes.txt"), "mine").unwrap();
        run_in(home.path()).discard().unwrap();
        let left: Vec<_> = fs::read_dir(home.path()).unwrap().flatten().collect();
        assert!(matches!(&left[..], [note] if note.file_name() == "notes.txt"));
    }
}
