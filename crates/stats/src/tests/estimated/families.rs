//! Servers whose times have a known mean, standard deviation and percentiles.

use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution as _, Exp1, StandardNormal};
use record::Nanos;
use statrs::distribution::{ContinuousCDF as _, Normal};

use crate::times::Times;

/// Times of a row; those of a value of 1 are 1 ms.
#[derive(Debug, Clone, Copy)]
pub(super) enum TimesFamily {
    /// Independent and exponential.
    Exponential,
    /// Independent, between 0.5 and 1.5.
    Uniform,
    /// Independent and normal, with a standard deviation of 0.2.
    Normal,
    /// Independent, log-normal with this standard deviation of the logarithm.
    LogNormal(f64),
    /// One independent operation in a hundred is 50 times slower.
    Bimodal,
    /// Independent, with the tail of a Pareto distribution of index 2.5.
    Pareto,
    /// Log-normal with 0.5, and this correlation between neighbouring logarithms.
    Ar1(f64),
    /// After each 79 operations on average, 20 in a row are ten times slower.
    Bursts,
    /// Times rise by 20 % in the course of the run.
    Drift,
}

pub(super) const FAMILIES: [(&str, TimesFamily); 11] = [
    ("exponential", TimesFamily::Exponential),
    ("uniform", TimesFamily::Uniform),
    ("normal", TimesFamily::Normal),
    ("log-normal, sigma 1", TimesFamily::LogNormal(1.0)),
    ("log-normal, sigma 1.5", TimesFamily::LogNormal(1.5)),
    ("bimodal", TimesFamily::Bimodal),
    ("Pareto, index 2.5", TimesFamily::Pareto),
    ("AR(1), rho 0.5", TimesFamily::Ar1(0.5)),
    ("AR(1), rho 0.9", TimesFamily::Ar1(0.9)),
    ("bursts", TimesFamily::Bursts),
    ("drift", TimesFamily::Drift),
];

const SCALE: f64 = 1e6;
/// Standard deviation of the logarithm where the tail is elsewhere.
const NARROW: f64 = 0.3;
const INDEX: f64 = 2.5;
const BURST: u32 = 20;
const BURST_BEGINS: f64 = 1.0 / 80.0;
/// How much slower operations are: rarely, and in bursts.
const RARE: f64 = 50.0;
const PAUSED: f64 = 10.0;
/// Steps of a drift in which its truth is computed.
const STEPS: u32 = 1000;

fn log_normal_mean(sigma: f64) -> f64 {
    (sigma * sigma / 2.0).exp()
}

fn log_normal_cdf(x: f64, sigma: f64) -> f64 {
    Normal::standard().cdf(x.ln() / sigma)
}

/// The share of operations in bursts: their gaps have 79 operations on average.
fn share_of_bursts() -> f64 {
    let gap = 1.0 / BURST_BEGINS - 1.0;
    f64::from(BURST) / (f64::from(BURST) + gap)
}

impl TimesFamily {
    pub(super) fn run(self, n: usize, rng: &mut ChaCha8Rng) -> Times {
        let mut times = Times::default();
        let mut moment: Nanos = 7_777_777;
        let mut state: f64 = StandardNormal.sample(rng);
        let mut burst = if rng.random_bool(share_of_bursts()) {
            rng.random_range(1..=BURST)
        } else {
            0
        };
        for index in 0..n {
            let normal: f64 = StandardNormal.sample(rng);
            let narrow = || (NARROW * normal).exp();
            let relative = match self {
                TimesFamily::Exponential => Exp1.sample(rng),
                TimesFamily::Uniform => 0.5 + rng.random::<f64>(),
                TimesFamily::Normal => (1.0 + 0.2 * normal).max(0.0),
                TimesFamily::LogNormal(sigma) => (sigma * normal).exp(),
                TimesFamily::Bimodal if rng.random_bool(0.01) => RARE * narrow(),
                TimesFamily::Bimodal => narrow(),
                TimesFamily::Pareto => (1.0 - rng.random::<f64>()).powf(-1.0 / INDEX),
                TimesFamily::Ar1(rho) => {
                    state = rho * state + (1.0 - rho * rho).sqrt() * normal;
                    (0.5 * state).exp()
                }
                TimesFamily::Bursts => {
                    if burst == 0 && rng.random_bool(BURST_BEGINS) {
                        burst = BURST;
                    }
                    let is_paused = burst > 0;
                    burst = burst.saturating_sub(1);
                    narrow() * if is_paused { PAUSED } else { 1.0 }
                }
                TimesFamily::Drift => narrow() * (1.0 + 0.2 * (index as f64 + 0.5) / n as f64),
            };
            let time = (SCALE * relative) as Nanos;
            times.add(moment, time);
            moment += time.max(1);
        }
        times
    }

    /// The parts of a mixture of log-normal times: share, scale, deviation of the logarithm.
    fn parts(self) -> Vec<(f64, f64, f64)> {
        match self {
            TimesFamily::LogNormal(sigma) => vec![(1.0, 1.0, sigma)],
            TimesFamily::Ar1(_) => vec![(1.0, 1.0, 0.5)],
            TimesFamily::Bimodal => vec![(0.99, 1.0, NARROW), (0.01, RARE, NARROW)],
            TimesFamily::Bursts => {
                let paused = share_of_bursts();
                vec![(1.0 - paused, 1.0, NARROW), (paused, PAUSED, NARROW)]
            }
            TimesFamily::Drift => {
                let scale = |step| 1.0 + 0.2 * (f64::from(step) + 0.5) / f64::from(STEPS);
                let part = |step| (1.0 / f64::from(STEPS), scale(step), NARROW);
                (0..STEPS).map(part).collect()
            }
            _ => Vec::new(),
        }
    }

    /// The mean of the values to that power.
    fn moment(self, power: f64) -> f64 {
        match self {
            TimesFamily::Exponential => power,
            TimesFamily::Uniform => {
                (1.5_f64.powf(power + 1.0) - 0.5_f64.powf(power + 1.0)) / (power + 1.0)
            }
            TimesFamily::Normal => 1.0 + 0.04 * (power - 1.0),
            TimesFamily::Pareto => INDEX / (INDEX - power),
            _ => {
                let part = |(share, scale, sigma): (f64, f64, f64)| {
                    share * scale.powf(power) * log_normal_mean(power * sigma)
                };
                self.parts().into_iter().map(part).sum()
            }
        }
    }

    pub(super) fn mean(self) -> f64 {
        SCALE * self.moment(1.0)
    }

    pub(super) fn sd(self) -> f64 {
        SCALE * (self.moment(2.0) - self.moment(1.0).powi(2)).sqrt()
    }

    fn cdf(self, x: f64) -> f64 {
        match self {
            TimesFamily::Exponential => 1.0 - (-x).exp(),
            TimesFamily::Uniform => (x - 0.5).clamp(0.0, 1.0),
            TimesFamily::Normal => Normal::standard().cdf((x - 1.0) / 0.2),
            TimesFamily::Pareto => 1.0 - x.max(1.0).powf(-INDEX),
            _ => {
                let part = |(share, scale, sigma)| share * log_normal_cdf(x / scale, sigma);
                self.parts().into_iter().map(part).sum()
            }
        }
    }

    pub(super) fn percentile(self, ppm: u32) -> f64 {
        let (mut low, mut high) = (1e-6_f64, 1e6_f64);
        for _ in 0..80 {
            let middle = (low * high).sqrt();
            if self.cdf(middle) < f64::from(ppm) / 1e6 {
                low = middle;
            } else {
                high = middle;
            }
        }
        SCALE * low
    }
}

/// The truth is that of the runs.
#[test]
fn long_runs_have_the_true_values() {
    for (name, family) in FAMILIES {
        let mut rng = ChaCha8Rng::seed_from_u64(0xF00D);
        let found = family.run(400_000, &mut rng).describe().unwrap();
        let near = |found: f64, truth: f64, within: f64| {
            assert!(
                (found / truth - 1.0).abs() < within,
                "{name}: {found} for {truth}"
            );
        };
        near(found.mean, family.mean(), 0.03);
        near(found.p50 as f64, family.percentile(500_000), 0.02);
        near(found.p90 as f64, family.percentile(900_000), 0.05);
        if !matches!(family, TimesFamily::Pareto | TimesFamily::LogNormal(1.5)) {
            near(found.sd.unwrap(), family.sd(), 0.03);
        }
    }
}
