//! Connections, their directions and requests in the JSON document of a capture.

use schemars::JsonSchema;
use serde::Serialize;
use trace::connection::{ConnectionFigures, TcpHandshake};
use trace::direction::DirectionFigures;
use trace::retransmission::{RetransmissionCounts, RetransmissionKind};
use trace::round_trip::RoundTripTimes;
use trace::segment::TcpOptions;
use trace::transaction::{TracedRequest, WireBytes};
use trace::waits::ConnectionEnd;

use super::super::CaptureAnalysis;
use super::super::sheet::protocol;
use super::super::tables::path;
use super::{EndJson, exact};
use crate::json::thousandths;

/// A TCP connection.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Connection", deny_unknown_fields)]
pub(super) struct ConnectionJson {
    /// Address and port of the end that opened it; of the one with the higher port where that was
    /// not captured.
    client: String,
    /// Address and port of the other end.
    server: String,
    /// Number of its first packet.
    first_packet: u64,
    /// Number of its last packet.
    last_packet: u64,
    /// When its first packet passed.
    at_us: f64,
    /// From its first to its last packet.
    duration_us: f64,
    /// How it was opened.
    handshake: HandshakeJson,
    /// How it was closed; null where the capture does not have that.
    closing: Option<ClosingJson>,
    /// What the client sent, and how the server acknowledged it.
    from_client: DirectionJson,
    /// What the server sent, and how the client acknowledged it.
    from_server: DirectionJson,
    /// What it carries: http1, http2, tls, or other, which is neither HTTP nor TLS and has no
    /// requests; null where its first bytes do not show it.
    protocol: Option<&'static str>,
    /// Number of its requests.
    request_count: u64,
    /// Its requests; the first of them where there are too many.
    requests: Vec<RequestJson>,
}

/// The opening of a connection.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Handshake", deny_unknown_fields)]
struct HandshakeJson {
    /// Number of SYNs.
    syns: u64,
    /// Number of responses to them.
    syn_acks: u64,
    /// From the first SYN to the first acknowledgment of the client; null where one of them was not
    /// captured.
    time_us: Option<f64>,
    /// A round trip between the ends, wherever it was captured.
    rtt_us: Option<f64>,
}

/// The closing of a connection.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Closing", deny_unknown_fields)]
struct ClosingJson {
    /// The end that closed first.
    end: EndJson,
    /// When.
    at_us: f64,
    /// With a RST, not a FIN.
    reset: bool,
}

/// One direction of a connection: what one end sent, and how the other end acknowledged it.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Direction", deny_unknown_fields)]
struct DirectionJson {
    /// Segments, also those without payload.
    segments: u64,
    /// Segments with payload.
    data_segments: u64,
    /// Bytes of payload on the wire.
    payload: u64,
    /// Bytes of payload without what had passed before.
    unique: u64,
    /// Bytes of payload that had passed before.
    resent: u64,
    /// Payload without what was sent again over the duration of the connection; null where that is
    /// 0.
    bytes_per_second: Option<f64>,
    /// The same with what was sent again.
    bytes_per_second_with_resent: Option<f64>,
    /// Segments that were sent again, by kind.
    retransmissions: RetransmissionsJson,
    /// Segments that were overtaken before the place of capture.
    out_of_order: u64,
    /// Duplicate acknowledgments that the sender received (RFC 5681).
    duplicate_acks: u64,
    /// D-SACKs that it received (RFC 2883).
    duplicate_sacks: u64,
    /// Bytes that were acknowledged and never captured.
    uncaptured: u64,
    /// Probes of an idle connection or a closed window.
    probes: u64,
    /// The most bytes in flight.
    largest_flight: u64,
    /// The smallest and the largest window of the receiver, in bytes; null without any.
    window: Option<[u64; 2]>,
    /// How often the receiver closed its window.
    zero_windows: u64,
    /// How long it was closed.
    zero_window_us: f64,
    /// Round trips by acknowledgments; null without any.
    rtt_us: Option<RoundTripsJson>,
    /// Round trips by time stamps, too long by up to one tick of the sender's clock.
    rtt_by_time_stamps_us: Option<RoundTripsJson>,
    /// Options of the sender's SYN; null where it was not captured.
    options: Option<OptionsJson>,
    /// Records of TLS, at most those that were kept.
    tls_records: usize,
}

/// Segments that were sent again.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Retransmissions", deny_unknown_fields)]
struct RetransmissionsJson {
    /// SYNs and responses to them.
    handshake: u64,
    /// Acknowledgments showed the loss.
    fast: u64,
    /// The timer expired.
    timeout: u64,
    /// In flight when the timer had expired.
    after_timeout: u64,
    /// Tail loss probes (RFC 8985).
    tail_loss_probe: u64,
    /// The capture does not show why.
    unexplained: u64,
    /// Of all these, those that were not needed.
    spurious: u64,
}

/// Round trips, in microseconds.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "RoundTrips", deny_unknown_fields)]
struct RoundTripsJson {
    /// How many there were.
    n: u64,
    /// The smallest.
    min: f64,
    /// Median.
    p50: f64,
    /// 99th percentile.
    p99: f64,
    /// The largest.
    max: f64,
}

/// Options of a SYN.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Options", deny_unknown_fields)]
struct OptionsJson {
    /// Maximum segment size; null without it.
    mss: Option<u16>,
    /// Shift of the window; null without window scaling.
    window_scale: Option<u8>,
    /// SACK is permitted.
    sack: bool,
    /// Time stamps are in use.
    time_stamps: bool,
}

/// A request and its response.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Request", deny_unknown_fields)]
struct RequestJson {
    /// http1, http2 or tls (encrypted).
    protocol: &'static str,
    /// Number in its X-Prestan.
    number: Option<u64>,
    /// Method; null where the head was not captured or is encrypted.
    method: Option<String>,
    /// Path, without values that may be secret.
    path: Option<String>,
    /// Status of the response.
    status: Option<u16>,
    /// Number of the packet with its first byte.
    packet: Option<u64>,
    /// When its first byte passed.
    at_us: f64,
    /// From the last byte of the request to the first byte of the response.
    response_us: Option<f64>,
    /// From the first byte of the request to the last byte of the response.
    total_us: Option<f64>,
    /// From the request to the last valid acknowledgment of the client before its FIN or its next
    /// request.
    delay_us: Option<f64>,
    /// Bytes of the request.
    request_bytes: u64,
    /// Bytes of the response.
    response_bytes: u64,
    /// Payload of both directions over the delay, without what was sent again.
    bytes_per_second: Option<f64>,
    /// The same with what was sent again.
    bytes_per_second_with_resent: Option<f64>,
    /// What the client sent meanwhile.
    from_client: WireBytesJson,
    /// What the server sent meanwhile.
    from_server: WireBytesJson,
    /// The request was complete before the response began, and the only one; without it there is no
    /// response time.
    clean: bool,
    /// It was sent before the response to an earlier request was complete, or others were sent
    /// before its own response: its times contain the wait for other responses.
    pipelined: bool,
}

/// Payload of one end while a request and its response passed.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "WireBytes", deny_unknown_fields)]
struct WireBytesJson {
    /// All payload.
    payload: u64,
    /// Payload that had passed before.
    resent: u64,
    /// Segments that were sent again.
    retransmissions: u64,
}

impl ConnectionJson {
    pub(super) fn of(of: &CaptureAnalysis, connection: &ConnectionFigures) -> ConnectionJson {
        let at = |at_ns| exact(of.since_start_ns(at_ns));
        let requests = connection.requests.iter();
        ConnectionJson {
            client: connection.client.to_string(),
            server: connection.server.to_string(),
            first_packet: connection.first_packet,
            last_packet: connection.last_packet,
            at_us: at(connection.start_ns),
            duration_us: exact(connection.duration_ns()),
            handshake: HandshakeJson::from(&connection.handshake),
            closing: connection.closing.map(|closing| ClosingJson {
                end: closing.end.into(),
                at_us: at(closing.at_ns),
                reset: closing.is_reset,
            }),
            from_client: direction(connection, ConnectionEnd::Client),
            from_server: direction(connection, ConnectionEnd::Server),
            protocol: connection.protocol.map(protocol),
            request_count: connection.request_count,
            requests: requests.map(|request| self::request(of, request)).collect(),
        }
    }
}

impl From<&TcpHandshake> for HandshakeJson {
    fn from(of: &TcpHandshake) -> HandshakeJson {
        let time_ns = of.syn_ns.zip(of.ack_ns);
        let time_ns = time_ns.map(|(syn_ns, ack_ns)| ack_ns.saturating_sub(syn_ns));
        HandshakeJson {
            syns: of.syns,
            syn_acks: of.syn_acks,
            time_us: time_ns.map(exact),
            rtt_us: of.rtt_ns.map(exact),
        }
    }
}

fn direction(connection: &ConnectionFigures, end: ConnectionEnd) -> DirectionJson {
    let of: &DirectionFigures = connection.from(end);
    let rate = |with_resent| connection.throughput(end, with_resent).map(thousandths);
    let records = match end {
        ConnectionEnd::Client => &connection.client_records,
        ConnectionEnd::Server => &connection.server_records,
    };
    DirectionJson {
        segments: of.segments,
        data_segments: of.data_segments,
        payload: of.payload_bytes,
        unique: of.unique_bytes,
        resent: of.resent_bytes,
        bytes_per_second: rate(false),
        bytes_per_second_with_resent: rate(true),
        retransmissions: RetransmissionsJson::from(&of.retransmissions),
        out_of_order: of.overtaken,
        duplicate_acks: of.duplicate_acks,
        duplicate_sacks: of.duplicate_sacks,
        uncaptured: of.uncaptured_bytes,
        probes: of.probes,
        largest_flight: of.largest_flight,
        window: of.window.map(|(smallest, largest)| [smallest, largest]),
        zero_windows: of.zero_windows,
        zero_window_us: exact(of.zero_window_ns),
        rtt_us: round_trips(&of.rtt),
        rtt_by_time_stamps_us: round_trips(&of.stamp_rtt),
        options: of.syn_options.as_ref().map(OptionsJson::from),
        tls_records: records.len(),
    }
}

impl From<&RetransmissionCounts> for RetransmissionsJson {
    fn from(of: &RetransmissionCounts) -> RetransmissionsJson {
        RetransmissionsJson {
            handshake: of.of(RetransmissionKind::Handshake),
            fast: of.of(RetransmissionKind::Fast),
            timeout: of.of(RetransmissionKind::Timeout),
            after_timeout: of.of(RetransmissionKind::AfterTimeout),
            tail_loss_probe: of.of(RetransmissionKind::TailLossProbe),
            unexplained: of.of(RetransmissionKind::Unexplained),
            spurious: of.spurious(),
        }
    }
}

fn round_trips(of: &RoundTripTimes) -> Option<RoundTripsJson> {
    Some(RoundTripsJson {
        n: of.count(),
        min: exact(of.smallest_ns()?),
        p50: exact(of.percentile_ns(0.5)?),
        p99: exact(of.percentile_ns(0.99)?),
        max: exact(of.largest_ns()?),
    })
}

impl From<&TcpOptions> for OptionsJson {
    fn from(of: &TcpOptions) -> OptionsJson {
        OptionsJson {
            mss: of.mss,
            window_scale: of.window_scale,
            sack: of.sack_permitted,
            time_stamps: of.timestamps.is_some(),
        }
    }
}

fn request(of: &CaptureAnalysis, request: &TracedRequest) -> RequestJson {
    let rate = |with_resent| request.throughput(with_resent).map(thousandths);
    RequestJson {
        protocol: protocol(request.protocol),
        number: request.number,
        method: request.method.clone(),
        path: request.path.as_deref().map(path),
        status: request.status,
        packet: request.first_packet,
        at_us: exact(of.since_start_ns(request.request_first_ns)),
        response_us: request.response_time_ns().map(exact),
        total_us: request.total_ns().map(exact),
        delay_us: request.delay_ns().map(exact),
        request_bytes: request.request_bytes,
        response_bytes: request.response_bytes,
        bytes_per_second: rate(false),
        bytes_per_second_with_resent: rate(true),
        from_client: request.from_client.into(),
        from_server: request.from_server.into(),
        clean: request.is_clean,
        pipelined: request.is_pipelined,
    }
}

impl From<WireBytes> for WireBytesJson {
    fn from(of: WireBytes) -> WireBytesJson {
        WireBytesJson {
            payload: of.payload,
            resent: of.resent,
            retransmissions: of.retransmissions,
        }
    }
}
