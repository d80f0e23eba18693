//! Warnings about rows: a closed list, each with advice.
//!
//! A warning belongs to rows, never to a run: each row has its own
//! ([`TestSummary::warnings`](crate::TestSummary::warnings)), and the summary has the same warnings
//! once more for people, where one warning names all the rows or tests it is about.
//!
//! Some warnings disqualify a row ([`Warning::disqualifies`]): the load generator may have changed
//! its estimates so much that they do not describe the server.
//!
//! What each kind is, and how warnings of several runs are put together, is a line of [`KINDS`]; when it is
//! given is in `judge`, and its sentence, with advice, in `report::warnings`.

mod judge;
mod origins;
mod stall;

use std::collections::BTreeMap;

use record::{Exhausted, Load};
use schemars::JsonSchema;
use serde::Serialize;

pub use judge::{BIAS, BIAS_SHARE, IN_PROGRESS, IN_PROGRESS_HALF, Lately, MISSED, warnings_about};
pub(crate) use judge::{TestFacts, WarningInputs, all, operations_of_each_user};
pub use origins::origin_warnings;
pub use stall::TOLERATED;
pub(crate) use stall::{RowFacts, StalledTimes, Stalls};

/// A part of a whole, of one row or test.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Share {
    /// Name of the row or test.
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
pub enum RunLimit {
    /// A number of requests.
    Requests,
    /// A duration.
    Duration,
    /// The run ended before what limits it.
    EarlyEnd,
}

impl RunLimit {
    fn of(load: &Load, ended_early: bool) -> RunLimit {
        if ended_early {
            RunLimit::EarlyEnd
        } else if load.requests.is_some() {
            RunLimit::Requests
        } else {
            RunLimit::Duration
        }
    }
}

/// A warning about a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// What it warns of.
    pub kind: WarningKind,
    /// The rows or tests it is about, as its kind has it; none for one about the run as a whole.
    pub shares: Vec<Share>,
    /// What else is known.
    pub detail: Detail,
}

/// What a warning tells beside its shares.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Detail {
    /// Nothing.
    #[default]
    None,
    /// What ran out, and how often.
    RanOut(Exhausted),
    /// What to raise.
    Raise(RunLimit),
    /// A schedule decided when operations begin.
    OpenLoop,
    /// How many there are.
    Count(u64),
    /// In words of the engine, or names.
    Text(String),
}

/// What a warning warns of. What `count` and `of` of a [`Share`] are stands with each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WarningKind {
    /// Something of this machine ran out: how often, of as many refusals in all.
    Exhausted,
    /// Background traffic ended before the measurement: nanoseconds without it, of all.
    BackgroundEnded,
    /// Connections of background traffic failed: nanoseconds after the first one, of all.
    BackgroundFlowsFailed,
    /// Sources of background traffic did not send so many blocks of their schedules, of all: more than
    /// [`UNSENT_BLOCKS`](crate::UNSENT_BLOCKS) percent.
    BackgroundUnsent,
    /// Sources of background traffic sent blocks so many nanoseconds (p99) after their moments, of
    /// [`LATE_BLOCKS`](crate::LATE_BLOCKS), the limit.
    BackgroundLate,
    /// The worker threads had no idle time: nanoseconds that went into computing and into waiting for a
    /// processor, of all.
    Saturated,
    /// The worker threads had little idle time: nanoseconds that were used or wanted, of all.
    Busy,
    /// The worker threads waited for a processor: nanoseconds, of all.
    Queued,
    /// Stalls of the load generator may be so many nanoseconds of an estimate: more than [`TOLERATED`]
    /// percent of the mean, of p99, or of the time in which users were at work.
    Stalled,
    /// Such stalls may be so many nanoseconds of the mean total time, which is always read by the user
    /// clock; the response times do not contain them.
    TotalStalled,
    /// The load generator stalled once, for long (nanoseconds, of all), and no estimate can have changed
    /// much by it.
    Hiccup,
    /// Operations began later than planned through the load generator's own fault, by so much (p99 in
    /// nanoseconds) that the times from *planned* (p99) contain it.
    Late,
    /// Less than half of the operations that users should have had under way were under way, on average:
    /// nanoseconds.
    HalfIdle,
    /// Less than nine tenths were.
    PartlyIdle,
    /// So many of the expected operations have no response time, because the kernel's time stamps never
    /// came.
    MissedStamps,
    /// The clock of the kernel's stamps was set while the run went on: [`Detail::Count`] times.
    ClockStepped,
    /// A tool that reads the clock in user space would have overstated response times by so many
    /// nanoseconds (p99), of a median.
    Bias,
    /// So many of the users never did an operation, so nothing of the test counts.
    UsersIdle,
    /// The users were never all at work together, so nothing (0 of the operations) counts.
    NoOverlap,
    /// Less than half of the operations lie in the window and count.
    WindowSmall,
    /// The server answered, so many of the expected responses, before it had the whole request: there is
    /// no response time then.
    EarlyResponses,
    /// So many responses have the moment of *first* in common with the one before them on their connection.
    SharedStamps,
    /// So many requests were sent once more, because a kept connection had died or a Digest nonce had
    /// run out.
    Resent,
    /// So many operations, most of them, opened a connection: keep-alive is off.
    Reconnects,
    /// So many of the expected responses came from a cache in front of the server ([`Detail::Text`]: its name): the
    /// times are those of the cache.
    Cached,
    /// So many of the responses of a server with several addresses did not come from its most used one;
    /// [`Detail::Text`] has all counts.
    SeveralAddresses,
    /// So many planned operations were never sent: something they need was missing, or, in an open loop,
    /// too many were waiting.
    Dropped,
    /// p99 stands for fewer than [`P99_NEEDS`](crate::P99_NEEDS) operations, and is the maximum.
    FewForPercentiles,
    /// [`Detail::Count`] samples belong to no row of the plan, and are counted nowhere.
    Orphans,
    /// A warning that the engine recorded while it measured: [`Detail::Text`].
    Recorded,
}

/// What the names in the shares of a warning are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WarningSubject {
    /// Rows.
    Rows,
    /// Tests, with all of their rows.
    Tests,
    /// There are none: it is about the run as a whole.
    Run,
}

/// How shares of the same name in warnings of several runs are put together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Together {
    /// Counts are added up.
    Sum,
    /// The largest part of the whole is the worst.
    Largest,
    /// The smallest part of the whole is the worst.
    Smallest,
}

/// What there is to know of a kind.
struct About {
    kind: WarningKind,
    name: &'static str,
    subject: WarningSubject,
    together: Together,
    /// The load generator, or its machine, may have changed the estimates of these rows so much that
    /// they do not describe the server.
    disqualifies: bool,
}

/// All kinds, in the order in which warnings are given.
#[rustfmt::skip]
const KINDS: [About; 30] = {
    use WarningSubject::{Rows, Run, Tests};
    use Together::{Largest, Smallest, Sum};
    use WarningKind as Kind;
    const BAD: bool = true;
    [
        about(Kind::Exhausted, "exhausted", Tests, Sum, BAD),
        about(Kind::BackgroundEnded, "background_ended", Tests, Largest, BAD),
        about(Kind::BackgroundFlowsFailed, "background_flows_failed", Tests, Largest, BAD),
        about(Kind::BackgroundUnsent, "background_unsent", Tests, Largest, BAD),
        about(Kind::BackgroundLate, "background_late", Tests, Largest, BAD),
        about(Kind::Saturated, "saturated", Tests, Largest, BAD),
        about(Kind::Busy, "busy", Tests, Largest, false),
        about(Kind::Queued, "queued", Tests, Largest, false),
        about(Kind::Stalled, "stalled", Rows, Largest, BAD),
        about(Kind::TotalStalled, "total_stalled", Rows, Largest, false),
        about(Kind::Hiccup, "hiccup", Tests, Largest, false),
        about(Kind::Late, "late", Rows, Largest, BAD),
        about(Kind::HalfIdle, "half_idle", Tests, Smallest, BAD),
        about(Kind::PartlyIdle, "partly_idle", Tests, Smallest, false),
        about(Kind::MissedStamps, "missed_stamps", Rows, Sum, false),
        about(Kind::ClockStepped, "clock_stepped", Run, Sum, false),
        about(Kind::Bias, "bias", Rows, Largest, false),
        about(Kind::UsersIdle, "users_idle", Tests, Sum, false),
        about(Kind::NoOverlap, "no_overlap", Tests, Sum, false),
        about(Kind::WindowSmall, "window_small", Tests, Sum, false),
        about(Kind::EarlyResponses, "early_responses", Rows, Sum, false),
        about(Kind::SharedStamps, "shared_stamps", Rows, Sum, false),
        about(Kind::Resent, "resent", Rows, Sum, false),
        about(Kind::Reconnects, "reconnects", Rows, Sum, false),
        about(Kind::Cached, "cached", Rows, Sum, false),
        about(Kind::SeveralAddresses, "several_addresses", Rows, Sum, false),
        about(Kind::Dropped, "dropped", Rows, Sum, false),
        about(Kind::FewForPercentiles, "few_for_percentiles", Rows, Smallest, false),
        about(Kind::Orphans, "orphans", Run, Sum, false),
        about(Kind::Recorded, "recorded", Run, Sum, false),
    ]
};

const fn about(
    kind: WarningKind,
    name: &'static str,
    subject: WarningSubject,
    together: Together,
    disqualifies: bool,
) -> About {
    About {
        kind,
        name,
        subject,
        together,
        disqualifies,
    }
}

impl WarningKind {
    /// All kinds.
    pub fn all() -> impl Iterator<Item = WarningKind> {
        KINDS.iter().map(|about| about.kind)
    }

    fn about(self) -> &'static About {
        &KINDS[self as usize]
    }

    /// The name used in files: `users_idle`.
    pub fn name(self) -> &'static str {
        self.about().name
    }

    /// What the names in its shares are.
    pub fn subject(self) -> WarningSubject {
        self.about().subject
    }

    /// The load generator, or its machine, may have changed the estimates of these rows so much
    /// that they do not describe the server.
    pub fn disqualifies(self) -> bool {
        self.about().disqualifies
    }
}

impl Warning {
    /// A warning with shares alone.
    pub fn of(kind: WarningKind, shares: Vec<Share>) -> Warning {
        Warning {
            kind,
            shares,
            detail: Detail::None,
        }
    }

    /// With something else.
    pub(crate) fn with(self, detail: Detail) -> Warning {
        Warning { detail, ..self }
    }

    /// It [disqualifies](WarningKind::disqualifies) its rows.
    pub fn disqualifies(&self) -> bool {
        self.kind.disqualifies()
    }

    /// It is about the run as a whole, and about no row in particular.
    pub fn is_about_run(&self) -> bool {
        self.kind.subject() == WarningSubject::Run
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
        if self.kind != other.kind || self.is_about_run() {
            return false;
        }
        for share in &other.shares {
            match self.shares.iter_mut().find(|own| own.name == share.name) {
                Some(own) => self.kind.about().together.put(own, share),
                None => self.shares.push(share.clone()),
            }
        }
        if let (Detail::RanOut(own), Detail::RanOut(other)) = (&mut self.detail, &other.detail) {
            own.ports += other.ports;
            own.files += other.files;
            own.buffers += other.buffers;
        }
        true
    }
}

/// The same warnings about one row of one test alone, by the names of both; without those that are about others, or
/// about the run as a whole.
pub(crate) fn by_rows<'w>(all: &'w [Warning]) -> impl Fn(&str, &str) -> Vec<Warning> + 'w {
    let by_name = |warning: &'w Warning| {
        let mut by_name: BTreeMap<_, Vec<Share>> = BTreeMap::new();
        for share in &warning.shares {
            by_name.entry(&*share.name).or_default().push(share.clone());
        }
        (warning, by_name)
    };
    let all: Vec<_> = all.iter().map(by_name).collect();
    move |row, test| {
        let of_row = |(warning, shares): &(&Warning, BTreeMap<&str, Vec<Share>>)| {
            let name = match warning.kind.subject() {
                WarningSubject::Rows => row,
                WarningSubject::Tests => test,
                WarningSubject::Run => return None,
            };
            let own = shares.get(name)?.clone();
            Some(Warning::of(warning.kind, own).with(warning.detail.clone()))
        };
        all.iter().filter_map(of_row).collect()
    }
}

impl Together {
    fn put(self, own: &mut Share, other: &Share) {
        let size = |share: &Share| share.count as f64 / share.of.max(1) as f64;
        match self {
            Together::Sum => {
                own.count += other.count;
                own.of += other.of;
            }
            Together::Largest if size(other) > size(own) => own.clone_from(other),
            Together::Smallest if size(other) < size(own) => own.clone_from(other),
            Together::Largest | Together::Smallest => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_is_at_its_place() {
        for (place, about) in KINDS.iter().enumerate() {
            assert_eq!(about.kind as usize, place, "{}", about.name);
        }
    }
}
