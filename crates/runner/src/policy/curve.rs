//! Points of a load curve: a run for each number of users.

use std::sync::Arc;

use engine::Drive;

use crate::local::{RunStep, RunTask, StepRun};

/// The steps of a curve: with each of these numbers of users, which are driven so, in their order. All do the same, also
/// where chance decides what.
pub fn curve_steps(
    task: &Arc<RunTask>,
    users: &[u32],
    drive: impl Fn(u32) -> Drive,
    seed: u64,
) -> impl Iterator<Item = RunStep> {
    users.iter().enumerate().map(move |(place, users)| {
        let run = StepRun {
            server: 0,
            group: place,
            name: Some((place + 1).to_string()),
            task: Arc::clone(task),
            users: *users,
            drive: drive(*users),
            seed,
        };
        RunStep::of_one(place, 1, run)
    })
}
