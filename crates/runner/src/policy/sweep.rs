//! Points of a sweep: each once on every server in each repeat, in random order.

use std::sync::Arc;

use engine::Drive;
use rand::SeedableRng;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use report::Design;

use crate::local::{RunStep, RunTask, StepRun};

/// Index of the value of each varied parameter at a point.
pub type Levels = Vec<usize>;

/// The points of parameters with these numbers of values.
pub fn points(values: &[usize], design: Design) -> Vec<Levels> {
    let mut points: Vec<Levels> = vec![vec![0; values.len()]];
    for (of, levels) in values.iter().enumerate() {
        let from = match design {
            Design::Grid => points.clone(),
            Design::OneAtATime => vec![vec![0; values.len()]],
        };
        for level in 1..*levels {
            points.extend(from.iter().map(|point| {
                let mut point = point.clone();
                point[of] = level;
                point
            }));
        }
    }
    points
}

/// Runs at a point.
pub struct AtPoint {
    /// Task of its runs.
    pub task: Arc<RunTask>,
    /// Concurrent users.
    pub users: u32,
    /// Driver of the users.
    pub drive: Drive,
}

/// One run to make.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct SweepSlot {
    /// Index of the repeat.
    pub repeat: usize,
    /// Index of the point.
    pub point: usize,
    /// Index of the server.
    pub server: usize,
}

/// The runs of a sweep, in their order.
pub struct SweepOrder {
    /// Each run.
    pub slots: Vec<SweepSlot>,
    servers: usize,
    seed: u64,
}

impl SweepOrder {
    /// Runs of `points` points on `servers` servers, repeated `repeats` times.
    pub fn new(points: usize, servers: usize, repeats: u32, seed: u64) -> SweepOrder {
        let rng = &mut StdRng::seed_from_u64(seed);
        let repeat = |repeat| {
            let places = (0..points).flat_map(|point| {
                (0..servers).map(move |server| SweepSlot {
                    repeat,
                    point,
                    server,
                })
            });
            let mut places: Vec<SweepSlot> = places.collect();
            places.shuffle(rng);
            places
        };
        SweepOrder {
            slots: (0..repeats as usize).flat_map(repeat).collect(),
            servers,
            seed,
        }
    }

    /// The steps of these runs.
    pub fn steps<'a>(&'a self, points: &'a [AtPoint]) -> impl Iterator<Item = RunStep> + 'a {
        let step = |(index, slot): (usize, &SweepSlot)| {
            let point = &points[slot.point];
            let run = StepRun {
                server: slot.server,
                group: slot.point * self.servers + slot.server,
                name: Some((index + 1).to_string()),
                task: Arc::clone(&point.task),
                users: point.users,
                drive: point.drive.clone(),
                // In a repeat, all points have the same seed, so that random choices are the same;
                // the next repeat has another.
                seed: self.seed.wrapping_add(slot.repeat as u64),
            };
            RunStep::single(index, self.servers, run)
        };
        self.slots.iter().enumerate().map(step)
    }
}
