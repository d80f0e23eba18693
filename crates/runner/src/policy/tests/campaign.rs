//! Campaigns with trials that are measured, fail or are interrupted at random.

use std::collections::BTreeMap;

use experiment::{LevelCombination, PlannedTrial, TrialRecord, last_of_each, planned_trials};
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};

use super::simulated;
use crate::RunnerError;
use crate::policy::CampaignPolicy;
use crate::policy::campaign::{SAME_FAILURES, is_same_reason};
use crate::series::perform;

const FAILURES: [&str; 2] = ["no answer at port 1", "the capture cannot be read"];

pub(super) fn trial(planned: &PlannedTrial, failed: Option<&str>) -> TrialRecord {
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

pub(super) fn cells(count: usize) -> Vec<LevelCombination> {
    let cell = |number| BTreeMap::from([("server".to_owned(), format!("s{number}"))]);
    (0..count)
        .map(|number| LevelCombination(cell(number)))
        .collect()
}

/// Trials that are not made again.
fn measured(recorded: &[TrialRecord]) -> Vec<TrialRecord> {
    let last = last_of_each(recorded).into_values();
    last.filter(|name| name.failed.is_none()).cloned().collect()
}

/// True if the last of these trials failed for the same reason.
fn ends_alike(recorded: &[TrialRecord]) -> bool {
    let last = recorded.iter().rev().take(SAME_FAILURES);
    let mut reasons: Vec<_> = last.map(|name| name.failed.as_deref()).collect();
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
        // Shares of trials that fail, and that are interrupted.
        let mut failed = random.random_range(0.0..0.8);
        let mut interrupted = random.random_range(0.0..0.3);
        // Records of all resumptions.
        let mut records = Vec::new();
        let mut attempts = 0;
        while measured(&records).len() < all.len() {
            attempts += 1;
            // At last, nothing fails.
            if attempts == 20 {
                (failed, interrupted) = (0.0, 0.0);
            }
            let known = records.len();
            let open = planned_trials(&cells, repetitions, seed, &measured(&records));
            let mut made = Vec::new();
            let mut laboratory = simulated(|_, planned: &PlannedTrial| {
                made.push(planned.clone());
                if random.random_bool(interrupted) {
                    return Err(RunnerError::Interrupted("interrupted".to_owned())).into();
                }
                let reason = FAILURES[random.random_range(0..FAILURES.len())];
                let trial = trial(planned, random.random_bool(failed).then_some(reason));
                records.push(trial.clone());
                Ok(trial).into()
            });
            let ended = perform(&mut CampaignPolicy::new(open.clone()), &mut laboratory).ended;
            drop(laboratory);
            let recorded = &records[known..];
            // In the order of the plan, without measured ones.
            assert_eq!(made, open[..made.len()], "{seed}");
            let before = recorded.len().saturating_sub(1);
            let is_late = (0..=before).any(|end| ends_alike(&recorded[..end]));
            assert!(!is_late, "{seed}");
            match ended.map(|end| end.why) {
                None => assert_eq!(recorded.len(), open.len(), "{seed}"),
                Some(RunnerError::Target(why)) => {
                    assert!(ends_alike(recorded) && why.starts_with("3 trials in a row failed: "));
                }
                Some(RunnerError::Interrupted(_)) => {
                    assert_eq!(made.len(), recorded.len() + 1, "{seed}");
                }
                Some(other) => panic!("{seed}: {other}"),
            }
        }
        assert!(attempts <= 20, "{seed}");
        let mut once = measured(&records);
        assert_eq!(once.len(), all.len(), "{seed}");
        once.dedup_by_key(|record| (record.cell.clone(), record.repetition));
        assert_eq!(once.len(), all.len(), "{seed}");
        let all_measured = records.iter().filter(|record| record.failed.is_none());
        assert_eq!(all_measured.count(), all.len(), "{seed}");
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
