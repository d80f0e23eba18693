//! The largest load under which a condition holds.
//!
//! ```text
//! doubling          until it breaks, or the greatest load that may be tried
//! bisection         between what held and what broke, until both are near
//! confirmation      what is to be the answer holds in two of three trials
//! ```
//!
//! A trial can break by chance, so a load counts as too much only when most of at least two trials
//! broke, and as held at last when most of three held. All decisions are made here, from trials
//! that somebody else makes: [`Search::next_load`] says the load, [`Search::learn`] hears what came.

mod condition;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

pub use condition::{Condition, ConditionError};

/// A number of users, or a rate in requests a second.
pub type Load = f64;

/// Trials of a load before it is an answer.
const CONFIRMED: u32 = 3;
/// Trials of a load before it counts as too much.
const BROKEN: u32 = 2;
/// Bisection ends when what broke is so much more than what held, as a share.
const NEAR: f64 = 0.05;
/// Trials after which the search ends in any case.
const MOST: u32 = 80;

/// A search that is under way.
#[derive(Debug, Clone)]
pub struct Search {
    start: Load,
    least: Load,
    most: Load,
    /// Users are whole.
    whole: bool,
    trials: BTreeMap<Key, Count>,
    made: u32,
}

/// A load as a key: the order of positive numbers is that of their bits.
type Key = u64;

#[derive(Debug, Clone, Copy, Default)]
struct Count {
    held: u32,
    broken: u32,
}

/// How a search ended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Answer {
    /// The largest load under which the condition held; `None` where it broke under the least.
    pub held: Option<Load>,
    /// The smallest load above that under which it broke; `None` where none did.
    pub broken: Option<Load>,
    /// The load that held did so in most of three trials.
    pub confirmed: bool,
}

/// What the next step is.
#[derive(Debug, Clone, Copy, PartialEq)]
enum State {
    /// Nothing is known.
    Untried,
    /// It held more often than not.
    Held,
    /// It broke too often.
    Broken,
    /// Another trial is needed.
    Open,
}

impl Count {
    fn state(self) -> State {
        match (self.held, self.broken) {
            (0, 0) => State::Untried,
            (held, broken) if held > broken => State::Held,
            (held, broken) if broken > held && broken >= BROKEN => State::Broken,
            _ => State::Open,
        }
    }

    fn is_confirmed(self) -> bool {
        self.held > self.broken && self.held + self.broken >= CONFIRMED
    }
}

impl Search {
    /// For numbers of users, from `start` on, up to `most`.
    pub fn of_users(start: u32, most: u32) -> Search {
        Search::new(f64::from(start.max(1)), f64::from(most), 1.0, true)
    }

    /// For rates, from `start` requests a second on, up to `most`, and not below `least`.
    pub fn of_rate(start: f64, most: f64, least: f64) -> Search {
        Search::new(start, most, least.max(start / 1024.0), false)
    }

    fn new(start: Load, most: Load, least: Load, whole: bool) -> Search {
        Search {
            start: start.min(most),
            least,
            most,
            whole,
            trials: BTreeMap::new(),
            made: 0,
        }
    }

    /// Takes in what a trial showed.
    pub fn learn(&mut self, load: Load, held: bool) {
        self.made += 1;
        let count = self.trials.entry(load.to_bits()).or_default();
        match held {
            true => count.held += 1,
            false => count.broken += 1,
        }
    }

    /// The load to try next; `None` when there is an [answer](Search::answer).
    pub fn next_load(&self) -> Option<Load> {
        if self.made >= MOST {
            return None;
        }
        if let Some(open) = self.open() {
            return Some(open);
        }
        match (self.held(), self.broken()) {
            (None, None) => Some(self.start),
            (Some(held), None) if held >= self.most => self.to_confirm(held),
            (Some(held), None) => Some((held * 2.0).min(self.most)),
            (None, Some(broken)) if broken <= self.least => None,
            (None, Some(broken)) => Some(self.rounded(broken / 2.0).max(self.least)),
            (Some(held), Some(broken)) => match self.between(held, broken) {
                Some(load) => Some(load),
                None => self.to_confirm(held),
            },
        }
    }

    /// What is known now.
    pub fn answer(&self) -> Answer {
        let held = self.held();
        Answer {
            held,
            broken: self.broken(),
            confirmed: held.is_some_and(|held| self.to_confirm(held).is_none()),
        }
    }

    fn loads(&self, state: State) -> impl DoubleEndedIterator<Item = Load> {
        let found = self
            .trials
            .iter()
            .filter(move |(_, count)| count.state() == state);
        found.map(|(bits, _)| f64::from_bits(*bits))
    }

    /// The smallest load that is too much.
    fn broken(&self) -> Option<Load> {
        self.loads(State::Broken).next()
    }

    /// The largest load that held, below what is too much.
    fn held(&self) -> Option<Load> {
        let broken = self.broken().unwrap_or(f64::INFINITY);
        self.loads(State::Held).rfind(|load| *load < broken)
    }

    /// A load of which one cannot tell, below what is too much.
    fn open(&self) -> Option<Load> {
        let broken = self.broken().unwrap_or(f64::INFINITY);
        self.loads(State::Open).find(|load| *load < broken)
    }

    fn to_confirm(&self, held: Load) -> Option<Load> {
        let count = self.trials.get(&held.to_bits())?;
        (!count.is_confirmed()).then_some(held)
    }

    /// A load between both, unless they are near.
    fn between(&self, held: Load, broken: Load) -> Option<Load> {
        if broken <= held * (1.0 + NEAR) {
            return None;
        }
        let middle = self.rounded((held * broken).sqrt());
        (middle > held && middle < broken).then_some(middle)
    }

    fn rounded(&self, load: Load) -> Load {
        match self.whole {
            true => load.round(),
            // Three digits are more than a trial can tell.
            false => {
                let scale = 10_f64.powf(load.log10().floor() - 2.0);
                (load / scale).round() * scale
            }
        }
    }
}

/// What a server did under a load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Trial {
    /// The load.
    pub load: Load,
    /// Expected answers a second.
    pub per_second: f64,
    /// Mean time that was waited, in nanoseconds.
    pub mean: f64,
}

/// The knee of the curve of response time over load, where more load begins to cost more than it
/// brings: where *power*, throughput over response time, is greatest (Kleinrock, *Power and
/// deterministic rules of thumb for probabilistic problems in computer communications*, ICC 1979).
/// `None` for fewer than three loads, and where it is the greatest that was tried or the smallest:
/// the knee may lie beyond. Below a load of 1, a single user, there is nothing.
pub fn knee(trials: &[Trial]) -> Option<Load> {
    let mut of_load: BTreeMap<Key, Vec<f64>> = BTreeMap::new();
    for trial in trials.iter().filter(|trial| trial.mean > 0.0) {
        let power = (trial.per_second / trial.mean).ln();
        of_load.entry(trial.load.to_bits()).or_default().push(power);
    }
    let powers: Vec<(Load, f64)> = of_load
        .iter()
        .map(|(load, powers)| (f64::from_bits(*load), crate::interval::mean(powers)))
        .collect();
    let best = powers
        .iter()
        .max_by(|(_, one), (_, other)| one.total_cmp(other))?;
    let is_at = |end: Option<&(Load, f64)>| end.is_some_and(|end| end.0 == best.0);
    let is_least = is_at(powers.first()) && best.0 > 1.0;
    (powers.len() >= 3 && !is_at(powers.last()) && !is_least).then_some(best.0)
}
