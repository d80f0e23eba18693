//! The run directory: everything a run leaves behind, in formats that other programs read.
//!
//! | file | what |
//! |---|---|
//! | `plan.yaml` | what was to be done: suite, parameters, load |
//! | `suite.yaml` | the text of the suite |
//! | `env.json` | both ends: machine, server, start and end |
//! | `events.jsonl` | what happened beside the measured operations, a line each |
//! | `samples.parquet` | one row for every measured operation, with its five moments |
//!
//! The first four are on disk while the run goes on; samples are written as they come, to
//! `samples.parquet.part`, which gets its name when it is complete. A directory without
//! `samples.parquet` is that of a run that was killed.
//!
//! A run of moderate size is read as a whole ([`load`]), a large one in pieces ([`open`]).

mod columns;
mod pieces;
mod samples;
#[cfg(test)]
mod tests;

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use record::{Environment, Event, EventKind, PlanRecord, RUN_FORMAT, Run};

pub use pieces::Pieces;
pub use samples::{Samples, SamplesWriter};

/// What goes wrong with run directories.
#[derive(Debug, thiserror::Error)]
pub enum RunDirError {
    /// A file cannot be read or written.
    #[error("{what} {} failed: {source}", path.display())]
    Io {
        /// `reading` or `writing`.
        what: &'static str,
        /// Which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file is not what it should be.
    #[error("{}: {message}", path.display())]
    Damaged {
        /// Which file.
        path: PathBuf,
        /// What is wrong with it.
        message: String,
    },
}

const PLAN: &str = "plan.yaml";
const SUITE: &str = "suite.yaml";
const ENV: &str = "env.json";
const EVENTS: &str = "events.jsonl";
const SAMPLES: &str = "samples.parquet";

/// A run directory being written.
#[derive(Debug)]
pub struct RunDir {
    path: PathBuf,
    events: Mutex<File>,
}

impl RunDir {
    /// Makes the directory, which must not hold a run, and writes what is known before the run.
    ///
    /// # Errors
    /// When it cannot be written, or holds a run already.
    pub fn create(
        path: &Path,
        plan: &PlanRecord,
        suite_text: &str,
        env: &Environment,
    ) -> Result<RunDir, RunDirError> {
        let plan_path = path.join(PLAN);
        if plan_path.exists() {
            return Err(RunDirError::Damaged {
                path: path.to_owned(),
                message: "there is a run in this directory already; choose another one".to_owned(),
            });
        }
        // A suite and its parameters may hold what others on this machine should not read.
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(path)
            .map_err(|error| writing(path, error))?;
        let yaml = serde_saphyr::to_string(plan).map_err(|error| RunDirError::Damaged {
            path: plan_path.clone(),
            message: format!("cannot be expressed: {error}"),
        })?;
        write(&plan_path, yaml.as_bytes())?;
        write(&path.join(SUITE), suite_text.as_bytes())?;
        write_env(path, env)?;
        let events_path = path.join(EVENTS);
        let events = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&events_path)
            .map_err(|error| writing(&events_path, error))?;
        Ok(RunDir {
            path: path.to_owned(),
            events: Mutex::new(events),
        })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Appends an event.
    ///
    /// # Errors
    /// When the file cannot be written; the event is in the record of the run all the same.
    pub fn append(&self, event: &Event) -> Result<(), RunDirError> {
        let mut line = serde_json::to_string(event).unwrap_or_default();
        line.push('\n');
        let mut file = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        let path = self.path.join(EVENTS);
        file.write_all(line.as_bytes())
            .map_err(|error| writing(&path, error))
    }

    /// Begins to write samples.
    ///
    /// # Errors
    /// When the file cannot be made.
    pub fn samples_writer(&self, plan: &PlanRecord) -> Result<SamplesWriter, RunDirError> {
        SamplesWriter::create(self.path.join(SAMPLES), plan)
    }

    /// Writes what is only known afterwards about both ends.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write_env(&self, env: &Environment) -> Result<(), RunDirError> {
        write_env(&self.path, env)
    }
}

/// A recorded run whose samples are still on disk.
#[derive(Debug)]
pub struct Recorded {
    /// What was to be done.
    pub plan: PlanRecord,
    /// Where it was done.
    pub env: Environment,
    /// What happened beside the measured operations, in order.
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
/// When a file is missing, damaged, or written by another version.
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

/// Reads a run directory but for its samples, which can then be read in pieces.
///
/// # Errors
/// When a file is missing, damaged, or written by another version.
pub fn open(path: &Path) -> Result<Recorded, RunDirError> {
    let plan_path = path.join(PLAN);
    let text = read(&plan_path)?;
    let damaged = |path: &Path, message: String| RunDirError::Damaged {
        path: path.to_owned(),
        message,
    };
    let plan: PlanRecord = serde_saphyr::from_str(&text)
        .map_err(|error| damaged(&plan_path, format!("is no plan: {error}")))?;
    if plan.format != RUN_FORMAT {
        return Err(damaged(
            &plan_path,
            format!(
                "has format {}; this version reads {RUN_FORMAT}",
                plan.format
            ),
        ));
    }
    let env_path = path.join(ENV);
    let env: Environment = serde_json::from_str(&read(&env_path)?)
        .map_err(|error| damaged(&env_path, error.to_string()))?;
    let mut events = read_events(&path.join(EVENTS))?;
    let samples_path = path.join(SAMPLES);
    let samples = match samples_path.exists() {
        true => Samples::open(samples_path, &plan)?,
        false => {
            let at = events.last().map_or(0, |event: &Event| event.at);
            let reason = "the run was killed: its directory has no samples".to_owned();
            events.push(Event {
                at,
                kind: EventKind::Aborted { reason },
            });
            Samples::none(samples_path)
        }
    };
    Ok(Recorded {
        plan,
        env,
        events,
        samples,
    })
}

/// Whether a directory holds a run.
pub fn is_run(path: &Path) -> bool {
    path.join(PLAN).is_file()
}

/// When the run in a directory began; `None` where there is none. The plan is written first and
/// never again, and not every file system knows when a directory was created.
pub fn begun(path: &Path) -> Option<SystemTime> {
    fs::metadata(path.join(PLAN)).ok()?.modified().ok()
}

fn read_events(path: &Path) -> Result<Vec<Event>, RunDirError> {
    let file = File::open(path).map_err(|error| reading(path, error))?;
    let mut events = Vec::new();
    let mut lines = BufReader::new(file).lines().enumerate().peekable();
    while let Some((number, line)) = lines.next() {
        let line = line.map_err(|error| reading(path, error))?;
        match serde_json::from_str(&line) {
            Ok(event) => events.push(event),
            // A killed run may have left half a line.
            Err(_) if lines.peek().is_none() => {}
            Err(error) => {
                return Err(RunDirError::Damaged {
                    path: path.to_owned(),
                    message: format!("line {}: {error}", number + 1),
                });
            }
        }
    }
    Ok(events)
}

fn write_env(path: &Path, env: &Environment) -> Result<(), RunDirError> {
    let mut json = serde_json::to_string_pretty(env).unwrap_or_default();
    json.push('\n');
    write(&path.join(ENV), json.as_bytes())
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), RunDirError> {
    fs::write(path, bytes).map_err(|error| writing(path, error))
}

fn read(path: &Path) -> Result<String, RunDirError> {
    fs::read_to_string(path).map_err(|error| reading(path, error))
}

fn writing(path: &Path, source: io::Error) -> RunDirError {
    RunDirError::Io {
        what: "writing",
        path: path.to_owned(),
        source,
    }
}

fn reading(path: &Path, source: io::Error) -> RunDirError {
    RunDirError::Io {
        what: "reading",
        path: path.to_owned(),
        source,
    }
}
