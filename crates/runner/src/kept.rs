//! A kept run: its record without the samples, and their summary.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::RunnerError;
use crate::sample_sink::{Drawn, drawn, summary_of_kept};
use record::{ConstraintRecord, EventKind, Run};
use report::page::PageRun;
use report::{BesideResult, Diagnosed};
use rundir::{Recorded, RunDirError, RunFolder};
use stats::{Details, Material, Side, Summary};

/// A kept run, or several of one server, pooled.
pub struct KeptRun {
    /// The record; of several runs, that of the first with the most rows.
    pub run: Run,
    /// Its summary.
    pub summary: Summary,
    /// Details for figures, where requested.
    pub details: Option<Vec<Details>>,
    /// Findings, where shown.
    pub diagnosed: Option<Diagnosed>,
    /// Material of a diagnosis, where its series is diagnosed.
    pub material: Option<Material>,
    /// Directory of `run`.
    pub path: String,
}

impl KeptRun {
    /// A run that has just ended.
    pub fn new(run: Run, summary: Summary, path: String) -> KeptRun {
        KeptRun {
            run,
            summary,
            details: None,
            diagnosed: None,
            material: None,
            path,
        }
    }

    /// Reads the run of a directory.
    ///
    /// # Errors
    ///
    /// The directory is not a run, or cannot be read.
    pub fn read(path: &Path, reading: RecordReading<'_>) -> Result<KeptRun, RunnerError> {
        KeptRun::of(RunFolder::open(path), reading)
    }

    /// A load of this name beside another run, for a report.
    pub fn beside((name, load): &(String, KeptRun)) -> BesideResult<'_> {
        BesideResult {
            name,
            run: &load.run,
            summary: &load.summary,
        }
    }

    /// Reads the run of a directory.
    pub fn of(
        folder: Result<RunFolder, RunDirError>,
        reading: RecordReading<'_>,
    ) -> Result<KeptRun, RunnerError> {
        let folder = folder.map_err(|error| RunnerError::Usage(error.to_string()))?;
        let path = folder.path().display().to_string();
        let recorded = reading.labelled(folder.record())?;
        let summary = summary_of_kept(&recorded).map_err(RunnerError::Usage)?;
        Ok(KeptRun::new(recorded.into_run(), summary, path))
    }

    /// Reads and pools at least one run of one server, with details for figures of `servers`
    /// servers.
    pub fn pooled(
        paths: &[PathBuf],
        servers: usize,
        reading: RecordReading<'_>,
    ) -> Result<KeptRun, RunnerError> {
        let opened = paths.iter().map(|path| reading.open(path));
        let mut recorded = opened.collect::<Result<Vec<Recorded>, RunnerError>>()?;
        let rows = servers * recorded[0].plan.measures.len();
        let Drawn {
            summary,
            details,
            diagnosed,
            base,
        } = drawn(&recorded, rows).map_err(RunnerError::Usage)?;
        let path = paths[base].display().to_string();
        Ok(KeptRun {
            details: Some(details),
            diagnosed: Some(diagnosed),
            ..KeptRun::new(recorded.swap_remove(base).into_run(), summary, path)
        })
    }

    /// The run as one side of a comparison.
    pub fn side(&self) -> Side<'_> {
        Side {
            plan: &self.run.plan,
            env: &self.run.env,
            summary: &self.summary,
        }
    }

    /// The run for a page, under this name.
    pub fn page_run(&self, name: Option<String>) -> PageRun<'_> {
        PageRun {
            name,
            run: &self.run,
            summary: &self.summary,
            details: self.details.clone(),
        }
    }

    /// Duration of each test, with its preparation and clean-up.
    pub(crate) fn time_of_tests(&self) -> BTreeMap<String, Duration> {
        let mut started = BTreeMap::new();
        let mut times = BTreeMap::new();
        for event in &self.run.events {
            match event.kind {
                EventKind::TestStarted { test } => {
                    started.insert(test, event.at);
                }
                EventKind::TestEnded { test } => {
                    let took = event.at - started.get(&test).copied().unwrap_or(event.at);
                    if let Some(record) = self.run.plan.tests.get(usize::from(test.0)) {
                        times.insert(record.name.clone(), Duration::from_nanos(took));
                    }
                }
                _ => {}
            }
        }
        times
    }
}

/// Replacements for parts of a record.
#[derive(Debug, Clone, Copy, Default)]
pub struct RecordReading<'a> {
    /// Constraints in place of its own.
    pub constraints: Option<&'a [ConstraintRecord]>,
    /// Name of the server in reports, in place of its label.
    pub label: Option<&'a str>,
}

impl RecordReading<'_> {
    /// Opens a record, for a report of it.
    pub fn open(self, path: &Path) -> Result<Recorded, RunnerError> {
        self.labelled(rundir::open(path))
    }

    fn labelled(self, opened: Result<Recorded, RunDirError>) -> Result<Recorded, RunnerError> {
        let mut recorded = opened.map_err(|error| RunnerError::Usage(error.to_string()))?;
        if let Some(constraints) = self.constraints {
            recorded.plan.constraints = constraints.to_vec();
        }
        if let Some(label) = self.label {
            recorded.plan.label = Some(label.to_owned());
        }
        let Recorded {
            plan, env, events, ..
        } = &mut recorded;
        report::apply_label(plan, env, events);
        Ok(recorded)
    }
}

/// Opens a record, for a report of it.
///
/// # Errors
///
/// It does not exist, or cannot be read.
pub fn open(path: &Path) -> Result<Recorded, RunnerError> {
    RecordReading::default().open(path)
}

/// Notes about caches and addresses that responded in these runs.
pub fn origins<'r>(ran: impl IntoIterator<Item = &'r KeptRun>) -> Vec<String> {
    let warnings = stats::origin_warnings(ran.into_iter().flat_map(|one| &one.summary.tests));
    warnings.iter().map(report::warning).collect()
}
