//! Requests and responses of a connection as its segments pass, in bounded memory. Pure.
//!
//! Client and server take turns: data of the client after a response are the next request. With
//! HTTP/1 the heads are read as far as they were captured; with TLS only the records of application
//! data are known. Streams of HTTP/2 are read by `http2`.
//!
//! ```text
//! client  ==request==                              ACK      ACK  FIN
//!         |         |                                        |
//!         first     last       |<- response time ->|         last valid acknowledgment
//! server                       ==response======response==
//!         |<----------------- delay ------------------------>|
//! ```

use core::net::SocketAddr;

use crate::http2::Http2Reader;
use crate::reassembly::{InOrder, NewBytes};
use crate::request_head::{
    HeadStart, RequestStart, begins_request, is_foreign, is_request, request_line, response_length,
    status,
};
use crate::segment::TcpSegment;
use crate::tls::{TlsRecord, TlsRecords, is_tls};
use crate::waits::ConnectionEnd;

/// Called for each request when it ends, in this order, including those that are not kept.
pub type RequestVisitor<'a> = &'a mut dyn FnMut(&TracedRequest);

/// Bytes that wait for those before them, for each segment that can be in flight.
const WAITING_BYTES: usize = 32;

/// Delimitation of requests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum RequestProtocol {
    /// Client and server take turns.
    #[default]
    Http1,
    /// By stream.
    Http2,
    /// Client and server take turns with records of application data.
    Tls,
    /// Neither HTTP nor TLS: there are no requests.
    Other,
}

/// Payload of one direction while a request and its response passed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WireBytes {
    /// All payload.
    pub payload: u64,
    /// Payload that had passed before.
    pub resent: u64,
    /// Segments that were sent again.
    pub retransmissions: u64,
}

impl WireBytes {
    fn since(self, start: WireBytes) -> WireBytes {
        WireBytes {
            payload: self.payload.saturating_sub(start.payload),
            resent: self.resent.saturating_sub(start.resent),
            retransmissions: self.retransmissions.saturating_sub(start.retransmissions),
        }
    }

    /// Payload with or without retransmissions.
    pub fn bytes(self, with_resent: bool) -> u64 {
        let resent = if with_resent { 0 } else { self.resent };
        self.payload.saturating_sub(resent)
    }
}

/// A request and its response.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TracedRequest {
    /// Its delimitation.
    pub protocol: RequestProtocol,
    /// Number in its `X-Prestan`.
    pub number: Option<u64>,
    /// Its method, if its head was captured.
    pub method: Option<String>,
    /// Its target, if its head was captured.
    pub path: Option<String>,
    /// The status of the response, if its head was captured.
    pub status: Option<u16>,
    /// Bytes of the request, with its head; with TLS of the records, and with HTTP/2 of the frames,
    /// without their headers.
    pub request_bytes: u64,
    /// Bytes of the response, likewise.
    pub response_bytes: u64,
    /// Packet with the first byte of the request.
    pub first_packet: Option<u64>,
    /// Its first byte, in nanoseconds.
    pub request_first_ns: i64,
    /// Its last byte.
    pub request_last_ns: i64,
    /// First byte of the response.
    pub response_first_ns: Option<i64>,
    /// Last byte of the response.
    pub response_last_ns: Option<i64>,
    /// The last acknowledgment of new bytes of the response before the client's FIN, or before its
    /// next request.
    pub last_acknowledged_ns: Option<i64>,
    /// The request was complete before the response began, and the only one. Otherwise there is no
    /// response time. The first response after a handshake of TLS 1.3 is not clean: session tickets
    /// look the same.
    pub is_clean: bool,
    /// The request was sent before the previous response was complete, or others were sent before
    /// its response: its times contain the wait for other responses.
    pub is_pipelined: bool,
    /// Data of the client in this time.
    pub from_client: WireBytes,
    /// Data of the server in this time.
    pub from_server: WireBytes,
    /// The last moment before the clock of the capture went back in this time: no time to a later
    /// one is known.
    pub timed_until_ns: Option<i64>,
}

impl TracedRequest {
    /// From the last byte of the request to the first byte of the response, in nanoseconds.
    pub fn response_time_ns(&self) -> Option<i64> {
        let first_ns = self.response_first_ns.filter(|_| self.is_clean);
        self.elapsed_ns(self.request_last_ns, first_ns)
    }

    /// From the first byte of the request to the last byte of the response, in nanoseconds.
    pub fn total_ns(&self) -> Option<i64> {
        self.elapsed_ns(self.request_first_ns, self.response_last_ns)
    }

    /// From the request to the last valid acknowledgment of the client before its FIN, in
    /// nanoseconds: the delay of A. Loukili's dissertation (section 4.1.1).
    pub fn delay_ns(&self) -> Option<i64> {
        self.elapsed_ns(self.request_first_ns, self.last_acknowledged_ns)
    }

    fn elapsed_ns(&self, from_ns: i64, to_ns: Option<i64>) -> Option<i64> {
        let to_ns = to_ns.filter(|to_ns| *to_ns >= from_ns)?;
        let is_known = self.timed_until_ns.is_none_or(|until_ns| to_ns <= until_ns);
        is_known.then(|| to_ns - from_ns)
    }

    /// Payload of both directions over the delay, in bytes per second: the throughput of the
    /// dissertation (section 5.1), which does not count retransmissions.
    pub fn throughput(&self, with_resent: bool) -> Option<f64> {
        let ends = ConnectionEnd::BOTH.map(|end| self.throughput_from(end, with_resent));
        Some(ends[0]? + ends[1]?)
    }

    /// Payload of one end over the delay, in bytes per second.
    pub fn throughput_from(&self, end: ConnectionEnd, with_resent: bool) -> Option<f64> {
        let delay_ns = self.delay_ns().filter(|delay_ns| *delay_ns > 0)?;
        let bytes = match end {
            ConnectionEnd::Client => self.from_client.bytes(with_resent),
            ConnectionEnd::Server => self.from_server.bytes(with_resent),
        };
        Some(bytes as f64 * 1e9 / delay_ns as f64)
    }
}

#[derive(Debug)]
struct OpenTransaction {
    request: TracedRequest,
    start: [WireBytes; 2],
    request_head: HeadStart,
    response_head: HeadStart,
    /// Bytes of the request, if its head declares them.
    declared: Option<i64>,
    /// Bytes of the response, if its head declares them.
    response_declared: Option<u64>,
    /// Offset behind the request so far.
    end: i64,
    /// The response so far is an interim one (1xx).
    is_interim: bool,
    /// The server had not received the whole request when it began the response.
    is_early: bool,
}

/// The requests of a connection that have ended.
#[derive(Debug)]
struct FinishedRequests {
    /// The first ones.
    kept: Vec<TracedRequest>,
    limit: usize,
    count: u64,
}

impl FinishedRequests {
    fn add(&mut self, request: &TracedRequest) {
        self.count += 1;
        if self.kept.len() < self.limit {
            self.kept.push(request.clone());
        }
    }
}

/// Contents of a segment, for the reader of requests.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SegmentTurn {
    pub(crate) is_client: bool,
    /// Payload of client and server before the segment.
    pub(crate) before: [WireBytes; 2],
}

/// Reads the requests of a connection.
#[derive(Debug)]
pub(crate) struct TransactionReader {
    protocol: Option<RequestProtocol>,
    /// The offsets of the first bytes of client and server, if their SYNs were captured.
    beginnings: [Option<i64>; 2],
    order: [InOrder; 2],
    tls: [TlsRecords; 2],
    is_tls13: bool,
    open: Option<OpenTransaction>,
    finished: FinishedRequests,
    http2: Option<Box<Http2Reader>>,
}

impl TransactionReader {
    /// `limit`: requests that are kept. `segments`: those that can wait for one before them, in
    /// bytes [`WAITING_BYTES`] for each.
    pub(crate) fn new(limit: usize, segments: usize) -> TransactionReader {
        let waiting = segments.saturating_mul(WAITING_BYTES);
        TransactionReader {
            protocol: None,
            beginnings: [None; 2],
            order: [InOrder::new(waiting), InOrder::new(waiting)],
            tls: [TlsRecords::new(limit), TlsRecords::new(limit)],
            is_tls13: false,
            open: None,
            finished: FinishedRequests {
                kept: Vec::new(),
                limit,
                count: 0,
            },
            http2: None,
        }
    }

    /// True if the server has still to respond, or to send the rest of a response. For HTTP/2 that
    /// is unknown: a stream can have been cancelled.
    pub(crate) fn awaits_server(&self) -> bool {
        let open = self.open.as_ref();
        open.is_some_and(OpenTransaction::awaits_server)
    }

    /// Sets the offset of the first byte of payload of an end.
    pub(crate) fn begin(&mut self, is_client: bool, offset: i64) {
        self.order[side(is_client)].begin(offset);
        self.beginnings[side(is_client)] = Some(offset);
    }

    /// Handles a clock that went back after that moment.
    pub(crate) fn clock_went_back(&mut self, last_ns: i64) {
        let open = self.open.iter_mut().map(|open| &mut open.request);
        let streams = self.http2.iter_mut().flat_map(|http2| http2.under_way());
        for request in open.chain(streams) {
            request.timed_until_ns.get_or_insert(last_ns);
        }
    }

    /// Notes that the client acknowledged new bytes of the response.
    pub(crate) fn response_acknowledged(&mut self, at_ns: i64) {
        if let Some(open) = &mut self.open {
            open.request.last_acknowledged_ns = Some(at_ns);
        }
    }

    /// Notes that an end acknowledged the other's data up to the offset.
    pub(crate) fn acknowledged(
        &mut self,
        turn: &SegmentTurn,
        offset: i64,
        each: RequestVisitor<'_>,
    ) {
        let other = SegmentTurn {
            is_client: !turn.is_client,
            ..*turn
        };
        self.order[side(other.is_client)].skip_to(offset);
        self.read(&other, each);
    }

    /// Adds new bytes of an end.
    pub(crate) fn add(&mut self, turn: &SegmentTurn, bytes: NewBytes, each: RequestVisitor<'_>) {
        self.order[side(turn.is_client)].add(bytes);
        self.read(turn, each);
    }

    fn read(&mut self, turn: &SegmentTurn, each: RequestVisitor<'_>) {
        while let Some(bytes) = self.order[side(turn.is_client)].pop() {
            let is_first = self.beginnings[side(turn.is_client)] == Some(bytes.offset);
            let protocol = self.protocol.or_else(|| protocol(turn, &bytes, is_first));
            self.protocol = protocol;
            match protocol {
                // The first data of a server belong to no request.
                None | Some(RequestProtocol::Other) => {}
                Some(RequestProtocol::Http1) => self.turn(turn, &bytes, bytes.length, true, each),
                Some(RequestProtocol::Http2) => {
                    let finished = &mut self.finished;
                    let http2 = self.http2.get_or_insert_default();
                    http2.read(turn.is_client, &bytes, &mut |request| {
                        finished.add(request);
                        each(request);
                    });
                }
                Some(RequestProtocol::Tls) => self.records(turn, &bytes, each),
            }
        }
    }

    fn records(&mut self, turn: &SegmentTurn, bytes: &NewBytes, each: RequestVisitor<'_>) {
        let (mut amount, mut finished) = (0, 0);
        self.tls[side(turn.is_client)].read(bytes, |number, part| {
            if number == 1 {
                finished += part;
            } else {
                amount += part;
            }
        });
        let [client, server] = &self.tls;
        if !turn.is_client && client.application_records == 0 {
            // The server encrypts its handshake: TLS 1.3 (RFC 8446, section 2).
            self.is_tls13 |= server.application_records > 0;
            return;
        }
        // The client's first encrypted record is the end of its handshake.
        let is_finished = turn.is_client && self.is_tls13;
        amount += if is_finished { 0 } else { finished };
        if amount > 0 {
            self.turn(turn, bytes, amount, false, each);
        }
    }

    /// Bytes of a request or response.
    fn turn(
        &mut self,
        turn: &SegmentTurn,
        bytes: &NewBytes,
        amount: i64,
        is_clear: bool,
        each: RequestVisitor<'_>,
    ) {
        if turn.is_client {
            let open = self.open.as_ref();
            if open.is_none_or(|open| open.is_over_before(bytes)) {
                let is_pipelined = open.is_some_and(OpenTransaction::is_under_way);
                self.close(turn.before, each);
                let mut opened = self.opened(turn, bytes);
                opened.request.is_pipelined = is_pipelined;
                self.open = Some(opened);
            }
        }
        let Some(open) = &mut self.open else {
            return;
        };
        if turn.is_client {
            open.add_request(bytes, amount, is_clear);
        } else {
            open.add_response(bytes, amount, is_clear);
        }
    }

    fn opened(&self, turn: &SegmentTurn, bytes: &NewBytes) -> OpenTransaction {
        let is_first = self.finished.count == 0;
        OpenTransaction {
            request: TracedRequest {
                protocol: self.protocol.unwrap_or_default(),
                first_packet: Some(bytes.packet),
                request_first_ns: bytes.at_ns,
                request_last_ns: bytes.at_ns,
                is_clean: !(is_first && self.is_tls13),
                ..TracedRequest::default()
            },
            start: turn.before,
            request_head: HeadStart::default(),
            response_head: HeadStart::default(),
            declared: None,
            response_declared: None,
            end: bytes.offset,
            is_interim: false,
            is_early: false,
        }
    }

    fn close(&mut self, now: [WireBytes; 2], each: RequestVisitor<'_>) {
        let Some(open) = self.open.take() else {
            return;
        };
        let request = TracedRequest {
            from_client: now[0].since(open.start[0]),
            from_server: now[1].since(open.start[1]),
            is_clean: open.request.is_clean && !open.is_early,
            ..open.request
        };
        self.finished.add(&request);
        each(&request);
    }

    /// The protocol of the connection, if its first bytes show it.
    pub(crate) fn protocol(&self) -> Option<RequestProtocol> {
        self.protocol
    }

    /// All requests, in their order, and the records of both ends.
    pub(crate) fn finish(
        mut self,
        now: [WireBytes; 2],
        each: RequestVisitor<'_>,
    ) -> (Vec<TracedRequest>, u64, [Vec<TlsRecord>; 2]) {
        self.close(now, each);
        let finished = &mut self.finished;
        if let Some(http2) = &mut self.http2 {
            http2.finish(&mut |request| {
                finished.add(request);
                each(request);
            });
            // Streams end in another order.
            finished
                .kept
                .sort_by_key(|request| request.request_first_ns);
        }
        let FinishedRequests { kept, count, .. } = self.finished;
        let [client, server] = self.tls;
        (kept, count, [client.records, server.records])
    }
}

/// The protocol of a connection, by the first bytes of an end; `None` if only the other end can
/// show it.
fn protocol(turn: &SegmentTurn, bytes: &NewBytes, is_first: bool) -> Option<RequestProtocol> {
    if is_tls(&bytes.captured) {
        return Some(RequestProtocol::Tls);
    }
    // Within a connection a body looks like anything.
    if is_first && is_foreign(turn.is_client, &bytes.captured) {
        return Some(RequestProtocol::Other);
    }
    let is_http2 = bytes.captured.starts_with(b"PRI * HTTP/2.0");
    turn.is_client.then_some(if is_http2 {
        RequestProtocol::Http2
    } else {
        RequestProtocol::Http1
    })
}

/// The index of an end.
fn side(is_client: bool) -> usize {
    usize::from(!is_client)
}

impl OpenTransaction {
    /// True if a part of the response is missing.
    fn is_under_way(&self) -> bool {
        let passed = self.request.response_bytes;
        let has_body = self.request.method.as_deref() != Some("HEAD");
        has_body
            && self
                .response_declared
                .is_some_and(|declared| passed < declared)
    }

    /// True if the request is complete, and the response is not. Data without a head may not be a
    /// request, and TLS ends with a record that looks like one.
    fn awaits_server(&self) -> bool {
        self.is_whole() == Some(true) && (!self.has_response() || self.is_under_way())
    }

    /// True if the request has passed completely, if its head declares its length.
    fn is_whole(&self) -> Option<bool> {
        let passed = self.request.request_bytes;
        self.declared
            .map(|declared| passed >= declared.unsigned_abs())
    }

    /// True if a final response has begun.
    fn has_response(&self) -> bool {
        self.request.response_first_ns.is_some() && !self.is_interim
    }

    /// True if the client's data here are the next request.
    fn is_over_before(&self, bytes: &NewBytes) -> bool {
        // A client that got its final response early can leave the body out (RFC 9110, section
        // 10.1.1).
        self.has_response() && (self.is_whole() != Some(false) || begins_request(&bytes.captured))
    }

    fn add_request(&mut self, bytes: &NewBytes, amount: i64, is_clear: bool) {
        let request = &mut self.request;
        let passed = request.request_bytes.saturating_add(amount.unsigned_abs());
        request.request_bytes = passed;
        request.request_first_ns = request.request_first_ns.min(bytes.at_ns);
        request.request_last_ns = request.request_last_ns.max(bytes.at_ns);
        self.end = bytes.offset + bytes.length;
        if request.response_first_ns.is_some() && !self.is_interim {
            request.is_clean = false;
        }
        if is_clear && self.request_head.add(bytes) {
            let start = RequestStart::parse(&self.request_head.bytes);
            request.number = start.number;
            self.declared = start.length;
            let (method, path) = request_line(&self.request_head.bytes);
            request.method = method;
            request.path = path;
        }
        // More than one request: pipelined.
        let is_more = |declared: i64| passed > declared.unsigned_abs();
        let is_pipelined = self.declared.is_some_and(is_more);
        request.is_clean &= !is_pipelined;
        request.is_pipelined |= is_pipelined;
    }

    fn add_response(&mut self, bytes: &NewBytes, amount: i64, is_clear: bool) {
        let request = &mut self.request;
        if is_clear && self.is_interim && self.response_head.is_over {
            self.response_head = HeadStart::default();
            request.response_first_ns = None;
            self.is_interim = false;
        }
        if request.response_first_ns.is_none() {
            request.response_first_ns = Some(bytes.at_ns);
            let passed = request.request_bytes;
            let is_early = |declared: i64| passed < declared.unsigned_abs();
            request.is_clean &= bytes.at_ns >= request.request_last_ns;
            self.is_early = self.declared.is_some() && bytes.acknowledged < self.end;
            // An interim response comes before the body.
            self.is_interim = self.declared.is_some_and(is_early);
        }
        request.response_bytes = request.response_bytes.saturating_add(amount.unsigned_abs());
        request.response_last_ns = request.response_last_ns.max(Some(bytes.at_ns));
        if is_clear && self.response_head.add(bytes) {
            request.status = status(&self.response_head.bytes);
            self.response_declared = response_length(&self.response_head.bytes);
            let is_interim = request.status.is_some_and(|status| status < 200);
            // A final response before the request was complete.
            request.is_clean &= is_interim || !self.is_interim;
            self.is_interim = is_interim;
        }
    }
}

/// The server: the receiver of a SYN, else the given end, else the receiver of data that look like
/// a request, else the lower port.
pub(crate) fn is_client(segment: &TcpSegment<'_>, server: Option<SocketAddr>) -> bool {
    if segment.flags.syn {
        return !segment.flags.ack;
    }
    match server {
        Some(server) if server == segment.destination => true,
        Some(server) if server == segment.source => false,
        _ => is_request(segment.payload)
            .unwrap_or_else(|| segment.source.port() >= segment.destination.port()),
    }
}
