//! Recorded runs: reading them, and measuring a server as they were measured.

use std::path::{Path, PathBuf};

use record::{Pace, PlanRecord};
use suite::{Builtin, Overrides};

use super::MeasuredServer;
use crate::command::kept::KeptRun;
use crate::command::run::SuiteText;
use crate::exit::Failed;
use crate::state;

/// Whether this names recorded runs.
pub(super) fn is_recorded(side: &str) -> bool {
    side.split(',').next().is_some_and(state::is_run_or_no_url)
}

/// The first of the runs of a side.
fn find(side: &str) -> Result<PathBuf, Failed> {
    state::find_run(side.split(',').next().map(Path::new))
}

/// Reads the runs of a server.
pub(super) fn read(side: &str) -> Result<MeasuredServer, Failed> {
    let runs = side
        .split(',')
        .map(|name| KeptRun::read(&state::find_run(Some(Path::new(name)))?));
    Ok(MeasuredServer {
        name: name(side),
        runs: runs.collect::<Result<_, Failed>>()?,
    })
}

/// A name for the runs of a side: the run, or the first of several and their number.
fn name(side: &str) -> String {
    match side.split_once(',') {
        None => side.to_owned(),
        Some((first, others)) => {
            let runs = 1 + others.split(',').count();
            format!("{first} ({runs} runs)")
        }
    }
}

/// Why recorded runs and a server that is measured now are not compared, and what to type.
pub(super) fn refuse_mixed(sides: &[&str], servers: &[&str]) -> Failed {
    let of_kind = |wanted: bool| sides.iter().find(|side| is_recorded(side) == wanted);
    let recorded = of_kind(true).copied().unwrap_or_default();
    let live = match (of_kind(false), servers.first()) {
        (Some(url), _) => format!("'{url}'"),
        (None, server) => format!("--server {}", server.copied().unwrap_or_default()),
    };
    let commands = find(recorded)
        .ok()
        .and_then(|path| how_measured(&path, &rundir::open(&path).ok()?.plan))
        .map(|(suite, options)| {
            format!(
                ":\n  prestan run {suite} {live}{options} --run-id new-1\n  prestan compare \
                 {recorded} new-1"
            )
        });
    Failed::Usage(format!(
        "{recorded} is recorded, and {live} would be measured now. Measure it with the command that \
         made {recorded}, as many times as there are recorded runs, and compare what was recorded{}",
        commands.unwrap_or_default()
    ))
}

/// The suite and the options of `prestan run` that do what this recorded run did; `None` for a run
/// of another command.
fn how_measured(path: &Path, plan: &PlanRecord) -> Option<(String, String)> {
    if plan.load.pace != Pace::Rounds {
        return None;
    }
    let suite = match Builtin::find(&plan.suite.name) {
        Some(_) => plan.suite.name.clone(),
        None => path.join("suite.yaml").display().to_string(),
    };
    let usual = SuiteText::find(&suite).and_then(|text| text.resolved(&Overrides::default()));
    let usual = usual.ok();
    let mut options = String::new();
    for (name, value) in &plan.params {
        let is_usual = usual.as_ref().and_then(|usual| usual.params.get(name)) == Some(value);
        if !is_usual {
            options += &format!(" --param {name}={value}");
        }
    }
    if usual.is_none_or(|usual| usual.tests.len() != plan.tests.len()) {
        let tests: Vec<&str> = plan.tests.iter().map(|test| test.name.as_str()).collect();
        options += &format!(" --only {}", tests.join(","));
    }
    if let Some(seconds) = plan.load.duration_s {
        options += &format!(" --duration {seconds}s");
    }
    if plan.load.users != 1 {
        options += &format!(" --concurrency {}", plan.load.users);
    }
    if plan.load.http.full_handshakes {
        options += " --tls-resumption off";
    }
    let clock = format!("{:?}", plan.clock).to_lowercase();
    options += &format!(" --warmup {} --clock {clock}", plan.load.warmup);
    Some((suite, options))
}
