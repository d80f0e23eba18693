//! `trials.jsonl`: the trials of a campaign, one per line.

use std::collections::BTreeMap;

use crate::FileError;
use crate::record::{LevelCombination, TrialRecord};

/// Content of a file of trials.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RecordedTrials {
    /// Its trials, in order.
    pub trials: Vec<TrialRecord>,
    /// Bytes up to the end of the last line. Bytes behind it are a line that was incomplete when
    /// the program was killed; they must be cut off before appending.
    pub whole_bytes: usize,
}

impl RecordedTrials {
    /// Parses the bytes of the file. A last line without its end does not count.
    ///
    /// # Errors
    /// The first other line that is no trial, with its number.
    pub fn read(bytes: &[u8]) -> Result<Self, FileError> {
        let whole_bytes = bytes.iter().rposition(|byte| *byte == b'\n');
        let whole_bytes = whole_bytes.map_or(0, |place| place + 1);
        let mut trials = Vec::new();
        let lines = bytes[..whole_bytes].split_inclusive(|byte| *byte == b'\n');
        for (index, line) in lines.enumerate() {
            let trial = serde_json::from_slice(line).map_err(|error| {
                FileError::from_json(format!("trials.jsonl:{}", index + 1), &error)
            })?;
            trials.push(trial);
        }
        Ok(RecordedTrials {
            trials,
            whole_bytes,
        })
    }
}

/// The last record of each trial.
pub fn last_of_each(trials: &[TrialRecord]) -> BTreeMap<(&LevelCombination, u32), &TrialRecord> {
    let keyed = trials
        .iter()
        .map(|trial| ((&trial.cell, trial.repetition), trial));
    keyed.collect()
}
