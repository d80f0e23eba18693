//! `prestan runs`: what is recorded, and what becomes of it.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use report::{ListedRun, ListedState};
use stats::Completeness;

use crate::args::{PruneArgs, RunsAction, RunsArgs};
use crate::exit::{ExitStatus, Failed};
use crate::{output, state};

pub(crate) fn runs(args: &RunsArgs) -> Result<ExitStatus, Failed> {
    let json = args.json.as_deref();
    match args.action.as_ref().unwrap_or(&RunsAction::List) {
        RunsAction::List => list(json),
        RunsAction::Show { run } => {
            let run = [listed(&state::find_run(Some(run))?)];
            print(&run, json, |width| report::run_text(&run[0], width))?;
            Ok(ExitStatus::Done)
        }
        RunsAction::Name { run, new } => name(&state::find_run(Some(run))?, new),
        RunsAction::Remove { runs } => {
            // All of them are found before any is removed.
            let found = runs.iter().map(|run| state::find_run(Some(run)));
            remove(&found.collect::<Result<Vec<_>, _>>()?, false, json)
        }
        RunsAction::Prune(args) => {
            let all = state::all_runs()?;
            remove(&beyond(all, args), args.dry_run, json)
        }
    }
}

fn list(json: Option<&Path>) -> Result<ExitStatus, Failed> {
    let runs = match json {
        Some(_) => state::all_runs()?,
        None => state::kept_runs()?,
    };
    let runs: Vec<ListedRun> = runs.iter().map(|path| listed(path)).collect();
    print(&runs, json, |width| report::runs_text(&runs, width))?;
    Ok(ExitStatus::Done)
}

fn print(
    runs: &[ListedRun],
    json: Option<&Path>,
    text: impl FnOnce(usize) -> String,
) -> Result<(), Failed> {
    output::print_documents(json.map(|path| (path, report::runs_json(runs))), text)
}

/// What is known of a run without its samples.
fn listed(path: &Path) -> ListedRun {
    let mut run = ListedRun {
        name: state::name_of(path),
        path: path.display().to_string(),
        suite: String::new(),
        target: String::new(),
        software: None,
        started_at: String::new(),
        ended_at: None,
        state: ListedState::Unreadable,
        bytes: rundir::size_on_disk(path),
    };
    if let Ok(recorded) = rundir::load_without_samples(path) {
        run.state = match Completeness::of(&recorded.events, &recorded.env) {
            _ if rundir::goes_on(path) => ListedState::GoesOn,
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

fn name(path: &Path, new: &str) -> Result<ExitStatus, Failed> {
    let old = state::name_of(path);
    let place = path.with_file_name(new);
    if rundir::goes_on(path) {
        return Err(Failed::Usage(format!(
            "the run {old} has not ended; rename it afterwards"
        )));
    }
    if fs::symlink_metadata(&place).is_ok() {
        return Err(Failed::Usage(format!(
            "the name {new} is taken; choose another one, or remove that run: `prestan runs remove \
             {new}`"
        )));
    }
    fs::rename(path, &place).map_err(|error| {
        Failed::Local(format!(
            "renaming {} to {new} failed: {error}",
            path.display()
        ))
    })?;
    output::print_list([format!("{old} is now {new}")], "  ")?;
    Ok(ExitStatus::Done)
}

/// The runs that are beyond a limit. Those that go on are none of them.
fn beyond(all: Vec<PathBuf>, args: &PruneArgs) -> Vec<PathBuf> {
    let now = SystemTime::now();
    let is_old = |path: &Path| {
        let begun = rundir::begun(path).and_then(|begun| now.duration_since(begun).ok());
        begun > args.older_than && args.older_than.is_some()
    };
    let mut total = 0;
    let limits = all.into_iter().zip(1_u32..).filter(|(path, place)| {
        total += rundir::size_on_disk(path);
        let is_beyond = is_old(path)
            || args.keep.is_some_and(|keep| *place > keep)
            || args.keep_size.is_some_and(|size| total > size);
        is_beyond && !rundir::goes_on(path)
    });
    limits.map(|(path, _)| path).collect()
}

/// Removes runs, or lists which ones would be removed.
fn remove(runs: &[PathBuf], dry_run: bool, json: Option<&Path>) -> Result<ExitStatus, Failed> {
    let mut code = ExitStatus::Done;
    let (mut removed, mut lines) = (Vec::new(), Vec::new());
    for path in runs {
        let run = listed(path);
        let size = report::bytes(run.bytes);
        let done = if dry_run {
            Ok(())
        } else {
            rundir::remove(path)
        };
        match done {
            Ok(()) if dry_run => lines.push(format!("would be removed: {} ({size})", run.name)),
            Ok(()) => lines.push(format!("removed: {} ({size})", run.name)),
            Err(why) => {
                output::tell(&format!("prestan: removing {} failed: {why}", run.name));
                code = ExitStatus::TestFailed;
                continue;
            }
        }
        removed.push(run);
    }
    let bytes: u64 = removed.iter().map(|run| run.bytes).sum();
    let words = if dry_run {
        "would be removed"
    } else {
        "removed"
    };
    lines.push(format!(
        "{} runs {words}, {}",
        removed.len(),
        report::bytes(bytes)
    ));
    match json {
        Some(_) => print(&removed, json, |_| String::new())?,
        None => output::print_list(lines, "  ")?,
    }
    Ok(code)
}
