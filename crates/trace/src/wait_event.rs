//! The state of a connection when a segment passes, as far as its waits depend on it. Pure.

use crate::path::PathRoundTrip;
use crate::retransmission::RetransmissionKind;
use crate::waits::ConnectionEnd;

/// Bytes by which options of TCP shorten a full segment.
const LONGEST_OPTIONS: i64 = 40;

/// One direction before a segment passes, named by the sending end.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct DirectionBefore {
    pub(crate) flight: i64,
    pub(crate) segments: usize,
    /// Free space of the receiver's window.
    pub(crate) room: Option<i64>,
    /// The largest window that the receiver offered.
    pub(crate) window: i64,
    pub(crate) is_closed: bool,
    pub(crate) is_in_fast_recovery: bool,
    pub(crate) segment_size: i64,
    /// From the point of capture to the receiver and back.
    pub(crate) receiver_rtt_ns: Option<i64>,
    /// From the point of capture to the sender and back.
    pub(crate) sender_rtt_ns: i64,
    /// Otherwise, the capture does not show the reason for which its sender waits.
    pub(crate) is_sender_known: bool,
    /// Later bytes have passed, and earlier ones have not.
    pub(crate) has_gap: bool,
    pub(crate) path: Option<PathRoundTrip>,
}

impl DirectionBefore {
    pub(crate) fn round_trip_ns(&self) -> i64 {
        self.sender_rtt_ns + self.receiver_rtt_ns.unwrap_or(0)
    }

    /// Captured near the receiver: losses occur before the point of capture.
    pub(crate) fn is_near_receiver(&self) -> bool {
        self.sender_rtt_ns > 0
            && (self.receiver_rtt_ns).is_some_and(|rtt_ns| rtt_ns < self.sender_rtt_ns / 2)
    }

    /// True if the receiver's window has no room for the next data: a full segment, or half of the
    /// largest window, if that is less (RFC 9293, section 3.8.6.2.1).
    pub(crate) fn is_window_full(&self) -> bool {
        let least = self.segment_size.min(self.window / 2).max(1);
        self.room.is_some_and(|room| room < least)
    }

    /// From the point of capture to the sender and back, now: with queues on the path, if they are
    /// visible.
    pub(crate) fn reaction_ns(&self) -> i64 {
        let queued_ns = self.path.filter(|_| self.is_near_receiver());
        self.sender_rtt_ns
            .max(queued_ns.map_or(0, |path| path.now_ns))
    }

    /// True if a segment is as long as the receiver permits, but for options.
    pub(crate) fn is_full(&self, length: u32) -> bool {
        length > 0 && i64::from(length) + LONGEST_OPTIONS >= self.segment_size
    }
}

/// A segment, as far as waits depend on it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WaitEvent {
    pub(crate) at_ns: i64,
    pub(crate) packet: u64,
    pub(crate) sender: ConnectionEnd,
    pub(crate) length: u32,
    pub(crate) has_new_data: bool,
    pub(crate) has_progress: bool,
    pub(crate) retransmission: Option<RetransmissionKind>,
    /// The gap that it fills was there from this moment on.
    pub(crate) gap_since_ns: Option<i64>,
    /// Moment from which the receiver's window permits its last byte, if that was captured.
    pub(crate) permitted_ns: Option<i64>,
    pub(crate) is_pushed: bool,
    /// The window of its sender was full, and no longer is.
    pub(crate) opens_window: bool,
    /// Bytes before it have not passed: they were lost before the point of capture, or will come
    /// later.
    pub(crate) opens_gap: bool,
    /// The client has sent a request whose response has not passed completely.
    pub(crate) awaits_server: bool,
    /// A FIN or RST.
    pub(crate) is_closing: bool,
    /// State before it, by the sending end: client, server.
    pub(crate) before: [DirectionBefore; 2],
}
