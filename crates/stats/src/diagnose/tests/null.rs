//! How often the rules say something of a server of which there is nothing to say.
//!
//! Of 200 runs of each kind of noise, all three suites in one. No rule may err in more than 2 % of
//! them, and they err in:
//!
//! ```text
//! log-normal, sigma 0.03, 0.3 or 0.6           none
//! AR(1) with 0.5, sigma 0.3                    none
//! AR(1) with 0.9, sigma 0.3                    4 grows-over-the-run
//! one of a hundred up to 100 times as long     none
//! ```

use std::collections::BTreeMap;

use super::simulated::{Noise, material, plain, run};
use crate::diagnose::diagnose;

const RUNS: u64 = 200;

/// How often each rule said something.
fn mistakes(noise: Noise) -> BTreeMap<&'static str, u64> {
    let mut said: BTreeMap<&str, u64> = BTreeMap::new();
    for seed in 0..RUNS {
        let found = diagnose(&[material(&run(&plain(), noise, 1, seed))]).findings;
        for finding in found {
            *said.entry(finding.rule).or_default() += 1;
        }
    }
    said
}

fn are_few(noise: Noise) {
    let said = mistakes(noise);
    println!("{noise:?}: {said:?}");
    let too_often = said.values().any(|count| *count > RUNS / 50);
    assert!(!too_often, "{noise:?}: {said:?} of {RUNS}");
}

#[test]
fn little_is_said_by_mistake_of_independent_times() {
    are_few(Noise::LogNormal(0.03));
    are_few(Noise::LogNormal(0.3));
    are_few(Noise::LogNormal(0.6));
}

#[test]
fn little_is_said_by_mistake_of_correlated_times() {
    are_few(Noise::Correlated(0.3, 0.5));
    are_few(Noise::Correlated(0.3, 0.9));
}

#[test]
fn little_is_said_by_mistake_of_a_heavy_tail() {
    are_few(Noise::HeavyTail(0.3));
}
