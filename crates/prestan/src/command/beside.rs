//! Loads that go on beside a run. Each is a run of its own, with its driver, its users, its record and its
//! report; what joins them is when they begin and end.
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
use std::thread::{self, JoinHandle};
use std::time::Duration;

use engine::{Cancel, Drive, LoadDrive, Observer, Settings};
use record::{BesideRecord, Event, EventKind};
use suite::{Overrides, Plan};

use crate::args::BesideArg;
use crate::command::completed::IncompleteRun;
use crate::command::kept::KeptRun;
use crate::command::load::{guard, pace};
use crate::command::planned::PlannedRun;
use crate::command::run::SuiteText;
use crate::exit::Failed;
use crate::output::tell;
use crate::watch::still_there;

/// Users of a load, unless something else is said.
const USERS: u32 = 1;
/// An open loop whose end is not known yet.
const LONG: Duration = Duration::from_secs(366 * 24 * 3600);

/// A load that was asked for, made sense of before anything is begun.
pub(crate) struct BesideTask {
    name: String,
    suite: SuiteText,
    plan: Plan,
    users: u32,
    drive: LoadDrive,
}

impl BesideTask {
    /// The loads of these options.
    pub(crate) fn all(options: &[BesideArg]) -> Result<Vec<BesideTask>, Failed> {
        let mut names = BTreeSet::new();
        let task = |option: &BesideArg| {
            let task = BesideTask::of(option)?;
            if names.insert(task.name.clone()) {
                return Ok(task);
            }
            Err(Failed::Usage(format!(
                "--beside {}: there is another load called {}; give it a name, as in \
                 `--beside {},name=other`",
                option.suite, task.name, option.suite
            )))
        };
        options.iter().map(task).collect()
    }

    fn of(option: &BesideArg) -> Result<BesideTask, Failed> {
        let suite = SuiteText::find(&option.suite)?;
        let mut plan = suite.resolved(&Overrides::default())?;
        // As any suite that is run, it works in a collection of its own, or reads.
        guard::mix(&mut plan, true)?;
        let name = option.name.as_ref().unwrap_or(&plan.suite.name).clone();
        if !engine::is_run_id(&name) {
            return Err(Failed::Usage(format!(
                "--beside {}: a load cannot be called `{name}`; give it a name of letters, digits, - \
                 and _, as in `--beside {},name=other`",
                option.suite, option.suite
            )));
        }
        let usual = option.rate.map_or(USERS, |_| pace::OPEN_CONNECTIONS);
        Ok(BesideTask {
            name,
            suite,
            plan,
            users: option.users.unwrap_or(usual),
            drive: match option.rate {
                None => LoadDrive::default(),
                Some(rate) => LoadDrive {
                    pacing: pace::at_rate(rate, LONG),
                    ..LoadDrive::default()
                },
            },
        })
    }

    /// How it is done beside a run with these settings, of which it is the `place`th load.
    fn settings(&self, main: &Settings, place: u64) -> Settings {
        Settings {
            run_id: format!("{}-{}", main.run_id, self.name),
            seed: main.seed.wrapping_add(place),
            users: self.users,
            threads: 1,
            files: Vec::new(),
            beside: Vec::new(),
            drive: Drive::Load(self.drive.clone()),
            ..main.clone()
        }
    }
}

/// A load that is to be done beside a run.
pub(crate) struct BesideLoad {
    name: String,
    run: PlannedRun,
}

impl BesideLoad {
    /// URLs of what it makes on the server and removes at the end.
    pub(super) fn created_urls(&self) -> Option<String> {
        self.run.created_urls()
    }
}

/// Plans the loads beside a run that is kept in `directory`, and notes them in its settings.
pub(crate) fn planned(
    tasks: Vec<BesideTask>,
    settings: &mut Settings,
    directory: Option<&Path>,
) -> Result<Vec<BesideLoad>, Failed> {
    let mut loads = Vec::new();
    for (task, place) in tasks.into_iter().zip(1..) {
        let own = task.settings(settings, place);
        let record = engine::plan_record(&task.plan, &own);
        settings.beside.push(BesideRecord {
            name: task.name.clone(),
            run_id: record.run_id,
            suite: record.suite,
            load: record.load,
        });
        let directory = directory.map(|main| main.join(rundir::BESIDE).join(&task.name));
        loads.push(BesideLoad {
            run: PlannedRun::new(task.plan, &task.suite.text, own, directory)?,
            name: task.name,
        });
    }
    Ok(loads)
}

/// Loads under way.
#[derive(Default)]
pub(crate) struct BesideLoads(Vec<LoadUnderWay>);

struct LoadUnderWay {
    name: String,
    enough: Arc<AtomicBool>,
    thread: JoinHandle<Result<KeptRun, IncompleteRun>>,
}

impl BesideLoads {
    /// Starts them, and waits until all users are at work.
    pub(crate) fn start(loads: Vec<BesideLoad>, cancel: &Cancel) -> Result<BesideLoads, Failed> {
        let mut started = BesideLoads::default();
        for BesideLoad { name, run } in loads {
            let enough = Arc::<AtomicBool>::default();
            let (at_work, working) = sync_channel(1);
            let observer = Arc::new(BesideObserver(Mutex::new(Some(at_work))));
            let (own, cancel) = (Arc::clone(&enough), cancel.clone());
            let thread = thread::spawn(move || run.keep_until_told(&cancel, observer, own));
            started.0.push(LoadUnderWay {
                name,
                enough,
                thread,
            });
            // Nobody is left to say so where it has ended before.
            if working.recv().is_err() {
                return Err(started.not_begun());
            }
        }
        Ok(started)
    }

    /// Why the last of them, which has ended, did not begin; the others are ended.
    fn not_begun(mut self) -> Failed {
        let last = self.0.pop().map(|last| (last.name, last.thread.join()));
        for (name, ended) in self.end() {
            if let Err(failed) = ended {
                tell(&format!(
                    "prestan: warning: the load {name} beside it: {}",
                    failed.why
                ));
            }
        }
        let nothing = || "nothing of it could be done; what is known of it is in its run directory";
        let (name, why) = match last {
            Some((name, Ok(Err(failed)))) => (name, failed.why),
            Some((name, _)) => (name, Failed::Target(nothing().to_owned())),
            None => unreachable!("one was started"),
        };
        let said = |what: String| format!("the load {name} beside the run did not begin: {what}");
        match why {
            Failed::Interrupted(what) => Failed::Interrupted(what),
            Failed::Local(what) => Failed::Local(said(what)),
            Failed::Usage(what) | Failed::Inconclusive(what) | Failed::Target(what) => {
                Failed::Target(said(what))
            }
        }
    }

    /// Ends them, and hands on what they measured under their names; the error of one that ended by itself
    /// says so.
    pub(crate) fn end(self) -> Vec<(String, Result<KeptRun, IncompleteRun>)> {
        let is_over: Vec<bool> = self
            .0
            .iter()
            .map(|load| load.thread.is_finished())
            .collect();
        for load in &self.0 {
            load.enough.store(true, Ordering::Relaxed);
        }
        let joined = self.0.into_iter().zip(is_over).map(|(load, was_over)| {
            let ended = load.thread.join();
            let ended =
                ended.unwrap_or_else(|_| Err(Failed::Local("a defect ended it".to_owned()).into()));
            (
                load.name,
                match ended {
                    Ok(run) if was_over => Err(IncompleteRun {
                        why: Failed::Local("it ended before the run did".to_owned()),
                        run: Some(Box::new(run)),
                    }),
                    ended => ended,
                },
            )
        });
        joined.collect()
    }
}

/// Watches a load beside a run: says once when all users are at work, and what is left on the server.
struct BesideObserver(Mutex<Option<SyncSender<()>>>);

impl Observer for BesideObserver {
    fn event(&self, event: &Event) {
        match &event.kind {
            EventKind::MeasuringStarted { .. } => {
                let at_work = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
                // Fails only after the run was given up.
                let _ = at_work.map(|at_work| at_work.send(()));
            }
            EventKind::LeftBehind(left) => tell(&still_there(left)),
            _ => {}
        }
    }
}
