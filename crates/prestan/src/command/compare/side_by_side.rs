//! Servers measured side by side.

use std::sync::Arc;
use std::time::Duration;

use report::Incomplete;
use stats::LEAST_STARTS;
use suite::Plan;

use super::MeasuredServer;
use crate::args::{LoadOptions, MeasuringOptions, RunsOptions, SideOptions, is_given};
use crate::command::run::overrides;
use crate::signals::on_interrupt;
use runner::RunnerError;
use runner::local::{LocalRunner, LocalSeries, RunTask};
use runner::policy::{BlockFrame, BudgetedBlocks, LETTERS, Listed};
use runner::series;
use runner::servers::TestedServer;
use runner::suite_text::SuiteText;
use terminal::progress::{SeriesPace, SeriesProgress};

/// Settings of a measurement of servers side by side.
pub(crate) struct SideBySide<'a> {
    pub(crate) side: &'a SideOptions,
    /// Names of the servers in the report instead of those of the servers.
    pub(crate) names: Option<[&'a String; 2]>,
    pub(crate) extent: Extent,
    pub(crate) measuring: &'a MeasuringOptions,
    pub(crate) flames: bool,
    pub(crate) runs: &'a RunsOptions,
}

impl SideBySide<'_> {
    /// True if the servers are looked into.
    pub(crate) fn looks_inside(&self) -> bool {
        is_given(&self.measuring.inside) || self.flames
    }
}

/// The suite of the runs.
pub(crate) struct SideSuite {
    text: SuiteText,
    pub(crate) plan: Plan,
}

impl SideSuite {
    pub(crate) fn of(side: &SideOptions) -> Result<SideSuite, RunnerError> {
        let text = SuiteText::find(&side.suite.suite)?;
        let plan = text.resolved(&overrides(&side.load, side.suite.writes))?;
        Ok(SideSuite { text, plan })
    }
}

#[derive(Clone, Copy)]
pub(crate) enum Extent {
    /// Number of runs of each server.
    Runs(u32),
    /// As many runs as fit into this time, of the tests that are still undecided.
    Within(Duration),
}

/// The end of a series of runs before all of them were made.
pub(crate) struct EarlyEnd {
    pub(crate) why: RunnerError,
    pub(crate) incomplete: Incomplete,
}

pub(crate) struct MeasuredSeries {
    pub(crate) servers: Vec<MeasuredServer>,
    /// Number of runs of each server that ended normally.
    pub(crate) whole: usize,
    /// The reason, if it ended before all tests were done.
    pub(crate) ended: Option<EarlyEnd>,
}

impl MeasuredSeries {
    /// A series of recorded runs.
    pub(crate) fn recorded(servers: Vec<MeasuredServer>) -> MeasuredSeries {
        MeasuredSeries {
            whole: servers.first().map_or(0, |server| server.runs.len()),
            servers,
            ended: None,
        }
    }
}

/// Measures all servers. An early end is no error if each of them has a run: the tests that all
/// have done can be compared.
pub(crate) fn measure(
    how: &SideBySide<'_>,
    SideSuite { text, plan }: SideSuite,
    servers: Vec<TestedServer>,
) -> Result<MeasuredSeries, RunnerError> {
    if servers.len() > LETTERS.len() {
        return Err(RunnerError::Usage(format!(
            "{} servers are too many to be measured side by side; {} can be",
            servers.len(),
            LETTERS.len()
        )));
    }
    let load = &how.side.load;
    let suite = text.parsed()?;
    let whole = RunTask::new(plan, text.text.clone(), &how.measuring.background.request())?;
    let whole = Arc::new(whole);
    let ways = how.measuring.ways(&load.running)?;
    let frame = BlockFrame {
        seed: ways.run.seed,
        are_started: servers.iter().map(TestedServer::is_own).collect(),
        are_kept_apart: servers.iter().all(TestedServer::is_own) && has_one_user(load),
        users: load.rounds.users(),
        warmup: load.warmup.warmup,
    };
    let names: Vec<String> = match how.names {
        Some(names) => names.map(Clone::clone).into(),
        None => servers.iter().map(|server| server.name.clone()).collect(),
    };
    let measured_server = |(name, server): (&String, &TestedServer)| MeasuredServer {
        name: server.label.as_ref().unwrap_or(name).clone(),
        label: server.label.clone(),
        runs: Vec::new(),
    };
    let mut measured: Vec<MeasuredServer> =
        names.iter().zip(&servers).map(measured_server).collect();
    let pace = match how.extent {
        Extent::Runs(_) => SeriesPace::Planned,
        Extent::Within(budget) => SeriesPace::Within(budget),
    };
    let shown = SeriesProgress::new(pace, how.runs.quiet, on_interrupt);
    let with = LocalSeries {
        flames: how.flames,
        sides: Some(names),
        ..how.measuring.series(ways, how.runs.storage(), &shown)
    };
    let mut runner = LocalRunner::new(servers, [&*whole], with)?;
    let series = match how.extent {
        Extent::Runs(runs) => {
            let mut blocks = Listed::new((1..=runs).map(|number| frame.block(number, &whole)));
            shown.plan(blocks.steps());
            series::perform(&mut blocks, &mut runner)
        }
        Extent::Within(budget) => {
            let needed = if how.looks_inside() { LEAST_STARTS } else { 0 };
            let needed = u32::try_from(needed).unwrap_or(0);
            let part = |rows, measured| {
                let part = part_of(load, rows, measured);
                Ok(whole.part(suite.resolved(&overrides(&part, how.side.suite.writes))?))
            };
            let question = how.side.verdicts.by();
            let plan = whole.plan.clone();
            let mut blocks = BudgetedBlocks::new(frame, (budget, needed), plan, question, &part);
            series::perform(&mut blocks, &mut runner)
        }
    };
    shown.end();
    let mut whole = 0;
    for made in series.history.steps {
        whole += usize::from(made.outcome.is_whole);
        for (server, run) in measured.iter_mut().zip(made.outcome.runs) {
            server.runs.push(run);
        }
    }
    let servers = runner.anonymous();
    match series.ended.map(|end| end.why) {
        Some(why) if measured[0].runs.is_empty() => Err(why),
        ended => Ok(MeasuredSeries {
            servers: measured,
            whole,
            ended: ended.map(|why| EarlyEnd {
                incomplete: servers.incomplete("comparison", &why),
                why,
            }),
        }),
    }
}

/// One user needs one worker thread, and one server at a time. With several users, servers need all
/// processors.
fn has_one_user(load: &LoadOptions) -> bool {
    load.rounds.users() == 1 && load.running.threads == 1
}

/// Options of the runs of a block: these of the requested rows. Options about the amount of a run
/// apply to each of them.
fn part_of(given: &LoadOptions, rows: Vec<String>, measured: Duration) -> LoadOptions {
    let has_amount = given.rounds.requests.is_some() || given.duration.is_some();
    LoadOptions {
        only: rows,
        duration: if has_amount {
            given.duration
        } else {
            Some(measured)
        },
        ..given.clone()
    }
}
