mod analysis;
mod clock;
mod file;
mod http2;
mod link;
mod quiet;
mod waits;

use etherparse::PacketBuilder;
use proptest::prelude::*;
use proptest::sample::Index;

use crate::connections::TcpConnections;
use crate::limits::AnalysisLimits;
use crate::request_head::number;
use crate::segment::{SegmentError, parse};
use crate::transaction::TracedRequest;

const SERVER: u16 = 8080;

/// A client's end of a connection that makes packets of both directions.
struct Conversation {
    port: u16,
    ipv6: bool,
    there: u32,
    back: u32,
}

impl Conversation {
    fn new(port: u16, ipv6: bool) -> Conversation {
        // Both streams pass the end of the numbers soon.
        let (there, back) = (u32::MAX - 50, u32::MAX - 20);
        Conversation {
            port,
            ipv6,
            there,
            back,
        }
    }

    /// SYN, and the response to it.
    fn opening(&self) -> [Vec<u8>; 2] {
        let (there, back) = (self.there.wrapping_sub(1), self.back.wrapping_sub(1));
        let syn = |ports, numbers, flags| {
            let mut packet = self.packet(ports, numbers, b"");
            let tcp = packet.len() - 20;
            packet[tcp + 13] = flags;
            packet
        };
        [
            syn((self.port, SERVER), (there, 0), 0x02),
            syn((SERVER, self.port), (back, self.there), 0x12),
        ]
    }

    fn packet(&self, (from, to): (u16, u16), (seq, ack): (u32, u32), load: &[u8]) -> Vec<u8> {
        let link = PacketBuilder::ethernet2([0; 6], [0; 6]);
        let tcp = if self.ipv6 {
            link.ipv6([1; 16], [1; 16], 64).tcp(from, to, seq, 65535)
        } else {
            link.ipv4([127, 0, 0, 1], [127, 0, 0, 1], 64)
                .tcp(from, to, seq, 65535)
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

    fn respond(&mut self, load: &[u8]) -> Vec<u8> {
        let packet = self.packet((SERVER, self.port), (self.back, self.there), load);
        self.back = self.back.wrapping_add(load.len() as u32);
        packet
    }
}

/// Feeds packets, one each microsecond, after handshakes, and returns the requests in the order of
/// their first bytes. Other packets are left out.
fn requests(packets: &[Vec<u8>]) -> Vec<TracedRequest> {
    let mut requests = Vec::new();
    let mut keep = |request: &TracedRequest| requests.push(request.clone());
    let mut connections = TcpConnections::new(AnalysisLimits::default(), None);
    let mut opened = Vec::new();
    for (packet, index) in packets.iter().zip(0..) {
        let Ok(segment) = parse(packet, index * 1000) else {
            continue;
        };
        let ports = [segment.source.port(), segment.destination.port()];
        let client = ports.into_iter().find(|port| *port != SERVER);
        if let Some(client) = client.filter(|client| !opened.contains(client)) {
            opened.push(client);
            for packet in Conversation::new(client, segment.source.is_ipv6()).opening() {
                connections.add(0, &parse(&packet, index * 1000).unwrap(), &mut keep);
            }
        }
        connections.add(index.cast_unsigned() + 1, &segment, &mut keep);
    }
    connections.finish(&mut keep);
    requests.sort_by_key(|request| (request.request_first_ns, request.number));
    requests
}

fn head(number: u64, body: usize) -> Vec<u8> {
    let length = match body {
        0 => String::new(),
        _ => format!("Content-Length: {body}\r\n"),
    };
    format!("PUT /f HTTP/1.1\r\nHost: h\r\nX-Prestan: s: {number:06} (Put)\r\n{length}\r\n")
        .into_bytes()
}

/// Number, response time in microseconds, cleanliness.
fn timed_requests(packets: &[Vec<u8>]) -> Vec<(Option<u64>, Option<i64>, bool)> {
    let found = requests(packets);
    let timed = found.iter().map(|request| {
        let time = request.response_time_ns().map(|ns| ns / 1000);
        (request.number, time, request.is_clean)
    });
    timed.collect()
}

#[test]
fn a_request_ends_with_its_last_segment_and_a_response_begins_with_its_first() {
    for ipv6 in [false, true] {
        let mut talk = Conversation::new(4000, ipv6);
        let packets = [
            talk.send(&head(1, 300)),
            talk.send(&[b'x'; 200]),
            talk.send(&[b'x'; 100]),
            talk.respond(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n"),
            talk.respond(b"ab"),
            talk.send(&head(2, 0)),
            talk.respond(b"HTTP/1.1 204 No Content\r\n\r\n"),
        ];
        let found = requests(&packets);
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].request_first_ns, 0);
        assert_eq!(found[0].request_last_ns, 2000);
        assert_eq!(found[0].response_first_ns, Some(3000));
        assert_eq!(found[0].response_last_ns, Some(4000));
        assert_eq!(
            timed_requests(&packets),
            [(Some(1), Some(1), true), (Some(2), Some(1), true)]
        );
    }
}

#[test]
fn connections_do_not_mix() {
    let mut one = Conversation::new(4000, false);
    let mut two = Conversation::new(4001, false);
    let packets = [
        one.send(&head(1, 10)),
        two.send(&head(2, 0)),
        one.send(b"0123456789"),
        two.respond(b"HTTP/1.1 200 OK\r\n\r\n"),
        two.send(&head(3, 0)),
        one.respond(b"HTTP/1.1 200 OK\r\n\r\n"),
        two.respond(b"HTTP/1.1 200 OK\r\n\r\n"),
    ];
    assert_eq!(
        timed_requests(&packets),
        [
            (Some(1), Some(3), true),
            (Some(2), Some(2), true),
            (Some(3), Some(2), true)
        ]
    );
}

#[test]
fn requests_of_connections_that_are_not_kept_are_passed_on() {
    let limits = AnalysisLimits {
        connections: 2,
        passing_connections: 4,
        requests: 1,
        ..AnalysisLimits::default()
    };
    let mut numbers = Vec::new();
    let mut keep = |request: &TracedRequest| numbers.extend(request.number);
    let mut connections = TcpConnections::new(limits, None);
    let mut packet = 0;
    // Each connection has two requests, and ends only with the capture or when others need its
    // slot.
    for client in 0..500_u16 {
        let mut talk = Conversation::new(10_000 + client, false);
        let first = 2 * u64::from(client);
        let mut packets = talk.opening().to_vec();
        for number in [first, first + 1] {
            packets.push(talk.send(&head(number, 0)));
            packets.push(talk.respond(b"HTTP/1.1 204 No Content\r\n\r\n"));
        }
        for bytes in &packets {
            packet += 1;
            let segment = parse(bytes, packet * 1000).unwrap();
            connections.add(packet.cast_unsigned(), &segment, &mut keep);
        }
        assert!(connections.passing() <= 4);
    }
    let traced = connections.finish(&mut keep);
    assert_eq!(
        (traced.connections.len(), traced.ignored_segments),
        (2, 498 * 6)
    );
    assert_eq!(traced.connections[1].requests.len(), 1);
    assert_eq!(traced.connections[1].request_count, 2);
    numbers.sort_unstable();
    assert_eq!(numbers, (0..1000).collect::<Vec<u64>>());
}

#[test]
fn what_passes_again_changes_nothing() {
    let mut talk = Conversation::new(4000, false);
    let request = talk.send(&head(1, 0));
    let response = talk.respond(b"HTTP/1.1 200 OK\r\n\r\n");
    let next = talk.send(&head(2, 0));
    let respond = talk.respond(b"HTTP/1.1 200 OK\r\n\r\n");
    let packets = [
        request.clone(),
        request.clone(),
        response.clone(),
        request,
        next,
        response,
        respond,
    ];
    assert_eq!(
        timed_requests(&packets),
        [(Some(1), Some(2), true), (Some(2), Some(2), true)]
    );
}

#[test]
fn a_segment_that_overtakes_the_first_byte_is_not_the_first() {
    let mut talk = Conversation::new(4000, false);
    let request = talk.send(&head(1, 0));
    let first = talk.respond(b"HTTP/1.1 200 OK\r\n");
    let second = talk.respond(b"\r\n");
    assert_eq!(
        timed_requests(&[request, second, first]),
        [(Some(1), Some(2), true)]
    );
}

#[test]
fn a_time_that_means_nothing_is_none() {
    let ok = b"HTTP/1.1 201 Created\r\n\r\n";
    let mut early = Conversation::new(4000, false);
    let packets = [
        early.send(&head(1, 20)),
        early.send(b"0123456789"),
        early.respond(ok),
        early.send(b"0123456789"),
        early.send(&head(2, 0)),
        early.respond(ok),
    ];
    assert_eq!(
        timed_requests(&packets),
        [(Some(1), None, false), (Some(2), Some(1), true)]
    );

    let mut pipelined = Conversation::new(4000, false);
    let packets = [
        pipelined.send(&head(1, 0)),
        pipelined.send(&head(2, 0)),
        pipelined.respond(ok),
    ];
    assert_eq!(timed_requests(&packets), [(Some(1), None, false)]);

    // The response was in flight when the rest of the request passed.
    let mut crossed = Conversation::new(4000, false);
    let first = crossed.send(&head(1, 20));
    let (ports, numbers) = ((4000, SERVER), (crossed.there, crossed.back));
    let rest = crossed.packet(ports, numbers, &[b'x'; 20]);
    let response = crossed.respond(ok);
    assert_eq!(
        timed_requests(&[first, rest, response]),
        [(Some(1), None, false)]
    );

    // A client that left the body out, because the final response came first.
    let mut refused = Conversation::new(4000, false);
    let packets = [
        refused.send(&head(1, 20)),
        refused.respond(b"HTTP/1.1 417 Expectation Failed\r\n\r\n"),
        refused.send(&head(2, 0)),
        refused.respond(ok),
    ];
    assert_eq!(
        timed_requests(&packets),
        [(Some(1), None, false), (Some(2), Some(1), true)]
    );

    let mut together = Conversation::new(4000, false);
    let packets = [
        together.send(&[head(1, 0), head(2, 0)].concat()),
        together.respond(ok),
    ];
    assert_eq!(timed_requests(&packets), [(Some(1), None, false)]);

    let mut unanswered = Conversation::new(4000, false);
    assert_eq!(
        timed_requests(&[unanswered.send(&head(1, 0))]),
        [(Some(1), None, true)]
    );
}

#[test]
fn a_packet_that_was_cut_off_has_its_length_all_the_same() {
    let mut talk = Conversation::new(4000, false);
    let whole = [head(1, 900), vec![b'x'; 900]].concat();
    let mut request = talk.send(&whole);
    request.truncate(14 + 20 + 20 + 100);
    let segment = parse(&request, 0).unwrap();
    assert_eq!(segment.length as usize, whole.len());
    assert_eq!(segment.payload.len(), 100);
    // 100 bytes hold the whole head here, and so the number.
    let respond = talk.respond(b"HTTP/1.1 201 Created\r\n\r\n");
    assert_eq!(
        timed_requests(&[request, respond]),
        [(Some(1), Some(1), true)]
    );
}

#[test]
fn damaged_packets_are_refused() {
    let packet = Conversation::new(4000, false).send(b"x");
    for length in 0..14 + 20 + 20 {
        let cut = parse(&packet[..length], 0);
        assert_eq!(cut, Err(SegmentError::Headers(length)), "{length}");
    }
    let mut short = packet.clone();
    short[16..18].copy_from_slice(&30_u16.to_be_bytes());
    assert_eq!(parse(&short, 0), Err(SegmentError::Length));
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

/// A request or a response, cut into segments.
#[derive(Debug, Clone)]
struct Message {
    bytes: usize,
    segment: usize,
    /// Order in which its segments pass.
    order: Vec<Index>,
    /// Segments that pass again, each somewhere later.
    again: Vec<(Index, Index)>,
}

fn message() -> impl Strategy<Value = Message> {
    let order = prop::collection::vec(any::<Index>(), 40);
    let again = prop::collection::vec(any::<(Index, Index)>(), 0..3);
    (1_usize..2000, 150_usize..900, order, again).prop_map(|(bytes, segment, order, again)| {
        Message {
            bytes,
            segment,
            order,
            again,
        }
    })
}

/// A packet that passes, its message, and if it has the first byte of it.
type Passing = (usize, bool, Vec<u8>);

/// Packets of requests and responses in turn, in the order in which they pass.
fn passing(messages: &[Message]) -> Vec<Passing> {
    let mut talk = Conversation::new(4000, false);
    let mut again = Vec::new();
    let mut all: Vec<Passing> = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        let is_request = index % 2 == 0;
        let mut bytes = if is_request {
            head(index as u64, message.bytes)
        } else {
            b"HTTP/1.1 200 OK\r\n\r\n".to_vec()
        };
        // The head of a request is in one segment, as far as it was captured.
        let first = bytes.len();
        bytes.resize(first + message.bytes, b'x');
        let (first, rest) = bytes.split_at(first);
        let segments = std::iter::once(first).chain(rest.chunks(message.segment));
        let mut segments: Vec<Passing> = segments
            .enumerate()
            .map(|(position, bytes)| {
                let packet = if is_request {
                    talk.send(bytes)
                } else {
                    talk.respond(bytes)
                };
                (index, position == 0, packet)
            })
            .collect();
        for (segment, when) in &message.again {
            again.push((
                all.len() + segments.len(),
                segment.get(&segments).clone(),
                *when,
            ));
        }
        for order in &message.order {
            if !segments.is_empty() {
                all.push(segments.remove(order.index(segments.len())));
            }
        }
    }
    for (earliest, segment, when) in again.into_iter().rev() {
        all.insert(earliest + when.index(all.len() - earliest + 1), segment);
    }
    all
}

/// Moments of a message, from its first segment to its last, and of its first byte.
fn moments(passing: &[Passing], message: usize) -> (i64, i64, i64) {
    let mut seen: Vec<(usize, &Passing)> = Vec::new();
    for (at, one) in passing
        .iter()
        .enumerate()
        .filter(|(_, one)| one.0 == message)
    {
        if !seen.iter().any(|(_, before)| *before == one) {
            seen.push((at, one));
        }
    }
    let at = |index: usize| index as i64 * 1000;
    let (first, _) = seen.iter().find(|(_, one)| one.1).unwrap();
    (at(seen[0].0), at(seen[seen.len() - 1].0), at(*first))
}

proptest! {
    #[test]
    fn segments_that_overtake_each_other_or_pass_again_make_the_same_requests(
        messages in prop::collection::vec((message(), message()), 1..6)
    ) {
        let messages: Vec<Message> = messages.into_iter().flat_map(|(one, other)| [one, other]).collect();
        let passing = passing(&messages);
        let packets: Vec<Vec<u8>> = passing.iter().map(|(_, _, packet)| packet.clone()).collect();
        let found = requests(&packets);
        prop_assert_eq!(found.len(), messages.len() / 2);
        for (index, request) in found.iter().enumerate() {
            let (first, last, _) = moments(&passing, 2 * index);
            let (_, response_last, response_first) = moments(&passing, 2 * index + 1);
            prop_assert_eq!(request.number, Some(2 * index as u64));
            prop_assert!(request.is_clean);
            prop_assert_eq!((request.request_first_ns, request.request_last_ns), (first, last));
            prop_assert_eq!(request.response_first_ns, Some(response_first));
            prop_assert_eq!(request.response_last_ns, Some(response_last));
        }
    }

    #[test]
    fn no_frame_makes_the_parser_panic(frame in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = parse(&frame, 0);
    }

    #[test]
    fn no_damage_to_frames_makes_the_parser_panic(
        messages in prop::collection::vec(message(), 1..6),
        damage in prop::collection::vec(any::<(Index, Index, u8, bool)>(), 0..40),
    ) {
        let mut frames: Vec<Vec<u8>> = passing(&messages).into_iter().map(|(_, _, packet)| packet).collect();
        for (frame, offset, byte, cut) in &damage {
            let frame = frame.get_mut(&mut frames);
            let offset = offset.index(frame.len().max(1)).min(80);
            if *cut {
frame.truncate(offset)
} else {
frame.iter_mut().skip(offset).take(1).for_each(|damaged| *damaged = *byte)
}
        }
        // A frame can also fill a gap of others.
        prop_assert!(requests(&frames).len() <= 2 * frames.len());
    }
}

#[test]
fn a_length_that_no_stream_has_is_no_reason_to_panic() {
    let mut talk = Conversation::new(4000, false);
    let length = u64::from(u32::MAX);
    let request = format!("PUT / HTTP/1.1\r\nContent-Length: {length}\r\n\r\n");
    let packets = [
        talk.send(request.as_bytes()),
        talk.respond(b"HTTP/1.1 201 Created\r\n\r\n"),
    ];
    assert_eq!(timed_requests(&packets), [(None, None, false)]);
}
