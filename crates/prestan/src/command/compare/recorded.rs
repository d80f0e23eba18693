//! Recorded runs: reading them, and commands that measure a server like them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use builtin::{BuiltinFile, SUITES};
use record::{Pace, PlanRecord};
use report::ListedGroup;
use runner::RunnerError;
use runner::access::labels_of;
use runner::listing;
use runner::state;
use runner::suite_text::SuiteText;
use stats::Completeness;
use suite::Overrides;

use super::MeasuredServer;
use runner::kept::{KeptRun, RecordReading};

/// True for names of recorded runs.
pub(super) fn is_recorded(side: &str) -> bool {
    side.split(',').next().is_some_and(state::is_run_or_no_url)
}

/// The first of the runs of a side.
fn find(side: &str) -> Result<PathBuf, RunnerError> {
    state::find_run(side.split(',').next().map(Path::new))
}

/// The runs of the recorded comparison of this name, or of the only one whose name begins with it.
pub(super) fn series(name: &str) -> Result<Option<Vec<PathBuf>>, RunnerError> {
    if state::find_run(Some(Path::new(name))).is_ok() {
        return Ok(None);
    }
    let of_comparison = listing::series(name)?.filter(|group| {
        let mut runs = group.runs.iter();
        runs.all(|run| letter_and_block(&run.name).is_some())
    });
    let paths = |group: ListedGroup| {
        let runs = group.runs.iter();
        runs.map(|run| PathBuf::from(&run.path)).collect()
    };
    Ok(of_comparison.map(paths))
}

/// The letter of the server and the number of the block: `a` and 3 of the run `NAME-a3`.
fn letter_and_block(run: &str) -> Option<(char, u32)> {
    let (_, end) = run.rsplit_once('-')?;
    let letter = end.chars().next().filter(char::is_ascii_lowercase)?;
    Some((letter, end[1..].parse().ok()?))
}

/// Reads the runs of a comparison. As when it was measured, a block counts if it has a complete run
/// of each server.
pub(super) fn read_series(
    paths: &[PathBuf],
    labels: &[String],
) -> Result<Vec<MeasuredServer>, RunnerError> {
    let mut blocks: BTreeMap<u32, BTreeMap<char, KeptRun>> = BTreeMap::new();
    let position = |path: &PathBuf| letter_and_block(&state::name_of(path));
    let letters = paths.iter().filter_map(position).map(|(letter, _)| letter);
    let letters: BTreeSet<char> = letters.collect();
    let labels = letters.iter().zip(labels_of(labels, letters.len())?);
    let labels: BTreeMap<char, Option<String>> =
        labels.map(|(letter, label)| (*letter, label)).collect();
    for path in paths {
        let Some((letter, block)) = position(path) else {
            continue;
        };
        let run = KeptRun::read(path, reading(&labels[&letter]))?;
        if Completeness::of(&run.run.events, &run.run.env) == Completeness::Complete {
            blocks.entry(block).or_default().insert(letter, run);
        }
    }
    let mut servers: Vec<MeasuredServer> = Vec::new();
    blocks.retain(|_, block| block.len() == letters.len());
    for block in blocks.into_values() {
        for (index, (letter, run)) in block.into_iter().enumerate() {
            if servers.len() == index {
                let PlanRecord { side, target, .. } = &run.run.plan;
                servers.push(MeasuredServer {
                    name: side.as_ref().unwrap_or(target).clone(),
                    label: labels[&letter].clone(),
                    runs: Vec::new(),
                });
            }
            servers[index].runs.push(run);
        }
    }
    if servers.len() < 2 {
        return Err(RunnerError::Usage(
            "the comparison ended before each server had a complete run; `prestan report RUN` shows what \
             there is, and `prestan runs --all` lists the runs"
                .to_owned(),
        ));
    }
    Ok(servers)
}

pub(super) fn read(sides: &[&str], labels: &[String]) -> Result<Vec<MeasuredServer>, RunnerError> {
    let labels = labels_of(labels, sides.len())?;
    let read = |(side, label): (&&str, Option<String>)| {
        let runs = side.split(',').map(|name| {
            let path = state::find_run(Some(Path::new(name)))?;
            KeptRun::read(&path, reading(&label))
        });
        Ok(MeasuredServer {
            runs: runs.collect::<Result<_, RunnerError>>()?,
            name: label.clone().unwrap_or_else(|| name(side)),
            label,
        })
    };
    sides.iter().zip(labels).map(read).collect()
}

fn reading(label: &Option<String>) -> RecordReading<'_> {
    RecordReading {
        label: label.as_deref(),
        ..RecordReading::default()
    }
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

/// The error about recorded runs and a server to measure, with the commands to use instead.
pub(super) fn refuse_mixed(sides: &[&str], servers: &[&str]) -> RunnerError {
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
            let run = format!("prestan run {suite} {live}{options} --run-id new-1");
            format!(":\n  {run}\n  prestan compare {recorded} new-1")
        });
    RunnerError::Usage(format!(
        "{recorded} is recorded, and {live} would be measured now. Measure it with the command that \
         made {recorded}, as many times as there are recorded runs, and compare what was recorded{}",
        commands.unwrap_or_default()
    ))
}

/// The suite and the options of `prestan run` that repeat this recorded run; `None` for a run of
/// another command.
fn how_measured(path: &Path, plan: &PlanRecord) -> Option<(String, String)> {
    if plan.load.pace != Pace::Rounds {
        return None;
    }
    let suite = match BuiltinFile::find(SUITES, &plan.suite.name) {
        Some(_) => plan.suite.name.clone(),
        None => path.join("suite.yaml").display().to_string(),
    };
    let usual = SuiteText::find(&suite)
        .and_then(|text| text.resolved(&Overrides::default()))
        .ok();
    let mut options = String::new();
    for (name, value) in &plan.params_as_written() {
        let is_usual = usual.as_ref().is_some_and(|usual| {
            usual.params.get(name) == plan.params.get(name)
                && usual.written_params.get(name) == plan.written_params.get(name)
        });
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
