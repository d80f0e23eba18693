//! The next trial of a campaign, or its end.

use experiment::{PlannedTrial, TrialRecord};

use crate::RunnerError;
use crate::series::{NextStep, Policy, SeriesHistory};

/// Trials in a row that fail for the same reason, and therefore end a campaign.
pub(super) const SAME_FAILURES: usize = 3;

/// Makes the trials that are not measured, in their order. A failed one is made again only when the
/// campaign is resumed.
pub struct CampaignPolicy {
    open: Vec<PlannedTrial>,
}

impl CampaignPolicy {
    /// `open`: the trials of the plan that are not measured.
    pub fn new(open: Vec<PlannedTrial>) -> CampaignPolicy {
        CampaignPolicy { open }
    }
}

impl Policy for CampaignPolicy {
    type Step = PlannedTrial;
    type Outcome = TrialRecord;

    fn next(
        &mut self,
        history: &SeriesHistory<PlannedTrial, TrialRecord>,
    ) -> Result<NextStep<PlannedTrial>, RunnerError> {
        let made: Vec<&TrialRecord> = history.outcomes().collect();
        match repeated_failure(&made) {
            Some(why) => Err(RunnerError::Target(format!(
                "{SAME_FAILURES} trials in a row failed: {why}"
            ))),
            None => Ok(self.open.get(made.len()).cloned().into()),
        }
    }
}

/// The reason of the last failures, if it is the same for all.
fn repeated_failure<'r>(made: &[&'r TrialRecord]) -> Option<&'r str> {
    let (_, last) = made.split_at_checked(made.len().checked_sub(SAME_FAILURES)?)?;
    let mut reasons = last.iter().map(|trial| trial.failed.as_deref());
    let first = reasons.next()??;
    let is_same = |reason: Option<&str>| reason.is_some_and(|reason| is_same_reason(reason, first));
    reasons.all(is_same).then_some(first)
}

/// True if two reasons are the same, except for numbers (ports, processes) and for logs of servers.
pub(super) fn is_same_reason(one: &str, other: &str) -> bool {
    let plain = |reason: &str| -> String {
        let reason = reason.split("its logs end with").next().unwrap_or_default();
        reason.chars().filter(|c| !c.is_ascii_digit()).collect()
    };
    plain(one) == plain(other)
}
