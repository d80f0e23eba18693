//! The sender of a connection: the segments it sends, their time, and the effect of acknowledgments
//! and timeouts.
//!
//! Offsets count from SYN, which is at 0, and do not wrap. Segments keep their boundaries when they
//! are sent again.

mod acknowledgment;
use topology::{SenderSettings, TimeoutResend};

use crate::congestion::CongestionWindow;
use crate::counters::{RttLog, SenderCounters};
use crate::sent::{SegmentState, SentQueue, SentSegment};
use crate::timeout::RetransmissionTimeout;

pub(crate) use acknowledgment::{AckVerdict, ReceivedAck};

/// Most segments that may be outstanding, so that a peer with a large window and small segments
/// costs bounded memory.
pub(crate) const MOST_OUTSTANDING: usize = 4096;

/// Duplicate acknowledgments that show a loss (RFC 5681, section 3.2), and segments behind a lost
/// one (RFC 6675).
const DUPLICATES: u32 = 3;

/// Time for which a peer may leave everything unacknowledged, from the first timeout on (RFC 9293,
/// section 3.8.3), in ns, and the number of timeouts in a row: a timeout that has backed off to a
/// minute would otherwise end a connection with its second.
const PATIENCE_NS: u64 = 100_000_000_000;
const PATIENCE_TIMEOUTS: u32 = 8;

/// The same for SYN, which may come from a forged address.
const SYN_PATIENCE_NS: u64 = 20_000_000_000;

/// A segment to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PlannedSegment {
    /// Offset of its first byte.
    pub(crate) start: u64,
    /// Offset behind its last byte, FIN included.
    pub(crate) end: u64,
    pub(crate) has_syn: bool,
    pub(crate) has_fin: bool,
}

impl PlannedSegment {
    /// Bytes of data.
    pub(crate) fn data(&self) -> u64 {
        self.end - self.start - u64::from(self.has_syn) - u64::from(self.has_fin)
    }
}

/// Data available to the sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AvailableData {
    /// Offset behind the last byte.
    pub(crate) end: u64,
    /// FIN follows the data.
    pub(crate) has_fin: bool,
}

/// Result of a timer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TimerVerdict {
    Waits,
    Expired,
    /// The peer has been silent for too long.
    GivesUp,
}

#[derive(Debug)]
pub(crate) struct TcpSender {
    settings: SenderSettings,
    /// Most bytes of data in a segment.
    mss: u64,
    first_sequence: u32,
    acknowledged: u64,
    next: u64,
    fin: Option<u64>,
    sent: SentQueue,
    /// The peer's window, and sequence and acknowledgment of the segment that announced it (RFC
    /// 9293, section 3.10.7.4).
    window: u64,
    window_from: (u32, u64),
    has_sack: bool,
    congestion: CongestionWindow,
    timeout: RetransmissionTimeout,
    deadline_ns: Option<u64>,
    /// Time of the first of the timeouts in a row, and their number.
    stalled_since_ns: Option<u64>,
    timeouts_in_a_row: u32,
    duplicates: u32,
    /// Offset whose acknowledgment ends the current fast recovery.
    recovery_end: Option<u64>,
    /// Duplicate acknowledgments before this offset show no new loss (`recover` of RFC 6582).
    recover: u64,
    /// The first lost segment is sent even if the congestion window is full.
    is_forced: bool,
    /// The next segment is a probe of a closed window.
    is_probing: bool,
    window_number: u32,
    window_end: u64,
    counters: SenderCounters,
}

/// Terms of a connection from the handshake.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SenderTerms {
    pub(crate) first_sequence: u32,
    pub(crate) mss: u64,
    pub(crate) has_sack: bool,
    /// The peer's window and the sequence number of its SYN.
    pub(crate) window: u64,
    pub(crate) peer_sequence: u32,
}

impl TcpSender {
    pub(crate) fn new(settings: &SenderSettings, terms: SenderTerms) -> TcpSender {
        let mss = terms.mss.max(1);
        let initial_segments = settings.initial_window_segments;
        TcpSender {
            settings: *settings,
            mss,
            first_sequence: terms.first_sequence,
            acknowledged: 0,
            next: 0,
            fin: None,
            sent: SentQueue::default(),
            window: terms.window,
            window_from: (terms.peer_sequence, 0),
            has_sack: terms.has_sack,
            congestion: CongestionWindow::new(settings.congestion_control, mss, initial_segments),
            timeout: RetransmissionTimeout::new(settings),
            deadline_ns: None,
            stalled_since_ns: None,
            timeouts_in_a_row: 0,
            duplicates: 0,
            recovery_end: None,
            recover: 0,
            is_forced: false,
            is_probing: false,
            window_number: 0,
            window_end: 1,
            counters: SenderCounters::default(),
        }
    }

    pub(crate) fn counters(&self) -> &SenderCounters {
        &self.counters
    }

    pub(crate) fn round_trips(&self) -> &RttLog {
        self.timeout.log()
    }

    pub(crate) fn deadline_ns(&self) -> Option<u64> {
        self.deadline_ns
    }

    /// Offset up to which everything is acknowledged.
    pub(crate) fn acknowledged(&self) -> u64 {
        self.acknowledged
    }

    pub(crate) fn sequence(&self, offset: u64) -> u32 {
        self.first_sequence.wrapping_add(offset as u32)
    }

    /// The sequence number of a segment without data.
    pub(crate) fn next_sequence(&self) -> u32 {
        self.sequence(self.next)
    }

    pub(crate) fn is_fin_acknowledged(&self) -> bool {
        self.fin.is_some_and(|fin| self.acknowledged > fin)
    }

    pub(crate) fn has_sack(&self) -> bool {
        self.has_sack
    }

    /// Sends SYN again, because the peer's came again.
    pub(crate) fn repeat_syn(&mut self) {
        if self.acknowledged == 0 {
            self.sent.begin_recovery();
            self.sent.lose_first();
        }
    }

    /// The next segment, if one may be sent now: lost ones first, then new data.
    pub(crate) fn next_segment(
        &mut self,
        now_ns: u64,
        available: AvailableData,
    ) -> Option<PlannedSegment> {
        let planned = match self.sent.first_lost() {
            Some((index, segment)) => self.resend(now_ns, index, segment)?,
            None => self.send_new(now_ns, available)?,
        };
        self.counters.segments += 1;
        self.counters.bytes += planned.data();
        if self.deadline_ns.is_none() {
            self.restart_timer(now_ns);
        }
        Some(planned)
    }

    fn resend(
        &mut self,
        now_ns: u64,
        index: usize,
        segment: SentSegment,
    ) -> Option<PlannedSegment> {
        let length = segment.end - segment.start;
        let is_forced = self.is_forced && index == 0;
        if !is_forced && !self.fits_congestion_window(length) {
            return None;
        }
        self.is_forced = false;
        self.sent.resend(index, now_ns);
        let planned = PlannedSegment {
            start: segment.start,
            end: segment.end,
            has_syn: segment.start == 0,
            has_fin: self.fin.is_some_and(|fin| segment.end > fin),
        };
        self.counters.resent_segments += 1;
        self.counters.resent_bytes += planned.data();
        Some(planned)
    }

    fn send_new(&mut self, now_ns: u64, available: AvailableData) -> Option<PlannedSegment> {
        let (start, has_syn) = (self.next, self.next == 0);
        if self.sent.len() >= MOST_OUTSTANDING || self.fin.is_some() {
            return None;
        }
        let rest = available.end.saturating_sub(start);
        let room = (self.acknowledged + self.window).saturating_sub(start);
        let data = match (has_syn, self.is_probing) {
            (true, _) => 1,
            (false, true) => rest.min(1),
            (false, false) => rest.min(self.mss).min(room),
        };
        let is_end = !has_syn && data == rest;
        let has_fin = available.has_fin && is_end;
        let is_small = data < self.mss && !is_end;
        let length = data + u64::from(has_fin);
        if length == 0 || !has_syn && is_small && !self.is_probing && !self.sent.is_empty() {
            // Small segments would continue for ever in a window that opens bit by bit (RFC 9293,
            // section 3.8.6.2.1).
            self.wait_for_window(now_ns, rest);
            return None;
        }
        if !self.is_probing && !self.fits_congestion_window(length) {
            return None;
        }
        self.counters.window_probes += u64::from(self.is_probing);
        self.is_probing = false;
        self.next = start + length;
        if has_fin {
            self.fin = Some(self.next - 1);
        }
        self.sent.push(SentSegment {
            start,
            end: self.next,
            sent_ns: now_ns,
            window: self.window_number,
            is_resent: false,
            is_resent_in_recovery: false,
            state: SegmentState::InFlight,
        });
        Some(PlannedSegment {
            start,
            end: self.next,
            has_syn,
            has_fin,
        })
    }

    /// Sets the timer of the closed window, if nothing else will wake this sender up.
    fn wait_for_window(&mut self, now_ns: u64, rest: u64) {
        if rest > 0 && self.sent.is_empty() && self.deadline_ns.is_none() {
            self.restart_timer(now_ns);
        }
    }

    fn fits_congestion_window(&self, length: u64) -> bool {
        let in_flight = self.sent.in_flight();
        in_flight == 0 || in_flight + length <= self.congestion.bytes()
    }

    fn note_sign_of_life(&mut self) {
        self.stalled_since_ns = None;
        self.timeouts_in_a_row = 0;
    }

    fn restart_timer(&mut self, now_ns: u64) {
        self.deadline_ns = Some(now_ns.saturating_add(self.timeout.timeout_ns()));
    }

    /// Handles timers that are due.
    pub(crate) fn tick(&mut self, now_ns: u64) -> TimerVerdict {
        let deadline_ns = self.deadline_ns;
        if deadline_ns.is_none_or(|deadline_ns| now_ns < deadline_ns) {
            return TimerVerdict::Waits;
        }
        if self.sent.is_empty() {
            self.is_probing = true;
            self.timeout.back_off();
            self.deadline_ns = None;
            return TimerVerdict::Expired;
        }
        let (patience_ns, least) = match self.acknowledged {
            0 => (SYN_PATIENCE_NS, 0),
            _ => (PATIENCE_NS, PATIENCE_TIMEOUTS),
        };
        let is_first = self.stalled_since_ns.is_none();
        let since_ns = *self.stalled_since_ns.get_or_insert(now_ns);
        if now_ns.saturating_sub(since_ns) >= patience_ns && self.timeouts_in_a_row >= least {
            return TimerVerdict::GivesUp;
        }
        self.timeouts_in_a_row = self.timeouts_in_a_row.saturating_add(1);
        self.timed_out(is_first);
        self.restart_timer(now_ns);
        TimerVerdict::Expired
    }

    fn timed_out(&mut self, is_first: bool) {
        if self.window == 0 && self.acknowledged > 0 {
            // Outstanding data probes a closed window: no sign of congestion.
            self.counters.window_probes += 1;
            self.sent.lose_first_again();
        } else {
            self.counters.timeouts += 1;
            self.congestion.timed_out(self.sent.in_flight(), is_first);
            self.recovery_end = None;
            self.recover = self.next;
            self.duplicates = 0;
            if self.sent.is_reneged() {
                self.sent.forget_sacks();
            }
            match self.settings.timeout_resend {
                TimeoutResend::Everything => self.sent.lose_all(),
                TimeoutResend::FirstSegment => self.sent.lose_first_again(),
            }
        }
        self.is_forced = true;
        self.timeout.back_off();
    }
}
