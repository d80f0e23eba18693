//! The congestion window: none, Reno (RFC 5681), CUBIC (RFC 9438), Compound TCP
//! (draft-sridharan-tcpm-ctcp-02).

mod compound;
mod cubic;
use topology::CongestionControl;

use compound::CompoundState;
use cubic::CubicState;

pub use cubic::{CUBIC_BETA, CUBIC_C, CubicCurve};

#[derive(Debug, Clone, Copy)]
pub(crate) struct AckedData {
    pub(crate) now_ns: u64,
    /// Bytes newly acknowledged.
    pub(crate) bytes: u64,
    /// Offset up to which everything is acknowledged.
    pub(crate) acknowledged: u64,
    /// Offset behind all sent data.
    pub(crate) sent: u64,
    pub(crate) srtt_ns: f64,
    /// The round trip of this acknowledgment, if it gave one.
    pub(crate) rtt_ns: Option<f64>,
    /// The window limited the sender. Otherwise the window does not grow (RFC 7661, section 1).
    pub(crate) is_limited: bool,
}

/// The congestion window of a connection. Sizes are in bytes.
#[derive(Debug, Clone)]
pub(crate) struct CongestionWindow {
    mss: f64,
    window: f64,
    threshold: f64,
    law: CongestionLaw,
}

#[derive(Debug, Clone)]
enum CongestionLaw {
    Unlimited,
    Reno,
    Cubic(CubicState),
    Compound(CompoundState),
}

impl CongestionWindow {
    pub(crate) fn new(control: CongestionControl, mss: u64, initial_segments: u32) -> Self {
        CongestionWindow {
            mss: mss as f64,
            window: mss as f64 * f64::from(initial_segments),
            threshold: f64::INFINITY,
            law: match control {
                CongestionControl::None => CongestionLaw::Unlimited,
                CongestionControl::Reno => CongestionLaw::Reno,
                CongestionControl::Cubic => CongestionLaw::Cubic(CubicState::default()),
                CongestionControl::Compound => CongestionLaw::Compound(CompoundState::default()),
            },
        }
    }

    /// Most bytes in flight.
    pub(crate) fn bytes(&self) -> u64 {
        match &self.law {
            CongestionLaw::Unlimited => u64::MAX,
            CongestionLaw::Compound(state) => {
                (self.window + state.delay_window() * self.mss) as u64
            }
            CongestionLaw::Reno | CongestionLaw::Cubic(_) => self.window as u64,
        }
    }

    /// True if this window, and not the peer's or a lack of data, limited the sender that had
    /// `in_flight` bytes in flight. In slow start half of it is enough, because it doubles in a
    /// round trip.
    pub(crate) fn is_limit_of(&self, in_flight: u64) -> bool {
        let used = if self.window < self.threshold {
            2.0 * in_flight as f64
        } else {
            in_flight as f64 + self.mss
        };
        used >= self.bytes() as f64
    }

    /// New data was acknowledged, outside of a recovery.
    pub(crate) fn acknowledged(&mut self, data: &AckedData) {
        let is_slow_start = self.window < self.threshold;
        if let CongestionLaw::Compound(state) = &mut self.law {
            state.measured(data, self.window / self.mss, is_slow_start);
        }
        if !data.is_limited {
            return;
        }
        if is_slow_start {
            self.window += self.mss.min(data.bytes as f64);
            return;
        }
        let (segments, acked_segments) = (self.window / self.mss, data.bytes as f64 / self.mss);
        let grown = match &mut self.law {
            CongestionLaw::Unlimited => segments,
            CongestionLaw::Reno => segments + 1.0 / segments,
            CongestionLaw::Cubic(state) => {
                let (now_s, srtt_s) = (data.now_ns as f64 / 1e9, data.srtt_ns / 1e9);
                state.grown(segments, acked_segments, now_s, srtt_s)
            }
            CongestionLaw::Compound(state) => segments + 1.0 / (segments + state.delay_window()),
        };
        self.window = grown * self.mss;
    }

    /// Handles a loss shown by duplicate or selective acknowledgments, with this many bytes in
    /// flight.
    pub(crate) fn lost(&mut self, in_flight: u64) {
        let in_flight = in_flight as f64;
        let segments = self.window / self.mss;
        let reduced = match &mut self.law {
            CongestionLaw::Unlimited => return,
            CongestionLaw::Reno => in_flight / 2.0,
            CongestionLaw::Cubic(state) => {
                state.lost(segments);
                in_flight * CUBIC_BETA
            }
            CongestionLaw::Compound(state) => {
                state.lost(segments);
                self.window / 2.0
            }
        };
        self.threshold = reduced.max(2.0 * self.mss);
        self.window = self.threshold;
    }

    /// Handles an expired retransmission timer, for the first time for this segment or again.
    pub(crate) fn timed_out(&mut self, in_flight: u64, is_first: bool) {
        if matches!(self.law, CongestionLaw::Unlimited) {
            return;
        }
        if is_first {
            self.lost(in_flight);
        }
        match &mut self.law {
            CongestionLaw::Cubic(state) => state.timed_out(),
            CongestionLaw::Compound(state) => state.timed_out(),
            CongestionLaw::Unlimited | CongestionLaw::Reno => {}
        }
        self.window = self.mss;
    }

    /// As after a timeout: a fast retransmit without fast recovery (Tahoe).
    pub(crate) fn restart(&mut self, in_flight: u64) {
        self.timed_out(in_flight, true);
    }

    /// A segment has left the network during a recovery without SACK (RFC 6582, section 3.2, steps
    /// 2 and 3).
    pub(crate) fn inflate(&mut self, segments: u32) {
        self.window += self.mss * f64::from(segments);
    }

    /// A partial acknowledgment during a recovery without SACK (RFC 6582, section 3.2, step 5).
    pub(crate) fn deflate(&mut self, acknowledged: u64) {
        let acknowledged = acknowledged as f64;
        self.window -= acknowledged;
        if acknowledged >= self.mss {
            self.window += self.mss;
        }
        self.window = self.window.max(self.mss);
    }

    /// Ends a recovery with this many bytes in flight (RFC 6582, section 3.2, step 5, option 1).
    pub(crate) fn recovered(&mut self, in_flight: u64) {
        if !matches!(self.law, CongestionLaw::Unlimited) {
            let needed = (in_flight as f64).max(self.mss) + self.mss;
            self.window = self.threshold.min(needed).max(self.mss);
        }
    }
}

#[cfg(test)]
mod tests;
