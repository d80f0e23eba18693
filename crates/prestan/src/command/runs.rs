//! `prestan runs`: what is recorded, and what becomes of it.

use std::fs;
use std::path::Path;
use std::time::SystemTime;

use record::PlanRecord;
use report::{ListedGroup, ListedRun, ListedState};
use rundir::RunFolder;
use runner::RunnerError;
use runner::state;
use stats::Completeness;

use crate::args::{PruneArgs, RunsAction, RunsArgs};
use crate::exit::ExitStatus;
use crate::output;

pub(crate) fn runs(args: &RunsArgs) -> Result<ExitStatus, RunnerError> {
    let json = args.json.as_deref();
    let lists = matches!(args.action, None | Some(RunsAction::List { .. }));
    if args.all && !lists {
        return Err(RunnerError::Usage(
            "--all is for the list of runs; to show, remove or prune runs, name them or give limits"
                .to_owned(),
        ));
    }
    match args.action.as_ref() {
        None => list(args.all, json),
        Some(RunsAction::List { all }) => list(args.all || *all, json),
        Some(RunsAction::Show { run }) => {
            let group = found(run)?;
            print(&group.runs, json, |width| match &group.runs[..] {
                [run] => report::run_text(run, width),
                runs => report::runs_text(&each(runs), width),
            })?;
            Ok(ExitStatus::Done)
        }
        Some(RunsAction::Name { run, new }) => name(&state::find_run(Some(run))?, new),
        Some(RunsAction::Remove { runs }) => {
            // All of them are found before any is removed.
            let found = runs.iter().map(|run| found(run));
            remove(found.collect::<Result<_, _>>()?, false, json)
        }
        Some(RunsAction::Prune(args)) => {
            let all = ListedGroup::by_series(all()?);
            remove(beyond(all, args), args.dry_run, json)
        }
    }
}

fn list(is_each: bool, json: Option<&Path>) -> Result<ExitStatus, RunnerError> {
    let runs = all()?;
    if runs.is_empty() && json.is_none() {
        let directory = state::runs_directory()?;
        let none = format!("no run is kept in {}", directory.display());
        output::print_list([none], "  ")?;
        return Ok(ExitStatus::Done);
    }
    print(&runs, json, |width| {
        let groups = if is_each {
            each(&runs)
        } else {
            ListedGroup::by_series(runs.clone())
        };
        report::runs_text(&groups, width)
    })?;
    Ok(ExitStatus::Done)
}

/// All kept runs, the latest first.
fn all() -> Result<Vec<ListedRun>, RunnerError> {
    let runs = state::all_runs()?;
    Ok(runs.iter().map(|path| listed(path)).collect())
}

fn each(runs: &[ListedRun]) -> Vec<ListedGroup> {
    runs.iter().cloned().map(ListedGroup::single).collect()
}

/// The run of that name, beginning of a name, or directory; or the series of that name or beginning.
fn found(run: &Path) -> Result<ListedGroup, RunnerError> {
    state::find_run(Some(run)).map_or_else(
        |why| series(&run.to_string_lossy())?.ok_or(why),
        |path| Ok(ListedGroup::single(listed(&path))),
    )
}

/// The run or series of this name, or the only one whose name begins so.
pub(super) fn series(wanted: &str) -> Result<Option<ListedGroup>, RunnerError> {
    let mut groups = ListedGroup::by_series(all()?);
    if let Some(place) = groups.iter().position(|group| group.name == wanted) {
        return Ok(Some(groups.swap_remove(place)));
    }
    groups.retain(|group| !wanted.is_empty() && group.name.starts_with(wanted));
    Ok(groups.pop().filter(|_| groups.is_empty()))
}

fn print(
    runs: &[ListedRun],
    json: Option<&Path>,
    text: impl FnOnce(usize) -> String,
) -> Result<(), RunnerError> {
    output::print_documents(json.map(|path| (path, report::runs_json(runs))), text)
}

fn goes_on(path: &Path) -> bool {
    RunFolder::open(path).is_ok_and(|folder| folder.goes_on())
}

/// What is known of a run without its samples.
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

fn name(path: &Path, new: &str) -> Result<ExitStatus, RunnerError> {
    let old = state::name_of(path);
    let place = path.with_file_name(new);
    if goes_on(path) {
        return Err(RunnerError::Usage(format!(
            "the run {old} has not ended; rename it afterwards"
        )));
    }
    if fs::symlink_metadata(&place).is_ok() {
        return Err(RunnerError::Usage(format!(
            "the name {new} is taken; choose another one, or remove that run: `prestan runs remove \
             {new}`"
        )));
    }
    fs::rename(path, &place).map_err(|error| {
        RunnerError::Local(format!(
            "renaming {} to {new} failed: {error}",
            path.display()
        ))
    })?;
    output::print_list([format!("{old} is now {new}")], "  ")?;
    Ok(ExitStatus::Done)
}

/// Runs and series that are beyond a limit. Those that go on are none of them.
fn beyond(all: Vec<ListedGroup>, args: &PruneArgs) -> Vec<ListedGroup> {
    let now = SystemTime::now();
    let age = |run: &ListedRun| {
        let folder = RunFolder::open(Path::new(&run.path)).ok()?;
        now.duration_since(folder.begun()?).ok()
    };
    let is_old = |group: &ListedGroup| {
        let limit = args.older_than;
        limit.is_some_and(|limit| group.runs.first().and_then(age) > Some(limit))
    };
    let is_running = |run: &ListedRun| goes_on(Path::new(&run.path));
    let counted = all
        .into_iter()
        .filter(|group| args.named || state::is_generated(&group.name));
    let mut total = 0;
    let limits = counted.zip(1_u32..).filter(|(group, place)| {
        total += group.bytes();
        let is_beyond = is_old(group)
            || args.keep.is_some_and(|keep| *place > keep)
            || args.keep_size.is_some_and(|size| total > size);
        is_beyond && !group.runs.iter().any(is_running)
    });
    limits.map(|(group, _)| group).collect()
}

/// Removes runs, or lists which ones would be removed.
fn remove(
    groups: Vec<ListedGroup>,
    dry_run: bool,
    json: Option<&Path>,
) -> Result<ExitStatus, RunnerError> {
    let mut code = ExitStatus::Done;
    let mut removes = |run: &ListedRun| {
        let done = if dry_run {
            Ok(())
        } else {
            rundir::remove(Path::new(&run.path))
        };
        if let Err(why) = &done {
            output::tell(&format!("prestan: removing {} failed: {why}", run.name));
            code = ExitStatus::TestFailed;
        }
        done.is_ok()
    };
    let words = if dry_run {
        "would be removed"
    } else {
        "removed"
    };
    let (mut removed, mut lines) = (Vec::new(), Vec::new());
    for mut group in groups {
        group.runs.retain(&mut removes);
        let size = report::bytes(group.bytes());
        match group.runs.len() {
            0 => continue,
            1 => lines.push(format!("{words}: {} ({size})", group.runs[0].name)),
            runs => lines.push(format!("{words}: {} ({runs} runs, {size})", group.name)),
        }
        removed.extend(group.runs);
    }
    let size = report::bytes(removed.iter().map(|run| run.bytes).sum());
    lines.push(match removed.len() {
        0 => format!("no run {words}"),
        runs => format!("{} {words}, {size}", output::number_of(runs, "run")),
    });
    match json {
        Some(_) => print(&removed, json, |_| String::new())?,
        None => output::print_list(lines, "  ")?,
    }
    Ok(code)
}
