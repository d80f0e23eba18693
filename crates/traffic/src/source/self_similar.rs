//! An aggregate whose rate is exactly self-similar to second order, with any Hurst parameter
//! between 1/2 and 1.
//!
//! Sessions begin as a Poisson process in slots of time, last a random number of slots, and send at
//! one rate each (the input of a queue M/G/infinity). The number of sessions in a slot then has a
//! Poisson distribution, and its autocorrelation r(k) is the probability that a session of this
//! moment lasts at least k slots more, so that every decreasing, convex r has a law of durations:
//! P(S > k) = (r(k) - r(k + 1)) / (1 - r(1)) (Krunz and Makowski (1998), IEEE Journal on Selected
//! Areas in Communications 16, 733-748). Here r is that of fractional Gaussian noise. Durations are
//! heavy-tailed with the index 3 - 2H, as in Willinger, Taqqu, Sherman and Wilson (1997).
//!
//! Why not a superposition of N Pareto on-off sources: its spectrum is that of fractional noise
//! only at long times and for large N, so that the measured H depends on both. Why not fractional
//! Gaussian noise itself: it is generated for a fixed length, and becomes negative. This process
//! has no end, needs the memory of its present sessions, and is stationary from the first slot on.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use rand_chacha::ChaCha8Rng;

use super::{BlockSource, PlannedDeparture};
use crate::probability::open_unit;

/// Up to this number of slots, probabilities are tabulated; from there on, they are those of the
/// tail, which are then right to about one in a million.
const TABULATED: usize = 1024;
/// Longest session, in slots.
const LONGEST: f64 = 1e15;

#[derive(Debug, Clone)]
pub(crate) struct SelfSimilarLaws {
    hurst: f64,
    slot_ns: u64,
    /// Mean number of sessions.
    sessions: f64,
    /// Bytes of one session in one slot.
    bytes_per_slot: f64,
    block_bytes: u32,
    /// r(0), r(1)...
    correlations: Vec<f64>,
}

impl SelfSimilarLaws {
    pub(crate) fn new(
        hurst: f64,
        slot_ns: u64,
        sessions: f64,
        bits_per_second: u64,
        block_bytes: u32,
    ) -> Self {
        let bytes = bits_per_second as f64 / 8.0 * slot_ns as f64 / 1e9;
        let correlations = (0..=TABULATED).map(|lag| noise_correlation(hurst, lag));
        SelfSimilarLaws {
            hurst,
            slot_ns,
            sessions,
            bytes_per_slot: bytes / sessions,
            block_bytes,
            correlations: correlations.collect(),
        }
    }

    pub(crate) fn block_bytes(&self) -> u32 {
        self.block_bytes
    }

    /// New sessions per slot.
    fn arrivals(&self) -> f64 {
        self.sessions * (1.0 - self.correlations[1])
    }

    /// Remaining slots of a session that exists in a slot drawn at random, counted from this slot:
    /// more than k with the probability r(k).
    fn remaining(&self, unit: f64) -> u64 {
        let is_above = |correlation: &f64| *correlation > unit;
        let tabulated = self.correlations.partition_point(is_above);
        if tabulated <= TABULATED {
            return tabulated.max(1) as u64;
        }
        let h = self.hurst;
        let slots = libm::pow(unit / (h * (2.0 * h - 1.0)), 1.0 / (2.0 * h - 2.0));
        libm::ceil(slots).clamp(TABULATED as f64, LONGEST) as u64
    }

    /// Slots of a new session: more than k with the probability (r(k) - r(k + 1)) / (1 - r(1)).
    fn duration(&self, unit: f64) -> u64 {
        let first = 1.0 - self.correlations[1];
        let pairs = self.correlations.windows(2);
        // Binary search, as the probabilities decrease.
        let (mut low, mut high) = (0, pairs.len());
        while low < high {
            let middle = usize::midpoint(low, high);
            let more = (self.correlations[middle] - self.correlations[middle + 1]) / first;
            if more > unit {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        if low < TABULATED {
            return low.max(1) as u64;
        }
        // The slope of H (2H - 1) k^(2H - 2), in the middle of a slot.
        let h = self.hurst;
        let slope = h * (2.0 * h - 1.0) * (2.0 - 2.0 * h);
        let slots = libm::pow(unit * first / slope, 1.0 / (2.0 * h - 3.0)) - 0.5;
        libm::ceil(slots).clamp(TABULATED as f64, LONGEST) as u64
    }
}

/// The autocorrelation of fractional Gaussian noise.
pub(crate) fn noise_correlation(hurst: f64, lag: usize) -> f64 {
    let power = |number: f64| libm::pow(number, 2.0 * hurst);
    let lag = lag as f64;
    0.5 * (power(lag + 1.0) - 2.0 * power(lag) + power((lag - 1.0).abs()))
}

/// Blocks depart whenever the sessions together have sent as much.
#[derive(Debug, Clone)]
pub(crate) struct SelfSimilar {
    laws: Arc<SelfSimilarLaws>,
    /// First slots in which sessions are gone.
    ends: BinaryHeap<Reverse<u64>>,
    slot: Option<u64>,
    /// Part of the slot that has passed.
    passed: f64,
    /// Bytes since the last block.
    owed: f64,
}

impl SelfSimilar {
    pub(crate) fn new(laws: Arc<SelfSimilarLaws>) -> Self {
        SelfSimilar {
            laws,
            ends: BinaryHeap::new(),
            slot: None,
            passed: 0.0,
            owed: 0.0,
        }
    }

    /// Begins the first slot in equilibrium.
    fn begin(&mut self, rng: &mut ChaCha8Rng) -> u64 {
        for _ in 0..poisson(self.laws.sessions, rng) {
            self.ends.push(Reverse(self.laws.remaining(open_unit(rng))));
        }
        self.owed = open_unit(rng) * f64::from(self.laws.block_bytes);
        0
    }

    fn begin_slot(&mut self, slot: u64, rng: &mut ChaCha8Rng) {
        while self.ends.peek().is_some_and(|Reverse(end)| *end <= slot) {
            self.ends.pop();
        }
        for _ in 0..poisson(self.laws.arrivals(), rng) {
            let end = slot.saturating_add(self.laws.duration(open_unit(rng)));
            self.ends.push(Reverse(end));
        }
    }
}

impl BlockSource for SelfSimilar {
    fn next_block(&mut self, rng: &mut ChaCha8Rng) -> Option<PlannedDeparture> {
        let mut slot = match self.slot {
            Some(slot) => slot,
            None => self.begin(rng),
        };
        loop {
            let bytes = self.ends.len() as f64 * self.laws.bytes_per_slot;
            let missing = f64::from(self.laws.block_bytes) - self.owed;
            let end = self.passed + missing / bytes;
            // No session: `end` is infinite.
            if end < 1.0 {
                self.passed = end;
                self.owed = 0.0;
                self.slot = Some(slot);
                let in_slot = (end * self.laws.slot_ns as f64) as u64;
                return Some(PlannedDeparture {
                    at_ns: slot.checked_mul(self.laws.slot_ns)?.checked_add(in_slot)?,
                    bytes: self.laws.block_bytes,
                });
            }
            self.owed += bytes * (1.0 - self.passed);
            self.passed = 0.0;
            slot = slot.checked_add(1)?;
            slot.checked_mul(self.laws.slot_ns)?;
            self.begin_slot(slot, rng);
        }
    }
}

/// A number with a Poisson distribution: the arrivals of a Poisson process in one unit of time.
fn poisson(mean: f64, rng: &mut ChaCha8Rng) -> u64 {
    let mut count = 0;
    let mut at = -libm::log(open_unit(rng));
    while at < mean {
        count += 1;
        at -= libm::log(open_unit(rng));
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_continue_smoothly_after_the_table() {
        for hurst in [0.55, 0.7, 0.9, 0.95] {
            let laws = SelfSimilarLaws::new(hurst, 1_000_000, 50.0, 1_000_000, 100);
            let first = 1.0 - laws.correlations[1];
            for lag in [1, 10, 1000, 1023] {
                let more = (laws.correlations[lag] - laws.correlations[lag + 1]) / first;
                assert_eq!(laws.duration(more * 1.0001), lag as u64, "{hurst}");
                let just_more = laws.duration(more * 0.9999);
                let error = just_more.abs_diff(lag as u64 + 1);
                assert!(error <= 1, "{hurst} {lag} {just_more}");
            }
            // Far out, against the autocorrelation itself.
            let lag = 5000;
            let far = noise_correlation(hurst, lag);
            let found = laws.remaining(far);
            assert!(found.abs_diff(lag as u64) <= 5, "{hurst}: {found}");
        }
    }
}
