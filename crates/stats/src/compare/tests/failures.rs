//! Comparisons of failures where the truth is known. Seeded: same figures on every machine.

use super::super::*;
use super::simulated::{ROWS, Stream, judged, percent, row};

/// How the operations of a row fail.
#[derive(Debug, Clone, Copy)]
enum Fails {
    Never,
    /// Each independently, with this probability.
    Each(f64),
    /// In this share of the runs, this number of operations in a row.
    Bursts(f64, f64),
    /// All operations of this share of the runs.
    Wholly(f64),
}

impl Fails {
    /// The share that failed of the operations of a run.
    fn share(self, operations: usize, rng: &mut Stream) -> f64 {
        match self {
            Fails::Never => 0.0,
            Fails::Each(chance) => {
                let failed = (0..operations).filter(|_| rng.chance(chance));
                failed.count() as f64 / operations as f64
            }
            Fails::Bursts(chance, size) => {
                let burst = (size / operations as f64).min(1.0);
                f64::from(u8::from(rng.chance(chance))) * burst
            }
            Fails::Wholly(chance) => f64::from(u8::from(rng.chance(chance))),
        }
    }
}

/// Verdicts on the failures of 23 rows, each of which has times without a difference, too.
fn failure_verdicts(
    pairs: usize,
    operations: usize,
    first: [Fails; 2],
    others: Fails,
    seed: u64,
) -> Vec<Verdict> {
    let rng = &mut Stream::new(seed);
    let rows = (0..ROWS).map(|index| {
        let [a, b] = if index == 0 { first } else { [others; 2] };
        let share = |_| (a.share(operations, rng), b.share(operations, rng));
        let shares: Vec<(f64, f64)> = (0..pairs).map(share).collect();
        let means: Vec<f64> = (0..pairs).map(|_| rng.normal()).collect();
        let observed = Observations {
            medians: means.clone(),
            means,
            pooled: 0.0,
        };
        let is_always = |fails: Fails| matches!(fails, Fails::Wholly(1.0));
        let ratio = Ratio::new(&observed).filter(|_| !is_always(a) && !is_always(b));
        row(ratio, Failing::from_shares(&shares))
    });
    let verdict = |row: Compared| {
        row.failing
            .map_or(Verdict::NotCompared, |found| found.verdict)
    };
    judged(rows.collect()).into_iter().map(verdict).collect()
}

/// Comparisons in which both fail alike and some row is broken or repaired, in percent.
fn falsely_broken(pairs: usize, operations: usize, fails: Fails, times: u64) -> f64 {
    let is_wrong = |seed: &u64| {
        let verdicts = failure_verdicts(pairs, operations, [fails; 2], fails, *seed);
        verdicts
            .iter()
            .any(|verdict| matches!(verdict, Verdict::Broken | Verdict::Repaired))
    };
    percent((0..times).filter(is_wrong).count(), times)
}

/// How often a row that fails so with B only is broken, in percent.
fn surely_broken(pairs: usize, fails: Fails, times: u64) -> f64 {
    let is_found = |seed: &u64| {
        let first = [Fails::Never, fails];
        failure_verdicts(pairs, 10, first, Fails::Never, *seed)[0] == Verdict::Broken
    };
    percent((0..times).filter(is_found).count(), times)
}

/// Ways in which both servers fail alike.
const ALIKE: [(&str, usize, Fails); 6] = [
    ("1 operation in 100, of 100", 100, Fails::Each(0.01)),
    ("1 operation in 10, of 10", 10, Fails::Each(0.1)),
    (
        "bursts of 15 in 0.5 % of runs of 100",
        100,
        Fails::Bursts(0.005, 15.0),
    ),
    (
        "bursts of 15 in 0.5 % of runs of 10",
        10,
        Fails::Bursts(0.005, 15.0),
    ),
    (
        "bursts of 15 in 20 % of runs of 100",
        100,
        Fails::Bursts(0.2, 15.0),
    ),
    ("3 % of runs fail wholly", 10, Fails::Wholly(0.03)),
];

#[test]
fn failures_that_both_have_are_hardly_ever_a_difference() {
    for (name, operations, fails) in ALIKE {
        for pairs in [2, 5, 10] {
            let wrong = falsely_broken(pairs, operations, fails, 60);
            assert!(wrong <= 10.0, "{name}, {pairs} pairs: {wrong} %");
        }
    }
}

#[test]
fn what_always_fails_is_broken_and_what_fails_once_is_not() {
    for pairs in [2, 5, 10, 20] {
        assert_eq!(
            surely_broken(pairs, Fails::Wholly(1.0), 20),
            100.0,
            "{pairs}"
        );
    }
    // One half of the operations: that takes as many pairs as the p-value needs.
    assert_eq!(surely_broken(5, Fails::Each(0.5), 20), 0.0);
    assert!(surely_broken(12, Fails::Each(0.5), 40) >= 95.0);
}

#[test]
#[ignore = "nightly: prints tables of docs/SIMULATIONS.md"]
fn figures_of_simulations() {
    const TIMES: u64 = 5_000;
    for (name, operations, fails) in ALIKE {
        let wrong = [2, 5, 10, 20].map(|pairs| falsely_broken(pairs, operations, fails, TIMES));
        println!("| {name} | {wrong:.1?} |");
    }
    for (name, fails) in [
        ("always", Fails::Wholly(1.0)),
        ("1 operation in 2", Fails::Each(0.5)),
        ("1 operation in 10", Fails::Each(0.1)),
    ] {
        let found = [2, 5, 10, 20].map(|pairs| surely_broken(pairs, fails, 1_000));
        println!("| fails with B: {name} | {found:.1?} |");
    }
}
