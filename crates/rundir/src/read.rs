//! The texts of a run directory: plan, environment and events.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};

use record::{Environment, Event, PlanRecord, RUN_FORMAT};
use serde::Deserialize;

use crate::folder::Folder;
use crate::{ENV, EVENTS, PLAN, RunDirError, damaged, reading};

/// Longest line of the events, in bytes: those that servers and suites lengthen most have some kilobytes.
const LONGEST_LINE: u64 = 16 << 20;

/// What a plan of any format has: it is read first, because the rest of another format would be an error of its own.
#[derive(Deserialize)]
struct PlanFormat {
    format: u32,
}

pub(crate) fn plan(folder: &Folder) -> Result<PlanRecord, RunDirError> {
    let path = folder.path().join(PLAN);
    let text = folder.text(PLAN)?;
    let no_plan = |error| damaged(&path, format!("is no plan: {error}"));
    let PlanFormat { format } = yaml::read(&text).map_err(no_plan)?;
    if format != RUN_FORMAT {
        let message = format!(
            "the run has format {format}, and this version of Prestan reads format {RUN_FORMAT} only; read it with \
             the version that recorded it, or measure again"
        );
        return Err(damaged(&path, message));
    }
    yaml::read(&text).map_err(no_plan)
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
            // A killed run may have left half a line: an error only where another one follows.
            Err(error) => unread = Some(format!("line {number}: {error}")),
        }
    }
    Ok(events)
}

/// The next line, or as much of it as may be one; `None` at the end.
fn line_of(lines: &mut BufReader<File>) -> std::io::Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    lines.take(LONGEST_LINE).read_until(b'\n', &mut line)?;
    Ok((!line.is_empty()).then_some(line))
}
