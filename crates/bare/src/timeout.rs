//! The retransmission timeout: estimator, sampling and backoff (RFC 6298).

use topology::SenderSettings;
use trace::round_trip::RttSample;
use trace::rto::{RtoEstimator, SampleSelector};

use crate::counters::{RttLog, RttLogEntry};

/// Doublings after which every timeout is the maximum.
const MOST_DOUBLINGS: u32 = 40;

#[derive(Debug, Clone)]
pub(crate) struct RetransmissionTimeout {
    settings: SenderSettings,
    estimator: RtoEstimator,
    selector: SampleSelector,
    doublings: u32,
    log: RttLog,
}

impl RetransmissionTimeout {
    pub(crate) fn new(settings: &SenderSettings) -> RetransmissionTimeout {
        RetransmissionTimeout {
            settings: *settings,
            estimator: RtoEstimator::new(settings.rto),
            selector: SampleSelector::new(settings.sampling),
            doublings: 0,
            log: RttLog::default(),
        }
    }

    /// Adds the round trip of a segment that was sent once. It ends the backoff even if the
    /// strategy does not use it: the path delivers in time again.
    pub(crate) fn measured(&mut self, sample: RttSample) {
        self.doublings = 0;
        if !self.selector.selects(sample.window) {
            return;
        }
        self.estimator.add(sample.rtt_ns as f64);
        let smoothed = self.estimator.srtt_ns().zip(self.estimator.rttvar_ns());
        if let Some((srtt_ns, rttvar_ns)) = smoothed {
            self.log.add(RttLogEntry {
                sample,
                srtt_ns,
                rttvar_ns,
                rto_ns: self.computed_ns(),
            });
        }
    }

    pub(crate) fn back_off(&mut self) {
        if self.settings.backoff {
            self.doublings = (self.doublings + 1).min(MOST_DOUBLINGS);
        }
    }

    pub(crate) fn timeout_ns(&self) -> u64 {
        let doubled_ns = u128::from(self.computed_ns()) << self.doublings;
        let doubled_ns = u64::try_from(doubled_ns).unwrap_or(u64::MAX);
        doubled_ns.min(self.settings.maximum_rto_ns)
    }

    pub(crate) fn srtt_ns(&self) -> Option<f64> {
        self.estimator.srtt_ns()
    }

    pub(crate) fn log(&self) -> &RttLog {
        &self.log
    }

    fn computed_ns(&self) -> u64 {
        let computed_ns = match self.estimator.srtt_ns() {
            Some(_) => self.estimator.rto_ns() as u64,
            None => self.settings.initial_rto_ns,
        };
        computed_ns.min(self.settings.maximum_rto_ns)
    }
}

#[cfg(test)]
mod tests {
    use trace::rto::{PAPER_WEIGHTS, SamplingStrategy};

    use super::*;

    const MS: i64 = 1_000_000;

    fn sample(rtt_ns: i64, window: u32) -> RttSample {
        RttSample {
            at_ns: 0,
            rtt_ns,
            window,
        }
    }

    #[test]
    fn it_doubles_up_to_the_maximum_until_the_next_round_trip() {
        let settings = SenderSettings::bare(PAPER_WEIGHTS[0], SamplingStrategy::One);
        let mut timeout = RetransmissionTimeout::new(&settings);
        assert_eq!(timeout.timeout_ns(), 1_000_000_000);
        timeout.measured(sample(100 * MS, 1));
        // R + max(G, 4 R / 2).
        assert_eq!(timeout.timeout_ns(), 300_000_000);
        timeout.back_off();
        assert_eq!(timeout.timeout_ns(), 600_000_000);
        for _ in 0..100 {
            timeout.back_off();
        }
        assert_eq!(timeout.timeout_ns(), 60_000_000_000);
        // The strategy does not use it, but it ends the backoff.
        timeout.measured(sample(900 * MS, 1));
        assert_eq!(timeout.timeout_ns(), 300_000_000);
        assert_eq!(timeout.log().count(), 1);
    }

    #[test]
    fn without_backoff_it_stays() {
        let settings = SenderSettings {
            backoff: false,
            ..SenderSettings::bare(PAPER_WEIGHTS[0], SamplingStrategy::One)
        };
        let mut timeout = RetransmissionTimeout::new(&settings);
        timeout.back_off();
        assert_eq!(timeout.timeout_ns(), 1_000_000_000);
    }
}
