//! One direction of a connection: the bytes of one end, and the other end's acknowledgments.
//! Pure.

use core::net::SocketAddr;
use std::ops::Range;

use crate::limits::AnalysisLimits;
use crate::path::{EchoedRoundTrip, PathRoundTrip, WindowPermissions};
use crate::retransmission::{
    Explainer, Retransmission, RetransmissionCounts, RetransmissionKind, SendMoment,
};
use crate::round_trip::{LONGEST_RTT_NS, RoundTripTimes, RttSample, SentStamps, SmoothedRoundTrip};
use crate::scoreboard::{Delivery, Scoreboard};
use crate::segment::{TcpOptions, TcpSegment};
use crate::sequence::StreamOffsets;
use crate::series::{BytesOverTime, TimeSeries};

/// Width of the narrowest bin of throughput.
const NARROWEST_BIN_NS: i64 = 1_000_000;

/// A segment in a time-sequence graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SegmentPoint {
    /// When it passed, in nanoseconds.
    pub at_ns: i64,
    /// Offset of its first byte.
    pub first: i64,
    /// Offset behind its last byte.
    pub end: i64,
}

/// A value that holds from a moment on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimedValue {
    /// The moment, in nanoseconds.
    pub at_ns: i64,
    /// An offset, bytes, or nanoseconds.
    pub value: i64,
}

/// Data of a time-sequence graph (as drawn by S. Ostermann's tcptrace), and the other courses of
/// a direction.
#[derive(Debug, Clone, PartialEq)]
pub struct DirectionSeries {
    /// Segments with bytes, each from its first to its last offset.
    pub segments: TimeSeries<SegmentPoint>,
    /// Segments that were sent again.
    pub retransmissions: TimeSeries<SegmentPoint>,
    /// Segments that were overtaken.
    pub overtaken: TimeSeries<SegmentPoint>,
    /// The offset up to which everything is acknowledged.
    pub acknowledged: TimeSeries<TimedValue>,
    /// The offset at which the window of the receiver ends.
    pub window_end: TimeSeries<TimedValue>,
    /// Bytes in flight.
    pub flight: TimeSeries<TimedValue>,
    /// Round trips by acknowledgments.
    pub round_trips: TimeSeries<TimedValue>,
    /// Payload, without retransmissions.
    pub throughput: BytesOverTime,
}

impl DirectionSeries {
    fn new(limit: usize) -> DirectionSeries {
        DirectionSeries {
            segments: TimeSeries::new(limit),
            retransmissions: TimeSeries::new(limit),
            overtaken: TimeSeries::new(limit),
            acknowledged: TimeSeries::new(limit),
            window_end: TimeSeries::new(limit),
            flight: TimeSeries::new(limit),
            round_trips: TimeSeries::new(limit),
            throughput: BytesOverTime::new(limit, NARROWEST_BIN_NS),
        }
    }
}

/// Figures of one direction: of the bytes that `sender` sent, and of the acknowledgments that it
/// received.
#[derive(Debug, Clone, PartialEq)]
pub struct DirectionFigures {
    /// The end that sent the bytes.
    pub sender: SocketAddr,
    /// All segments of the sender, including those without payload.
    pub segments: u64,
    /// Segments with payload.
    pub data_segments: u64,
    /// Payload on the wire: `unique_bytes + resent_bytes`.
    pub payload_bytes: u64,
    /// Payload that passed for the first time.
    pub unique_bytes: u64,
    /// Payload that had passed before.
    pub resent_bytes: u64,
    /// Largest payload of a segment.
    pub largest_segment: u32,
    /// Retransmissions by kind.
    pub retransmissions: RetransmissionCounts,
    /// The first of them, in the order of capture.
    pub first_retransmissions: Vec<Retransmission>,
    /// Segments that were overtaken before the point of capture.
    pub overtaken: u64,
    /// Bytes that were acknowledged, but never captured.
    pub uncaptured_bytes: u64,
    /// Probes of an idle connection or a closed window: at most one byte, acknowledged before.
    pub probes: u64,
    /// Duplicate acknowledgments that it received (RFC 5681, section 2).
    pub duplicate_acks: u64,
    /// D-SACKs that it received (RFC 2883).
    pub duplicate_sacks: u64,
    /// The most bytes in flight.
    pub largest_flight: u64,
    /// The smallest and largest window that its receiver offered after the handshake, in bytes; not
    /// scaled if one of the SYNs was not captured.
    pub window: Option<(u64, u64)>,
    /// Number of times that its receiver closed the window.
    pub zero_windows: u64,
    /// Time of the closed window, in nanoseconds.
    pub zero_window_ns: i64,
    /// Round trips by acknowledgments.
    pub rtt: RoundTripTimes,
    /// Round trips by time stamps: too long by up to one tick of the sender's clock.
    pub stamp_rtt: RoundTripTimes,
    /// Options of the sender's SYN, if it was captured.
    pub syn_options: Option<TcpOptions>,
    /// Moment of its first FIN, in nanoseconds.
    pub fin_ns: Option<i64>,
    /// Moment of its first RST, in nanoseconds.
    pub rst_ns: Option<i64>,
    /// Courses over time.
    pub series: DirectionSeries,
}

/// A segment at the point of capture.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Passing<'a> {
    pub(crate) packet: u64,
    pub(crate) at_ns: i64,
    pub(crate) segment: &'a TcpSegment<'a>,
}

/// The data of a segment.
#[derive(Debug, Default)]
pub(crate) struct SentBytes {
    /// Offsets of payload that passed for the first time, with the offset of each in the segment.
    pub(crate) new: Vec<Range<i64>>,
    /// Offset of the first byte of payload.
    pub(crate) payload: i64,
    pub(crate) retransmission: Option<RetransmissionKind>,
    pub(crate) is_probe: bool,
    /// The segment was sent again, and fills a gap that was there from this moment on.
    pub(crate) gap_since_ns: Option<i64>,
    /// Moment from which the receiver's window permits its last byte.
    pub(crate) permitted_ns: Option<i64>,
}

/// Effect of an acknowledgment.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct AckEffect {
    /// Bytes that it acknowledges for the first time.
    pub(crate) progress: i64,
    /// Payload bytes among them.
    pub(crate) data_progress: i64,
    pub(crate) rtt_ns: Option<i64>,
}

#[derive(Debug)]
pub(crate) struct DirectionState {
    pub(crate) figures: DirectionFigures,
    pub(crate) board: Scoreboard,
    pub(crate) explainer: Explainer,
    offsets: StreamOffsets,
    stamps: SentStamps,
    smoothed: SmoothedRoundTrip,
    /// Number of the window of data, and the offset at which it ends.
    window_number: u32,
    window_limit: i64,
    /// The receiver's window and its latest acknowledgment, for recognising duplicates.
    last_acknowledgment: Option<(u32, u16)>,
    pub(crate) offered: Option<i64>,
    closed_since_ns: Option<i64>,
    permissions: WindowPermissions,
    acknowledging: EchoedRoundTrip,
    last_data_ns: Option<i64>,
    /// Offsets of SYN and FIN, which are not payload.
    markers: [Option<i64>; 2],
}

impl DirectionState {
    pub(crate) fn new(sender: SocketAddr, limits: &AnalysisLimits) -> DirectionState {
        DirectionState {
            figures: DirectionFigures {
                sender,
                segments: 0,
                data_segments: 0,
                payload_bytes: 0,
                unique_bytes: 0,
                resent_bytes: 0,
                largest_segment: 0,
                retransmissions: RetransmissionCounts::default(),
                first_retransmissions: Vec::new(),
                overtaken: 0,
                uncaptured_bytes: 0,
                probes: 0,
                duplicate_acks: 0,
                duplicate_sacks: 0,
                largest_flight: 0,
                window: None,
                zero_windows: 0,
                zero_window_ns: 0,
                rtt: RoundTripTimes::new(limits.samples),
                stamp_rtt: RoundTripTimes::new(limits.samples),
                syn_options: None,
                fin_ns: None,
                rst_ns: None,
                series: DirectionSeries::new(limits.points),
            },
            board: Scoreboard::new(limits.segments),
            explainer: Explainer::new(limits.retransmissions),
            offsets: StreamOffsets::default(),
            stamps: SentStamps::default(),
            smoothed: SmoothedRoundTrip::default(),
            window_number: 0,
            window_limit: i64::MIN,
            last_acknowledgment: None,
            offered: None,
            closed_since_ns: None,
            permissions: WindowPermissions::default(),
            acknowledging: EchoedRoundTrip::default(),
            last_data_ns: None,
            markers: [None; 2],
        }
    }

    /// Largest payload of the sender's segments, or the limit of its receiver.
    pub(crate) fn segment_size(&self, receiver: &DirectionState) -> i64 {
        let permitted = receiver.figures.syn_options.and_then(|options| options.mss);
        i64::from(permitted.map_or(self.figures.largest_segment, u32::from))
    }

    pub(crate) fn srtt_ns(&self) -> Option<i64> {
        self.smoothed.srtt_ns()
    }

    /// Round trips from the point of capture to its receiver.
    pub(crate) fn path(&self) -> Option<PathRoundTrip> {
        Some(PathRoundTrip {
            now_ns: self.smoothed.latest_ns()?,
            shortest_ns: self.figures.rtt.smallest_ns()?,
        })
    }

    /// Round trips from the point of capture to its receiver and back, by the data that the
    /// receiver sends after acknowledgments.
    pub(crate) fn path_of_acknowledgments(&self) -> Option<PathRoundTrip> {
        self.acknowledging.path()
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed_since_ns.is_some()
    }

    /// Handles a clock that went back: round trips of earlier segments are unknown.
    pub(crate) fn clock_went_back(&mut self) {
        self.board.clock_went_back();
        self.stamps = SentStamps::default();
        self.acknowledging = EchoedRoundTrip::default();
    }

    pub(crate) fn send(&mut self, passing: &Passing<'_>, moment: &SendMoment) -> SentBytes {
        let segment = passing.segment;
        let flags = segment.flags;
        let first = self.offsets.offset(segment.sequence);
        let mut sent = SentBytes {
            payload: first + i64::from(flags.syn),
            ..SentBytes::default()
        };
        let payload_end = sent.payload + i64::from(segment.length);
        let end = payload_end + i64::from(flags.fin);
        if flags.syn {
            self.markers[0] = Some(first);
        }
        if flags.fin {
            self.markers[1] = Some(payload_end);
        }
        self.count(passing);
        if segment.length == 0
            && let Some((value, _)) = segment.options.timestamps
        {
            self.acknowledging.sent(value, passing.at_ns);
        }
        sent.is_probe = self.is_probe(first, end, segment);
        if first == end || sent.is_probe {
            self.figures.probes += u64::from(sent.is_probe);
            self.figures.resent_bytes += u64::from(segment.length);
            return sent;
        }
        if flags.rst {
            // The text of a reset is no part of the stream (RFC 9293, section 3.5.3).
            let bytes = u64::from(segment.length);
            self.figures.unique_bytes += bytes;
            self.figures.series.throughput.add(passing.at_ns, bytes);
            return sent;
        }
        if let Some((value, _)) = segment.options.timestamps {
            self.stamps.sent(value, passing.at_ns);
        }
        sent.permitted_ns = self.permissions.permitted_ns(end);
        let mut new = Vec::new();
        let found = self
            .board
            .send(first..end, passing.at_ns, moment.stamp, |bytes| {
                let (first, end) = (bytes.start.max(sent.payload), bytes.end.min(payload_end));
                if first < end {
                    new.push(first..end);
                }
            });
        let unique: i64 = new.iter().map(|bytes| bytes.end - bytes.start).sum();
        self.figures.unique_bytes += unique.unsigned_abs();
        self.figures.resent_bytes += u64::from(segment.length) - unique.unsigned_abs();
        sent.new = new;
        let point = SegmentPoint {
            at_ns: passing.at_ns,
            first,
            end,
        };
        let is_late = found.resent > 0 || found.filled.is_some();
        if is_late {
            let kind = self
                .explainer
                .sent_late(first..end, found, &self.board, moment);
            sent.retransmission = kind;
            let gap = found.filled.filter(|_| kind.is_some());
            sent.gap_since_ns = gap.map(|(since_ns, _)| since_ns);
            let series = &mut self.figures.series;
            match kind {
                Some(_) => series.retransmissions.push(point),
                None => {
                    self.figures.overtaken += 1;
                    series.overtaken.push(point);
                }
            }
        }
        self.note_flight(passing.at_ns);
        let series = &mut self.figures.series;
        series.segments.push(point);
        series.throughput.add(passing.at_ns, unique.unsigned_abs());
        sent
    }

    fn count(&mut self, passing: &Passing<'_>) {
        let segment = passing.segment;
        let figures = &mut self.figures;
        figures.segments += 1;
        figures.data_segments += u64::from(segment.length > 0);
        figures.payload_bytes += u64::from(segment.length);
        figures.largest_segment = figures.largest_segment.max(segment.length);
        if segment.flags.syn {
            figures.syn_options.get_or_insert(segment.options);
        }
        if segment.flags.fin {
            figures.fin_ns.get_or_insert(passing.at_ns);
        }
        if segment.flags.rst {
            figures.rst_ns.get_or_insert(passing.at_ns);
        }
    }

    /// A keep-alive or a probe of a closed window: at most one byte, which is acknowledged already
    /// (RFC 9293, section 3.8.4 and 3.8.6.1).
    fn is_probe(&self, first: i64, end: i64, segment: &TcpSegment<'_>) -> bool {
        let flags = segment.flags;
        let is_plain = !(flags.syn || flags.fin || flags.rst);
        let is_before = self.board.acknowledged == Some(first + 1);
        is_plain
            && is_before
            && end - first <= 1
            && self.board.sent.is_some_and(|sent| first < sent)
    }

    fn note_flight(&mut self, at_ns: i64) {
        let flight = self.board.flight();
        let largest = &mut self.figures.largest_flight;
        *largest = (*largest).max(flight.unsigned_abs());
        let point = TimedValue {
            at_ns,
            value: flight,
        };
        self.figures.series.flight.push(point);
    }

    /// Adds an acknowledgment of the receiver. `shift`: scale of its windows, if known.
    pub(crate) fn acknowledge(&mut self, passing: &Passing<'_>, shift: Option<u8>) -> AckEffect {
        let segment = passing.segment;
        let mut effect = AckEffect::default();
        if !segment.flags.ack || segment.flags.rst {
            return effect;
        }
        let to = self.offsets.offset(segment.acknowledged);
        let echo = segment.options.timestamps.map(|(_, echo)| echo);
        if segment.length > 0 {
            // The first data came as late as their sender produced them.
            let since_ns = self
                .last_data_ns
                .map_or(i64::MAX, |last_ns| passing.at_ns - last_ns);
            self.last_data_ns = Some(passing.at_ns);
            if let Some(echo) = echo {
                self.acknowledging.echoed(echo, passing.at_ns, since_ns);
            }
        }
        let flight_before = self.board.flight();
        let delivery = Delivery {
            at_ns: passing.at_ns,
            shortest_rtt_ns: self.figures.rtt.smallest_ns().unwrap_or(0),
        };
        if let Some(end) = self.add_sack(to, segment, delivery) {
            self.explainer.selected(end, passing.at_ns);
        }
        let newly = self.board.acknowledge(to, delivery);
        self.figures.uncaptured_bytes += newly.uncaptured.unsigned_abs();
        effect.progress = newly.bytes;
        let acknowledged = to - newly.bytes..to;
        let markers = self.markers.iter().flatten();
        let markers = markers
            .filter(|offset| acknowledged.contains(*offset))
            .count();
        effect.data_progress = newly.bytes - markers as i64;
        if newly.bytes > 0 {
            effect.rtt_ns = newly.sent_ns.map(|sent_ns| passing.at_ns - sent_ns);
            self.explainer.progressed(acknowledged, passing.at_ns, echo);
            self.note_progress(passing.at_ns, to, effect.rtt_ns, echo);
        } else {
            let is_plain = segment.length == 0 && !segment.flags.syn && !segment.flags.fin;
            let is_same = self.last_acknowledgment == Some((segment.acknowledged, segment.window));
            if is_plain && is_same && flight_before > 0 {
                self.figures.duplicate_acks += 1;
                self.explainer.duplicated(to, passing.at_ns);
            }
        }
        self.last_acknowledgment = Some((segment.acknowledged, segment.window));
        self.note_window(passing, to, shift);
        effect
    }

    fn note_progress(&mut self, at_ns: i64, to: i64, rtt_ns: Option<i64>, echo: Option<u32>) {
        let sample = |rtt_ns| RttSample {
            at_ns,
            rtt_ns,
            window: self.window_number,
        };
        if let Some(rtt_ns) = rtt_ns {
            self.figures.rtt.add(sample(rtt_ns));
            self.smoothed.add(rtt_ns.min(LONGEST_RTT_NS));
            let point = TimedValue {
                at_ns,
                value: rtt_ns,
            };
            self.figures.series.round_trips.push(point);
        }
        if let Some(rtt_ns) = echo.and_then(|echo| self.stamps.echoed(echo, at_ns)) {
            self.figures.stamp_rtt.add(sample(rtt_ns));
        }
        if to >= self.window_limit {
            self.window_number = self.window_number.saturating_add(1);
            self.window_limit = self.board.sent.unwrap_or(to);
        }
        let point = TimedValue { at_ns, value: to };
        self.figures.series.acknowledged.push(point);
        self.note_flight(at_ns);
    }

    /// D-SACK is a first block of bytes that are acknowledged, or within the second (RFC 2883,
    /// section 4). Returns the offset behind the last byte with a SACK.
    fn add_sack(&mut self, to: i64, segment: &TcpSegment<'_>, delivery: Delivery) -> Option<i64> {
        let mut blocks = [None; 4];
        for (block, sack) in blocks.iter_mut().zip(segment.options.sack) {
            *block = sack.map(|(first, end)| (self.offset_near(first), self.offset_near(end)));
        }
        let within =
            |inner: (i64, i64), outer: (i64, i64)| outer.0 <= inner.0 && inner.1 <= outer.1;
        if let Some(first) = blocks[0].filter(|(first, end)| first < end)
            && (first.1 <= to || blocks[1].is_some_and(|second| within(first, second)))
        {
            self.figures.duplicate_sacks += 1;
            self.explainer.received_twice(first.0..first.1);
            blocks[0] = None;
        }
        let blocks = blocks.map(|block| block.filter(|block| block.1 > to));
        self.board.selectively_acknowledge(blocks, delivery);
        blocks.into_iter().flatten().map(|(_, end)| end).max()
    }

    /// The offset of a sequence number, without updating the state: the number may be wrong.
    pub(crate) fn offset_near(&self, sequence: u32) -> i64 {
        let mut offsets = self.offsets;
        offsets.offset(sequence)
    }

    fn note_window(&mut self, passing: &Passing<'_>, to: i64, shift: Option<u8>) {
        let segment = passing.segment;
        let shift = if segment.flags.syn { Some(0) } else { shift };
        let window = i64::from(segment.window) << shift.unwrap_or(0).min(14);
        self.offered = shift.map(|_| to + window);
        if let Some(value) = self.offered {
            let at_ns = passing.at_ns;
            self.permissions.offered(value, at_ns);
            let series = &mut self.figures.series;
            series.window_end.push(TimedValue { at_ns, value });
        }
        if segment.flags.syn {
            return;
        }
        let window = window.unsigned_abs();
        let (smallest, largest) = self.figures.window.unwrap_or((window, window));
        self.figures.window = Some((smallest.min(window), largest.max(window)));
        if window == 0 && !segment.flags.fin {
            if self.closed_since_ns.is_none() {
                self.figures.zero_windows += 1;
                self.closed_since_ns = Some(passing.at_ns);
            }
        } else if let Some(since_ns) = self.closed_since_ns.take() {
            let closed_ns = passing.at_ns - since_ns;
            self.figures.zero_window_ns = self.figures.zero_window_ns.saturating_add(closed_ns);
        }
    }

    /// Free space of the receiver's window, in bytes; `None` if unknown.
    pub(crate) fn room(&self) -> Option<i64> {
        Some(self.offered? - self.board.sent?)
    }

    pub(crate) fn finish(mut self, end_ns: i64) -> DirectionFigures {
        if let Some(since_ns) = self.closed_since_ns {
            let closed_ns = end_ns - since_ns;
            self.figures.zero_window_ns = self.figures.zero_window_ns.saturating_add(closed_ns);
        }
        self.figures.retransmissions = self.explainer.counts;
        self.figures.first_retransmissions = self.explainer.list;
        self.figures
    }
}
