//! Whether times have two modes: two kinds of answers under one name.
//!
//! A mode is where values are dense, and two of them need a valley in between (Good and Gaskins,
//! *Density estimation and bump-hunting*, JASA 75, 1980; the test of a single mode by the valley
//! beside it: Minnotte, *Nonparametric testing of the existence of modes*, Annals of Statistics
//! 25(4), 1997). On the axis of logarithms, windows of equal width are counted: were the density
//! without a valley, the window there would hold no fewer than the sparser of the densest windows on
//! both sides. How improbable it is that it holds so few is a binomial tail.
//!
//! A long tail only gets thinner and has no second mode, whatever its weight; that is what is wanted.

/// Width of a window in natural logarithms: a factor of 1.35.
const WIDTH: f64 = 0.3;

/// Steps of a window.
const STEPS: usize = 4;

/// Share of all values that a mode has at least.
const LEAST_SHARE: f64 = 0.05;

/// Values that a mode has at least.
const LEAST: u64 = 8;

/// How improbable the valley must be where there is none.
const SURE: f64 = 1e-3;

/// Steps of the axis at most: a factor of 10^13, should the times span more than that.
const MOST_STEPS: usize = 400;

/// One of two modes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Mode {
    /// Share of all values that belong to it.
    pub(crate) share: f64,
    /// Their median.
    pub(crate) median: f64,
}

/// The two modes of values that ascend, each with how often it occurs; `None` where there is no
/// telling two apart.
pub(crate) fn modes(values: &[(u64, u64)]) -> Option<(Mode, Mode)> {
    let total: u64 = values.iter().map(|(_, count)| count).sum();
    let least = LEAST.max((total as f64 * LEAST_SHARE).ceil() as u64);
    let grid = Grid::of(values)?;
    let sums = grid.windows();
    let mut best: Option<(u64, usize)> = None;
    for (valley, in_valley) in sums.iter().enumerate() {
        let left = valley.checked_sub(STEPS);
        let left = left.map_or(&[][..], |last| &sums[..=last]);
        let right = sums.get(valley + STEPS..).unwrap_or_default();
        let densest = |side: &[u64]| side.iter().max().copied().unwrap_or(0);
        let sparser = densest(left).min(densest(right));
        let below = grid.below(valley + STEPS / 2);
        let is_split = below >= least && total - below >= least;
        let depth = sparser.saturating_sub(*in_valley);
        if is_split
            && in_valley * 4 <= sparser
            && binomial_tail(*in_valley, in_valley + sparser) <= SURE
            && best.is_none_or(|(deepest, _)| depth > deepest)
        {
            best = Some((depth, valley));
        }
    }
    let (_, valley) = best?;
    let below = grid.below(valley + STEPS / 2);
    let mode = |from: u64, to: u64| Mode {
        share: (to - from) as f64 / total as f64,
        median: at_rank(values, from + (to - from).div_ceil(2)),
    };
    Some((mode(0, below), mode(below, total)))
}

/// Values counted along the axis of logarithms.
struct Grid {
    counts: Vec<u64>,
}

impl Grid {
    fn of(values: &[(u64, u64)]) -> Option<Grid> {
        let logarithm = |value: u64| (value.max(1) as f64).ln();
        let first = logarithm(values.first()?.0);
        let step = WIDTH / STEPS as f64;
        let mut counts = Vec::new();
        for (value, count) in values {
            let place = (((logarithm(*value) - first) / step) as usize).min(MOST_STEPS - 1);
            if counts.len() <= place {
                counts.resize(place + 1, 0);
            }
            counts[place] += count;
        }
        Some(Grid { counts })
    }

    /// Values of the window that begins at each step.
    fn windows(&self) -> Vec<u64> {
        let places = 0..self.counts.len();
        let sum = |place: usize| {
            let end = (place + STEPS).min(self.counts.len());
            self.counts[place..end].iter().sum()
        };
        places.map(sum).collect()
    }

    /// Values before a step.
    fn below(&self, step: usize) -> u64 {
        self.counts[..step.min(self.counts.len())].iter().sum()
    }
}

/// The value at that place, counted from 1.
fn at_rank(values: &[(u64, u64)], rank: u64) -> f64 {
    let mut before = 0;
    let found = values.iter().find(|(_, count)| {
        before += count;
        before >= rank
    });
    found.map_or(0.0, |(value, _)| *value as f64)
}

/// Chance of at most `few` of `of`, where each side is as likely.
fn binomial_tail(few: u64, of: u64) -> f64 {
    use statrs::distribution::{Binomial, DiscreteCDF};
    Binomial::new(0.5, of).map_or(1.0, |binomial| binomial.cdf(few))
}
