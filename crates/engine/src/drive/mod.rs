//! The drivers, which decide when users begin operations.
//!
//! ```text
//! rounds   users go through the tests of a suite and meet at barriers (rounds)
//! closed   each user begins an operation when its last one has ended (load::closed)
//! open     by a schedule; the next free user takes the operation (load::open)
//! ```
//!
//! Each is a [`driver::Driver`]. An operation, and how it is done, is the same for all of them
//! ([`user`]).

pub(crate) mod chance;
pub(crate) mod check;
pub(crate) mod context;
pub(crate) mod driver;
pub(crate) mod load;
pub(crate) mod operation;
pub(crate) mod rounds;
#[cfg(test)]
mod simulation;
pub(crate) mod started_watches;
pub(crate) mod step;
pub(crate) mod turns;
pub(crate) mod user;
pub(crate) mod worker;

use std::time::Duration;

use record::{Arrivals, Pace, Stage};
use serde::{Deserialize, Serialize};

/// Decides when an operation begins, and for how long.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Drive {
    /// Users go through the tests of a suite, round by round.
    Rounds(Rounds),
    /// Users do one operation after the other, outside of rounds.
    Load(LoadDrive),
}

/// How users go through the tests of a suite. The number of rounds, or their time, is in the plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Rounds {
    /// Iterations of each user before measuring.
    pub warmup: u32,
    /// Longest warm-up of a user, beyond `warmup`, until its rounds get no quicker any more.
    pub steady_within: Duration,
}

/// Repeated operations.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LoadDrive {
    /// Decides when the next one begins.
    pub pacing: Pacing,
    /// Operations of all users together.
    pub requests: Option<u64>,
    /// Measured time of a closed loop.
    pub duration: Option<Duration>,
    /// The interval that is to become narrow enough; kept with the run, and judged by the
    /// [`Sink`](crate::Sink).
    pub until: Option<String>,
    /// Connections opened per second, over all users, before measuring begins.
    pub connect_rate: f64,
    /// Operations of each user before measuring.
    pub warmup: u32,
    /// Shortest warm-up.
    pub warmup_time: Duration,
    /// Operations come in the order of the suite, not drawn by their weights.
    pub in_turn: bool,
    /// Longest wait for waiting operations at the end of an open loop, if not the time limit of
    /// one; the others are dropped.
    pub drain: Option<Duration>,
    /// The run ends if operations fail for five seconds and none ever succeeded. A search for the
    /// load at which a server fails needs the figures of such a run.
    pub ends_if_all_fail: bool,
}

/// Decides when the next operation of a load begins.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Pacing {
    /// Each user, when its last one has ended.
    Closed,
    /// A schedule, independently of the server.
    Open {
        /// Distribution of the times.
        arrivals: Arrivals,
        /// One rate after the other.
        stages: Vec<Stage>,
        /// Operations that may wait for a free connection; those beyond are dropped.
        max_waiting: u32,
        /// Time before a planned moment at which waiting becomes busy-waiting.
        spin: Duration,
    },
}

impl Default for LoadDrive {
    fn default() -> LoadDrive {
        LoadDrive {
            pacing: Pacing::Closed,
            requests: None,
            duration: None,
            until: None,
            connect_rate: 2000.0,
            warmup: 0,
            warmup_time: Duration::ZERO,
            in_turn: false,
            drain: None,
            ends_if_all_fail: false,
        }
    }
}

impl Drive {
    /// The pace, for the record.
    pub(crate) fn pace(&self) -> Pace {
        match self {
            Drive::Rounds(_) => Pace::Rounds,
            Drive::Load(load) => match &load.pacing {
                Pacing::Closed => Pace::Closed,
                Pacing::Open {
                    arrivals,
                    stages,
                    max_waiting,
                    ..
                } => Pace::Open {
                    arrivals: *arrivals,
                    stages: stages.clone(),
                    max_waiting: *max_waiting,
                },
            },
        }
    }
}
