//! Connections made by hand, segment by segment.

use core::net::SocketAddr;
use core::ops::Range;

use crate::connection::ConnectionFigures;
use crate::connections::{TcpConnections, TracedConnections};
use crate::findings::{FindingThresholds, SlownessCause, findings};
use crate::limits::AnalysisLimits;
use crate::reassembly::{InOrder, NewBytes};
use crate::retransmission::RetransmissionKind;
use crate::scoreboard::{Delivery, Scoreboard};
use crate::segment::{TcpFlags, TcpOptions, TcpSegment};
use crate::series::{BytesOverTime, TimeSeries};
use crate::waits::ConnectionEnd;

use ConnectionEnd::{Client, Server};

pub(super) struct Script {
    connections: TcpConnections,
    packet: u64,
    pub(super) window: u16,
    pub(super) identification: Option<u16>,
    pub(super) stamps: Option<(u32, u32)>,
}

impl Script {
    /// After a handshake of 20 ms, captured at the server.
    pub(super) fn opened() -> Script {
        Script::with_limits(AnalysisLimits::default())
    }

    /// Within a connection.
    pub(super) fn joined() -> Script {
        Script {
            connections: TcpConnections::new(AnalysisLimits::default(), None),
            packet: 0,
            window: 60_000,
            identification: None,
            stamps: None,
        }
    }

    fn with_limits(limits: AnalysisLimits) -> Script {
        let mut script = Script::joined();
        script.connections = TcpConnections::new(limits, None);
        script.open(0, 20);
        script
    }

    /// After a handshake of 40 ms, captured at the client.
    pub(super) fn at_client() -> Script {
        Script::at_client_with(60_000)
    }

    pub(super) fn at_client_with(window: u16) -> Script {
        let mut script = Script::joined();
        script.window = window;
        script.open(40, 40);
        script
    }

    /// Opens the connection, with the response to the SYN and its acknowledgment at these moments.
    fn open(&mut self, response_ms: i64, ack_ms: i64) {
        let syn = TcpFlags {
            syn: true,
            ..TcpFlags::default()
        };
        let syn_ack = TcpFlags { ack: true, ..syn };
        self.raw(0, Client, u32::MAX, 0, syn, &[], 0);
        self.raw(response_ms, Server, u32::MAX, 0, syn_ack, &[], 0);
        self.acknowledge(ack_ms, Client, 0, 0);
    }

    /// With a FIN or RST.
    pub(super) fn close(
        &mut self,
        at_ms: i64,
        from: ConnectionEnd,
        first: u32,
        acknowledged: u32,
        is_reset: bool,
    ) {
        let flags = TcpFlags {
            fin: !is_reset,
            rst: is_reset,
            ..ack()
        };
        self.raw(at_ms, from, first, acknowledged, flags, &[], 0);
    }

    #[expect(clippy::too_many_arguments, reason = "the fields of a segment")]
    fn raw(
        &mut self,
        at_ms: i64,
        from: ConnectionEnd,
        sequence: u32,
        acknowledged: u32,
        flags: TcpFlags,
        payload: &[u8],
        length: u32,
    ) {
        let client = SocketAddr::from(([10, 0, 0, 1], 40_000));
        let server = SocketAddr::from(([10, 0, 0, 2], 80));
        let (source, destination) = match from {
            Client => (client, server),
            Server => (server, client),
        };
        self.packet += 1;
        let segment = TcpSegment {
            at_ns: at_ms * 1_000_000,
            source,
            destination,
            identification: self.identification,
            sequence,
            acknowledged,
            flags,
            window: self.window,
            options: TcpOptions {
                mss: flags.syn.then_some(1000),
                timestamps: self.stamps.filter(|_| !flags.syn),
                ..TcpOptions::default()
            },
            length,
            payload,
        };
        self.connections.add(self.packet, &segment, &mut |_| ());
    }

    /// Payload that was not captured.
    pub(super) fn data(
        &mut self,
        at_ms: i64,
        from: ConnectionEnd,
        first: u32,
        length: u32,
        acknowledged: u32,
    ) {
        self.raw(at_ms, from, first, acknowledged, ack(), &[], length);
    }

    pub(super) fn text(
        &mut self,
        at_ms: i64,
        from: ConnectionEnd,
        first: u32,
        bytes: &str,
        acknowledged: u32,
    ) {
        let (bytes, length) = (bytes.as_bytes(), bytes.len() as u32);
        self.raw(at_ms, from, first, acknowledged, ack(), bytes, length);
    }

    pub(super) fn acknowledge(
        &mut self,
        at_ms: i64,
        from: ConnectionEnd,
        first: u32,
        acknowledged: u32,
    ) {
        self.data(at_ms, from, first, 0, acknowledged);
    }

    pub(super) fn traced(self) -> TracedConnections {
        self.connections.finish(&mut |_| ())
    }

    pub(super) fn figures(self) -> ConnectionFigures {
        self.traced().connections.remove(0)
    }

    pub(super) fn causes(self) -> Vec<FoundCause> {
        let found = findings(&self.figures(), FindingThresholds { share: 0.05 });
        let found = found.iter();
        found
            .map(|found| (found.cause, found.end, found.time_ns / 1_000_000))
            .collect()
    }
}

/// A finding: its cause, the end that caused it, and its time in milliseconds.
pub(super) type FoundCause = (SlownessCause, ConnectionEnd, i64);

pub(super) fn has(causes: &[FoundCause], cause: SlownessCause) -> bool {
    causes.iter().any(|found| found.0 == cause)
}

fn ack() -> TcpFlags {
    TcpFlags {
        ack: true,
        ..TcpFlags::default()
    }
}

#[test]
fn a_late_acknowledgment_delays_small_data_only() {
    // First and second length of the client's data, and lateness of the acknowledgment.
    let table = [
        (100, 100, 40, true),
        // Full segments are sent in any case.
        (1000, 100, 40, false),
        (100, 1000, 40, false),
        // Not late.
        (100, 100, 10, false),
    ];
    for (first, second, late_ms, is_found) in table {
        let mut script = Script::opened();
        script.data(40, Client, 0, 1000, 0);
        script.acknowledge(41, Server, 0, 1000);
        script.data(60, Client, 1000, first, 0);
        let at_ms = 60 + late_ms;
        script.acknowledge(at_ms, Server, 0, 1000 + first);
        // Captured at the server: the client reacts a round trip later.
        script.data(at_ms + 20, Client, 1000 + first, second, 0);
        let causes = script.causes();
        let is_delayed = |(cause, end, _): &FoundCause| {
            *cause == SlownessCause::DelayedAcknowledgment && *end == Server
        };
        assert_eq!(
            causes.iter().any(is_delayed),
            is_found,
            "{first} {second} {late_ms}: {causes:?}"
        );
    }
}

/// The causes of a transfer of 2000 bytes for each round trip, with a window of this size.
fn causes_with_window(mut script: Script, window: u16) -> Vec<FoundCause> {
    script.window = window;
    script.acknowledge(20, Client, 0, 0);
    for round in 0..10 {
        let (at_ms, first) = (30 + i64::from(round) * 20, round * 2000);
        script.data(at_ms, Server, first, 1000, 0);
        script.data(at_ms, Server, first + 1000, 1000, 0);
        script.acknowledge(at_ms + 20, Client, 0, first + 2000);
    }
    script.causes()
}

#[test]
fn a_full_window_limits_its_peer() {
    let limited = (SlownessCause::WindowLimited, Client, 200);
    assert_eq!(causes_with_window(Script::opened(), 2000), [limited]);
    let causes = causes_with_window(Script::opened(), 60_000);
    assert!(!has(&causes, limited.0), "{causes:?}");
    // Without the handshake the window can be much larger.
    let causes = causes_with_window(Script::joined(), 2000);
    assert!(!has(&causes, limited.0), "{causes:?}");
}

/// Captured at the client: a silence of the server after full segments, and the moments of its next
/// two segments.
#[test]
fn a_silence_is_that_of_a_timer_if_one_segment_follows_for_a_round_trip() {
    let table = [
        // Milliseconds of the silence and of the time between the two segments, the second length,
        // and the cause.
        (300, 40, SlownessCause::Timeout),
        (300, 0, SlownessCause::ServerPause),
        (100, 40, SlownessCause::ServerPause),
        (300, 140, SlownessCause::ServerPause),
    ];
    for (silence_ms, between_ms, cause) in table {
        let mut script = Script::at_client();
        script.text(40, Client, 0, "GET / HTTP/1.1\r\n\r\n", 0);
        script.data(80, Server, 0, 1000, 18);
        script.data(80, Server, 1000, 1000, 18);
        script.acknowledge(80, Client, 18, 2000);
        let after_ms = 80 + silence_ms;
        script.data(after_ms, Server, 2000, 1000, 18);
        script.acknowledge(after_ms, Client, 18, 3000);
        script.data(after_ms + between_ms, Server, 3000, 1000, 18);
        script.acknowledge(after_ms + between_ms, Client, 18, 4000);
        let causes = script.causes();
        let found = causes.iter().find(|found| found.2 >= silence_ms);
        assert_eq!(found.map(|found| found.0), Some(cause), "{causes:?}");
    }
}

#[test]
fn kinds_follow_from_what_the_sender_knew() {
    // Time of the retransmission of the first of five segments, duplicates before it, and the kind.
    let table = [
        (120, 3, RetransmissionKind::Fast),
        (360, 0, RetransmissionKind::Timeout),
        (360, 3, RetransmissionKind::Timeout),
        (101, 0, RetransmissionKind::Unexplained),
    ];
    for (at_ms, duplicates, kind) in table {
        let mut script = Script::opened();
        script.data(30, Server, 0, 1000, 0);
        script.acknowledge(50, Client, 0, 1000);
        for segment in 1..6 {
            script.data(100, Server, segment * 1000, 1000, 0);
        }
        for _ in 0..duplicates {
            script.acknowledge(120, Client, 0, 1000);
        }
        script.data(at_ms, Server, 1000, 1000, 0);
        let counts = script.figures().from_server.retransmissions;
        assert_eq!(
            (counts.of(kind), counts.total()),
            (1, 1),
            "{at_ms} {duplicates}"
        );
    }
}

#[test]
fn what_was_overtaken_is_not_sent_again() {
    // Captured at the server: the client's second segment comes 2 ms or 70 ms late.
    for (late_ms, overtaken) in [(2, 1), (70, 0)] {
        let mut script = Script::opened();
        script.data(30, Server, 0, 10, 0);
        script.acknowledge(50, Client, 0, 10);
        script.data(60, Client, 0, 100, 10);
        script.data(60, Client, 200, 100, 10);
        script.data(60 + late_ms, Client, 100, 100, 10);
        let from_client = script.figures().from_client;
        assert_eq!(from_client.overtaken, overtaken);
        assert_eq!(from_client.retransmissions.total(), 1 - overtaken);
        assert_eq!(
            (from_client.unique_bytes, from_client.resent_bytes),
            (300, 0)
        );
    }
}

#[test]
fn interim_responses_and_pipelines_are_recognised() {
    let mut script = Script::opened();
    let head = "PUT /a HTTP/1.1\r\nContent-Length: 10\r\nExpect: 100-continue\r\n\r\n";
    let interim = "HTTP/1.1 100 Continue\r\n\r\n";
    let response = "HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n";
    let (head_end, interim_end) = (head.len() as u32, interim.len() as u32);
    script.text(30, Client, 0, head, 0);
    script.text(31, Server, 0, interim, head_end);
    script.text(60, Client, head_end, "0123456789", interim_end);
    script.text(65, Server, interim_end, response, head_end + 10);
    let end = interim_end + response.len() as u32;
    script.acknowledge(85, Client, head_end + 10, end);
    let pipelined = "GET /b HTTP/1.1\r\n\r\nGET /c HTTP/1.1\r\n\r\n";
    script.text(90, Client, head_end + 10, pipelined, end);
    script.text(
        95,
        Server,
        end,
        response,
        head_end + 10 + pipelined.len() as u32,
    );
    let requests = script.figures().requests;
    assert_eq!(requests.len(), 2);
    assert_eq!(
        (requests[0].status, requests[0].is_clean),
        (Some(201), true)
    );
    assert_eq!(requests[0].response_time_ns(), Some(5_000_000));
    assert_eq!(requests[0].delay_ns(), Some(55_000_000));
    assert_eq!(
        (requests[1].path.as_deref(), requests[1].is_clean),
        (Some("/b"), false)
    );
    assert_eq!(requests[1].response_time_ns(), None);
}

#[test]
fn a_response_before_the_whole_request_has_no_response_time() {
    let mut script = Script::opened();
    let request = "PUT /a HTTP/1.1\r\nContent-Length: 1000\r\n\r\n";
    let response = "HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n";
    script.text(30, Client, 0, request, 0);
    script.text(31, Server, 0, response, 41);
    // The body comes all the same.
    script.data(32, Client, 41, 1000, 46);
    let requests = script.figures().requests;
    assert_eq!(requests[0].status, Some(403));
    assert!(!requests[0].is_clean);
}

#[test]
fn a_sender_without_acknowledgments_needs_bounded_memory() {
    let mut board = Scoreboard::new(8192);
    for segment in 0..100_000_i64 {
        // Every second segment leaves a hole.
        let first = segment * 3000;
        board.send(first..first + 1000, segment, None, |_| {});
    }
    assert!(board.segments() <= 8192);
    let delivery = Delivery {
        at_ns: 200_000,
        shortest_rtt_ns: 0,
    };
    let newly = board.acknowledge(300_000_000, delivery);
    assert!(newly.uncaptured > 0 && newly.sent_ns.is_some());
    assert_eq!((board.segments(), board.flight()), (0, 0));
}

#[test]
fn bytes_that_overlap_are_counted_once() {
    let mut board = Scoreboard::new(8192);
    let mut new = Vec::new();
    let mut send = |bytes, at_ns| {
        let found = board.send(bytes, at_ns, None, |range| new.push(range));
        (found.unique, found.resent)
    };
    assert_eq!(send(0..100, 0), (100, 0));
    assert_eq!(send(50..150, 1), (50, 50));
    assert_eq!(send(300..400, 2), (100, 0));
    assert_eq!(send(120..350, 3), (150, 80));
    assert_eq!(send(0..400, 4), (0, 400));
    assert_eq!(new, [0..100, 100..150, 300..400, 150..300]);
}

#[test]
fn bytes_come_in_order_or_not_at_all() {
    let bytes = |offset: i64, length: usize| NewBytes {
        at_ns: offset,
        packet: 1,
        offset,
        length: length as i64,
        acknowledged: 0,
        captured: vec![0; length].into(),
    };
    let mut order = InOrder::new(1 << 18);
    order.begin(0);
    order.add(bytes(10, 10));
    assert_eq!(order.pop(), None);
    order.add(bytes(0, 10));
    assert_eq!(order.pop().map(|bytes| bytes.offset), Some(0));
    assert_eq!(order.pop().map(|bytes| bytes.offset), Some(10));
    // The receiver has bytes that were not captured.
    order.add(bytes(40, 10));
    order.skip_to(30);
    assert_eq!(order.pop(), None);
    order.skip_to(50);
    assert_eq!(order.pop().map(|bytes| bytes.offset), Some(40));
    // Too many bytes wait.
    for offset in 0..300 {
        order.add(bytes(1000 + offset * 20, 10));
    }
    let mut waiting = 0;
    while order.pop().is_some() {
        waiting += 1;
    }
    assert_eq!(waiting, 300 - 256);
}

#[test]
fn series_keep_their_bounds_and_sums() {
    let mut series = TimeSeries::new(10);
    let mut bins = BytesOverTime::new(10, 1);
    for at in 0..1000_i64 {
        series.push(at);
        bins.add(at, 3);
    }
    assert!((5..=10).contains(&series.points().len()));
    assert_eq!((series.points()[0], series.offered()), (0, 1000));
    let steps = series.points().windows(2).map(|pair| pair[1] - pair[0]);
    assert!(steps.clone().all(|step| Some(step) == steps.clone().next()));
    assert_eq!(bins.width_ns(), 128);
    assert_eq!(bins.bins().map(|(_, bytes)| bytes).sum::<u64>(), 3000);
    assert_eq!(bins.bins().nth(1), Some((128, 128 * 3)));
    bins.add(i64::MAX, 1);
    bins.add(i64::MIN, 1);
    assert!(bins.bins().count() <= 10);
}

#[test]
fn limits_hold_for_each_connection() {
    let limits = AnalysisLimits {
        requests: 2,
        samples: 5,
        ..AnalysisLimits::default()
    };
    let mut script = Script::with_limits(limits);
    let (request, response) = (
        "GET / HTTP/1.1\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
    );
    for round in 0..10_u32 {
        let at_ms = 30 + i64::from(round) * 10;
        let (sent, received) = (round * 18, round * response.len() as u32);
        script.text(at_ms, Client, sent, request, received);
        script.text(at_ms + 1, Server, received, response, sent + 18);
    }
    let figures = script.figures();
    assert_eq!((figures.requests.len(), figures.request_count), (2, 10));
    assert_eq!(figures.from_client.rtt.samples().len(), 5);
    assert_eq!(figures.from_client.rtt.count(), 11);
}

/// A retransmission that waits at the receiver for the bytes before it was needed, though the
/// acknowledgment of both echoes the older time stamp.
#[test]
fn time_stamps_judge_the_first_bytes_only() {
    use crate::retransmission::{Explainer, SendMoment};
    use crate::scoreboard::SegmentBytes;

    let mut board = Scoreboard::new(8192);
    board.send(0..5000, 0, None, |_| {});
    let mut explainer = Explainer::new(10);
    let mut late = |explainer: &mut Explainer, bytes: Range<i64>, at_ns: i64, stamp: u32| {
        let moment = SendMoment {
            packet: 1,
            at_ns,
            is_syn: false,
            stamp: Some(stamp),
            silence_ns: 0,
            rtt_ns: None,
            sender_rtt_ns: None,
            uses_sack: true,
        };
        let found = SegmentBytes {
            resent: 1000,
            ..SegmentBytes::default()
        };
        board.send(bytes.clone(), at_ns, None, |_| {});
        explainer.sent_late(bytes, found, &board, &moment);
    };
    late(&mut explainer, 0..1000, 1_000_000, 100);
    late(&mut explainer, 2000..3000, 1_000_000, 105);
    explainer.progressed(0..5000, 2_000_000, Some(100));
    assert_eq!(explainer.counts.spurious(), 0);
    // An original arrived: the acknowledgment echoes an older time stamp than its retransmission.
    late(&mut explainer, 5000..6000, 3_000_000, 200);
    explainer.progressed(5000..6000, 4_000_000, Some(150));
    assert_eq!(explainer.counts.spurious(), 1);
}
