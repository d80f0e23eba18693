//! Steps of a series on this machine: runs of the engine, one or several at a time.
//!
//! ```text
//! step    start servers anew -> plan the runs -> make them, in turns where they are several -> which server ended?
//! ```
//!
//! Each run of a step is a whole run, on a thread of its own, with its own record.

mod step;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use engine::{Cancel, Drive, RunPlace, RunSpec, Turn, Turns};
use record::Processors;
use suite::Workspace;

use crate::RunnerError;
use crate::background::{self, BackgroundShare, BackgroundTask};
use crate::console::{Guard, MadeOnServers, SeriesConsole};
use crate::inside::{InsideRequest, WatchedServer};
use crate::kept::KeptRun;
use crate::load::guard;
use crate::run::{CompletedRun, IncompleteRun, PARTNER_ENDED, PlannedRun, RunEnds, RunRole};
use crate::series::{MadeStep, Runner, StepFailure};
use crate::servers::{
    AnonymousServers, RunWays, RunsOfServer, ServerEnd, TestedServer, collections, name_of,
};
use crate::state::{self, UnusedDirectories};

use step::{first_reason, ran};

pub use step::{RunStep, RunTask, ServerStart, StepRun, StepRuns, whole};

/// Storage of runs.
#[derive(Debug, Clone)]
pub enum RunStorage {
    /// None: a single run that is not kept.
    Nowhere,
    /// A single run in this directory; `None`: in the default directory.
    Single(Option<PathBuf>),
    /// Runs of a series below this directory; `None`: in the default directory.
    Series(Option<PathBuf>),
}

impl RunStorage {
    fn save(&self) -> Option<&Path> {
        match self {
            RunStorage::Nowhere => None,
            RunStorage::Single(save) | RunStorage::Series(save) => save.as_deref(),
        }
    }
}

/// Settings of a series on this machine.
pub struct LocalSeries<'a> {
    /// Access to its servers.
    pub ways: RunWays,
    /// Servers to look into.
    pub inside: InsideRequest,
    /// Stacks of servers are sampled.
    pub flames: bool,
    /// Storage of its runs.
    pub storage: RunStorage,
    /// Names of servers in records, where servers are compared.
    pub sides: Option<Vec<String>>,
    /// The file for the packets of its runs.
    pub capture: Option<PathBuf>,
    /// Conditions that end its runs early.
    pub ends: RunEnds,
    /// Samples are needed after the runs even if these are not kept.
    pub needs_samples: bool,
    /// The history keeps the material of a diagnosis.
    pub is_diagnosed: bool,
    /// Displays the series.
    pub console: &'a dyn SeriesConsole,
}

impl<'a> LocalSeries<'a> {
    /// A series kept in `storage`, with defaults for everything else.
    pub fn new(
        ways: RunWays,
        storage: RunStorage,
        console: &'a dyn SeriesConsole,
    ) -> LocalSeries<'a> {
        LocalSeries {
            ways,
            inside: InsideRequest::default(),
            flames: false,
            storage,
            sides: None,
            capture: None,
            ends: RunEnds::default(),
            needs_samples: false,
            is_diagnosed: false,
            console,
        }
    }

    fn is_single(&self) -> bool {
        !matches!(self.storage, RunStorage::Series(_))
    }
}

/// Makes the runs of a series. Dropping it stops the servers that were started for it.
pub struct LocalRunner<'a> {
    /// Prefix of the names of its runs.
    name: String,
    servers: Vec<TestedServer>,
    with: LocalSeries<'a>,
    /// Processors of the running servers and of the load generator.
    processors: Option<Processors>,
    /// Cancelled by Ctrl-C.
    cancel: Cancel,
    begun: Instant,
    kept: Vec<String>,
    _unused: UnusedDirectories,
    _interruptible: Option<Guard>,
}

impl<'a> LocalRunner<'a> {
    /// For these servers; looks up the ones that run already. Handles Ctrl-C from now on; `tasks`
    /// are what the runs may make on servers.
    ///
    /// # Errors
    ///
    /// The name is taken, a server has no address, or signals cannot be waited for.
    pub fn new<'t>(
        mut servers: Vec<TestedServer>,
        tasks: impl IntoIterator<Item = &'t RunTask>,
        with: LocalSeries<'a>,
    ) -> Result<LocalRunner<'a>, RunnerError> {
        let run_id = with.ways.run.run_id.as_deref();
        let name = if with.is_single() {
            run_id.map_or_else(state::new_run_id, str::to_owned)
        } else {
            name_of(run_id)?
        };
        let unused = UnusedDirectories::of(with.storage.save());
        let cancel = Cancel::default();
        let interruptible = if with.is_single() {
            // [`LocalRunner::make_single`] handles Ctrl-C itself.
            None
        } else {
            refuse_captures(with.capture.as_deref())?;
            let mut tasks = tasks.into_iter();
            let makes_collections = tasks.any(|task| task.plan.workspace != Workspace::ReadOnly);
            let made = collections(&servers, &name).filter(|_| makes_collections);
            let made = made.map_or_else(OnceLock::new, OnceLock::from);
            Some(with.console.on_interrupt(&cancel, &Arc::new(made))?)
        };
        let mut running = servers.iter_mut().filter(|server| !server.is_own());
        running.try_for_each(|server| server.find(&with.ways))?;
        Ok(LocalRunner {
            name,
            servers,
            with,
            processors: None,
            cancel,
            begun: Instant::now(),
            kept: Vec::new(),
            _unused: unused,
            _interruptible: interruptible,
        })
    }

    /// Makes a single run. The error beside it is the reason why its server ended.
    ///
    /// # Errors
    ///
    /// The run could not begin.
    pub fn single(
        &mut self,
        step: &RunStep,
    ) -> Result<(CompletedRun, Option<RunnerError>), RunnerError> {
        let completed = self.make_single(step).map_err(|why| {
            let gone = self.ended_server("the run", |_| RunsOfServer::NotBegun);
            first_reason(why, gone)
        })?;
        let was_interrupted = completed.was_interrupted();
        let ended = self.ended_server("the run", |_| completed.ran());
        Ok((completed, ended.filter(|_| !was_interrupted)))
    }

    fn make_single(&mut self, step: &RunStep) -> Result<CompletedRun, RunnerError> {
        let console = self.with.console;
        let (cancel, made) = (self.cancel.clone(), MadeOnServers::default());
        let on_interrupt = || console.on_interrupt(&cancel, &made);
        // A started server has to be stopped. Otherwise there is nothing to clean up before the run
        // begins, and a signal ends the program.
        let starts = self.servers.iter().any(TestedServer::is_own);
        let interruptible = starts.then(on_interrupt).transpose()?;
        let planned = self.begin(step)?;
        if let Some(urls) = planned.runs[0].created_urls() {
            made.get_or_init(|| urls);
        }
        let _interruptible = interruptible.map_or_else(on_interrupt, Ok)?;
        let run = self.attend(step, planned)?.swap_remove(0);
        run.make(&cancel, (console, 0), None)
    }

    /// Names of its servers, to be replaced by labels in reports.
    pub fn anonymous(&self) -> AnonymousServers {
        AnonymousServers::of(&self.servers)
    }

    /// Names of its servers in reports.
    pub fn reported_names(&self) -> Vec<String> {
        let names = self.servers.iter().map(TestedServer::reported_name);
        names.cloned().collect()
    }

    /// Stops all servers that were started here, and starts them again.
    fn start(&mut self, ServerStart { order, division }: &ServerStart) -> Result<(), RunnerError> {
        self.processors = division.and_then(limits::processors::divide);
        self.servers.iter_mut().for_each(TestedServer::stop);
        for index in order {
            let server = &mut self.servers[*index];
            server.start(self.processors.as_ref(), &self.cancel)?;
            server.find(&self.with.ways)?;
        }
        Ok(())
    }

    fn runs(
        &mut self,
        number: usize,
        step: &RunStep,
    ) -> Result<Vec<Result<KeptRun, IncompleteRun>>, StepFailure> {
        let failed = |has_begun| move |why| StepFailure { why, has_begun };
        let planned = self.begin(step).map_err(failed(false))?;
        let runs = self.attend(step, planned).map_err(failed(true))?;
        let groups = step.runs.iter().map(|run| run.group);
        Ok(side_by_side(
            groups.zip(runs),
            Turns::among(step.runs.len(), number),
            &self.cancel,
            (self.with.console, self.with.is_diagnosed),
        ))
    }

    /// Starts servers, and plans the runs of a step. If one cannot be planned, the others are
    /// discarded.
    fn begin(&mut self, step: &RunStep) -> Result<PlannedStep, RunnerError> {
        self.with.console.begin_step(step.title.as_deref());
        if let Some(start) = &step.start {
            self.start(start)?;
        }
        let mut planned = PlannedStep::default();
        match self.plan_all(step, &mut planned) {
            Ok(()) => Ok(planned),
            Err(why) => Err(planned.discarded(why)),
        }
    }

    fn plan_all(&self, step: &RunStep, planned: &mut PlannedStep) -> Result<(), RunnerError> {
        let with = &self.with;
        for run in &step.runs {
            let server = &self.servers[run.server];
            let watched = self.watched(server, run)?;
            let mut spec = RunSpec {
                run_id: self.run_id(run),
                plan: Arc::new(run.task.plan.clone()),
                seed: run.seed,
                users: run.users,
                drive: run.drive.clone(),
                start_place: start_place(step, run.server).filter(|_| server.is_own()),
                command: with.ways.run.command.clone(),
                notes: with.ways.run.notes.clone(),
                label: server.label.clone(),
                beside: Vec::new(),
                background: None,
            };
            let place = RunPlace {
                inside: watched.as_ref().map(WatchedServer::record),
                processors: self.processors.clone(),
                ..server.place()?.clone()
            };
            let makes_target = match run.task.permission {
                Some((permission, writes)) => guard::look(permission, &place, writes)?,
                None => false,
            };
            if let Some(asked) = &run.task.background {
                planned.traffic = Some(asked.task(&mut spec)?);
            }
            let (role, directory) = (self.role(run), self.directory(&spec.run_id)?);
            let mut run = PlannedRun::new(&run.task, (spec, place), role, directory)?;
            (run.watched, run.makes_target) = (watched, makes_target);
            (run.ends, run.needs_samples) = (with.ends, with.needs_samples);
            planned.runs.push(run);
        }
        Ok(())
    }

    /// Starts the companions of the runs of a step. If one cannot be started, the runs are
    /// discarded.
    fn attend(
        &self,
        step: &RunStep,
        mut planned: PlannedStep,
    ) -> Result<Vec<PlannedRun>, RunnerError> {
        match self.attend_all(step, &mut planned) {
            Ok(()) => Ok(planned.runs),
            Err(why) => Err(planned.discarded(why)),
        }
    }

    fn attend_all(&self, step: &RunStep, planned: &mut PlannedStep) -> Result<(), RunnerError> {
        let (is_quiet, runs) = (self.is_quiet(), &mut planned.runs);
        for (run, planned) in step.runs.iter().zip(runs.iter_mut()) {
            planned.start_capture(self.capture(run).as_deref(), is_quiet)?;
        }
        if let Some(task) = planned.traffic.take() {
            let running = background::started(task, &self.cancel, is_quiet)?;
            let shares = BackgroundShare::among(runs.len(), running)?;
            for (run, share) in runs.iter_mut().zip(shares) {
                run.companions.push(Box::new(share));
            }
        }
        let mut runs = runs.iter_mut();
        runs.try_for_each(|run| run.start_loads(&self.cancel))
    }

    /// Capture file of a run: in a series, its name stands before the extension.
    fn capture(&self, run: &StepRun) -> Option<PathBuf> {
        let file = self.with.capture.as_ref()?;
        let Some(name) = &run.name else {
            return Some(file.clone());
        };
        let stem = file.file_stem().unwrap_or_default().to_string_lossy();
        let ending = file.extension().map_or(String::new(), |ending| {
            format!(".{}", ending.to_string_lossy())
        });
        Some(file.with_file_name(format!("{stem}-{name}{ending}")))
    }

    /// Nothing is logged about companions of a run.
    fn is_quiet(&self) -> bool {
        !self.with.is_single() || self.with.console.is_quiet()
    }

    fn run_id(&self, run: &StepRun) -> String {
        match &run.name {
            Some(name) => format!("{}-{name}", self.name),
            None => self.name.clone(),
        }
    }

    fn role(&self, run: &StepRun) -> RunRole<'_> {
        if self.with.is_single() {
            return RunRole::Single;
        }
        let sides = self.with.sides.as_ref();
        RunRole::OfSeries(sides.map(|names| &*names[run.server]))
    }

    fn directory(&self, run_id: &str) -> Result<Option<PathBuf>, RunnerError> {
        match &self.with.storage {
            RunStorage::Nowhere => Ok(None),
            RunStorage::Single(Some(path)) => Ok(Some(path.clone())),
            RunStorage::Single(None) => state::run_directory(run_id).map(Some),
            RunStorage::Series(save) => state::directory_of(run_id, save.as_deref()).map(Some),
        }
    }

    fn watched(
        &self,
        server: &TestedServer,
        run: &StepRun,
    ) -> Result<Option<WatchedServer>, RunnerError> {
        let asked = InsideRequest {
            is_wanted: self.with.inside.is_wanted || self.with.flames,
            ..self.with.inside
        };
        let watched = server.watched(asked)?;
        if watched.is_some() && !run.task.beside.is_empty() {
            return Err(RunnerError::Usage(
                "what the server does for the loads beside the run cannot be told apart from what it does for the run; leave \
                 out --inside and --pid, or --beside and --compete"
                    .to_owned(),
            ));
        }
        let watched = watched.map(|watched| watched.with_flames(self.with.flames));
        Ok(
            watched.map(|watched| match (self.with.is_single(), &run.drive) {
                (true, Drive::Rounds(_)) => server.with_log(watched),
                (true, Drive::Load(_)) => watched,
                (false, _) => watched.compared(),
            }),
        )
    }

    /// The reason why nothing can follow: a server has ended by itself, according to what its run
    /// has `seen`. Logs leftovers on the other servers.
    fn ended_server<'r>(
        &mut self,
        during: &str,
        seen: impl Fn(usize) -> RunsOfServer<'r>,
    ) -> Option<RunnerError> {
        let console = self.with.console;
        let servers = self.servers.iter_mut().enumerate();
        let are_reported = |url: &str| console.has_left_behind(url);
        let ended =
            servers.filter_map(|(index, server)| server.ended(during, are_reported, seen(index)));
        let ended = ended.map(|ServerEnd { why, url }| (url, why));
        let (gone, reasons): (Vec<Option<String>>, Vec<RunnerError>) = ended.unzip();
        let gone: Vec<String> = gone.into_iter().flatten().collect();
        console.report_left_behind(&gone);
        reasons.into_iter().next()
    }
}

/// The runs of a step, ready to begin.
#[derive(Default)]
struct PlannedStep {
    runs: Vec<PlannedRun>,
    /// Background traffic beside all of them.
    traffic: Option<BackgroundTask>,
}

impl PlannedStep {
    /// Discards the runs, and returns the reason.
    fn discarded(self, why: RunnerError) -> RunnerError {
        self.runs.into_iter().for_each(PlannedRun::discard);
        why
    }
}

/// Adds the other runs of a series, and the command that prints them, to the error of a run that
/// could not be saved.
fn with_kept(why: RunnerError, kept: &[String]) -> RunnerError {
    match (&why, kept) {
        (RunnerError::NotSaved(_), [run]) => why.followed_by(&format!(
            "; another run of the series is complete, and `prestan report {run}` prints it"
        )),
        (RunnerError::NotSaved(_), [.., last]) => why.followed_by(&format!(
            "; {} other runs of the series are complete, and `prestan report {last}` prints the last one",
            kept.len()
        )),
        _ => why,
    }
}

/// Refuses a capture file of a series where files of another series are.
fn refuse_captures(file: Option<&Path>) -> Result<(), RunnerError> {
    let Some((file, stem)) = file.and_then(|file| Some((file, file.file_stem()?))) else {
        return Ok(());
    };
    let begin = format!("{}-", stem.to_string_lossy());
    let parent = file.parent();
    let directory = parent.filter(|directory| *directory != Path::new(""));
    let entries = fs::read_dir(directory.unwrap_or(Path::new(".")));
    let entries = entries.into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    let mut there = paths.filter(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with(&begin) && path.extension() == file.extension()
    });
    match there.next() {
        Some(there) => Err(RunnerError::Usage(format!(
            "{} is there already, and the captures of these runs would stand among others; choose another name",
            there.display()
        ))),
        None => Ok(()),
    }
}

/// The rank of a server, from 1, among those that are started for the runs of a step side by side.
fn start_place(step: &RunStep, server: usize) -> Option<u32> {
    let ServerStart { order, .. } = step.start.as_ref().filter(|_| step.runs.len() > 1)?;
    let index = order.iter().position(|index| *index == server)?;
    u32::try_from(index + 1).ok()
}

impl Runner for LocalRunner<'_> {
    type Step = RunStep;
    type Outcome = StepRuns;

    fn run(&mut self, number: usize, step: &RunStep) -> MadeStep<StepRuns> {
        let runs = self.runs(number, step);
        let gone = self.ended_server(&format!("run {number}"), |server| {
            let made = runs.iter().flat_map(|made| step.runs.iter().zip(made));
            let mut matching = made.filter(|(run, _)| run.server == server);
            ran(matching.next().map(|(_, run)| run))
        });
        let kept = runs.iter().flatten().flatten();
        self.kept.extend(kept.map(|run| run.path.clone()));
        let mut made = StepRuns::made(runs, gone);
        let with_kept = |failure: StepFailure| StepFailure {
            why: with_kept(failure.why, &self.kept),
            ..failure
        };
        made.ended = made.ended.map(with_kept);
        made
    }

    fn elapsed(&self) -> Duration {
        self.begun.elapsed()
    }

    fn remark(&self, remark: &str) {
        self.with.console.remark(remark);
    }
}

/// Makes all runs, each on another thread; they wait for each other, and end together.
fn side_by_side(
    runs: impl Iterator<Item = (usize, PlannedRun)>,
    turns: Vec<Turn>,
    cancel: &Cancel,
    (console, is_diagnosed): (&dyn SeriesConsole, bool),
) -> Vec<Result<KeptRun, IncompleteRun>> {
    let is_alone = turns.len() == 1;
    thread::scope(|scope| {
        let start = |((group, job), turn): ((usize, PlannedRun), Turn)| {
            let keep = move || {
                let turn = (!is_alone).then_some(turn);
                let made = job.make(cancel, (console, group), turn);
                let made = made.map_err(IncompleteRun::from);
                let ran = made.and_then(|completed| completed.keep(is_diagnosed));
                if ran.is_err() && !is_alone {
                    // The rest of this step cannot be compared.
                    cancel.cancel_because(PARTNER_ENDED);
                }
                ran
            };
            let started = thread::Builder::new().spawn_scoped(scope, keep);
            started.map_err(|error| {
                cancel.cancel_because(PARTNER_ENDED);
                IncompleteRun::from(RunnerError::no_thread(&error))
            })
        };
        let threads: Vec<_> = runs.zip(turns).map(start).collect();
        let lost = |_| {
            let why = "a run was lost by a defect of prestan";
            Err(IncompleteRun::from(RunnerError::Local(why.to_owned())))
        };
        let end =
            |run: Result<thread::ScopedJoinHandle<'_, _>, _>| run?.join().unwrap_or_else(lost);
        threads.into_iter().map(end).collect()
    })
}
