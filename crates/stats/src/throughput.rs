//! Throughput: completions in the window, over its length, with an interval.
//!
//! The capacity of a server wanders: garbage collections, caches, neighbours on the machine.
//! Intervals from batch means are too narrow where it wanders more slowly than a batch is long (in
//! simulations they cover 43 % to 93 % in place of 95 %, see `tests::throughput`). The uncertainty
//! of the mean over a window comes from its *slowest* waves, those that a longer window would
//! average out, and these can be measured: with completions `n` in time bins at the places `m` of a
//! window of length 1,
//!
//! ```text
//!    W(j) = sqrt(2) sum n cos(pi j m)        j = 1, 2, 3
//! ```
//!
//! are the sums of three waves of half a period, one, and one and a half. The mean rate adds
//! nothing to them, because the mean of each wave over the window is zero. They have the variance
//! of the number of completions itself, whatever its autocorrelation, if that is short beside the
//! window, and are nearly independent of it and of each other. So the number of completions has an
//! interval by Student's t with three degrees of freedom (equal-weighted cosines: Müller 2007 and
//! 2014; Lazarus, Lewis, Stock and Watson, *HAR inference: recommendations for practice*, Journal
//! of Business & Economic Statistics 36(4), 2018). More waves make a narrower interval where
//! nothing wanders (a quarter narrower with eight), and one that is too narrow where something
//! does. The length of the autocorrelation need not be known, which cannot be estimated from a
//! short window; where the three slowest waves are far larger than the next ones it is too long for
//! the window, and the interval, which may then be too narrow, is marked.

use record::{Load, Nanos, Pace};
use statrs::distribution::{ContinuousCDF, FisherSnedecor};

use crate::bins::{Bin, Bins};
use crate::interval::t_quantile;
use crate::window::Span;

/// Time bins in which completions are counted, and the shortest of them: 2^16 ns, 66 us.
const BINS: usize = 512;
const SHORTEST: u32 = 16;
/// Bins below which the waves are not seen.
const BINS_NEEDED: u64 = 32;
/// Completions below which there is no interval: they come in lumps, unknown to Student's t.
const COMPLETIONS_NEEDED: u64 = 20;
/// The slowest waves, which give the interval, and the waves that they are compared with.
pub(crate) const SLOW: usize = 3;
const WAVES: usize = 12;
/// Probability that the slowest waves of a steady server are marked as too large.
const ALARM: f64 = 0.01;

/// Completions, counted by the time at which they happened.
#[derive(Debug, Clone)]
pub(crate) struct Throughput {
    completed: u64,
    received: u64,
    bins: Bins<Completions>,
}

/// A rate with its uncertainty.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Rate {
    /// Completions in the window.
    pub(crate) completed: u64,
    pub(crate) per_second: f64,
    /// The 95 % interval of that; `None` where there are too few completions for one.
    pub(crate) ci95: Option<(f64, f64)>,
    /// The rate went up or down over times that are not short beside the window, so that the
    /// interval may be too narrow.
    pub(crate) wanders: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RateOf {
    Completions,
    /// Bytes of their responses.
    Bytes,
}

/// A rate over a window, and the standard error of it from its slowest waves.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct RateWithError {
    /// Completions or bytes, a second.
    pub(crate) per_second: f64,
    /// In the same unit, with [`SLOW`] degrees of freedom.
    pub(crate) error: f64,
    pub(crate) wanders: bool,
}

#[derive(Debug, Clone, Copy, Default)]
struct Completions {
    count: u64,
    bytes: u64,
}

impl Bin for Completions {
    fn count(&self) -> u64 {
        self.count
    }

    fn absorb(&mut self, other: &Completions) {
        self.count += other.count;
        self.bytes += other.bytes;
    }
}

impl RateOf {
    fn of(self, completions: &Completions) -> u64 {
        match self {
            RateOf::Completions => completions.count,
            RateOf::Bytes => completions.bytes,
        }
    }
}

impl Default for Throughput {
    fn default() -> Throughput {
        Throughput {
            completed: 0,
            received: 0,
            bins: Bins::new(BINS, SHORTEST),
        }
    }
}

impl Throughput {
    pub(crate) fn add(&mut self, moment: Nanos) {
        self.receive(moment, 0);
    }

    /// Adds a completion inside the window, with the bytes of its response.
    pub(crate) fn receive(&mut self, moment: Nanos, bytes: u64) {
        self.completed += 1;
        self.received += bytes;
        let bin = self.bins.at(moment);
        bin.count += 1;
        bin.bytes += bytes;
    }

    pub(crate) fn completed(&self) -> u64 {
        self.completed
    }

    pub(crate) fn received(&self) -> u64 {
        self.received
    }

    /// A rate over the window; `None` where there is too little for the waves.
    pub(crate) fn with_error(&self, of: RateOf, window: Span) -> Option<RateWithError> {
        let waves = self.waves(window, of)?;
        let seconds = window.seconds();
        let total = self.total(of) as f64;
        Some(RateWithError {
            per_second: total / seconds,
            error: deviation(&waves) / seconds,
            wanders: are_steep(&waves),
        })
    }

    fn total(&self, of: RateOf) -> u64 {
        match of {
            RateOf::Completions => self.completed,
            RateOf::Bytes => self.received,
        }
    }

    pub(crate) fn merge(&mut self, other: &Throughput) {
        self.completed += other.completed;
        self.received += other.received;
        self.bins.merge(&other.bins);
    }

    /// The rate over the window; `None` for a window of no length.
    pub(crate) fn rate(&self, window: Span) -> Option<Rate> {
        let seconds = window.seconds();
        if seconds <= 0.0 {
            return None;
        }
        let waves = self.waves(window, RateOf::Completions);
        let half = waves.map(|waves| half_width(&waves) / seconds);
        let per_second = self.completed as f64 / seconds;
        Some(Rate {
            completed: self.completed,
            per_second,
            ci95: half.map(|half| ((per_second - half).max(0.0), per_second + half)),
            wanders: waves.is_some_and(|waves| are_steep(&waves)),
        })
    }

    /// The squares of the waves, from the slowest on. The time of the calculation depends on the
    /// recorded bins, however long the window is.
    fn waves(&self, window: Span, of: RateOf) -> Option<[f64; WAVES]> {
        let length = self.bins.length();
        let bins = window.end / length - window.start / length + 1;
        if bins < BINS_NEEDED || self.completed < COMPLETIONS_NEEDED {
            return None;
        }
        let whole = (window.end - window.start) as f64;
        let mut sums = [0.0; WAVES];
        for (begin, completions) in self.bins.recorded() {
            // The first bin and the last have but a part in the window.
            let from = begin.saturating_sub(window.start);
            let to = begin.saturating_add(length).min(window.end);
            let to = to.saturating_sub(window.start);
            let middle = (from as f64 + to as f64) / 2.0 / whole;
            for (wave, sum) in (1..).zip(&mut sums) {
                let phase = std::f64::consts::PI * f64::from(wave) * middle;
                *sum += of.of(completions) as f64 * phase.cos();
            }
        }
        Some(sums.map(|sum| 2.0 * sum * sum))
    }
}

/// True if a load leaves the rate to the server, or prescribes a single one. A schedule whose
/// stages differ moves the rate on purpose: that is no wandering, and its mean over all stages
/// estimates nothing.
pub(crate) fn is_steady(load: &Load) -> bool {
    match &load.pace {
        Pace::Rounds | Pace::Closed => load.adapt.is_none(),
        Pace::Open { stages, .. } => stages.windows(2).all(|pair| pair[0].rate == pair[1].rate),
    }
}

/// Half of the 95 % interval of the number of completions.
fn half_width(waves: &[f64; WAVES]) -> f64 {
    t_quantile(SLOW as f64) * deviation(waves)
}

fn deviation(waves: &[f64; WAVES]) -> f64 {
    (waves[..SLOW].iter().sum::<f64>() / SLOW as f64).sqrt()
}

/// True if the slowest waves are larger than the next ones by more than chance.
fn are_steep(waves: &[f64; WAVES]) -> bool {
    let (slow, others) = waves.split_at(SLOW);
    let mean = |waves: &[f64]| waves.iter().sum::<f64>() / waves.len() as f64;
    let limit = FisherSnedecor::new(slow.len() as f64, others.len() as f64)
        .expect("there are waves of both kinds")
        .inverse_cdf(1.0 - ALARM);
    mean(slow) > limit * mean(others)
}
