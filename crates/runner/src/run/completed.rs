//! Runs that have ended.

use engine::{Finished, RunError};
use record::{CountedSpan, Environment, Event, EventKind, PlanRecord, Run};
use rundir::{RunDir, Samples};
use stats::{Completeness, Conclusion, MeasurementWindow, Summary};

use super::ended::{EndedRun, had_no_response};
use crate::RunnerError;
use crate::kept::KeptRun;
use crate::sample_sink::{Concluded, SampleSink};
use crate::servers::RunsOfServer;
use crate::state::is_cleaned_up;

/// A run that has ended.
pub struct CompletedRun {
    /// The result of the engine.
    pub finished: Finished,
    /// Its summary; the error is the reason why it is lost.
    pub summary: Result<Summary, String>,
    /// Its samples, if they can be read again.
    pub samples: Option<Samples>,
    /// Measurement window of each measure; empty if the summary is lost.
    pub windows: Vec<MeasurementWindow>,
    /// Its directory, if kept.
    pub path: Option<String>,
    /// An error if its record is incomplete.
    pub saved: Result<(), RunnerError>,
    /// Loads beside it, by name.
    pub beside: Vec<(String, Result<KeptRun, IncompleteRun>)>,
}

/// A run of a series that failed.
pub struct IncompleteRun {
    /// The reason.
    pub why: RunnerError,
    /// Its measurements until then.
    pub run: Option<Box<KeptRun>>,
}

impl From<RunnerError> for IncompleteRun {
    fn from(why: RunnerError) -> IncompleteRun {
        IncompleteRun { why, run: None }
    }
}

impl CompletedRun {
    /// State of its server.
    pub(crate) fn ran(&self) -> RunsOfServer<'static> {
        let (summary, events) = (self.summary.as_ref(), &self.finished.events);
        match &self.finished.error {
            None if summary.is_ok_and(|summary| is_well(summary, events)) => RunsOfServer::Well,
            // Its report shows its measurements.
            None if !self.was_interrupted() => RunsOfServer::Failed(None),
            _ => RunsOfServer::NotBegun,
        }
    }

    /// True if it began, and did not end normally.
    pub fn was_cut_short(&self) -> bool {
        let summary = self.summary.as_ref().ok();
        self.finished.error.is_none()
            && summary.is_none_or(|summary| summary.complete != Completeness::Complete)
    }

    pub(crate) fn was_interrupted(&self) -> bool {
        let summary = self.summary.as_ref().ok();
        matches!(self.finished.error, Some(RunError::Interrupted))
            || summary.is_some_and(|summary| summary.complete == Completeness::Interrupted)
    }

    /// Returns a kept run that ended normally, with the material of a diagnosis if `is_diagnosed`.
    ///
    /// # Errors
    ///
    /// The run did not end normally, or its samples cannot be read again.
    pub fn keep(self, is_diagnosed: bool) -> Result<KeptRun, IncompleteRun> {
        let path = self.path;
        let Finished {
            plan,
            env,
            events,
            error,
        } = self.finished;
        let suite = plan.suite.name.clone();
        let kept = path.as_deref().filter(|_| self.saved.is_ok());
        if let Some(error) = error {
            return Err(with_unsaved(not_measured(error, &suite, kept), self.saved).into());
        }
        let summary = self.summary.map_err(RunnerError::Local)?;
        let why = match cut_short(&summary.complete, &suite, kept) {
            Some(cut) => Some(with_unsaved(cut, self.saved)),
            None => self.saved.err(),
        };
        let is_diagnosed = is_diagnosed && why.is_none();
        let material =
            |samples: Samples| stats::material_from(&plan, &events, &env, || samples.pieces());
        let samples = self.samples.filter(|_| is_diagnosed);
        let material = samples.map(material).transpose();
        let material = material.map_err(RunnerError::from)?;
        let run = Run {
            plan,
            env,
            events,
            samples: Vec::new(),
        };
        let run = KeptRun {
            material,
            ..KeptRun::new(run, summary, path.unwrap_or_default())
        };
        match why {
            None => Ok(run),
            Some(why) => Err(IncompleteRun {
                why,
                run: Some(Box::new(run)),
            }),
        }
    }
}

/// True if nothing failed in a run with these results and events.
pub(crate) fn is_well(summary: &Summary, events: &[Event]) -> bool {
    summary.conclusion() == Conclusion::Pass && is_cleaned_up(events)
}

/// The error of a run of this suite that measured nothing, with its record.
pub fn not_measured(error: RunError, suite: &str, path: Option<&str>) -> RunnerError {
    let record = path.map(|path| format!("; the record of the run is in {path}"));
    let why = match RunnerError::from(error) {
        RunnerError::Interrupted(why) => {
            RunnerError::Interrupted(format!("the run of suite {suite} was {why}"))
        }
        why => why,
    };
    why.followed_by(&record.unwrap_or_default())
}

/// Adds the error of an incomplete record to the reason.
pub fn with_unsaved(why: RunnerError, saved: Result<(), RunnerError>) -> RunnerError {
    let unsaved = saved.err().map(|why| format!("; {why}"));
    why.followed_by(&unsaved.unwrap_or_default())
}

/// The error of a run of this suite that ended early, with the command that prints its record.
pub fn cut_short(complete: &Completeness, suite: &str, path: Option<&str>) -> Option<RunnerError> {
    let printed = path.map_or(String::new(), |path| {
        format!("; `prestan report {path}` prints what it measured until then")
    });
    match complete {
        Completeness::Complete => None,
        Completeness::Interrupted => Some(RunnerError::Interrupted(format!(
            "the run of suite {suite} was interrupted{printed}"
        ))),
        Completeness::Aborted(reason) => Some(RunnerError::Local(format!(
            "the run of suite {suite} could not be finished: {}{printed}",
            report::abort_reason(reason.as_deref())
        ))),
    }
}

impl EndedRun<'_> {
    /// Records that the goal was missed, or that too many operations failed.
    pub(super) fn note_end(&mut self, sink: &SampleSink) {
        if let Some((goal, missed)) = sink.goal() {
            self.add(EventKind::Goal(goal));
            if let Some(text) = missed.filter(|_| self.went_through()) {
                self.add(EventKind::Warning { text });
            }
        }
        let failed = sink.failed_too_often();
        if let Some(reason) = failed.filter(|_| self.went_through()) {
            let reason = reason.to_owned();
            self.add(EventKind::Aborted { reason });
        }
    }

    /// Summarises the samples, and completes the record.
    pub(super) fn conclude(self, sink: SampleSink) -> CompletedRun {
        let mut finished = self.finished;
        let recorded = finished.env.clone();
        let is_worthless = had_no_response(&finished);
        report::apply_label(&mut finished.plan, &mut finished.env, &mut finished.events);
        let Concluded {
            written,
            summary,
            samples,
            windows,
        } = sink.conclude(&finished);
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
        let is_discarded = |directory: &&RunDir| is_worthless && directory.discard().is_ok();
        let directory = self.recorder.directory.as_ref();
        let directory = directory.filter(|directory| !is_discarded(directory));
        let complete = |directory: &RunDir| {
            let completed = directory.complete(recorded, written);
            completed.map_err(|why| not_saved(&why, directory))
        };
        CompletedRun {
            saved: self.saved.and(directory.map_or(Ok(()), complete)),
            path: directory.map(|directory| directory.path().display().to_string()),
            finished,
            summary,
            samples,
            windows,
            beside: self.beside,
        }
    }
}

/// Spans of operations that count, for readers of the record.
fn counted_spans(plan: &PlanRecord, windows: &[MeasurementWindow]) -> Vec<CountedSpan> {
    let of_measures = plan.measures.iter().zip(windows);
    let named = of_measures.filter_map(|(measure, window)| window.named(&measure.name));
    named.collect()
}

/// The error of an incomplete record.
fn not_saved(why: &str, kept: &RunDir) -> RunnerError {
    let saved = if kept.has_samples() {
        let path = kept.path().display();
        format!("what was saved until then can be read with `prestan report {path}`")
    } else {
        "no samples were saved".to_owned()
    };
    RunnerError::NotSaved(format!(
        "the run is not saved completely: {why}; make room, or choose another disk with --save; {saved}"
    ))
}
