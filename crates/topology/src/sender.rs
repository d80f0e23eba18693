//! The features of the TCP of a bare host, as switches.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use trace::rto::{PAPER_WEIGHTS, RtoFormula, RtoWeights, SamplingStrategy};

/// Congestion control of a bare host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CongestionControl {
    /// Only the receiver's window limits what is in flight.
    None,
    /// RFC 5681.
    Reno,
    /// RFC 9438.
    Cubic,
    /// Compound TCP.
    Compound,
}

/// Segments that are sent again after a timeout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TimeoutResend {
    /// Everything that is outstanding.
    Everything,
    /// The first segment.
    FirstSegment,
}

/// Settings of the sender.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SenderSettings {
    /// Formula of the retransmission timeout.
    pub rto: RtoFormula,
    /// The timeout before the first round trip, in nanoseconds.
    pub initial_rto_ns: u64,
    /// The longest timeout, in nanoseconds.
    pub maximum_rto_ns: u64,
    /// Round trips that are used. Segments that were sent twice give none, unless time stamps show
    /// which of the two was acknowledged (Karn's rule; RFC 6298, section 3).
    pub sampling: SamplingStrategy,
    /// The timeout doubles with each timeout, until the next round trip (RFC 6298, section 5.5).
    pub backoff: bool,
    /// Segments that are sent again after a timeout.
    pub timeout_resend: TimeoutResend,
    /// Three duplicate acknowledgments cause the first segment to be sent again (RFC 5681, section
    /// 3.2). Without fast recovery, slow start follows, as in 4.3BSD-Tahoe.
    pub fast_retransmit: bool,
    /// Fast recovery follows: NewReno (RFC 6582), or with SACK the simplified RFC 6675. Needs fast
    /// retransmit.
    pub fast_recovery: bool,
    /// The receiver's selective acknowledgments (RFC 2018) are requested. Without fast recovery
    /// they only keep received segments from being sent again.
    pub sack: bool,
    /// Time stamps (RFC 7323) are used, where the client offers them. They tick in milliseconds.
    pub timestamps: bool,
    /// Limit of the data in flight in addition to the receiver's window.
    pub congestion_control: CongestionControl,
    /// The initial congestion window, in segments.
    pub initial_window_segments: u32,
}

/// Why settings of a sender cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SenderSettingsError {
    /// A weight outside of 0 to 1.
    #[error("alpha and beta of the timeout must be more than 0 and at most 1")]
    Weights,
    /// The factor K is out of range.
    #[error("the factor K of the timeout must be from 0 to 1000")]
    Factor,
    /// The granularity G is out of range.
    #[error("the granularity G of the timeout must be from 1 µs to 10 s")]
    Granularity,
    /// The three timeouts contradict each other.
    #[error(
        "the minimum and the initial timeout must be at most the maximum, which must be from 1 ms to 1 h"
    )]
    Timeouts,
    /// The initial window is out of range.
    #[error("the initial window must be from 1 to 1000 segments")]
    InitialWindow,
    /// Fast recovery without fast retransmit.
    #[error("fast recovery needs fast retransmit")]
    RecoveryAlone,
}

const SECOND_NS: u64 = 1_000_000_000;

impl SenderSettings {
    /// The bare server of the dissertation: no SACK, fast retransmit, fast recovery or congestion
    /// control; everything resent after a timeout; K = 4, G = 250 µs, and no minimum.
    pub fn bare(weights: RtoWeights, sampling: SamplingStrategy) -> SenderSettings {
        SenderSettings {
            rto: RtoFormula::paper(weights),
            initial_rto_ns: SECOND_NS,
            maximum_rto_ns: 60 * SECOND_NS,
            sampling,
            backoff: true,
            timeout_resend: TimeoutResend::Everything,
            fast_retransmit: false,
            fast_recovery: false,
            sack: false,
            timestamps: false,
            congestion_control: CongestionControl::None,
            initial_window_segments: 10,
        }
    }

    /// All features that servers have today, with this congestion control; the minimum timeout is
    /// the 200 ms of Linux.
    pub fn conventional(congestion_control: CongestionControl) -> SenderSettings {
        SenderSettings {
            rto: RtoFormula {
                minimum_ns: 0.2 * SECOND_NS as f64,
                ..RtoFormula::paper(PAPER_WEIGHTS[0])
            },
            fast_retransmit: true,
            fast_recovery: true,
            sack: true,
            timestamps: true,
            congestion_control,
            ..SenderSettings::bare(PAPER_WEIGHTS[0], SamplingStrategy::One)
        }
    }

    /// The stand-in for IIS on Windows, to be labelled "not IIS": Compound TCP with SACK and fast
    /// recovery, an initial window of two segments (RFC 2581), and a minimum timeout of 300 ms, as
    /// Windows of that time had.
    pub fn not_iis() -> SenderSettings {
        let conventional = SenderSettings::conventional(CongestionControl::Compound);
        SenderSettings {
            rto: RtoFormula {
                minimum_ns: 0.3 * SECOND_NS as f64,
                ..conventional.rto
            },
            timestamps: false,
            initial_window_segments: 2,
            ..conventional
        }
    }

    /// Checks if they can be used.
    ///
    /// # Errors
    ///
    /// A setting is out of range, or two of them contradict each other.
    pub fn check(&self) -> Result<(), SenderSettingsError> {
        let RtoFormula {
            weights,
            factor,
            granularity_ns,
            minimum_ns,
        } = self.rto;
        let is_share = |weight: f64| weight > 0.0 && weight <= 1.0;
        let maximum_ns = self.maximum_rto_ns;
        let problems = [
            (
                !is_share(weights.alpha) || !is_share(weights.beta),
                SenderSettingsError::Weights,
            ),
            (
                !(0.0..=1000.0).contains(&factor),
                SenderSettingsError::Factor,
            ),
            (
                !(1e3..=10e9).contains(&granularity_ns),
                SenderSettingsError::Granularity,
            ),
            (
                !(SECOND_NS / 1000..=3600 * SECOND_NS).contains(&maximum_ns)
                    || !(0.0..=maximum_ns as f64).contains(&minimum_ns)
                    || !(1..=maximum_ns).contains(&self.initial_rto_ns),
                SenderSettingsError::Timeouts,
            ),
            (
                !(1..=1000).contains(&self.initial_window_segments),
                SenderSettingsError::InitialWindow,
            ),
            (
                self.fast_recovery && !self.fast_retransmit,
                SenderSettingsError::RecoveryAlone,
            ),
        ];
        let mut problems = problems.into_iter();
        match problems.find(|(is_problem, _)| *is_problem) {
            Some((_, problem)) => Err(problem),
            None => Ok(()),
        }
    }
}
