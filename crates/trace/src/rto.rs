//! Retransmission timeouts that other settings would have had, over the round trips of a capture.
//! Pure.
//!
//! The formulas are those of RFC 6298, section 2, which A. Loukili's dissertation (section 4.1.1)
//! uses with nine pairs of weights and three strategies of sampling. With a first round trip R:
//! SRTT = R, RTTVAR = R / 2. With each later one, RTTVAR first, from the old SRTT:
//!
//! ```text
//! RTTVAR = (1 - beta) RTTVAR + beta |SRTT - R|
//! SRTT   = (1 - alpha) SRTT + alpha R
//! RTO    = SRTT + max(G, K RTTVAR), at least the minimum
//! ```
//!
//! A round trip is compared with the timeout that was current when its segment was sent: the one
//! that follows from the samples whose acknowledgments had passed by then. Segments sent before the
//! first of them are not counted.

use crate::round_trip::RttSample;

const SECOND_NS: f64 = 1e9;

/// The timeout before the first round trip (RFC 6298, section 2.1), in nanoseconds.
pub const INITIAL_RTO_NS: f64 = SECOND_NS;

/// Minimum timeouts of Figures 21 and 22 and Tables 34 and 35, in nanoseconds.
pub const PAPER_THRESHOLDS_NS: [f64; 4] = [0.25e9, 0.5e9, 0.75e9, 1e9];

/// Weights of a new round trip.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RtoWeights {
    /// Weight in the smoothed round trip.
    pub alpha: f64,
    /// Weight in its variation.
    pub beta: f64,
}

/// W1 to W9 of the dissertation's Table 5; W1 has the weights of RFC 6298.
pub const PAPER_WEIGHTS: [RtoWeights; 9] = {
    const fn weights(alpha: f64, beta: f64) -> RtoWeights {
        RtoWeights { alpha, beta }
    }
    const EIGHTH: f64 = 1.0 / 8.0;
    const SIXTEENTH: f64 = 1.0 / 16.0;
    [
        weights(EIGHTH, 2.0 * EIGHTH),
        weights(EIGHTH, 3.0 * EIGHTH),
        weights(EIGHTH, EIGHTH),
        weights(3.0 * SIXTEENTH, 2.0 * EIGHTH),
        weights(3.0 * SIXTEENTH, 3.0 * EIGHTH),
        weights(3.0 * SIXTEENTH, EIGHTH),
        weights(SIXTEENTH, 2.0 * EIGHTH),
        weights(SIXTEENTH, 3.0 * EIGHTH),
        weights(SIXTEENTH, EIGHTH),
    ]
};

/// Formula of a timeout.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RtoFormula {
    /// Weights of a new round trip.
    pub weights: RtoWeights,
    /// Factor of the variation, K.
    pub factor: f64,
    /// Granularity of the clock, G, in nanoseconds.
    pub granularity_ns: f64,
    /// The least timeout, in nanoseconds.
    pub minimum_ns: f64,
}

impl RtoFormula {
    /// The formula of the dissertation: K = 4, G = 250 µs, no minimum.
    pub fn paper(weights: RtoWeights) -> RtoFormula {
        RtoFormula {
            weights,
            factor: 4.0,
            granularity_ns: 250_000.0,
            minimum_ns: 0.0,
        }
    }
}

/// Round trips that are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SamplingStrategy {
    /// The first of each window of data.
    One,
    /// The first, third, fifth, ... of each window.
    Some,
    /// All.
    All,
}

impl SamplingStrategy {
    /// The selected round trips.
    pub fn select(self, samples: &[RttSample]) -> Vec<RttSample> {
        let mut selector = SampleSelector::new(self);
        let samples = samples.iter().copied();
        samples
            .filter(|sample| selector.selects(sample.window))
            .collect()
    }
}

/// Applies a strategy to round trips as they are measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SampleSelector {
    strategy: SamplingStrategy,
    window: Option<u32>,
    in_window: usize,
}

impl SampleSelector {
    /// A selector before the first round trip.
    pub fn new(strategy: SamplingStrategy) -> SampleSelector {
        SampleSelector {
            strategy,
            window: None,
            in_window: 0,
        }
    }

    /// True if the next round trip, of the window of data of this number, is used.
    pub fn selects(&mut self, window: u32) -> bool {
        if self.window != Some(window) {
            self.window = Some(window);
            self.in_window = 0;
        }
        let is_selected = match self.strategy {
            SamplingStrategy::One => self.in_window == 0,
            SamplingStrategy::Some => self.in_window.is_multiple_of(2),
            SamplingStrategy::All => true,
        };
        self.in_window = self.in_window.saturating_add(1);
        is_selected
    }
}

/// Computes timeouts, round trip by round trip.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RtoEstimator {
    formula: RtoFormula,
    srtt_ns: Option<f64>,
    rttvar_ns: f64,
}

impl RtoEstimator {
    /// An estimator without a round trip.
    pub fn new(formula: RtoFormula) -> RtoEstimator {
        RtoEstimator {
            formula,
            srtt_ns: None,
            rttvar_ns: 0.0,
        }
    }

    /// Adds a round trip, in nanoseconds.
    pub fn add(&mut self, rtt_ns: f64) {
        let RtoWeights { alpha, beta } = self.formula.weights;
        let Some(srtt_ns) = self.srtt_ns else {
            self.srtt_ns = Some(rtt_ns);
            self.rttvar_ns = rtt_ns / 2.0;
            return;
        };
        self.rttvar_ns = (1.0 - beta) * self.rttvar_ns + beta * (srtt_ns - rtt_ns).abs();
        self.srtt_ns = Some((1.0 - alpha) * srtt_ns + alpha * rtt_ns);
    }

    /// The smoothed round trip, in nanoseconds.
    pub fn srtt_ns(&self) -> Option<f64> {
        self.srtt_ns
    }

    /// Its variation, in nanoseconds.
    pub fn rttvar_ns(&self) -> Option<f64> {
        self.srtt_ns.map(|_| self.rttvar_ns)
    }

    /// The timeout, in nanoseconds; [`INITIAL_RTO_NS`] before the first round trip.
    pub fn rto_ns(&self) -> f64 {
        let RtoFormula {
            factor,
            granularity_ns,
            minimum_ns,
            ..
        } = self.formula;
        let computed_ns = match self.srtt_ns {
            Some(srtt_ns) => srtt_ns + granularity_ns.max(factor * self.rttvar_ns),
            None => INITIAL_RTO_NS,
        };
        computed_ns.max(minimum_ns)
    }
}

/// A round trip and the timeout that was current when its segment was sent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ComparedTimeout {
    /// The round trip.
    pub sample: RttSample,
    /// The timeout, in nanoseconds.
    pub rto_ns: f64,
}

/// Each round trip that the strategy uses, with the timeout of its segment.
pub fn timeouts(
    samples: &[RttSample],
    formula: RtoFormula,
    strategy: SamplingStrategy,
) -> Vec<ComparedTimeout> {
    let selected = strategy.select(samples);
    let mut estimator = RtoEstimator::new(formula);
    let mut added = 0;
    // A later sample can be of a segment that was sent earlier: the estimates are looked up by
    // time.
    let mut estimates: Vec<(i64, f64)> = Vec::new();
    let mut compared = Vec::new();
    for sample in &selected {
        let sent_ns = sample.at_ns.saturating_sub(sample.rtt_ns);
        while let Some(before) = selected.get(added).filter(|before| before.at_ns <= sent_ns) {
            estimator.add(before.rtt_ns as f64);
            estimates.push((before.at_ns, estimator.rto_ns()));
            added += 1;
        }
        let known = estimates.partition_point(|(at_ns, _)| *at_ns <= sent_ns);
        if let Some((_, rto_ns)) = known.checked_sub(1).and_then(|last| estimates.get(last)) {
            compared.push(ComparedTimeout {
                sample: *sample,
                rto_ns: *rto_ns,
            });
        }
    }
    compared
}

/// Numbers of segments with round trips within their timeouts: the columns of the dissertation's
/// Table 6.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RtoTable {
    /// RTO <= 1 s, RTT <= RTO.
    pub short_within: u64,
    /// RTO <= 1 s, RTT > RTO, RTT < 1 s: a minimum of one second avoids their retransmission.
    pub short_exceeded: u64,
    /// RTO <= 1 s, RTT > RTO, RTT >= 1 s.
    pub short_exceeded_long: u64,
    /// RTO > 1 s, RTT < RTO.
    pub long_within: u64,
    /// RTO > 1 s, RTT >= RTO.
    pub long_exceeded: u64,
}

impl RtoTable {
    /// Counts segments.
    pub fn of(compared: &[ComparedTimeout]) -> RtoTable {
        let mut table = RtoTable::default();
        for ComparedTimeout { sample, rto_ns } in compared {
            let rtt_ns = sample.rtt_ns as f64;
            let count = if *rto_ns <= SECOND_NS {
                if rtt_ns <= *rto_ns {
                    &mut table.short_within
                } else if rtt_ns < SECOND_NS {
                    &mut table.short_exceeded
                } else {
                    &mut table.short_exceeded_long
                }
            } else if rtt_ns < *rto_ns {
                &mut table.long_within
            } else {
                &mut table.long_exceeded
            };
            *count += 1;
        }
        table
    }

    /// All segments.
    pub fn total(&self) -> u64 {
        self.shares_of().iter().sum()
    }

    fn shares_of(&self) -> [u64; 5] {
        [
            self.short_within,
            self.short_exceeded,
            self.short_exceeded_long,
            self.long_within,
            self.long_exceeded,
        ]
    }

    /// The columns in the order of the fields, as shares of all segments (0 to 1).
    pub fn shares(&self) -> Option<[f64; 5]> {
        let total = self.total();
        (total > 0).then(|| self.shares_of().map(|count| count as f64 / total as f64))
    }
}

/// Share of segments (0 to 1) that avoid retransmission at a minimum timeout, as counted in the
/// dissertation's Figures 21 and 22 and Tables 34 and 35: those whose computed timeout is at most
/// the minimum. Only so does Table 35 (W9, one: 54.17 % at 1 s) agree with Table 6 (50 % + 4 %).
pub fn share_up_to(compared: &[ComparedTimeout], minimum_ns: f64) -> Option<f64> {
    share(compared, |timeout| timeout.rto_ns <= minimum_ns)
}

/// Share of segments (0 to 1) whose round trip is within the timeout, if that is at least the
/// minimum: a sender with this minimum would not have sent them again.
pub fn share_within(compared: &[ComparedTimeout], minimum_ns: f64) -> Option<f64> {
    share(compared, |timeout| {
        timeout.sample.rtt_ns as f64 <= timeout.rto_ns.max(minimum_ns)
    })
}

/// Timeouts of one formula and one strategy over a capture.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RtoStudyRow {
    /// The index of its formula among those of the study, from 1 on: 1 to 9 are W1 to W9 of
    /// [`PAPER_WEIGHTS`].
    pub weights: usize,
    /// The formula.
    pub formula: RtoFormula,
    /// Round trips that are used.
    pub strategy: SamplingStrategy,
    /// Its columns of Table 6.
    pub table: RtoTable,
    /// Its column of Tables 34 and 35, for each of [`PAPER_THRESHOLDS_NS`].
    pub up_to: [Option<f64>; 4],
    /// Share of segments that a sender with these minimums would not have sent again.
    pub within: [Option<f64>; 4],
}

/// The dissertation's study of timeouts (section 4.1.3) over the round trips of several directions:
/// each formula with some, one and all round trips, in the order of Table 6. Each direction has
/// separate timeouts, and the segments of all are counted together.
pub fn study(directions: &[&[RttSample]], formulas: &[RtoFormula]) -> Vec<RtoStudyRow> {
    use SamplingStrategy::{All, One, Some as Alternate};
    let mut rows = Vec::new();
    for (number, formula) in (1..).zip(formulas) {
        for strategy in [Alternate, One, All] {
            let directions = directions.iter();
            let compared: Vec<ComparedTimeout> = directions
                .flat_map(|samples| timeouts(samples, *formula, strategy))
                .collect();
            rows.push(RtoStudyRow {
                weights: number,
                formula: *formula,
                strategy,
                table: RtoTable::of(&compared),
                up_to: PAPER_THRESHOLDS_NS.map(|minimum_ns| share_up_to(&compared, minimum_ns)),
                within: PAPER_THRESHOLDS_NS.map(|minimum_ns| share_within(&compared, minimum_ns)),
            });
        }
    }
    rows
}

fn share(
    compared: &[ComparedTimeout],
    is_counted: impl Fn(&ComparedTimeout) -> bool,
) -> Option<f64> {
    let counted = compared
        .iter()
        .filter(|timeout| is_counted(timeout))
        .count();
    (!compared.is_empty()).then(|| counted as f64 / compared.len() as f64)
}
