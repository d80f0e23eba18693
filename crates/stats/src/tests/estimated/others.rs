//! Servers with a known rate, and with a known share of failures.

use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution as _, Exp1, Poisson, StandardNormal};
use record::{Nanos, Outcome};

use super::simulated::VerdictRates;
use crate::Outcomes;
use crate::estimated::tally::{EstimatedRow, JudgedTally, MeasuredTime};
use crate::estimated::{EstimatedStatistic, MISS};
use crate::throughput::Throughput;
use crate::times::Times;
use crate::window::Span;

/// Seconds of a window, and pieces of it in which the capacity of a server is constant.
const SECONDS: f64 = 10.0;
const STEPS: usize = 512;
/// The index of the tail of gaps.
const INDEX: f64 = 2.5;

#[derive(Debug, Clone, Copy)]
pub(super) enum RateFamily {
    /// At random.
    Poisson,
    /// At equal distances.
    Constant,
    /// At independent distances whose tail is that of a Pareto distribution.
    Renewal,
    /// At random, but for a tenth of each period, ten of which are a window.
    Pauses,
    /// At random, with a capacity that wanders by 40 %: an Ornstein-Uhlenbeck process whose
    /// autocorrelation falls to 1/e in this share of the window.
    Wandering(f64),
}

pub(super) const RATES: [(&str, RateFamily); 6] = [
    ("Poisson", RateFamily::Poisson),
    ("constant service", RateFamily::Constant),
    ("renewal, Pareto 2.5", RateFamily::Renewal),
    ("ten pauses", RateFamily::Pauses),
    ("wandering, T/tau 50", RateFamily::Wandering(0.02)),
    ("wandering, T/tau 20", RateFamily::Wandering(0.05)),
];

impl RateFamily {
    /// Moments of about `n` completions, in windows of length 1.
    fn completions(self, n: f64, rng: &mut ChaCha8Rng) -> Vec<f64> {
        match self {
            RateFamily::Constant => {
                let phase = rng.random::<f64>();
                let at = (0..).map(|index| (f64::from(index) + phase) / n);
                at.take_while(|at| *at < 1.0).collect()
            }
            RateFamily::Renewal => {
                let mean = INDEX / (INDEX - 1.0);
                let gap = |rng: &mut ChaCha8Rng| {
                    (1.0 - rng.random::<f64>()).powf(-1.0 / INDEX) / mean / n
                };
                let mut at = -30.0 * (1.0 + rng.random::<f64>()) / n;
                let mut all = Vec::new();
                while at < 1.0 {
                    if at >= 0.0 {
                        all.push(at);
                    }
                    at += gap(rng);
                }
                all
            }
            _ => self.by_capacity(n, rng),
        }
    }

    fn by_capacity(self, n: f64, rng: &mut ChaCha8Rng) -> Vec<f64> {
        let mut state: f64 = StandardNormal.sample(rng);
        let phase = rng.random::<f64>();
        let mut all = Vec::new();
        for step in 0..STEPS {
            let capacity = match self {
                RateFamily::Wandering(tau) => {
                    let rho = (-1.0 / STEPS as f64 / tau).exp();
                    let noise: f64 = StandardNormal.sample(rng);
                    state = rho * state + (1.0 - rho * rho).sqrt() * noise;
                    // Of the mean of the values cut off at zero.
                    (1.0 + 0.4 * state).max(0.0) / 1.00080
                }
                _ => 1.0,
            };
            let mean = n * capacity / STEPS as f64;
            let count = if mean > 0.0 {
                Poisson::new(mean).unwrap().sample(rng) as u64
            } else {
                0
            };
            for _ in 0..count {
                let at = (step as f64 + rng.random::<f64>()) / STEPS as f64;
                let of_period = (at * 10.0 + phase) % 1.0;
                match self {
                    RateFamily::Pauses if of_period < 0.1 => {}
                    _ => all.push(at),
                }
            }
        }
        all
    }

    /// Completions of which about `n` are left.
    fn expected(self, n: f64) -> f64 {
        match self {
            RateFamily::Pauses => 0.9 * n,
            _ => n,
        }
    }
}

/// Rates and goodputs of a family, with log-normal sizes (sigma 1) of the responses.
pub(super) fn rate_verdicts(family: RateFamily, n: usize, runs: usize) -> [VerdictRates; 2] {
    let mut rng = ChaCha8Rng::seed_from_u64(0x5EED);
    let mut rates = [VerdictRates::default(); 2];
    let start: Nanos = 7_777_777_777;
    let length = SECONDS * 1e9;
    let window = Span {
        start,
        end: start + length as Nanos,
    };
    let measured = MeasuredTime {
        window: Some(window),
        is_steady: true,
        seconds: SECONDS,
    };
    let rate = family.expected(n as f64) / SECONDS;
    let bytes = 10_000.0 * 0.5_f64.exp();
    for _ in 0..runs {
        let mut throughput = Throughput::default();
        for at in family.completions(n as f64, &mut rng) {
            let normal: f64 = StandardNormal.sample(&mut rng);
            let size = (10_000.0 * normal.exp()).round() as u64;
            throughput.receive(start + (at * length) as Nanos, size);
        }
        let row = EstimatedRow {
            times: &Times::default(),
            throughput: &throughput,
            judged: &JudgedTally::default(),
            outcomes: &Outcomes::default(),
            bytes_sent: 0,
            bytes_received: 0,
            connections: 0,
        };
        let cases = [
            (EstimatedStatistic::Rate, rate),
            (EstimatedStatistic::Goodput, rate * bytes),
        ];
        for (rates, (statistic, truth)) in rates.iter_mut().zip(cases) {
            let found = row.estimate(statistic, measured, MISS).ok();
            rates.add_lower(truth, found.map(|found| (found.low, found.high)));
        }
    }
    rates
}

#[derive(Debug, Clone, Copy)]
pub(super) enum FailingFamily {
    /// This share, independent of each other.
    Independent(f64),
    /// Twenty in a row after each 180 on average.
    Bursts,
}

pub(super) const FAILING: [(&str, FailingFamily); 5] = [
    ("none fail", FailingFamily::Independent(0.0)),
    ("0.1 % fail", FailingFamily::Independent(0.001)),
    ("1 % fail", FailingFamily::Independent(0.01)),
    ("10 % fail", FailingFamily::Independent(0.1)),
    ("10 % fail in bursts", FailingFamily::Bursts),
];

const BURST: u32 = 20;

pub(super) fn failure_verdicts(family: FailingFamily, n: usize, runs: usize) -> VerdictRates {
    let mut rng = ChaCha8Rng::seed_from_u64(0x5EED);
    let mut rates = VerdictRates::default();
    let begins = 1.0 / 181.0;
    for _ in 0..runs {
        let mut judged = JudgedTally::default();
        let mut outcomes = Outcomes::default();
        let mut moment: Nanos = 7_777_777;
        let in_burst = rng.random_bool(0.1);
        let mut burst = if in_burst {
            rng.random_range(1..=BURST)
        } else {
            0
        };
        for _ in 0..n {
            let failed = match family {
                FailingFamily::Independent(share) => rng.random_bool(share),
                FailingFamily::Bursts => {
                    if burst == 0 && rng.random_bool(begins) {
                        burst = BURST;
                    }
                    let failed = burst > 0;
                    burst = burst.saturating_sub(1);
                    failed
                }
            };
            judged.add_end(moment, failed);
            outcomes.add(if failed {
                Outcome::WrongStatus
            } else {
                Outcome::Ok
            });
            let takes: f64 = Exp1.sample(&mut rng);
            moment += (1e6 * takes) as Nanos + 1;
        }
        let truth = match family {
            FailingFamily::Independent(share) => share,
            FailingFamily::Bursts => 0.1,
        };
        let found = judged.failure_rate(MISS / 2.0);
        rates.add(truth, found.map(|(_, ends)| ends));
    }
    rates
}
