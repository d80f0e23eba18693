//! A run on this machine, from its plan to its record.
//!
//! ```text
//! PlannedRun --measure--> EndedRun --conclude--> CompletedRun --keep--> KeptRun, or IncompleteRun
//! (a directory,           (events that its       (statistics, a         (in a history)
//!  companions)             companions add)        complete record)
//! ```

mod completed;
mod ended;
mod made;

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};

use engine::{Cancel, Conditions, Observer, Progress, RowWatch, RunPlace, RunSpec, Turn, Watch};
use record::PlanRecord;
use rundir::{RunDir, RunDirError};
use stats::Until;

use crate::RunnerError;
use crate::background::recorded_suite;
use crate::beside::{self, BesideLoad, BesideLoads};
use crate::capture::RunCapture;
use crate::console::{Guard, RunDisplay, SeriesConsole, ShownRun};
use crate::failing::MaxFailures;
use crate::fitting::{check_background, fit};
use crate::inside::{LoggedSink, WatchedServer};
use crate::live::LiveStatistics;
use crate::local::RunTask;
use crate::sample_sink::SampleSink;
use crate::state;
use crate::steering::{AdaptingLoad, BackgroundFeed};

use made::{created_urls, note_target, remove_target};

pub(crate) use completed::is_well;
pub use completed::{CompletedRun, IncompleteRun, cut_short, not_measured, with_unsaved};
pub(crate) use ended::{Companion, EndedRun, RunRecorder, had_no_response};

/// The reason of runs that end because another one in the same turns ended early.
pub(crate) const PARTNER_ENDED: &str = "the run of another server in this block ended early";

/// Relation of a run to its record.
#[derive(Debug, Clone, Copy)]
pub enum RunRole<'a> {
    /// A single run.
    Single,
    /// A run of a series, with the name of its server where servers are compared.
    OfSeries(Option<&'a str>),
}

/// Conditions that end a run early.
#[derive(Debug, Clone, Copy, Default)]
pub struct RunEnds {
    /// Goal of a load.
    pub until: Option<Until>,
    /// Failures that end it; `None` for a suite.
    pub max_failures: Option<MaxFailures>,
}

/// A run ready to begin.
pub struct PlannedRun {
    spec: RunSpec,
    place: RunPlace,
    record: PlanRecord,
    /// `None` if the run is not kept.
    directory: Option<RunDir>,
    pub(crate) ends: RunEnds,
    /// The run makes the target, which did not exist, and removes it at the end.
    pub(crate) makes_target: bool,
    loads: Vec<BesideLoad>,
    /// Companions, in the order in which they began and will end.
    pub(crate) companions: Vec<Box<dyn Companion>>,
    /// Its server, if it is looked into.
    pub(crate) watched: Option<WatchedServer>,
    /// Samples are needed after the run even if it is not kept.
    pub(crate) needs_samples: bool,
}

impl PlannedRun {
    /// A run of this task, kept in that directory.
    ///
    /// # Errors
    ///
    /// The run does not fit its plan, or the directory cannot be made.
    pub fn new(
        task: &RunTask,
        (mut spec, mut place): (RunSpec, RunPlace),
        role: RunRole<'_>,
        directory: Option<PathBuf>,
    ) -> Result<PlannedRun, RunnerError> {
        let asked = spec.users;
        let fitted = fit(&mut spec, &mut place);
        if let RunRole::OfSeries(_) = role {
            check_for_series(&spec, asked)?;
        }
        fitted?;
        check_background(&spec.plan, spec.background.as_ref())?;
        let loads = beside::decided(&task.beside, &mut spec, &place)?;
        let record = engine::plan_record(&spec, &place);
        let record = match role {
            RunRole::Single => record,
            RunRole::OfSeries(side) => PlanRecord {
                series: Some(state::series_of(&spec.run_id).to_owned()),
                side: side.map(str::to_owned),
                ..record
            },
        };
        let kept = directory.as_deref().map(|path| {
            let suite_text = recorded_suite(&task.suite_text, &spec.plan)?;
            let created = RunDir::create(path, &record, &suite_text, &engine::environment());
            created.map_err(|error| not_created(&error, role))
        });
        let kept = kept.transpose()?;
        let loads = beside::planned(&task.beside, loads, directory.as_deref());
        let loads = loads.inspect_err(|_| discard(kept.as_ref()))?;
        Ok(PlannedRun {
            directory: kept,
            loads,
            spec,
            place,
            record,
            ends: RunEnds::default(),
            makes_target: false,
            companions: Vec::new(),
            watched: None,
            needs_samples: false,
        })
    }

    /// Starts the recording of packets, to this file or according to the suite.
    pub(crate) fn start_capture(
        &mut self,
        file: Option<&Path>,
        is_quiet: bool,
    ) -> Result<(), RunnerError> {
        let planned = self.spec.plan.capture;
        let file = match (file, planned, &self.directory) {
            (Some(file), _, _) => file.to_owned(),
            (None, Some(_), None) => {
                return Err(RunnerError::Usage(
                    "the suite keeps the packets of the run (`capture`) in its record, and there is none; leave out \
                     --no-save, or name a file with --capture"
                        .to_owned(),
                ));
            }
            (None, Some(_), Some(directory)) => directory.path().join(rundir::PACKETS),
            (None, None, _) => return Ok(()),
        };
        let run = (&*self.spec.run_id, &self.place);
        let capture = RunCapture::start(&file, planned, run, is_quiet)?;
        self.companions.push(Box::new(capture));
        Ok(())
    }

    pub(crate) fn start_loads(&mut self, cancel: &Cancel) -> Result<(), RunnerError> {
        let loads = BesideLoads::start(std::mem::take(&mut self.loads), cancel)?;
        self.companions.push(Box::new(loads));
        Ok(())
    }

    pub(crate) fn discard(self) {
        for companion in self.companions {
            companion.discard();
        }
        discard(self.directory.as_ref());
    }

    /// URLs of resources that the run and its companions make on the server and remove at the end.
    pub(crate) fn created_urls(&self) -> Option<String> {
        let beside = self.loads.iter().filter_map(BesideLoad::created_urls);
        let created = created_urls(&self.spec, &self.place, self.makes_target);
        let all: Vec<String> = created.into_iter().chain(beside).collect();
        (!all.is_empty()).then(|| all.join(" and "))
    }

    /// Makes a run that goes on until `enough` is set.
    pub(crate) fn keep_until_enough(
        self,
        cancel: &Cancel,
        observer: Arc<dyn Observer>,
        enough: Arc<AtomicBool>,
    ) -> Result<crate::kept::KeptRun, IncompleteRun> {
        let sink = self.sink(Arc::default()).until_enough(enough);
        let watch = Watch {
            cancel: cancel.clone(),
            progress: Arc::default(),
            observer,
            turn: None,
            conditions: Arc::default(),
            rows: None,
            is_alone: false,
        };
        self.measure(sink, watch, None).keep(false)
    }

    /// Makes the run; in turns with others if `turn` is given.
    ///
    /// # Errors
    ///
    /// There is no file for its samples.
    pub(crate) fn make(
        self,
        cancel: &Cancel,
        (console, group): (&dyn SeriesConsole, usize),
        turn: Option<Turn>,
    ) -> Result<CompletedRun, RunnerError> {
        let (live, progress) = (Arc::<LiveStatistics>::default(), Arc::<Progress>::default());
        let mut sink = self.sink(Arc::clone(&live));
        if let Some(limit) = self.ends.max_failures {
            sink = sink.limited(limit);
        }
        if self.needs_samples {
            sink = match sink.with_file() {
                Ok(sink) => sink,
                Err(why) => {
                    self.discard();
                    return Err(why.into());
                }
            };
        }
        let RunDisplay {
            observer,
            following,
        } = console.show(ShownRun {
            group,
            plan: &self.spec.plan,
            record: &self.record,
            users: self.spec.users,
            drive: &self.spec.drive,
            progress: &progress,
            live: &live,
        });
        let watch = Watch {
            cancel: cancel.clone(),
            progress,
            observer,
            is_alone: turn.is_none() && self.record.beside.is_empty(),
            turn: turn.map(Arc::new),
            conditions: Arc::default(),
            rows: None,
        };
        Ok(self.measure(sink, watch, following))
    }

    /// The destination of its samples. Results carry the label of the server.
    fn sink(&self, live: Arc<LiveStatistics>) -> SampleSink {
        let mut plan = self.record.clone();
        report::apply_label(&mut plan, &mut engine::environment(), &mut []);
        SampleSink::new(&plan, self.directory.as_ref(), self.ends.until, live)
    }

    fn measure(self, sink: SampleSink, watch: Watch, following: Option<Guard>) -> CompletedRun {
        let PlannedRun {
            spec,
            place,
            mut companions,
            watched,
            ..
        } = self;
        let plan = &spec.plan;
        let adaptation = plan.adapt.as_ref().and_then(AdaptingLoad::new);
        let conditions = Conditions::new(plan.conditions.len());
        let conditions = Arc::new(match (&adaptation, &plan.adapt) {
            (Some(adaptation), _) => conditions.begin_with(adaptation.users()),
            (None, Some(by_steps)) => conditions
                .begin_with(by_steps.least)
                .keep_for(u64::try_from(by_steps.every.as_nanos()).unwrap_or(u64::MAX)),
            (None, None) => conditions,
        });
        let feed = BackgroundFeed::default();
        let mut sink = sink.steering(&plan.conditions, adaptation, &conditions, &feed);
        let recorder = Arc::new(RunRecorder {
            display: watch.observer,
            directory: self.directory,
            // Runs that take turns wait for each other: none of them may wait for one that ended.
            cancel: watch.turn.is_some().then(|| watch.cancel.clone()),
            begun: OnceLock::new(),
            // Readings are consumed only if the run is steered.
            feed: sink.is_steered().then_some(feed),
        });
        let note = self.makes_target.then(|| note_target(&spec, &place));
        let rows = watched.map(|watched| watched.watch(&spec));
        if let Some(rows) = rows.clone() {
            companions.push(Box::new(rows));
        }
        for companion in &companions {
            companion.run_begins(&recorder);
        }
        let watch = Watch {
            observer: Arc::clone(&recorder) as Arc<dyn Observer>,
            conditions,
            rows: rows.clone().map(|rows| rows as Arc<dyn RowWatch>),
            ..watch
        };
        let cancel = watch.cancel.clone();
        let mut logged = LoggedSink {
            sink: &mut sink,
            rows: rows.as_deref(),
        };
        let finished = engine::run(&spec, &place, &watch, &mut logged);
        drop(following);
        // Runs that share the traffic wait for each other from here on.
        drop(watch);

        let mut ended = EndedRun {
            spec: &spec,
            place: &place,
            cancel: &cancel,
            recorder: &recorder,
            finished,
            saved: Ok(()),
            beside: Vec::new(),
        };
        for companion in companions {
            companion.end(&mut ended);
        }
        if let Some(is_noted) = note {
            remove_target(&mut ended, is_noted);
        }
        ended.note_end(&sink);
        ended.conclude(sink)
    }
}

/// Discards the directory of a run that does not begin.
fn discard(directory: Option<&RunDir>) {
    // The reason that is about to be reported is the important one.
    let _ = directory.map(RunDir::discard);
}

/// Refuses what a series decides itself.
fn check_for_series(spec: &RunSpec, asked: u32) -> Result<(), RunnerError> {
    let (suite, users) = (&spec.plan.suite.name, spec.users);
    if spec.plan.adapt.is_some() {
        return Err(RunnerError::Usage(format!(
            "the suite {suite} changes the number of its users (`adapt`), which a series of runs sets; use \
             `prestan load --mix`"
        )));
    }
    if users != asked {
        // Points and reports of a series would have another number than its runs.
        return Err(RunnerError::Usage(format!(
            "the suite {suite} needs {users} users in each run of a series; set their number to that"
        )));
    }
    Ok(())
}

/// The directory of a run cannot be made.
fn not_created(error: &RunDirError, role: RunRole<'_>) -> RunnerError {
    let otherwise = match (error, role) {
        (RunDirError::PlanTooLarge(_), RunRole::OfSeries(_)) => "",
        (RunDirError::PlanTooLarge(_), RunRole::Single) => ", or keep no record with --no-save",
        (_, RunRole::OfSeries(_)) => "; choose another directory with --save DIR",
        (_, RunRole::Single) => {
            "; choose another directory with --save DIR, or keep no record with --no-save"
        }
    };
    RunnerError::NotSaved(format!("{error}{otherwise}"))
}
