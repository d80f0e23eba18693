//! The list of kept runs.

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use record::PlanRecord;
use report::{ListedGroup, ListedRun, ListedState};
use rundir::RunFolder;
use stats::Completeness;

use crate::RunnerError;
use crate::state;

/// Limits of the runs that are kept when others are removed.
#[derive(Debug, Clone, Default)]
pub struct KeepLimits {
    /// Keep runs that are not older.
    pub older_than: Option<Duration>,
    /// Keep the latest runs whose files have at most this many bytes together.
    pub keep_size: Option<u64>,
    /// Keep this many of the latest runs.
    pub keep: Option<u32>,
    /// Count and remove runs with a name given by the user, too.
    pub named: bool,
}

/// All kept runs, latest first.
pub fn all() -> Result<Vec<ListedRun>, RunnerError> {
    let runs = state::all_runs()?;
    Ok(runs.iter().map(|path| listed(path)).collect())
}

/// The run with that name, beginning of a name, or directory; or the series with that name or
/// beginning.
pub fn found(run: &Path) -> Result<ListedGroup, RunnerError> {
    state::find_run(Some(run)).map_or_else(
        |why| series(&run.to_string_lossy())?.ok_or(why),
        |path| Ok(ListedGroup::single(listed(&path))),
    )
}

/// The run or series with this name, or the only one whose name begins with it.
pub fn series(wanted: &str) -> Result<Option<ListedGroup>, RunnerError> {
    let mut groups = ListedGroup::by_series(all()?);
    if let Some(index) = groups.iter().position(|group| group.name == wanted) {
        return Ok(Some(groups.swap_remove(index)));
    }
    groups.retain(|group| !wanted.is_empty() && group.name.starts_with(wanted));
    Ok(groups.pop().filter(|_| groups.is_empty()))
}

fn goes_on(path: &Path) -> bool {
    RunFolder::open(path).is_ok_and(|folder| folder.goes_on())
}

/// Description of a run without its samples.
fn listed(path: &Path) -> ListedRun {
    let folder = RunFolder::open(path);
    let folder = folder.as_ref().ok();
    let mut run = ListedRun {
        name: state::name_of(path),
        series: None,
        path: path.display().to_string(),
        suite: String::new(),
        target: String::new(),
        software: None,
        started_at: String::new(),
        ended_at: None,
        state: ListedState::Unreadable,
        bytes: folder.map_or(0, RunFolder::size),
    };
    if let Some(recorded) = folder.and_then(|folder| folder.without_samples().ok()) {
        run.state = match Completeness::of(&recorded.events, &recorded.env) {
            _ if folder.is_some_and(RunFolder::goes_on) => ListedState::GoesOn,
            Completeness::Interrupted => ListedState::Interrupted,
            Completeness::Aborted(Some(_)) => ListedState::Aborted,
            Completeness::Aborted(None) => ListedState::Killed,
            Completeness::Complete => concluded(recorded.env.conclusion.as_deref()),
        };
        run.suite = recorded.plan.suite.name;
        run.target = recorded.plan.target;
        run.software = recorded.env.server.and_then(|server| server.software);
        run.started_at = recorded.env.started_at;
        run.ended_at = recorded.env.ended_at;
        let PlanRecord { run_id, series, .. } = recorded.plan;
        if run_id == run.name {
            run.series = series.or_else(|| state::series_by_name(&run_id));
        }
    } else {
        run.series = state::series_by_name(&run.name);
    }
    run
}

fn concluded(conclusion: Option<&str>) -> ListedState {
    match conclusion {
        Some("pass") => ListedState::Pass,
        Some("inconclusive") => ListedState::Inconclusive,
        Some("fail") => ListedState::Fail,
        _ => ListedState::Complete,
    }
}

/// Renames a run, and returns its former name.
pub fn rename(path: &Path, new: &str) -> Result<String, RunnerError> {
    let old = state::name_of(path);
    let renamed = path.with_file_name(new);
    if goes_on(path) {
        return Err(RunnerError::Usage(format!(
            "the run {old} has not ended; rename it afterwards"
        )));
    }
    if fs::symlink_metadata(&renamed).is_ok() {
        return Err(RunnerError::Usage(format!(
            "the name {new} is taken; choose another one, or remove that run: `prestan runs remove \
             {new}`"
        )));
    }
    fs::rename(path, &renamed).map_err(|error| {
        RunnerError::Local(format!(
            "renaming {} to {new} failed: {error}",
            path.display()
        ))
    })?;
    Ok(old)
}

/// Runs and series beyond a limit, except running ones.
pub fn beyond(all: Vec<ListedGroup>, limits: &KeepLimits) -> Vec<ListedGroup> {
    let now = SystemTime::now();
    let age = |run: &ListedRun| {
        let folder = RunFolder::open(Path::new(&run.path)).ok()?;
        now.duration_since(folder.begun()?).ok()
    };
    let is_old = |group: &ListedGroup| {
        let limit = limits.older_than;
        limit.is_some_and(|limit| group.runs.first().and_then(age) > Some(limit))
    };
    let is_running = |run: &ListedRun| goes_on(Path::new(&run.path));
    let counted = all
        .into_iter()
        .filter(|group| limits.named || state::is_generated(&group.name));
    let mut total = 0;
    let removed = counted.zip(1_u32..).filter(|(group, number)| {
        total += group.bytes();
        let is_beyond = is_old(group)
            || limits.keep.is_some_and(|keep| *number > keep)
            || limits.keep_size.is_some_and(|size| total > size);
        is_beyond && !group.runs.iter().any(is_running)
    });
    removed.map(|(group, _)| group).collect()
}
