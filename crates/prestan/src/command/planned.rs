//! A run with everything decided: it is made, recorded, and reported or handed on.

mod made;

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use engine::{
    Cancel, Conditions, Finished, Observer, Progress, RowWatch, RunError, Said, Settings, Turn,
    Watch,
};
use record::{CountedSpan, Environment, Event, EventKind, Nanos, PlanRecord};
use rundir::{RunDir, RunDirError, Samples};
use stats::{MeasurementWindow, Until};
use suite::Plan;

use crate::args::OutputOptions;
use crate::command::beside::{self, BesideLoad, BesideLoads, BesideTask};
use crate::command::completed::{CompletedRun, IncompleteRun, not_saved};
use crate::command::gates::add_gate;
use crate::command::kept::KeptRun;
use crate::exit::ExitStatus;
use crate::forecast::{Meter, RunMeter};
use crate::series::SeriesProgress;
use crate::series::local::RunTask;
use crate::signals::on_interrupt;
use crate::watch::Console;
use runner::RunnerError;
use runner::background::{
    self, AskedBackground, BackgroundRecorder, BackgroundShare, BackgroundTask, recorded_suite,
};
use runner::capture::RunCapture;
use runner::failing::MaxFailures;
use runner::fitting::check_background;
use runner::fitting::settings_for;
use runner::inside::{WatchedServer, logged};
use runner::intake::{Concluded, Intake};
use runner::live::LiveStatistics;
use runner::state;
use runner::steering::{AdaptingLoad, BackgroundFeed};

use made::{created_urls, may_have_sent, note_target, remove_target};

/// Why a run ends that takes turns with one that ended early.
pub(crate) const PARTNER_ENDED: &str = "the run of another server in this block ended early";

/// A run with everything decided.
pub(crate) struct PlannedRun {
    plan: Plan,
    settings: Settings,
    record: PlanRecord,
    /// `None` for a run that is not kept.
    directory: Option<RunDir>,
    /// When a load run has measured enough.
    pub(crate) until: Option<Until>,
    /// How much of it may fail before it is ended.
    pub(crate) max_failures: Option<MaxFailures>,
    /// The run makes the target itself, where nothing was: it is removed at the end.
    pub(crate) makes_target: bool,
    /// What goes on beside it.
    beside: Vec<BesideLoad>,
    /// Background traffic to start before it.
    background: Option<BackgroundTask>,
    /// Its part in background traffic that has started.
    pub(crate) traffic: Option<BackgroundShare>,
    /// Its packets, while they are recorded.
    captured: Option<RunCapture>,
    /// The server, where it is looked into.
    watched: Option<WatchedServer>,
}

impl PlannedRun {
    /// A run on its own, kept where these options say, beside this background traffic.
    pub(crate) fn single(
        plan: Plan,
        suite_text: &str,
        settings: Settings,
        output: &OutputOptions,
        background: Option<&AskedBackground>,
    ) -> Result<PlannedRun, RunnerError> {
        let beside = (Vec::new(), background);
        PlannedRun::beside(plan, suite_text, settings, output, beside)
    }

    /// A run with loads and background traffic beside it, kept where these options say.
    pub(crate) fn beside(
        mut plan: Plan,
        suite_text: &str,
        mut settings: Settings,
        output: &OutputOptions,
        (tasks, background): (Vec<BesideTask>, Option<&AskedBackground>),
    ) -> Result<PlannedRun, RunnerError> {
        settings = settings_for(&plan, settings)?;
        let background = background.map(|asked| asked.task(&mut settings));
        let background = background.transpose()?;
        add_gate(&output.gate, &mut plan)?;
        check_background(&plan, settings.background.as_ref())?;
        let directory = match &output.save {
            _ if output.no_save => None,
            Some(path) => Some(path.clone()),
            None => Some(state::run_directory(&settings.run_id)?),
        };
        let loads = beside::decided(tasks, &mut settings)?;
        let run = PlannedRun::new(plan, suite_text, settings, directory.clone())
            .map_err(|why| why.followed_by(", or keep no record with --no-save"))?;
        Ok(PlannedRun {
            beside: beside::planned(loads, directory.as_deref())?,
            background,
            ..run
        })
    }

    /// A run of a series, kept below `save`; one that compares servers has a name for its own.
    pub(crate) fn of_series(
        side: Option<&str>,
        task: &RunTask,
        settings: Settings,
        save: Option<&Path>,
    ) -> Result<PlannedRun, RunnerError> {
        let RunTask {
            plan, suite_text, ..
        } = task;
        let users = settings.users;
        if plan.adapt.is_some() {
            return Err(RunnerError::Usage(format!(
                "the suite {} changes the number of its users (`adapt`), which a series of runs sets; use \
                 `prestan load --mix`",
                plan.suite.name
            )));
        }
        let settings = settings_for(plan, settings)?;
        if settings.users != users {
            // Points and reports of a series would have another number than its runs.
            return Err(RunnerError::Usage(format!(
                "the suite {} needs {} users in each run of a series; set their number to that",
                plan.suite.name, settings.users
            )));
        }
        check_background(plan, settings.background.as_ref())?;
        let directory = state::directory_of(&settings.run_id, save)?;
        let record = PlanRecord {
            series: Some(state::series_of(&settings.run_id).to_owned()),
            side: side.map(str::to_owned),
            ..engine::plan_record(plan, &settings)
        };
        PlannedRun::recorded(plan.clone(), suite_text, settings, record, Some(directory))
    }

    pub(super) fn new(
        plan: Plan,
        suite_text: &str,
        settings: Settings,
        directory: Option<PathBuf>,
    ) -> Result<PlannedRun, RunnerError> {
        let settings = settings_for(&plan, settings)?;
        let record = engine::plan_record(&plan, &settings);
        PlannedRun::recorded(plan, suite_text, settings, record, directory)
    }

    fn recorded(
        plan: Plan,
        suite_text: &str,
        settings: Settings,
        record: PlanRecord,
        directory: Option<PathBuf>,
    ) -> Result<PlannedRun, RunnerError> {
        let create = |path: PathBuf| {
            let suite_text = recorded_suite(suite_text, &plan)?;
            let created = RunDir::create(&path, &record, &suite_text, &engine::environment());
            created.map_err(|error| {
                RunnerError::Local(match error {
                    RunDirError::PlanTooLarge(_) => error.to_string(),
                    _ => format!("{error}; choose another directory with --save DIR"),
                })
            })
        };
        Ok(PlannedRun {
            directory: directory.map(create).transpose()?,
            plan,
            settings,
            record,
            until: None,
            max_failures: None,
            makes_target: false,
            beside: Vec::new(),
            background: None,
            traffic: None,
            captured: None,
            watched: None,
        })
    }

    /// The same run, which looks into this server.
    pub(crate) fn watching(self, watched: Option<WatchedServer>) -> PlannedRun {
        PlannedRun { watched, ..self }
    }

    /// Makes the run and prints its report.
    pub(crate) fn report(mut self, output: &OutputOptions) -> Result<ExitStatus, RunnerError> {
        let cancel = Cancel::default();
        let _interruptible = on_interrupt(cancel.clone(), self.created_urls())?;
        self.start_what_is_beside(output.capture.as_deref(), &cancel, output.quiet)?;
        let beside = BesideLoads::start(std::mem::take(&mut self.beside), &cancel)?;
        let completed = self.on_console(output, cancel);
        let beside = beside.end();
        completed?.report(output, beside)
    }

    /// Starts to record its packets, in this file or as the suite says, and its background traffic. Where that
    /// fails, the record has nothing in it, and goes.
    fn start_what_is_beside(
        &mut self,
        capture: Option<&Path>,
        cancel: &Cancel,
        is_quiet: bool,
    ) -> Result<(), RunnerError> {
        let started = self.try_to_start(capture, cancel, is_quiet);
        if started.is_err() {
            if let Some(captured) = self.captured.take() {
                captured.discard();
            }
            self.discard();
        }
        started
    }

    /// Nothing is kept of a run that has not begun.
    pub(crate) fn discard(&self) {
        // The reason that is about to be reported is the one that matters.
        let _ = self.directory.as_ref().map(RunDir::discard);
    }

    fn try_to_start(
        &mut self,
        capture: Option<&Path>,
        cancel: &Cancel,
        is_quiet: bool,
    ) -> Result<(), RunnerError> {
        let planned = self.plan.capture;
        let file = match (capture, planned, &self.directory) {
            (Some(file), _, _) => Some(file.to_owned()),
            (None, Some(_), None) => {
                return Err(RunnerError::Usage(
                    "the suite keeps the packets of the run (`capture`) in its record, and there is none; leave out \
                     --no-save, or name a file with --capture"
                        .to_owned(),
                ));
            }
            (None, Some(_), Some(directory)) => Some(directory.path().join(rundir::PACKETS)),
            (None, None, _) => None,
        };
        let start = |file: PathBuf| RunCapture::start(&file, planned, &self.settings, is_quiet);
        self.captured = file.map(start).transpose()?;
        if let Some(task) = self.background.take() {
            let running = background::started(task, cancel, is_quiet)?;
            self.traffic = BackgroundShare::among(1, running)?.pop();
        }
        Ok(())
    }

    /// URLs of what it makes on the server and removes at the end, and what goes on beside it.
    pub(super) fn created_urls(&self) -> Option<String> {
        let beside = self.beside.iter().filter_map(BesideLoad::created_urls);
        let own = created_urls(&self.plan, &self.settings, self.makes_target);
        let all: Vec<String> = own.into_iter().chain(beside).collect();
        (!all.is_empty()).then(|| all.join(" and "))
    }

    /// Makes a run that goes on until it is told that that is enough.
    pub(super) fn keep_until_told(
        self,
        cancel: &Cancel,
        observer: Arc<dyn Observer>,
        enough: Arc<AtomicBool>,
    ) -> Result<KeptRun, IncompleteRun> {
        let intake = self.intake(None, Arc::default());
        let watch = Watch {
            cancel: cancel.clone(),
            progress: Arc::default(),
            observer,
            turn: None,
            conditions: Arc::default(),
            rows: None,
            is_alone: false,
        };
        self.measure(intake.until_told(enough), watch, None).keep()
    }

    /// Makes a run of a series, of a group of runs alike, in turns with others where `turn` is given.
    pub(crate) fn keep(
        self,
        cancel: &Cancel,
        (series, group): (&Arc<SeriesProgress>, usize),
        turn: Option<Turn>,
    ) -> Result<KeptRun, IncompleteRun> {
        let intake = self.intake(None, Arc::default());
        let progress = Arc::default();
        let observer = series.of_run(group, &progress, (&self.plan, &self.settings));
        let watch = Watch {
            cancel: cancel.clone(),
            progress,
            observer: Arc::new(observer),
            is_alone: turn.is_none(),
            turn: turn.map(Arc::new),
            conditions: Arc::default(),
            rows: None,
        };
        self.measure(intake, watch, None).keep()
    }

    /// Takes its samples. What is made of them has the label of the server.
    fn intake(&self, until: Option<Until>, live: Arc<LiveStatistics>) -> Intake {
        let mut plan = self.record.clone();
        report::apply_label(&mut plan, &mut engine::environment(), &mut []);
        Intake::new(&plan, self.directory.as_ref(), until, live)
    }

    fn on_console(
        self,
        output: &OutputOptions,
        cancel: Cancel,
    ) -> Result<CompletedRun, RunnerError> {
        let (live, progress) = (
            Arc::new(LiveStatistics::default()),
            Arc::new(Progress::default()),
        );
        let mut intake = self.intake(self.until, Arc::clone(&live));
        if let Some(limit) = self.max_failures {
            intake = intake.limited(limit);
        }
        if output.formats.figures.any() || output.formats.log.is_some() {
            intake = intake.with_file()?;
        }
        let meter = Arc::new(Meter::default());
        let Settings { users, drive, .. } = &self.settings;
        meter.plan(0, &self.plan, (*users, drive));
        let meter = RunMeter::new(&meter, 0, &progress, (&self.plan, *users, drive));
        let console = Console::new(
            output.console(),
            Arc::clone(&progress),
            &self.record,
            live,
            meter,
        );
        let console = Arc::new(console);
        let watch = Watch {
            cancel,
            progress,
            observer: Arc::clone(&console) as Arc<dyn Observer>,
            turn: None,
            conditions: Arc::default(),
            rows: None,
            is_alone: self.record.beside.is_empty(),
        };
        Ok(self.measure(intake, watch, Some(&console)))
    }

    fn measure(self, intake: Intake, watch: Watch, console: Option<&Arc<Console>>) -> CompletedRun {
        let PlannedRun {
            plan,
            settings,
            traffic,
            captured,
            watched,
            ..
        } = self;
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
        let note = self.makes_target.then(|| note_target(&plan, &settings));
        let following = console.map(Console::follow);
        let rows = watched.map(|watched| watched.watch(&plan, &settings));
        let watch = Watch {
            observer: Arc::clone(&recorder) as Arc<dyn Observer>,
            conditions,
            rows: rows.clone().map(|rows| rows as Arc<dyn RowWatch>),
            ..watch
        };
        let cancel = watch.cancel.clone();
        let mut sink = logged(&mut intake, rows.as_deref(), &plan);
        let mut finished = engine::run(plan, &settings, &watch, &mut sink);
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
                for counted in rows.repeat(&settings, &cancel) {
                    add(&mut finished, &recorder, counted);
                }
            }
        }

        let was_sent = finished.error.as_ref().is_none_or(may_have_sent);
        if let Some(is_noted) = note {
            let asked = (&settings, &cancel);
            let is_removed = !was_sent || remove_target(asked, &mut finished, &recorder, is_noted);
            if is_removed {
                engine::forget_target(&settings);
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
        }
    }
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
