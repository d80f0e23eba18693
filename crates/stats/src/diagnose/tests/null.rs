//! False findings on servers without a fault. `docs/SIMULATIONS.md`, "Diagnosis", has the figures.
//!
//! All four suites in one run, measured twice: findings are those that both show, and those that
//! the first shows alone are *seen once*. No rule may err in more than 2 % of the runs.

use std::collections::BTreeMap;

use super::simulated::{Noise, Path, material, plain, run_over};
use crate::diagnose::diagnose;

/// Runs of each kind in the tests of every day, and at night.
const FEW: u64 = 10;
const MANY: u64 = 200;

/// Kinds of noise and of paths.
const KINDS: [(Path, Noise); 9] = [
    (Path::Loopback, Noise::LogNormal(0.03)),
    (Path::Loopback, Noise::LogNormal(0.3)),
    (Path::Loopback, Noise::LogNormal(0.6)),
    (Path::Loopback, Noise::Correlated(0.3, 0.5)),
    (Path::Loopback, Noise::Correlated(0.3, 0.9)),
    (Path::Loopback, Noise::HeavyTail(0.3)),
    (Path::Floor(5_000.0), Noise::LogNormal(0.3)),
    (Path::Floor(60_000.0), Noise::HeavyTail(0.3)),
    (Path::Wireless, Noise::LogNormal(0.3)),
];

type Counts = BTreeMap<&'static str, u64>;

/// Findings of each rule after two runs, and after the first.
fn mistakes((path, noise): (Path, Noise), runs: u64) -> (Counts, Counts) {
    let (mut found, mut seen): (Counts, Counts) = Default::default();
    let once = |seed| material(&run_over(path, &plain(), noise, 1, seed));
    for seed in 0..runs {
        let first = once(2 * seed);
        for one in diagnose(std::slice::from_ref(&first)).seen_once {
            *seen.entry(one.rule).or_default() += 1;
        }
        for one in diagnose(&[first, once(2 * seed + 1)]).findings {
            *found.entry(one.rule).or_default() += 1;
        }
    }
    (found, seen)
}

fn are_few(runs: u64) {
    let mut wrong = Vec::new();
    for kind in KINDS {
        let (found, seen) = mistakes(kind, runs);
        println!("{kind:?} of {runs}: found {found:?}, seen once {seen:?}");
        let too_often = |counts: &Counts, most: u64| counts.values().any(|count| *count > most);
        if too_often(&found, runs / 50) || too_often(&seen, runs / 25) {
            wrong.push((kind, found, seen));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn little_is_said_by_mistake() {
    are_few(FEW);
}

#[test]
#[ignore = "nightly: some minutes"]
fn little_is_said_by_mistake_of_many_runs() {
    are_few(MANY);
}
