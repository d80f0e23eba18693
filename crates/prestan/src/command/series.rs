//! Runs of a series: each is kept, none has a report of its own.

use std::io::{self, IsTerminal};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use engine::rundir::RunDir;
use engine::{Cancel, Observer, Progress, Settings, Turn, Watch};
use indicatif::ProgressBar;
use record::{Environment, Event, EventKind, PlanRecord};
use stats::{Completeness, Summary};
use suite::Plan;
use testbed::RealServer;

use crate::args::{ClockOptions, ConnectOptions, LoadOptions, Login};
use crate::command::run::{credentials_of, settings, start_server};
use crate::connect::{connection, to_own_server};
use crate::exit::Failed;
use crate::intake::Intake;
use crate::output::tell;
use crate::state;
use crate::watch::{bar, still_there};

/// A server that is to be measured. It is stopped when this goes, if it was started here.
pub(crate) struct Measured {
    /// Its URL, or its recipe.
    pub(crate) name: String,
    server: Option<RealServer>,
}

impl Measured {
    /// Servers at these URLs, and those of these recipes, which are started.
    pub(crate) fn all(urls: &[String], recipes: &[String]) -> Result<Vec<Measured>, Failed> {
        let by_url = urls.iter().map(|url| {
            Ok(Measured {
                name: url.clone(),
                server: None,
            })
        });
        let by_recipe = recipes.iter().map(|name| {
            Ok(Measured {
                name: name.clone(),
                server: Some(start_server(name)?),
            })
        });
        by_url.chain(by_recipe).collect()
    }

    /// How its runs are to be done, but for what differs between them. Asked once for each server:
    /// what is to be warned of is warned of once, and all runs go to the same address.
    pub(crate) fn settings(
        &self,
        connect: &ConnectOptions,
        load: &LoadOptions,
        clock: ClockOptions,
    ) -> Result<Settings, Failed> {
        let connection = match &self.server {
            Some(server) => to_own_server(&server.url(), credentials_of(server)),
            None => connection(&self.name, &Login::default(), connect),
        };
        settings(connection?, load, clock)
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
    ) -> Result<Ran, Failed> {
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
                turn: turn.map(Arc::new),
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
                env: finished.env,
                path: self.path,
            }),
            Completeness::Interrupted => Err(Failed::Interrupted(format!(
                "it was interrupted; what was measured last is in {}",
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
pub(crate) struct Shown {
    bar: Option<ProgressBar>,
    quiet: bool,
    done: AtomicUsize,
    all: usize,
}

impl Shown {
    /// So many tests are to be done.
    pub(crate) fn new(all: usize, quiet: bool) -> Shown {
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

const BAR: &str = "{msg:20} {wide_bar} {percent:>3} %  {elapsed}, {eta} left";
