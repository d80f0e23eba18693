//! Something to be measured: run it, keep it, print it.

use std::path::PathBuf;
use std::sync::Arc;

use engine::{Cancel, Finished, Observer, Progress, RunError, Said, Settings, Watch};
use record::{Event, EventKind, LeftBehind, PlanRecord, Run};
use rundir::{RunDir, Samples};
use stats::{Completeness, Summary, Until};
use suite::Plan;

use crate::args::{FormatOptions, OutputOptions};
use crate::command::load::guard;
use crate::exit::{Code, Failed, code_of};
use crate::intake::{self, Drawn, Intake, Record};
use crate::live::Live;
use crate::log;
use crate::output;
use crate::state;
use crate::watch::{Console, on_interrupt};

/// Something to be measured, with everything decided.
pub(crate) struct Job<'a> {
    /// What the plan was made from; kept with the run.
    pub(crate) suite_text: String,
    pub(crate) plan: Plan,
    pub(crate) settings: Settings,
    /// When a load run has measured enough.
    pub(crate) until: Option<Until>,
    /// The run makes the target itself, where nothing was: it is removed at the end.
    pub(crate) makes_target: bool,
    /// What Ctrl-C ends, where somebody looks after that already.
    pub(crate) cancel: Option<Cancel>,
    pub(crate) output: &'a OutputOptions,
}

/// Something that was measured.
struct Measured {
    finished: Finished,
    intake: Intake,
    observers: Arc<Observers>,
}

impl Job<'_> {
    /// Runs it on the server, keeps the run, prints the report.
    pub(crate) fn perform(self) -> Result<Code, Failed> {
        let output = self.output;
        let Measured {
            finished,
            intake,
            observers,
        } = self.measure()?;
        finish(finished, intake, observers.kept.as_ref(), output)
    }

    /// Runs it on the server and keeps the run; says where. The reason of a run that does not go through
    /// names the place as well.
    pub(crate) fn keep(self) -> Result<PathBuf, Failed> {
        let suite = self.plan.suite.name.clone();
        let Measured {
            finished,
            intake,
            observers,
        } = self.measure()?;
        let nowhere = || Failed::Usage("the run is to be kept nowhere".to_owned());
        let kept = observers.kept.as_ref().ok_or_else(nowhere)?;
        let concluded = intake.conclude(&finished);
        let saved = kept.complete(finished.env, concluded.written);
        let path = kept.path();
        if let Some(error) = finished.error {
            return Err(match Failed::from(error) {
                Failed::Interrupted(why) => Failed::Interrupted(format!(
                    "the run of suite {suite} was {why}; what is known of it is in {}",
                    path.display()
                )),
                why => why,
            });
        }
        saved.map_err(|why| not_saved(&why, kept))?;
        let printed = format!(
            "`prestan report {}` prints what it measured until then",
            path.display()
        );
        match concluded.summary.map_err(Failed::Local)?.complete {
            Completeness::Complete => Ok(path.to_owned()),
            Completeness::Interrupted => Err(Failed::Interrupted(format!(
                "the run of suite {suite} was interrupted; {printed}"
            ))),
            Completeness::Aborted(reason) => Err(Failed::Local(format!(
                "the run of suite {suite} could not be finished: {}; {printed}",
                report::abort_reason(reason.as_deref())
            ))),
        }
    }

    fn measure(self) -> Result<Measured, Failed> {
        let Job {
            suite_text,
            plan,
            settings,
            until,
            makes_target,
            cancel,
            output,
        } = self;
        let record = engine::plan_record(&plan, &settings);
        let kept = keep(&record, &suite_text, output)?;
        let live = Arc::new(Live::default());
        let mut intake = Intake::new(&record, kept.as_ref(), until, Arc::clone(&live));
        if output.formats.figures.any() || output.formats.log.is_some() {
            intake = intake.with_file()?;
        }

        let is_looked_after = cancel.is_some();
        let cancel = cancel.unwrap_or_default();
        let progress = Arc::new(Progress::default());
        let console = Arc::new(Console::new(output, Arc::clone(&progress), &record, live));
        let made = what_is_made(&plan, &settings, makes_target);
        let _interruptible = match is_looked_after {
            true => None,
            false => Some(on_interrupt(cancel.clone(), made)?),
        };
        let observers = Arc::new(Observers {
            console: Arc::clone(&console),
            kept,
        });
        let note = makes_target.then(|| note_target(&plan, &settings));
        let following = console.follow();
        let watch = Watch {
            cancel,
            progress,
            observer: Arc::clone(&observers) as Arc<dyn Observer>,
            turn: None,
        };
        let mut finished = engine::run(plan, &settings, &watch, &mut intake);
        drop(following);

        let was_sent = finished.error.as_ref().is_none_or(may_have_sent);
        if let Some(is_noted) = note {
            let is_removed =
                !was_sent || remove_target(&settings, &mut finished, &observers, is_noted);
            if is_removed {
                engine::forget_target(&settings);
            }
        }
        if let Some((goal, missed)) = intake.goal() {
            add(&mut finished, &observers, EventKind::Goal(goal));
            if let Some(text) = missed.filter(|_| went_through(&finished)) {
                add(&mut finished, &observers, EventKind::Warning { text });
            }
        }
        Ok(Measured {
            finished,
            intake,
            observers,
        })
    }
}

/// URL of what the run makes on the server and removes at the end.
fn what_is_made(plan: &Plan, settings: &Settings, makes_target: bool) -> Option<String> {
    let url = settings.endpoint.target.url();
    match plan.workspace {
        suite::Workspace::Collection | suite::Workspace::Furnished => {
            let name = engine::collection_name(&settings.run_id);
            let others = settings.others.iter().map(|other| other.target.url());
            let made: Vec<String> = std::iter::once(url)
                .chain(others)
                .map(|url| format!("{url}{name}/"))
                .collect();
            Some(made.join(" and "))
        }
        suite::Workspace::ReadOnly => makes_target.then_some(url),
    }
}

/// Opens the run directory, unless nothing is to be kept.
fn keep(
    record: &PlanRecord,
    suite_text: &str,
    output: &OutputOptions,
) -> Result<Option<RunDir>, Failed> {
    if output.no_save {
        return Ok(None);
    }
    let path = match &output.save {
        Some(path) => path.clone(),
        None => state::run_directory(&record.run_id)?,
    };
    let env = engine::environment();
    Ok(Some(RunDir::create(&path, record, suite_text, &env)?))
}

/// Whoever wants to know what happens.
struct Observers {
    console: Arc<Console>,
    kept: Option<RunDir>,
}

impl Observer for Observers {
    fn wants_heads(&self) -> bool {
        self.console.wants_heads()
    }

    fn said(&self, client: u32, said: &Said) {
        self.console.said(client, said);
    }

    fn event(&self, event: &Event) {
        self.console.event(event);
        if let Some(kept) = &self.kept {
            kept.append(event);
        }
    }
}

/// Whether a run that ended so can have changed the server.
fn may_have_sent(error: &RunError) -> bool {
    matches!(error, RunError::Interrupted | RunError::Local(_))
}

fn went_through(finished: &Finished) -> bool {
    let cut_off = |event: &Event| {
        let kind = &event.kind;
        matches!(kind, EventKind::Interrupted | EventKind::Aborted { .. })
    };
    finished.error.is_none() && !finished.events.iter().any(cut_off)
}

/// Something to be known of a run that is over.
fn add(finished: &mut Finished, observers: &Observers, kind: EventKind) {
    let at = finished.events.last().map_or(0, |event| event.at);
    let event = Event { at, kind };
    observers.event(&event);
    finished.events.push(event);
}

/// Notes the target, which the run makes, for `prestan clean`, should the run be killed; says why
/// where that is not possible. Whether it is noted.
fn note_target(plan: &Plan, settings: &Settings) -> bool {
    let noted = engine::note_target(settings, guard::length_of_body(plan));
    if let Err(why) = &noted {
        output::tell(&format!(
            "prestan: warning: {} is not noted for `prestan clean`: {why}; if this run is killed, \
             remove it by hand",
            settings.endpoint.target.url()
        ));
    }
    noted.is_ok()
}

/// Removes the target, which the run made; what cannot be removed is written down. Whether it is
/// gone.
fn remove_target(
    settings: &Settings,
    finished: &mut Finished,
    observers: &Observers,
    is_noted: bool,
) -> bool {
    let Err(reason) = engine::remove(settings) else {
        return true;
    };
    let url = settings.endpoint.target.url();
    let remedy = match is_noted {
        true => format!(
            "`prestan clean {}` removes it later",
            collection_above(&url)
        ),
        false => "remove it by hand".to_owned(),
    };
    let left = LeftBehind {
        reason: format!("{reason}; this run made it, {remedy}"),
        url,
        own: true,
    };
    add(finished, observers, EventKind::LeftBehind(left));
    false
}

/// The URL of the collection that a resource is in.
fn collection_above(url: &str) -> &str {
    let path = url.split('?').next().unwrap_or(url);
    path.rfind('/').map_or(path, |slash| &path[..=slash])
}

/// Keeps and prints what was measured, and says how it went.
fn finish(
    finished: Finished,
    intake: Intake,
    kept: Option<&RunDir>,
    output: &OutputOptions,
) -> Result<Code, Failed> {
    let concluded = intake.conclude(&finished);
    let saved = match kept {
        None => Ok(None),
        Some(kept) => match kept.complete(finished.env.clone(), concluded.written) {
            Ok(()) => Ok(Some(kept.path().display().to_string())),
            Err(why) => Err(not_saved(&why, kept)),
        },
    };
    if let Some(error) = finished.error {
        match &saved {
            Ok(Some(path)) => {
                output::tell(&format!("prestan: what is known of the run is in {path}"));
            }
            Ok(None) => {}
            Err(why) => output::tell(&format!("prestan: warning: {why}")),
        }
        return Err(Failed::from(error));
    }
    let summary = concluded.summary.map_err(Failed::Local)?;
    let logged = log(&finished, concluded.samples.as_ref(), &output.formats);
    let samples = concluded.samples.filter(|_| output.formats.figures.any());
    let drawn = samples.and_then(|samples| drawn_of(&finished, &samples));
    let run = &Run {
        plan: finished.plan,
        env: finished.env,
        events: finished.events,
        samples: Vec::new(),
    };
    output::print(
        run,
        &summary,
        drawn,
        &output.formats,
        output.output.as_deref(),
        saved.as_ref().ok().cloned().flatten(),
    )
    .and(logged)?;
    match (saved, went_through_all(&summary)) {
        (Ok(_), end) => end.and_then(|()| code_of(&summary)),
        (Err(why), Ok(())) => Err(why),
        (Err(why), Err(end)) => {
            output::tell(&format!("prestan: warning: {why}"));
            Err(end)
        }
    }
}

/// The record of a run is not complete, for this reason.
pub(crate) fn not_saved(why: &str, kept: &RunDir) -> Failed {
    let path = kept.path().display();
    Failed::Local(format!(
        "the run is not saved completely: {why}; make room, or choose another disk with --save; \
         what was saved until then can be read with `prestan report {path}`"
    ))
}

/// Writes a row for every operation, where that is wanted.
fn log(
    finished: &Finished,
    samples: Option<&Samples>,
    formats: &FormatOptions,
) -> Result<(), Failed> {
    let Some(file) = &formats.log else {
        return Ok(());
    };
    match samples {
        Some(samples) => log::write(file, &finished.plan, samples),
        None => Err(Failed::Local(format!(
            "{} is not written: the samples of the run are lost",
            file.display()
        ))),
    }
}

/// What figures need; without it they show less, which is said.
fn drawn_of(finished: &Finished, samples: &Samples) -> Option<Drawn> {
    let Finished {
        plan, env, events, ..
    } = finished;
    let run = Record {
        plan,
        env,
        events,
        samples,
    };
    intake::drawn(&[run], plan.measures.len())
        .map(|(_, drawn)| drawn)
        .inspect_err(|why| {
            output::tell(&format!(
                "prestan: warning: distributions are not drawn: {why}"
            ));
        })
        .ok()
}

fn went_through_all(summary: &Summary) -> Result<(), Failed> {
    match &summary.complete {
        Completeness::Interrupted => Err(Failed::Interrupted(
            "the run was interrupted; the report is of what was done".to_owned(),
        )),
        Completeness::Aborted(reason) => Err(Failed::Local(format!(
            "the run could not be finished: {}",
            report::abort_reason(reason.as_deref())
        ))),
        Completeness::Complete => Ok(()),
    }
}
