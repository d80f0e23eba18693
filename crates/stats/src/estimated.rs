//! Estimates that verdicts come from, with intervals of any confidence, and the facts beside them.
//!
//! ```text
//! RowTally --> EstimatedRow --+--> times   --> mean, sd        (mean: batch means, skewness)
//!                             |       `------> percentiles     (share: binomial, design effect)
//!                             +--> failures -> failure rate    (share)
//!                             +--> throughput -> rate, goodput (three waves, see `throughput`)
//!                             `--> facts
//! ```
//!
//! A constraint passes or fails where the whole interval lies on one side of its bound, so each
//! side of an interval of `1 - miss` may lie on the wrong side of the truth in `miss / 2` of all
//! runs. The 95 % intervals of reports, made longer, do not keep that: the mean and the spread of
//! skewed values depend on each other. These intervals are wider, not symmetrical, and sometimes
//! infinite at one end. `docs/SIMULATIONS.md`, "Verdicts of constraints", has their true error
//! rates.

mod dependence;
mod mean;
mod run;
mod share;
pub(crate) mod tally;
pub(crate) mod times;

pub(crate) use constraint::{EstimatedStatistic, FactOfRow};
pub(crate) use run::RunEstimates;
pub(crate) use tally::{EstimatedRow, JudgedTally};

/// The probability that an interval of a verdict does not contain the truth: 0.1 % on each side.
pub(crate) const MISS: f64 = 0.002;

/// An estimate with its interval: times in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct JudgedEstimate {
    /// The estimate, which lies in its interval.
    pub(crate) value: f64,
    /// The lower end of the interval; 0 where the samples give none.
    pub(crate) low: f64,
    /// The upper end; infinite where the samples give none (p99 of 300 operations).
    pub(crate) high: f64,
}

/// The probability with which the interval may miss the truth at a look, counted from 1, where a
/// run is looked at several times and ends at the first verdict.
///
/// `MISS / (look (look + 1))`: over any number of looks they add up to less than [`MISS`], so the
/// promise of a single look holds for all of them together, whatever depends on what (Bonferroni; a
/// spending function in the sense of Lan and DeMets, *Discrete sequential boundaries for clinical
/// trials*, Biometrika 70, 1983). Looks should lie at doubling times: more looks cost width and
/// tell little more. Look 0 counts as look 1.
pub(crate) fn miss_at_look(look: u32) -> f64 {
    let look = f64::from(look.max(1));
    MISS / (look * (look + 1.0))
}
