//! Growth of a time with varied parameters: does it depend on them at all, and by which law?
//!
//! ```text
//! runs at each point --> cells (means of logarithms) --+--> effect: largest value over smallest
//!   (in random order,    '--> noise between repeats ---+         | Holm over all rows
//!    repeat by repeat)                                 |   grows, falls, none, inconclusive
//!                                                      '--> law: base + per unit * x^exponent
//! ```
//!
//! All calculations use logarithms of mean response times: noise of servers grows with the time
//! itself. Repeats are whole runs over all points, so that the state of the machine during a repeat
//! is removed (a randomised complete block design: Box, Hunter and Hunter, *Statistics for
//! Experimenters*, chapter 4), and the rest, between repeats, is the noise.
//!
//! The **effect** of a parameter is tested without any law: the time at its largest value over that
//! at its smallest, all others alike, with Student's interval. The **law** is a constant plus a
//! power law for each parameter that matters ([`Law`]); an exponent that may be 1 makes it linear.

mod cells;
mod law;
#[cfg(test)]
mod tests;

use cells::CellMeans;

use crate::ALPHA;
use crate::compare::{holm, is_same};

pub use law::{EXPONENTS, Fitted, Law, Shape, Term};

/// The mean response time of a run at one point.
#[derive(Debug, Clone, PartialEq)]
pub struct Observation {
    /// For each parameter, which of its values: an index.
    pub levels: Vec<usize>,
    /// Which repeat.
    pub repeat: usize,
    /// Mean response time in nanoseconds, above zero.
    pub mean: f64,
}

/// Dependence of a time on the varied parameters.
#[derive(Debug, Clone, PartialEq)]
pub struct Growth {
    /// One for each parameter; `None` where there are too few runs for one.
    pub effects: Vec<Option<Effect>>,
    /// The law of those that matter; `None` where none does.
    pub law: Option<Law>,
}

/// Effect of one parameter.
#[derive(Debug, Clone, PartialEq)]
pub struct Effect {
    /// Its smallest value, and the largest that was measured.
    pub between: (f64, f64),
    /// Time at the largest over time at the smallest.
    pub ratio: f64,
    /// Its 95 % interval.
    pub ci95: (f64, f64),
    /// How probable such a ratio is where the parameter does nothing.
    pub p: f64,
    /// The same, corrected for the number of effects that were looked for (Holm).
    pub p_holm: f64,
    /// The verdict.
    pub verdict: Growing,
    /// Time at each other value over time at the smallest.
    levels: Vec<f64>,
}

/// Verdict on the effect of a parameter on a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Growing {
    /// The time grows with it.
    Grows,
    /// The time becomes less.
    Falls,
    /// Nothing that would matter.
    Not,
    /// An effect is neither found nor excluded.
    Inconclusive,
}

impl Growing {
    /// All of them.
    pub const ALL: [Growing; 4] = [
        Growing::Grows,
        Growing::Falls,
        Growing::Not,
        Growing::Inconclusive,
    ];

    /// The name used in files.
    pub fn name(self) -> &'static str {
        match self {
            Growing::Grows => "grows",
            Growing::Falls => "falls",
            Growing::Not => "none",
            Growing::Inconclusive => "inconclusive",
        }
    }

    fn matters(self) -> bool {
        matches!(self, Growing::Grows | Growing::Falls)
    }
}

/// How times of several rows grow. `values` are those of each parameter, in ascending order;
/// `rows` has the runs of each row. Effects up to the share `same_within` do not matter.
pub fn growth(values: &[Vec<f64>], rows: &[Vec<Observation>], same_within: f64) -> Vec<Growth> {
    let cells: Vec<CellMeans> = rows.iter().map(|row| CellMeans::of(row)).collect();
    let mut effects: Vec<Vec<Option<Effect>>> = cells
        .iter()
        .map(|cells| {
            (0..values.len())
                .map(|of| effect(cells, values, of))
                .collect()
        })
        .collect();
    let mut tested: Vec<&mut Effect> = effects.iter_mut().flatten().flatten().collect();
    let corrected = holm(&tested.iter().map(|effect| effect.p).collect::<Vec<_>>());
    for (effect, p_holm) in tested.iter_mut().zip(corrected) {
        effect.p_holm = p_holm;
        effect.verdict = effect.judged(same_within);
    }
    let rows = cells.iter().zip(effects);
    rows.map(|(cells, effects)| {
        let does = |of: usize| Some((of, effects[of].as_ref()?.verdict));
        let does = (0..values.len()).filter_map(does);
        let matter: Vec<(usize, Growing)> = does.filter(|(_, does)| does.matters()).collect();
        Growth {
            law: law::fit(cells, values, &matter),
            effects,
        }
    })
    .collect()
}

fn effect(cells: &CellMeans, values: &[Vec<f64>], of: usize) -> Option<Effect> {
    // The largest value that was measured, where the very largest failed.
    let mut levels = (1..values[of].len()).rev();
    let (last, found) = levels.find_map(|level| Some((level, cells.contrast(of, level)?)))?;
    let (low, high) = found.interval;
    let levels = (1..=last).filter_map(|level| Some(cells.contrast(of, level)?.estimate.exp()));
    Some(Effect {
        between: (values[of][0], values[of][last]),
        ratio: found.estimate.exp(),
        ci95: (low.exp(), high.exp()),
        p: found.p,
        p_holm: found.p,
        verdict: Growing::Inconclusive,
        levels: levels.collect(),
    })
}

impl Effect {
    fn judged(&self, same_within: f64) -> Growing {
        let is_same = |ratio: f64| is_same(ratio, same_within);
        let (low, high) = self.ci95;
        if is_same(low) && is_same(high) && self.levels.iter().copied().all(is_same) {
            Growing::Not
        } else if self.p_holm >= ALPHA || is_same(self.ratio) {
            Growing::Inconclusive
        } else if self.ratio > 1.0 {
            Growing::Grows
        } else {
            Growing::Falls
        }
    }
}
