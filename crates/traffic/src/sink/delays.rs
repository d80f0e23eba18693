//! Jitter and variation of the one-way delay. The clocks of source and sink need not agree.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::seconds::SinkSecond;

/// Delays that are kept for percentiles. Up to this number they are exact; beyond, they are those
/// of a random sample, whose 99th percentile lies between the 98.7th and the 99.3rd with 95 %.
const KEPT: usize = 4096;
/// Seconds with packets that an estimate of the drift needs, and most that are used.
const LEAST_DRIFT_SECONDS: usize = 10;
const MOST_DRIFT_SECONDS: usize = 256;

/// Variation of the one-way delay: each delay less the shortest of the flow (RFC 5481, section
/// 4.2). An offset between the clocks of source and sink cancels out, a drift does not: 20 ppm are
/// 1.2 ms in a minute.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DelayVariation {
    /// Mean in nanoseconds.
    pub mean_ns: f64,
    /// Median.
    pub p50_ns: u64,
    /// 95th percentile.
    pub p95_ns: u64,
    /// 99th percentile.
    pub p99_ns: u64,
    /// Largest.
    pub max_ns: u64,
    /// Excess of the speed of the sink's clock over the source's, in parts per million: the median
    /// slope (Theil and Sen) of the shortest delay of each second. A queue that grows all the time
    /// looks the same. None with packets in fewer than ten seconds.
    pub drift_ppm: Option<f64>,
}

/// Delays of a flow as they arrive.
#[derive(Debug, Clone)]
pub(super) struct Delays {
    /// The delay of the first packet; the others are relative to it.
    first: Option<i64>,
    last: i64,
    shortest: i64,
    longest: i64,
    count: u64,
    sum: f64,
    jitter_ns: f64,
    kept: Vec<i64>,
    rng: ChaCha8Rng,
}

impl Delays {
    pub(super) fn new() -> Self {
        Delays {
            first: None,
            last: 0,
            shortest: 0,
            longest: 0,
            count: 0,
            sum: 0.0,
            jitter_ns: 0.0,
            kept: Vec::new(),
            // The choice of kept delays is always the same.
            rng: ChaCha8Rng::seed_from_u64(0),
        }
    }

    pub(super) fn jitter_ns(&self) -> f64 {
        self.jitter_ns
    }

    /// The shortest delay less that of the first packet.
    pub(super) fn shortest(&self) -> i64 {
        self.shortest
    }

    /// Adds a packet by its time stamps, each by its clock, and returns its delay less that of the
    /// first.
    pub(super) fn arrive(&mut self, sent_ns: u64, received_ns: u64) -> i64 {
        let transit = received_ns.wrapping_sub(sent_ns) as i64;
        let first = *self.first.get_or_insert(transit);
        // Hostile time stamps make it wrong, but never beyond the range.
        let delay = transit.saturating_sub(first);
        if self.count > 0 {
            // RFC 3550, sections 6.4.1 and A.8.
            let difference = delay.saturating_sub(self.last).unsigned_abs() as f64;
            self.jitter_ns += (difference - self.jitter_ns) / 16.0;
        }
        self.last = delay;
        self.shortest = self.shortest.min(delay);
        self.longest = self.longest.max(delay);
        self.count += 1;
        self.sum += delay as f64;
        self.keep(delay);
        delay
    }

    /// Algorithm R of Vitter (1985), ACM Transactions on Mathematical Software 11, 37-57.
    fn keep(&mut self, delay: i64) {
        if self.kept.len() < KEPT {
            self.kept.push(delay);
            return;
        }
        let index = usize::try_from(self.rng.random_range(0..self.count)).ok();
        if let Some(kept) = index.and_then(|index| self.kept.get_mut(index)) {
            *kept = delay;
        }
    }

    pub(super) fn variation(&self, seconds: &[SinkSecond]) -> Option<DelayVariation> {
        let mut sorted = self.kept.clone();
        sorted.sort_unstable();
        if sorted.is_empty() {
            return None;
        }
        let above = |delay: i64| delay.abs_diff(self.shortest);
        // By nearest rank, as all percentiles of reports.
        let rank = |percent: usize| (sorted.len() * percent).div_ceil(100).max(1);
        let percentile = |percent: usize| above(sorted[rank(percent) - 1]);
        Some(DelayVariation {
            mean_ns: self.sum / self.count as f64 - self.shortest as f64,
            p50_ns: percentile(50),
            p95_ns: percentile(95),
            p99_ns: percentile(99),
            max_ns: above(self.longest),
            drift_ppm: drift_ppm(seconds),
        })
    }
}

fn drift_ppm(seconds: &[SinkSecond]) -> Option<f64> {
    let points: Vec<(f64, f64)> = seconds
        .iter()
        .enumerate()
        .filter_map(|(second, figures)| Some((second as f64, figures.delays_ns?.0 as f64)))
        .collect();
    if points.len() < LEAST_DRIFT_SECONDS {
        return None;
    }
    let step = points.len().div_ceil(MOST_DRIFT_SECONDS);
    let points: Vec<_> = points.into_iter().step_by(step).collect();
    let mut slopes = Vec::new();
    for (index, (at, delay)) in points.iter().enumerate() {
        let later = points[index + 1..].iter();
        slopes.extend(later.map(|(then, other)| (other - delay) / (then - at)));
    }
    slopes.sort_by(f64::total_cmp);
    // Nanoseconds per second are thousandths of a millionth.
    slopes.get(slopes.len() / 2).map(|slope| slope / 1000.0)
}
