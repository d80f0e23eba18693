//! The largest load under which a condition holds in at least nine of ten trials.
//!
//! ```text
//! doubling       one trial of each load, until the condition fails
//! bisection      between a load that passed and one that failed, until both are near
//! confirmation   the answer holds in at least 18 of 20 trials; otherwise a lower load is tested
//! last look      the load above gets more trials, until three of them have failed
//! ```
//!
//! Servers have no sharp limit: the share of trials in which a condition holds falls over a range
//! of loads, and trials near it differ. So a load is judged by a sequential test of the probability
//! 0.5 against 0.9 ([`TEST`]), with [`TESTED`] trials at most: it passes when it held in the first
//! six, or in nine of ten, and fails with the second failure. The largest of several loads that
//! passed passed by chance more often than each of them, which is why the result is confirmed; and
//! a load that failed by chance (a backup, a neighbour of the machine) would exclude all larger
//! ones, which is why there is a last look.
//!
//! All decisions are made here, from trials that the caller makes: [`Search::next_load`] returns
//! the load, [`Search::learn`] takes the outcome.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use crate::sequential::{Decision, ProbabilityTest, Tally};

/// A number of users, or a rate in requests a second.
pub type OfferedLoad = f64;

/// Test of a condition: does it hold half of the time, or nine times out of ten?
const TEST: ProbabilityTest = ProbabilityTest {
    low: 0.5,
    high: 0.9,
    alpha: 0.05,
};
/// One of this number of trials may fail.
const ONE_IN: u32 = 10;
/// Most trials by which a load is tested.
const TESTED: u32 = 10;
/// Trials of the result.
const CONFIRMED: u32 = 20;
/// Bisection ends when the load that failed exceeds the one that passed by this share.
const NEAR: f64 = 0.05;
/// Trials after which the search ends in any case.
const MOST: u32 = 150;

/// A search that is under way.
#[derive(Debug, Clone)]
pub struct Search {
    start: OfferedLoad,
    least: OfferedLoad,
    most: OfferedLoad,
    /// Users are whole.
    whole: bool,
    trials: BTreeMap<Key, Tally>,
    made: u32,
}

/// A load as a key: the order of positive numbers is that of their bits.
type Key = u64;

/// How a search ended.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct SearchOutcome {
    /// The largest load that passed, or, while none has, that held more often than it failed.
    pub holds: Option<Tested>,
    /// The smallest load that failed, which is larger; `None` where none did.
    pub fails: Option<Tested>,
    /// The load that passed did so in a confirmation, too.
    pub confirmed: bool,
}

/// A load and its trials.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tested {
    /// The load.
    pub load: OfferedLoad,
    /// In how many trials the condition held and failed.
    pub trials: Tally,
}

impl Tested {
    /// The lower 95 % confidence bound of the share of trials in which the condition holds.
    pub fn at_least(self) -> f64 {
        TEST.at_least(self.trials)
    }

    /// The upper bound.
    pub fn at_most(self) -> f64 {
        TEST.at_most(self.trials)
    }
}

/// Trials that a search may still need.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TrialsLeft {
    /// Estimate if the load that is sought is half-way between those that are known; while no load
    /// has failed, if the next one does.
    pub likely: u32,
    /// In any case.
    pub most: u32,
    /// No load has failed yet: *likely* is the least.
    pub is_least: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LoadState {
    Passed,
    Failed,
    Open,
}

fn state(trials: Tally) -> LoadState {
    let (made, may_fail) = (trials.trials(), trials.failed * ONE_IN);
    let length = if made <= TESTED { TESTED } else { CONFIRMED };
    if may_fail > length {
        LoadState::Failed
    } else if may_fail <= made && TEST.decision(trials) == Decision::High {
        LoadState::Passed
    } else {
        LoadState::Open
    }
}

fn is_confirmed(trials: Tally) -> bool {
    trials.trials() >= CONFIRMED && state(trials) == LoadState::Passed
}

/// True if the load cannot pass a confirmation any more.
fn has_failed_for_good(trials: Tally) -> bool {
    trials.failed * ONE_IN > CONFIRMED
}

impl Search {
    /// For numbers of users, from `start` on, up to `most`.
    pub fn for_users(start: u32, most: u32) -> Search {
        Search::new(f64::from(start.max(1)), f64::from(most), 1.0, true)
    }

    /// For rates, from `start` requests a second on, up to `most`, and not below `least`.
    pub fn for_rate(start: f64, most: f64, least: f64) -> Search {
        Search::new(start, most, least.max(start / 1024.0), false)
    }

    fn new(start: OfferedLoad, most: OfferedLoad, least: OfferedLoad, whole: bool) -> Search {
        Search {
            start: start.min(most),
            least,
            most,
            whole,
            trials: BTreeMap::new(),
            made: 0,
        }
    }

    /// Takes in the outcome of a trial.
    pub fn learn(&mut self, load: OfferedLoad, held: bool) {
        self.made += 1;
        let trials = self.trials.entry(load.to_bits()).or_default();
        if held {
            trials.held += 1
        } else {
            trials.failed += 1
        }
    }

    /// The load to try next; `None` when there is an [outcome](Search::outcome).
    pub fn next_load(&self) -> Option<OfferedLoad> {
        if self.made >= MOST {
            return None;
        }
        match (self.top(), self.fails()) {
            (None, None) => Some(self.start),
            (Some(top), None) if top.load >= self.most => self.to_confirm(top),
            (Some(top), None) if state(top.trials) == LoadState::Open && top.trials.failed > 0 => {
                Some(top.load)
            }
            (Some(top), None) => Some((top.load * 2.0).min(self.most)),
            (None, Some(fails)) if fails.load <= self.least => last_look(fails),
            (None, Some(fails)) => Some(self.rounded(fails.load / 2.0).max(self.least)),
            (Some(top), Some(_)) if state(top.trials) == LoadState::Open => Some(top.load),
            (Some(top), Some(fails)) => self
                .between(top.load, fails.load)
                .or_else(|| self.to_confirm(top))
                .or_else(|| last_look(fails)),
        }
    }

    /// The outcome so far.
    pub fn outcome(&self) -> SearchOutcome {
        let fails = self.fails();
        let below = fails.map_or(f64::INFINITY, |fails| fails.load);
        let loads = || self.loads().rev().filter(|tested| tested.load < below);
        let passed = loads().find(|tested| state(tested.trials) == LoadState::Passed);
        // A search that was ended early has at least the loads that held.
        let holds =
            passed.or_else(|| loads().find(|tested| tested.trials.held > tested.trials.failed));
        SearchOutcome {
            holds,
            fails,
            confirmed: holds.is_some_and(|holds| is_confirmed(holds.trials)),
        }
    }

    /// The trials of a load so far.
    pub fn trials_of(&self, load: OfferedLoad) -> Tally {
        self.trials
            .get(&load.to_bits())
            .copied()
            .unwrap_or_default()
    }

    /// How many trials there may be until the end.
    pub fn left(&self) -> TrialsLeft {
        let top = self.top().map_or(self.start, |top| top.load);
        let limit = match self.fails() {
            Some(fails) if fails.load <= self.least => 0.0,
            Some(fails) if fails.load <= top => fails.load / 2.0_f64.sqrt(),
            Some(fails) => (top * fails.load).sqrt(),
            None => top * 2.0_f64.sqrt(),
        };
        let mut ahead = self.clone();
        while let Some(load) = ahead.next_load() {
            ahead.learn(load, load <= limit);
        }
        TrialsLeft {
            likely: ahead.made - self.made,
            most: MOST - self.made.min(MOST),
            is_least: self.fails().is_none(),
        }
    }

    fn loads(&self) -> impl DoubleEndedIterator<Item = Tested> {
        self.trials.iter().map(|(bits, trials)| Tested {
            load: f64::from_bits(*bits),
            trials: *trials,
        })
    }

    /// The smallest load that failed.
    fn fails(&self) -> Option<Tested> {
        self.loads()
            .find(|tested| state(tested.trials) == LoadState::Failed)
    }

    /// The largest load below that.
    fn top(&self) -> Option<Tested> {
        let below = self.fails().map_or(f64::INFINITY, |fails| fails.load);
        self.loads().rfind(|tested| tested.load < below)
    }

    fn to_confirm(&self, top: Tested) -> Option<OfferedLoad> {
        (!is_confirmed(top.trials)).then_some(top.load)
    }

    /// A load between both, unless they are near.
    fn between(&self, passed: OfferedLoad, failed: OfferedLoad) -> Option<OfferedLoad> {
        if failed <= passed * (1.0 + NEAR) {
            return None;
        }
        let middle = self.rounded((passed * failed).sqrt());
        (middle > passed && middle < failed).then_some(middle)
    }

    fn rounded(&self, load: OfferedLoad) -> OfferedLoad {
        if self.whole {
            load.round()
        } else {
            // Three digits are more than a trial can resolve.
            let scale = 10_f64.powf(load.log10().floor() - 2.0);
            (load / scale).round() * scale
        }
    }
}

fn last_look(fails: Tested) -> Option<OfferedLoad> {
    (!has_failed_for_good(fails.trials)).then_some(fails.load)
}

/// Figures of a server under a load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Trial {
    /// The load.
    pub load: OfferedLoad,
    /// Expected responses a second.
    pub per_second: f64,
    /// Mean time that was waited, in nanoseconds.
    pub mean: f64,
}

/// The knee of the curve of response time over load, where more load begins to cost more than it
/// brings: where *power*, throughput over response time, is greatest (Kleinrock, *Power and
/// deterministic rules of thumb for probabilistic problems in computer communications*, ICC 1979).
/// `None` for fewer than three loads, and where it is the greatest that was tried or the smallest:
/// the knee may lie beyond. Below a load of 1, a single user, there is nothing.
pub fn knee(trials: &[Trial]) -> Option<OfferedLoad> {
    let mut of_load: BTreeMap<Key, Vec<f64>> = BTreeMap::new();
    for trial in trials.iter().filter(|trial| trial.mean > 0.0) {
        let power = (trial.per_second / trial.mean).ln();
        of_load.entry(trial.load.to_bits()).or_default().push(power);
    }
    let powers: Vec<(OfferedLoad, f64)> = of_load
        .iter()
        .map(|(load, powers)| (f64::from_bits(*load), crate::interval::mean(powers)))
        .collect();
    let best = powers
        .iter()
        .max_by(|(_, one), (_, other)| one.total_cmp(other))?;
    let is_at = |end: Option<&(OfferedLoad, f64)>| end.is_some_and(|end| end.0 == best.0);
    let is_least = is_at(powers.first()) && best.0 > 1.0;
    (powers.len() >= 3 && !is_at(powers.last()) && !is_least).then_some(best.0)
}
