//! Warnings about rows: a closed list, each with advice.
//!
//! A warning belongs to rows, never to a run: each row has its own
//! ([`TestSummary::warnings`](crate::TestSummary::warnings)), and the summary has the same warnings
//! once more for people, where one warning names all the rows or tests it is about.
//!
//! Some warnings disqualify a row ([`Warning::disqualifies`]): the load generator may have changed
//! its estimates so much that they do not describe the server.
//!
//! The kinds, how warnings of each kind are put together over several runs, and when they are
//! raised stand in `judge`; the sentence of each, with advice, stands in `report::warnings`.

mod facts;
mod judge;
mod origins;
mod stall;

use std::collections::BTreeMap;

use record::{Exhausted, Load};

pub use facts::Lately;
pub(crate) use facts::{TestFacts, WarningInputs, operations_of_each_user};
pub(crate) use judge::all;
pub use judge::{
    BIAS, BIAS_SHARE, IN_PROGRESS, IN_PROGRESS_HALF, MISSED, WarningKind, WarningSubject,
    warnings_about,
};
pub use origins::origin_warnings;
pub use stall::TOLERATED;
pub(crate) use stall::{RowFacts, StalledTimes, Stalls};

/// A part of a whole, of one row or test.
#[derive(Debug, Clone, PartialEq, Eq)]
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

    pub(crate) fn is_within(&self, percent: &std::ops::Range<u64>) -> bool {
        (percent.start as f64..percent.end as f64).contains(&self.percent())
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

impl Warning {
    /// A warning with shares alone.
    pub fn of(kind: WarningKind, shares: Vec<Share>) -> Warning {
        Warning {
            kind,
            shares,
            detail: Detail::None,
        }
    }

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

    /// Warnings of several runs, each kind once: counts of operations are added up, and of
    /// estimates and of shares of time each row or test has the worst.
    pub(crate) fn worst_of<'a>(warnings: impl Iterator<Item = &'a Warning>) -> Vec<Warning> {
        let mut all: Vec<Warning> = Vec::new();
        for warning in warnings {
            if !all.iter_mut().any(|known| known.absorb(warning)) {
                all.push(warning.clone());
            }
        }
        all
    }

    fn absorb(&mut self, other: &Warning) -> bool {
        if self == other {
            return true;
        }
        if self.kind != other.kind || self.is_about_run() {
            return false;
        }
        for share in &other.shares {
            match self
                .shares
                .iter_mut()
                .find(|known| known.name == share.name)
            {
                Some(known) => self.kind.about().together.put(known, share),
                None => self.shares.push(share.clone()),
            }
        }
        if let (Detail::RanOut(all), Detail::RanOut(other)) = (&mut self.detail, &other.detail) {
            all.ports += other.ports;
            all.files += other.files;
            all.buffers += other.buffers;
        }
        true
    }
}

/// The same warnings about one row of one test alone, by the names of both; without those that are
/// about others, or about the run as a whole.
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
            let of_row = shares.get(name)?.clone();
            Some(Warning::of(warning.kind, of_row).with(warning.detail.clone()))
        };
        all.iter().filter_map(of_row).collect()
    }
}
