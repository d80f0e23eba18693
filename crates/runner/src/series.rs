//! The loop of every series of runs: a policy says what is next, a runner makes it, a history keeps what came of it.
//!
//! ```text
//! policy --step--> runner --outcome--> history
//!   ^                                     |
//!   '----------- all that was made -------'
//! ```
//!
//! A policy sees the history and nothing else, and a runner sees one step. So a policy is tested with a runner that makes
//! up its outcomes, and every series ends early in the same way: its reason stands beside what was made until then.

use std::time::Duration;

use crate::RunnerError;

/// What the next step of a series is.
pub trait Policy {
    /// What is made at once.
    type Step;
    /// What comes of it.
    type Outcome;

    /// What is done after all this, and what is to be said of the last step.
    ///
    /// # Errors
    ///
    /// Nothing can come of the series any more.
    fn next(
        &mut self,
        history: &SeriesHistory<Self::Step, Self::Outcome>,
    ) -> Result<NextStep<Self::Step>, RunnerError>;
}

/// What a policy decided.
pub struct NextStep<S> {
    /// What is said of the last step.
    pub remark: Option<String>,
    /// The step; `None` when the series is complete.
    pub step: Option<S>,
}

impl<S> From<Option<S>> for NextStep<S> {
    fn from(step: Option<S>) -> NextStep<S> {
        NextStep { remark: None, step }
    }
}

/// What makes a step of a series.
pub trait Runner {
    /// What is made at once.
    type Step;
    /// What comes of it.
    type Outcome;

    /// Makes the step of this number, from 1.
    fn run(&mut self, number: usize, step: &Self::Step) -> MadeStep<Self::Outcome>;

    /// Time since the series began.
    fn elapsed(&self) -> Duration;

    /// Says something to the user.
    fn say(&self, remark: &str);
}

/// What came of a step.
pub struct MadeStep<O> {
    /// What is to be kept of it.
    pub outcome: Option<O>,
    /// Why nothing can follow it.
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

/// Why a step did not go through.
#[derive(Debug)]
pub struct StepFailure {
    /// The reason.
    pub why: RunnerError,
    /// Something was measured, or was about to be: what failed is not the preparation.
    pub has_begun: bool,
}

/// All steps that were made, in their order.
pub struct SeriesHistory<S, O> {
    /// The steps.
    pub steps: Vec<PastStep<S, O>>,
    /// Time since the series began.
    pub elapsed: Duration,
}

/// A step that was made.
pub struct PastStep<S, O> {
    /// What was to be made.
    pub step: S,
    /// What came of it.
    pub outcome: O,
    /// How long it took.
    pub took: Duration,
}

impl<S, O> SeriesHistory<S, O> {
    /// The outcomes of all steps.
    pub fn outcomes(&self) -> impl DoubleEndedIterator<Item = &O> {
        self.steps.iter().map(|past| &past.outcome)
    }
}

/// A series that is over.
pub struct CompletedSeries<S, O> {
    /// What was made.
    pub history: SeriesHistory<S, O>,
    /// Why it is not complete.
    pub ended: Option<SeriesEnd>,
}

/// The end of a series before it was complete.
#[derive(Debug)]
pub struct SeriesEnd {
    /// The reason.
    pub why: RunnerError,
    /// The number of the step that did not go through, from 1; `None` where the policy gave up.
    pub step: Option<usize>,
    /// Whether that had begun.
    pub has_begun: bool,
}

/// Makes steps until the policy has no more of them, or one does not go through.
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
            runner.say(&remark);
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
