//! How often intervals for verdicts miss the truth, in simulated runs of which it is known.
//!
//! Of the operations of each family, mean and percentiles are estimated; a *wrong pass* is an interval below the
//! truth (a bound between both is broken, and the constraint passes), a *wrong fail* is one above it.

use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution as _, StandardNormal};
use statrs::function::erf::erf;

use crate::estimate;
use crate::times::Times;

const MISS: f64 = 0.002;

/// A family of operations: how times follow each other, and how they are distributed.
#[derive(Debug, Clone, Copy)]
struct Family {
    name: &'static str,
    /// Correlation of neighbours, before they get their distribution.
    rho: f64,
    shape: Shape,
}

#[derive(Debug, Clone, Copy)]
enum Shape {
    Exponential,
    /// The standard deviation of the logarithm.
    LogNormal(f64),
    /// One operation of a hundred is fifty times slower.
    TwoModes,
    /// So many of a thousand fail.
    Failing(f64),
}

const FAMILIES: [Family; 6] = [
    Family {
        name: "exponential",
        rho: 0.0,
        shape: Shape::Exponential,
    },
    Family {
        name: "log-normal, sigma 1",
        rho: 0.0,
        shape: Shape::LogNormal(1.0),
    },
    Family {
        name: "log-normal, sigma 1.5",
        rho: 0.0,
        shape: Shape::LogNormal(1.5),
    },
    Family {
        name: "two modes",
        rho: 0.0,
        shape: Shape::TwoModes,
    },
    Family {
        name: "correlated, 0.5",
        rho: 0.5,
        shape: Shape::LogNormal(0.5),
    },
    Family {
        name: "correlated, 0.9",
        rho: 0.9,
        shape: Shape::LogNormal(0.5),
    },
];

impl Family {
    fn mean(self) -> f64 {
        match self.shape {
            Shape::Exponential => 1.0,
            Shape::LogNormal(sigma) => (sigma * sigma / 2.0).exp(),
            Shape::TwoModes => 0.99 + 0.01 * 50.0,
            Shape::Failing(per_mille) => per_mille / 1000.0,
        }
    }

    /// So many operations: the probability with which each is exceeded by none, and its time.
    fn run(self, rng: &mut ChaCha8Rng, n: usize) -> Vec<(f64, f64)> {
        let mut z: f64 = StandardNormal.sample(rng);
        let mut next = || {
            let new: f64 = StandardNormal.sample(rng);
            z = self.rho * z + (1.0 - self.rho * self.rho).sqrt() * new;
            let u = 0.5 * (1.0 + erf(z / std::f64::consts::SQRT_2));
            let time = match self.shape {
                Shape::Exponential => -(1.0 - u).ln(),
                Shape::LogNormal(sigma) => (sigma * z).exp(),
                Shape::TwoModes if u > 0.99 => 50.0,
                Shape::TwoModes => 1.0 - 0.005 + 0.01 * rng.random::<f64>(),
                Shape::Failing(per_mille) => f64::from(u8::from(u > 1.0 - per_mille / 1000.0)),
            };
            (u, time)
        };
        (0..n).map(|_| next()).collect()
    }
}

/// Of so many runs.
#[derive(Debug, Clone, Copy, Default)]
struct Misses {
    wrong_pass: u32,
    wrong_fail: u32,
    /// No interval.
    none: u32,
    runs: u32,
}

impl Misses {
    fn add(&mut self, interval: Option<(f64, f64)>, truth: f64) {
        self.runs += 1;
        match interval {
            None => self.none += 1,
            Some((low, _)) if low > truth => self.wrong_fail += 1,
            Some((_, high)) if high < truth => self.wrong_pass += 1,
            Some(_) => {}
        }
    }

    fn per_mille(self, count: u32) -> f64 {
        f64::from(count) * 1000.0 / f64::from(self.runs)
    }

    /// More than one in a thousand, beyond chance: three standard errors.
    fn is_too_often(self, allowed: f64) -> bool {
        let expected = f64::from(self.runs) * allowed / 1000.0;
        let limit = expected + 3.0 * expected.sqrt() + 1.0;
        f64::from(self.wrong_pass.max(self.wrong_fail)) > limit
    }
}

/// In units of which the time 1 has so many.
const UNIT: f64 = 1e6;

/// The intervals of a statistic over runs of a family: of the mean, or of a percentile in parts per million.
fn misses(family: Family, percentile: Option<u32>, n: usize, runs: u32) -> Misses {
    let mut rng = ChaCha8Rng::seed_from_u64(n as u64 + u64::from(percentile.unwrap_or(7)));
    let mut misses = Misses::default();
    for _ in 0..runs {
        let run = family.run(&mut rng, n);
        match percentile {
            None => {
                let values: Vec<f64> = run.iter().map(|(_, time)| *time).collect();
                misses.add(estimate::mean(&values, MISS), family.mean());
            }
            // Ranks are all that counts, so every distribution is as good as the uniform one.
            Some(ppm) => {
                let mut times = Times::default();
                for (moment, (u, _)) in (0..).zip(&run) {
                    times.add(moment, (u * UNIT) as u64);
                }
                let truth = f64::from(ppm) / 1e6 * UNIT;
                misses.add(times.percentile_interval(ppm, MISS), truth);
            }
        }
    }
    misses
}

/// The intervals of a share of failures.
fn misses_of_share(per_mille: f64, rho: f64, n: usize, runs: u32) -> Misses {
    let family = Family {
        name: "failing",
        rho,
        shape: Shape::Failing(per_mille),
    };
    let mut rng = ChaCha8Rng::seed_from_u64(n as u64);
    let mut misses = Misses::default();
    for _ in 0..runs {
        let run = family.run(&mut rng, n);
        let batches = run.chunks(n.div_ceil(20)).map(|batch| {
            let failed = batch.iter().filter(|(_, failed)| *failed > 0.5).count();
            (failed as u64, batch.len() as u64)
        });
        let batches: Vec<(u64, u64)> = batches.collect();
        misses.add(estimate::share(&batches, MISS), family.mean());
    }
    misses
}

#[test]
fn intervals_for_verdicts_rarely_miss() {
    for family in FAMILIES {
        let found = misses(family, None, 1000, 800);
        // What a family does beyond one in a thousand stands in METHODOLOGY.
        assert!(!found.is_too_often(2.0), "mean, {}: {found:?}", family.name);
    }
    for ppm in [500_000, 900_000, 990_000] {
        for family in [FAMILIES[0], FAMILIES[4]] {
            let found = misses(family, Some(ppm), 2000, 400);
            assert!(
                !found.is_too_often(1.0),
                "{ppm} ppm, {}: {found:?}",
                family.name
            );
            assert!(found.none < 40, "{ppm} ppm, {}: {found:?}", family.name);
        }
    }
    for per_mille in [1.0, 10.0, 100.0] {
        let found = misses_of_share(per_mille, 0.0, 1000, 800);
        assert!(!found.is_too_often(1.0), "{per_mille} per mille: {found:?}");
    }
}

/// The intervals are not so wide that they decide nothing.
#[test]
fn intervals_for_verdicts_are_narrow_enough_to_decide() {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let half = |n: usize, rng: &mut ChaCha8Rng| {
        let values: Vec<f64> = FAMILIES[0]
            .run(rng, n)
            .into_iter()
            .map(|(_, time)| time)
            .collect();
        let (low, high) = estimate::mean(&values, MISS).unwrap();
        (high - low) / 2.0
    };
    assert!(half(1000, &mut rng) < 0.25);
    assert!(half(10_000, &mut rng) < 0.06);
}

#[test]
fn few_operations_and_those_that_depend_on_each_other_have_none() {
    assert_eq!(estimate::mean(&[1.0; 99], MISS), None);
    assert_eq!(estimate::mean(&[1.0; 100], MISS), Some((1.0, 1.0)));
    let waves: Vec<f64> = (0..1000)
        .map(|i| (f64::from(i) / 30.0).sin() + 2.0)
        .collect();
    assert_eq!(estimate::mean(&waves, MISS), None);
    // No failure of a thousand: at most 6.9 of a thousand, ln 1000 over their number.
    let (low, high) = estimate::share(&[(0, 50); 20], MISS).unwrap();
    assert!(low == 0.0 && (high - 0.0069).abs() < 1e-4, "{high}");
    assert_eq!(estimate::share(&[(0, 10); 9], MISS), None);
    // p99 of 400 operations has four beyond it.
    assert_eq!(estimate::percentile(&[(20, 20); 20], 990_000, MISS), None);
}

/// `cargo test --release -p prestan-stats -- --ignored --nocapture rates_of_wrong_verdicts`
#[test]
#[ignore = "takes minutes; its table is in METHODOLOGY"]
fn rates_of_wrong_verdicts() {
    let runs = 20_000;
    let print = |what: &str, n: usize, found: Misses| {
        println!(
            "| {what} | {n} | {:.2} | {:.2} | {:.0} % |",
            found.per_mille(found.wrong_pass),
            found.per_mille(found.wrong_fail),
            found.per_mille(found.none) / 10.0
        );
    };
    for family in FAMILIES {
        for n in [100, 300, 1000, 5000] {
            print(
                &format!("mean, {}", family.name),
                n,
                misses(family, None, n, runs),
            );
        }
    }
    for ppm in [500_000, 900_000, 990_000] {
        for family in [FAMILIES[0], FAMILIES[4], FAMILIES[5]] {
            for n in [300, 1000, 5000] {
                let what = format!("p{}, {}", ppm / 10_000, family.name);
                print(&what, n, misses(family, Some(ppm), n, runs));
            }
        }
    }
    for (per_mille, rho) in [(1.0, 0.0), (10.0, 0.0), (100.0, 0.0), (10.0, 0.9)] {
        for n in [300, 1000, 5000] {
            let what = format!("failure rate {} %, correlation {rho}", per_mille / 10.0);
            print(&what, n, misses_of_share(per_mille, rho, n, runs));
        }
    }
}
