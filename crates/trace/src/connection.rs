//! A TCP connection: segments in, figures out, in one pass and bounded memory. Pure.
//!
//! ```text
//! segment --> ConnectionState --> marks of Wireshark
//!         |- SegmentMarker        what Wireshark would mark
//!         |- DirectionState x 2   bytes, round trips, retransmissions, windows
//!         |- TransactionReader    requests and responses
//!         `- WaitLedger           what the time was spent on
//! ```

use core::net::SocketAddr;

use crate::clock::{CaptureClock, ClockReversal};
use crate::copies::RecentSegments;
use crate::direction::{DirectionFigures, DirectionState, Passing, SentBytes};
use crate::limits::AnalysisLimits;
use crate::path::PathRoundTrip;
use crate::reassembly::NewBytes;
use crate::retransmission::SendMoment;
use crate::round_trip::LONGEST_RTT_NS;
use crate::segment::TcpSegment;
use crate::tls::TlsRecord;
use crate::transaction::{
    RequestProtocol, RequestVisitor, SegmentTurn, TracedRequest, TransactionReader, WireBytes,
    is_client,
};
use crate::wait_event::{DirectionBefore, WaitEvent};
use crate::waits::{ConnectionEnd, WaitLedger, WaitTotal};
use crate::wireshark::{SegmentMarker, WiresharkMarks};

/// The opening of a connection.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TcpHandshake {
    /// The first SYN, in nanoseconds; `None` also where the clock went back during the handshake.
    pub syn_ns: Option<i64>,
    /// Number of SYNs.
    pub syns: u64,
    /// The first response to a SYN.
    pub syn_ack_ns: Option<i64>,
    /// Number of responses.
    pub syn_acks: u64,
    /// The client's first acknowledgment of the response.
    pub ack_ns: Option<i64>,
    /// From the last SYN to the acknowledgment of the response: a round trip between the ends,
    /// wherever it was captured.
    pub rtt_ns: Option<i64>,
}

/// The end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TcpClosing {
    /// The end that closed first.
    pub end: ConnectionEnd,
    /// Its moment, in nanoseconds.
    pub at_ns: i64,
    /// With a RST, not a FIN.
    pub is_reset: bool,
}

/// Figures of a connection.
#[derive(Debug, Clone, PartialEq)]
pub struct ConnectionFigures {
    /// The end that opened it; the one with the higher port if that was not captured.
    pub client: SocketAddr,
    /// The other end.
    pub server: SocketAddr,
    /// Its first packet.
    pub first_packet: u64,
    /// Its last packet.
    pub last_packet: u64,
    /// Moment of its first packet, in nanoseconds.
    pub start_ns: i64,
    /// Moment of its last packet.
    pub end_ns: i64,
    /// Its opening.
    pub handshake: TcpHandshake,
    /// Its end.
    pub closing: Option<TcpClosing>,
    /// Data of the client, and acknowledgments of the server.
    pub from_client: DirectionFigures,
    /// Data of the server, and acknowledgments of the client.
    pub from_server: DirectionFigures,
    /// Protocol, if its first bytes show it.
    pub protocol: Option<RequestProtocol>,
    /// Its requests, in their order; the first of them if there are too many.
    pub requests: Vec<TracedRequest>,
    /// Number of all requests.
    pub request_count: u64,
    /// Records of TLS of the client.
    pub client_records: Vec<TlsRecord>,
    /// Records of TLS of the server.
    pub server_records: Vec<TlsRecord>,
    /// Causes of its waiting times, the largest total first.
    pub waits: Vec<WaitTotal>,
}

impl ConnectionFigures {
    /// From its first to its last packet, in nanoseconds.
    pub fn duration_ns(&self) -> i64 {
        self.end_ns - self.start_ns
    }

    /// The direction in which an end sends.
    pub fn from(&self, end: ConnectionEnd) -> &DirectionFigures {
        match end {
            ConnectionEnd::Client => &self.from_client,
            ConnectionEnd::Server => &self.from_server,
        }
    }

    /// Payload of a direction over the duration of the connection, with or without retransmissions,
    /// in bytes per second.
    pub fn throughput(&self, sender: ConnectionEnd, with_resent: bool) -> Option<f64> {
        let duration_ns = self.duration_ns();
        let figures = self.from(sender);
        let bytes = if with_resent {
            figures.payload_bytes
        } else {
            figures.unique_bytes
        };
        (duration_ns > 0).then(|| bytes as f64 * 1e9 / duration_ns as f64)
    }
}

/// A connection while its segments pass.
#[derive(Debug)]
pub(crate) struct ConnectionState {
    /// Addresses of client and server.
    pub(crate) ends: [SocketAddr; 2],
    /// Packet and moment of the first segment.
    pub(crate) first: (u64, i64),
    pub(crate) last: (u64, i64),
    /// Correction of the time stamp of the last segment.
    added_ns: i64,
    /// The packet with the latest time stamp, which the last one need not be.
    latest: (u64, i64),
    handshake: TcpHandshake,
    last_syn_ns: Option<i64>,
    pub(crate) closing: Option<TcpClosing>,
    pub(crate) recent: RecentSegments,
    marker: SegmentMarker,
    directions: [DirectionState; 2],
    /// Shortest round trips between the point of capture and each end.
    rtts_ns: [Option<i64>; 2],
    transactions: TransactionReader,
    waits: WaitLedger,
}

impl ConnectionState {
    pub(crate) fn new(
        packet: u64,
        segment: &TcpSegment<'_>,
        server: Option<SocketAddr>,
        limits: &AnalysisLimits,
    ) -> ConnectionState {
        let mut ends = [segment.source, segment.destination];
        if !is_client(segment, server) {
            ends.reverse();
        }
        let first = (packet, segment.at_ns);
        ConnectionState {
            ends,
            first,
            last: first,
            latest: first,
            added_ns: 0,
            handshake: TcpHandshake::default(),
            last_syn_ns: None,
            closing: None,
            recent: RecentSegments::default(),
            marker: SegmentMarker::new(limits.segments),
            directions: ends.map(|end| DirectionState::new(end, limits)),
            rtts_ns: [None; 2],
            transactions: TransactionReader::new(limits.requests, limits.segments),
            waits: WaitLedger::default(),
        }
    }

    fn side(&self, segment: &TcpSegment<'_>) -> usize {
        usize::from(segment.source != self.ends[0])
    }

    /// The offset of the first byte that the segment acknowledges and that has not passed.
    pub(crate) fn missing(&self, segment: &TcpSegment<'_>) -> Option<u32> {
        let other = &self.directions[1 - self.side(segment)];
        // If nothing of an end was captured, everything is missing.
        let sent = other.board.sent.filter(|_| other.figures.segments > 0)?;
        let ahead = other.offset_near(segment.acknowledged) - sent;
        (ahead > 0).then(|| segment.acknowledged.wrapping_sub(ahead as u32))
    }

    pub(crate) fn begins_anew(&self, segment: &TcpSegment<'_>) -> bool {
        self.marker.begins_anew(self.side(segment), segment)
    }

    pub(crate) fn add(
        &mut self,
        packet: u64,
        segment: &TcpSegment<'_>,
        is_anew: bool,
        clock: &mut CaptureClock,
        each: RequestVisitor<'_>,
    ) -> WiresharkMarks {
        let segment = &self.timed(packet, segment, clock);
        let from = self.side(segment);
        let passing = Passing {
            packet,
            at_ns: segment.at_ns,
            segment,
        };
        let marks = self.marker.mark(from, segment, is_anew);
        self.note_handshake(from, &passing);
        let before = [self.before(0), self.before(1)];
        let turn = SegmentTurn {
            is_client: from == 0,
            before: self.wire_bytes(),
        };
        let moment = self.moment(from, &passing, &before[from]);
        let shift = self.shift(from);
        let effect = self.directions[1 - from].acknowledge(&passing, shift);
        if let Some(rtt_ns) = effect.rtt_ns {
            self.note_rtt(from, rtt_ns.min(LONGEST_RTT_NS));
        }
        let awaits_server = self.transactions.awaits_server();
        let sent = self.directions[from].send(&passing, &moment);
        self.note_turn(&turn, &passing, effect.data_progress, &sent, each);
        self.note_closing(from, segment);
        self.waits.note(&WaitEvent {
            at_ns: segment.at_ns,
            packet,
            sender: ConnectionEnd::BOTH[from],
            length: if sent.is_probe { 0 } else { segment.length },
            has_new_data: !sent.new.is_empty(),
            has_progress: effect.progress > 0,
            retransmission: sent.retransmission,
            gap_since_ns: sent.gap_since_ns,
            permitted_ns: sent.permitted_ns,
            is_pushed: segment.flags.psh,
            opens_window: self.opens_window(1 - from, &before[1 - from]),
            opens_gap: self.directions[from].board.has_gap() && !before[from].has_gap,
            awaits_server,
            is_closing: segment.flags.fin || segment.flags.rst,
            before,
        });
        self.last = (packet, segment.at_ns);
        marks
    }

    /// The segment at a moment after that of the last one. If the clock went back, no time until
    /// then is known.
    fn timed<'a>(
        &mut self,
        packet: u64,
        segment: &TcpSegment<'a>,
        clock: &mut CaptureClock,
    ) -> TcpSegment<'a> {
        let ((follows, latest_ns), last_ns) = (self.latest, self.last.1);
        let back_ns = latest_ns - segment.at_ns;
        if back_ns > 0 {
            clock.reversals.add(ClockReversal {
                packet,
                follows,
                back_ns,
            });
        } else {
            self.latest = (packet, segment.at_ns);
        }
        if back_ns > 0 || self.added_ns != clock.added_ns {
            self.added_ns = clock.added_ns;
            if self.handshake.ack_ns.is_none() {
                self.handshake.syn_ns = None;
            }
            self.last_syn_ns = None;
            for direction in &mut self.directions {
                direction.clock_went_back();
            }
            self.transactions.clock_went_back(last_ns);
        }
        TcpSegment {
            at_ns: segment.at_ns.max(last_ns + i64::from(back_ns > 0)),
            ..*segment
        }
    }

    /// Time stamps of both ends, and other evidence about a retransmission.
    fn moment(&self, from: usize, passing: &Passing<'_>, before: &DirectionBefore) -> SendMoment {
        let permits = |direction: &DirectionState| {
            let options = direction.figures.syn_options;
            options.is_none_or(|options| options.sack_permitted)
        };
        let srtt_ns = self.directions[from].srtt_ns();
        let whole_ns = srtt_ns.map(|srtt_ns| srtt_ns + self.rtts_ns[from].unwrap_or(0));
        // Near the receiver, the data that its acknowledgments release show by how much queues
        // lengthen a round trip.
        let queued_ns = before.path.map(|path| path.now_ns);
        let stamps = passing.segment.options.timestamps;
        SendMoment {
            packet: passing.packet,
            at_ns: passing.at_ns,
            is_syn: passing.segment.flags.syn,
            stamp: stamps.map(|(value, _)| value),
            silence_ns: passing.at_ns - self.last.1,
            rtt_ns: whole_ns.max(self.handshake.rtt_ns).max(queued_ns),
            sender_rtt_ns: self.rtts_ns[from],
            uses_sack: self.directions.iter().all(permits),
        }
    }

    fn before(&self, from: usize) -> DirectionBefore {
        let direction = &self.directions[from];
        DirectionBefore {
            flight: direction.board.flight(),
            segments: direction.board.segments(),
            room: direction.room(),
            window: (direction.figures.window).map_or(0, |(_, largest)| largest.cast_signed()),
            is_closed: direction.is_closed(),
            is_in_fast_recovery: direction.explainer.is_in_fast_recovery(),
            segment_size: direction.segment_size(&self.directions[1 - from]),
            receiver_rtt_ns: self.rtts_ns[1 - from].or(self.handshake.rtt_ns),
            sender_rtt_ns: self.sender_rtt_ns(from).unwrap_or(0),
            is_sender_known: self.sender_rtt_ns(from).is_some(),
            has_gap: direction.board.has_gap(),
            path: self.path(from),
        }
    }

    /// True if the window in which an end sends had no room for a segment, and has more now.
    fn opens_window(&self, from: usize, before: &DirectionBefore) -> bool {
        let rooms = before.room.zip(self.directions[from].room());
        rooms.is_some_and(|(before_room, room)| before.is_window_full() && room > before_room)
    }

    /// The shortest round trip between the point of capture and an end. For an end that
    /// acknowledges nothing, the data that it sends after acknowledgments show it.
    fn sender_rtt_ns(&self, from: usize) -> Option<i64> {
        let echoed = || self.directions[1 - from].path_of_acknowledgments();
        self.rtts_ns[from].or_else(|| Some(echoed()?.shortest_ns))
    }

    /// Round trips of the data of an end, at the point of capture: to the end that is farther away.
    fn path(&self, from: usize) -> Option<PathRoundTrip> {
        if self.sender_rtt_ns(from) <= self.rtts_ns[1 - from] {
            return self.directions[from].path();
        }
        let path = self.directions[1 - from].path_of_acknowledgments()?;
        let shortest_ns =
            self.rtts_ns[from].map_or(path.shortest_ns, |rtt_ns| rtt_ns.min(path.shortest_ns));
        Some(PathRoundTrip {
            shortest_ns,
            ..path
        })
    }

    /// Scale of the windows of an end (RFC 7323, section 2: only if both ends agree), if both SYNs
    /// were captured.
    fn shift(&self, from: usize) -> Option<u8> {
        let options = |end: usize| self.directions[end].figures.syn_options;
        let (sender, receiver) = (options(from)?, options(1 - from)?);
        Some(receiver.window_scale.and(sender.window_scale).unwrap_or(0))
    }

    fn note_rtt(&mut self, end: usize, rtt_ns: i64) {
        let shortest_ns = &mut self.rtts_ns[end];
        *shortest_ns = Some(shortest_ns.map_or(rtt_ns, |shortest_ns| shortest_ns.min(rtt_ns)));
    }

    fn note_handshake(&mut self, from: usize, passing: &Passing<'_>) {
        let (flags, at_ns) = (passing.segment.flags, passing.at_ns);
        let handshake = &mut self.handshake;
        if flags.rst {
            return;
        }
        match (flags.syn, flags.ack) {
            (true, false) => {
                handshake.syn_ns.get_or_insert(at_ns);
                handshake.syns += 1;
                self.last_syn_ns = Some(at_ns);
            }
            (true, true) => {
                handshake.syn_ack_ns.get_or_insert(at_ns);
                handshake.syn_acks += 1;
            }
            (false, true) if from == 0 && handshake.syn_ack_ns.is_some() => {
                handshake.ack_ns.get_or_insert(at_ns);
                // A second response to the SYN hides the time of the first one.
                if handshake.syn_acks == 1 && handshake.rtt_ns.is_none() {
                    let rtt_ns = self.last_syn_ns.map(|syn_ns| at_ns - syn_ns);
                    handshake.rtt_ns = rtt_ns.filter(|rtt_ns| (0..LONGEST_RTT_NS).contains(rtt_ns));
                }
            }
            _ => {}
        }
    }

    fn note_closing(&mut self, from: usize, segment: &TcpSegment<'_>) {
        if segment.flags.fin || segment.flags.rst {
            self.closing.get_or_insert(TcpClosing {
                end: ConnectionEnd::BOTH[from],
                at_ns: segment.at_ns,
                is_reset: segment.flags.rst,
            });
        }
    }

    fn wire_bytes(&self) -> [WireBytes; 2] {
        [0, 1].map(|end| {
            let direction = &self.directions[end];
            WireBytes {
                payload: direction.figures.payload_bytes,
                resent: direction.figures.resent_bytes,
                retransmissions: direction.explainer.counts.total(),
            }
        })
    }

    fn note_turn(
        &mut self,
        turn: &SegmentTurn,
        passing: &Passing<'_>,
        data_progress: i64,
        sent: &SentBytes,
        each: RequestVisitor<'_>,
    ) {
        let segment = passing.segment;
        let is_valid = segment.flags.ack && !segment.flags.rst && !segment.flags.fin;
        let is_open = self.directions[0].figures.fin_ns.is_none();
        if turn.is_client && is_valid && is_open && data_progress > 0 {
            self.transactions.response_acknowledged(passing.at_ns);
        }
        let other = &self.directions[usize::from(turn.is_client)];
        if let Some(offset) = other.board.acknowledged.filter(|_| data_progress > 0) {
            self.transactions.acknowledged(turn, offset, each);
        }
        if segment.flags.syn {
            self.transactions.begin(turn.is_client, sent.payload);
        }
        let acknowledged = other.offset_near(segment.acknowledged);
        for new in &sent.new {
            let index = |offset: i64| {
                let index = usize::try_from(offset - sent.payload).unwrap_or(0);
                index.min(segment.payload.len())
            };
            let bytes = NewBytes {
                at_ns: passing.at_ns,
                packet: passing.packet,
                offset: new.start,
                length: new.end - new.start,
                acknowledged,
                captured: segment.payload[index(new.start)..index(new.end)].into(),
            };
            self.transactions.add(turn, bytes, each);
        }
    }

    pub(crate) fn finish(self, each: RequestVisitor<'_>) -> ConnectionFigures {
        let wire_bytes = self.wire_bytes();
        let protocol = self.transactions.protocol();
        let (requests, request_count, [client_records, server_records]) =
            self.transactions.finish(wire_bytes, each);
        let [from_client, from_server] = self.directions;
        ConnectionFigures {
            client: self.ends[0],
            server: self.ends[1],
            first_packet: self.first.0,
            last_packet: self.last.0,
            start_ns: self.first.1,
            end_ns: self.last.1,
            handshake: self.handshake,
            closing: self.closing,
            from_client: from_client.finish(self.last.1),
            from_server: from_server.finish(self.last.1),
            protocol,
            requests,
            request_count,
            client_records,
            server_records,
            waits: self.waits.finish(),
        }
    }
}
