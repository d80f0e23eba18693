//! Steps of a series on this machine: runs of the engine, one or several at a time.
//!
//! ```text
//! step    start servers anew -> plan the runs -> make them, in turns where they are several -> which server ended?
//! ```
//!
//! The runs of a step are whole runs, each on a thread of its own with its own record.

use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use engine::{Cancel, Drive, Settings, Turn, Turns};
use record::Processors;
use stats::Completeness;
use suite::{Plan, Workspace};

use super::SeriesProgress;
use super::servers::{AnonymousServers, RunWays, TestedServer, name_of};
use crate::command::completed::IncompleteRun;
use crate::command::kept::KeptRun;
use crate::command::planned::{PARTNER_ENDED, PlannedRun};
use crate::signals::{Interruptible, on_interrupt};
use runner::RunnerError;
use runner::background::{self, AskedBackground, BackgroundShare};
use runner::inside::{InsideRequest, WatchedServer};
use runner::series::{MadeStep, Runner, SeriesHistory, StepFailure};

/// Runs that are made at the same time.
pub(crate) struct RunStep {
    /// How the servers that are started here are started for it; `None` leaves them as they are.
    pub(crate) start: Option<ServerStart>,
    /// In turns, where there are several.
    pub(crate) runs: Vec<StepRun>,
    /// What a bar says of it.
    pub(crate) title: Option<String>,
}

/// A start of all servers.
pub(crate) struct ServerStart {
    /// Their places, in the order in which they are started.
    pub(crate) order: Vec<usize>,
    /// How the processors are divided between them and what measures them, by the number of the step; `None` leaves
    /// that to the system.
    pub(crate) division: Option<u32>,
}

impl ServerStart {
    /// Of so many servers, in their order.
    pub(crate) fn in_order(servers: usize) -> ServerStart {
        ServerStart {
            order: (0..servers).collect(),
            division: None,
        }
    }
}

/// A run that is to be made.
#[derive(Clone)]
pub(crate) struct StepRun {
    /// The place of its server.
    pub(crate) server: usize,
    /// Runs that are alike have the same number, by which it is known how long the others take.
    pub(crate) group: usize,
    /// What follows the name of the series in its own: `3`, `a12`.
    pub(crate) name: String,
    pub(crate) task: Arc<RunTask>,
    pub(crate) users: u32,
    pub(crate) drive: Drive,
    pub(crate) seed: u64,
}

/// What a run does.
pub(crate) struct RunTask {
    pub(crate) plan: Plan,
    pub(crate) suite_text: String,
    /// What is sent beside it.
    pub(crate) background: Option<AskedBackground>,
}

/// The runs of a step.
pub(crate) struct StepRuns {
    /// As many as there were to be.
    pub(crate) runs: Vec<KeptRun>,
    /// Whether all of them went through to their end.
    pub(crate) is_whole: bool,
}

/// The runs of a series that went through to their end.
pub(crate) fn whole(history: &SeriesHistory<RunStep, StepRuns>) -> impl Iterator<Item = &KeptRun> {
    let whole = history.outcomes().filter(|made| made.is_whole);
    whole.flat_map(|made| &made.runs)
}

/// What a series on this machine is made with.
pub(crate) struct LocalSeries<'a> {
    pub(crate) ways: RunWays<'a>,
    pub(crate) inside: InsideRequest,
    /// Below which directory the runs are kept.
    pub(crate) save: Option<&'a Path>,
    /// What the record of a run calls its server, where servers are compared.
    pub(crate) sides: Option<Vec<String>>,
    pub(crate) shown: Arc<SeriesProgress>,
}

/// Makes the runs of a series. The servers that were started for it are stopped when this goes.
pub(crate) struct LocalRunner<'a> {
    /// The names of its runs begin with it.
    pub(crate) name: String,
    pub(crate) servers: Vec<TestedServer>,
    with: LocalSeries<'a>,
    /// Those that the servers which run now, and what measures them, are kept to.
    processors: Option<Processors>,
    /// What Ctrl-C ends.
    cancel: Cancel,
    begun: Instant,
    _interruptible: Interruptible,
}

impl<'a> LocalRunner<'a> {
    /// For these servers, of which those that run already are looked up. Ctrl-C is looked after from now on; it may find
    /// what these tasks make on servers.
    pub(crate) fn new<'t>(
        mut servers: Vec<TestedServer>,
        tasks: impl IntoIterator<Item = &'t RunTask>,
        with: LocalSeries<'a>,
    ) -> Result<LocalRunner<'a>, RunnerError> {
        let name = name_of(with.ways.run.run_id.as_deref())?;
        let mut tasks = tasks.into_iter();
        let makes_collections = tasks.any(|task| task.plan.workspace != Workspace::ReadOnly);
        let cancel = Cancel::default();
        let made = super::servers::collections(&servers, &name).filter(|_| makes_collections);
        let interruptible = on_interrupt(cancel.clone(), made)?;
        let mut running = servers.iter_mut().filter(|server| !server.is_own());
        running.try_for_each(|server| server.find(&with.ways))?;
        Ok(LocalRunner {
            name,
            servers,
            with,
            processors: None,
            cancel,
            begun: Instant::now(),
            _interruptible: interruptible,
        })
    }

    /// Shows no longer how far the series is.
    pub(crate) fn end(&self) {
        self.with.shown.end();
    }

    /// How its servers are known, for what reports say of them.
    pub(crate) fn anonymous(&self) -> AnonymousServers {
        AnonymousServers::of(&self.servers)
    }

    /// What reports call its servers.
    pub(crate) fn reported_names(&self) -> Vec<String> {
        let names = self.servers.iter().map(TestedServer::reported_name);
        names.cloned().collect()
    }

    /// Stops all servers that were started here, and starts them again.
    fn start(&mut self, ServerStart { order, division }: &ServerStart) -> Result<(), RunnerError> {
        self.processors = division.and_then(engine::processors::divide);
        self.servers.iter_mut().for_each(TestedServer::stop);
        for place in order {
            let server = &mut self.servers[*place];
            server.start(self.processors.as_ref())?;
            if server.is_own() && self.cancel.is_cancelled() {
                let why = "interrupted before anything was measured";
                return Err(RunnerError::Interrupted(why.to_owned()));
            }
            server.find(&self.with.ways)?;
        }
        Ok(())
    }

    /// The runs of a step, with the background traffic that they share. Where one of them cannot begin, nothing is kept of
    /// the others.
    fn planned(&self, step: &RunStep) -> Result<Vec<PlannedRun>, RunnerError> {
        let mut runs = Vec::new();
        let planned = self.plan_all(step, &mut runs);
        if planned.is_err() {
            runs.iter().for_each(PlannedRun::discard);
        }
        planned.map(|()| runs)
    }

    fn plan_all(&self, step: &RunStep, runs: &mut Vec<PlannedRun>) -> Result<(), RunnerError> {
        let mut traffic = None;
        for run in &step.runs {
            let server = &self.servers[run.server];
            let watched = server.watched(&self.with.inside)?;
            let mut settings = Settings {
                run_id: format!("{}-{}", self.name, run.name),
                users: run.users,
                drive: run.drive.clone(),
                seed: run.seed,
                inside: watched.as_ref().map(WatchedServer::record),
                processors: self.processors.clone(),
                start_place: start_place(step, run.server).filter(|_| server.is_own()),
                ..server.settings()?.clone()
            };
            if let Some(asked) = &run.task.background {
                traffic = Some(asked.task(&mut settings)?);
            }
            let side = self.with.sides.as_ref();
            let side = side.map(|names| &*names[run.server]);
            let planned = PlannedRun::of_series(side, &run.task, settings, self.with.save)?;
            runs.push(planned.watching(watched));
        }
        if let Some(task) = traffic {
            let running = background::started(task, &self.cancel, true)?;
            let shares = BackgroundShare::among(runs.len(), running)?;
            for (run, share) in runs.iter_mut().zip(shares) {
                run.traffic = Some(share);
            }
        }
        Ok(())
    }

    /// Why the series ends with the step of this number: a server that was started here has ended by itself.
    /// Of the others, what these runs could not remove there is named.
    fn ended_server(&mut self, step: usize) -> Option<RunnerError> {
        let shown = &self.with.shown;
        let servers = self.servers.iter_mut();
        let ended = servers.filter_map(|server| server.ended(step, shown));
        let (gone, reasons): (Vec<String>, Vec<RunnerError>) = ended.unzip();
        shown.tell_left_behind(&gone);
        reasons.into_iter().next()
    }
}

/// Where a server comes, from 1, among those that are started for the runs of a step side by side.
fn start_place(step: &RunStep, server: usize) -> Option<u32> {
    let ServerStart { order, .. } = step.start.as_ref().filter(|_| step.runs.len() > 1)?;
    let place = order.iter().position(|place| *place == server)?;
    u32::try_from(place + 1).ok()
}

impl Runner for LocalRunner<'_> {
    type Step = RunStep;
    type Outcome = StepRuns;

    fn run(&mut self, number: usize, step: &RunStep) -> MadeStep<StepRuns> {
        self.with.shown.begin_step(step.title.as_deref());
        let started = step
            .start
            .as_ref()
            .map_or(Ok(()), |start| self.start(start));
        let runs = match started.and_then(|()| self.planned(step)) {
            Ok(runs) => runs,
            Err(why) => return MadeStep::not_begun(why),
        };
        let groups = step.runs.iter().map(|run| run.group);
        let (ran, failed) = side_by_side(
            groups.zip(runs),
            Turns::among(step.runs.len(), number),
            &self.cancel,
            &self.with.shown,
        );
        let gone = self.ended_server(number);
        // What failed after a server had ended says nothing of it.
        let is_there = gone.is_none() && ran.len() == step.runs.len();
        let why = match failed {
            Some(RunnerError::Interrupted(_)) => failed,
            failed => gone.or(failed),
        };
        MadeStep {
            outcome: is_there.then(|| StepRuns {
                runs: ran,
                is_whole: why.is_none(),
            }),
            ended: why.map(|why| StepFailure {
                why,
                has_begun: true,
            }),
        }
    }

    fn elapsed(&self) -> Duration {
        self.begun.elapsed()
    }

    fn say(&self, remark: &str) {
        self.with.shown.remark(remark);
    }
}

/// Makes all runs, each on a thread of its own; they wait for each other, and end together.
fn side_by_side(
    runs: impl Iterator<Item = (usize, PlannedRun)>,
    turns: Vec<Turn>,
    cancel: &Cancel,
    shown: &Arc<SeriesProgress>,
) -> (Vec<KeptRun>, Option<RunnerError>) {
    let is_alone = turns.len() == 1;
    let ended: Vec<Result<KeptRun, IncompleteRun>> = thread::scope(|scope| {
        let start = |((group, job), turn): ((usize, PlannedRun), Turn)| {
            let keep = move || {
                let turn = (!is_alone).then_some(turn);
                let ran = job.keep(cancel, (shown, group), turn);
                if ran.is_err() && !is_alone {
                    // Nothing more of this step can be compared.
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
        let threads: Vec<_> = runs.zip(turns).map(start).collect();
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
