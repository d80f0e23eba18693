//! Servers measured now, in turns.

use std::path::Path;
use std::sync::Arc;
use std::thread;

use engine::{Cancel, Settings, Turn, Turns};
use suite::Plan;

use super::Server;
use crate::args::{ClockOptions, ConnectOptions, LoadOptions};
use crate::command::run::SuiteText;
use crate::command::series::{Ended, Planned, Ran, Series, Shown};
use crate::exit::Failed;
use crate::state;

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

/// What was measured side by side.
pub(crate) struct Measured {
    pub(crate) servers: Vec<Server>,
    /// Why it ended before all tests were done.
    pub(crate) ended: Option<Failed>,
}

/// Measures all servers, those at `urls` and those of `recipes`, as often as is asked for. Where
/// they cannot be measured to the end, that is no error if each run has begun: what they have all
/// done can be compared.
pub(crate) fn measure(
    how: &SideBySide<'_>,
    urls: &[String],
    recipes: &[String],
) -> Result<Measured, Failed> {
    let count = urls.len() + recipes.len();
    if count > LETTERS.len() {
        return Err(Failed::Usage(format!(
            "{count} servers are too many to be measured side by side; {} can be",
            LETTERS.len()
        )));
    }
    let suite = SuiteText::find(how.suite)?;
    let plan = suite.plan(how.load)?;
    let series = Series::of(urls, recipes, how.load.running.run_id.as_deref())?;
    let runs = runs(how, &suite, &plan, &series)?;
    let shown = Arc::new(Shown::new(plan.tests.len() * runs.len(), how.quiet));
    let turns = Turns::among(plan.tests.len(), count, how.repeat as usize);
    let performed = perform(runs, turns, &series.cancel, &shown);
    shown.end();
    let (ran, ended) = performed?;
    let mut servers: Vec<Server> = series
        .servers
        .into_iter()
        .map(|server| Server {
            name: server.name,
            runs: Vec::new(),
        })
        .collect();
    for (place, ran) in ran.into_iter().enumerate() {
        servers[place % count].runs.push(ran);
    }
    Ok(Measured { servers, ended })
}

/// The runs of each server have a letter of their own.
const LETTERS: &str = "abcdefghijklmnopqrstuvwxyz";

/// All runs: those of the first repeat come first, side by side.
fn runs(
    how: &SideBySide<'_>,
    suite: &SuiteText,
    plan: &Plan,
    series: &Series,
) -> Result<Vec<Planned>, Failed> {
    let name = &series.name;
    let seed = how.load.running.seed.unwrap_or_else(state::new_seed);
    let of_servers = series
        .servers
        .iter()
        .map(|server| server.settings(how.connect, how.load, how.clock))
        .collect::<Result<Vec<Settings>, Failed>>()?;
    let places = (1..=how.repeat).flat_map(|repeat| {
        of_servers
            .iter()
            .zip(LETTERS.chars())
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

/// Does all runs, each on a thread of its own; they wait for each other, and end together.
fn perform(
    runs: Vec<Planned>,
    turns: Vec<Turn>,
    cancel: &Cancel,
    shown: &Arc<Shown>,
) -> Result<(Vec<Ran>, Option<Failed>), Failed> {
    let ended: Vec<Result<Ran, Ended>> = thread::scope(|scope| {
        let start = |(run, turn): (Planned, Turn)| {
            scope.spawn(move || {
                let ran = run.perform(cancel, shown, Some(turn));
                if ran.is_err() {
                    // Nothing more of this pair can be compared.
                    cancel.cancel();
                }
                ran
            })
        };
        let threads: Vec<_> = runs.into_iter().zip(turns).map(start).collect();
        let lost = |_| {
            let why = "a run was lost by a defect of prestan";
            Err(Ended::from(Failed::Local(why.to_owned())))
        };
        let ended = threads.into_iter().map(|run| run.join());
        ended.map(|ran| ran.unwrap_or_else(lost)).collect()
    });
    let all = ended.len();
    let mut ran = Vec::new();
    let mut reasons = Vec::new();
    for run in ended {
        match run {
            Ok(whole) => ran.push(whole),
            Err(Ended { why, ran: part }) => {
                reasons.push(why);
                ran.extend(part.map(|part| *part));
            }
        }
    }
    // What went wrong first interrupted the others.
    reasons.sort_by_key(|why| matches!(why, Failed::Interrupted(_)));
    match reasons.into_iter().next() {
        Some(why) if ran.len() < all => Err(why),
        why => Ok((ran, why)),
    }
}
