//! Which functions of a server use its processor time: shares of samples.
//!
//! Samples that follow each other are of the same operation, mostly, so they are not independent,
//! and an interval of independent samples would be too narrow. The samples of a row are counted in
//! parts of its time. With `x` of the `n` samples of each part in a function, and the share `p` of
//! all, the variance of `p` is that of a ratio of two sums ([`crate::interval`]); divided by the
//! binomial variance `p (1 - p) / n` it is the design effect (Kish, *Survey Sampling*, chapter 5).
//! The interval is that of Wilson for so many times fewer samples, as a symmetric one is too short
//! on the side of 1/2 where `p` is small, with a quantile of Student's t with one degree of freedom
//! less than there are parts.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use record::{Event, EventKind, FlameRow, FlameStack, MeasureId};

use crate::interval::{ratio_error, t_quantile};

/// Samples of a function with fewer of which its share has no interval.
const ENOUGH: u64 = 10;
/// Parts of the time with samples that an interval needs.
const ENOUGH_PARTS: usize = 4;

/// The samples of a row, and their shares by function.
#[derive(Debug, Clone, PartialEq)]
pub struct StackProfile {
    /// The samples.
    pub row: FlameRow,
    /// Functions executed in samples, not their callers: the one with the most samples first.
    pub functions: Vec<FunctionShare>,
}

/// A function that was executed in samples of a row.
#[derive(Debug, Clone, PartialEq)]
pub struct FunctionShare {
    /// As in [`FlameStack::stack`].
    pub name: String,
    /// Its samples, in those stacks that are kept.
    pub samples: u64,
    /// They as a part of all of these, from 0 to 1.
    pub share: f64,
    /// The 95 % interval of it; `None` with too few samples.
    pub interval: Option<(f64, f64)>,
}

impl StackProfile {
    /// Of the events of a run, in the order of the plan.
    pub(crate) fn all(events: &[Event]) -> Vec<StackProfile> {
        let rows = events.iter().filter_map(|event| match &event.kind {
            EventKind::Flame(row) => Some(StackProfile::of(row.clone())),
            _ => None,
        });
        let mut rows: Vec<StackProfile> = rows.collect();
        rows.sort_by_key(|profile| profile.row.measure);
        rows
    }

    fn of(row: FlameRow) -> StackProfile {
        let all = parts(row.stacks.iter());
        let mut by_name: BTreeMap<&str, Vec<&FlameStack>> = BTreeMap::new();
        for stack in &row.stacks {
            let innermost = stack.stack.rsplit(';').next().unwrap_or_default();
            by_name.entry(innermost).or_default().push(stack);
        }
        let shares = by_name.into_iter().map(|(name, stacks)| {
            let in_function = parts(stacks.into_iter());
            share(name, &in_function, &all)
        });
        let mut functions: Vec<FunctionShare> = shares.collect();
        functions.sort_by_key(|function| Reverse(function.samples));
        StackProfile { row, functions }
    }

    /// The row.
    pub fn measure(&self) -> MeasureId {
        self.row.measure
    }
}

/// Samples of stacks in each part of the time.
fn parts<'s>(stacks: impl Iterator<Item = &'s FlameStack>) -> [u64; FlameRow::PARTS] {
    let mut sums = [0; FlameRow::PARTS];
    for stack in stacks {
        for (sum, part) in sums.iter_mut().zip(&stack.samples) {
            *sum += u64::from(*part);
        }
    }
    sums
}

fn share(name: &str, in_function: &[u64], all: &[u64]) -> FunctionShare {
    let samples: u64 = in_function.iter().sum();
    let whole: u64 = all.iter().sum();
    let share = samples as f64 / whole.max(1) as f64;
    FunctionShare {
        name: name.to_owned(),
        samples,
        share,
        interval: interval(in_function, all),
    }
}

/// The 95 % interval of a share, from the samples in each part and those of it.
fn interval(in_function: &[u64], all: &[u64]) -> Option<(f64, f64)> {
    let samples: u64 = in_function.iter().sum();
    let n = all.iter().sum::<u64>() as f64;
    let parts: Vec<(f64, f64)> = in_function
        .iter()
        .zip(all)
        .filter(|(_, all)| **all > 0)
        .map(|(in_function, all)| (*in_function as f64, *all as f64))
        .collect();
    if samples < ENOUGH || parts.len() < ENOUGH_PARTS {
        return None;
    }
    let p = samples as f64 / n;
    let degrees = parts.len() as f64 - 1.0;
    let variance = ratio_error(parts.into_iter(), p).powi(2);
    let binomial = p * (1.0 - p) / n;
    let effect = if binomial > 0.0 {
        (variance / binomial).max(1.0)
    } else {
        1.0
    };
    Some(wilson(p, n / effect, t_quantile(degrees)))
}

/// Wilson's interval of a share of `n` independent samples.
fn wilson(p: f64, n: f64, quantile: f64) -> (f64, f64) {
    let z = quantile * quantile / n;
    let middle = (p + z / 2.0) / (1.0 + z);
    let half = (z * (p * (1.0 - p) + z / 4.0)).sqrt() / (1.0 + z);
    ((middle - half).max(0.0), (middle + half).min(1.0))
}

#[cfg(test)]
mod tests {
    use rand::{RngExt as _, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;

    fn stack(stack: &str, samples: &[u32]) -> FlameStack {
        FlameStack {
            stack: stack.to_owned(),
            samples: samples.to_vec(),
        }
    }

    #[test]
    fn functions_are_told_by_their_own_samples() {
        let row = FlameRow {
            measure: MeasureId(2),
            operations: 3,
            frequency: 4_999,
            samples: 120,
            lost: 0,
            cut: 0,
            other: 20,
            by_thread: false,
            without_kernel: false,
            stacks: vec![
                stack("s;a;b", &[10, 10, 10, 10]),
                stack("s;a", &[10, 10, 10]),
                stack("s;c;b", &[0, 0, 0, 21]),
                stack("s;c", &[9]),
            ],
        };
        let functions = StackProfile::of(row).functions;
        let shares: Vec<(&str, u64)> = functions
            .iter()
            .map(|function| (function.name.as_str(), function.samples))
            .collect();
        assert_eq!(shares, [("b", 61), ("a", 30), ("c", 9)]);
        assert_eq!(functions[0].share, 0.61);
        let (low, high) = functions[0].interval.unwrap();
        assert!(low < 0.5 && high > 0.7, "{low} .. {high}");
        assert_eq!(functions[2].interval, None);
    }

    #[test]
    fn intervals_of_independent_samples_are_those_of_wilson() {
        // The score interval of 30 of 100 with a quantile of 1.96 (Newcombe 1998 has this formula).
        let (low, high) = wilson(0.3, 100.0, 1.96);
        assert!(
            (low - 0.2189).abs() < 1e-4 && (high - 0.3958).abs() < 1e-4,
            "{low} {high}"
        );
        let (low, high) = interval(&[10; 16], &[10; 16]).unwrap();
        assert!(low > 0.95 && high == 1.0, "{low} {high}");
    }

    /// True if the interval contains the mean: samples of operations, in each of which a function
    /// has a share of its own, `spread` apart from the mean `p`. An operation has `run` samples.
    fn simulated(p: f64, spread: f64, run: usize, samples: usize, rng: &mut ChaCha8Rng) -> bool {
        let (mut in_function, mut all) = ([0_u64; FlameRow::PARTS], [0_u64; FlameRow::PARTS]);
        let mut share = p;
        for number in 0..samples {
            if number.is_multiple_of(run) {
                let is_more: bool = rng.random_bool(0.5);
                share = if is_more { p + spread } else { p - spread };
            }
            let index = number * FlameRow::PARTS / samples;
            all[index] += 1;
            in_function[index] += u64::from(rng.random_bool(share));
        }
        interval(&in_function, &all).is_none_or(|(low, high)| (low..=high).contains(&p))
    }

    /// `docs/SIMULATIONS.md`, "Shares of samples", has the figures.
    #[test]
    fn intervals_contain_shares_of_dependent_samples() {
        let mut rng = ChaCha8Rng::seed_from_u64(20);
        let mut shares = Vec::new();
        for (p, spread, run, samples) in [
            (0.05, 0.0, 1, 400),
            (0.3, 0.0, 1, 200),
            (0.5, 0.0, 1, 200),
            (0.05, 0.05, 10, 1_000),
            (0.3, 0.25, 10, 1_000),
            (0.5, 0.4, 20, 1_000),
            (0.5, 0.5, 5, 400),
        ] {
            let runs = 2_000;
            let held = (0..runs).filter(|_| simulated(p, spread, run, samples, &mut rng));
            let percent = held.count() as f64 * 100.0 / f64::from(runs);
            shares.push((p, spread, run, samples, percent));
        }
        assert!(
            shares.iter().all(|case| (93.0..=99.5).contains(&case.4)),
            "{shares:?}"
        );
        // The check must be able to fail: as if the samples were independent, it does.
        let naive = |rng: &mut ChaCha8Rng| {
            let held = (0..500).filter(|_| {
                let runs = 50;
                let hits = (0..runs).filter(|_| rng.random_bool(0.5)).count() as f64;
                let (low, high) = wilson(hits / f64::from(runs), 1_000.0, 1.96);
                (low..=high).contains(&0.5)
            });
            held.count() as f64 / 5.0
        };
        assert!(naive(&mut rng) < 80.0);
        eprintln!("{shares:?}");
    }
}
