//! Points of a sweep: each once on every server in each repeat, in an order of its own.

use std::sync::Arc;

use engine::Drive;
use rand::SeedableRng;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use report::Design;

use crate::local::{RunStep, RunTask, StepRun};

/// For each parameter that is varied, which of its values a point has: an index.
pub type Levels = Vec<usize>;

/// The points of parameters of which each has so many values.
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

/// What is done at a point.
pub struct AtPoint {
    /// What its runs do.
    pub task: Arc<RunTask>,
    /// Users at work at the same time.
    pub users: u32,
    /// How they are driven.
    pub drive: Drive,
}

/// One run to be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct SweepSlot {
    /// In which repeat, from 0.
    pub repeat: usize,
    /// At which point.
    pub point: usize,
    /// On which server.
    pub server: usize,
}

/// The runs of a sweep, in their order.
pub struct SweepOrder {
    /// Each of them.
    pub slots: Vec<SweepSlot>,
    servers: usize,
    seed: u64,
}

impl SweepOrder {
    /// So many points on so many servers, as often as that.
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

    /// The steps of these runs, when that is done at the points.
    pub fn steps<'a>(&'a self, points: &'a [AtPoint]) -> impl Iterator<Item = RunStep> + 'a {
        let step = |(place, slot): (usize, &SweepSlot)| {
            let point = &points[slot.point];
            let run = StepRun {
                server: slot.server,
                group: slot.point * self.servers + slot.server,
                name: Some((place + 1).to_string()),
                task: Arc::clone(&point.task),
                users: point.users,
                drive: point.drive.clone(),
                // In a repeat all points do the same, also where chance decides what; in the next
                // something else.
                seed: self.seed.wrapping_add(slot.repeat as u64),
            };
            RunStep::of_one(place, self.servers, run)
        };
        self.slots.iter().enumerate().map(step)
    }
}
