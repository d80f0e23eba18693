//! Compound TCP: in addition to Reno's, a window that grows and shrinks with the delay
//! (draft-sridharan-tcpm-ctcp-02; K. Tan and others, INFOCOM 2006). Windows are in segments.

use super::AckedData;

/// Growth of the sum of both windows in a round trip: ALPHA x window^EXPONENT.
const ALPHA: f64 = 0.125;
const EXPONENT: f64 = 0.75;

/// Share of the sum that a loss takes.
const BETA: f64 = 0.5;

/// Queued segments from which on the window for the delay shrinks (gamma), and by how many for each
/// of them (zeta).
const QUEUED: f64 = 30.0;
const SHRINKING: f64 = 1.0;

/// The window for the delay.
#[derive(Debug, Clone, Default)]
pub(super) struct CompoundState {
    delay_window: f64,
    /// The shortest round trip, and the shortest of the current round.
    base_rtt_ns: Option<f64>,
    rtt_ns: Option<f64>,
    /// Offset whose acknowledgment ends the round.
    round_end: u64,
}

impl CompoundState {
    pub(super) fn delay_window(&self) -> f64 {
        self.delay_window
    }

    /// Adds the round trip of an acknowledgment. `window`: Reno's window.
    pub(super) fn measured(&mut self, data: &AckedData, window: f64, is_slow_start: bool) {
        let least = |before: Option<f64>, rtt_ns: f64| Some(before.unwrap_or(rtt_ns).min(rtt_ns));
        if let Some(rtt_ns) = data.rtt_ns {
            self.base_rtt_ns = least(self.base_rtt_ns, rtt_ns);
            self.rtt_ns = least(self.rtt_ns, rtt_ns);
        }
        if data.acknowledged < self.round_end {
            return;
        }
        self.round_end = data.sent;
        let (Some(base_ns), Some(rtt_ns)) = (self.base_rtt_ns, self.rtt_ns.take()) else {
            return;
        };
        if is_slow_start || !data.is_limited {
            return;
        }
        let sum = window + self.delay_window;
        // The expected less the actual rate, over the shortest round trip.
        let queued = sum * (1.0 - base_ns / rtt_ns.max(1.0));
        let change = if queued < QUEUED {
            (ALPHA * libm::pow(sum, EXPONENT) - 1.0).max(0.0)
        } else {
            -SHRINKING * queued
        };
        self.delay_window = (self.delay_window + change).max(0.0);
    }

    /// Handles a loss at this window of Reno's, which is halved.
    pub(super) fn lost(&mut self, window: f64) {
        let sum = window + self.delay_window;
        self.delay_window = (sum * (1.0 - BETA) - window / 2.0).max(0.0);
    }

    pub(super) fn timed_out(&mut self) {
        self.delay_window = 0.0;
    }
}
