//! CUBIC (RFC 9438). Windows are in segments, times in seconds.

/// The constant C of the curve (section 5.1).
pub const CUBIC_C: f64 = 0.4;

/// The factor of the multiplicative decrease (section 4.6).
pub const CUBIC_BETA: f64 = 0.7;

/// W_cubic(t) = C (t - K)^3 + W_max (section 4.2).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CubicCurve {
    /// The window at which the curve is flat, in segments.
    pub maximum: f64,
    /// K: the time of the inflection, in seconds from the beginning of the curve.
    pub inflection_s: f64,
}

impl CubicCurve {
    /// The curve that begins at this window and has its inflection at `maximum`; at the window
    /// itself, if that is larger.
    pub fn new(window: f64, maximum: f64) -> CubicCurve {
        let maximum = maximum.max(window);
        CubicCurve {
            maximum,
            inflection_s: libm::cbrt((maximum - window) / CUBIC_C),
        }
    }

    /// The window after this many seconds, in segments.
    pub fn window_at(&self, time_s: f64) -> f64 {
        let distance_s = time_s - self.inflection_s;
        CUBIC_C * distance_s * distance_s * distance_s + self.maximum
    }
}

#[derive(Debug, Clone, Default)]
pub(super) struct CubicState {
    /// Window before the last loss, reduced by fast convergence.
    maximum: f64,
    /// Window before the last loss.
    before_loss: f64,
    epoch: Option<CubicEpoch>,
}

/// Congestion avoidance since the last loss.
#[derive(Debug, Clone, Copy)]
struct CubicEpoch {
    began_s: f64,
    curve: CubicCurve,
    /// W_est: the window that Reno would have (section 4.3).
    reno: f64,
}

impl CubicState {
    /// The window after an acknowledgment in congestion avoidance (sections 4.3 to 4.5).
    pub(super) fn grown(&mut self, window: f64, acked: f64, now_s: f64, srtt_s: f64) -> f64 {
        let maximum = self.maximum;
        let epoch = self.epoch.get_or_insert_with(|| CubicEpoch {
            began_s: now_s,
            curve: CubicCurve::new(window, maximum),
            reno: window,
        });
        let alpha = if epoch.reno < self.before_loss {
            3.0 * (1.0 - CUBIC_BETA) / (1.0 + CUBIC_BETA)
        } else {
            1.0
        };
        epoch.reno += alpha * acked / window;
        let time_s = now_s - epoch.began_s;
        if epoch.curve.window_at(time_s) < epoch.reno {
            return epoch.reno.max(window);
        }
        let target = epoch.curve.window_at(time_s + srtt_s);
        window + (target.clamp(window, 1.5 * window) - window) / window
    }

    /// Handles a loss at this window (sections 4.6 and 4.7).
    pub(super) fn lost(&mut self, window: f64) {
        self.before_loss = window;
        self.maximum = if window < self.maximum {
            // Fast convergence: leaves room for flows that have just begun.
            window * (1.0 + CUBIC_BETA) / 2.0
        } else {
            window
        };
        self.epoch = None;
    }

    /// After a timeout, the curve begins flat at the window where congestion avoidance begins
    /// (section 4.8).
    pub(super) fn timed_out(&mut self) {
        self.maximum = 0.0;
        self.epoch = None;
    }
}
