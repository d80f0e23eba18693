//! A run on this machine, from its plan to its record.
//!
//! ```text
//! PlannedRun --begin--> what goes on beside it --measure--> Finished --after--> Concluded --conclude--> CompletedRun
//! (a directory)         (capture, loads)       (engine)     (what is repeated,   (statistics)           (complete record)
//!                                                            removed, added)
//! ```

mod completed;
mod made;

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use engine::{
    Cancel, Conditions, Finished, Observer, Progress, RowWatch, RunError, RunPlace, RunSpec, Said,
    Turn, Watch,
};
use record::{CountedSpan, Environment, Event, EventKind, Nanos, PlanRecord};
use rundir::{RunDir, RunDirError, Samples};
use stats::{MeasurementWindow, Until};

use crate::RunnerError;
use crate::background::{BackgroundRecorder, BackgroundShare, recorded_suite};
use crate::beside::{self, BesideLoad, BesideLoads};
use crate::capture::RunCapture;
use crate::console::{Guard, RunDisplay, SeriesConsole, ShownRun};
use crate::failing::MaxFailures;
use crate::fitting::{check_background, fit};
use crate::inside::{WatchedServer, logged};
use crate::intake::{Concluded, Intake};
use crate::live::LiveStatistics;
use crate::local::RunTask;
use crate::state;
use crate::steering::{AdaptingLoad, BackgroundFeed};

use completed::not_saved;
use made::{created_urls, may_have_sent, note_target, remove_target};

pub use completed::{CompletedRun, IncompleteRun};

/// Why a run ends that takes turns with one that ended early.
pub(crate) const PARTNER_ENDED: &str = "the run of another server in this block ended early";

/// What a run is to its record.
#[derive(Debug, Clone, Copy)]
pub enum RunRole<'a> {
    /// It stands for itself.
    Single,
    /// It is one of a series, and of a server that is called so where servers are compared.
    OfSeries(Option<&'a str>),
}

/// When a run ends before its time.
#[derive(Debug, Clone, Copy, Default)]
pub struct RunEnds {
    /// When a load run has measured enough.
    pub until: Option<Until>,
    /// How much of it may fail before it is ended; `None` for a suite.
    pub max_failures: Option<MaxFailures>,
}

/// A run with everything decided.
pub struct PlannedRun {
    spec: RunSpec,
    place: RunPlace,
    record: PlanRecord,
    /// `None` for a run that is not kept.
    directory: Option<RunDir>,
    pub(crate) ends: RunEnds,
    /// The run makes the target itself, where nothing was: it is removed at the end.
    pub(crate) makes_target: bool,
    /// The loads that go on beside it.
    beside: Vec<BesideLoad>,
    /// Its part in background traffic that has started.
    pub(crate) traffic: Option<BackgroundShare>,
    /// Its packets, while they are recorded.
    captured: Option<RunCapture>,
    /// The server, where it is looked into.
    pub(crate) watched: Option<WatchedServer>,
    /// Its samples are needed after it, also where it is not kept.
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
        Ok(PlannedRun {
            directory: kept.transpose()?,
            beside: beside::planned(&task.beside, loads, directory.as_deref())?,
            spec,
            place,
            record,
            ends: RunEnds::default(),
            makes_target: false,
            traffic: None,
            captured: None,
            watched: None,
            needs_samples: false,
        })
    }

    /// Starts to record its packets, in this file or as the suite says.
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
        self.captured = Some(RunCapture::start(&file, planned, run, is_quiet)?);
        Ok(())
    }

    /// Nothing is kept of a run that does not begin.
    pub(crate) fn discard(self) {
        if let Some(captured) = self.captured {
            captured.discard();
        }
        // The reason that is about to be reported is the one that matters.
        let _ = self.directory.as_ref().map(RunDir::discard);
    }

    /// URLs of what it makes on the server and removes at the end, and what goes on beside it.
    pub(crate) fn created_urls(&self) -> Option<String> {
        let beside = self.beside.iter().filter_map(BesideLoad::created_urls);
        let own = created_urls(&self.spec, &self.place, self.makes_target);
        let all: Vec<String> = own.into_iter().chain(beside).collect();
        (!all.is_empty()).then(|| all.join(" and "))
    }

    /// Makes a run that goes on until it is told that that is enough.
    pub(crate) fn keep_until_told(
        self,
        cancel: &Cancel,
        observer: Arc<dyn Observer>,
        enough: Arc<AtomicBool>,
    ) -> Result<crate::kept::KeptRun, IncompleteRun> {
        let intake = self.intake(Arc::default()).until_told(enough);
        let watch = Watch {
            cancel: cancel.clone(),
            progress: Arc::default(),
            observer,
            turn: None,
            conditions: Arc::default(),
            rows: None,
            is_alone: false,
        };
        self.measure(intake, watch, None).keep()
    }

    /// Makes the run, with the loads beside it; in turns with others where `turn` is given.
    ///
    /// # Errors
    ///
    /// Loads beside it did not begin, or there is no file for its samples.
    pub(crate) fn make(
        mut self,
        cancel: &Cancel,
        (console, group): (&dyn SeriesConsole, usize),
        turn: Option<Turn>,
    ) -> Result<CompletedRun, RunnerError> {
        let beside = match BesideLoads::start(std::mem::take(&mut self.beside), cancel) {
            Ok(beside) => beside,
            Err(why) => {
                self.discard();
                return Err(why);
            }
        };
        let made = self.make_alone(cancel, (console, group), turn);
        let beside = beside.end();
        Ok(CompletedRun { beside, ..made? })
    }

    fn make_alone(
        self,
        cancel: &Cancel,
        (console, group): (&dyn SeriesConsole, usize),
        turn: Option<Turn>,
    ) -> Result<CompletedRun, RunnerError> {
        let (live, progress) = (
            Arc::new(LiveStatistics::default()),
            Arc::new(Progress::default()),
        );
        let mut intake = self.intake(Arc::clone(&live));
        if let Some(limit) = self.ends.max_failures {
            intake = intake.limited(limit);
        }
        if self.needs_samples {
            intake = intake.with_file()?;
        }
        let display = console.show(ShownRun {
            group,
            plan: &self.spec.plan,
            record: &self.record,
            users: self.spec.users,
            drive: &self.spec.drive,
            progress: &progress,
            live: &live,
        });
        let RunDisplay {
            observer,
            following,
        } = display;
        let watch = Watch {
            cancel: cancel.clone(),
            progress,
            observer,
            is_alone: turn.is_none() && self.record.beside.is_empty(),
            turn: turn.map(Arc::new),
            conditions: Arc::default(),
            rows: None,
        };
        Ok(self.measure(intake, watch, following))
    }

    /// Takes its samples. What is made of them has the label of the server.
    fn intake(&self, live: Arc<LiveStatistics>) -> Intake {
        let mut plan = self.record.clone();
        report::apply_label(&mut plan, &mut engine::environment(), &mut []);
        Intake::new(&plan, self.directory.as_ref(), self.ends.until, live)
    }

    fn measure(self, intake: Intake, watch: Watch, following: Option<Guard>) -> CompletedRun {
        let PlannedRun {
            spec,
            place,
            traffic,
            captured,
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
        let mut intake = intake.steering(&plan.conditions, adaptation, &conditions, &feed);
        let recorder = Arc::new(RunRecorder {
            display: watch.observer,
            directory: self.directory,
            // Runs that take turns wait for each other: none of them may wait for one that ended.
            cancel: watch.turn.is_some().then(|| watch.cancel.clone()),
            begun: OnceLock::new(),
            // Nobody takes from it where nothing is steered.
            feed: intake.is_steered().then_some(feed),
        });
        if let Some(share) = &traffic {
            share.record(Arc::clone(&recorder) as Arc<dyn BackgroundRecorder>);
        }
        let note = self.makes_target.then(|| note_target(&spec, &place));
        let rows = watched.map(|watched| watched.watch(&spec));
        let watch = Watch {
            observer: Arc::clone(&recorder) as Arc<dyn Observer>,
            conditions,
            rows: rows.clone().map(|rows| rows as Arc<dyn RowWatch>),
            ..watch
        };
        let cancel = watch.cancel.clone();
        let mut sink = logged(&mut intake, rows.as_deref(), plan);
        let mut finished = engine::run(&spec, &place, &watch, &mut sink);
        drop(following);
        // Runs that share the traffic wait for each other from here on.
        drop(watch);
        let counted = traffic.map_or(Vec::new(), |share| share.end(went_through(&finished)));
        finished.events.extend(counted);
        let captured = captured.map_or(Ok(()), RunCapture::end);
        if let Some(rows) = rows {
            // Before the passes that follow, whose requests have the same numbers.
            for counted in rows.end().into_iter().chain(sink.join(&cancel)) {
                add(&mut finished, &recorder, counted);
            }
            if went_through(&finished) {
                for counted in rows.repeat((&spec, &place), &cancel) {
                    add(&mut finished, &recorder, counted);
                }
            }
        }

        let was_sent = finished.error.as_ref().is_none_or(may_have_sent);
        if let Some(is_noted) = note {
            let asked = (&place, &cancel);
            let is_removed = !was_sent || remove_target(asked, &mut finished, &recorder, is_noted);
            if is_removed {
                engine::forget_target(&spec.run_id, &place);
            }
        }
        if let Some((goal, missed)) = intake.goal() {
            add(&mut finished, &recorder, EventKind::Goal(goal));
            if let Some(text) = missed.filter(|_| went_through(&finished)) {
                add(&mut finished, &recorder, EventKind::Warning { text });
            }
        }
        if let Some(reason) = intake
            .failed_too_often()
            .filter(|_| went_through(&finished))
        {
            let reason = reason.to_owned();
            add(&mut finished, &recorder, EventKind::Aborted { reason });
        }
        let recorded = finished.env.clone();
        let is_unreachable = was_unreachable(&finished);
        report::apply_label(&mut finished.plan, &mut finished.env, &mut finished.events);
        let Concluded {
            written,
            summary,
            samples,
            windows,
        } = intake.conclude(&finished);
        finished.env.conclusion = summary.as_ref().ok().map(|summary| {
            let conclusion = summary.conclusion();
            conclusion.name().to_owned()
        });
        let recorded = Environment {
            conclusion: finished.env.conclusion.clone(),
            samples: samples.as_ref().map(Samples::count),
            counted: counted_spans(&finished.plan, &windows),
            ..recorded
        };
        let is_worthless = |directory: &&RunDir| is_unreachable && directory.discard().is_ok();
        let directory = recorder.directory.as_ref();
        let directory = directory.filter(|directory| !is_worthless(directory));
        let complete = |directory: &RunDir| {
            let completed = directory.complete(recorded, written);
            completed.map_err(|why| not_saved(&why, directory))
        };
        CompletedRun {
            saved: captured.and(directory.map_or(Ok(()), complete)),
            path: directory.map(|directory| directory.path().display().to_string()),
            finished,
            summary,
            samples,
            windows,
            beside: Vec::new(),
        }
    }
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
    RunnerError::Local(format!("{error}{otherwise}"))
}

/// Which operations count, for readers of the record.
fn counted_spans(plan: &PlanRecord, windows: &[MeasurementWindow]) -> Vec<CountedSpan> {
    let of_measures = plan.measures.iter().zip(windows);
    let named = of_measures.filter_map(|(measure, window)| window.named(&measure.name));
    named.collect()
}

/// Whether the server did not answer at all: then the record has nothing in it.
fn was_unreachable(finished: &Finished) -> bool {
    matches!(finished.error, Some(RunError::Unreachable(_))) && finished.env.server.is_none()
}

/// Writes the events of a run to its directory, and passes everything on to what displays it.
struct RunRecorder {
    display: Arc<dyn Observer>,
    directory: Option<RunDir>,
    /// What is cancelled when the run is aborted: the runs that take turns with it.
    cancel: Option<Cancel>,
    /// When the run began.
    begun: OnceLock<Instant>,
    /// Where readings of background traffic go for conditions.
    feed: Option<BackgroundFeed>,
}

impl BackgroundRecorder for RunRecorder {
    fn now(&self) -> Option<Nanos> {
        let begun = self.begun.get()?;
        Nanos::try_from(begun.elapsed().as_nanos()).ok()
    }

    fn record(&self, event: &Event) {
        self.pass(event);
        if let Some(feed) = &self.feed {
            let mut feed = feed.lock().unwrap_or_else(PoisonError::into_inner);
            feed.push(event.clone());
        }
    }
}

impl RunRecorder {
    fn pass(&self, event: &Event) {
        self.display.event(event);
        if let Some(directory) = &self.directory {
            directory.append(event);
        }
    }
}

impl Observer for RunRecorder {
    fn wants_heads(&self) -> bool {
        self.display.wants_heads()
    }

    fn said(&self, client: u32, said: &Said) {
        self.display.said(client, said);
    }

    fn began(&self, started_at: &str) {
        if let Some(directory) = &self.directory {
            directory.began(started_at);
        }
    }

    fn event(&self, event: &Event) {
        let now = Instant::now();
        self.begun.get_or_init(|| {
            let begun = now.checked_sub(Duration::from_nanos(event.at));
            begun.unwrap_or(now)
        });
        self.pass(event);
        if let (EventKind::Aborted { .. }, Some(cancel)) = (&event.kind, &self.cancel) {
            cancel.cancel_because(PARTNER_ENDED);
        }
    }
}

fn went_through(finished: &Finished) -> bool {
    let cut_off = |event: &Event| {
        let kind = &event.kind;
        matches!(kind, EventKind::Interrupted | EventKind::Aborted { .. })
    };
    finished.error.is_none() && !finished.events.iter().any(cut_off)
}

/// Something to be known of a run that is over.
fn add(finished: &mut Finished, recorder: &RunRecorder, kind: EventKind) {
    let at = finished.events.last().map_or(0, |event| event.at);
    let event = Event { at, kind };
    recorder.event(&event);
    finished.events.push(event);
}
