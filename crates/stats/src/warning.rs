//! Doubts about a result: a closed list, each with what to do about it.
//!
//! The advice depends on what the user already did (after hyperfine, `output/warnings.rs`): who
//! measured for a duration is told to raise that, not the number of requests. One doubt about
//! many tests is one warning that names them.
//!
//! Some doubts mean that the generator was the bottleneck ([`Warning::is_bottleneck`]): then the
//! numbers are not those of the server, and the result as a whole is inconclusive.

mod judge;
mod words;

use record::{Exhausted, Load};

pub use judge::{
    BIAS, BIAS_SHARE, IN_PROGRESS, IN_PROGRESS_HALF, Lately, MISSED, P99_NEEDS, doubts_about,
};
pub(crate) use judge::{Material, TestFacts, all, operations_of_each_user};

/// A part of a whole, of one row or test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Share {
    /// Name of the row, or of the test where a doubt concerns all its rows.
    pub name: String,
    /// The part; of times, in nanoseconds.
    pub count: u64,
    /// The whole, or the limit.
    pub of: u64,
}

impl Share {
    /// The part in percent of the whole; of nothing, nothing.
    pub fn percent(&self) -> f64 {
        match self.of {
            0 => 0.0,
            of => self.count as f64 * 100.0 / of as f64,
        }
    }
}

/// What decides how long a test is measured: the knob that advice is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// A number of requests.
    Requests,
    /// A duration.
    Duration,
}

impl Limit {
    fn of(load: &Load) -> Limit {
        if load.requests.is_some() {
            Limit::Requests
        } else {
            Limit::Duration
        }
    }

    fn option(self) -> &'static str {
        match self {
            Limit::Requests => "--requests",
            Limit::Duration => "--duration",
        }
    }
}

/// A doubt about a result. Its `Display` is one sentence for people, with advice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Warning {
    /// Workers had no idle time (`count` of `of` nanoseconds went into computing and into waiting
    /// for a processor).
    Saturated {
        /// Tests.
        tests: Vec<Share>,
    },
    /// Workers had little idle time (`count` of `of` nanoseconds were used or wanted).
    Busy {
        /// Tests.
        tests: Vec<Share>,
    },
    /// Workers could have run and had no processor (`count` of `of` nanoseconds).
    Queued {
        /// Tests.
        tests: Vec<Share>,
    },
    /// Workers left their users waiting (`count` of `of` nanoseconds).
    Stalled {
        /// Tests.
        tests: Vec<Share>,
    },
    /// Workers left their users waiting once, for long (`count` of `of` nanoseconds).
    Hiccup {
        /// Tests.
        tests: Vec<Share>,
    },
    /// Operations began later than planned by the generator's own fault (p99 of `count`
    /// nanoseconds, of `of` that may be).
    Late {
        /// Tests.
        tests: Vec<Share>,
    },
    /// Less than half of the operations that users should have had under way were under way, on
    /// average (`count` of `of` nanoseconds).
    HalfIdle {
        /// Tests.
        tests: Vec<Share>,
    },
    /// Less than nine tenths were.
    PartlyIdle {
        /// Tests.
        tests: Vec<Share>,
    },
    /// Something of this machine ran out.
    Exhausted {
        /// What, and how often.
        what: Exhausted,
    },
    /// Expected operations (`count` of `of`) have no response time, because the kernel's time
    /// stamps never came.
    MissedStamps {
        /// Rows.
        rows: Vec<Share>,
    },
    /// The clock of the kernel's stamps was set while the run went on.
    ClockStepped {
        /// How often.
        times: u64,
    },
    /// A tool that reads the clock in user space would have overstated response times by `count`
    /// nanoseconds (p99), where the median is `of`.
    Bias {
        /// Rows.
        rows: Vec<Share>,
    },
    /// Users (`count` of `of`) never did an operation, so nothing of the test counts.
    UsersIdle {
        /// Tests.
        tests: Vec<Share>,
    },
    /// The users were never all at work together, so nothing (0 of `of` operations) counts.
    NoOverlap {
        /// Tests.
        tests: Vec<Share>,
        /// What to raise.
        limit: Limit,
    },
    /// Less than half of the operations (`count` of `of`) lie in the window and count.
    WindowSmall {
        /// Tests.
        tests: Vec<Share>,
        /// What to raise.
        limit: Limit,
    },
    /// The server answered (`count` of `of` expected answers) before it had the whole request:
    /// there is no response time then.
    EarlyResponses {
        /// Rows.
        rows: Vec<Share>,
    },
    /// Requests were sent once more, because a kept connection had died or a Digest nonce had
    /// run out.
    Resent {
        /// Rows.
        rows: Vec<Share>,
    },
    /// Most operations opened a connection: keep-alive is off.
    Reconnects {
        /// Rows.
        rows: Vec<Share>,
    },
    /// Planned operations were never sent: something they need was missing, or, in an open loop,
    /// too many were waiting.
    Dropped {
        /// Rows.
        rows: Vec<Share>,
        /// A schedule decided when operations begin.
        open: bool,
    },
    /// p99 stands for fewer than [`P99_NEEDS`] operations (`count` of `of`), and is the maximum.
    FewForPercentiles {
        /// Rows.
        rows: Vec<Share>,
        /// What to raise.
        limit: Limit,
    },
    /// Samples belong to no row of the plan, and are counted nowhere.
    Orphans {
        /// How many.
        samples: u64,
    },
    /// A doubt that the engine had while it measured.
    Recorded {
        /// In words.
        text: String,
    },
}

/// The rows or tests that a warning is about, to be read or, of `&mut`, to be changed; `None` for one
/// about the run as a whole.
macro_rules! shares_of {
    ($warning:expr) => {
        match $warning {
            Warning::Saturated { tests: shares }
            | Warning::Busy { tests: shares }
            | Warning::Queued { tests: shares }
            | Warning::Stalled { tests: shares }
            | Warning::Hiccup { tests: shares }
            | Warning::Late { tests: shares }
            | Warning::HalfIdle { tests: shares }
            | Warning::PartlyIdle { tests: shares }
            | Warning::MissedStamps { rows: shares }
            | Warning::Bias { rows: shares }
            | Warning::UsersIdle { tests: shares }
            | Warning::NoOverlap { tests: shares, .. }
            | Warning::WindowSmall { tests: shares, .. }
            | Warning::EarlyResponses { rows: shares }
            | Warning::Resent { rows: shares }
            | Warning::Reconnects { rows: shares }
            | Warning::Dropped { rows: shares, .. }
            | Warning::FewForPercentiles { rows: shares, .. } => Some(shares),
            Warning::Exhausted { .. }
            | Warning::ClockStepped { .. }
            | Warning::Orphans { .. }
            | Warning::Recorded { .. } => None,
        }
    };
}

impl Warning {
    /// The generator was the bottleneck: the numbers are its own, and not those of the server.
    pub fn is_bottleneck(&self) -> bool {
        matches!(
            self,
            Warning::Saturated { .. }
                | Warning::Stalled { .. }
                | Warning::Late { .. }
                | Warning::HalfIdle { .. }
                | Warning::Exhausted { .. }
        )
    }

    /// The name used in files: `users_idle`.
    pub fn kind(&self) -> &'static str {
        match self {
            Warning::Saturated { .. } => "saturated",
            Warning::Busy { .. } => "busy",
            Warning::Queued { .. } => "queued",
            Warning::Stalled { .. } => "stalled",
            Warning::Hiccup { .. } => "hiccup",
            Warning::Late { .. } => "late",
            Warning::HalfIdle { .. } => "half_idle",
            Warning::PartlyIdle { .. } => "partly_idle",
            Warning::Exhausted { .. } => "exhausted",
            Warning::MissedStamps { .. } => "missed_stamps",
            Warning::ClockStepped { .. } => "clock_stepped",
            Warning::Bias { .. } => "bias",
            Warning::UsersIdle { .. } => "users_idle",
            Warning::NoOverlap { .. } => "no_overlap",
            Warning::WindowSmall { .. } => "window_small",
            Warning::EarlyResponses { .. } => "early_responses",
            Warning::Resent { .. } => "resent",
            Warning::Reconnects { .. } => "reconnects",
            Warning::Dropped { .. } => "dropped",
            Warning::FewForPercentiles { .. } => "few_for_percentiles",
            Warning::Orphans { .. } => "orphans",
            Warning::Recorded { .. } => "recorded",
        }
    }

    /// The rows or tests it is about; empty for one about the run as a whole.
    pub fn shares(&self) -> &[Share] {
        shares_of!(self).map_or(&[], Vec::as_slice)
    }

    /// The same doubt about these rows and tests alone; `None` where it is about others. One about
    /// the run as a whole stays.
    pub fn about(&self, names: &[&str]) -> Option<Warning> {
        let mut own = self.clone();
        let Some(shares) = shares_of!(&mut own) else {
            return Some(own);
        };
        shares.retain(|share| names.contains(&share.name.as_str()));
        let is_left = !shares.is_empty();
        is_left.then_some(own)
    }
}
