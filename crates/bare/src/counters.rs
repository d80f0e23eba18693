//! Figures for experiments: counters, and the course of the retransmission timeout.

use core::net::SocketAddr;

use trace::round_trip::RttSample;

/// Counters of a sender.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SenderCounters {
    /// Segments with data, SYN or FIN, those sent again included.
    pub segments: u64,
    /// Bytes of data, those sent again included.
    pub bytes: u64,
    /// Segments sent again.
    pub resent_segments: u64,
    /// Bytes of data sent again.
    pub resent_bytes: u64,
    /// Timeouts of the retransmission timer.
    pub timeouts: u64,
    /// Number of fast retransmits and recoveries, after duplicate or selective acknowledgments.
    pub fast_retransmits: u64,
    /// Probes of a closed window.
    pub window_probes: u64,
    /// Duplicate acknowledgments.
    pub duplicate_acks: u64,
    /// Round trips that were measured; the estimator uses those that its strategy selects.
    pub round_trips: u64,
}

impl SenderCounters {
    pub(crate) fn add(&mut self, other: &SenderCounters) {
        let pairs = [
            (&mut self.segments, other.segments),
            (&mut self.bytes, other.bytes),
            (&mut self.resent_segments, other.resent_segments),
            (&mut self.resent_bytes, other.resent_bytes),
            (&mut self.timeouts, other.timeouts),
            (&mut self.fast_retransmits, other.fast_retransmits),
            (&mut self.window_probes, other.window_probes),
            (&mut self.duplicate_acks, other.duplicate_acks),
            (&mut self.round_trips, other.round_trips),
        ];
        for (sum, value) in pairs {
            *sum += value;
        }
    }
}

/// A round trip that the estimator used, and the resulting state.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RttLogEntry {
    /// The round trip.
    pub sample: RttSample,
    /// Smoothed round trip, in nanoseconds.
    pub srtt_ns: f64,
    /// Its variation, in nanoseconds.
    pub rttvar_ns: f64,
    /// The timeout, in nanoseconds, within its minimum and maximum.
    pub rto_ns: u64,
}

/// The first round trips of a connection that its estimator used.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RttLog {
    entries: Vec<RttLogEntry>,
    count: u64,
}

impl RttLog {
    /// Most entries that are kept.
    pub const LIMIT: usize = 4096;

    pub(crate) fn add(&mut self, entry: RttLogEntry) {
        self.count += 1;
        if self.entries.len() < RttLog::LIMIT {
            self.entries.push(entry);
        }
    }

    /// The first [`LIMIT`](Self::LIMIT) of them, in the order of their acknowledgments.
    pub fn entries(&self) -> &[RttLogEntry] {
        &self.entries
    }

    /// Number of all round trips.
    pub fn count(&self) -> u64 {
        self.count
    }
}

/// A connection that has ended, or the state of an open one.
#[derive(Debug, Clone, PartialEq)]
pub struct EndedConnection {
    /// The client.
    pub peer: SocketAddr,
    /// When its SYN arrived, in nanoseconds.
    pub began_ns: u64,
    /// When it ended, in nanoseconds (when it began, while it is open); the time in TIME-WAIT is
    /// not part of it.
    pub ended_ns: u64,
    /// Everything to be sent was acknowledged.
    pub is_complete: bool,
    /// Number of requests with a response.
    pub requests: u64,
    /// Counters of its sender.
    pub sender: SenderCounters,
    /// Its round trips.
    pub round_trips: RttLog,
}

/// Counters of a server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BareServerCounters {
    /// Frames received.
    pub frames_in: u64,
    /// Frames sent.
    pub frames_out: u64,
    /// Frames that were not for this server, damaged, or meaningless here.
    pub ignored: u64,
    /// Connections that a SYN opened.
    pub connections: u64,
    /// SYN that were ignored because there were as many connections as permitted.
    pub refused: u64,
    /// RST sent for segments of no connection.
    pub resets_sent: u64,
    /// Connections that ended by RST, silence or lack of acknowledgments.
    pub aborted: u64,
    /// Replies that were dropped because too many waited to be sent.
    pub replies_dropped: u64,
    /// Number of requests with a response.
    pub requests: u64,
    /// Totals of the senders of all connections that have ended.
    pub sender: SenderCounters,
}
