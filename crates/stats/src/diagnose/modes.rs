//! Test for two modes: do times have two kinds of responses under one name?
//!
//! A mode is where values are dense, and two of them need a valley in between (Good and Gaskins,
//! *Density estimation and bump-hunting*, JASA 75, 1980; the test of a single mode by the valley
//! beside it: Minnotte, *Nonparametric testing of the existence of modes*, Annals of Statistics
//! 25(4), 1997). On the axis of logarithms, windows of equal width are counted: were the density
//! without a valley, the window there would hold no fewer than the sparser of the densest windows
//! on both sides. How improbable it is that it holds so few is a binomial tail.
//!
//! A long tail only gets thinner and has no second mode, whatever its weight, as intended.

/// Step of the axis in natural logarithms: 8 %.
const STEP: f64 = 0.075;

/// Steps of the windows: factors of 1.35 and 1.8, for close modes and for such that scatter.
const WINDOWS: [usize; 2] = [4, 8];

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

/// The two modes of ascending values, each with its frequency; `None` where they are not separate.
pub(crate) fn modes(values: &[(u64, u64)]) -> Option<(Mode, Mode)> {
    let total: u64 = values.iter().map(|(_, count)| count).sum();
    let least = LEAST.max((total as f64 * LEAST_SHARE).ceil() as u64);
    let grid = Grid::of(values)?;
    let splits = WINDOWS.iter().flat_map(|steps| grid.valleys(*steps));
    let is_split = |split: &Valley| {
        let below = grid.below(split.middle);
        below >= least && total - below >= least
    };
    let deepest = splits.filter(is_split).max_by_key(|split| split.depth)?;
    let below = grid.below(deepest.middle);
    let mode = |from: u64, to: u64| Mode {
        share: (to - from) as f64 / total as f64,
        median: at_rank(values, from + (to - from).div_ceil(2)),
    };
    Some((mode(0, below), mode(below, total)))
}

/// A position that is significantly sparser than its neighbours on both sides.
struct Valley {
    /// Step in its middle.
    middle: usize,
    /// Values that it lacks.
    depth: u64,
}

/// Values counted along the axis of logarithms.
struct Grid {
    counts: Vec<u64>,
}

impl Grid {
    fn of(values: &[(u64, u64)]) -> Option<Grid> {
        let logarithm = |value: u64| (value.max(1) as f64).ln();
        let first = logarithm(values.first()?.0);
        let mut counts = Vec::new();
        for (value, count) in values {
            let index = (((logarithm(*value) - first) / STEP) as usize).min(MOST_STEPS - 1);
            if counts.len() <= index {
                counts.resize(index + 1, 0);
            }
            counts[index] += count;
        }
        Some(Grid { counts })
    }

    /// Valleys between windows of `steps` that are significantly denser.
    fn valleys(&self, steps: usize) -> Vec<Valley> {
        let sum = |index: usize| -> u64 {
            let end = (index + steps).min(self.counts.len());
            self.counts[index..end].iter().sum()
        };
        let sums: Vec<u64> = (0..self.counts.len()).map(sum).collect();
        let densest = |side: &[u64]| side.iter().max().copied().unwrap_or(0);
        let valley = |(index, inside): (usize, &u64)| {
            let left = densest(&sums[..(index + 1).saturating_sub(steps)]);
            let right = densest(sums.get(index + steps..).unwrap_or_default());
            let sparser = left.min(right);
            let is_deep = inside * 2 <= sparser;
            let is_sure = || binomial_tail(*inside, inside + sparser) <= SURE;
            (is_deep && is_sure()).then(|| Valley {
                middle: index + steps / 2,
                depth: sparser - inside,
            })
        };
        sums.iter().enumerate().filter_map(valley).collect()
    }

    /// Values before a step.
    fn below(&self, step: usize) -> u64 {
        self.counts[..step.min(self.counts.len())].iter().sum()
    }
}

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
