//! The marks that Wireshark gives to TCP segments (`tcp.analysis.*`), by the rules of its version
//! 4.0. Pure.
//!
//! They allow readers to compare both programs. The rules are those that the Wireshark User's Guide
//! (section "TCP Analysis") describes, made exact by its dissector
//! (`epan/dissectors/packet-tcp.c`). Kinds of retransmissions with better evidence are in
//! [`crate::retransmission`].
//!
//! One difference: Wireshark takes sequence number 0 for "unknown". Here it is a number like any
//! other.

use std::collections::VecDeque;

use crate::segment::TcpSegment;
use crate::sequence::is_behind;

/// Most segments without acknowledgment that Wireshark keeps for each direction. Here it is the
/// number in the full limits of a connection.
const MOST_UNACKNOWLEDGED: usize = 10_000;
const FULL_LIMIT: usize = 8192;

/// A segment this long after a duplicate acknowledgment is no fast retransmission.
const FAST_NS: i64 = 20_000_000;

/// A segment this long after the last new one is not out of order, where no round trip of the
/// handshake is known.
const OUT_OF_ORDER_NS: i64 = 3_000_000;

/// Wireshark's kinds of retransmissions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WiresharkRetransmission {
    /// `tcp.analysis.retransmission` alone.
    Plain,
    /// `tcp.analysis.fast_retransmission`: at the last acknowledgment, at most 20 ms after its
    /// second duplicate.
    Fast,
    /// `tcp.analysis.spurious_retransmission`: all of it had been acknowledged.
    Spurious,
}

/// Wireshark's marks of a segment, each named as its field `tcp.analysis.NAME`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "named as in Wireshark")]
pub struct WiresharkMarks {
    pub retransmission: Option<WiresharkRetransmission>,
    pub out_of_order: bool,
    pub lost_segment: bool,
    pub ack_lost_segment: bool,
    pub keep_alive: bool,
    pub keep_alive_ack: bool,
    /// `duplicate_ack_num`: the number of the duplicate, from 1.
    pub duplicate_ack: Option<u32>,
    pub window_update: bool,
    pub window_full: bool,
    pub zero_window: bool,
    pub zero_window_probe: bool,
    pub zero_window_probe_ack: bool,
    pub reused_ports: bool,
    /// `ack_rtt`, in nanoseconds.
    pub ack_rtt_ns: Option<i64>,
}

/// An unacknowledged segment.
#[derive(Debug, Clone, Copy)]
struct Unacknowledged {
    first: u32,
    next: u32,
    at_ns: i64,
}

/// The factor of a window, as far as it is known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum WindowFactor {
    #[default]
    Unknown,
    Unscaled,
    Shift(u8),
}

/// One direction: data and acknowledgments of its sender.
#[derive(Debug, Default)]
struct MarkedDirection {
    /// Segments, the newest first.
    unacknowledged: VecDeque<Unacknowledged>,
    limit: usize,
    /// The acknowledgment for which `unacknowledged` has been searched.
    searched: Option<u32>,
    base: Option<u32>,
    next: Option<u32>,
    next_at_ns: i64,
    most_to_acknowledge: Option<u32>,
    acknowledged: Option<u32>,
    acknowledged_at_ns: i64,
    /// -1 silences repeated marks of the same acknowledgment of bytes that were not captured.
    duplicates: i32,
    window: Option<u16>,
    factor: WindowFactor,
    /// Only a SYN was sent: its window is not scaled yet.
    has_only_syn: bool,
    last_new_length: u32,
    last_was_keep_alive: bool,
    last_was_probe: bool,
}

#[derive(Debug, Default)]
pub(crate) struct SegmentMarker {
    directions: [MarkedDirection; 2],
    syn_at_ns: Option<i64>,
    first_rtt_ns: Option<i64>,
    has_segments: bool,
    is_closing: bool,
}

/// State shared by the checks of a segment.
struct Checked<'a> {
    segment: &'a TcpSegment<'a>,
    marks: WiresharkMarks,
    /// SYN, FIN and RST exclude it from most marks.
    is_plain: bool,
    acknowledged: Option<u32>,
}

impl SegmentMarker {
    /// `segments`: the limit of its connection.
    pub(crate) fn new(segments: usize) -> SegmentMarker {
        let mut marker = SegmentMarker::default();
        for direction in &mut marker.directions {
            direction.limit = segments.saturating_mul(MOST_UNACKNOWLEDGED) / FULL_LIMIT;
        }
        marker
    }

    /// True if a SYN belongs to a new connection between the same ports.
    pub(crate) fn begins_anew(&self, from: usize, segment: &TcpSegment<'_>) -> bool {
        let base = self.directions[from].base;
        let is_syn = segment.flags.syn && !segment.flags.ack;
        is_syn && base.is_some_and(|base| base != segment.sequence || self.is_closing)
    }

    /// The marks of the next segment, sent by the end `from` (0 or 1). `is_reused`: it begins a new
    /// connection between ports that had one.
    pub(crate) fn mark(
        &mut self,
        from: usize,
        segment: &TcpSegment<'_>,
        is_reused: bool,
    ) -> WiresharkMarks {
        let flags = segment.flags;
        let mut checked = Checked {
            segment,
            marks: WiresharkMarks::default(),
            is_plain: !(flags.syn || flags.fin || flags.rst),
            acknowledged: flags.ack.then_some(segment.acknowledged),
        };
        checked.marks.reused_ports = is_reused;
        self.note_base(from, &mut checked);
        let [client, server] = &mut self.directions;
        let (sender, receiver) = if from == 0 {
            (client, server)
        } else {
            (server, client)
        };
        sender.check_windows(receiver, &mut checked);
        sender.check_acknowledged(receiver, &mut checked);
        if segment.length > 0 || flags.syn || flags.fin {
            let first_rtt_ns = self.first_rtt_ns.unwrap_or(OUT_OF_ORDER_NS);
            sender.check_resent(receiver, &mut checked, first_rtt_ns);
        }
        sender.note(&checked);
        sender.acknowledge(receiver, &mut checked);
        self.note_handshake(from, segment);
        checked.marks
    }

    fn note_base(&mut self, from: usize, checked: &mut Checked<'_>) {
        let segment = checked.segment;
        let direction = &mut self.directions[from];
        let is_again = direction.base.is_some();
        if segment.flags.syn && is_again {
            if !segment.flags.ack {
                direction.next = direction.most_to_acknowledge;
            } else if direction.base != Some(segment.sequence) {
                direction.base = Some(segment.sequence);
                checked.marks.reused_ports = true;
            }
        }
        let before = if segment.flags.syn { 0 } else { 1 };
        direction
            .base
            .get_or_insert(segment.sequence.wrapping_sub(before));
        if let Some(acknowledged) = checked.acknowledged {
            let other = &mut self.directions[1 - from];
            other.base.get_or_insert(acknowledged.wrapping_sub(1));
        }
    }

    fn note_handshake(&mut self, from: usize, segment: &TcpSegment<'_>) {
        let flags = segment.flags;
        if flags.syn {
            self.directions[from].has_only_syn = true;
            if !flags.ack {
                self.syn_at_ns = Some(segment.at_ns);
            }
            if let Some(shift) = segment.options.window_scale {
                self.directions[from].factor = WindowFactor::Shift(shift.min(14));
            }
            self.agree_on_factors(from, flags.ack);
        } else if flags.ack {
            let syn_at_ns = self.syn_at_ns;
            let rtt_ns = syn_at_ns.map(|at_ns| segment.at_ns - at_ns);
            self.first_rtt_ns = self.first_rtt_ns.or(rtt_ns.filter(|rtt| *rtt != 0));
            self.directions[from].has_only_syn = false;
        }
        self.is_closing |= self.has_segments && (flags.rst || flags.fin && flags.ack);
        self.has_segments = true;
    }

    /// Scales windows if both ends offered it.
    fn agree_on_factors(&mut self, from: usize, is_syn_ack: bool) {
        if self.directions[from].factor == WindowFactor::Unknown {
            self.directions[0].factor = WindowFactor::Unscaled;
            self.directions[1].factor = WindowFactor::Unscaled;
        } else if is_syn_ack && self.directions[1 - from].factor == WindowFactor::Unscaled {
            self.directions[from].factor = WindowFactor::Unscaled;
        }
    }
}

impl MarkedDirection {
    /// Windows, probes, keep-alives and duplicate acknowledgments.
    fn check_windows(&mut self, other: &mut MarkedDirection, checked: &mut Checked<'_>) {
        let segment = checked.segment;
        let (length, window) = (segment.length, segment.window);
        let is_next = self.next == Some(segment.sequence);
        let marks = &mut checked.marks;
        if length == 1 && is_next && other.window == Some(0) {
            marks.zero_window_probe = true;
            return;
        }
        marks.zero_window = window == 0 && checked.is_plain;
        marks.lost_segment = !segment.flags.rst
            && self
                .next
                .is_some_and(|next| is_behind(segment.sequence, next));
        let is_before_next = self.next.map(|next| next.wrapping_sub(1)) == Some(segment.sequence);
        marks.keep_alive = length <= 1 && is_before_next && checked.is_plain;
        marks.window_full = length > 0
            && checked.is_plain
            && other.window_end() == Some(segment.sequence.wrapping_add(length));
        let is_repeated = length == 0
            && is_next
            && checked.is_plain
            && self.acknowledged.is_some()
            && checked.acknowledged == self.acknowledged;
        if !is_repeated {
            return;
        }
        let is_same_window = self.window == Some(window);
        if !is_same_window {
            marks.window_update = window != 0;
        } else if window == 0 {
            marks.zero_window_probe_ack = other.last_was_probe;
        } else if other.last_was_keep_alive {
            marks.keep_alive_ack = true;
        } else {
            self.duplicates = if self.duplicates == -1 {
                1
            } else {
                self.duplicates.saturating_add(1)
            };
            marks.duplicate_ack = Some(self.duplicates.unsigned_abs());
        }
    }

    /// The sequence number behind the window that this direction's sender offers.
    fn window_end(&self) -> Option<u32> {
        let shift = match self.factor {
            WindowFactor::Unknown => return None,
            WindowFactor::Shift(shift) if !self.has_only_syn => shift,
            WindowFactor::Unscaled | WindowFactor::Shift(_) => 0,
        };
        let window = u32::from(self.window?) << shift;
        Some(self.acknowledged?.wrapping_add(window))
    }

    fn check_acknowledged(&mut self, other: &mut MarkedDirection, checked: &mut Checked<'_>) {
        if checked.acknowledged != self.acknowledged {
            self.duplicates = 0;
        }
        let (Some(most), Some(acknowledged)) = (other.most_to_acknowledge, checked.acknowledged)
        else {
            return;
        };
        if !is_behind(acknowledged, most) {
            return;
        }
        match other.next.filter(|next| is_behind(*next, most)) {
            Some(next) => {
                other.most_to_acknowledge = Some(next);
                checked.marks.ack_lost_segment = true;
            }
            None => {
                checked.marks.ack_lost_segment = other.duplicates == 0;
                other.duplicates = -1;
            }
        }
    }

    /// Checks if a segment with data, SYN or FIN passed before, or out of order.
    fn check_resent(
        &self,
        other: &MarkedDirection,
        checked: &mut Checked<'_>,
        out_of_order_ns: i64,
    ) {
        if checked.marks.keep_alive {
            return;
        }
        let segment = checked.segment;
        let end = segment.sequence.wrapping_add(segment.length);
        let is_acknowledged = other.acknowledged.is_some_and(|to| !is_behind(end, to));
        if segment.length > 0 && is_acknowledged {
            checked.marks.retransmission = Some(WiresharkRetransmission::Spurious);
            return;
        }
        let Some(next) = self.next else {
            return;
        };
        // With one byte of it before the next one, it follows the probe of a window.
        let follows_probe = segment.length > 1 && next.wrapping_sub(1) == segment.sequence;
        if !is_behind(next, segment.sequence) || follows_probe {
            return;
        }
        let since_acknowledged_ns = segment.at_ns - other.acknowledged_at_ns;
        if other.duplicates >= 2
            && other.acknowledged == Some(segment.sequence)
            && (0..FAST_NS).contains(&since_acknowledged_ns)
        {
            checked.marks.retransmission = Some(WiresharkRetransmission::Fast);
            return;
        }
        let since_next_ns = segment.at_ns - self.next_at_ns;
        if (0..out_of_order_ns).contains(&since_next_ns) {
            let flags = segment.flags;
            let end = end.wrapping_add(u32::from(flags.syn || flags.fin));
            if next != end || self.last_new_length == 0 {
                checked.marks.out_of_order = true;
                return;
            }
        }
        checked.marks.retransmission = Some(WiresharkRetransmission::Plain);
    }

    fn note(&mut self, checked: &Checked<'_>) {
        let segment = checked.segment;
        let is_marker = segment.flags.syn || segment.flags.fin;
        let mut next = segment.sequence.wrapping_add(segment.length);
        let is_kept = segment.length > 0 || is_marker;
        if is_kept && self.unacknowledged.len() < self.limit {
            next = next.wrapping_add(u32::from(is_marker));
            self.unacknowledged.push_front(Unacknowledged {
                first: segment.sequence,
                next,
                at_ns: segment.at_ns,
            });
            let searched = self.searched;
            self.searched = searched.filter(|to| !is_behind(*to, segment.sequence));
        }
        let marker = u32::from(is_marker);
        if self
            .next
            .is_none_or(|known| is_behind(next, known.wrapping_add(marker)))
        {
            self.last_new_length = segment.length;
        }
        let is_probe = checked.marks.zero_window_probe;
        if !is_probe && self.next.is_none_or(|known| is_behind(next, known)) {
            self.next = Some(next);
            self.next_at_ns = segment.at_ns;
        }
        let most = self.most_to_acknowledge;
        if !is_probe && most.is_none_or(|most| most == segment.sequence) {
            self.most_to_acknowledge = self.next;
        }
        self.window = Some(segment.window);
        self.acknowledged = checked.acknowledged;
        self.acknowledged_at_ns = segment.at_ns;
        self.last_was_keep_alive = checked.marks.keep_alive;
        self.last_was_probe = is_probe;
    }

    /// Removes segments of the other direction that this one acknowledges. The oldest segment that
    /// ends there gives the round trip.
    fn acknowledge(&self, other: &mut MarkedDirection, checked: &mut Checked<'_>) {
        // Wireshark reads the field even if the flag declares it meaningless.
        let acknowledged = checked.segment.acknowledged;
        if other.searched == Some(acknowledged) {
            return;
        }
        other.searched = Some(acknowledged);
        let mut sent_at_ns = None;
        other.unacknowledged.retain_mut(|sent| {
            if sent.next == acknowledged {
                sent_at_ns = Some(sent.at_ns);
                return false;
            }
            if !is_behind(sent.next, acknowledged) {
                return false;
            }
            if is_behind(acknowledged, sent.first) {
                sent.first = acknowledged;
            }
            true
        });
        let rtt_ns = sent_at_ns.map(|sent_at_ns| checked.segment.at_ns - sent_at_ns);
        checked.marks.ack_rtt_ns = rtt_ns.filter(|rtt_ns| *rtt_ns != 0);
    }
}
