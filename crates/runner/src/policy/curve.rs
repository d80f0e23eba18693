//! Points of a load curve: a run for each number of users.

use std::sync::Arc;

use engine::Drive;

use crate::local::{RunStep, RunTask, StepRun};

/// The steps of a curve: one for each number of users, in order. All have the same seed, so that
/// random choices are the same.
pub fn curve_steps(
    task: &Arc<RunTask>,
    users: &[u32],
    drive: impl Fn(u32) -> Drive,
    seed: u64,
) -> impl Iterator<Item = RunStep> {
    users.iter().enumerate().map(move |(index, users)| {
        let run = StepRun {
            server: 0,
            group: index,
            name: Some((index + 1).to_string()),
            task: Arc::clone(task),
            users: *users,
            drive: drive(*users),
            seed,
        };
        RunStep::single(index, 1, run)
    })
}
