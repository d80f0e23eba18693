//! Which trial of a campaign is next, and when no more are made.

use experiment::{PlannedTrial, TrialRecord};
use runner::RunnerError;

use runner::series::{NextStep, Policy, SeriesHistory};

/// So many trials in a row that fail for the same reason end a campaign: the next ones would, too.
const SAME_FAILURES: usize = 3;

/// Makes the trials that are not measured, in their order. One that fails is made again when the campaign is resumed, and
/// not before.
pub(crate) struct CampaignPolicy {
    open: Vec<PlannedTrial>,
}

impl CampaignPolicy {
    /// `open`: the trials of the plan that are not measured.
    pub(crate) fn new(open: Vec<PlannedTrial>) -> CampaignPolicy {
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

/// Why the last trials failed, where it is the same reason of each.
fn repeated_failure<'r>(made: &[&'r TrialRecord]) -> Option<&'r str> {
    let (_, last) = made.split_at_checked(made.len().checked_sub(SAME_FAILURES)?)?;
    let mut reasons = last.iter().map(|trial| trial.failed.as_deref());
    let first = reasons.next()??;
    let is_same = |own: Option<&str>| own.is_some_and(|own| is_same_reason(own, first));
    reasons.all(is_same).then_some(first)
}

/// Whether two reasons are the same, but for numbers (ports, processes) and for what servers wrote to their logs.
fn is_same_reason(one: &str, other: &str) -> bool {
    let plain = |reason: &str| -> String {
        let reason = reason.split("its logs end with").next().unwrap_or_default();
        reason.chars().filter(|c| !c.is_ascii_digit()).collect()
    };
    plain(one) == plain(other)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::time::Duration;

    use experiment::{LevelCombination, last_of_each, planned_trials};
    use rand::rngs::StdRng;
    use rand::{RngExt as _, SeedableRng as _};

    use super::*;
    use runner::series::{MadeStep, Runner, perform};

    const FAILURES: [&str; 2] = ["no answer at port 1", "the capture cannot be read"];

    /// Trials that are measured, fail or are interrupted at random.
    struct SimulatedLaboratory {
        random: StdRng,
        /// Shares of trials that fail, and that are interrupted.
        failed: f64,
        interrupted: f64,
        /// What is recorded, of all resumptions.
        recorded: Vec<TrialRecord>,
        made: Vec<PlannedTrial>,
    }

    impl Runner for SimulatedLaboratory {
        type Step = PlannedTrial;
        type Outcome = TrialRecord;

        fn run(&mut self, _: usize, planned: &PlannedTrial) -> MadeStep<TrialRecord> {
            self.made.push(planned.clone());
            if self.random.random_bool(self.interrupted) {
                return Err(RunnerError::Interrupted("interrupted".to_owned())).into();
            }
            let failed = self.random.random_bool(self.failed);
            let reason = FAILURES[self.random.random_range(0..FAILURES.len())];
            let trial = trial(planned, failed.then_some(reason));
            self.recorded.push(trial.clone());
            Ok(trial).into()
        }

        fn elapsed(&self) -> Duration {
            Duration::ZERO
        }

        fn say(&self, _: &str) {}
    }

    fn trial(planned: &PlannedTrial, failed: Option<&str>) -> TrialRecord {
        TrialRecord {
            cell: planned.cell.clone(),
            repetition: planned.repetition,
            started: String::new(),
            seconds: 1.0,
            figures: BTreeMap::new(),
            facts: BTreeMap::new(),
            warnings: Vec::new(),
            failed: failed.map(str::to_owned),
        }
    }

    fn cells(count: usize) -> Vec<LevelCombination> {
        let cell = |number| BTreeMap::from([("server".to_owned(), format!("s{number}"))]);
        (0..count).map(|own| LevelCombination(cell(own))).collect()
    }

    /// Those that are not to be made again.
    fn measured(recorded: &[TrialRecord]) -> Vec<TrialRecord> {
        let last = last_of_each(recorded).into_values();
        last.filter(|own| own.failed.is_none()).cloned().collect()
    }

    /// Whether the trials at the end of these failed, for the same reason.
    fn ends_alike(recorded: &[TrialRecord]) -> bool {
        let last = recorded.iter().rev().take(SAME_FAILURES);
        let mut reasons: Vec<_> = last.map(|own| own.failed.as_deref()).collect();
        let is_full = reasons.len() == SAME_FAILURES;
        reasons.dedup();
        is_full && reasons.len() == 1 && reasons[0].is_some()
    }

    #[test]
    fn a_campaign_that_is_resumed_until_its_end_measures_each_trial_once() {
        for seed in 0..3000 {
            let mut random = StdRng::seed_from_u64(seed);
            let (cells, repetitions) = (
                cells(random.random_range(1..=5)),
                random.random_range(1..=4),
            );
            let all = planned_trials(&cells, repetitions, seed, &[]);
            let mut laboratory = SimulatedLaboratory {
                failed: random.random_range(0.0..0.8),
                interrupted: random.random_range(0.0..0.3),
                random,
                recorded: Vec::new(),
                made: Vec::new(),
            };
            let mut attempts = 0;
            while measured(&laboratory.recorded).len() < all.len() {
                attempts += 1;
                // In the end, nothing is wrong any more.
                if attempts == 20 {
                    (laboratory.failed, laboratory.interrupted) = (0.0, 0.0);
                }
                let known = laboratory.recorded.len();
                let open =
                    planned_trials(&cells, repetitions, seed, &measured(&laboratory.recorded));
                laboratory.made.clear();
                let ended = perform(&mut CampaignPolicy::new(open.clone()), &mut laboratory);
                let recorded = &laboratory.recorded[known..];
                // In the order of the plan, without those that were measured.
                assert_eq!(laboratory.made, open[..laboratory.made.len()], "{seed}");
                let before = recorded.len().saturating_sub(1);
                assert!(
                    (0..=before).all(|end| !ends_alike(&recorded[..end])),
                    "{seed}"
                );
                match ended.ended.map(|end| end.why) {
                    None => assert_eq!(recorded.len(), open.len(), "{seed}"),
                    Some(RunnerError::Target(why)) => {
                        assert!(
                            ends_alike(recorded) && why.starts_with("3 trials in a row failed: ")
                        );
                    }
                    Some(RunnerError::Interrupted(_)) => {
                        assert_eq!(laboratory.made.len(), recorded.len() + 1, "{seed}");
                    }
                    Some(other) => panic!("{seed}: {other}"),
                }
            }
            assert!(attempts <= 20, "{seed}");
            let mut once: Vec<_> = laboratory
                .recorded
                .iter()
                .filter(|own| own.failed.is_none())
                .collect();
            assert_eq!(once.len(), all.len(), "{seed}");
            once.dedup_by_key(|own| (&own.cell, own.repetition));
            assert_eq!(once.len(), all.len(), "{seed}");
        }
    }

    #[test]
    fn reasons_are_the_same_but_for_numbers_and_logs() {
        let reason = |port: u32, log: &str| {
            format!("nginx does not answer at 198.18.0.1:{port}; its logs end with {log}")
        };
        assert!(is_same_reason(&reason(1234, "a"), &reason(45, "b")));
        assert!(!is_same_reason(
            &reason(1234, "a"),
            "the capture cannot be read"
        ));
    }
}
