//! Servers measured now, in turns.

use std::sync::Arc;
use std::thread;

use engine::{Cancel, Turn, Turns};
use suite::Plan;

use super::Server;
use crate::args::CompareArgs;
use crate::command::run::{SuiteText, settings};
use crate::command::series::{Measured, Planned, Ran, Shown};
use crate::exit::Failed;
use crate::state;
use crate::watch::on_interrupt;

/// Measures all servers as often as is asked for.
pub(super) fn measure(args: &CompareArgs) -> Result<Vec<Server>, Failed> {
    let suite = SuiteText::find(&args.question.suite)?;
    let plan = suite.plan(&args.load)?;
    let targets = Measured::all(&args.sides, &args.server)?;
    let repeats = args.question.repeat as usize;
    let runs = runs(args, &suite, &plan, &targets)?;

    let cancel = Cancel::default();
    on_interrupt(cancel.clone(), None)?;
    let shown = Arc::new(Shown::new(plan.tests.len() * runs.len(), args.output.quiet));
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
    args: &CompareArgs,
    suite: &SuiteText,
    plan: &Plan,
    targets: &[Measured],
) -> Result<Vec<Planned>, Failed> {
    let name = args.load.run_id.clone().unwrap_or_else(state::new_run_id);
    let seed = args.load.seed.unwrap_or_else(state::new_seed);
    let places = (1..=args.question.repeat).flat_map(|repeat| {
        let letters = 'a'..='z';
        targets
            .iter()
            .zip(letters)
            .map(move |(target, letter)| (repeat, target, letter))
    });
    let run = |(repeat, target, letter): (u32, &Measured, char)| {
        let mut settings = settings(target.connection(&args.connect)?, &args.load, args.clock)?;
        settings.run_id = format!("{name}-{letter}{repeat}");
        // Runs of a pair do the same, also where chance decides what.
        settings.seed = seed.wrapping_add(u64::from(repeat));
        Planned::new(plan, &suite.text, settings, args.output.save.as_deref())
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
