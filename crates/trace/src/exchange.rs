//! From TCP segments to HTTP exchanges. Pure: segments in, exchanges out.
//!
//! ```text
//! connection   ==head==body=body=body==>          <=head=body=body==   ==head==> ...
//!              |                   |              |              |
//!        request_first       request_last   response_first  response_last
//! ```
//!
//! What follows is HTTP/1; a client that begins with the preface of HTTP/2 is read as that.
//!
//! One request at a time on each connection. A request ends where its `Content-Length` says; where
//! it has none, or its head did not fit the capture, whatever the client sends before the first
//! byte of the response belongs to it. The response is whatever comes from the byte on that the
//! request's last segment expects next (its acknowledgment number), until the next request.

use core::net::SocketAddr;
use std::collections::HashMap;

use crate::http2::{self, StreamExchange};
use crate::segment::TcpSegment;
use crate::stream::{ByteStream, Stretch};

/// A request and its response, as they passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CapturedExchange {
    /// The client's end of the connection.
    pub client: SocketAddr,
    /// Number in the request's `X-Prestan`.
    pub number: Option<u64>,
    /// First segment of the request.
    pub request_first_ns: i64,
    /// Last segment of the request.
    pub request_last_ns: i64,
    /// Segment with the first byte of the response; `None` where none came.
    pub response_first_ns: Option<i64>,
    /// Last segment of the response.
    pub response_last_ns: Option<i64>,
    /// The request was complete before the response began, and with HTTP/1 the only one on its connection.
    /// Without this the exchange has no response time.
    pub clean: bool,
}

impl CapturedExchange {
    /// Response time on the wire.
    pub fn wire_ns(&self) -> Option<i64> {
        let first = self.response_first_ns.filter(|_| self.clean)?;
        Some(first - self.request_last_ns)
    }
}

/// Puts exchanges together from the segments between one server and its clients, in the order of
/// capture.
#[derive(Debug, Default)]
pub struct Exchanges(HashMap<SocketAddr, TcpFlow>);

impl Exchanges {
    /// Adds a segment from a client to the server.
    pub fn request(&mut self, segment: &TcpSegment<'_>) {
        let TcpFlow {
            requests,
            responses,
        } = self.0.entry(segment.source).or_default();
        requests.add(segment, responses);
    }

    /// Adds a segment from the server to a client. Without a request before it, it is no response.
    pub fn response(&mut self, segment: &TcpSegment<'_>) {
        if let Some(TcpFlow {
            requests,
            responses,
        }) = self.0.get_mut(&segment.destination)
        {
            responses.add(segment, requests);
        }
    }

    /// The streams of connections with HTTP/2, in the order of their requests.
    pub(crate) fn streams(self) -> Vec<StreamExchange> {
        let flows = self.0.iter();
        let flows = flows.filter(|(_, flow)| http2::is_http2(&flow.requests));
        let mut all: Vec<_> = flows
            .flat_map(|(client, flow)| http2::exchanges(*client, &flow.requests, &flow.responses))
            .collect();
        all.sort_by_key(|stream| stream.exchange.request_first_ns);
        all
    }

    /// All exchanges, in the order of their requests.
    pub fn finish(self) -> Vec<CapturedExchange> {
        let flows = self.0.iter();
        let mut all: Vec<_> = flows
            .flat_map(|(client, flow)| flow.exchanges(*client))
            .collect();
        all.sort_by_key(|exchange| (exchange.request_first_ns, exchange.client));
        all
    }
}

/// Both streams of a connection.
#[derive(Debug, Default)]
struct TcpFlow {
    requests: ByteStream,
    responses: ByteStream,
}

/// A request, stretch by stretch, and where its response begins.
struct OpenRequest {
    exchange: CapturedExchange,
    /// Place behind the request's last byte, where its head says so.
    end: Option<i64>,
    /// Place of the response's first byte.
    response: i64,
}

impl TcpFlow {
    fn exchanges(&self, client: SocketAddr) -> Vec<CapturedExchange> {
        if http2::is_http2(&self.requests) {
            let streams = http2::exchanges(client, &self.requests, &self.responses);
            return streams.into_iter().map(|of| of.exchange).collect();
        }
        let mut requests: Vec<OpenRequest> = Vec::new();
        for (place, stretch) in &self.requests.stretches {
            match requests.last_mut() {
                Some(open) if !self.is_over_before(open, *place, stretch) => {
                    self.continue_request(open, stretch);
                }
                _ => requests.push(OpenRequest::new(client, *place, stretch)),
            }
        }
        let places = requests.iter().map(|request| request.response);
        let ends: Vec<i64> = places.skip(1).chain([i64::MAX]).collect();
        let requests = requests.into_iter().zip(ends);
        requests
            .map(|(request, end)| self.answered(&request, end))
            .collect()
    }

    /// Whether what the client sends here is the next request.
    fn is_over_before(&self, open: &OpenRequest, place: i64, stretch: &Stretch) -> bool {
        let response = self.responses.with(open.response);
        response.is_some_and(|response| response.at_ns <= stretch.at_ns)
            && open.end.is_none_or(|end| end <= place)
    }

    fn continue_request(&self, open: &mut OpenRequest, stretch: &Stretch) {
        let response = self.responses.with(open.response);
        let is_answered = response.is_some_and(|response| response.at_ns <= stretch.at_ns);
        let exchange = &mut open.exchange;
        exchange.request_first_ns = exchange.request_first_ns.min(stretch.at_ns);
        exchange.request_last_ns = exchange.request_last_ns.max(stretch.at_ns);
        // Otherwise it has been answered already, or the next request has begun.
        exchange.clean &= !is_answered && open.end.is_none_or(|end| stretch.end <= end);
        if !is_answered {
            open.response = open.response.max(stretch.acknowledged);
        }
    }

    /// The exchange with its response, which ends before that place.
    fn answered(&self, open: &OpenRequest, end: i64) -> CapturedExchange {
        let Some(first) = self.responses.with(open.response) else {
            return open.exchange;
        };
        let later = open.response..end.max(open.response);
        let later = self.responses.stretches.range(later);
        let is_whole = open.end.is_none_or(|end| end <= first.acknowledged);
        CapturedExchange {
            response_first_ns: Some(first.at_ns),
            response_last_ns: later.map(|(_, of)| of.at_ns).chain([first.at_ns]).max(),
            clean: open.exchange.clean && is_whole,
            ..open.exchange
        }
    }
}

impl OpenRequest {
    fn new(client: SocketAddr, place: i64, stretch: &Stretch) -> OpenRequest {
        let start = RequestStart::parse(&stretch.bytes);
        let end = start.length.map(|length| place + length);
        OpenRequest {
            exchange: CapturedExchange {
                client,
                number: start.number,
                request_first_ns: stretch.at_ns,
                request_last_ns: stretch.at_ns,
                response_first_ns: None,
                response_last_ns: None,
                // More than one request in a segment: pipelined.
                clean: end.is_none_or(|end| stretch.end <= end),
            },
            end,
            response: stretch.acknowledged,
        }
    }
}

/// What the beginning of a request says.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RequestStart {
    pub(crate) number: Option<u64>,
    /// Bytes of the whole request, where that is known.
    pub(crate) length: Option<i64>,
}

impl RequestStart {
    pub(crate) fn parse(bytes: &[u8]) -> RequestStart {
        let mut headers = [httparse::EMPTY_HEADER; 64];
        let mut request = httparse::Request::new(&mut headers);
        let Ok(httparse::Status::Complete(head)) = request.parse(bytes) else {
            return RequestStart::default();
        };
        let value = |name: &str| {
            let mut headers = request.headers.iter();
            let found = headers.find(|header| header.name.eq_ignore_ascii_case(name))?;
            std::str::from_utf8(found.value).ok()
        };
        let body: Option<u32> = match (value("Content-Length"), value("Transfer-Encoding")) {
            (Some(length), None) => length.parse().ok(),
            (None, None) => Some(0),
            _ => None,
        };
        RequestStart {
            number: value("X-Prestan").and_then(number),
            length: body.map(|body| head as i64 + i64::from(body)),
        }
    }
}

/// The number of `suite: 000017 (measure)`.
pub(crate) fn number(label: &str) -> Option<u64> {
    let (before, _) = label.rsplit_once(" (")?;
    let (_, number) = before.rsplit_once(": ")?;
    number.parse().ok()
}
