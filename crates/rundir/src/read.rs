//! The texts of a run directory: plan, environment and events.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use record::{Environment, Event, PlanRecord, RUN_FORMAT};
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use yaml::YamlError;

use crate::error::{RunDirError, damaged, reading};
use crate::folder::{Folder, LARGEST_TEXT};
use crate::names::{ENV, EVENTS, PLAN};

/// Longest line of the events, in bytes: the longest texts of servers and suites have some
/// kilobytes.
const LONGEST_LINE: u64 = 16 << 20;

/// Most values of a plan: some twenty for each measure, of which there are at most 2^16, and those
/// of pages and tests.
pub(crate) const MOST_VALUES: usize = 2_000_000;

fn of_plan<T: DeserializeOwned>(text: &str) -> Result<T, YamlError> {
    yaml::read_up_to(text, MOST_VALUES)
}

/// The text of a plan that can be read again, if the reader accepts this many values.
pub(crate) fn plan_text(
    plan: &PlanRecord,
    path: &Path,
    most_values: usize,
) -> Result<String, RunDirError> {
    let text = serde_saphyr::to_string(plan)
        .map_err(|error| damaged(path, format!("cannot be expressed: {error}")))?;
    let why = match yaml::read_up_to::<IgnoredAny>(&text, most_values) {
        Err(error) => error.message().to_owned(),
        Ok(_) if text.len() as u64 >= LARGEST_TEXT => {
            format!("it has more than {} MiB", LARGEST_TEXT >> 20)
        }
        Ok(_) => return Ok(text),
    };
    Err(RunDirError::PlanTooLarge(why))
}

/// Fields of a plan of any format, read first: the rest of another format would cause a different
/// error.
#[derive(Deserialize)]
struct PlanFormat {
    format: u32,
}

pub(crate) fn plan(folder: &Folder) -> Result<PlanRecord, RunDirError> {
    let path = folder.path().join(PLAN);
    let text = folder.text(PLAN)?;
    let no_plan = |error| damaged(&path, format!("is no plan: {error}"));
    let PlanFormat { format } = of_plan(&text).map_err(no_plan)?;
    if format != RUN_FORMAT {
        let message = format!(
            "the run has format {format}, and this version of Prestan reads format {RUN_FORMAT} only; read it with \
             the version that recorded it, or measure again"
        );
        return Err(damaged(&path, message));
    }
    of_plan(&text).map_err(no_plan)
}

pub(crate) fn environment(folder: &Folder) -> Result<Environment, RunDirError> {
    let environment = serde_json::from_str(&folder.text(ENV)?);
    environment.map_err(|error| damaged(&folder.path().join(ENV), error.to_string()))
}

pub(crate) fn events(folder: &Folder) -> Result<Vec<Event>, RunDirError> {
    let path = folder.path().join(EVENTS);
    let mut lines = BufReader::new(folder.file(EVENTS)?);
    let mut events = Vec::new();
    let mut unread = None;
    for number in 1.. {
        let Some(line) = line_of(&mut lines).map_err(|error| reading(&path, error))? else {
            break;
        };
        if let Some(message) = unread {
            return Err(damaged(&path, message));
        }
        match serde_json::from_slice(&line) {
            Ok(event) => events.push(event),
            // A killed run may have left half a line: an error only if another line follows.
            Err(error) => unread = Some(format!("line {number}: {error}")),
        }
    }
    Ok(events)
}

/// The next line, or the longest accepted part of it; `None` at the end.
fn line_of(lines: &mut BufReader<File>) -> std::io::Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    lines.take(LONGEST_LINE).read_until(b'\n', &mut line)?;
    Ok((!line.is_empty()).then_some(line))
}
