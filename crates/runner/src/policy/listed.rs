//! Steps that are all known in advance.

use std::collections::VecDeque;

use crate::RunnerError;
use crate::local::{RunStep, StepRuns};
use crate::series::{NextStep, PastStep, Policy, SeriesHistory};

/// A remark about a completed step.
type Remark<'a> = dyn Fn(&PastStep<RunStep, StepRuns>) -> String + 'a;

/// Steps in a fixed order.
pub struct Listed<'a> {
    steps: VecDeque<RunStep>,
    remark: Option<&'a Remark<'a>>,
}

impl<'a> Listed<'a> {
    /// These steps, in this order.
    pub fn new(steps: impl IntoIterator<Item = RunStep>) -> Listed<'a> {
        Listed {
            steps: steps.into_iter().collect(),
            remark: None,
        }
    }

    /// Adds a remark about each step.
    pub fn remarking(self, remark: &'a Remark<'a>) -> Listed<'a> {
        Listed {
            remark: Some(remark),
            ..self
        }
    }

    /// Remaining steps.
    pub fn steps(&self) -> impl Iterator<Item = &RunStep> {
        self.steps.iter()
    }
}

impl Policy for Listed<'_> {
    type Step = RunStep;
    type Outcome = StepRuns;

    fn next(
        &mut self,
        history: &SeriesHistory<RunStep, StepRuns>,
    ) -> Result<NextStep<RunStep>, RunnerError> {
        let last = history.steps.last();
        Ok(NextStep {
            remark: last.zip(self.remark).map(|(last, remark)| remark(last)),
            step: self.steps.pop_front(),
        })
    }
}
