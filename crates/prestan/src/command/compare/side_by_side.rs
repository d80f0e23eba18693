//! Servers measured now, in turns.
//!
//! ```text
//! block 1   start B, start A   test 1: A B B A A B B A ...   test 2: B A A B ...   stop both
//! block 2   start A, start B   test 1: B A A B B A A B ...   test 2: A B B A ...   stop both
//! ...
//! ```
//!
//! The runs of a block are whole runs, each on a thread of its own with its own record.

mod blocks;
mod starts;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use engine::{Cancel, Drive, Rounds, Settings, Turn, Turns};
use record::{MeasureRecord, Processors};
use stats::{Completeness, LEAST_STARTS};
use suite::Plan;

use super::MeasuredServer;
use crate::args::{ClockOptions, ConnectOptions, InsideOptions, LoadOptions, is_given};
use crate::command::completed::IncompleteRun;
use crate::command::kept::KeptRun;
use crate::command::planned::{PARTNER_ENDED, PlannedRun};
use crate::command::run::overrides;
use crate::command::series::{RunSeries, SeriesProgress, TestedServer};
use crate::forecast::roughly;
use crate::output::number_of;

use blocks::{Blocks, LEAST_BLOCKS, TestBlock};
use runner::RunnerError;
use runner::background::{self, AskedBackground, BackgroundShare};
use runner::inside::WatchedServer;
use runner::state;
use runner::suite_text::SuiteText;
use starts::start_order;

/// How servers are measured side by side.
pub(crate) struct SideBySide<'a> {
    /// With which suite.
    pub(crate) suite: &'a str,
    /// What the report calls the servers, where these are not their own names.
    pub(crate) names: Option<[&'a String; 2]>,
    pub(crate) extent: Extent<'a>,
    pub(crate) load: &'a LoadOptions,
    pub(crate) clock: ClockOptions,
    pub(crate) connect: &'a ConnectOptions,
    pub(crate) inside: &'a InsideOptions,
    /// Below which directory the runs are kept.
    pub(crate) save: Option<&'a Path>,
    pub(crate) quiet: bool,
}

/// How much is measured.
#[derive(Clone, Copy)]
pub(crate) enum Extent<'a> {
    /// So many runs of each server.
    Runs(u32),
    /// As many as fit into this time, of the tests that are still undecided.
    Within(Duration, &'a Undecided<'a>),
}

/// Of these runs, the names of the tests with a row that is undecided; `None` before that can be told.
pub(crate) type Undecided<'a> = dyn Fn(&[MeasuredServer]) -> Option<BTreeSet<String>> + 'a;

/// What was measured side by side.
pub(crate) struct MeasuredSeries {
    pub(crate) servers: Vec<MeasuredServer>,
    /// Why it ended before all tests were done.
    pub(crate) ended: Option<RunnerError>,
}

/// The runs of each server have a letter of their own.
const LETTERS: &str = "abcdefghijklmnopqrstuvwxyz";

/// Measures all servers. Where they cannot be measured to the end, that is no error if each of them
/// has a run: what they have all done can be compared.
pub(crate) fn measure(
    how: &SideBySide<'_>,
    servers: Vec<TestedServer>,
) -> Result<MeasuredSeries, RunnerError> {
    let begun = Instant::now();
    if servers.len() > LETTERS.len() {
        return Err(RunnerError::Usage(format!(
            "{} servers are too many to be measured side by side; {} can be",
            servers.len(),
            LETTERS.len()
        )));
    }
    let suite = SuiteText::find(how.suite)?;
    let whole = suite.resolved(&overrides(how.load))?;
    let background = AskedBackground::of(&how.load.running.background.request(), &whole)?;
    let are_kept_apart = servers.iter().all(TestedServer::is_own) && has_one_user(how.load);
    let run_id = how.load.running.run_id.as_deref();
    let seed = how.load.running.seed.unwrap_or_else(state::new_seed);
    let order = start_order(seed, 1, servers.len());
    let series = RunSeries::of(servers, run_id, processors(are_kept_apart, 1), &order)?;
    let names: Vec<String> = match how.names {
        Some(names) => names.map(Clone::clone).into(),
        None => series
            .servers
            .iter()
            .map(|server| server.name.clone())
            .collect(),
    };
    let servers = names.iter().zip(&series.servers);
    let servers = servers.map(|(name, server)| MeasuredServer {
        name: server.label.as_ref().unwrap_or(name).clone(),
        label: server.label.clone(),
        runs: Vec::new(),
    });
    let servers = servers.collect();
    let settings = series.servers.iter();
    let settings = settings.map(|server| server.settings(how.connect, how.load, how.clock));
    let mut comparing = Comparing {
        how,
        suite: &suite,
        background,
        settings: settings.collect::<Result<_, _>>()?,
        seed,
        measured: MeasuredSeries {
            servers,
            ended: None,
        },
        are_kept_apart,
        names,
        series,
        blocks: 0,
    };
    let sides = comparing.measured.servers.len();
    let (shown, done) = match how.extent {
        Extent::Runs(runs) => {
            let shown = Arc::new(SeriesProgress::new(how.quiet));
            let servers = comparing.series.servers.iter().zip(&comparing.settings);
            for (group, (server, settings)) in servers.enumerate() {
                let settings = comparing.rounds(settings, server.is_own(), &whole);
                (0..runs).for_each(|_| shown.plan(group, &whole, &settings));
            }
            let mut blocks = (0..runs).map(|_| comparing.block(&whole, &shown));
            let done = blocks.try_for_each(|block| block.map(|_| ()));
            (Arc::clone(&shown), done)
        }
        Extent::Within(budget, undecided) => {
            let shown = Arc::new(SeriesProgress::within(Some(budget), how.quiet));
            let tests = whole.tests.iter().map(|test| test.name.clone());
            let sides = u32::try_from(sides).unwrap_or(1);
            let needed = if is_given(how.inside) {
                LEAST_STARTS
            } else {
                0
            };
            let needed = u32::try_from(needed).unwrap_or(0);
            let mut blocks = Blocks::new(budget, (sides, needed), tests);
            let done = comparing.within(&whole, &mut blocks, (begun, undecided), &shown);
            (shown, done)
        }
    };
    shown.end();
    let MeasuredSeries { servers, ended } = comparing.measured;
    match done {
        Err(why) if servers.iter().any(|server| server.runs.is_empty()) => Err(why),
        done => Ok(MeasuredSeries {
            servers,
            ended: ended.or(done.err()),
        }),
    }
}

/// One user needs one worker thread, and one server at a time. With more of them servers want all processors
/// that there are.
fn has_one_user(load: &LoadOptions) -> bool {
    load.concurrency.unwrap_or(1) == 1 && load.running.threads == 1
}

/// The processors of a block.
fn processors(are_kept_apart: bool, block: u32) -> Option<Processors> {
    are_kept_apart
        .then(|| engine::processors::divide(block))
        .flatten()
}

/// Servers that are being measured.
struct Comparing<'a> {
    how: &'a SideBySide<'a>,
    suite: &'a SuiteText,
    /// Beside each block.
    background: Option<AskedBackground>,
    /// Servers and what measures them are kept to processors of their own.
    are_kept_apart: bool,
    /// Runs of a block do the same, also where chance decides what.
    seed: u64,
    /// What the record calls the servers.
    names: Vec<String>,
    series: RunSeries,
    /// Of each server.
    settings: Vec<Settings>,
    measured: MeasuredSeries,
    /// Blocks that were begun.
    blocks: u32,
}

impl Comparing<'_> {
    /// Makes blocks until all is decided, or the budget is spent.
    fn within(
        &mut self,
        whole: &Plan,
        blocks: &mut Blocks,
        (begun, undecided): (Instant, &Undecided<'_>),
        shown: &Arc<SeriesProgress>,
    ) -> Result<(), RunnerError> {
        while let Some(block) = blocks.next(begun.elapsed()) {
            let block_begun = Instant::now();
            let plan = self
                .suite
                .resolved(&overrides(&self.load_of(whole, &block)))?;
            if !self.block(&plan, shown)? {
                break;
            }
            let spent = self
                .measured
                .servers
                .iter()
                .filter_map(|server| server.runs.last());
            let longest = spent.map(KeptRun::time_of_tests).reduce(|mut one, other| {
                for (test, took) in other {
                    let own = one.entry(test).or_default();
                    *own = took.max(*own);
                }
                one
            });
            blocks.add(&block, block_begun.elapsed(), &longest.unwrap_or_default());
            if !self.how.quiet
                && let Some(least) = blocks.beyond(begun.elapsed())
            {
                shown.say(&beyond(least, block.tests.len()));
            }
            if let Some(open) = undecided(&self.measured.servers) {
                blocks.keep(|test| open.contains(test));
            }
        }
        Ok(())
    }

    /// Options of the runs of a block: of the rows that were asked for, those of its tests. What is said of
    /// how much a run does holds for each of them.
    fn load_of(&self, whole: &Plan, block: &TestBlock) -> LoadOptions {
        let given = self.how.load;
        let is_said = given.requests.is_some() || given.duration.is_some();
        LoadOptions {
            only: rows_of(whole, &block.tests),
            duration: if is_said {
                given.duration
            } else {
                Some(block.measured)
            },
            ..given.clone()
        }
    }

    /// One run of each server, after a fresh start where they are started here. Returns whether it
    /// went through; what it did until then is kept, unless one of these servers ended by itself: what
    /// failed after that says nothing of the tests.
    fn block(&mut self, plan: &Plan, shown: &Arc<SeriesProgress>) -> Result<bool, RunnerError> {
        if self.measured.ended.is_some() {
            return Ok(false);
        }
        self.blocks += 1;
        if self.blocks > 1 {
            let processors = processors(self.are_kept_apart, self.blocks);
            self.series.start_anew(processors, &self.order())?;
            let mut servers = self.series.servers.iter().zip(&mut self.settings);
            servers.try_for_each(|(server, settings)| server.follow(self.how.connect, settings))?;
        }
        let runs = self.runs(plan)?;
        let turns = Turns::among(runs.len(), self.blocks as usize);
        let (ran, ended) = perform(runs, turns, &self.series.cancel, shown);
        let gone = self.series.ended_server(self.blocks as usize, shown);
        let is_whole = gone.is_none() && ran.len() == self.measured.servers.len();
        let ended = match ended {
            Some(RunnerError::Interrupted(_)) => ended,
            ended => gone.or(ended),
        };
        if is_whole {
            for (server, run) in self.measured.servers.iter_mut().zip(ran) {
                server.runs.push(run);
            }
        }
        match ended {
            Some(why) if self.measured.servers[0].runs.is_empty() => Err(why),
            ended => {
                self.measured.ended = ended;
                Ok(self.measured.ended.is_none())
            }
        }
    }

    /// In which order the servers of the block under way are started.
    fn order(&self) -> Vec<usize> {
        start_order(self.seed, self.blocks, self.series.servers.len())
    }

    /// These settings, with the rounds of a block.
    fn rounds(&self, settings: &Settings, is_fresh: bool, plan: &Plan) -> Settings {
        let steady_within = if is_fresh {
            plan_duration(plan)
        } else {
            Duration::ZERO
        };
        Settings {
            drive: Drive::Rounds(Rounds {
                warmup: self.how.load.warmup,
                steady_within,
            }),
            ..settings.clone()
        }
    }

    /// The runs of a block. Where one of them cannot begin, nothing is kept of the others.
    fn runs(&self, plan: &Plan) -> Result<Vec<PlannedRun>, RunnerError> {
        let mut runs = Vec::new();
        let prepared = self.prepare(plan, &mut runs);
        if prepared.is_err() {
            runs.iter().for_each(PlannedRun::discard);
        }
        prepared.map(|()| runs)
    }

    /// Adds the runs of a block, and starts the background traffic that they share.
    fn prepare(&self, plan: &Plan, runs: &mut Vec<PlannedRun>) -> Result<(), RunnerError> {
        let number = self.blocks;
        let order = self.order();
        let started = |server: usize| order.iter().position(|place| *place == server);
        let mut traffic = None;
        let servers = self.series.servers.iter().zip(&self.settings);
        let servers = servers.zip(&self.names).zip(LETTERS.chars());
        for (place, (((server, settings), name), letter)) in servers.enumerate() {
            let started = started(place).and_then(|started| u32::try_from(started + 1).ok());
            let mut settings = Settings {
                run_id: format!("{}-{letter}{number}", self.series.name),
                seed: self.seed.wrapping_add(u64::from(number)),
                start_place: started.filter(|_| server.is_own()),
                processors: self.series.processors.clone(),
                ..self.rounds(settings, server.is_own(), plan)
            };
            if let Some(asked) = &self.background {
                traffic = Some(asked.task(&mut settings)?);
            }
            let watched = server.watched(self.how.inside)?;
            settings.inside = watched.as_ref().map(WatchedServer::record);
            let run =
                PlannedRun::of_side(Some(name), plan, &self.suite.text, settings, self.how.save)?;
            runs.push(run.watching(watched));
        }
        if let Some(task) = traffic {
            let running = background::started(task, &self.series.cancel, true)?;
            let shares = BackgroundShare::among(runs.len(), running)?;
            for (run, share) in runs.iter_mut().zip(shares) {
                run.traffic = Some(share);
            }
        }
        Ok(())
    }
}

/// What is said after a first block that was too long for the budget.
fn beyond(least: Duration, tests: usize) -> String {
    format!(
        "prestan: this takes about {}, longer than --for: {} on each server take part in {LEAST_BLOCKS} blocks at \
         least, and each of their requests waits for its round trips. Name fewer tests (--only), or shorten the delay \
         of the path",
        roughly(least.as_secs_f64()),
        number_of(tests, "test")
    )
}

/// Names of the rows of these tests.
fn rows_of(plan: &Plan, tests: &[String]) -> Vec<String> {
    let of_block = |measure: &&MeasureRecord| {
        let test = plan.tests.iter().find(|test| test.id == measure.test);
        test.is_some_and(|test| tests.contains(&test.name))
    };
    let rows = plan.measures.iter().filter(of_block);
    rows.map(|measure| measure.name.clone()).collect()
}

/// A server that was just started is warmed up for as long as it is measured at most, and this long
/// where it is measured by requests.
const STEADY_WITHIN: Duration = Duration::from_millis(100);

fn plan_duration(plan: &Plan) -> Duration {
    match plan.tests.first().map(|test| test.limit) {
        Some(suite::Limit::Duration(duration)) => duration,
        _ => STEADY_WITHIN,
    }
}

/// Does all runs, each on a thread of its own; they wait for each other, and end together.
fn perform(
    runs: Vec<PlannedRun>,
    turns: Vec<Turn>,
    cancel: &Cancel,
    shown: &Arc<SeriesProgress>,
) -> (Vec<KeptRun>, Option<RunnerError>) {
    let ended: Vec<Result<KeptRun, IncompleteRun>> = thread::scope(|scope| {
        let start = |(group, (job, turn)): (usize, (PlannedRun, Turn))| {
            let keep = move || {
                let ran = job.keep(cancel, (shown, group), Some(turn));
                if ran.is_err() {
                    // Nothing more of this block can be compared.
                    cancel.cancel_because(PARTNER_ENDED);
                }
                ran
            };
            thread::Builder::new()
                .spawn_scoped(scope, keep)
                .map_err(|error| {
                    cancel.cancel_because(PARTNER_ENDED);
                    IncompleteRun::from(RunnerError::no_thread(&error))
                })
        };
        let threads: Vec<_> = runs.into_iter().zip(turns).enumerate().map(start).collect();
        let lost = |_| {
            let why = "a run was lost by a defect of prestan";
            Err(IncompleteRun::from(RunnerError::Local(why.to_owned())))
        };
        let ended = threads
            .into_iter()
            .map(|run| run.and_then(|run| run.join().unwrap_or_else(lost)));
        ended.collect()
    });
    let mut ran = Vec::new();
    let mut reasons = Vec::new();
    for run in ended {
        match run {
            Ok(whole) => ran.push(whole),
            Err(IncompleteRun { why, run: part }) => {
                let ended = part.as_ref().map(|part| &part.summary.complete);
                let is_consequence = matches!(why, RunnerError::Interrupted(_))
                    || matches!(ended, Some(Completeness::Aborted(Some(why))) if why == PARTNER_ENDED);
                reasons.push((is_consequence, why));
                ran.extend(part.map(|part| *part));
            }
        }
    }
    reasons.sort_by_key(|(is_consequence, _)| *is_consequence);
    (ran, reasons.into_iter().next().map(|(_, why)| why))
}
