//! Runs of a series: each is kept, none has a report of its own.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, IsTerminal};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use engine::{Cancel, Endpoint, LONGEST_RUN_ID, Observer, Progress, Settings, Turn, Watch};
use indicatif::ProgressBar;
use record::{Environment, Event, EventKind, LeftBehind, PlanRecord, Processors};
use report::page::RunSetup;
use rundir::RunDir;
use stats::{Completeness, Summary};
use suite::Plan;
use testbed::RealServer;
use testbed::real::Recipe;
use wire::target::Target;

use crate::args::{ClockOptions, ConnectOptions, LoadOptions, Login};
use crate::command::job::not_saved;
use crate::command::run::{credentials_of, recipe, settings};
use crate::connect::{Connection, connection, to_own_server};
use crate::exit::Failed;
use crate::intake::Intake;
use crate::output::tell;
use crate::state;
use crate::watch::{Interruptible, bar, on_interrupt, still_there};

/// A series of runs of these servers: what all of them have in common.
pub(crate) struct Series {
    /// The names of its runs begin with it.
    pub(crate) name: String,
    pub(crate) servers: Vec<Subject>,
    /// Those that the servers which run now, and what measures them, are kept to.
    pub(crate) processors: Option<Processors>,
    /// What Ctrl-C ends.
    pub(crate) cancel: Cancel,
    _interruptible: Interruptible,
}

/// A server as it was asked for.
pub(crate) enum Wanted {
    /// One that runs, by its URL.
    Running(String),
    /// One that is started here.
    Start(Box<Recipe>),
}

/// Servers at these URLs, and those of these recipes.
pub(crate) fn wanted(urls: &[String], recipes: &[String]) -> Result<Vec<Wanted>, Failed> {
    let running = urls.iter().map(|url| Ok(Wanted::Running(url.clone())));
    let start = |text: &String| Ok(Wanted::Start(Box::new(recipe(text)?)));
    running.chain(recipes.iter().map(start)).collect()
}

impl Series {
    /// For these servers; those that are to be started are, on these processors. Ctrl-C is looked after
    /// before they are.
    pub(crate) fn of(
        wanted: Vec<Wanted>,
        run_id: Option<&str>,
        processors: Option<Processors>,
    ) -> Result<Series, Failed> {
        let mut servers = wanted
            .into_iter()
            .map(Subject::new)
            .collect::<Result<Vec<Subject>, Failed>>()?;
        let name = name_of(run_id)?;
        let cancel = Cancel::default();
        let interruptible = on_interrupt(cancel.clone(), collections(&servers, &name))?;
        for server in &mut servers {
            server.start(processors.as_ref())?;
            if cancel.is_cancelled() {
                let why = "interrupted before anything was measured";
                return Err(Failed::Interrupted(why.to_owned()));
            }
        }
        Ok(Series {
            name,
            servers,
            processors,
            cancel,
            _interruptible: interruptible,
        })
    }

    /// Stops all servers that were started here, and starts them again on these processors.
    pub(crate) fn start_anew(&mut self, processors: Option<Processors>) -> Result<(), Failed> {
        self.processors = processors;
        let mut servers = self.servers.iter_mut();
        servers.try_for_each(|server| server.start(self.processors.as_ref()))
    }
}

/// Longest end that the name of a run gets behind that of its series: `-z1000`, `-999999`.
const LONGEST_END: usize = 7;

/// The name of a series: the one that was asked for, or a new one.
pub(crate) fn name_of(run_id: Option<&str>) -> Result<String, Failed> {
    match run_id {
        Some(name) if name.len() + LONGEST_END > LONGEST_RUN_ID => Err(Failed::Usage(format!(
            "--run-id {name}: each run of a series has a number behind this name; give it {} \
             characters at most",
            LONGEST_RUN_ID - LONGEST_END
        ))),
        Some(name) => Ok(name.to_owned()),
        None => Ok(state::new_run_id()),
    }
}

/// What the runs of a series make on servers that are not ours.
fn collections(servers: &[Subject], name: &str) -> Option<String> {
    let is_running = |server: &&Subject| matches!(server.means, Means::Url(_));
    let names = servers.iter().filter(is_running).map(|server| {
        let collections = engine::collection_name(&format!("{name}-"));
        format!("{}{collections}...", server.name)
    });
    let names: Vec<String> = names.collect();
    (!names.is_empty()).then(|| format!("what `prestan clean` finds of {}", names.join(" and ")))
}

/// A server that is to be measured. It is stopped when this goes, if it was started here.
pub(crate) struct Subject {
    /// Its URL, without a password, its recipe, or the command that starts it.
    pub(crate) name: String,
    means: Means,
}

/// How it is reached.
enum Means {
    /// As it was typed, maybe with a password.
    Url(String),
    Own {
        recipe: Box<Recipe>,
        running: Option<Box<RealServer>>,
    },
}

impl Subject {
    fn new(wanted: Wanted) -> Result<Subject, Failed> {
        Ok(match wanted {
            Wanted::Running(url) => {
                let target =
                    Target::parse(&url).map_err(|error| Failed::Usage(error.to_string()))?;
                Subject {
                    name: target.url(),
                    means: Means::Url(url),
                }
            }
            Wanted::Start(recipe) => Subject {
                name: recipe.name.clone(),
                means: Means::Own {
                    recipe,
                    running: None,
                },
            },
        })
    }

    /// Whether it is started here.
    pub(crate) fn is_own(&self) -> bool {
        matches!(self.means, Means::Own { .. })
    }

    /// Starts it, if it is to be started here; one that runs already is stopped first.
    pub(crate) fn start(&mut self, processors: Option<&Processors>) -> Result<(), Failed> {
        if let Means::Own { recipe, running } = &mut self.means {
            // Stopped before the next one starts, which may want the same port.
            drop(running.take());
            let processors = processors.map_or(&[][..], |own| &own.server);
            let server = RealServer::start_on(recipe, processors);
            let server = server.map_err(|error| Failed::Target(error.to_string()))?;
            *running = Some(Box::new(server));
        }
        Ok(())
    }

    /// How its runs are to be done, but for what differs between them. Called once for each server:
    /// warnings are printed once, a password is read once, and all runs go to the same address.
    pub(crate) fn settings(
        &self,
        connect: &ConnectOptions,
        load: &LoadOptions,
        clock: ClockOptions,
    ) -> Result<Settings, Failed> {
        let connection = match &self.means {
            Means::Own { running, .. } => self.own_connection(running.as_deref()),
            Means::Url(url) => connection(url, &Login::default(), connect),
        };
        settings(connection?, load, clock)
    }

    /// Points the settings of an earlier start at the process that runs now.
    pub(crate) fn follow(&self, settings: &mut Settings) -> Result<(), Failed> {
        if let Means::Own { running, .. } = &self.means {
            let Endpoint { target, route, .. } = self.own_connection(running.as_deref())?.endpoint;
            (settings.endpoint.target, settings.endpoint.route) = (target, route);
        }
        Ok(())
    }

    fn own_connection(&self, running: Option<&RealServer>) -> Result<Connection, Failed> {
        let not_running = || Failed::Local(format!("{} does not run", self.name));
        let server = running.ok_or_else(not_running)?;
        to_own_server(&server.url(), credentials_of(server))
    }
}

/// A run that did not go through.
pub(crate) struct Ended {
    pub(crate) why: Failed,
    /// What it had measured until then.
    pub(crate) ran: Option<Box<Ran>>,
}

impl From<Failed> for Ended {
    fn from(why: Failed) -> Ended {
        Ended { why, ran: None }
    }
}

/// A run that is over.
pub(crate) struct Ran {
    pub(crate) plan: PlanRecord,
    pub(crate) summary: Summary,
    /// What was measured, and from where.
    pub(crate) env: Environment,
    /// Where it is kept.
    pub(crate) path: String,
    /// How long each test took, with its preparation and its clean-up.
    pub(crate) spent: BTreeMap<String, Duration>,
}

impl Ran {
    /// How it was measured.
    pub(crate) fn told(&self) -> RunSetup<'_> {
        RunSetup {
            plan: &self.plan,
            env: &self.env,
            summary: &self.summary,
        }
    }
}

/// One run, with everything decided.
pub(crate) struct Planned {
    plan: Plan,
    settings: Settings,
    kept: RunDir,
    path: String,
    record: PlanRecord,
}

impl Planned {
    /// A run that is kept below `save`, or where runs are kept.
    pub(crate) fn new(
        plan: &Plan,
        suite_text: &str,
        settings: Settings,
        save: Option<&Path>,
    ) -> Result<Planned, Failed> {
        let record = engine::plan_record(plan, &settings);
        let directory = state::directory_of(&settings.run_id, save)?;
        let env = engine::environment();
        Ok(Planned {
            kept: RunDir::create(&directory, &record, suite_text, &env)?,
            path: directory.display().to_string(),
            plan: plan.clone(),
            settings,
            record,
        })
    }

    /// Does it, when it is its turn.
    pub(crate) fn perform(
        self,
        cancel: &Cancel,
        shown: &Arc<Shown>,
        turn: Option<Turn>,
    ) -> Result<Ran, Ended> {
        let mut intake = Intake::new(&self.record, Some(&self.kept), None, Arc::default());
        let kept = Arc::new(Kept {
            directory: self.kept,
            shown: Arc::clone(shown),
            // Runs that take turns wait for each other, and not for one that will not come.
            cancel: turn.is_some().then(|| cancel.clone()),
            tests: self
                .record
                .tests
                .iter()
                .map(|test| test.name.clone())
                .collect(),
        });
        let finished = {
            let watch = Watch {
                cancel: cancel.clone(),
                progress: Arc::new(Progress::default()),
                observer: Arc::clone(&kept) as Arc<dyn Observer>,
                turn: turn.map(Arc::new),
            };
            engine::run(self.plan, &self.settings, &watch, &mut intake)
        };
        let concluded = intake.conclude(&finished);
        let env = finished.env.clone();
        let saved = kept.directory.complete(env, concluded.written);
        if let Some(error) = finished.error {
            return Err(Failed::from(error).into());
        }
        let summary = concluded.summary.map_err(Failed::Local)?;
        let complete = summary.complete.clone();
        let ran = Ran {
            spent: spent(&finished.plan, &finished.events),
            plan: finished.plan,
            summary,
            env: finished.env,
            path: self.path,
        };
        let why = match complete {
            Completeness::Complete => match saved {
                Ok(()) => return Ok(ran),
                Err(why) => not_saved(&why, &kept.directory),
            },
            Completeness::Interrupted => Failed::Interrupted(format!(
                "it was interrupted; what was measured last is in {}",
                ran.path
            )),
            Completeness::Aborted(reason) => Failed::Local(format!(
                "a run of {} could not be finished: {}",
                ran.plan.target,
                report::abort_reason(reason.as_deref())
            )),
        };
        let ran = Some(Box::new(ran));
        Err(Ended { why, ran })
    }
}

/// How long each test took, with its preparation and its clean-up.
pub(crate) fn spent(plan: &PlanRecord, events: &[Event]) -> BTreeMap<String, Duration> {
    let mut started = BTreeMap::new();
    let mut spent = BTreeMap::new();
    for event in events {
        match event.kind {
            EventKind::TestStarted { test } => {
                started.insert(test, event.at);
            }
            EventKind::TestEnded { test } => {
                let took = event.at - started.get(&test).copied().unwrap_or(event.at);
                if let Some(record) = plan.tests.get(usize::from(test.0)) {
                    spent.insert(record.name.clone(), Duration::from_nanos(took));
                }
            }
            _ => {}
        }
    }
    spent
}

/// Keeps the events of a run, and shows how far it is.
struct Kept {
    directory: RunDir,
    shown: Arc<Shown>,
    /// What ends when this run cannot go on.
    cancel: Option<Cancel>,
    tests: Vec<String>,
}

impl Observer for Kept {
    fn event(&self, event: &Event) {
        self.directory.append(event);
        match &event.kind {
            EventKind::TestEnded { test } => {
                let name = self.tests.get(usize::from(test.0));
                self.shown.done(name.map_or("?", String::as_str));
            }
            EventKind::LeftBehind(left) => self.shown.left_behind(left),
            EventKind::Aborted { .. } => {
                if let Some(cancel) = &self.cancel {
                    cancel.cancel();
                }
            }
            _ => {}
        }
    }
}

/// How far all runs are, on standard error.
pub(crate) struct Shown {
    bar: Option<ProgressBar>,
    quiet: bool,
    done: AtomicUsize,
    all: All,
    /// Tenths of all that a line was written for.
    told: AtomicUsize,
    /// What is on servers, as far as it was said.
    left: Mutex<BTreeSet<String>>,
}

/// When all is done.
#[derive(Debug, Clone, Copy)]
enum All {
    /// So many tests are to be done.
    Tests(usize),
    /// It ends by itself, by that time after this moment at the latest.
    Within(Duration, Instant),
}

impl Shown {
    /// So many tests are to be done.
    pub(crate) fn new(tests: usize, quiet: bool) -> Shown {
        Shown::of(All::Tests(tests), quiet)
    }

    /// It takes so long from now on, or less.
    pub(crate) fn within(budget: Duration, quiet: bool) -> Shown {
        Shown::of(All::Within(budget, Instant::now()), quiet)
    }

    fn of(all: All, quiet: bool) -> Shown {
        let on_terminal = !quiet && io::stderr().is_terminal();
        let bar = on_terminal.then(|| {
            let bar = bar(BAR);
            bar.set_length(PARTS as u64);
            bar
        });
        Shown {
            bar,
            quiet,
            done: AtomicUsize::new(0),
            all,
            told: AtomicUsize::new(0),
            left: Mutex::default(),
        }
    }

    /// A test of a run is over.
    fn done(&self, test: &str) {
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        let share = match self.all {
            All::Tests(tests) => done as f64 / tests as f64,
            All::Within(budget, begun) => begun.elapsed().as_secs_f64() / budget.as_secs_f64(),
        };
        let parts = (share.min(1.0) * PARTS as f64) as usize;
        match &self.bar {
            Some(bar) => {
                bar.set_message(test.to_owned());
                bar.set_position(parts as u64);
            }
            None if self.quiet => {}
            // A line for each tenth is enough for a log.
            None => {
                let tenth = parts * 10 / PARTS;
                if self.told.fetch_max(tenth, Ordering::Relaxed) < tenth {
                    tell(&format!("{:3} %  {test}", parts * 100 / PARTS));
                }
            }
        }
    }

    /// What stays on a server, once for all runs; what we left there ourselves also quietly.
    fn left_behind(&self, left: &LeftBehind) {
        let mut known = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        if (left.own || !self.quiet) && known.insert(left.url.clone()) {
            self.say(&still_there(left));
        }
    }

    pub(crate) fn say(&self, line: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| tell(line)),
            None => tell(line),
        }
    }

    pub(crate) fn end(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// What a bar is divided into.
const PARTS: usize = 1000;

const BAR: &str = "{msg:20} {wide_bar} {percent:>3} %  {elapsed}, {eta} left";
