//! `prestan runs`: lists, shows, renames and removes recorded runs.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, Subcommand};
use report::{ListedGroup, ListedRun};
use runner::RunnerError;
use runner::listing::{KeepLimits, all, beyond, found, rename};
use runner::state;
use runner::words::number_of;
use terminal::output;

use crate::args::{duration, run_id, size, whole};
use crate::exit::ExitStatus;

#[derive(Debug, Args)]
pub(crate) struct RunsArgs {
    #[command(subcommand)]
    pub(crate) action: Option<RunsAction>,

    /// List each run of a comparison, sweep or other series, not the series as one
    #[arg(long)]
    pub(crate) all: bool,

    /// Write the runs as a JSON document; - is standard output, instead of the list
    #[arg(long, value_name = "FILE", global = true)]
    pub(crate) json: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum RunsAction {
    /// List runs, the latest first; those of a series (a comparison, a sweep) as one
    List {
        /// List each run of a series
        #[arg(long)]
        all: bool,
    },
    /// Show a run: its plan and environment, without its samples
    Show {
        /// Name, its beginning, or directory of the run; that of a series lists its runs
        #[arg(value_name = "RUN")]
        run: PathBuf,
    },
    /// Give a run another name
    Name {
        /// Name, its beginning, or directory of the run
        #[arg(value_name = "RUN")]
        run: PathBuf,

        /// New name, which no other run has
        #[arg(value_name = "NEW", value_parser = run_id)]
        new: String,
    },
    /// Remove runs
    Remove {
        /// Names, their beginnings, or directories of the runs; a series stands for all its runs
        #[arg(value_name = "RUN", required = true)]
        runs: Vec<PathBuf>,
    },
    /// Remove old runs that exceed any of the limits
    ///
    /// A series (a comparison, a sweep) is kept or removed as a whole, and counts as one run. Runs
    /// that were given a name, by `prestan runs name` or --run-id, are neither counted nor removed.
    Prune(PruneArgs),
}

#[derive(Debug, Args)]
#[group(required = true, multiple = true, args = ["older_than", "keep_size", "keep"])]
pub(crate) struct PruneArgs {
    /// Remove runs older than this (30d, 12h)
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) older_than: Option<Duration>,

    /// Keep the latest runs whose files together have at most this size (1GiB)
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) keep_size: Option<u64>,

    /// Keep this number of the latest runs
    #[arg(long, value_name = "N", value_parser = whole(0_u32..))]
    pub(crate) keep: Option<u32>,

    /// Count and remove also runs that were given a name
    #[arg(long)]
    pub(crate) named: bool,

    /// Only list what would be removed
    #[arg(short = 'n', long)]
    pub(crate) dry_run: bool,
}

impl PruneArgs {
    pub(crate) fn limits(&self) -> KeepLimits {
        KeepLimits {
            older_than: self.older_than,
            keep_size: self.keep_size,
            keep: self.keep,
            named: self.named,
        }
    }
}

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
        Some(RunsAction::Name { run, new }) => {
            let old = rename(&state::find_run(Some(run))?, new)?;
            output::print_list([format!("{old} is now {new}")], "  ")?;
            Ok(ExitStatus::Done)
        }
        Some(RunsAction::Remove { runs }) => {
            // All of them are found before any is removed.
            let found = runs.iter().map(|run| found(run));
            remove(found.collect::<Result<_, _>>()?, false, json)
        }
        Some(RunsAction::Prune(args)) => {
            let all = ListedGroup::by_series(all()?);
            remove(beyond(all, &args.limits()), args.dry_run, json)
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

fn each(runs: &[ListedRun]) -> Vec<ListedGroup> {
    runs.iter().cloned().map(ListedGroup::single).collect()
}

fn print(
    runs: &[ListedRun],
    json: Option<&Path>,
    text: impl FnOnce(usize) -> String,
) -> Result<(), RunnerError> {
    output::print_documents(json.map(|path| (path, report::runs_json(runs))), text)
}

/// Removes runs, or lists those that would be removed.
fn remove(
    groups: Vec<ListedGroup>,
    dry_run: bool,
    json: Option<&Path>,
) -> Result<ExitStatus, RunnerError> {
    let mut code = ExitStatus::Done;
    let mut removes = |run: &ListedRun| {
        if dry_run {
            return true;
        }
        let removed = rundir::remove(Path::new(&run.path));
        if let Err(why) = &removed {
            output::print_message(&format!("prestan: removing {} failed: {why}", run.name));
            code = ExitStatus::TestFailed;
        }
        removed.is_ok()
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
        runs => format!("{} {words}, {size}", number_of(runs, "run")),
    });
    match json {
        Some(_) => print(&removed, json, |_| String::new())?,
        None => output::print_list(lines, "  ")?,
    }
    Ok(code)
}
