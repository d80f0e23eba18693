//! A run that is over.

use engine::{Finished, RunError};
use record::Run;
use rundir::{RunDir, Samples};
use stats::{Completeness, Conclusion, MeasurementWindow, Summary};

use crate::RunnerError;
use crate::kept::KeptRun;

/// A run that is over.
pub struct CompletedRun {
    /// What the engine made of it.
    pub finished: Finished,
    /// What it came to; the error is why that is lost.
    pub summary: Result<Summary, String>,
    /// Its samples, where they can be read again.
    pub samples: Option<Samples>,
    /// Which of them count, for each measure; empty where the summary is lost.
    pub windows: Vec<MeasurementWindow>,
    /// Where it is kept.
    pub path: Option<String>,
    /// Whether that is complete.
    pub saved: Result<(), RunnerError>,
    /// The loads that went on beside it, by their names.
    pub beside: Vec<(String, Result<KeptRun, IncompleteRun>)>,
}

/// A run of a series that did not go through.
pub struct IncompleteRun {
    /// The reason.
    pub why: RunnerError,
    /// What it had measured until then.
    pub run: Option<Box<KeptRun>>,
}

impl From<RunnerError> for IncompleteRun {
    fn from(why: RunnerError) -> IncompleteRun {
        IncompleteRun { why, run: None }
    }
}

impl CompletedRun {
    /// Whether all of it went as it should.
    pub(crate) fn is_well(&self) -> bool {
        let conclusion = self.summary.as_ref().map(Summary::conclusion);
        self.finished.error.is_none() && conclusion == Ok(Conclusion::Pass)
    }

    /// Whether somebody ended it.
    pub(crate) fn was_interrupted(&self) -> bool {
        let summary = self.summary.as_ref().ok();
        matches!(self.finished.error, Some(RunError::Interrupted))
            || summary.is_some_and(|own| own.complete == Completeness::Interrupted)
    }

    /// Hands on a run that is kept and that went through to its end.
    ///
    /// # Errors
    ///
    /// It did not.
    pub fn keep(self) -> Result<KeptRun, IncompleteRun> {
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
