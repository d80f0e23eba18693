//! Directories and names of runs.

use std::path::{Path, PathBuf};
use std::{env, fs, iter};

use crate::error::RunnerError;
use record::{Event, EventKind, Run};
use rundir::RunFolder;
use wire::redact::redacted_target;

use crate::words::may_be_url;

/// Number of kept runs that `prestan clean` searches for leftovers.
const LATEST: usize = 100;

/// `$XDG_STATE_HOME/prestan`, or `~/.local/state/prestan`; `None` without a home directory.
fn state_directory() -> Option<PathBuf> {
    // A relative path is invalid and to be ignored (XDG Base Directory Specification).
    let given = env::var_os("XDG_STATE_HOME").map(PathBuf::from);
    let state = match given.filter(|path| path.is_absolute()) {
        Some(path) => path,
        None => env::home_dir()
            .filter(|home| !home.as_os_str().is_empty())?
            .join(".local/state"),
    };
    Some(state.join("prestan"))
}

/// Directory of all runs.
pub fn runs_directory() -> Result<PathBuf, RunnerError> {
    let what = "the run in; use --save DIR or --no-save";
    Ok(state_for(what)?.join("runs"))
}

fn state_for(what: &str) -> Result<PathBuf, RunnerError> {
    let none = || RunnerError::Usage(format!("there is no home directory to keep {what}"));
    state_directory().ok_or_else(none)
}

/// Directory of all campaigns of experiments in laboratories.
pub fn campaigns_directory() -> Result<PathBuf, RunnerError> {
    Ok(state_for("the campaign in; use --save DIR")?.join("campaigns"))
}

/// Directory of tokens of held locks; `None` without a home directory.
pub(crate) fn lock_tokens() -> Option<PathBuf> {
    Some(state_directory()?.join("locks"))
}

/// Directory of notes about files that runs make at their target; `None` without a home directory.
pub(crate) fn made_files() -> Option<PathBuf> {
    Some(state_directory()?.join("made"))
}

/// Default directory of a run of that name.
pub(crate) fn run_directory(run_id: &str) -> Result<PathBuf, RunnerError> {
    Ok(runs_directory()?.join(run_id))
}

/// Directories that do not exist yet. Those that are empty when this is dropped were made in vain,
/// and are removed.
pub(crate) struct UnusedDirectories(Vec<PathBuf>);

impl UnusedDirectories {
    /// This directory, and those above it.
    pub(crate) fn of(directory: Option<&Path>) -> UnusedDirectories {
        let paths = directory.into_iter().flat_map(Path::ancestors);
        let absent = paths.take_while(|path| !path.as_os_str().is_empty() && !path.exists());
        UnusedDirectories(absent.map(Path::to_owned).collect())
    }
}

impl Drop for UnusedDirectories {
    fn drop(&mut self) {
        for directory in &self.0 {
            // Fails if the directory is not empty, or was never made.
            let _ = fs::remove_dir(directory);
        }
    }
}

/// Directory of a run of a series: below `save`, or below the directory of all runs.
pub(crate) fn directory_of(run_id: &str, save: Option<&Path>) -> Result<PathBuf, RunnerError> {
    match save {
        Some(directory) => Ok(directory.join(run_id)),
        None => run_directory(run_id),
    }
}

/// The directory of a run: a path, the name of a kept run or its beginning, or the latest one.
pub fn find_run(run: Option<&Path>) -> Result<PathBuf, RunnerError> {
    let Some(run) = run else {
        return Ok(kept_runs()?.swap_remove(0));
    };
    if rundir::is_run(run) {
        return Ok(run.to_owned());
    }
    let directory = runs_directory()?;
    if rundir::is_run(&directory.join(run)) {
        return Ok(directory.join(run));
    }
    let wanted = run.to_string_lossy();
    let names: Vec<String> = all_runs()?.iter().map(|path| name_of(path)).collect();
    let all = || names.iter().map(String::as_str);
    let beginning: Vec<&str> = all().filter(|name| name.starts_with(&*wanted)).collect();
    match beginning[..] {
        [one] if !wanted.is_empty() => Ok(directory.join(one)),
        [] => {
            let wanted = redacted_target(&wanted);
            let similar = some_of(&nearest::nearest(&wanted, all()));
            let advice = match (similar, names.is_empty()) {
                (Some(similar), _) => format!("; did you mean {similar}?"),
                (None, false) => "; `prestan runs --all` lists all".to_owned(),
                (None, true) => "; none is recorded".to_owned(),
            };
            Err(RunnerError::Usage(format!("no run `{wanted}`{advice}")))
        }
        _ => Err(RunnerError::Usage(format!(
            "`{wanted}` is the beginning of {} runs: {}; write more of the name",
            beginning.len(),
            some_of(&beginning).unwrap_or_default()
        ))),
    }
}

/// True if a subject of a comparison or diagnosis is a recorded run: it exists, or cannot be a URL.
pub fn is_run_or_no_url(subject: &str) -> bool {
    !may_be_url(subject) || find_run(Some(Path::new(subject))).is_ok()
}

/// Most names in a suggestion.
const SUGGESTED: usize = 4;

/// The first of these names; `None` if there are none.
fn some_of(names: &[&str]) -> Option<String> {
    let first = names.iter().take(SUGGESTED);
    let quoted: Vec<String> = first.map(|name| format!("`{name}`")).collect();
    let more = if names.len() > SUGGESTED { ", ..." } else { "" };
    (!quoted.is_empty()).then(|| quoted.join(", ") + more)
}

/// The name of a run: that of its directory.
pub fn name_of(path: &Path) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str());
    name.to_string_lossy().into_owned()
}

/// Directories of all kept runs, latest first; at least one.
pub fn kept_runs() -> Result<Vec<PathBuf>, RunnerError> {
    let runs = all_runs()?;
    if runs.is_empty() {
        let none = format!("no run is kept in {}", runs_directory()?.display());
        return Err(RunnerError::Usage(none));
    }
    Ok(runs)
}

/// The same, possibly empty.
pub fn all_runs() -> Result<Vec<PathBuf>, RunnerError> {
    let entries = fs::read_dir(runs_directory()?)
        .into_iter()
        .flatten()
        .flatten();
    let runs = entries.filter_map(|entry| {
        let folder = RunFolder::open(&entry.path()).ok()?;
        Some((folder.begun()?, entry.path()))
    });
    let mut runs: Vec<_> = runs.collect();
    runs.sort();
    Ok(runs.into_iter().rev().map(|(_, path)| path).collect())
}

/// Names of kept runs whose collections may still be in this target: runs without an end, and runs
/// with leftovers. Only the latest runs are read.
pub fn unfinished_runs(target: &str) -> Vec<String> {
    let runs = kept_runs().unwrap_or_default();
    let kept = runs.iter().take(LATEST);
    // A record that cannot be read names no collection.
    let records = kept.filter_map(|path| {
        let run = RunFolder::open(path).ok()?;
        let beside = run.loads_beside().into_iter().flatten().flatten();
        let all = iter::once(run).chain(beside);
        Some(all.filter_map(|run| run.without_samples().ok()))
    });
    let runs = records.flatten();
    let left = runs.filter(|run| was_in(run, target) && may_have_left(run));
    left.map(|run| run.plan.run_id).collect()
}

fn was_in(run: &Run, target: &str) -> bool {
    run.plan.target == target || run.plan.others.iter().any(|other| other == target)
}

fn may_have_left(run: &Run) -> bool {
    run.env.ended_at.is_none() || !is_cleaned_up(&run.events)
}

/// True if a run with these events left nothing on the server.
pub(crate) fn is_cleaned_up(events: &[Event]) -> bool {
    let has_left = |event: &Event| matches!(&event.kind, EventKind::LeftBehind(left) if left.own);
    !events.iter().any(has_left)
}

/// A random seed; short enough to be typed, and for every JSON reader.
pub fn new_seed() -> u64 {
    u64::from(rand::random::<u32>())
}

/// The common prefix of the names of runs of a series.
pub fn series_of(run_id: &str) -> &str {
    run_id.rsplit_once('-').map_or(run_id, |(series, _)| series)
}

/// The series of a run whose record lacks it, because it is old or cannot be read: if the name was
/// generated, it without the number of the run.
pub(crate) fn series_by_name(run: &str) -> Option<String> {
    let series = without_number(run)?;
    is_generated(series).then(|| series.to_owned())
}

pub(crate) fn is_series(name: &str) -> bool {
    let runs = all_runs().unwrap_or_default();
    let mut names = runs.iter().map(|path| name_of(path));
    names.any(|run| without_number(&run) == Some(name))
}

/// `week` for `week-a12` and for `week-3`.
fn without_number(run: &str) -> Option<&str> {
    let (series, number) = run.rsplit_once('-')?;
    let digits = number.trim_start_matches(|c: char| c.is_ascii_lowercase());
    let is_number = !digits.is_empty()
        && digits.len() + 1 >= number.len()
        && digits.chars().all(|c| c.is_ascii_digit());
    is_number.then_some(series)
}

/// True if [`new_run_id`] may have made this name.
pub(crate) fn is_generated(name: &str) -> bool {
    let shape = |(index, c): (usize, char)| match index {
        8 => c == 'T',
        15 => c == '-',
        16.. => matches!(c, '0'..='9' | 'a'..='f'),
        _ => c.is_ascii_digit(),
    };
    name.len() == 20 && name.chars().enumerate().all(shape)
}

/// A name that sorts by time and is not taken: `20260102T030405-1a2b`.
pub fn new_run_id() -> String {
    let time = engine::time_of_day();
    let is_kept = |c: &char| c.is_ascii_digit() || *c == 'T';
    let digits: String = time.chars().filter(is_kept).collect();
    let seconds = digits.get(..15).unwrap_or(&digits);
    format!("{seconds}-{:04x}", rand::random::<u16>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generated_names_differ_from_given_ones() {
        assert!(is_generated(&new_run_id()));
        let all = "|monday|20260102T030405-1a2|20260102T030405-1a2g|20260102-030405-1a2b|20260102T030405-1a2b-a1";
        for given in all.split('|') {
            assert!(!is_generated(given), "{given}");
        }
    }
}
