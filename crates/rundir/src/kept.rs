//! What can be done with a recorded run: reading it, its size, whether it goes on, and its removal.

use std::fs::{self, File, TryLockError};
use std::path::Path;
use std::time::SystemTime;

use record::Run;
use rustix::fs::FileType;

use crate::folder::{Folder, FolderEntry};
use crate::samples::is_of_samples;
use crate::{
    BESIDE, ENV, EVENTS, PACKETS, PLAN, Recorded, RunDirError, SUITE, Samples, damaged, read,
    writing,
};

/// The directory of a recorded run, opened. Nothing in it is followed.
#[derive(Debug)]
pub struct RunFolder(Folder);

impl RunFolder {
    /// Opens a directory, whatever is in it.
    ///
    /// # Errors
    /// When there is none.
    pub fn open(path: &Path) -> Result<RunFolder, RunDirError> {
        Folder::open(path).map(RunFolder)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// The directory of a load beside it.
    ///
    /// # Errors
    /// When there is none of that name.
    pub fn load_beside(&self, name: &str) -> Result<RunFolder, RunDirError> {
        self.0.folder(BESIDE)?.folder(name).map(RunFolder)
    }

    /// The directories of all loads beside it.
    ///
    /// # Errors
    /// When they cannot be opened, or something else is among them.
    pub fn loads_beside(&self) -> Result<Vec<RunFolder>, RunDirError> {
        self.beside()?.as_ref().map_or(Ok(Vec::new()), loads_in)
    }

    fn beside(&self) -> Result<Option<Folder>, RunDirError> {
        let mut entries = self.0.entries()?.into_iter();
        let beside = entries.find(|entry| entry.name == BESIDE);
        beside.map(|entry| self.0.folder(&entry.name)).transpose()
    }

    /// Whether it holds a run.
    pub fn is_run(&self) -> bool {
        self.0.has(PLAN)
    }

    /// When its run began; `None` where there is none. The plan is written first and never again, and not every
    /// file system knows when a directory was created.
    pub fn begun(&self) -> Option<SystemTime> {
        let plan = self.0.file(PLAN).ok()?;
        plan.metadata().ok()?.modified().ok()
    }

    /// Whether the run is being recorded: its process holds a lock on the events.
    pub fn goes_on(&self) -> bool {
        let events = self.0.file(EVENTS);
        events.is_ok_and(|events| matches!(events.try_lock_shared(), Err(TryLockError::WouldBlock)))
    }

    /// Bytes of the files of the run, with those of the loads beside it.
    pub fn size(&self) -> u64 {
        let own = |run: &RunFolder| -> u64 {
            let entries = run.0.entries().unwrap_or_default().into_iter();
            let files = entries.filter(|entry| entry.kind == FileType::RegularFile);
            files.map(|file| file.bytes).sum()
        };
        let beside = self.loads_beside().unwrap_or_default();
        own(self) + beside.iter().map(own).sum::<u64>()
    }

    /// The packets between the run and its servers; `None` where none were recorded.
    ///
    /// # Errors
    /// When they cannot be opened.
    pub fn packets(&self) -> Result<Option<File>, RunDirError> {
        let has_packets = self.0.has(PACKETS);
        has_packets.then(|| self.0.file(PACKETS)).transpose()
    }

    /// Reads all but its samples, which can then be read in pieces.
    ///
    /// # Errors
    /// When a file is missing, damaged, or written by another version.
    pub fn record(self) -> Result<Recorded, RunDirError> {
        let Run {
            plan, env, events, ..
        } = self.without_samples()?;
        Ok(Recorded {
            samples: Samples::open(self.0, &plan)?,
            plan,
            env,
            events,
        })
    }

    /// Reads all but its samples, whatever their state.
    ///
    /// # Errors
    /// When a file is missing, damaged, or written by another version.
    pub fn without_samples(&self) -> Result<Run, RunDirError> {
        Ok(Run {
            plan: read::plan(&self.0)?,
            env: read::environment(&self.0)?,
            events: read::events(&self.0)?,
            samples: Vec::new(),
        })
    }

    /// The files of its run, the plan last, so that what is left of a removal that failed is still known as a run.
    /// `other` may be there, too.
    fn files(&self, other: Option<&str>) -> Result<Vec<String>, RunDirError> {
        let mut files = Vec::new();
        for FolderEntry { name, kind, .. } in self.0.entries()? {
            let whole = name.strip_suffix(".part").unwrap_or(&name);
            let is_known = [PLAN, SUITE, ENV, EVENTS, PACKETS].contains(&whole);
            if kind == FileType::RegularFile && (is_known || is_of_samples(&name)) {
                files.push(name);
            } else if other != Some(&*name) {
                let message = "is not a file of the run; nothing is removed";
                return Err(damaged(&self.path().join(name), message.to_owned()));
            }
        }
        files.sort_by_key(|file| file == PLAN);
        Ok(files)
    }

    fn remove_files(&self, files: &[String]) -> Result<(), RunDirError> {
        files.iter().try_for_each(|file| self.0.remove_file(file))
    }
}

/// The runs in the directory of loads.
fn loads_in(beside: &Folder) -> Result<Vec<RunFolder>, RunDirError> {
    let loads = beside.entries()?;
    let open = |load: &FolderEntry| beside.folder(&load.name).map(RunFolder);
    loads.iter().map(open).collect()
}

/// Removes the directory of a run that is over.
///
/// # Errors
/// When it is not the directory of a run, the run goes on, a file in it is none of the run, or a file
/// cannot be removed. In the first three cases nothing is removed.
pub fn remove(path: &Path) -> Result<(), RunDirError> {
    let run = RunFolder(Folder::open_itself(path)?);
    let refused = |message: &str| Err(damaged(path, message.to_owned()));
    if !run.is_run() {
        return refused("is not the directory of a run");
    }
    if run.goes_on() {
        return refused("the run has not ended");
    }
    remove_files(run)
}

/// The same, whether or not the run is over.
pub(crate) fn remove_files(run: RunFolder) -> Result<(), RunDirError> {
    let beside = run.beside()?;
    let loads = beside.as_ref().map_or(Ok(Vec::new()), loads_in)?;
    let own = run.files(Some(BESIDE))?;
    let of_loads = loads.iter().map(|load| Ok((load, load.files(None)?)));
    let of_loads: Vec<_> = of_loads.collect::<Result<_, RunDirError>>()?;
    if let Some(beside) = beside {
        for (load, files) in of_loads {
            load.remove_files(&files)?;
            beside.remove_folder(&name_of(load))?;
        }
        run.0.remove_folder(BESIDE)?;
    }
    run.remove_files(&own)?;
    fs::remove_dir(run.path()).map_err(|error| writing(run.path(), error))
}

fn name_of(load: &RunFolder) -> String {
    let name = load.path().file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
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
        // A link to a run elsewhere is no run of ours to remove.
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

    /// Puts something in the place of each file of a run, and has the run read and removed.
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
        instead_of_each_file(|place| symlink("/dev/zero", place).unwrap());
        // To the file itself.
        instead_of_each_file(|place| {
            symlink(Path::new("..").join(place.file_name().unwrap()), place).unwrap();
            symlink(".", place.with_file_name("b")).unwrap();
        });
    }

    #[test]
    fn nobody_waits_for_a_pipe() {
        let mode = rustix::fs::Mode::RWXU;
        let (own, kind) = (rustix::fs::CWD, FileType::Fifo);
        instead_of_each_file(|place| rustix::fs::mknodat(own, place, kind, mode, 0).unwrap());
        instead_of_each_file(|place| drop(std::os::unix::net::UnixListener::bind(place).unwrap()));
        instead_of_each_file(|place| fs::create_dir(place).unwrap());
    }

    #[test]
    fn a_run_with_nothing_to_record_is_discarded_while_it_goes_on() {
        let home = tempfile::tempdir().unwrap();
        let run = run_in(&home.path().join("run"));
        run.discard().unwrap();
        assert!(!run.path().exists());
    }
}
