//! Errors of verdicts in truth: constraints whose bound is the true value of a known server.
//! Seeded: the figures are the same on every machine.
//!
//! The tables in `docs/SIMULATIONS.md`, "Verdicts of constraints", are printed by
//!
//! ```text
//! cargo test -p prestan-stats --lib -- --ignored --nocapture --test-threads 1 estimated
//! ```

use std::fmt;

use rand::SeedableRng as _;
use rand_chacha::ChaCha8Rng;

use super::families::{FAMILIES, TimesFamily};
use super::others::{FAILING, FailingFamily, RATES, RateFamily, failure_verdicts, rate_verdicts};
use crate::estimated::MISS;
use crate::estimated::times;
use crate::interval::t_at;
use crate::times::Times;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OfTimes {
    Mean,
    Sd,
    Percentile(u32),
}

pub(super) const STATISTICS: [OfTimes; 5] = [
    OfTimes::Mean,
    OfTimes::Sd,
    OfTimes::Percentile(500_000),
    OfTimes::Percentile(900_000),
    OfTimes::Percentile(990_000),
];

impl OfTimes {
    pub(super) fn truth(self, family: TimesFamily) -> f64 {
        match self {
            OfTimes::Mean => family.mean(),
            OfTimes::Sd => family.sd(),
            OfTimes::Percentile(ppm) => family.percentile(ppm),
        }
    }
}

impl fmt::Display for OfTimes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OfTimes::Mean => f.write_str("mean"),
            OfTimes::Sd => f.write_str("sd"),
            OfTimes::Percentile(ppm) => write!(f, "p{}", ppm / 10_000),
        }
    }
}

/// The interval of a statistic, where there is one.
pub(super) fn interval(of: OfTimes, run: &Times, miss: f64) -> Option<(f64, f64)> {
    let a = miss / 2.0;
    let found = match of {
        OfTimes::Mean => times::mean(run, a),
        OfTimes::Sd => times::sd(run, a),
        OfTimes::Percentile(ppm) => times::percentile(run, ppm, a),
    };
    found.ok().map(|(_, ends)| ends)
}

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct VerdictRates {
    runs: f64,
    /// The interval lies above the truth.
    pub(super) wrong_fail: f64,
    /// The interval lies below the truth.
    pub(super) wrong_pass: f64,
    none: f64,
    /// No verdict with a bound that is 10 % and 50 % away, on the side that passes.
    undecided: [f64; 2],
}

impl VerdictRates {
    /// Adds a run of a statistic that should stay below a bound.
    pub(super) fn add(&mut self, truth: f64, ends: Option<(f64, f64)>) {
        let (_, high) = self.take(truth, ends);
        for (undecided, factor) in self.undecided.iter_mut().zip([1.1, 1.5]) {
            *undecided += f64::from(u8::from(high > truth * factor));
        }
    }

    /// Adds a run of a statistic that should stay above a bound.
    pub(super) fn add_lower(&mut self, truth: f64, ends: Option<(f64, f64)>) {
        let (low, _) = self.take(truth, ends);
        for (undecided, factor) in self.undecided.iter_mut().zip([0.9, 0.5]) {
            *undecided += f64::from(u8::from(low < truth * factor));
        }
    }

    fn take(&mut self, truth: f64, ends: Option<(f64, f64)>) -> (f64, f64) {
        let one = |is_so: bool| f64::from(u8::from(is_so));
        let (low, high) = ends.unwrap_or((0.0, f64::INFINITY));
        self.runs += 1.0;
        self.none += one(ends.is_none());
        // Times are whole nanoseconds.
        self.wrong_fail += one(low > truth * (1.0 + 1e-6));
        self.wrong_pass += one(high < truth * (1.0 - 1e-6));
        (low, high)
    }
}

impl fmt::Display for VerdictRates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = |count: f64| 100.0 * count / self.runs;
        let [near, far] = self.undecided.map(percent);
        let (fail, pass) = (percent(self.wrong_fail), percent(self.wrong_pass));
        let none = percent(self.none);
        let mark = if fail > 0.17 || pass > 0.17 { "**" } else { "" };
        write!(
            f,
            "{mark}{fail:.2} / {pass:.2}{mark} / {none:.0} / {near:.0} / {far:.0}"
        )
    }
}

fn family_verdicts(family: TimesFamily, n: usize, runs: usize) -> [VerdictRates; STATISTICS.len()] {
    let truths = STATISTICS.map(|statistic| statistic.truth(family));
    time_verdicts(truths, runs, 0x5EED, |rng| family.run(n, rng))
}

pub(super) fn time_verdicts(
    truths: [f64; STATISTICS.len()],
    runs: usize,
    seed: u64,
    mut draw: impl FnMut(&mut ChaCha8Rng) -> Times,
) -> [VerdictRates; STATISTICS.len()] {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut rates = [VerdictRates::default(); STATISTICS.len()];
    for _ in 0..runs {
        let run = draw(&mut rng);
        for ((rates, truth), statistic) in rates.iter_mut().zip(truths).zip(STATISTICS) {
            rates.add(truth, interval(statistic, &run, MISS));
        }
    }
    rates
}

const SIZES: [usize; 5] = [30, 100, 300, 1000, 10_000];
const RATE_SIZES: [usize; 4] = [100, 300, 1000, 3000];
const RUNS: usize = 20_000;
const LARGE: usize = 100_000;

/// A run on the wrong side of the bound by chance is allowed in one of a thousand: of 300 runs,
/// three have a probability of 0.3 %.
#[test]
fn verdicts_are_seldom_wrong() {
    let few = |rates: &VerdictRates| rates.wrong_fail < 3.0 && rates.wrong_pass < 3.0;
    for (name, family) in FAMILIES {
        for n in [100, 1000] {
            if matches!(family, TimesFamily::Bursts) && n < PAUSE_IS_SEEN {
                continue;
            }
            for (statistic, rates) in STATISTICS.iter().zip(family_verdicts(family, n, 300)) {
                assert!(few(&rates), "{name}, {n}: {statistic} {rates}");
            }
        }
    }
    for (name, family) in RATES {
        let rates = rate_verdicts(family, 300, 300);
        assert!(rates.iter().all(few), "{name}: {} {}", rates[0], rates[1]);
    }
    for (name, family) in FAILING {
        let rates = failure_verdicts(family, 3000, 300);
        assert!(few(&rates), "{name}: {rates}");
    }
}

/// Operations in which there is a pause in all but one of a thousand runs.
const PAUSE_IS_SEEN: usize = 700;

/// A verdict that is never given would never be wrong.
#[test]
fn verdicts_are_given() {
    let exponential = family_verdicts(TimesFamily::Exponential, 1000, 100);
    for (statistic, rates) in STATISTICS.iter().zip(exponential) {
        let far = rates.undecided[1];
        let most = match statistic {
            OfTimes::Sd => 100.0,
            OfTimes::Percentile(990_000) => 60.0,
            _ => 2.0,
        };
        assert!(far <= most, "{statistic}: {rates}");
    }
    let [rate, goodput] = rate_verdicts(RateFamily::Poisson, 3000, 100);
    assert!(
        rate.undecided[1] < 10.0 && goodput.undecided[1] < 30.0,
        "{rate} {goodput}"
    );
    let failing = failure_verdicts(FailingFamily::Independent(0.1), 1000, 100);
    assert!(failing.undecided[1] < 30.0, "{failing}");
}

/// The intervals of reports, with the quantile of 99.8 %, would be wrong too often.
#[test]
fn longer_intervals_of_reports_do_not_keep_the_promise() {
    let family = TimesFamily::LogNormal(1.0);
    let mut rng = ChaCha8Rng::seed_from_u64(0x5EED);
    let wrong = |_: &u32| {
        let found = family.run(100, &mut rng).describe().unwrap();
        let half = found.ci95.unwrap().1 - found.mean;
        found.mean + half * t_at(0.999, 9.0) / t_at(0.975, 9.0) < family.mean()
    };
    let wrong = (0..2000).filter(wrong).count();
    assert!(wrong > 10, "{wrong}");
}

fn heading(name: &str, sizes: &[usize]) {
    let cells: Vec<String> = sizes.iter().map(usize::to_string).collect();
    println!("| {name} | {} |", cells.join(" | "));
}

/// A table of the statistics of times by size.
pub(super) fn print_times<const N: usize>(
    name: &str,
    sizes: [usize; N],
    verdicts: impl Fn(usize) -> [VerdictRates; STATISTICS.len()],
) {
    let rates = sizes.map(verdicts);
    heading(name, &sizes);
    for (index, statistic) in STATISTICS.iter().enumerate() {
        line(&statistic.to_string(), &rates.map(|rates| rates[index]));
    }
}

fn line(name: &str, cells: &[VerdictRates]) {
    let cells: Vec<String> = cells.iter().map(VerdictRates::to_string).collect();
    println!("| {name} | {} |", cells.join(" | "));
}

#[test]
#[ignore = "nightly: 20,000 runs of up to 10,000 operations, half an hour"]
fn verdicts_of_times_at_length() {
    for (name, family) in FAMILIES {
        print_times(name, SIZES, |n| family_verdicts(family, n, RUNS));
    }
}

#[test]
#[ignore = "nightly: 20,000 runs of up to 10,000 operations, minutes"]
fn verdicts_of_rates_and_failures_at_length() {
    heading("failure rate", &SIZES);
    for (name, family) in FAILING {
        line(name, &SIZES.map(|n| failure_verdicts(family, n, RUNS)));
    }
    heading("rate", &RATE_SIZES);
    for (name, family) in RATES {
        let rates = RATE_SIZES.map(|n| rate_verdicts(family, n, RUNS));
        line(&format!("rate, {name}"), &rates.map(|rates| rates[0]));
        line(&format!("goodput, {name}"), &rates.map(|rates| rates[1]));
    }
}

/// Times too many to be kept, in bins. Fewer runs, because each takes long: they show gross errors.
#[test]
#[ignore = "nightly: 400 runs of 100,000 operations, a minute"]
fn verdicts_of_large_sets_at_length() {
    heading("100,000 operations", &[LARGE]);
    for (name, family) in FAMILIES {
        for (statistic, rates) in STATISTICS
            .iter()
            .zip(family_verdicts(family, LARGE, RUNS / 50))
        {
            line(&format!("{name}, {statistic}"), &[rates]);
        }
    }
}
