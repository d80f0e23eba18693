//! Limits of the memory for a capture.

/// Connections with the full limits; later ones have less, so that all of them together stay within
/// a bound.
const WITH_FULL_LIMITS: usize = 64;

/// Limits of the memory for a capture. A connection needs at most about 4 MB with the default
/// limits, and usually some KB. From the 65th connection on the limits shrink, as 64 over its
/// number and at most to an eighth, so that 1024 connections of a hostile capture need less than 1
/// GiB.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AnalysisLimits {
    /// Connections; segments of later ones are counted.
    pub connections: usize,
    /// Later connections that are read at the same time for their requests, which are passed on and
    /// not kept. With more of them, the one that was silent for the longest time ends.
    pub passing_connections: usize,
    /// Unacknowledged segments of each direction. Beyond this number, the oldest are forgotten.
    pub segments: usize,
    /// Round trips of each direction, and as many for percentiles.
    pub samples: usize,
    /// Points of each series.
    pub points: usize,
    /// Retransmissions of each direction.
    pub retransmissions: usize,
    /// Requests of each connection, and records of TLS of each end.
    pub requests: usize,
}

impl Default for AnalysisLimits {
    fn default() -> AnalysisLimits {
        AnalysisLimits {
            connections: 1024,
            passing_connections: 0,
            segments: 8192,
            samples: 4096,
            points: 1024,
            retransmissions: 1024,
            requests: 1024,
        }
    }
}

impl AnalysisLimits {
    /// The limits of the connection with that index.
    pub(crate) fn per_connection(&self, index: usize) -> AnalysisLimits {
        let share = index.div_ceil(WITH_FULL_LIMITS).clamp(1, 8);
        let shared = |limit: usize| limit.div_ceil(share);
        AnalysisLimits {
            segments: shared(self.segments),
            samples: shared(self.samples),
            points: shared(self.points),
            retransmissions: shared(self.retransmissions),
            requests: shared(self.requests),
            ..*self
        }
    }

    /// The limits of connections that are read for their requests only.
    pub(crate) fn for_passing(&self) -> AnalysisLimits {
        AnalysisLimits {
            samples: 1,
            points: 2,
            retransmissions: 0,
            requests: 0,
            ..self.per_connection(usize::MAX)
        }
    }
}
