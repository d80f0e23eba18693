//! HTTP/2 in clear text with prior knowledge (RFC 9113, section 3.3), as its bytes pass: each
//! stream is a request. Pure.
//!
//! ```text
//! client   preface SETTINGS HEADERS(1) DATA(1) DATA(1, END_STREAM)
//!                           |                  |
//!                     request_first      request_last
//! server   SETTINGS                                      WINDOW_UPDATE(1) HEADERS(1) DATA(1, END_STREAM)
//!                                                                         |          |
//!                                                                 response_first   response_last
//! ```
//!
//! Unreadable frames of a client belong to the only request in progress, as far as they passed
//! before its response. With several in progress none of them has a time.
//!
//! No missing information is guessed: a response with a second block before its body (an interim
//! response, or trailers) has no response time.

mod frames;

use std::collections::BTreeMap;

use wire::http2::{FrameHeader, HeaderDecoder};

use self::frames::{FrameFinding, FramePart, FrameWalk, message_begun};
use crate::reassembly::NewBytes;
use crate::request_head::{LONGEST_NAME, number};
use crate::transaction::{RequestProtocol, RequestVisitor, TracedRequest};

/// Streams in progress that are kept of a connection. With more, the oldest counts as ended.
const MOST_STREAMS: usize = 128;

/// Reads the streams of a connection.
#[derive(Debug)]
pub(crate) struct Http2Reader {
    walks: [FrameWalk; 2],
    streams: OpenStreams,
}

impl Default for Http2Reader {
    fn default() -> Http2Reader {
        Http2Reader {
            walks: [FrameWalk::for_client(), FrameWalk::for_server()],
            streams: OpenStreams::default(),
        }
    }
}

impl Http2Reader {
    /// Reads the next bytes of an end. `each` is called for the streams that end.
    pub(crate) fn read(&mut self, is_client: bool, bytes: &NewBytes, each: RequestVisitor<'_>) {
        let Http2Reader {
            walks: [client, server],
            streams,
        } = self;
        let begun = message_begun(bytes);
        if is_client {
            let may_resume = begun.is_some_and(|stream| stream == streams.next());
            client.read(bytes, may_resume, |event| streams.sent(event, each));
        } else {
            let may_resume = begun.is_some_and(|stream| streams.is_awaited(stream));
            server.read(bytes, may_resume, |event| streams.received(event, each));
        }
    }

    /// The streams that have not ended.
    pub(crate) fn under_way(&mut self) -> impl Iterator<Item = &mut TracedRequest> {
        self.streams.open.values_mut().map(|open| &mut open.request)
    }

    /// Ends the connection with all its streams.
    pub(crate) fn finish(&mut self, each: RequestVisitor<'_>) {
        while let Some((_, stream)) = self.streams.open.pop_first() {
            each(&stream.request());
        }
    }
}

/// A stream, read frame by frame.
#[derive(Debug)]
struct OpenStream {
    request: TracedRequest,
    /// Bytes of the body, as declared in the head.
    body_length: Option<i64>,
    /// Bytes of frames of the body, and those that belong only to it if its frames are unknown.
    body_passed: i64,
    /// Offset behind the frame that ends the request.
    end: Option<i64>,
    /// A frame of the request is incomplete.
    is_within_frame: bool,
    /// Its frames are unknown from some point on.
    is_unreadable: bool,
    /// The same while other requests were in progress.
    is_mixed: bool,
    response: Option<StreamResponse>,
}

/// A response, read frame by frame.
#[derive(Debug)]
struct StreamResponse {
    /// Offset in the requests that its sender expected next.
    acknowledged: i64,
    has_body: bool,
    /// The response has several blocks before its body.
    is_ambiguous: bool,
    is_over: bool,
}

impl OpenStream {
    fn new(part: &FramePart<'_>) -> OpenStream {
        let start = part.start;
        OpenStream {
            request: TracedRequest {
                protocol: RequestProtocol::Http2,
                first_packet: Some(start.packet),
                request_first_ns: start.at_ns,
                request_last_ns: start.at_ns,
                ..TracedRequest::default()
            },
            body_length: None,
            body_passed: 0,
            end: None,
            is_within_frame: false,
            is_unreadable: false,
            is_mixed: false,
            response: None,
        }
    }

    fn sent(&mut self, part: &FramePart<'_>) {
        let request = &mut self.request;
        request.request_first_ns = request.request_first_ns.min(part.start.at_ns);
        request.request_last_ns = request.request_last_ns.max(part.at_ns);
        self.is_within_frame = !part.is_last;
        if part.is_first {
            let length = part.header.length;
            request.request_bytes += length as u64;
            self.body_passed += if part.header.is_data() {
                length as i64
            } else {
                0
            };
        }
        // A header block can continue behind the frame that ends the stream.
        if part.is_last && (part.header.ends_stream() || self.end.is_some()) {
            self.end = Some(part.end);
        }
    }

    fn received(&mut self, part: &FramePart<'_>) {
        let header = part.header;
        let request = &mut self.request;
        let is_anew = self.response.is_none();
        if is_anew && !(header.is_headers() && part.is_first) {
            return;
        }
        let response = self.response.get_or_insert(StreamResponse {
            acknowledged: part.start.acknowledged,
            has_body: false,
            is_ambiguous: false,
            is_over: false,
        });
        if is_anew {
            request.response_first_ns = Some(part.start.at_ns);
        } else if part.is_first {
            response.is_ambiguous |= header.is_headers() && !response.has_body;
        }
        if part.is_first {
            request.response_bytes += header.length as u64;
            response.has_body |= header.is_data();
        }
        request.response_last_ns = request.response_last_ns.max(Some(part.at_ns));
        response.is_over |= part.is_last && header.ends_stream();
    }

    fn is_over(&self) -> bool {
        self.end.is_some()
            && self
                .response
                .as_ref()
                .is_some_and(|response| response.is_over)
    }

    fn request(self) -> TracedRequest {
        let mut is_clean = !self.is_mixed && !self.is_within_frame;
        if let Some(response) = self.response {
            is_clean &= !response.is_ambiguous;
            is_clean &= self.end.is_some_and(|end| end <= response.acknowledged);
            // The response came before its whole body had passed, or this is unknown.
            is_clean &= !self.is_unreadable
                || self
                    .body_length
                    .is_some_and(|length| self.body_passed >= length);
        }
        TracedRequest {
            is_clean,
            ..self.request
        }
    }
}

/// The streams of a connection.
#[derive(Debug, Default)]
struct OpenStreams {
    open: BTreeMap<u32, OpenStream>,
    /// The last opened stream.
    last: Option<u32>,
    /// The stream to which unreadable bytes of the client belong.
    owner: Option<u32>,
    client_heads: HeadDecoder,
    server_heads: HeadDecoder,
}

impl OpenStreams {
    /// The stream that the client opens next.
    fn next(&self) -> u32 {
        self.last.map_or(1, |last| last.saturating_add(2))
    }

    fn is_awaited(&self, stream: u32) -> bool {
        let open = self.open.get(&stream);
        open.is_some_and(|open| open.response.is_none())
    }

    /// Handles frames of the client.
    fn sent(&mut self, event: FrameFinding<'_>, each: RequestVisitor<'_>) {
        match event {
            FrameFinding::Part(part) => self.sent_part(&part, each),
            FrameFinding::Lost(offset) => {
                let under_way = self.open.iter_mut().filter(|(_, open)| open.end.is_none());
                let mut under_way: Vec<_> = under_way.collect();
                let is_alone = under_way.len() == 1;
                for (_, open) in &mut under_way {
                    open.end = Some(offset);
                    open.is_within_frame = false;
                    open.is_unreadable = true;
                    open.is_mixed |= !is_alone;
                }
                self.owner = under_way
                    .first()
                    .filter(|_| is_alone)
                    .map(|(stream, _)| **stream);
            }
            FrameFinding::Unreadable { at_ns, length, end } => {
                let owner = self.owner.and_then(|owner| self.open.get_mut(&owner));
                if let Some(open) = owner.filter(|open| open.response.is_none()) {
                    let request = &mut open.request;
                    request.request_last_ns = request.request_last_ns.max(at_ns);
                    open.body_passed = open.body_passed.saturating_add(length);
                    open.end = Some(end);
                }
            }
        }
    }

    fn sent_part(&mut self, part: &FramePart<'_>, each: RequestVisitor<'_>) {
        let header = part.header;
        let is_head = header.is_headers();
        if is_head && part.is_first && header.stream >= self.next() {
            self.owner = None;
            self.last = Some(header.stream);
            self.open.insert(header.stream, OpenStream::new(part));
            if self.open.len() > MOST_STREAMS
                && let Some((_, oldest)) = self.open.pop_first()
            {
                each(&oldest.request());
            }
        }
        let labels = (is_head && part.is_last).then(|| self.client_heads.labels(part));
        let Some(open) = self.open.get_mut(&header.stream) else {
            return;
        };
        if !(is_head || header.is_data() || header.is_continuation()) {
            return;
        }
        // Trailers contain no relevant fields.
        if let Some(labels) = labels.filter(|_| open.request.method.is_none()) {
            open.body_length = labels.body_length;
            open.request.number = labels.number;
            open.request.method = labels.method;
            open.request.path = labels.path;
        }
        open.sent(part);
        self.settle(header, each);
    }

    /// Handles frames of the server.
    fn received(&mut self, event: FrameFinding<'_>, each: RequestVisitor<'_>) {
        let part = match event {
            FrameFinding::Part(part) => part,
            FrameFinding::Lost(_) | FrameFinding::Unreadable { .. } => {
                self.server_heads.is_lost = true;
                return;
            }
        };
        let header = part.header;
        let is_head = header.is_headers();
        let labels = (is_head && part.is_last).then(|| self.server_heads.labels(&part));
        let Some(open) = self.open.get_mut(&header.stream) else {
            return;
        };
        if !(is_head || header.is_data() || header.is_continuation()) {
            return;
        }
        open.received(&part);
        let status = &mut open.request.status;
        let is_known = status.is_some_and(|status| status >= 200);
        if let Some(found) = labels
            .and_then(|labels| labels.status)
            .filter(|_| !is_known)
        {
            *status = Some(found);
        }
        self.settle(header, each);
    }

    fn settle(&mut self, header: FrameHeader, each: RequestVisitor<'_>) {
        let is_over = self
            .open
            .get(&header.stream)
            .is_some_and(OpenStream::is_over);
        if is_over && let Some(over) = self.open.remove(&header.stream) {
            each(&over.request());
        }
    }
}

/// The relevant fields of the head of a request or response.
#[derive(Debug, Default)]
struct StreamLabels {
    number: Option<u64>,
    /// Bytes of the body.
    body_length: Option<i64>,
    method: Option<String>,
    path: Option<String>,
    status: Option<u16>,
}

impl StreamLabels {
    fn note(&mut self, name: &[u8], value: &[u8]) {
        let value = str::from_utf8(value).unwrap_or_default();
        let text = || {
            let is_text = value.bytes().all(|byte| byte.is_ascii_graphic());
            is_text.then(|| value[..value.len().min(LONGEST_NAME)].to_owned())
        };
        match name {
            b"x-prestan" => self.number = number(value),
            b"content-length" => self.body_length = value.parse::<u32>().ok().map(i64::from),
            b":method" => self.method = text(),
            b":path" => self.path = text(),
            b":status" => self.status = value.parse().ok(),
            _ => {}
        }
    }
}

/// Decoder of the heads of one direction, each of which depends on those before it.
#[derive(Debug, Default)]
struct HeadDecoder {
    decoder: HeaderDecoder,
    /// A block was missed, so later ones cannot be read.
    is_lost: bool,
}

impl HeadDecoder {
    /// The fields of a head, if its block is in one frame and was captured.
    fn labels(&mut self, part: &FramePart<'_>) -> StreamLabels {
        let mut labels = StreamLabels::default();
        let block = part.payload.map(|payload| part.header.fragment(payload));
        self.is_lost |= !part.header.ends_block();
        let Some(Ok(block)) = block.filter(|_| !self.is_lost) else {
            self.is_lost = true;
            return labels;
        };
        let read = self
            .decoder
            .fields(block, |name, value| labels.note(name, value));
        self.is_lost = read.is_err();
        labels
    }
}
