//! HTTP/2 in clear text with prior knowledge (RFC 9113, section 3.3): each stream is an exchange. Pure.
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
//! A frame says where the next one begins, and the capture cuts packets off: where the header of a frame was
//! cut off, nothing more is known until a packet begins with the HEADERS of a stream that is expected. What a
//! client sends in between belongs to the only request that is under way, as far as it passed before its
//! response. With several under way none of them has a time.
//!
//! What the frames do not tell is not guessed: whose response has a second block before its body (an interim
//! response, or trailers) has no response time.

use core::net::SocketAddr;
use std::collections::BTreeMap;
use std::ops::Range;

use wire::http2::{FrameHeader, HeaderDecoder, LARGEST_FRAME, PREFACE};

use crate::exchange::{CapturedExchange, number};
use crate::stream::ByteStream;

/// Whether a client begins with HTTP/2.
pub(crate) fn is_http2(requests: &ByteStream) -> bool {
    let preface = requests
        .start()
        .and_then(|start| requests.bytes(start, PREFACE.len()));
    preface.is_some_and(|bytes| bytes == PREFACE)
}

/// An exchange, with what its frames tell beside its moments.
#[derive(Debug, Clone)]
pub(crate) struct StreamExchange {
    pub(crate) exchange: CapturedExchange,
    pub(crate) method: Option<String>,
    pub(crate) path: Option<String>,
    pub(crate) status: Option<u16>,
    /// Bytes in the frames of the request, and of the response.
    pub(crate) bytes: (u64, u64),
}

/// The exchanges of a connection, in the order of their requests.
pub(crate) fn exchanges(
    client: SocketAddr,
    requests: &ByteStream,
    responses: &ByteStream,
) -> Vec<StreamExchange> {
    let Some(start) = requests.start() else {
        return Vec::new();
    };
    let opened = opened(requests, start + PREFACE.len() as i64);
    let answers = answers(responses, &opened);
    let exchanges = opened.iter().map(|(stream, request)| {
        let answer = answers.get(stream);
        StreamExchange {
            exchange: request.exchange(client, requests, answer),
            method: request.labels.method.clone(),
            path: request.labels.path.clone(),
            status: answer.and_then(|answer| answer.status),
            bytes: (request.bytes, answer.map_or(0, |answer| answer.bytes)),
        }
    });
    exchanges.collect()
}

/// What was found where a frame is expected.
enum Found {
    Frame {
        header: FrameHeader,
        place: i64,
    },
    /// Where frames begin and end is not known there.
    Unreadable(Range<i64>),
}

/// The frames of one direction.
struct Frames<'a> {
    stream: &'a ByteStream,
    place: i64,
}

impl Frames<'_> {
    /// What is next. `is_awaited` knows the streams with whose HEADERS frames can be found again.
    fn next(&mut self, is_awaited: impl Fn(u32) -> bool) -> Option<Found> {
        let place = self.place;
        // Nothing more can be found.
        if place == i64::MAX {
            return None;
        }
        if let Some(header) = self.header(place) {
            self.place = place + (FrameHeader::BYTES + header.length) as i64;
            return Some(Found::Frame { header, place });
        }
        let (last, _) = self.stream.stretches.last_key_value()?;
        if *last < place && self.stream.with(place).is_none() {
            return None;
        }
        let mut later = self.stream.stretches.range(place + 1..);
        let found = later.find(|(place, _)| {
            let header = self.header(**place);
            header.is_some_and(|header| begins_message(header) && is_awaited(header.stream))
        });
        self.place = found.map_or(i64::MAX, |(place, _)| *place);
        Some(Found::Unreadable(place..self.place))
    }

    fn header(&self, place: i64) -> Option<FrameHeader> {
        let bytes = self.stream.bytes(place, FrameHeader::BYTES)?;
        Some(FrameHeader::parse(bytes.try_into().ok()?))
    }
}

/// Bytes of a method and of a path that are kept.
const LONGEST_NAME: usize = 1024;

fn begins_message(header: FrameHeader) -> bool {
    header.is_headers() && header.ends_block() && header.length <= LARGEST_FRAME
}

/// A request, frame by frame.
#[derive(Debug)]
struct RequestFrames {
    labels: StreamLabels,
    /// Bytes in its frames.
    bytes: u64,
    /// Bytes of frames of the body.
    body_passed: i64,
    first_ns: i64,
    last_ns: i64,
    /// Place behind the frame that ends it.
    end: Option<i64>,
    /// Bytes that are its own alone, in which its frames are not known.
    unreadable: Option<Range<i64>>,
    /// All bytes of its frames have passed, as far as is known.
    is_whole: bool,
}

fn opened(requests: &ByteStream, start: i64) -> BTreeMap<u32, RequestFrames> {
    let mut opened: BTreeMap<u32, RequestFrames> = BTreeMap::new();
    let mut labels = Labels::default();
    let mut frames = Frames {
        stream: requests,
        place: start,
    };
    loop {
        let next = opened.last_key_value().map_or(1, |(stream, _)| stream + 2);
        match frames.next(|stream| stream == next) {
            None => return opened,
            Some(Found::Unreadable(range)) => {
                let under_way = opened.values_mut().filter(|request| request.end.is_none());
                let under_way: Vec<_> = under_way.collect();
                let is_alone = under_way.len() == 1;
                for request in under_way {
                    request.end = Some(range.start);
                    request.is_whole &= is_alone;
                    request.unreadable = Some(range.clone());
                }
            }
            Some(Found::Frame { header, place }) => {
                let payload = place + FrameHeader::BYTES as i64;
                let end = payload + header.length as i64;
                if header.is_headers() && header.stream >= next {
                    let Some(stretch) = requests.with(place) else {
                        continue;
                    };
                    let request = RequestFrames {
                        labels: labels.of(header, requests, payload),
                        bytes: 0,
                        body_passed: 0,
                        first_ns: stretch.at_ns,
                        last_ns: stretch.at_ns,
                        end: None,
                        unreadable: None,
                        is_whole: true,
                    };
                    opened.insert(header.stream, request);
                }
                let is_part = header.is_headers() || header.is_data() || header.is_continuation();
                let request = opened.get_mut(&header.stream);
                if let Some(request) = request.filter(|_| is_part) {
                    request.bytes += header.length as u64;
                    if header.is_data() {
                        request.body_passed += header.length as i64;
                    }
                    request.extend(requests, place..end, header.ends_stream());
                }
            }
        }
    }
}

impl RequestFrames {
    fn extend(&mut self, requests: &ByteStream, range: Range<i64>, is_end: bool) {
        for (_, stretch) in requests.within(range.clone()) {
            self.first_ns = self.first_ns.min(stretch.at_ns);
            self.last_ns = self.last_ns.max(stretch.at_ns);
        }
        self.is_whole &= requests.with(range.end - 1).is_some();
        // A header block can go on behind the frame that ends the stream.
        if is_end || self.end.is_some() {
            self.end = Some(range.end);
        }
    }

    fn exchange(
        &self,
        client: SocketAddr,
        requests: &ByteStream,
        answer: Option<&ResponseFrames>,
    ) -> CapturedExchange {
        let mut exchange = CapturedExchange {
            client,
            number: self.labels.number,
            request_first_ns: self.first_ns,
            request_last_ns: self.last_ns,
            response_first_ns: answer.map(|answer| answer.first_ns),
            response_last_ns: answer.map(|answer| answer.last_ns),
            clean: self.is_whole && answer.is_none_or(|answer| !answer.is_ambiguous),
        };
        let Some(answer) = answer else {
            return exchange;
        };
        let mut end = self.end;
        if let Some(unreadable) = &self.unreadable {
            let mut passed = self.body_passed;
            for (place, stretch) in requests.within(unreadable.clone()) {
                if stretch.at_ns > answer.first_ns {
                    continue;
                }
                exchange.request_last_ns = exchange.request_last_ns.max(stretch.at_ns);
                end = end.max(Some(stretch.end));
                passed += stretch.end - place.max(unreadable.start);
            }
            // Answered before its whole body had passed, or nobody knows.
            exchange.clean &= self
                .labels
                .body_length
                .is_some_and(|length| passed >= length);
        }
        exchange.clean &= end.is_some_and(|end| end <= answer.acknowledged);
        exchange
    }
}

/// What the head of a request or response says.
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
        let value = std::str::from_utf8(value).unwrap_or_default();
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

/// What the heads of one direction say, which depends on those before them.
#[derive(Debug, Default)]
struct Labels {
    decoder: HeaderDecoder,
    /// A block was missed, and none after it can be read.
    is_lost: bool,
}

impl Labels {
    /// What a head says, where its block is in one frame and was captured.
    fn of(&mut self, header: FrameHeader, stream: &ByteStream, place: i64) -> StreamLabels {
        let mut labels = StreamLabels::default();
        let payload = stream.bytes(place, header.length);
        let block = payload.as_deref().map(|payload| header.fragment(payload));
        self.is_lost |= !header.ends_block();
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

/// A response, frame by frame.
#[derive(Debug)]
struct ResponseFrames {
    first_ns: i64,
    last_ns: i64,
    /// Place among the requests that its sender expected next.
    acknowledged: i64,
    has_body: bool,
    /// It has several blocks before its body.
    is_ambiguous: bool,
    /// The first one that is no interim response's.
    status: Option<u16>,
    /// Bytes in its frames.
    bytes: u64,
}

fn answers(
    responses: &ByteStream,
    opened: &BTreeMap<u32, RequestFrames>,
) -> BTreeMap<u32, ResponseFrames> {
    let mut answers: BTreeMap<u32, ResponseFrames> = BTreeMap::new();
    let Some(place) = responses.start() else {
        return answers;
    };
    let mut frames = Frames {
        stream: responses,
        place,
    };
    let mut labels = Labels::default();
    while let Some(found) =
        frames.next(|stream| opened.contains_key(&stream) && !answers.contains_key(&stream))
    {
        let Found::Frame { header, place } = found else {
            labels.is_lost = true;
            continue;
        };
        let payload = place + FrameHeader::BYTES as i64;
        let is_headers = header.is_headers();
        let status = is_headers.then(|| labels.of(header, responses, payload).status);
        if !opened.contains_key(&header.stream) {
            continue;
        }
        let end = place + (FrameHeader::BYTES + header.length) as i64;
        let last_ns = responses.within(place..end).map(|(_, of)| of.at_ns);
        let last_ns = last_ns.max().unwrap_or(i64::MIN);
        match answers.get_mut(&header.stream) {
            None if header.is_headers() => {
                let Some(stretch) = responses.with(place) else {
                    continue;
                };
                let answer = ResponseFrames {
                    first_ns: stretch.at_ns,
                    last_ns,
                    acknowledged: stretch.acknowledged,
                    has_body: false,
                    is_ambiguous: false,
                    status: status.flatten(),
                    bytes: header.length as u64,
                };
                answers.insert(header.stream, answer);
            }
            Some(answer) if header.is_headers() || header.is_data() || header.is_continuation() => {
                answer.last_ns = answer.last_ns.max(last_ns);
                answer.bytes += header.length as u64;
                let is_interim = answer.status.is_some_and(|status| status < 200);
                if let Some(Some(status)) = status.filter(|_| is_interim) {
                    answer.status = Some(status);
                }
                answer.is_ambiguous |= header.is_headers() && !answer.has_body;
                answer.has_body |= header.is_data();
            }
            _ => {}
        }
    }
    answers
}
