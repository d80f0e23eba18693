//! Doubts about a result: a closed list, each with what to do about it.
//!
//! The advice depends on what the user already did (after hyperfine, `output/warnings.rs`): who
//! measured for a duration is told to raise that, not the number of requests. One doubt about
//! many tests is one warning that names them.

use std::fmt;

use record::{Load, Outcome};

use crate::TestSummary;
use crate::window::NoWindow;

/// Operations below which p99 is the maximum (nearest rank).
pub const P99_NEEDS: u64 = 100;

/// Operations, beyond a first one for each user, below which nothing is said about keep-alive.
const RECONNECTS_NEED: u64 = 5;

/// Names that a warning spells out; a longer list is cut with its length.
const NAMED: usize = 3;

/// A part of a whole, of one row or test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Share {
    /// Name of the row, or of the test where a doubt concerns all its rows.
    pub name: String,
    /// The part.
    pub count: u64,
    /// The whole.
    pub of: u64,
}

/// What decides how long a test is measured: the knob that advice is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// A number of requests for each user.
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
    /// Planned operations were never sent: something they need was missing, or time.
    Dropped {
        /// Rows.
        rows: Vec<Share>,
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

impl Warning {
    /// The name used in files: `users_idle`.
    pub fn kind(&self) -> &'static str {
        match self {
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
        match self {
            Warning::UsersIdle { tests: shares }
            | Warning::NoOverlap { tests: shares, .. }
            | Warning::WindowSmall { tests: shares, .. }
            | Warning::EarlyResponses { rows: shares }
            | Warning::Resent { rows: shares }
            | Warning::Reconnects { rows: shares }
            | Warning::Dropped { rows: shares }
            | Warning::FewForPercentiles { rows: shares, .. } => shares,
            Warning::Orphans { .. } | Warning::Recorded { .. } => &[],
        }
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shares = Listed(self.shares());
        match self {
            Warning::UsersIdle { .. } => write!(
                f,
                "some users never did an operation, so nothing was measured with all of them at \
                 work: {shares} users; look for failures in the set-up"
            ),
            Warning::NoOverlap { limit, .. } => write!(
                f,
                "the users were never all at work together, so nothing counts: {shares} \
                 operations; raise {}, or lower --concurrency",
                limit.option()
            ),
            Warning::WindowSmall { limit, .. } => write!(
                f,
                "less than half of the operations fell into the time in which all users were at \
                 work: {shares}; raise {}",
                limit.option()
            ),
            Warning::EarlyResponses { .. } => write!(
                f,
                "the server answered before it had the whole request, and such operations have \
                 no response time: {shares}; compare the total times instead"
            ),
            Warning::Resent { .. } => write!(
                f,
                "requests were sent once more, outside the times, because a kept connection had died \
                 or a Digest nonce had run out: {shares}; look at the server's limits for both"
            ),
            Warning::Reconnects { .. } => write!(
                f,
                "most operations opened a connection of their own: {shares}; the server does not \
                 keep connections, so total times contain connecting (response times do not)"
            ),
            Warning::Dropped { .. } => write!(
                f,
                "planned operations were never sent, because an earlier step did not give what they \
                 need, or because this machine could not keep up: {shares}"
            ),
            Warning::FewForPercentiles { limit, .. } => write!(
                f,
                "fewer than {P99_NEEDS} operations, p99 is their maximum: {shares}; raise {}",
                limit.option()
            ),
            Warning::Orphans { samples } => write!(
                f,
                "{samples} samples belong to no row of the plan and are counted nowhere; the run \
                 directory is damaged"
            ),
            Warning::Recorded { text } => f.write_str(text),
        }
    }
}

/// Shares in words, the first few of them: `Put1K 3 of 10, Get1K 1 of 10 and 4 more`.
struct Listed<'a>(&'a [Share]);

impl fmt::Display for Listed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, share) in self.0.iter().take(NAMED).enumerate() {
            let comma = if place > 0 { ", " } else { "" };
            write!(f, "{comma}{} {} of {}", share.name, share.count, share.of)?;
        }
        match self.0.len().saturating_sub(NAMED) {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}

/// What became of the window of one test of the plan.
pub(crate) struct WindowFacts {
    /// Name of the test.
    pub(crate) name: String,
    /// Why there is none.
    pub(crate) missing: Option<NoWindow>,
    /// Operations that count.
    pub(crate) counted: u64,
    /// All operations.
    pub(crate) recorded: u64,
    /// The server cannot do the test, so that doubts about the window are beside the point.
    pub(crate) not_supported: bool,
}

/// All doubts about a run, in the order of the enum.
pub(crate) fn all(
    load: &Load,
    rows: &[TestSummary],
    windows: &[WindowFacts],
    orphans: u64,
    recorded: Vec<String>,
) -> Vec<Warning> {
    let limit = Limit::of(load);
    let window = |judge: fn(&WindowFacts, u32) -> Option<(u64, u64)>| -> Vec<Share> {
        windows
            .iter()
            .filter(|facts| !facts.not_supported)
            .filter_map(|facts| Some((&facts.name, judge(facts, load.users)?)))
            .map(Share::from)
            .collect()
    };
    let row = |judge: fn(&TestSummary, u32) -> Option<(u64, u64)>| -> Vec<Share> {
        rows.iter()
            .filter_map(|row| Some((&row.name, judge(row, load.users)?)))
            .map(Share::from)
            .collect()
    };
    let mut warnings = vec![
        Warning::UsersIdle {
            tests: window(users_idle),
        },
        Warning::NoOverlap {
            tests: window(no_overlap),
            limit,
        },
        Warning::WindowSmall {
            tests: window(window_small),
            limit,
        },
        Warning::EarlyResponses { rows: row(early) },
        Warning::Resent { rows: row(resent) },
        Warning::Reconnects {
            rows: row(reconnects),
        },
        Warning::Dropped { rows: row(dropped) },
        Warning::FewForPercentiles {
            rows: row(few_for_percentiles),
            limit,
        },
    ];
    warnings.retain(|warning| !warning.shares().is_empty());
    if orphans > 0 {
        warnings.push(Warning::Orphans { samples: orphans });
    }
    warnings.extend(recorded.into_iter().map(|text| Warning::Recorded { text }));
    warnings
}

impl From<(&String, (u64, u64))> for Share {
    fn from((name, (count, of)): (&String, (u64, u64))) -> Share {
        Share {
            name: name.clone(),
            count,
            of,
        }
    }
}

fn users_idle(test: &WindowFacts, users: u32) -> Option<(u64, u64)> {
    match test.missing {
        Some(NoWindow::Idle(idle)) => Some((idle, u64::from(users))),
        _ => None,
    }
}

fn no_overlap(test: &WindowFacts, _: u32) -> Option<(u64, u64)> {
    (test.missing == Some(NoWindow::NoOverlap)).then_some((0, test.recorded))
}

fn window_small(test: &WindowFacts, _: u32) -> Option<(u64, u64)> {
    let small = test.missing.is_none() && test.counted * 2 < test.recorded;
    small.then_some((test.counted, test.recorded))
}

fn early(row: &TestSummary, _: u32) -> Option<(u64, u64)> {
    (row.early > 0).then_some((row.early, row.outcomes.ok()))
}

fn resent(row: &TestSummary, _: u32) -> Option<(u64, u64)> {
    (row.connects.resent > 0).then_some((row.connects.resent, row.operations()))
}

/// Opening the first connection of each user is nothing to wonder about.
fn reconnects(row: &TestSummary, users: u32) -> Option<(u64, u64)> {
    let beyond_first = |n: u64| n.saturating_sub(u64::from(users));
    let (again, of) = (
        beyond_first(row.connects.count),
        beyond_first(row.operations()),
    );
    let most = of >= RECONNECTS_NEED && again * 2 > of;
    most.then_some((row.connects.count, row.operations()))
}

fn dropped(row: &TestSummary, _: u32) -> Option<(u64, u64)> {
    let all = row.outcomes.plus(&row.left_out_outcomes);
    let dropped = all.of(Outcome::Dropped);
    (dropped > 0).then_some((dropped, all.total()))
}

fn few_for_percentiles(row: &TestSummary, _: u32) -> Option<(u64, u64)> {
    let n = row.response.as_ref()?.n;
    (n < P99_NEEDS).then_some((n, P99_NEEDS))
}
