//! The order of trials.

use std::collections::BTreeSet;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use crate::record::{LevelCombination, TrialRecord};

/// A trial to execute.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct PlannedTrial {
    /// Its cell.
    pub cell: LevelCombination,
    /// Number of the repetition, from 1.
    pub repetition: u32,
}

/// The trials of a campaign that are not done. They are in blocks: each repetition has every cell
/// once, in an order that the seed determines and that differs between repetitions. So slow changes
/// (temperature, other programs) are the same for all cells of a block. Trials that are done do not
/// change the order of the others. The caller decides if a failed trial is done; `prestan lab run`
/// repeats it when it resumes a campaign.
pub fn planned_trials(
    cells: &[LevelCombination],
    repetitions: u32,
    seed: u64,
    done: &[TrialRecord],
) -> Vec<PlannedTrial> {
    let done: BTreeSet<(&LevelCombination, u32)> = done
        .iter()
        .map(|trial| (&trial.cell, trial.repetition))
        .collect();
    let mut trials = Vec::new();
    for repetition in 1..=repetitions {
        let mut block: Vec<&LevelCombination> = cells.iter().collect();
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        random.set_stream(u64::from(repetition));
        block.shuffle(&mut random);
        let open = block
            .into_iter()
            .filter(|cell| !done.contains(&(*cell, repetition)));
        trials.extend(open.map(|cell| PlannedTrial {
            cell: cell.clone(),
            repetition,
        }));
    }
    trials
}
