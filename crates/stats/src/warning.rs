//! Warnings about rows: a closed list, each with advice.
//!
//! A warning belongs to rows, never to a run: each row has its own
//! ([`TestSummary::warnings`](crate::TestSummary::warnings)), and the summary has the same warnings
//! once more for people, where one warning names all the rows or tests it is about.
//!
//! Some warnings disqualify a row ([`Warning::disqualifies`]): the load generator may have changed
//! its estimates so much that they do not describe the server.
//!
//! The advice depends on what the user already did (after hyperfine, `output/warnings.rs`): a user
//! who measured for a duration is told to raise that, not the number of requests.

mod judge;
mod stall;
mod words;

use record::{Exhausted, Load};

pub use judge::{
    BIAS, BIAS_SHARE, IN_PROGRESS, IN_PROGRESS_HALF, Lately, MISSED, P99_NEEDS, warnings_about,
};
pub(crate) use judge::{Material, RowFacts, TestFacts, all, operations_of_each_user};
pub use stall::TOLERATED;
pub(crate) use stall::{RowTimes, Stalls};

/// A part of a whole, of one row or test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Share {
    /// Name of the row, or of the test where the warning is about all its rows.
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

/// A warning about a result. Its `Display` is one sentence for people, with advice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Warning {
    /// Something of this machine ran out.
    Exhausted {
        /// Tests, and how often in each (of as many refusals in all).
        tests: Vec<Share>,
        /// What, and how often.
        what: Exhausted,
    },
    /// The worker threads had no idle time (`count` of `of` nanoseconds went into computing and
    /// into waiting for a processor).
    Saturated {
        /// Tests.
        tests: Vec<Share>,
    },
    /// The worker threads had little idle time (`count` of `of` nanoseconds were used or wanted).
    Busy {
        /// Tests.
        tests: Vec<Share>,
    },
    /// The worker threads waited for a processor (`count` of `of` nanoseconds).
    Queued {
        /// Tests.
        tests: Vec<Share>,
    },
    /// Stalls of the load generator may be `count` of the `of` nanoseconds of an estimate: more
    /// than [`TOLERATED`] percent of the mean, of p99, or of the time in which users were at work.
    Stalled {
        /// Rows.
        rows: Vec<Share>,
    },
    /// Such stalls may be `count` of the `of` nanoseconds of the mean total time, which is always
    /// read by the user clock; the response times do not contain them.
    TotalStalled {
        /// Rows.
        rows: Vec<Share>,
    },
    /// The load generator stalled once, for long (`count` of `of` nanoseconds), and no estimate can
    /// have changed much by it.
    Hiccup {
        /// Tests.
        tests: Vec<Share>,
    },
    /// Operations began later than planned through the load generator's own fault, by so much
    /// (p99 of `count` nanoseconds) that the times from *planned* (p99 of `of`) contain it.
    Late {
        /// Rows.
        rows: Vec<Share>,
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
    /// A warning that the engine recorded while it measured.
    Recorded {
        /// In words.
        text: String,
    },
}

/// What the names in the shares of a warning are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Subject {
    Rows,
    Tests,
}

/// The shares of a warning, to be read or, of `&mut`, to be changed, and what they are of; `None` for
/// a warning about the run as a whole.
macro_rules! shares_of {
    ($warning:expr) => {
        match $warning {
            Warning::Exhausted { tests: shares, .. }
            | Warning::Saturated { tests: shares }
            | Warning::Busy { tests: shares }
            | Warning::Queued { tests: shares }
            | Warning::Hiccup { tests: shares }
            | Warning::HalfIdle { tests: shares }
            | Warning::PartlyIdle { tests: shares }
            | Warning::UsersIdle { tests: shares }
            | Warning::NoOverlap { tests: shares, .. }
            | Warning::WindowSmall { tests: shares, .. } => Some((Subject::Tests, shares)),
            Warning::Stalled { rows: shares }
            | Warning::TotalStalled { rows: shares }
            | Warning::Late { rows: shares }
            | Warning::MissedStamps { rows: shares }
            | Warning::Bias { rows: shares }
            | Warning::EarlyResponses { rows: shares }
            | Warning::Resent { rows: shares }
            | Warning::Reconnects { rows: shares }
            | Warning::Dropped { rows: shares, .. }
            | Warning::FewForPercentiles { rows: shares, .. } => Some((Subject::Rows, shares)),
            Warning::ClockStepped { .. } | Warning::Orphans { .. } | Warning::Recorded { .. } => {
                None
            }
        }
    };
}

impl Warning {
    /// The load generator, or its machine, may have changed the estimates of these rows so much
    /// that they do not describe the server.
    pub fn disqualifies(&self) -> bool {
        matches!(
            self,
            Warning::Exhausted { .. }
                | Warning::Saturated { .. }
                | Warning::Stalled { .. }
                | Warning::Late { .. }
                | Warning::HalfIdle { .. }
        )
    }

    /// The name used in files: `users_idle`.
    pub fn kind(&self) -> &'static str {
        match self {
            Warning::Exhausted { .. } => "exhausted",
            Warning::Saturated { .. } => "saturated",
            Warning::Busy { .. } => "busy",
            Warning::Queued { .. } => "queued",
            Warning::Stalled { .. } => "stalled",
            Warning::TotalStalled { .. } => "total_stalled",
            Warning::Hiccup { .. } => "hiccup",
            Warning::Late { .. } => "late",
            Warning::HalfIdle { .. } => "half_idle",
            Warning::PartlyIdle { .. } => "partly_idle",
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
        shares_of!(self).map_or(&[], |(_, shares)| shares.as_slice())
    }

    /// It is about the run as a whole, and about no row in particular.
    pub fn is_about_run(&self) -> bool {
        shares_of!(self).is_none()
    }

    /// Warnings of several runs, each kind once: counts of operations are added up, and of estimates and of
    /// shares of time each row or test has the worst.
    pub(crate) fn worst_of<'a>(warnings: impl Iterator<Item = &'a Warning>) -> Vec<Warning> {
        let mut all: Vec<Warning> = Vec::new();
        for warning in warnings {
            if !all.iter_mut().any(|own| own.absorb(warning)) {
                all.push(warning.clone());
            }
        }
        all
    }

    /// Takes in another warning, where it is the same or of the same kind.
    fn absorb(&mut self, other: &Warning) -> bool {
        if self == other {
            return true;
        }
        if std::mem::discriminant(self) != std::mem::discriminant(other) {
            return false;
        }
        let (Some((_, own)), Some((_, others))) = (shares_of!(self), shares_of!(other)) else {
            return false;
        };
        for share in others {
            match own.iter_mut().find(|own| own.name == share.name) {
                Some(own) => other.put_together(own, share),
                None => own.push(share.clone()),
            }
        }
        if let (Warning::Exhausted { what, .. }, Warning::Exhausted { what: others, .. }) =
            (self, other)
        {
            what.ports += others.ports;
            what.files += others.files;
            what.buffers += others.buffers;
        }
        true
    }

    /// Puts two shares of the same name in warnings of this kind together.
    fn put_together(&self, own: &mut Share, other: &Share) {
        let size = |share: &Share| share.count as f64 / share.of.max(1) as f64;
        let is_worse = match self {
            Warning::Exhausted { .. }
            | Warning::MissedStamps { .. }
            | Warning::UsersIdle { .. }
            | Warning::NoOverlap { .. }
            | Warning::WindowSmall { .. }
            | Warning::EarlyResponses { .. }
            | Warning::Resent { .. }
            | Warning::Reconnects { .. }
            | Warning::Dropped { .. } => {
                own.count += other.count;
                own.of += other.of;
                return;
            }
            // The less, the worse.
            Warning::HalfIdle { .. }
            | Warning::PartlyIdle { .. }
            | Warning::FewForPercentiles { .. } => size(other) < size(own),
            _ => size(other) > size(own),
        };
        if is_worse {
            own.clone_from(other);
        }
    }

    /// The same warning about one row of one test alone; `None` where it is about others, or about
    /// the run as a whole.
    pub(crate) fn of_row(&self, row: &str, test: &str) -> Option<Warning> {
        let mut own = self.clone();
        let (subject, shares) = shares_of!(&mut own)?;
        let name = match subject {
            Subject::Rows => row,
            Subject::Tests => test,
        };
        shares.retain(|share| share.name == name);
        let is_left = !shares.is_empty();
        is_left.then_some(own)
    }
}
