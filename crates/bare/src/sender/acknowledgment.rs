//! Effects of an acknowledgment: the window, round trips, losses that it shows.

use trace::round_trip::RttSample;

use super::{DUPLICATES, TcpSender};
use crate::congestion::AckedData;
use crate::sent::CoveredSegments;

/// Content of a segment with ACK, for the sender.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReceivedAck {
    pub(crate) sequence: u32,
    pub(crate) acknowledged: u32,
    /// The window, scaled.
    pub(crate) window: u64,
    pub(crate) sack: [Option<(u32, u32)>; 3],
    /// The segment has neither data nor FIN, like duplicate acknowledgments.
    pub(crate) is_pure: bool,
    /// The round trip by its echoed time stamp, in nanoseconds.
    pub(crate) echoed_rtt_ns: Option<u64>,
}

/// Result of an acknowledgment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AckVerdict {
    /// Data that was never sent is acknowledged.
    Impossible,
    Accepted,
}

impl TcpSender {
    pub(crate) fn receive(&mut self, now_ns: u64, ack: &ReceivedAck) -> AckVerdict {
        let Some(offset) = self.offset(ack.acknowledged) else {
            return AckVerdict::Accepted;
        };
        if offset > self.next {
            return AckVerdict::Impossible;
        }
        if offset < self.acknowledged {
            return AckVerdict::Accepted;
        }
        let in_flight = self.next - self.acknowledged;
        let has_new_sack = self.note_sacks(ack);
        let is_same_window = self.note_window(ack, offset);
        if offset > self.acknowledged {
            self.acknowledge(now_ns, offset, in_flight, ack);
        } else if ack.is_pure && !self.sent.is_empty() && (is_same_window || has_new_sack) {
            self.duplicates = self.duplicates.saturating_add(1);
            self.counters.duplicate_acks += 1;
            if self.recovery_end.is_some() && !self.has_sack {
                self.congestion.inflate(1);
            }
        }
        if self.window == 0 {
            // A peer that replies to probes is alive.
            self.note_sign_of_life();
        }
        self.find_losses();
        AckVerdict::Accepted
    }

    /// The offset of an acknowledgment number near the current one; `None` before the first.
    fn offset(&self, number: u32) -> Option<u64> {
        let distance = number.wrapping_sub(self.sequence(self.acknowledged));
        self.acknowledged
            .checked_add_signed(i64::from(distance.cast_signed()))
    }

    fn note_sacks(&mut self, ack: &ReceivedAck) -> bool {
        if !self.has_sack {
            return false;
        }
        let mut has_new = false;
        for (from, to) in ack.sack.iter().flatten() {
            if let (Some(from), Some(to)) = (self.offset(*from), self.offset(*to))
                && from < to
                && to <= self.next
            {
                has_new |= self.sent.sack(from, to);
            }
        }
        has_new
    }

    /// Updates the window, unless the segment is older than the current one. True if the window
    /// stays the same.
    fn note_window(&mut self, ack: &ReceivedAck, offset: u64) -> bool {
        let (sequence, acknowledged) = self.window_from;
        let distance = ack.sequence.wrapping_sub(sequence).cast_signed();
        if distance < 0 || distance == 0 && offset < acknowledged {
            return true;
        }
        let before = core::mem::replace(&mut self.window, ack.window);
        self.window_from = (ack.sequence, offset);
        if before == 0 && ack.window > 0 {
            self.is_probing = false;
            if self.sent.is_empty() {
                self.deadline_ns = None;
            } else if offset == self.acknowledged && self.acknowledged > 0 {
                // Data sent into the closed window was dropped there.
                self.sent.lose_all();
                self.is_forced = true;
            }
        }
        before == ack.window
    }

    fn acknowledge(&mut self, now_ns: u64, offset: u64, in_flight: u64, ack: &ReceivedAck) {
        let bytes = offset - self.acknowledged;
        let covered = self.sent.acknowledge(offset);
        self.acknowledged = offset;
        self.duplicates = 0;
        self.note_sign_of_life();
        let rtt_ns = self.measure(now_ns, covered, ack);
        if offset >= self.window_end {
            self.window_number = self.window_number.saturating_add(1);
            self.window_end = self.next.max(offset + 1);
        }
        match self.recovery_end {
            Some(end) if offset < end => {
                if !self.has_sack {
                    self.congestion.deflate(bytes);
                }
                self.sent.lose_first();
                self.is_forced = true;
            }
            Some(_) => {
                self.recovery_end = None;
                self.congestion.recovered(self.sent.in_flight());
            }
            // The handshake is not data.
            None if offset > 1 => self.congestion.acknowledged(&AckedData {
                now_ns,
                bytes,
                acknowledged: offset,
                sent: self.next,
                srtt_ns: self.timeout.srtt_ns().unwrap_or_default(),
                rtt_ns,
                is_limited: self.congestion.is_limit_of(in_flight),
            }),
            None => {}
        }
        self.deadline_ns = None;
        if !self.sent.is_empty() {
            self.restart_timer(now_ns);
        }
    }

    /// Measures the round trip of the latest segment that the acknowledgment covers, unless any of
    /// them was sent twice (Karn's rule): then, only a time stamp can show it.
    fn measure(&mut self, now_ns: u64, covered: CoveredSegments, ack: &ReceivedAck) -> Option<f64> {
        let (sent_ns, window) = covered.latest?;
        let rtt_ns = if covered.has_resent {
            ack.echoed_rtt_ns?
        } else {
            now_ns.saturating_sub(sent_ns)
        };
        let signed = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
        self.counters.round_trips += 1;
        self.timeout.measured(RttSample {
            at_ns: signed(now_ns),
            rtt_ns: signed(rtt_ns),
            window,
        });
        Some(rtt_ns as f64)
    }

    /// Marks segments as lost that duplicate and selective acknowledgments show to be, and reduces
    /// the window when that begins.
    fn find_losses(&mut self) {
        if !self.settings.fast_retransmit || self.sent.is_empty() {
            return;
        }
        let threshold = u64::from(DUPLICATES - 1) * self.mss;
        if self.recovery_end.is_some() {
            if self.has_sack {
                self.sent.lose_by_sacks(threshold);
            }
            return;
        }
        let shows_loss = self.duplicates >= DUPLICATES
            || self.has_sack && self.sent.is_first_lost_by_sacks(threshold);
        if !shows_loss || self.acknowledged < self.recover {
            return;
        }
        self.counters.fast_retransmits += 1;
        self.duplicates = 0;
        // Until all of it is acknowledged, duplicates show the same loss.
        self.recover = self.next;
        let in_flight = self.sent.in_flight();
        self.sent.begin_recovery();
        self.sent.lose_first();
        self.is_forced = true;
        if !self.settings.fast_recovery {
            self.congestion.restart(in_flight);
            return;
        }
        self.recovery_end = Some(self.next);
        self.congestion.lost(in_flight);
        if self.has_sack {
            self.sent.lose_by_sacks(threshold);
        } else {
            self.congestion.inflate(DUPLICATES);
        }
    }
}
