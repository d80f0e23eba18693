//! Loads beside a run. Each is a run with its own driver, users, record and report, which begins
//! before the main run and ends after it.
//!
//! ```text
//! beside    set up, warm up --> at work ----------------------------------- enough --> clean up
//! run                              '--> set up, warm up, measure, clean up --'
//! ```

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::background::BackgroundRequest;
use crate::kept::KeptRun;
use crate::load::{guard, pace};
use crate::local::RunTask;
use crate::run::{Companion, EndedRun, IncompleteRun, PlannedRun, RunRole};
use crate::suite_text::SuiteText;
use crate::{RunnerError, start_thread};
use engine::{Cancel, Drive, LONGEST_RUN_ID, LoadDrive, Observer, RunPlace, RunSpec};
use record::{BesideRecord, Event, EventKind};
use suite::{Overrides, Plan, TestPlan};

use crate::words::still_there;

const USERS: u32 = 1;
/// Duration of an open loop whose end is not known yet.
const LONG: Duration = Duration::from_secs(366 * 24 * 3600);
/// Longest time that a load goes on after the run to complete requests that wait. More waiting
/// requests than that mean a rate that the server does not sustain.
const DRAIN: Duration = Duration::from_secs(1);

/// A load beside a run.
#[derive(Debug, Clone, PartialEq)]
pub struct BesideRequest {
    /// A built-in suite, or a file.
    pub suite: String,
    /// Name of the load; `None`: that of the suite.
    pub name: Option<String>,
    /// Concurrent users; `None`: the default.
    pub users: Option<u32>,
    /// Operations a second.
    pub rate: Option<f64>,
    /// Tests, by name or pattern; empty: all of the suite.
    pub only: Vec<String>,
}

/// A requested load, checked before anything begins.
pub struct BesideTask {
    name: String,
    task: RunTask,
    users: u32,
    drive: LoadDrive,
}

impl BesideTask {
    /// The loads of these options.
    pub fn all(options: &[BesideRequest]) -> Result<Vec<BesideTask>, RunnerError> {
        let mut names = BTreeSet::new();
        let task = |option: &BesideRequest| {
            let task = BesideTask::of(option, Overrides::default())?;
            if names.insert(task.name.clone()) {
                return Ok(task);
            }
            Err(RunnerError::Usage(format!(
                "--beside {}: there is another load called {}; give it a name, as in \
                 `--beside {},name=other`",
                option.suite, task.name, option.suite
            )))
        };
        options.iter().map(task).collect()
    }

    /// All tests of a plan except the first, each as a load with `users` users: they compete with
    /// the first.
    pub fn competing(
        suite: &str,
        plan: &Plan,
        users: u32,
        overrides: &Overrides,
    ) -> Result<Vec<BesideTask>, RunnerError> {
        let of_test = |test: &TestPlan| {
            let option = BesideRequest {
                suite: suite.to_owned(),
                name: Some(test.name.clone()),
                users: Some(users),
                rate: None,
                only: vec![test.name.clone()],
            };
            BesideTask::of(&option, overrides.clone())
        };
        plan.tests.iter().skip(1).map(of_test).collect()
    }

    fn of(option: &BesideRequest, mut overrides: Overrides) -> Result<BesideTask, RunnerError> {
        let suite = SuiteText::find(&option.suite)?;
        overrides.selection.only.clone_from(&option.only);
        let mut plan = suite.resolved(&overrides)?;
        // Background traffic and captures are for the suite that is measured to define.
        (plan.background, plan.capture) = (None, None);
        // As every suite, it works in a new collection, or only reads.
        guard::mix(&mut plan, true)?;
        let name = option.name.as_ref().unwrap_or(&plan.suite.name).clone();
        if !engine::is_run_id(&name) {
            return Err(RunnerError::Usage(format!(
                "--beside {}: a load cannot be called `{name}`; give it a name of letters, digits, - \
                 and _, as in `--beside {},name=other`",
                option.suite, option.suite
            )));
        }
        let usual = option.rate.map_or(USERS, |_| pace::OPEN_CONNECTIONS);
        Ok(BesideTask {
            name,
            task: RunTask::new(plan, suite.text, &BackgroundRequest::default())?,
            users: option.users.unwrap_or(usual),
            drive: match option.rate {
                None => LoadDrive::default(),
                Some(rate) => LoadDrive {
                    pacing: pace::at_rate(rate, LONG),
                    drain: Some(DRAIN),
                    ..LoadDrive::default()
                },
            },
        })
    }

    /// The run of this load: number `number` beside `main`.
    fn spec(&self, main: &RunSpec, number: u64) -> Result<RunSpec, RunnerError> {
        let run_id = format!("{}-{}", main.run_id, self.name);
        if !engine::is_run_id(&run_id) {
            return Err(RunnerError::Usage(format!(
                "--beside {}: {run_id} is too long for the name of a run (at most {LONGEST_RUN_ID} \
                 characters); give the load a shorter name, as in `--beside {},name=b`",
                self.name, self.name
            )));
        }
        Ok(RunSpec {
            run_id,
            plan: Arc::new(self.task.plan.clone()),
            seed: main.seed.wrapping_add(number),
            users: self.users,
            beside: Vec::new(),
            background: None,
            drive: Drive::Load(self.drive.clone()),
            ..main.clone()
        })
    }
}

/// A planned load beside a run.
pub(crate) struct BesideLoad {
    name: String,
    run: PlannedRun,
}

impl BesideLoad {
    /// URLs of resources that the load makes on the server and removes at the end.
    pub(crate) fn created_urls(&self) -> Option<String> {
        self.run.created_urls()
    }
}

/// Plans the loads beside a run, and adds them to its record.
pub(crate) fn decided(
    tasks: &[BesideTask],
    main: &mut RunSpec,
    place: &RunPlace,
) -> Result<Vec<(RunSpec, RunPlace)>, RunnerError> {
    let mut decided = Vec::new();
    for (load, number) in tasks.iter().zip(1..) {
        let spec = load.spec(main, number)?;
        let place = RunPlace {
            threads: 1,
            files: Vec::new(),
            ..place.clone()
        };
        let record = engine::plan_record(&spec, &place);
        main.beside.push(BesideRecord {
            name: load.name.clone(),
            run_id: record.run_id,
            suite: record.suite,
            load: record.load,
        });
        decided.push((spec, place));
    }
    Ok(decided)
}

/// Plans the loads beside a run that is kept in `directory`.
pub(crate) fn planned(
    tasks: &[BesideTask],
    decided: Vec<(RunSpec, RunPlace)>,
    directory: Option<&Path>,
) -> Result<Vec<BesideLoad>, RunnerError> {
    let planned = |(load, run): (&BesideTask, (RunSpec, RunPlace))| {
        let directory = directory.map(|main| main.join(rundir::BESIDE).join(&load.name));
        Ok(BesideLoad {
            run: PlannedRun::new(&load.task, run, RunRole::Single, directory)?,
            name: load.name.clone(),
        })
    };
    tasks.iter().zip(decided).map(planned).collect()
}

/// How a load ended.
#[derive(Default)]
struct LoadEnding {
    /// Set when the load shall end.
    enough: Arc<AtomicBool>,
    /// Set when the load ended before that.
    by_itself: AtomicBool,
}

#[derive(Default)]
pub(crate) struct BesideLoads(Vec<LoadUnderWay>);

struct LoadUnderWay {
    name: String,
    ending: Arc<LoadEnding>,
    thread: JoinHandle<Result<KeptRun, IncompleteRun>>,
}

impl BesideLoads {
    /// Starts the loads, and waits until all users are at work.
    pub(crate) fn start(
        loads: Vec<BesideLoad>,
        cancel: &Cancel,
    ) -> Result<BesideLoads, RunnerError> {
        let mut started = BesideLoads::default();
        for BesideLoad { name, run } in loads {
            let ending = Arc::<LoadEnding>::default();
            let (at_work, working) = sync_channel(1);
            let observer = Arc::new(BesideObserver {
                at_work: Mutex::new(Some(at_work)),
                ending: Arc::clone(&ending),
            });
            let (enough, cancel) = (Arc::clone(&ending.enough), cancel.clone());
            let keep = move || run.keep_until_enough(&cancel, observer, enough);
            let thread = match start_thread(keep) {
                Ok(thread) => thread,
                Err(why) => {
                    started.give_up();
                    return Err(why);
                }
            };
            started.0.push(LoadUnderWay {
                name,
                ending,
                thread,
            });
            // Receiving fails if the load has ended before.
            if working.recv().is_err() {
                return Err(started.not_begun());
            }
        }
        Ok(started)
    }

    /// The reason why the last load, which has ended, did not begin; ends the others.
    fn not_begun(mut self) -> RunnerError {
        let last = self.0.pop().map(|last| (last.name, last.thread.join()));
        self.give_up();
        let nothing = "none of its operations could be completed; `prestan run` with its suite reports the reason";
        let (name, why) = match last {
            Some((name, Ok(Err(failed)))) => (name, failed.why),
            Some((name, _)) => (name, RunnerError::Target(nothing.to_owned())),
            None => unreachable!("one was started"),
        };
        let message =
            |what: String| format!("the load {name} beside the run did not begin: {what}");
        match why {
            RunnerError::Interrupted(what) => RunnerError::Interrupted(what),
            RunnerError::Local(what)
            | RunnerError::NotSaved(what)
            | RunnerError::Resources(what)
            | RunnerError::ProgramNotFound(what)
            | RunnerError::ProgramNotStarted(what) => RunnerError::Local(message(what)),
            RunnerError::Usage(what)
            | RunnerError::Inconclusive(what)
            | RunnerError::Target(what) => RunnerError::Target(message(what)),
        }
    }

    /// Ends the loads, because the run beside them does not begin.
    fn give_up(self) {
        for (name, ended) in self.stop() {
            if let Err(failed) = ended {
                log::warn!("the load {name} beside the run: {}", failed.why);
            }
        }
    }

    /// Ends the loads, and returns their results by name; a load that ended by itself has an error.
    fn stop(self) -> Vec<(String, Result<KeptRun, IncompleteRun>)> {
        for load in &self.0 {
            load.ending.enough.store(true, Ordering::SeqCst);
        }
        let joined = self.0.into_iter().map(|load| {
            let local = |why: &str| RunnerError::Local(why.to_owned());
            let joined = load.thread.join();
            let ended = match joined.unwrap_or_else(|_| Err(local("a defect ended it").into())) {
                Ok(run) if load.ending.by_itself.load(Ordering::SeqCst) => Err(IncompleteRun {
                    why: local("it ended before the run did"),
                    run: Some(Box::new(run)),
                }),
                ended => ended,
            };
            (load.name, ended)
        });
        joined.collect()
    }
}

impl Companion for BesideLoads {
    fn end(self: Box<Self>, run: &mut EndedRun<'_>) {
        run.beside = self.stop();
    }

    fn discard(self: Box<Self>) {
        self.give_up();
    }
}

/// Observes a load beside a run: reports once when all users are at work, records an end by itself,
/// and logs leftovers on the server. The main run logs leftovers of other runs.
struct BesideObserver {
    at_work: Mutex<Option<SyncSender<()>>>,
    ending: Arc<LoadEnding>,
}

impl Observer for BesideObserver {
    fn event(&self, event: &Event) {
        match &event.kind {
            EventKind::MeasuringStarted { .. } => {
                let mut at_work = self.at_work.lock().unwrap_or_else(PoisonError::into_inner);
                // Fails only after the run was given up.
                let _ = at_work.take().map(|at_work| at_work.send(()));
            }
            EventKind::MeasuringEnded { .. } if !self.ending.enough.load(Ordering::SeqCst) => {
                self.ending.by_itself.store(true, Ordering::SeqCst);
            }
            EventKind::LeftBehind(left) if left.own => log::info!("{}", still_there(left)),
            _ => {}
        }
    }
}
