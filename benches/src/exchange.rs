//! From TCP segments to HTTP exchanges. Pure: segments in, exchanges out.
//!
//! ```text
//! connection   ==head==body=body=body==>          <=head=body=body==   ==head==> ...
//!              |                   |              |              |
//!        request_first       request_last   response_first  response_last
//! ```
//!
//! One request at a time on each connection. A request ends where its `Content-Length` says; where
//! it has none, or its head did not fit the capture, whatever the client sends before the first
//! byte of the response belongs to it. The response is whatever comes from the byte on that the
//! request's last segment expects next (its acknowledgment number), until the next request.
//! Bytes that pass a second time (retransmissions) change nothing: the first time counts.

use std::collections::HashMap;
use std::net::SocketAddr;

use crate::segment::Segment;

/// A request and its response, as they passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exchange {
    /// The client's end of the connection.
    pub client: SocketAddr,
    /// Number in the request's `X-Prestan`.
    pub number: Option<u64>,
    /// First segment of the request.
    pub request_first_ns: i64,
    /// Segment with the last byte of the request.
    pub request_last_ns: i64,
    /// Segment with the first byte of the response; `None` where none came.
    pub response_first_ns: Option<i64>,
    /// Last segment of the response.
    pub response_last_ns: Option<i64>,
    /// One request at a time, and complete before the response began. Else nothing can be said
    /// about its time.
    pub clean: bool,
}

impl Exchange {
    /// Response time on the wire.
    pub fn wire_ns(&self) -> Option<i64> {
        let first = self.response_first_ns.filter(|_| self.clean)?;
        Some(first - self.request_last_ns)
    }
}

/// Puts exchanges together, segment by segment, for the clients of one server.
#[derive(Debug, Default)]
pub struct Exchanges {
    flows: HashMap<SocketAddr, Flow>,
    done: Vec<Exchange>,
}

/// A connection.
#[derive(Debug, Default)]
struct Flow {
    open: Option<Open>,
    /// Place behind the last byte that the client has sent.
    sent: Option<u32>,
}

/// An exchange under way.
#[derive(Debug)]
struct Open {
    exchange: Exchange,
    /// Place behind the request's last byte.
    request_end: Option<u32>,
    /// Place of the response's next byte.
    expected: u32,
}

impl Exchanges {
    /// Takes a segment from a client to the server.
    pub fn request(&mut self, segment: &Segment<'_>) {
        let flow = self.flows.entry(segment.source).or_default();
        let end = segment.sequence.wrapping_add(segment.length);
        if flow.sent.is_some_and(|sent| !is_after(end, sent)) {
            return; // all of it has passed before
        }
        flow.sent = Some(end);
        let over = flow.open.take_if(|open| open.is_over_before(segment));
        self.done.extend(over.map(|open| open.exchange));
        match &mut flow.open {
            Some(open) => open.more_of_request(segment, end),
            None => flow.open = Some(Open::new(segment)),
        }
    }

    /// Takes a segment from the server to a client.
    pub fn response(&mut self, segment: &Segment<'_>) {
        let flow = self.flows.get_mut(&segment.destination);
        if let Some(open) = flow.and_then(|flow| flow.open.as_mut()) {
            open.response(segment);
        }
    }

    /// All exchanges, in the order of their requests.
    pub fn finish(mut self) -> Vec<Exchange> {
        let flows = self.flows.into_values();
        let open = flows.filter_map(|flow| flow.open);
        self.done.extend(open.map(|open| open.exchange));
        self.done.sort_by_key(|exchange| exchange.request_first_ns);
        self.done
    }
}

impl Open {
    fn new(segment: &Segment<'_>) -> Open {
        let head = Head::parse(segment.payload);
        let request_end = head
            .length
            .map(|length| segment.sequence.wrapping_add(length));
        let end = segment.sequence.wrapping_add(segment.length);
        Open {
            exchange: Exchange {
                client: segment.source,
                number: head.number,
                request_first_ns: segment.at_ns,
                request_last_ns: segment.at_ns,
                response_first_ns: None,
                response_last_ns: None,
                // More than one request in a segment: pipelined.
                clean: request_end.is_none_or(|request_end| !is_after(end, request_end)),
            },
            request_end,
            expected: segment.acknowledged,
        }
    }

    fn more_of_request(&mut self, segment: &Segment<'_>, end: u32) {
        let exchange = &mut self.exchange;
        exchange.request_last_ns = segment.at_ns;
        // Otherwise it has been answered already, or the next request has begun.
        exchange.clean &= exchange.response_first_ns.is_none()
            && self.request_end.is_none_or(|last| !is_after(end, last));
        if exchange.response_first_ns.is_none() {
            self.expected = segment.acknowledged;
        }
    }

    fn response(&mut self, segment: &Segment<'_>) {
        let end = segment.sequence.wrapping_add(segment.length);
        if !is_after(end, self.expected) {
            return; // the end of an earlier response, once more
        }
        let has_whole_request = self.has_whole_request(segment);
        let exchange = &mut self.exchange;
        let has_next_byte = !is_after(segment.sequence, self.expected);
        if exchange.response_first_ns.is_none() {
            if !has_next_byte {
                return; // overtook the first byte, which is still to come
            }
            exchange.response_first_ns = Some(segment.at_ns);
            exchange.clean &= has_whole_request;
        }
        exchange.response_last_ns = Some(segment.at_ns);
    }

    /// Whether the request is complete, as the server's acknowledgment says as well.
    fn has_whole_request(&self, segment: &Segment<'_>) -> bool {
        self.request_end
            .is_none_or(|end| !is_after(end, segment.acknowledged))
    }

    /// Whether what the client sends now is the next request.
    fn is_over_before(&self, segment: &Segment<'_>) -> bool {
        let is_whole = |end| !is_after(end, segment.sequence);
        self.exchange.response_first_ns.is_some() && self.request_end.is_none_or(is_whole)
    }
}

/// What the beginning of a request says.
#[derive(Debug, Default, PartialEq, Eq)]
struct Head {
    number: Option<u64>,
    /// Bytes of the whole request, where that is known.
    length: Option<u32>,
}

impl Head {
    fn parse(bytes: &[u8]) -> Head {
        let mut headers = [httparse::EMPTY_HEADER; 64];
        let mut request = httparse::Request::new(&mut headers);
        let Ok(httparse::Status::Complete(head)) = request.parse(bytes) else {
            return Head::default();
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
        Head {
            number: value("X-Prestan").and_then(number),
            length: body.map(|body| head as u32 + body),
        }
    }
}

/// The number of `suite: 000017 (measure)`.
fn number(label: &str) -> Option<u64> {
    let (before, _) = label.rsplit_once(" (")?;
    let (_, number) = before.rsplit_once(": ")?;
    number.parse().ok()
}

/// Whether a place in the stream is behind another, modulo 2^32 (RFC 9293, section 3.4).
fn is_after(place: u32, other: u32) -> bool {
    (place.wrapping_sub(other)).cast_signed() > 0
}

#[cfg(test)]
mod tests {
    use etherparse::PacketBuilder;

    use super::*;
    use crate::segment::{NoSegment, parse};

    const SERVER: u16 = 8080;

    /// A client's end of a connection that makes packets of both directions.
    struct Talk {
        port: u16,
        ipv6: bool,
        there: u32,
        back: u32,
    }

    impl Talk {
        fn new(port: u16, ipv6: bool) -> Talk {
            // Both streams pass the end of the numbers soon.
            let (there, back) = (u32::MAX - 50, u32::MAX - 20);
            Talk {
                port,
                ipv6,
                there,
                back,
            }
        }

        fn packet(&self, (from, to): (u16, u16), (seq, ack): (u32, u32), load: &[u8]) -> Vec<u8> {
            let link = PacketBuilder::ethernet2([0; 6], [0; 6]);
            let tcp = match self.ipv6 {
                true => link.ipv6([1; 16], [1; 16], 64).tcp(from, to, seq, 65535),
                false => link
                    .ipv4([127, 0, 0, 1], [127, 0, 0, 1], 64)
                    .tcp(from, to, seq, 65535),
            };
            let packet = tcp.ack(ack);
            let mut bytes = Vec::new();
            packet.write(&mut bytes, load).unwrap();
            bytes
        }

        fn send(&mut self, load: &[u8]) -> Vec<u8> {
            let packet = self.packet((self.port, SERVER), (self.there, self.back), load);
            self.there = self.there.wrapping_add(load.len() as u32);
            packet
        }

        fn answer(&mut self, load: &[u8]) -> Vec<u8> {
            let packet = self.packet((SERVER, self.port), (self.back, self.there), load);
            self.back = self.back.wrapping_add(load.len() as u32);
            packet
        }
    }

    /// Feeds packets, one each microsecond, and gives the exchanges.
    fn exchanges(packets: &[Vec<u8>]) -> Vec<Exchange> {
        let mut exchanges = Exchanges::default();
        for (index, packet) in packets.iter().enumerate() {
            let segment = parse(packet, index as i64 * 1000).unwrap();
            match segment.destination.port() {
                SERVER => exchanges.request(&segment),
                _ => exchanges.response(&segment),
            }
        }
        exchanges.finish()
    }

    fn head(number: u64, body: usize) -> Vec<u8> {
        let length = match body {
            0 => String::new(),
            _ => format!("Content-Length: {body}\r\n"),
        };
        format!("PUT /f HTTP/1.1\r\nHost: h\r\nX-Prestan: s: {number:06} (Put)\r\n{length}\r\n")
            .into_bytes()
    }

    /// Number, wire time in microseconds, cleanliness.
    fn told(packets: &[Vec<u8>]) -> Vec<(Option<u64>, Option<i64>, bool)> {
        let found = exchanges(packets);
        let told = found.iter().map(|exchange| {
            let wire = exchange.wire_ns().map(|ns| ns / 1000);
            (exchange.number, wire, exchange.clean)
        });
        told.collect()
    }

    #[test]
    fn a_request_ends_with_its_last_segment_and_a_response_begins_with_its_first() {
        for ipv6 in [false, true] {
            let mut talk = Talk::new(4000, ipv6);
            let packets = [
                talk.send(&head(1, 300)),
                talk.send(&[b'x'; 200]),
                talk.send(&[b'x'; 100]),
                talk.answer(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n"),
                talk.answer(b"ab"),
                talk.send(&head(2, 0)),
                talk.answer(b"HTTP/1.1 204 No Content\r\n\r\n"),
            ];
            let found = exchanges(&packets);
            assert_eq!(found.len(), 2);
            assert_eq!(found[0].request_first_ns, 0);
            assert_eq!(found[0].request_last_ns, 2000);
            assert_eq!(found[0].response_first_ns, Some(3000));
            assert_eq!(found[0].response_last_ns, Some(4000));
            assert_eq!(
                told(&packets),
                [(Some(1), Some(1), true), (Some(2), Some(1), true)]
            );
        }
    }

    #[test]
    fn connections_do_not_mix() {
        let mut one = Talk::new(4000, false);
        let mut two = Talk::new(4001, false);
        let packets = [
            one.send(&head(1, 10)),
            two.send(&head(2, 0)),
            one.send(b"0123456789"),
            two.answer(b"HTTP/1.1 200 OK\r\n\r\n"),
            two.send(&head(3, 0)),
            one.answer(b"HTTP/1.1 200 OK\r\n\r\n"),
            two.answer(b"HTTP/1.1 200 OK\r\n\r\n"),
        ];
        assert_eq!(
            told(&packets),
            [
                (Some(1), Some(3), true),
                (Some(2), Some(2), true),
                (Some(3), Some(2), true)
            ]
        );
    }

    #[test]
    fn what_passes_again_changes_nothing() {
        let mut talk = Talk::new(4000, false);
        let request = talk.send(&head(1, 0));
        let response = talk.answer(b"HTTP/1.1 200 OK\r\n\r\n");
        let next = talk.send(&head(2, 0));
        let answer = talk.answer(b"HTTP/1.1 200 OK\r\n\r\n");
        let packets = [
            request.clone(),
            request.clone(),
            response.clone(),
            request,
            next,
            response,
            answer,
        ];
        assert_eq!(
            told(&packets),
            [(Some(1), Some(2), true), (Some(2), Some(2), true)]
        );
    }

    #[test]
    fn a_segment_that_overtakes_the_first_byte_is_not_the_first() {
        let mut talk = Talk::new(4000, false);
        let request = talk.send(&head(1, 0));
        let first = talk.answer(b"HTTP/1.1 200 OK\r\n");
        let second = talk.answer(b"\r\n");
        assert_eq!(told(&[request, second, first]), [(Some(1), Some(2), true)]);
    }

    #[test]
    fn a_time_that_means_nothing_is_none() {
        let ok = b"HTTP/1.1 201 Created\r\n\r\n";
        let mut early = Talk::new(4000, false);
        let packets = [
            early.send(&head(1, 20)),
            early.send(b"0123456789"),
            early.answer(ok),
            early.send(b"0123456789"),
            early.send(&head(2, 0)),
            early.answer(ok),
        ];
        assert_eq!(
            told(&packets),
            [(Some(1), None, false), (Some(2), Some(1), true)]
        );

        let mut pipelined = Talk::new(4000, false);
        let packets = [
            pipelined.send(&head(1, 0)),
            pipelined.send(&head(2, 0)),
            pipelined.answer(ok),
        ];
        assert_eq!(told(&packets), [(Some(1), None, false)]);

        let mut together = Talk::new(4000, false);
        let packets = [
            together.send(&[head(1, 0), head(2, 0)].concat()),
            together.answer(ok),
        ];
        assert_eq!(told(&packets), [(Some(1), None, false)]);

        let mut unanswered = Talk::new(4000, false);
        assert_eq!(
            told(&[unanswered.send(&head(1, 0))]),
            [(Some(1), None, true)]
        );
    }

    #[test]
    fn a_packet_that_was_cut_off_has_its_length_all_the_same() {
        let mut talk = Talk::new(4000, false);
        let whole = [head(1, 900), vec![b'x'; 900]].concat();
        let mut request = talk.send(&whole);
        request.truncate(14 + 20 + 20 + 100);
        let segment = parse(&request, 0).unwrap();
        assert_eq!(segment.length as usize, whole.len());
        assert_eq!(segment.payload.len(), 100);
        // 100 bytes hold the whole head here, and so the number.
        let answer = talk.answer(b"HTTP/1.1 201 Created\r\n\r\n");
        assert_eq!(told(&[request, answer]), [(Some(1), Some(1), true)]);
    }

    #[test]
    fn damaged_packets_are_refused() {
        let packet = Talk::new(4000, false).send(b"x");
        for length in 0..14 + 20 + 20 {
            let cut = parse(&packet[..length], 0);
            assert_eq!(cut, Err(NoSegment::Headers(length)), "{length}");
        }
        let mut short = packet.clone();
        short[16..18].copy_from_slice(&30_u16.to_be_bytes());
        assert_eq!(parse(&short, 0), Err(NoSegment::Length));
        let mut other = packet;
        other[12..14].copy_from_slice(&0x0806_u16.to_be_bytes());
        assert!(parse(&other, 0).is_err());
    }

    #[test]
    fn numbers_are_found_in_labels() {
        for (label, found) in [
            ("prestan: 7 (Get1K)", Some(7)),
            ("a: 1 suite: 0000123 (Put (big))", None),
            ("load: 0000123 (GET)", Some(123)),
            ("load: 5 (GET warm-up)", Some(5)),
            ("load: x (GET)", None),
            ("", None),
        ] {
            assert_eq!(number(label), found, "{label}");
        }
    }
}
