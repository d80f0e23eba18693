//! Servers measured now, in turns.

use std::io::{self, IsTerminal};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use engine::rundir::RunDir;
use engine::{Cancel, Observer, Progress, Settings, Turn, Turns, Watch};
use indicatif::ProgressBar;
use record::{Event, EventKind, PlanRecord};
use stats::Completeness;
use suite::Plan;
use testbed::RealServer;

use super::{Ran, Server};
use crate::args::{CompareArgs, Login};
use crate::command::run::{SuiteText, credentials_of, settings, start_server};
use crate::connect::{Connection, connection, to_own_server};
use crate::exit::Failed;
use crate::intake::Intake;
use crate::output::tell;
use crate::state;
use crate::watch::{bar, on_interrupt, still_there};

/// Measures all servers as often as is asked for.
pub(super) fn measure(args: &CompareArgs) -> Result<Vec<Server>, Failed> {
    let suite = SuiteText::find(&args.question.suite)?;
    let plan = suite.plan(&args.load)?;
    let targets = targets(args)?;
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

/// A server that is to be measured. It is stopped when this goes, if it was started here.
struct Target {
    name: String,
    server: Option<RealServer>,
}

fn targets(args: &CompareArgs) -> Result<Vec<Target>, Failed> {
    let by_url = args.sides.iter().map(|url| {
        Ok(Target {
            name: url.clone(),
            server: None,
        })
    });
    let by_name = args.server.iter().map(|name| {
        Ok(Target {
            name: name.clone(),
            server: Some(start_server(name)?),
        })
    });
    by_url.chain(by_name).collect()
}

impl Target {
    fn connection(&self, args: &CompareArgs) -> Result<Connection, Failed> {
        match &self.server {
            Some(server) => to_own_server(&server.url(), credentials_of(server)),
            None => connection(&self.name, &Login::default(), &args.connect),
        }
    }
}

/// One run, with everything decided.
struct Planned {
    plan: Plan,
    settings: Settings,
    kept: RunDir,
    path: String,
    record: PlanRecord,
}

/// All runs: those of the first repeat come first, side by side.
fn runs(
    args: &CompareArgs,
    suite: &SuiteText,
    plan: &Plan,
    targets: &[Target],
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
    let run = |(repeat, target, letter): (u32, &Target, char)| {
        let mut settings = settings(target.connection(args)?, &args.load, args.clock)?;
        settings.run_id = format!("{name}-{letter}{repeat}");
        // Runs of a pair do the same, also where chance decides what.
        settings.seed = seed.wrapping_add(u64::from(repeat));
        let record = engine::plan_record(plan, &settings);
        let directory = match &args.output.save {
            Some(directory) => directory.join(&settings.run_id),
            None => state::run_directory(&settings.run_id)?,
        };
        let env = engine::environment();
        Ok(Planned {
            kept: RunDir::create(&directory, &record, &suite.text, &env)?,
            path: directory.display().to_string(),
            plan: plan.clone(),
            settings,
            record,
        })
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
                let ran = run.perform(cancel, shown, turn);
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

impl Planned {
    fn perform(self, cancel: &Cancel, shown: &Arc<Shown>, turn: Turn) -> Result<Ran, Failed> {
        let mut intake = Intake::new(&self.record, Some(&self.kept), None, Arc::default())?;
        let kept = Arc::new(Kept {
            directory: self.kept,
            shown: Arc::clone(shown),
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
                turn: Some(Arc::new(turn)),
            };
            engine::run(self.plan, &self.settings, &watch, &mut intake)
        };
        kept.directory.write_env(&finished.env)?;
        let concluded = intake.conclude(&finished);
        if let Some(why) = concluded.not_written {
            tell(&format!("prestan: warning: a run is not kept: {why}"));
        }
        if let Some(error) = finished.error {
            return Err(Failed::from(error));
        }
        let summary = concluded.summary.map_err(Failed::Local)?;
        match &summary.complete {
            Completeness::Complete => Ok(Ran {
                plan: finished.plan,
                summary,
                path: self.path,
            }),
            Completeness::Interrupted => Err(Failed::Interrupted(format!(
                "the comparison was interrupted; what was measured is in {}",
                self.path
            ))),
            Completeness::Aborted(reason) => Err(Failed::Local(format!(
                "a run of {} could not be finished: {reason}",
                self.settings.target.url()
            ))),
        }
    }
}

/// Keeps the events of a run, and shows how far it is.
struct Kept {
    directory: RunDir,
    shown: Arc<Shown>,
    tests: Vec<String>,
}

impl Observer for Kept {
    fn event(&self, event: &Event) {
        // A full disk is reported when the run is written as a whole.
        let _ = self.directory.append(event);
        match &event.kind {
            EventKind::TestEnded { test } => {
                let name = self.tests.get(usize::from(test.0));
                self.shown.done(name.map_or("?", String::as_str));
            }
            EventKind::LeftBehind(left) => self.shown.say(&still_there(left)),
            _ => {}
        }
    }
}

/// How far all runs are, on standard error.
struct Shown {
    bar: Option<ProgressBar>,
    quiet: bool,
    done: AtomicUsize,
    all: usize,
}

impl Shown {
    fn new(all: usize, quiet: bool) -> Shown {
        let on_terminal = !quiet && io::stderr().is_terminal();
        let bar = on_terminal.then(|| {
            let bar = bar(BAR);
            bar.set_length(all as u64);
            bar
        });
        Shown {
            bar,
            quiet,
            done: AtomicUsize::new(0),
            all,
        }
    }

    /// A test of a run is over.
    fn done(&self, test: &str) {
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        match &self.bar {
            Some(bar) => {
                bar.set_message(test.to_owned());
                bar.set_position(done as u64);
            }
            None if self.quiet => {}
            // A line for each tenth is enough for a log.
            None if done * 10 / self.all != (done - 1) * 10 / self.all => {
                tell(&format!("{:3} %  {test}", done * 100 / self.all));
            }
            None => {}
        }
    }

    fn say(&self, line: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| tell(line)),
            None => tell(line),
        }
    }

    fn end(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

const BAR: &str = "{msg:20} {wide_bar} {percent:>3} %  {elapsed}, {eta} left";
