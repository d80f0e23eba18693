//! Growth where the law is known. Seeded: the figures are the same on every machine.
//!
//! Share of intervals that contain the truth (nominal 95 %), of 1000 sweeps over four widths and
//! two depths, five repeats, 3 % noise and a machine that drifts by 10 %:
//!
//! ```text
//! ratio of an effect                     95.2
//! exponent, linear                       95.3
//! exponent, of a square root             95.2
//! cost of each, linear                   95.2
//! base, linear                           93.4
//! ```

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

use super::*;

#[derive(Debug, Clone, Copy)]
struct Truth {
    base: f64,
    /// Cost of each member of the width, and its exponent.
    width: (f64, f64),
    /// Cost of each level of the depth, and its exponent.
    depth: (f64, f64),
    /// Standard deviation of the logarithm.
    noise: f64,
}

const FLAT: Truth = Truth {
    base: 200e3,
    width: (0.0, 1.0),
    depth: (0.0, 1.0),
    noise: 0.03,
};

const LINEAR: Truth = Truth {
    width: (38e3, 1.0),
    ..FLAT
};

fn values() -> Vec<Vec<f64>> {
    vec![vec![10.0, 30.0, 100.0, 300.0], vec![2.0, 10.0]]
}

impl Truth {
    fn at(self, width: f64, depth: f64) -> f64 {
        let part = |(per_unit, exponent): (f64, f64), x: f64| per_unit * x.powf(exponent);
        self.base + part(self.width, width) + part(self.depth, depth)
    }

    fn runs(self, values: &[Vec<f64>], repeats: usize, seed: u64) -> Vec<Observation> {
        let rng = &mut ChaCha8Rng::seed_from_u64(seed);
        let mut normal = || -> f64 { StandardNormal.sample(rng) };
        let mut runs = Vec::new();
        for repeat in 0..repeats {
            let machine = 0.1 * normal();
            for (i, width) in values[0].iter().enumerate() {
                for (j, depth) in values[1].iter().enumerate() {
                    let noise = (machine + self.noise * normal()).exp();
                    runs.push(Observation {
                        levels: vec![i, j],
                        repeat,
                        mean: self.at(*width, *depth) * noise,
                    });
                }
            }
        }
        runs
    }

    fn growth(self, seed: u64) -> Growth {
        let growth = growth(&values(), &[self.runs(&values(), 5, seed)], 0.05);
        growth.into_iter().next().unwrap()
    }
}

const TIMES: u64 = 1000;

fn covered(is_hit: impl Fn(u64) -> bool) -> f64 {
    let hits = (0..TIMES).filter(|seed| is_hit(*seed)).count();
    hits as f64 / TIMES as f64 * 100.0
}

fn contains((low, high): (f64, f64), truth: f64) -> bool {
    low <= truth && truth <= high
}

#[test]
fn intervals_contain_the_truth_as_often_as_they_say() {
    let curved = Truth {
        width: (500e3, 0.5),
        ..FLAT
    };
    let ratio = |truth: Truth, seed| {
        let effect = truth.growth(seed).effects[0].clone().unwrap();
        // The ratio of every depth, and the mean of these logarithms.
        let of = |depth| (truth.at(300.0, depth) / truth.at(10.0, depth)).ln();
        contains(effect.ci95, f64::midpoint(of(2.0), of(10.0)).exp())
    };
    let exponent = |truth: Truth, seed| {
        let law = truth.growth(seed).law.unwrap();
        contains(law.terms[0].found.unwrap().ci95, truth.width.1)
    };
    let cost = |seed| {
        contains(
            LINEAR.growth(seed).law.unwrap().terms[0].per_unit.ci95,
            38e3,
        )
    };
    let base = |seed| contains(LINEAR.growth(seed).law.unwrap().base.ci95, 200e3);
    let table = [
        ("ratio", covered(|seed| ratio(LINEAR, seed))),
        ("no ratio", covered(|seed| ratio(FLAT, seed))),
        ("linear exponent", covered(|seed| exponent(LINEAR, seed))),
        ("curved exponent", covered(|seed| exponent(curved, seed))),
        ("cost", covered(cost)),
        ("base", covered(base)),
    ];
    for (what, covered) in table {
        assert!((93.0..=97.0).contains(&covered), "{what}: {covered:.1} %");
    }
}

#[test]
fn what_grows_is_told_from_what_does_not() {
    for seed in 0..20 {
        let growth = LINEAR.growth(seed);
        let [Some(width), Some(depth)] = &growth.effects[..] else {
            panic!("{growth:?}");
        };
        assert_eq!(width.verdict, Growing::Grows, "{growth:?}");
        assert_ne!(depth.verdict, Growing::Grows, "{growth:?}");
        let law = growth.law.unwrap();
        assert_eq!((law.terms.len(), law.terms[0].of), (1, 0));
        assert_eq!(law.terms[0].shape, Shape::Linear, "{law:?}");
        assert!(
            (law.terms[0].per_unit.value / 38e3 - 1.0).abs() < 0.1,
            "{law:?}"
        );
    }
}

#[test]
fn shapes_are_told_apart() {
    let table = [
        ((38e3, 1.0), Shape::Linear),
        ((1e3, 2.0), Shape::More),
        ((500e3, 0.5), Shape::Less),
        ((20e6, -1.0), Shape::Falling),
    ];
    for (width, shape) in table {
        let law = Truth { width, ..FLAT }.growth(7).law.unwrap();
        let term = &law.terms[0];
        assert_eq!(term.shape, shape, "{law:?}");
        assert!((term.found.unwrap().value - width.1).abs() < 0.2, "{law:?}");
        assert!(law.misfit < 0.05 && !law.missed, "{law:?}");
    }
}

#[test]
fn what_falls_between_two_values_falls_in_the_law() {
    // A depth over which work is shared, of which two values are known.
    let shared = Truth {
        depth: (4e6, -1.0),
        ..LINEAR
    };
    let law = shared.growth(3).law.unwrap();
    let [width, depth] = &law.terms[..] else {
        panic!("{law:?}");
    };
    assert_eq!(
        (depth.shape, depth.exponent, depth.found),
        (Shape::Falling, -1.0, None)
    );
    assert!(
        contains(depth.per_unit.ci95, 4e6) && depth.per_unit.value > 3e6,
        "{law:?}"
    );
    assert!(
        contains(width.per_unit.ci95, 38e3) && !law.missed,
        "{law:?}"
    );

    // Alone; and where it begins at zero, no power describes it.
    let two = |first: f64| vec![vec![first, 10.0], vec![2.0]];
    let falls = |values: &[Vec<f64>]| {
        let falling = |run: Observation| Observation {
            mean: if run.levels[0] == 0 { 2.0 } else { 1.0 } * run.mean,
            ..run
        };
        let runs = FLAT.runs(values, 5, 1).into_iter().map(falling);
        growth(values, &[runs.collect()], 0.05).remove(0)
    };
    let alone = falls(&two(2.0));
    assert_eq!(alone.effects[0].as_ref().unwrap().verdict, Growing::Falls);
    let law = alone.law.unwrap();
    assert!(
        law.misfit < 0.01 && law.terms[0].per_unit.value > 0.0,
        "{law:?}"
    );
    let from_zero = falls(&two(0.0));
    assert_eq!(
        from_zero.effects[0].as_ref().unwrap().verdict,
        Growing::Falls
    );
    assert_eq!(from_zero.law, None);
}

#[test]
fn two_parameters_add_up() {
    let both = Truth {
        depth: (60e3, 1.0),
        ..LINEAR
    };
    let wide = vec![vec![1.0, 10.0, 50.0], vec![1.0, 10.0, 50.0]];
    let rows = [both.runs(&wide, 5, 3)];
    let growth = growth(&wide, &rows, 0.05).remove(0);
    let law = growth.law.unwrap();
    assert!(law.terms.iter().all(|term| term.shape == Shape::Linear));
    let costs: Vec<f64> = law.terms.iter().map(|term| term.per_unit.value).collect();
    assert!((costs[0] / 38e3 - 1.0).abs() < 0.15, "{law:?}");
    assert!((costs[1] / 60e3 - 1.0).abs() < 0.15, "{law:?}");
    assert!(contains(law.base.ci95, 200e3), "{law:?}");
}

#[test]
fn a_law_that_is_none_is_said_to_miss() {
    let mut runs = LINEAR.runs(&values(), 5, 4);
    for run in runs.iter_mut().filter(|run| run.levels[0] == 1) {
        run.mean *= 2.0;
    }
    let law = growth(&values(), &[runs], 0.05).remove(0).law.unwrap();
    assert!(law.missed && law.misfit > 0.1, "{law:?}");
    // Noise is no reason.
    let noisy = Truth {
        noise: 0.3,
        ..LINEAR
    };
    let law = noisy.growth(4).law.unwrap();
    assert!(!law.missed, "{law:?}");
}

#[test]
fn nothing_is_hardly_ever_called_something() {
    // Sweeps of twenty rows: 5 % of them may have a false alarm.
    let wrong = (0..100_u64).filter(|sweep| {
        let rows: Vec<Vec<Observation>> = (0..20)
            .map(|row| FLAT.runs(&values(), 3, sweep * 100 + row))
            .collect();
        // However little, it would count.
        let found = growth(&values(), &rows, 0.0);
        let effects = found.iter().flat_map(|row| row.effects.iter().flatten());
        effects.into_iter().any(|effect| effect.verdict.matters())
    });
    let wrong = wrong.count();
    assert!(wrong <= 10, "{wrong}");
    let quiet = Truth {
        noise: 0.005,
        ..FLAT
    };
    let effects = quiet.growth(1).effects;
    let verdicts: Vec<Growing> = effects
        .iter()
        .flatten()
        .map(|effect| effect.verdict)
        .collect();
    assert_eq!(verdicts, [Growing::Not, Growing::Not]);
}

#[test]
fn a_hump_is_not_nothing() {
    let mut runs = FLAT.runs(&values(), 5, 5);
    for run in runs.iter_mut().filter(|run| run.levels[0] == 2) {
        run.mean *= 1.5;
    }
    let found = growth(&values(), &[runs], 0.05).remove(0);
    assert_eq!(
        found.effects[0].as_ref().unwrap().verdict,
        Growing::Inconclusive
    );
}

#[test]
fn too_little_is_no_answer_and_odd_runs_are_no_panic() {
    let values = values();
    let all = LINEAR.runs(&values, 5, 9);
    let seen = |runs: &[Observation]| growth(&values, &[runs.to_vec()], 0.05).remove(0);
    assert_eq!(seen(&[]).effects, [None, None]);
    assert_eq!(seen(&all[..1]).law, None);
    // One repeat has no noise to hold it against.
    assert_eq!(seen(&all[..8]).effects, [None, None]);
    // One at a time, and some runs missing.
    let one_at_a_time: Vec<Observation> = all
        .iter()
        .filter(|run| run.levels[0] == 0 || run.levels[1] == 0)
        .filter(|run| run.repeat != 3 || run.levels[0] != 2)
        .cloned()
        .collect();
    let found = seen(&one_at_a_time);
    assert_eq!(found.effects[0].as_ref().unwrap().verdict, Growing::Grows);
    assert!(found.law.is_some());
    let mut odd = all.clone();
    for (run, mean) in odd.iter_mut().zip([0.0, -1.0, f64::NAN, 1e300, 1e-300]) {
        run.mean = mean;
    }
    seen(&odd);
    let same: Vec<Observation> = all
        .into_iter()
        .map(|run| Observation { mean: 5e5, ..run })
        .collect();
    let verdicts = seen(&same).effects;
    assert!(
        verdicts
            .iter()
            .flatten()
            .all(|effect| effect.verdict == Growing::Not)
    );
}
