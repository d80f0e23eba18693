//! Coverage of the interval of a statistic in truth when a run goes on until it is narrow enough.
//! Seeded, as in `coverage`.
//!
//! Share of 100 simulated runs whose interval contains the true value when they stop, and how many
//! operations they took on average:
//!
//! ```text
//! independent, exponential, p99 ±5%                    95   16,300
//! independent, log-normal, sigma 1, p99 ±5%            92   27,700
//! log-normal, sigma 0.5, rho 0.5, p99 ±5%              96   16,600
//! log-normal, sigma 0.5, rho 0.9, p99 ±5%              94   36,500
//! log-normal, sigma 1, rho 0.5, p50 ±2%                91   37,600
//! independent, exponential, mean ±2%                   98   11,900
//! ```

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution as _, StandardNormal};
use record::{MeasureId, Outcome, Pace, PlanRecord, Sample};

use crate::testing::{self, RunBuilder};
use crate::{Convergence, MeasurementWindow, Until};

/// Simulated runs: one standard error of a coverage of 94 % is 2.4 %. Without optimisation that
/// takes minutes, and fewer must do.
const RUNS: usize = if cfg!(debug_assertions) { 16 } else { 100 };

/// Looks at the interval are this share of the run apart: with one look a second there would be
/// fewer of them between its first minute and its second.
const STEP: f64 = 0.05;

/// Least coverage in percent that passes; with few runs, one more may miss.
const LEAST: f64 = if cfg!(debug_assertions) { 80.0 } else { 88.0 };

/// Operations after which a simulated run is given up.
const MOST: usize = 400_000;

/// Nanoseconds between the beginnings of two operations.
const EVERY: u64 = 100_000;

#[derive(Debug, Clone, Copy)]
enum TimesProcess {
    /// Independent, exponential, mean 1 ms.
    Exponential,
    /// The logarithm is normal with this standard deviation and this correlation between
    /// neighbours; median 1 ms.
    LogNormal(f64, f64),
}

impl TimesProcess {
    /// The `q`-quantile; `normal` is that of the standard normal distribution.
    fn quantile(self, q: f64, normal: f64) -> f64 {
        match self {
            TimesProcess::Exponential => -1e6 * (1.0 - q).ln(),
            TimesProcess::LogNormal(sigma, _) => 1e6 * (sigma * normal).exp(),
        }
    }

    fn next(self, state: &mut f64, rng: &mut ChaCha8Rng) -> u64 {
        let mut normal = || -> f64 { StandardNormal.sample(&mut *rng) };
        match self {
            TimesProcess::Exponential => {
                let (a, b) = (normal(), normal());
                (5e5 * (a * a + b * b)) as u64
            }
            TimesProcess::LogNormal(sigma, rho) => {
                *state = rho * *state + (1.0 - rho * rho).sqrt() * normal();
                (1e6 * (sigma * *state).exp()) as u64
            }
        }
    }
}

fn plan() -> PlanRecord {
    RunBuilder::new(1)
        .with(|run| run.plan.load.pace = Pace::Closed)
        .test("Get", &[("Get", "GET")])
        .build()
        .plan
}

fn op(index: usize, time: u64) -> Sample {
    let started = index as u64 * EVERY;
    let mut sample = testing::sample(MeasureId(0), 0, Outcome::Ok);
    sample.moments = testing::moments(started, started, started + time, started + time);
    sample
}

/// Operations, and the times of all, when the run stopped; `None` where it never did.
fn run(process: TimesProcess, until: Until, rng: &mut ChaCha8Rng) -> Option<(Vec<u64>, f64)> {
    let mut convergence = Convergence::new(until, &plan());
    let mut state = StandardNormal.sample(rng);
    let mut times = Vec::new();
    while times.len() < MOST {
        for _ in 0..1_000.max((times.len() as f64 * STEP) as usize) {
            let time = process.next(&mut state, rng);
            convergence.add(&[op(times.len(), time)], MeasurementWindow::Everything);
            times.push(time);
        }
        if convergence.is_reached() {
            return Some((times, convergence.relative_half_width()?));
        }
    }
    None
}

/// Percent of runs whose interval covers, and operations on average.
fn covered(process: TimesProcess, until: &str, truth: f64, per_mille: u64) -> (f64, f64) {
    let until: Until = until.parse().unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(0x5EED);
    let (mut covered, mut operations) = (0, 0);
    for _ in 0..RUNS {
        let (mut times, width) = run(process, until, &mut rng).expect("it stops");
        operations += times.len();
        let estimate = match per_mille {
            0 => times.iter().sum::<u64>() as f64 / times.len() as f64,
            _ => {
                times.sort_unstable();
                times[crate::times::rank(times.len() as u64, per_mille) as usize - 1] as f64
            }
        };
        covered += usize::from((estimate - truth).abs() <= width * estimate);
    }
    (
        covered as f64 * 100.0 / RUNS as f64,
        operations as f64 / RUNS as f64,
    )
}

/// The 99 % quantile of the standard normal distribution.
const Z99: f64 = 2.326_347_874_040_841;

#[track_caller]
fn assert_covers(process: TimesProcess, until: &str, per_mille: u64, truth: f64) {
    let (percent, operations) = covered(process, until, truth, per_mille);
    println!("{process:?}, {until}: {percent:.1} % after {operations:.0}");
    assert!(
        percent >= LEAST,
        "{process:?}, {until}: {percent:.1} % after {operations:.0}"
    );
}

#[test]
fn p99_of_independent_times() {
    let exponential = TimesProcess::Exponential;
    assert_covers(exponential, "p99 ±5%", 990, exponential.quantile(0.99, Z99));
    let log_normal = TimesProcess::LogNormal(1.0, 0.0);
    assert_covers(log_normal, "p99 ±5%", 990, log_normal.quantile(0.99, Z99));
}

#[test]
fn p99_of_correlated_times() {
    for rho in [0.5, 0.9] {
        let process = TimesProcess::LogNormal(0.5, rho);
        assert_covers(process, "p99 ±5%", 990, process.quantile(0.99, Z99));
    }
}

#[test]
fn medians_and_means() {
    let process = TimesProcess::LogNormal(1.0, 0.5);
    assert_covers(process, "p50 ±2%", 500, process.quantile(0.5, 0.0));
    assert_covers(TimesProcess::Exponential, "mean ±2%", 0, 1e6);
}

#[test]
fn nothing_is_believed_at_the_beginning() {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    for (until, least) in [
        ("p99 ±50%", 16_000),
        ("p99.9 ±50%", 160_000),
        ("mean ±50%", 10_000),
    ] {
        let (times, _) = run(TimesProcess::Exponential, until.parse().unwrap(), &mut rng).unwrap();
        assert!(times.len() >= least, "{until} after {}", times.len());
    }
    // As many operations, and all of them in half a second.
    let mut burst = Convergence::new("p50 ±50%".parse().unwrap(), &plan());
    for i in 0..50_000 {
        let mut sample = op(0, 1_000_000 + i);
        sample.moments.started = i * 10_000;
        burst.add(&[sample], MeasurementWindow::Everything);
    }
    assert_eq!(burst.relative_half_width(), None);
}

#[test]
fn every_measure_must_reach_the_goal_and_what_does_not_count_does_not_help() {
    let plan = RunBuilder::new(1)
        .test("Locks", &[("Lock", "LOCK"), ("UnLock", "UNLOCK")])
        .build()
        .plan;
    let mut both = Convergence::new("p50 ±5%".parse().unwrap(), &plan);
    let steady = |measure| {
        move |i| Sample {
            measure: MeasureId(measure),
            ..op(i, 1_000_000)
        }
    };
    let lock: Vec<Sample> = (0..20_000).map(steady(0)).collect();
    let unlock: Vec<Sample> = (0..20_000).map(steady(1)).collect();
    both.add(&lock, MeasurementWindow::Everything);
    assert!(!both.is_reached(), "nothing is known of UnLock");
    both.add(&unlock, MeasurementWindow::Nothing);
    let failed = unlock.iter().map(|sample| Sample {
        outcome: Outcome::Reset,
        ..sample.clone()
    });
    both.add(&failed.collect::<Vec<_>>(), MeasurementWindow::Everything);
    assert!(!both.is_reached());
    let mut other = Convergence::new("p50 ±5%".parse().unwrap(), &plan);
    other.add(&unlock, MeasurementWindow::Everything);
    both.merge(&other);
    assert_eq!(both.relative_half_width(), Some(0.0));
    assert!(both.is_reached());
}
