//! The run directory: everything that is recorded of a run, in formats that other programs read.
//!
//! The engine writes it as a run goes on, and reports read it. It depends only on the types of
//! `record`.
//!
//! | file | content |
//! |---|---|
//! | `plan.yaml` | the plan: suite, parameters, load |
//! | `suite.yaml` | the text of the suite |
//! | `env.json` | both ends: machine, server, start and end |
//! | `events.jsonl` | events beside the measured operations, one per line |
//! | `samples-00001.parquet`... | one row for every measured operation, with its five moments |
//!
//! All of them can be read while the run goes on, and after it was killed: samples and events up to
//! the last second. A run whose `env.json` has no end was killed, is still going on, or could not
//! be written to its end; in this case the last event has the reason. Files are readable by their
//! owner only.
//!
//! A run of moderate size is read as a whole ([`load`]), a large one in pieces ([`open`]). A run of
//! another [layout](record::RUN_FORMAT) is refused.

mod checked;
mod columns;
mod error;
mod files;
mod folder;
mod kept;
mod names;
mod pieces;
mod read;
mod samples;
#[cfg(test)]
mod tests;

use std::fs::{DirBuilder, File};
use std::io::{self, Seek, SeekFrom, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use record::{Environment, Event, EventKind, Nanos, PlanRecord, Run};

use error::{damaged, writing};
use files::replace;
use folder::Folder;
use names::{ENV, EVENTS, PLAN, SUITE, is_of_run};
use samples::segment_number;

pub use error::RunDirError;
pub use kept::{RunFolder, remove};
pub use names::{BESIDE, PACKETS};
pub use pieces::Pieces;
pub use samples::{Samples, SamplesWriter};

/// A run directory that is being written.
#[derive(Debug)]
pub struct RunDir {
    folder: Arc<Folder>,
    events: Mutex<EventsFile>,
    began: Arc<OnceLock<String>>,
    /// The directory did not exist before.
    is_made: bool,
}

/// `events.jsonl`, as far as it could be written.
#[derive(Debug)]
struct EventsFile {
    file: File,
    /// Bytes of complete lines.
    length: u64,
    /// Time of the last event.
    at: Nanos,
    /// The reason why later events are missing.
    failure: Option<String>,
}

impl RunDir {
    /// Makes the directory, which must not hold a run, and writes everything that is known before
    /// the run. If that fails, the directory is removed.
    ///
    /// # Errors
    /// The directory cannot be written, or holds files of a run already.
    pub fn create(
        path: &Path,
        plan: &PlanRecord,
        suite_text: &str,
        env: &Environment,
    ) -> Result<RunDir, RunDirError> {
        let plan = read::plan_text(plan, &path.join(PLAN), read::MOST_VALUES)?;
        let is_made = !path.exists();
        // A suite and its parameters may be confidential.
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(path)
            .map_err(|error| writing(path, error))?;
        let folder = Folder::open(path)?;
        refuse_another_run(&folder)?;
        // Before the plan, by which a run is recognised: a running run is locked from the
        // beginning. If another process has made this file in the meantime, nothing is removed.
        let file = folder.create(EVENTS).inspect_err(|_| {
            let _ = is_made.then(|| std::fs::remove_dir(path));
        })?;
        // On a file system without locks, the run is recorded without one.
        let _ = file.try_lock();
        let written = write_plan(&folder, &plan, suite_text, env);
        written.inspect_err(|_| {
            // The reported error is the one of writing.
            let _ = kept::discard(&folder, is_made);
        })?;
        Ok(RunDir {
            is_made,
            began: Arc::default(),
            folder: Arc::new(folder),
            events: Mutex::new(EventsFile {
                file,
                length: 0,
                at: 0,
                failure: None,
            }),
        })
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Appends an event. If that fails, no later event is written, and [`Self::complete`] returns
    /// the reason.
    pub fn append(&self, event: &Event) {
        let mut events = self.events();
        if events.failure.is_none()
            && let Err(error) = events.append(event)
        {
            events.failure = Some(writing(&self.path().join(EVENTS), error).to_string());
        }
    }

    /// Sets the start of the run (RFC 3339, UTC), which files of samples have as `started_at`.
    pub fn began(&self, started_at: &str) {
        // A run begins only once.
        let _ = self.began.set(started_at.to_owned());
    }

    /// Begins to write samples.
    pub fn samples_writer(&self, plan: &PlanRecord) -> SamplesWriter {
        SamplesWriter::create(self.folder.clone(), plan, self.began.clone())
    }

    /// True if samples are saved in it.
    pub fn has_samples(&self) -> bool {
        let mut entries = self.folder.entries().unwrap_or_default().into_iter();
        entries.any(|entry| segment_number(&entry.name).is_some())
    }

    /// Writes everything that is known at the end of the run. `samples` is an error if some could
    /// not be written. An incomplete record gets no end, and its last event has the reason, if
    /// there is space for it.
    ///
    /// # Errors
    /// The reason why the record is not complete.
    pub fn complete(
        &self,
        mut env: Environment,
        samples: Result<(), String>,
    ) -> Result<(), String> {
        let mut events = self.events();
        let written = samples.and(events.failure.take().map_or(Ok(()), Err));
        if let Err(why) = &written {
            let reason = format!("the record is not complete: {why}");
            let (at, kind) = (events.at, EventKind::Aborted { reason });
            // If this fails as well, the missing end shows it.
            let _ = events.append(&Event { at, kind });
            (env.ended_at, env.samples) = (None, None);
        }
        let replaced = replace(&self.folder, ENV, &env_json(&env));
        written.and(replaced.map_err(|error| error.to_string()))
    }

    /// Removes the record of a run that has nothing to record.
    ///
    /// # Errors
    /// A file cannot be removed, or does not belong to the run.
    pub fn discard(&self) -> Result<(), RunDirError> {
        kept::discard(&self.folder, self.is_made)
    }

    fn events(&self) -> MutexGuard<'_, EventsFile> {
        self.events.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl EventsFile {
    /// Appends a line. An incomplete line is removed again, so that the earlier ones can be read.
    fn append(&mut self, event: &Event) -> io::Result<()> {
        let mut line = serde_json::to_string(event).unwrap_or_default();
        line.push('\n');
        if let Err(error) = self.file.write_all(line.as_bytes()) {
            // For the reader, half a line is the end, so nothing must follow one.
            let trimmed = self.file.set_len(self.length);
            let _ = trimmed.and_then(|()| self.file.seek(SeekFrom::Start(self.length)));
            return Err(error);
        }
        self.length += line.len() as u64;
        self.at = event.at;
        Ok(())
    }
}

/// Writes everything that is known before a run, and opens the file of events.
fn write_plan(
    folder: &Folder,
    plan: &str,
    suite_text: &str,
    env: &Environment,
) -> Result<(), RunDirError> {
    let path = folder.path();
    let write = |name: &str, bytes: &[u8]| {
        let written = folder.create(name)?.write_all(bytes);
        written.map_err(|error| writing(&path.join(name), error))
    };
    write(PLAN, plan.as_bytes())?;
    write(SUITE, suite_text.as_bytes())?;
    write(ENV, &env_json(env))
}

/// Refuses a directory with files of a run.
fn refuse_another_run(folder: &Folder) -> Result<(), RunDirError> {
    for entry in folder.entries()? {
        if is_of_run(&entry.name) || entry.name == BESIDE {
            let name = entry.name.display();
            let message = format!("there is a run in this directory already ({name})");
            return Err(damaged(folder.path(), message));
        }
    }
    Ok(())
}

/// A recorded run whose samples are still on disk.
#[derive(Debug)]
pub struct Recorded {
    /// Its plan.
    pub plan: PlanRecord,
    /// Its environment.
    pub env: Environment,
    /// Events beside the measured operations, in order.
    pub events: Vec<Event>,
    /// One entry for every measured operation.
    pub samples: Samples,
}

impl Recorded {
    /// The run without its samples.
    pub fn into_run(self) -> Run {
        Run {
            plan: self.plan,
            env: self.env,
            events: self.events,
            samples: Vec::new(),
        }
    }
}

/// Reads a run directory as a whole.
///
/// # Errors
/// A file is missing, damaged, or written by another version.
pub fn load(path: &Path) -> Result<Run, RunDirError> {
    let Recorded {
        plan,
        env,
        events,
        samples,
    } = open(path)?;
    Ok(Run {
        plan,
        env,
        events,
        samples: samples.read()?,
    })
}

/// Reads a run directory except its samples, which can then be read in pieces.
pub fn open(path: &Path) -> Result<Recorded, RunDirError> {
    RunFolder::open(path)?.record()
}

/// True if a directory holds a run.
pub fn is_run(path: &Path) -> bool {
    RunFolder::open(path).is_ok_and(|folder| folder.is_run())
}

fn env_json(env: &Environment) -> Vec<u8> {
    let mut json = serde_json::to_vec_pretty(env).unwrap_or_default();
    json.push(b'\n');
    json
}
