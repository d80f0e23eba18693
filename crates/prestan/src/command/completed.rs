//! A run that is over: it is reported, or handed on to what made it.

use std::path::Path;

use engine::Finished;
use record::Run;
use report::BesideResult;
use report::page::PageRun;
use rundir::{Recorded, RunDir, Samples};
use runner::RunnerError;
use runner::intake::{Drawn, drawn};
use stats::{Completeness, MeasurementWindow, Summary};
use terminal::sample_log;

use super::kept::KeptRun;
use crate::args::OutputOptions;
use crate::exit::{ExitStatus, code_of_all};
use crate::output;

/// A run that is over.
pub(super) struct CompletedRun {
    pub(super) finished: Finished,
    /// The error is why the summary is lost.
    pub(super) summary: Result<Summary, String>,
    pub(super) samples: Option<Samples>,
    /// Which of them count, for each measure; empty where the summary is lost.
    pub(super) windows: Vec<MeasurementWindow>,
    /// Where it is kept.
    pub(super) path: Option<String>,
    pub(super) saved: Result<(), RunnerError>,
}

/// A run of a series that did not go through.
pub(crate) struct IncompleteRun {
    pub(crate) why: RunnerError,
    /// What it had measured until then.
    pub(crate) run: Option<Box<KeptRun>>,
}

impl From<RunnerError> for IncompleteRun {
    fn from(why: RunnerError) -> IncompleteRun {
        IncompleteRun { why, run: None }
    }
}

impl CompletedRun {
    /// Hands on a run that is kept and that went through to its end.
    pub(super) fn keep(self) -> Result<KeptRun, IncompleteRun> {
        let path = self.path;
        let Finished {
            plan,
            env,
            events,
            error,
        } = self.finished;
        let suite = format!("the run of suite {}", plan.suite.name);
        if let Some(error) = error {
            let why = match RunnerError::from(error) {
                RunnerError::Interrupted(why) => {
                    let known = path.map(|path| format!("; its record is in {path}"));
                    let known = known.unwrap_or_default();
                    RunnerError::Interrupted(format!("{suite} was {why}{known}"))
                }
                why => why,
            };
            return Err(why.into());
        }
        let summary = self.summary.map_err(RunnerError::Local)?;
        let printed = path.as_ref().map_or(String::new(), |path| {
            format!("; `prestan report {path}` prints what it measured until then")
        });
        let why = match (&summary.complete, self.saved) {
            (Completeness::Complete, saved) => saved.err(),
            (Completeness::Interrupted, _) => Some(RunnerError::Interrupted(format!(
                "{suite} was interrupted{printed}"
            ))),
            (Completeness::Aborted(reason), _) => Some(RunnerError::Local(format!(
                "{suite} could not be finished: {}{printed}",
                report::abort_reason(reason.as_deref())
            ))),
        };
        let run = Run {
            plan,
            env,
            events,
            samples: Vec::new(),
        };
        let run = KeptRun::new(run, summary, path.unwrap_or_default());
        match why {
            None => Ok(run),
            Some(why) => Err(IncompleteRun {
                why,
                run: Some(Box::new(run)),
            }),
        }
    }

    /// Prints the report of a run on its own. The reason of a run that did not go through goes before that of
    /// one that is not saved, and both are told.
    pub(super) fn report(
        self,
        output: &OutputOptions,
        beside: Vec<(String, Result<KeptRun, IncompleteRun>)>,
    ) -> Result<ExitStatus, RunnerError> {
        let CompletedRun {
            finished,
            summary,
            samples,
            windows,
            path,
            saved,
        } = self;
        let warn = |why: &RunnerError| output::tell(&format!("prestan: warning: {why}"));
        let (beside, mut broken_off) = measured_beside(beside);
        let Finished {
            plan,
            env,
            events,
            error,
        } = finished;
        if let Some(error) = error {
            let record = match (saved, path) {
                (Ok(()), Some(path)) => format!("; the record of the run is in {path}"),
                (Ok(()), None) => String::new(),
                (Err(why), _) => format!("; {why}"),
            };
            broken_off.iter().for_each(warn);
            return Err(RunnerError::from(error).followed_by(&record));
        }
        let summary = summary.map_err(|why| {
            broken_off.iter().for_each(warn);
            RunnerError::Local(why)
        })?;
        let formats = &output.formats;
        let (logged, drawn, run) = match samples {
            Some(samples) => {
                let recorded = Recorded {
                    plan,
                    env,
                    events,
                    samples,
                };
                let log = formats.log.as_deref();
                let logged = log.map_or(Ok(()), |log| {
                    sample_log::write(log, &recorded, Some(windows))
                });
                let drawn = formats.figures.any().then(|| draw(&recorded)).flatten();
                (logged, drawn, recorded.into_run())
            }
            None => {
                let run = Run {
                    plan,
                    env,
                    events,
                    samples: Vec::new(),
                };
                (not_logged(formats.log.as_deref()), None, run)
            }
        };
        let (details, diagnosed) = drawn.map(|drawn| (drawn.details, drawn.diagnosed)).unzip();
        let shown = PageRun {
            name: None,
            run: &run,
            summary: &summary,
            details,
        };
        let path = path.filter(|_| saved.is_ok());
        let loads: Vec<BesideResult<'_>> = beside.iter().map(KeptRun::beside).collect();
        output::print(shown, diagnosed, &loads, &output.request(), path)?;
        // The last that went wrong is the answer, and of the others it is told as well.
        let own = [logged, saved, went_through_all(&summary)];
        let mut failures: Vec<RunnerError> = own.into_iter().filter_map(Result::err).collect();
        // What the run itself came to goes before what became of a load.
        failures.splice(0..0, broken_off.drain(..));
        let Some(last) = failures.pop() else {
            let of_beside = beside.iter().map(|(_, load)| &load.summary);
            return code_of_all(std::iter::once(&summary).chain(of_beside));
        };
        failures.iter().for_each(warn);
        Err(last)
    }
}

/// What was measured beside a run, and why some of these loads did not go on to their end.
fn measured_beside(
    ended: Vec<(String, Result<KeptRun, IncompleteRun>)>,
) -> (Vec<(String, KeptRun)>, Vec<RunnerError>) {
    let (mut measured, mut broken_off) = (Vec::new(), Vec::new());
    for (name, ended) in ended {
        match ended {
            Ok(run) => measured.push((name, run)),
            Err(IncompleteRun { why, run }) => {
                measured.extend(run.map(|run| (name.clone(), *run)));
                let what = format!("the load {name} beside the run: {why}");
                broken_off.push(match why {
                    RunnerError::Interrupted(_) => RunnerError::Interrupted(what),
                    _ => RunnerError::Local(what),
                });
            }
        }
    }
    (measured, broken_off)
}

/// The record of a run is not complete, for this reason.
pub(super) fn not_saved(why: &str, kept: &RunDir) -> RunnerError {
    let saved = if kept.has_samples() {
        let path = kept.path().display();
        format!("what was saved until then can be read with `prestan report {path}`")
    } else {
        "no samples were saved".to_owned()
    };
    RunnerError::Local(format!(
        "the run is not saved completely: {why}; make room, or choose another disk with --save; {saved}"
    ))
}

/// Without samples there is nothing for `--log`.
fn not_logged(log: Option<&Path>) -> Result<(), RunnerError> {
    log.map_or(Ok(()), |file| {
        Err(RunnerError::Local(format!(
            "{} is not written: the samples of the run are lost",
            file.display()
        )))
    })
}

/// What figures need; without it they show less, which is said.
fn draw(recorded: &Recorded) -> Option<Drawn> {
    let rows = recorded.plan.measures.len();
    drawn(std::slice::from_ref(recorded), rows)
        .inspect_err(|why| {
            output::tell(&format!(
                "prestan: warning: distributions are not drawn: {why}"
            ));
        })
        .ok()
}

fn went_through_all(summary: &Summary) -> Result<(), RunnerError> {
    match &summary.complete {
        Completeness::Interrupted => Err(RunnerError::Interrupted(
            "the run was interrupted; the report is of what was done".to_owned(),
        )),
        Completeness::Aborted(reason) => Err(RunnerError::Local(format!(
            "the run could not be finished: {}",
            report::abort_reason(reason.as_deref())
        ))),
        Completeness::Complete => Ok(()),
    }
}
