//! Runs at the points of a sweep, as cells of a design.

use std::collections::BTreeMap;

use statrs::distribution::ContinuousCDF;

use super::Observation;
use crate::interval::{students, two_sided_p};

#[derive(Debug, Clone)]
pub(super) struct CellMeans {
    /// For each point that was measured, by its levels: mean of the logarithms, and runs.
    pub(super) points: BTreeMap<Vec<usize>, CellMean>,
    /// Sum of the squares of the residuals when points and repeats are removed.
    pub(super) noise: f64,
    /// Its degrees of freedom.
    pub(super) degrees: usize,
    /// Uncertainty of the level of all points together: the variance of its logarithm, from how
    /// much repeats differ, and the degrees of freedom of that.
    pub(super) level: (f64, usize),
}

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct CellMean {
    /// Mean of the logarithms of the times.
    pub(super) log: f64,
    pub(super) runs: usize,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Contrast {
    pub(super) estimate: f64,
    pub(super) interval: (f64, f64),
    pub(super) p: f64,
}

/// Times that means of points and of repeats are removed alternately, where runs are missing. With
/// all runs there, once is enough.
const ROUNDS: usize = 50;

impl CellMeans {
    pub(super) fn of(observations: &[Observation]) -> CellMeans {
        let logs = observations.iter().filter(|seen| seen.mean > 0.0);
        let logs: Vec<(&Vec<usize>, usize, f64)> = logs
            .map(|seen| (&seen.levels, seen.repeat, seen.mean.ln()))
            .collect();
        let mut of_repeat: BTreeMap<usize, f64> = BTreeMap::new();
        let mut points: BTreeMap<Vec<usize>, CellMean> = BTreeMap::new();
        for _ in 0..ROUNDS {
            points = means(logs.iter().map(|(levels, repeat, log)| {
                (
                    (*levels).clone(),
                    log - of_repeat.get(repeat).unwrap_or(&0.0),
                )
            }));
            let left = logs
                .iter()
                .map(|(levels, repeat, log)| (*repeat, log - points[*levels].log));
            let repeats = means(left);
            let all =
                repeats.values().map(|cell| cell.log).sum::<f64>() / repeats.len().max(1) as f64;
            let next = repeats
                .iter()
                .map(|(repeat, cell)| (*repeat, cell.log - all))
                .collect();
            let moved = change(&of_repeat, &next);
            of_repeat = next;
            if moved < 1e-12 {
                break;
            }
        }
        let noise = logs
            .iter()
            .map(|(levels, repeat, log)| (log - points[*levels].log - of_repeat[repeat]).powi(2));
        let repeats = of_repeat.len();
        let between: f64 = of_repeat.values().map(|level| level.powi(2)).sum();
        let taken = points.len() + repeats.saturating_sub(1);
        CellMeans {
            noise: noise.sum(),
            level: (
                between / (repeats.saturating_sub(1) * repeats).max(1) as f64,
                repeats.saturating_sub(1),
            ),
            degrees: logs.len().saturating_sub(taken),
            points,
        }
    }

    /// The logarithm at one level of a parameter over that at its first, over all points that
    /// differ in nothing else; `None` without such points, or without repeats.
    pub(super) fn contrast(&self, of: usize, level: usize) -> Option<Contrast> {
        let t = students(self.degrees as f64)?;
        let (mut sum, mut weight, mut count) = (0.0, 0.0, 0.0);
        for (levels, low) in self.points.iter().filter(|(levels, _)| levels[of] == 0) {
            let mut there = levels.clone();
            there[of] = level;
            if let Some(high) = self.points.get(&there) {
                sum += high.log - low.log;
                weight += 1.0 / low.runs as f64 + 1.0 / high.runs as f64;
                count += 1.0;
            }
        }
        if count == 0.0 {
            return None;
        }
        let estimate = sum / count;
        let error = (self.noise / self.degrees as f64 * weight).sqrt() / count;
        let half = t.inverse_cdf(0.975) * error;
        Some(Contrast {
            estimate,
            interval: (estimate - half, estimate + half),
            p: two_sided_p(estimate, error, &t),
        })
    }
}

fn means<Key: Ord>(values: impl Iterator<Item = (Key, f64)>) -> BTreeMap<Key, CellMean> {
    let mut means: BTreeMap<Key, CellMean> = BTreeMap::new();
    for (key, value) in values {
        let cell = means.entry(key).or_default();
        cell.log += value;
        cell.runs += 1;
    }
    for cell in means.values_mut() {
        cell.log /= cell.runs as f64;
    }
    means
}

fn change(before: &BTreeMap<usize, f64>, after: &BTreeMap<usize, f64>) -> f64 {
    let moved = after
        .iter()
        .map(|(repeat, value)| (value - before.get(repeat).unwrap_or(&0.0)).abs());
    moved.fold(0.0, f64::max)
}
