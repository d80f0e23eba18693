//! The directory of a campaign: `campaign.json`, `trials.jsonl`, captures and the page.
//!
//! A trial is a line that is appended when it ends. If a failed trial was measured again, the last
//! line counts. While trials are measured, the file of trials is locked.

use std::fs::{self, File, TryLockError};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use experiment::{CampaignRecord, RecordedTrials, TrialRecord, last_of_each};
use runner::{RunnerError, state};

/// Version of the format of `campaign.json`.
pub(crate) const FORMAT: u32 = 1;

const CAMPAIGN: &str = "campaign.json";
const TRIALS: &str = "trials.jsonl";
const CAPTURES: &str = "captures";
const PAGE: &str = "report.html";

/// Largest file in bytes: more than a campaign of a year has.
const LONGEST: u64 = 1 << 30;

/// A recorded campaign.
#[derive(Debug, Clone)]
pub struct KeptCampaign {
    /// Its directory.
    pub directory: PathBuf,
    /// Its description.
    pub record: CampaignRecord,
    /// Each trial that has ended, once.
    pub trials: Vec<TrialRecord>,
}

#[derive(Debug)]
pub(crate) struct OpenCampaign {
    pub(crate) kept: KeptCampaign,
    file: File,
}

impl KeptCampaign {
    /// Reads the campaign in a directory.
    ///
    /// # Errors
    ///
    /// The directory cannot be read, or has no campaign.
    pub fn read(directory: &Path) -> Result<KeptCampaign, RunnerError> {
        let path = directory.join(CAMPAIGN);
        let record: CampaignRecord = serde_json::from_slice(&read(&path)?)
            .map_err(|error| failed(&path, &format!("it is no record of a campaign: {error}")))?;
        if record.format != FORMAT {
            let format = record.format;
            return Err(failed(
                &path,
                &format!("it has format {format}, of another version of prestan"),
            ));
        }
        let checked = record.experiment.check();
        checked.map_err(|error| failed(&path, &error))?;
        let path = directory.join(TRIALS);
        let bytes = if path.exists() {
            read(&path)?
        } else {
            Vec::new()
        };
        let trials = RecordedTrials::read(&bytes).map_err(|error| failed(&path, &error))?;
        Ok(KeptCampaign {
            directory: directory.to_owned(),
            record,
            trials: latest(&trials.trials),
        })
    }

    /// Trials that are not measured again.
    pub fn measured(&self) -> Vec<TrialRecord> {
        let trials = self.trials.iter();
        trials
            .filter(|trial| trial.failed.is_none())
            .cloned()
            .collect()
    }

    /// Number of planned trials.
    pub fn planned(&self) -> usize {
        self.record.cells.len() * self.record.repetitions as usize
    }

    pub(crate) fn is_finished(&self) -> bool {
        self.measured().len() >= self.planned()
    }

    /// True if it measures the same, with the same programs. Measurements of links always differ.
    pub(crate) fn is_like(&self, other: &CampaignRecord) -> bool {
        let this = &self.record;
        let facts = |record: &CampaignRecord| {
            let mut facts = record.facts.clone();
            facts.retain(|key, _| !key.starts_with(crate::bottleneck::FACT));
            facts
        };
        this.program == other.program
            && this.experiment == other.experiment
            && this.cells == other.cells
            && this.repetitions == other.repetitions
            && facts(this) == facts(other)
    }

    pub(crate) fn captures(&self) -> PathBuf {
        self.directory.join(CAPTURES)
    }

    /// File of the page.
    pub fn page(&self) -> PathBuf {
        self.directory.join(PAGE)
    }
}

impl OpenCampaign {
    /// Begins a campaign in a directory that does not exist, or is empty.
    pub(crate) fn create(
        directory: &Path,
        record: CampaignRecord,
    ) -> Result<OpenCampaign, RunnerError> {
        let making = |error: std::io::Error| writing(directory, &error);
        let is_made = !directory.exists();
        fs::create_dir_all(directory).map_err(making)?;
        if fs::read_dir(directory).map_err(making)?.next().is_some() {
            return Err(RunnerError::Usage(format!(
                "{} is not empty, and has no campaign that this one would go on with; choose another directory",
                directory.display()
            )));
        }
        write_record(directory, &record).inspect_err(|_| {
            // It would be in the way of the next attempt. The reported error is that of writing.
            let _ = fs::remove_file(directory.join(CAMPAIGN));
            let _ = fs::remove_dir(directory.join(CAPTURES));
            let _ = is_made.then(|| fs::remove_dir(directory));
        })?;
        OpenCampaign::open(KeptCampaign {
            directory: directory.to_owned(),
            record,
            trials: Vec::new(),
        })
    }

    /// Resumes a campaign. A line that is incomplete because the program was killed is removed.
    pub(crate) fn open(mut kept: KeptCampaign) -> Result<OpenCampaign, RunnerError> {
        let path = kept.directory.join(TRIALS);
        let failed = |error: std::io::Error| writing(&path, &error);
        let mut options = File::options();
        let options = options.read(true).write(true).create(true).truncate(false);
        let mut file = options.open(&path).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(RunnerError::Usage(format!(
                    "another prestan measures the campaign in {}; wait for its end, or begin a new one with --new",
                    kept.directory.display()
                )));
            }
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
        let bytes = if file.metadata().map_err(failed)?.len() == 0 {
            Vec::new()
        } else {
            read(&path)?
        };
        let trials = RecordedTrials::read(&bytes);
        let trials = trials.map_err(|error| self::failed(&path, &error))?;
        // Trials may have been added before the file was locked.
        kept.trials = latest(&trials.trials);
        let whole = trials.whole_bytes as u64;
        file.set_len(whole).map_err(failed)?;
        file.seek(SeekFrom::Start(whole)).map_err(failed)?;
        Ok(OpenCampaign { kept, file })
    }

    pub(crate) fn add(&mut self, trial: TrialRecord) -> Result<(), RunnerError> {
        let path = self.kept.directory.join(TRIALS);
        let mut line = serde_json::to_string(&trial).map_err(|error| {
            RunnerError::Local(format!("writing the record of a trial: {error}"))
        })?;
        line.push('\n');
        let written = self.file.write_all(line.as_bytes());
        let written = written.and_then(|()| self.file.sync_data());
        written.map_err(|error| writing(&path, &error))?;
        let is_same =
            |kept: &TrialRecord| kept.cell == trial.cell && kept.repetition == trial.repetition;
        self.kept.trials.retain(|trial| !is_same(trial));
        self.kept.trials.push(trial);
        Ok(())
    }
}

fn write_record(directory: &Path, record: &CampaignRecord) -> Result<(), RunnerError> {
    let captures = fs::create_dir(directory.join(CAPTURES));
    captures.map_err(|error| writing(directory, &error))?;
    let path = directory.join(CAMPAIGN);
    let mut text = serde_json::to_string_pretty(record).map_err(|error| {
        RunnerError::Local(format!("writing the record of a campaign: {error}"))
    })?;
    text.push('\n');
    fs::write(&path, text).map_err(|error| writing(&path, &error))
}

/// The directory of a campaign: a path, or the name of a kept one or its beginning.
///
/// # Errors
///
/// It does not exist, or is ambiguous.
pub fn find_campaign(campaign: &Path) -> Result<PathBuf, RunnerError> {
    if campaign.join(CAMPAIGN).exists() {
        return Ok(campaign.to_owned());
    }
    let wanted = campaign.to_string_lossy();
    let mut found = kept()?;
    found.retain(|path| state::name_of(path).starts_with(&*wanted));
    match &found[..] {
        [one] if !wanted.is_empty() => Ok(one.clone()),
        [] => Err(RunnerError::Usage(format!(
            "no campaign `{wanted}`: it is no directory with a {CAMPAIGN}, and none is kept under this name"
        ))),
        several => Err(RunnerError::Usage(format!(
            "`{wanted}` is the beginning of {} campaigns; write more of the name",
            several.len()
        ))),
    }
}

/// The latest unfinished campaign like this one, and whether another differs only in its facts.
pub(crate) fn unfinished(record: &CampaignRecord) -> Result<Option<KeptCampaign>, RunnerError> {
    for directory in kept()? {
        // A campaign that cannot be read cannot be resumed.
        let Ok(campaign) = KeptCampaign::read(&directory) else {
            continue;
        };
        if campaign.is_like(record) && !campaign.is_finished() {
            return Ok(Some(campaign));
        }
    }
    Ok(None)
}

/// Directories of kept campaigns, latest first.
fn kept() -> Result<Vec<PathBuf>, RunnerError> {
    // Without the directory, there are no campaigns.
    let entries = fs::read_dir(state::campaigns_directory()?).into_iter();
    let mut found: Vec<PathBuf> = entries
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.join(CAMPAIGN).exists())
        .collect();
    found.sort();
    found.reverse();
    Ok(found)
}

/// The last of each trial that was measured again.
fn latest(trials: &[TrialRecord]) -> Vec<TrialRecord> {
    last_of_each(trials).into_values().cloned().collect()
}

fn read(path: &Path) -> Result<Vec<u8>, RunnerError> {
    let failed = |error: &dyn std::fmt::Display| failed(path, error);
    let length = path.metadata().map_err(|error| failed(&error))?.len();
    if length > LONGEST {
        return Err(failed(&"it is longer than 1 GiB"));
    }
    fs::read(path).map_err(|error| failed(&error))
}

fn failed(path: &Path, error: &dyn std::fmt::Display) -> RunnerError {
    RunnerError::Usage(report::clean(&format!(
        "reading {} failed: {error}",
        path.display()
    )))
}

fn writing(path: &Path, error: &std::io::Error) -> RunnerError {
    RunnerError::Local(format!("writing {} failed: {error}", path.display()))
}
