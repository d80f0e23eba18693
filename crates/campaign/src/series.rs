//! The loop of a campaign: a policy decides what is next, a runner makes it, and the policy sees what came of it.

use runner::RunnerError;

/// Decides what is made, from what was made.
pub(crate) trait Policy {
    type Step;
    type Outcome;

    /// The step behind those that were made, in their order; `None` where nothing is left.
    ///
    /// # Errors
    ///
    /// Nothing more would come of it.
    fn next(
        &mut self,
        made: &[(Self::Step, Self::Outcome)],
    ) -> Result<Option<Self::Step>, RunnerError>;
}

/// Makes a step.
pub(crate) trait Runner {
    type Step;
    type Outcome;

    /// What comes of a step.
    ///
    /// # Errors
    ///
    /// Nothing came of it, and the series ends.
    fn run(&mut self, step: &Self::Step) -> Result<Self::Outcome, RunnerError>;
}

/// Makes what a policy decides, until nothing is left.
pub(crate) fn perform<S, O>(
    policy: &mut impl Policy<Step = S, Outcome = O>,
    runner: &mut impl Runner<Step = S, Outcome = O>,
) -> Result<(), RunnerError> {
    let mut made = Vec::new();
    while let Some(step) = policy.next(&made)? {
        let outcome = runner.run(&step)?;
        made.push((step, outcome));
    }
    Ok(())
}
