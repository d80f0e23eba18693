//! The sink of a UDP flow: rate, loss, reordering, duplicates, jitter and delay variation.

use super::delays::{DelayVariation, Delays};
use super::gaps::{GapOpening, PacketOrder, SequenceGaps};
use super::seconds::{Seconds, SinkSecond};

/// A packet as it arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DatagramArrival {
    /// Sequence number that the source gave it.
    pub sequence: u64,
    /// When the source sent it, in nanoseconds of its clock.
    pub sent_ns: u64,
    /// When it arrived, in nanoseconds of the sink's clock.
    pub received_ns: u64,
    /// Bytes of payload.
    pub bytes: u32,
}

/// Bits of a sequence number: after the largest comes 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SequenceWidth {
    /// 32; only the lower 32 bits of a number are read.
    Bits32,
    /// 64.
    Bits64,
}

/// A number farther than this from the expected one is taken for a wrong number, unless the next
/// packet continues it, as in RFC 3550, section A.1: then the source has restarted. At 10 Gbit/s
/// and 1500 bytes this is an interruption of 20 s.
const LARGEST_JUMP: u64 = 1 << 24;

/// Figures of a whole flow.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DatagramFigures {
    /// Packets that arrived, of any kind.
    pub packets: u64,
    /// Their bytes of payload.
    pub bytes: u64,
    /// Packets without those that arrived again or have a wrong number.
    pub unique: u64,
    /// Packets that did not arrive: all up to the highest number, or those that the source reports
    /// as sent, less `unique`.
    pub lost: u64,
    /// Packets that arrived again.
    pub duplicates: u64,
    /// Packets that arrived after one with a higher number (RFC 4737, section 3.3); they are not
    /// lost.
    pub reordered: u64,
    /// Old packets that may be late or duplicates, which cannot be decided any more. They count as
    /// lost if they are late.
    pub undecided: u64,
    /// Packets with a number that cannot belong to the flow.
    pub wrong_number: u64,
    /// Restarts of the source's numbers.
    pub restarts: u64,
    /// Reordering extent (RFC 4737, section 4.2.1) in packets, largest and mean: how many packets
    /// before a reordered one the first with a higher number had arrived.
    pub largest_extent: u64,
    /// Its mean over reordered packets.
    pub mean_extent: f64,
    /// The longest time by which a reordered packet was later than the first with a higher number,
    /// in nanoseconds.
    pub longest_late_ns: u64,
    /// Most consecutive numbers that were missing when a packet arrived.
    pub longest_gap: u64,
    /// Interarrival jitter (RFC 3550, section 6.4.1) after the last packet, in nanoseconds.
    pub jitter_ns: f64,
    /// Variation of the one-way delay; none without packets.
    pub delay: Option<DelayVariation>,
    /// When the first and the last packet arrived, in nanoseconds after the origin; none without
    /// packets.
    pub arrived_ns: Option<(u64, u64)>,
    /// Some packets arrived after the longest series of seconds.
    pub is_series_cut: bool,
}

/// The sink of one UDP flow. It needs at most 400 KB, and 80 bytes for each second.
#[derive(Debug, Clone)]
pub struct DatagramSink {
    width: SequenceWidth,
    /// The sequence number of position 0.
    base: u64,
    gaps: SequenceGaps,
    delays: Delays,
    seconds: Seconds,
    totals: DatagramFigures,
    extents: u64,
    /// The number that follows a wrong one.
    after_wrong: Option<u64>,
}

impl DatagramSink {
    /// A sink whose seconds begin at `origin_ns` of its clock, for packets that are numbered from
    /// `first_sequence` on.
    pub fn new(origin_ns: u64, first_sequence: u64, width: SequenceWidth) -> Self {
        DatagramSink {
            width,
            base: first_sequence,
            gaps: SequenceGaps::default(),
            delays: Delays::new(),
            seconds: Seconds::from(origin_ns),
            totals: DatagramFigures::default(),
            extents: 0,
            after_wrong: None,
        }
    }

    /// Adds a packet.
    pub fn arrive(&mut self, packet: &DatagramArrival) {
        let at_ns = self.seconds.since_origin(packet.received_ns);
        let (first_ns, last_ns) = self.totals.arrived_ns.unwrap_or((at_ns, at_ns));
        self.totals.arrived_ns = Some((first_ns, last_ns.max(at_ns)));
        let index = self.seconds.index(packet.received_ns);
        self.totals.packets += 1;
        self.totals.bytes += u64::from(packet.bytes);
        if let Some(second) = self.seconds.at(index) {
            second.packets += 1;
            second.bytes += u64::from(packet.bytes);
        }
        let Some(position) = self.position(packet.sequence) else {
            self.totals.wrong_number += 1;
            return;
        };
        let opening = GapOpening {
            index: self.totals.unique,
            at_ns: packet.received_ns,
            second: index,
        };
        match self.gaps.arrive(position, opening) {
            PacketOrder::Ahead { skipped } => {
                self.totals.longest_gap = self.totals.longest_gap.max(skipped);
                if let Some(second) = self.seconds.at(index) {
                    second.lost += skipped;
                }
            }
            PacketOrder::Late(gap) => self.late(packet, index, gap),
            PacketOrder::Duplicate => {
                self.totals.duplicates += 1;
                if let Some(second) = self.seconds.at(index) {
                    second.duplicates += 1;
                }
                return;
            }
            PacketOrder::Undecided => {
                self.totals.undecided += 1;
                return;
            }
        }
        self.totals.unique += 1;
        let delay = self.delays.arrive(packet.sent_ns, packet.received_ns);
        let jitter_ns = self.delays.jitter_ns();
        if let Some(second) = self.seconds.at(index) {
            second.jitter_ns = jitter_ns;
            let (least, most) = second.delays_ns.unwrap_or((delay, delay));
            second.delays_ns = Some((least.min(delay), most.max(delay)));
        }
    }

    fn late(&mut self, packet: &DatagramArrival, index: Option<usize>, gap: GapOpening) {
        let extent = self.totals.unique - gap.index;
        self.totals.reordered += 1;
        self.totals.largest_extent = self.totals.largest_extent.max(extent);
        self.extents = self.extents.saturating_add(extent);
        let late_ns = packet.received_ns.saturating_sub(gap.at_ns);
        self.totals.longest_late_ns = self.totals.longest_late_ns.max(late_ns);
        if let Some(second) = self.seconds.at(gap.second) {
            second.lost = second.lost.saturating_sub(1);
        }
        if let Some(second) = self.seconds.at(index) {
            second.reordered += 1;
        }
    }

    /// The position of a sequence number; none for one that cannot belong to the flow.
    fn position(&mut self, sequence: u64) -> Option<u64> {
        let next = self.gaps.next();
        let ahead = self.ahead(sequence, self.base.wrapping_add(next));
        let position = next.checked_add_signed(ahead);
        if ahead.unsigned_abs() < LARGEST_JUMP
            && let Some(position) = position
        {
            self.after_wrong = None;
            return Some(position);
        }
        let continues = |expected: u64| self.ahead(sequence, expected) == 0;
        if self.after_wrong.is_some_and(continues) {
            self.after_wrong = None;
            self.totals.restarts += 1;
            self.base = sequence.wrapping_sub(next);
            return Some(next);
        }
        self.after_wrong = Some(sequence.wrapping_add(1));
        None
    }

    /// Distance of a sequence number ahead of another, as RFC 1982 compares serial numbers.
    fn ahead(&self, sequence: u64, expected: u64) -> i64 {
        let difference = sequence.wrapping_sub(expected);
        match self.width {
            SequenceWidth::Bits32 => i64::from(difference as u32 as i32),
            SequenceWidth::Bits64 => difference as i64,
        }
    }

    /// The seconds until now, from the origin on. The last one may not be over.
    pub fn seconds(&self) -> &[SinkSecond] {
        &self.seconds.all
    }

    /// The longest delay of a second, above the shortest of the flow until now, in nanoseconds;
    /// none of a second without packets.
    pub fn delay_variation_of(&self, second: usize) -> Option<u64> {
        let (_, longest) = self.seconds.all.get(second)?.delays_ns?;
        Some(longest.abs_diff(self.delays.shortest()))
    }

    /// The counts until now and the jitter, without [`DatagramFigures::delay`], which takes time to
    /// compute.
    pub fn counts(&self) -> DatagramFigures {
        let mut figures = self.totals.clone();
        figures.lost = self.gaps.next().saturating_sub(figures.unique);
        if figures.reordered > 0 {
            figures.mean_extent = self.extents as f64 / figures.reordered as f64;
        }
        figures.jitter_ns = self.delays.jitter_ns();
        figures.is_series_cut = self.seconds.is_cut;
        figures
    }

    /// The figures until now. `sent` is the number of packets that the source reports as sent:
    /// without it, losses after the last packet that arrived are unknown.
    pub fn figures(&self, sent: Option<u64>) -> DatagramFigures {
        let mut figures = self.counts();
        let expected = self.gaps.next().max(sent.unwrap_or(0));
        figures.lost = expected.saturating_sub(figures.unique);
        figures.delay = self.delays.variation(&self.seconds.all);
        figures
    }
}
