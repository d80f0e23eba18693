//! The loop of every series of runs: a policy chooses the next step, a runner makes it, and a
//! history keeps the outcomes.
//!
//! ```text
//! policy --step--> runner --outcome--> history
//!   ^                                     |
//!   '----------- all that was made -------'
//! ```
//!
//! The only input of a policy is the history, and that of a runner is one step. So policies are
//! tested with a runner that makes up its outcomes, and every series ends early in the same way:
//! with the reason beside the history.

use std::time::Duration;

use crate::RunnerError;

/// Chooses the next step of a series.
pub trait Policy {
    /// Input of the runner.
    type Step;
    /// Result of a step.
    type Outcome;

    /// The next step after this history, and a remark about the last one.
    ///
    /// # Errors
    ///
    /// The series cannot succeed any more.
    fn next(
        &mut self,
        history: &SeriesHistory<Self::Step, Self::Outcome>,
    ) -> Result<NextStep<Self::Step>, RunnerError>;
}

/// The decision of a policy.
pub struct NextStep<S> {
    /// Remark about the last step.
    pub remark: Option<String>,
    /// The step; `None` when the series is complete.
    pub step: Option<S>,
}

impl<S> From<Option<S>> for NextStep<S> {
    fn from(step: Option<S>) -> NextStep<S> {
        NextStep { remark: None, step }
    }
}

/// Makes the steps of a series.
pub trait Runner {
    /// Input of the runner.
    type Step;
    /// Result of a step.
    type Outcome;

    /// Makes the step of this number, from 1.
    fn run(&mut self, number: usize, step: &Self::Step) -> MadeStep<Self::Outcome>;

    /// Time since the series began.
    fn elapsed(&self) -> Duration;

    /// Displays a remark.
    fn remark(&self, remark: &str);
}

/// The result of a step.
pub struct MadeStep<O> {
    /// Outcome for the history.
    pub outcome: Option<O>,
    /// The reason why the series ends here.
    pub ended: Option<StepFailure>,
}

impl<O> From<Result<O, RunnerError>> for MadeStep<O> {
    fn from(made: Result<O, RunnerError>) -> MadeStep<O> {
        let (outcome, why) = match made {
            Ok(outcome) => (Some(outcome), None),
            Err(why) => (None, Some(why)),
        };
        let ended = why.map(|why| StepFailure {
            why,
            has_begun: true,
        });
        MadeStep { outcome, ended }
    }
}

/// The failure of a step.
#[derive(Debug)]
pub struct StepFailure {
    /// The reason.
    pub why: RunnerError,
    /// True if something was measured or about to be; false if the preparation failed.
    pub has_begun: bool,
}

/// All steps that were made, in their order.
pub struct SeriesHistory<S, O> {
    /// Steps in order.
    pub steps: Vec<PastStep<S, O>>,
    /// Time since the series began.
    pub elapsed: Duration,
}

/// A step that was made.
pub struct PastStep<S, O> {
    /// The step.
    pub step: S,
    /// Its outcome.
    pub outcome: O,
    /// Its duration.
    pub took: Duration,
}

impl<S, O> SeriesHistory<S, O> {
    /// The outcomes of all steps.
    pub fn outcomes(&self) -> impl DoubleEndedIterator<Item = &O> {
        self.steps.iter().map(|past| &past.outcome)
    }
}

/// A series that has ended.
pub struct CompletedSeries<S, O> {
    /// Its steps.
    pub history: SeriesHistory<S, O>,
    /// The reason, if it is not complete.
    pub ended: Option<SeriesEnd>,
}

/// The end of a series before it was complete.
#[derive(Debug)]
pub struct SeriesEnd {
    /// The reason.
    pub why: RunnerError,
    /// Number of the failed step, from 1; `None` if the policy gave up.
    pub step: Option<usize>,
    /// The failed step had begun.
    pub has_begun: bool,
}

/// Makes steps until the policy has no more, or one fails.
pub fn perform<S, O>(
    policy: &mut impl Policy<Step = S, Outcome = O>,
    runner: &mut impl Runner<Step = S, Outcome = O>,
) -> CompletedSeries<S, O> {
    let mut history = SeriesHistory {
        steps: Vec::new(),
        elapsed: runner.elapsed(),
    };
    let ended = loop {
        let NextStep { remark, step } = match policy.next(&history) {
            Ok(decision) => decision,
            Err(why) => {
                break Some(SeriesEnd {
                    why,
                    step: None,
                    has_begun: false,
                });
            }
        };
        if let Some(remark) = remark {
            runner.remark(&remark);
        }
        let Some(step) = step else { break None };
        let (number, begun) = (history.steps.len() + 1, runner.elapsed());
        let MadeStep { outcome, ended } = runner.run(number, &step);
        history.elapsed = runner.elapsed();
        let took = history.elapsed.saturating_sub(begun);
        history.steps.extend(outcome.map(|outcome| PastStep {
            step,
            outcome,
            took,
        }));
        if let Some(StepFailure { why, has_begun }) = ended {
            break Some(SeriesEnd {
                why,
                step: Some(number),
                has_begun,
            });
        }
    };
    CompletedSeries { history, ended }
}
