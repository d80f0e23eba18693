//! Detectors: how often they find an existing effect, and how often they find one by chance.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

use crate::diagnose::drift::growth;
use crate::diagnose::line::{LinePoint, line};
use crate::diagnose::modes::modes;
use crate::diagnose::period::period;

const RUNS: u64 = 400;

/// Share of simulations, in percent, in which that is so.
fn share(is_so: impl Fn(&mut ChaCha8Rng) -> bool) -> f64 {
    let hits = (0..RUNS).filter(|seed| is_so(&mut ChaCha8Rng::seed_from_u64(*seed)));
    hits.count() as f64 * 100.0 / RUNS as f64
}

fn normal(rng: &mut ChaCha8Rng) -> f64 {
    StandardNormal.sample(rng)
}

fn sorted(mut values: Vec<u64>) -> Vec<(u64, u64)> {
    values.sort_unstable();
    values.into_iter().map(|value| (value, 1)).collect()
}

/// Times around 1 ms, of which a share is multiplied by `times`.
fn mixture(n: u64, (share, times): (f64, f64), rng: &mut ChaCha8Rng) -> Vec<(u64, u64)> {
    let value = |_| {
        let slow = if rng.random::<f64>() < share {
            times
        } else {
            1.0
        };
        (1e6 * slow * (0.2 * normal(rng)).exp()) as u64
    };
    sorted((0..n).map(value).collect())
}

#[test]
fn two_modes_are_found_and_one_is_not_taken_for_two() {
    for (n, mixed) in [(100, (0.2, 10.0)), (400, (0.1, 4.0)), (1_000, (0.07, 4.0))] {
        let found = share(|rng| modes(&mixture(n, mixed, rng)).is_some());
        assert!(found >= 95.0, "{n} {mixed:?}: {found} %");
    }
    for n in [50, 100, 1_000, 20_000] {
        let one = share(|rng| modes(&mixture(n, (0.0, 1.0), rng)).is_some());
        assert!(one <= 1.0, "{n}: {one} %");
        // Heavier and heavier tails are no second mode.
        let tail = share(|rng| {
            let value = |_| (1e6 / rng.random::<f64>().max(1e-6)) as u64;
            modes(&sorted((0..n).map(value).collect())).is_some()
        });
        assert!(tail <= 1.0, "{n}: {tail} %");
    }
    // Two per cent are no mode, however far away.
    let few = share(|rng| modes(&mixture(1_000, (0.02, 50.0), rng)).is_some());
    assert!(few <= 1.0, "{few} %");
}

#[test]
fn modes_are_where_they_are() {
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let (quick, slow) = modes(&mixture(10_000, (0.3, 40.0), &mut rng)).unwrap();
    assert!((quick.share - 0.7).abs() < 0.02 && (slow.share - 0.3).abs() < 0.02);
    assert!((quick.median / 1e6 - 1.0).abs() < 0.02, "{quick:?}");
    assert!((slow.median / 40e6 - 1.0).abs() < 0.02, "{slow:?}");
    assert_eq!(modes(&[]), None);
    assert_eq!(modes(&[(0, 1_000)]), None);
    assert!(modes(&[(0, 500), (u64::MAX, 500)]).is_some());
}

/// Means of parts of a run, neighbours alike by `rho`, that grows by a share.
fn parts((sigma, rho, grows): (f64, f64, f64), rng: &mut ChaCha8Rng) -> Vec<f64> {
    let mut state = normal(rng);
    let part = |index: i32| {
        state = rho * state + (1.0 - rho * rho).sqrt() * normal(rng);
        sigma * state + (1.0 + grows * f64::from(index) / 23.0).ln()
    };
    (0..24).map(part).collect()
}

#[test]
fn growth_is_found_and_noise_is_not_taken_for_it() {
    for process in [(0.05, 0.0, 0.3), (0.1, 0.0, 0.6), (0.05, 0.3, 0.5)] {
        let found = share(|rng| growth(&parts(process, rng), 1e-3).is_some_and(|by| by > 0.15));
        assert!(found >= 90.0, "{process:?}: {found} %");
    }
    for process in [(0.1, 0.0, 0.0), (0.1, 0.5, 0.0), (0.1, 0.8, 0.0)] {
        let found = share(|rng| growth(&parts(process, rng), 1e-3).is_some());
        assert!(found <= 2.0, "{process:?}: {found} %");
    }
    let falls = share(|rng| growth(&parts((0.05, 0.0, -0.5), rng), 1e-3).is_some());
    assert_eq!(falls, 0.0);
}

#[test]
fn growth_is_as_much_as_it_is() {
    let straight: Vec<f64> = (0..24)
        .map(|index| f64::from(index) / 23.0 * 2.0_f64.ln())
        .collect();
    assert!((growth(&straight, 1e-3).unwrap() - 1.0).abs() < 1e-9);
    assert_eq!(growth(&[0.0; 24], 1e-3), None);
    assert_eq!(growth(&straight[..9], 1e-3), None, "too few parts");
    assert_eq!(growth(&[], 1e-3), None);
}

#[test]
fn periods_are_found_and_chance_is_not_taken_for_one() {
    let regular = |(n, jitter, missed): (u64, f64, f64), rng: &mut ChaCha8Rng| {
        let all: Vec<u64> = (1..=n).filter(|_| rng.random::<f64>() >= missed).collect();
        let spell = |at: u64| {
            let begin = at as f64 + jitter * normal(rng);
            (begin, begin + 0.3)
        };
        all.into_iter().map(spell).collect::<Vec<_>>()
    };
    for (kind, wanted) in [((14, 0.03, 0.0), 99.0), ((40, 0.05, 0.05), 90.0)] {
        let found = share(|rng| {
            period(&regular(kind, rng)).is_some_and(|found| (found.every - 1.0).abs() < 0.2)
        });
        assert!(found >= wanted, "{kind:?}: {found} %");
    }
    // However long a slow operation lasts: the next one comes when it comes.
    for (n, lasts) in [(9, 0.0), (20, 0.1), (20, 10.0), (200, 10.0)] {
        let by_chance = share(|rng| {
            let mut at = 0.0;
            let spell = |_| {
                let begin = at - rng.random::<f64>().max(1e-9).ln();
                at = begin + lasts;
                (begin, at)
            };
            period(&(0..n).map(spell).collect::<Vec<_>>()).is_some()
        });
        assert!(by_chance <= 0.5, "{n}: {by_chance} %");
    }
    assert_eq!(period(&[(1.0, 1.0); 20]), None, "all at once");
    assert_eq!(period(&[]), None);
}

#[test]
fn a_line_is_found_again_and_its_interval_covers() {
    let sizes = [10.0, 100.0, 1_000.0, 10_000.0];
    let covered = share(|rng| {
        let points = sizes.map(|size| {
            let truth: f64 = 200e3 + 40e3 * size;
            let error = 0.03 * truth;
            LinePoint {
                size,
                mean: truth + error * normal(rng),
                error,
            }
        });
        let found = line(&points).unwrap();
        (found.slope.0 - 40e3).abs() <= found.slope.1
    });
    assert!(covered >= 92.0, "{covered} %");
    // Each size was measured in a run that is some percent off, which its record does not show: as
    // the line assumes, and worse.
    for (sizes, off, least) in [
        (3, 0.03, 93.0),
        (4, 0.03, 93.0),
        (3, 0.06, 84.0),
        (4, 0.06, 84.0),
    ] {
        let covered = share(|rng| {
            let points = sizes_of(sizes).map(|size| {
                let truth: f64 = 200e3 + 40e3 * size;
                LinePoint {
                    size,
                    mean: truth * (1.0 + off * normal(rng)),
                    error: 0.005 * truth,
                }
            });
            let found = line(&points.collect::<Vec<_>>()).unwrap();
            (found.slope.0 - 40e3).abs() <= found.slope.1
        });
        println!("{sizes} sizes {off} off: {covered} %");
        assert!(covered >= least, "{sizes} sizes, {off} off: {covered} %");
    }
    let point = |size| LinePoint {
        size,
        mean: 5.0,
        error: 1.0,
    };
    assert_eq!(
        line(&[point(1.0), point(2.0)]),
        None,
        "any line goes through two"
    );
    assert_eq!(line(&[point(3.0); 3]), None);
}

fn sizes_of(n: i32) -> impl Iterator<Item = f64> {
    (1..=n).map(|power| 10.0_f64.powi(power))
}

#[test]
fn the_interval_of_a_slope_follows_the_points_without_a_jump() {
    // The last but one point is moved off the line step by step.
    let half = |off: f64| {
        let points = sizes_of(4).map(|size| LinePoint {
            size,
            mean: (200e3 + 40e3 * size) * (if size == 1e3 { 1.0 + off } else { 1.0 }),
            error: 0.0,
        });
        line(&points.collect::<Vec<_>>()).unwrap().slope.1
    };
    let halves: Vec<f64> = (0..400).map(|step| half(f64::from(step) * 0.001)).collect();
    let jump = halves.windows(2).map(|pair| pair[1] / pair[0]);
    let most = jump.fold(0.0, f64::max);
    assert!(most < 1.03, "{most}");
    assert!(halves[399] > 2.0 * halves[0], "{halves:?}");
}
