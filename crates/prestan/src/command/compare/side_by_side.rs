//! Servers measured now, in turns.

use std::path::Path;
use std::sync::Arc;
use std::thread;

use engine::{Cancel, Settings, Turn, Turns};
use suite::Plan;

use super::Server;
use crate::args::{ClockOptions, ConnectOptions, LoadOptions};
use crate::command::run::SuiteText;
use crate::command::series::{Measured, Planned, Ran, Shown};
use crate::exit::Failed;
use crate::state;
use crate::watch::on_interrupt;

/// How servers are measured side by side.
pub(crate) struct SideBySide<'a> {
    /// With which suite.
    pub(crate) suite: &'a str,
    /// How often each.
    pub(crate) repeat: u32,
    pub(crate) load: &'a LoadOptions,
    pub(crate) clock: ClockOptions,
    pub(crate) connect: &'a ConnectOptions,
    /// Below which directory the runs are kept.
    pub(crate) save: Option<&'a Path>,
    pub(crate) quiet: bool,
}

/// Measures all servers, those at `urls` and those of `recipes`, as often as is asked for.
pub(crate) fn measure(
    how: &SideBySide<'_>,
    urls: &[String],
    recipes: &[String],
) -> Result<Vec<Server>, Failed> {
    let suite = SuiteText::find(how.suite)?;
    let plan = suite.plan(how.load)?;
    let targets = Measured::all(urls, recipes)?;
    let repeats = how.repeat as usize;
    let runs = runs(how, &suite, &plan, &targets)?;

    let cancel = Cancel::default();
    on_interrupt(cancel.clone(), None)?;
    let shown = Arc::new(Shown::new(plan.tests.len() * runs.len(), how.quiet));
    let turns = Turns::among(plan.tests.len(), targets.len(), repeats);
    let ran = perform(runs, turns, &cancel, &shown);
    shown.end();
    let mut servers: Vec<Server> = targets
        .into_iter()
        .map(|target| Server {
            name: target.name,
            runs: Vec::new(),
        })
        .collect();
    let count = servers.len();
    for (place, ran) in ran?.into_iter().enumerate() {
        servers[place % count].runs.push(ran);
    }
    Ok(servers)
}

/// All runs: those of the first repeat come first, side by side.
fn runs(
    how: &SideBySide<'_>,
    suite: &SuiteText,
    plan: &Plan,
    targets: &[Measured],
) -> Result<Vec<Planned>, Failed> {
    let name = how.load.run_id.clone().unwrap_or_else(state::new_run_id);
    let seed = how.load.seed.unwrap_or_else(state::new_seed);
    let of_servers = targets
        .iter()
        .map(|target| target.settings(how.connect, how.load, how.clock))
        .collect::<Result<Vec<Settings>, Failed>>()?;
    let places = (1..=how.repeat).flat_map(|repeat| {
        let letters = 'a'..='z';
        of_servers
            .iter()
            .zip(letters)
            .map(move |(settings, letter)| (repeat, settings, letter))
    });
    let run = |(repeat, of_server, letter): (u32, &Settings, char)| {
        let settings = Settings {
            run_id: format!("{name}-{letter}{repeat}"),
            // Runs of a pair do the same, also where chance decides what.
            seed: seed.wrapping_add(u64::from(repeat)),
            ..of_server.clone()
        };
        Planned::new(plan, &suite.text, settings, how.save)
    };
    places.map(run).collect()
}

/// Does all runs, each on a thread of its own; they wait for each other.
fn perform(
    runs: Vec<Planned>,
    turns: Vec<Turn>,
    cancel: &Cancel,
    shown: &Arc<Shown>,
) -> Result<Vec<Ran>, Failed> {
    let ran: Vec<Result<Ran, Failed>> = thread::scope(|scope| {
        let start = |(run, turn): (Planned, Turn)| {
            scope.spawn(move || {
                let ran = run.perform(cancel, shown, Some(turn));
                if ran.is_err() {
                    // A comparison without one of its runs is none.
                    cancel.cancel();
                }
                ran
            })
        };
        let threads: Vec<_> = runs.into_iter().zip(turns).map(start).collect();
        let lost = |_| {
            Err(Failed::Local(
                "a run was lost by a defect of prestan".to_owned(),
            ))
        };
        let ended = threads.into_iter().map(|run| run.join());
        ended.map(|ran| ran.unwrap_or_else(lost)).collect()
    });
    let (ran, failed): (Vec<_>, Vec<_>) = ran.into_iter().partition(Result::is_ok);
    let mut failed: Vec<Failed> = failed.into_iter().filter_map(Result::err).collect();
    // What went wrong first interrupted the others.
    failed.sort_by_key(|failed| matches!(failed, Failed::Interrupted(_)));
    match failed.into_iter().next() {
        Some(failed) => Err(failed),
        None => ran.into_iter().collect(),
    }
}
