//! HTTP/2: streams, and packets that the capture has cut.

use proptest::prelude::*;
use proptest::sample::Index;
use wire::http2::{
    PREFACE, append_data_header, append_headers, append_request_block, append_settings,
    append_settings_ack, append_window_update,
};

use super::{Conversation, requests, timed_requests};
use crate::segment::parse;
use crate::transaction::TracedRequest;

/// Bytes of a packet before its payload, and the payload bytes that the capture of requests keeps.
const BEFORE: usize = 14 + 20 + 20;
const KEPT: usize = 1024;

fn conversation() -> (Conversation, Vec<Vec<u8>>) {
    let mut talk = Conversation::new(4000, false);
    let mut begin = PREFACE.to_vec();
    append_settings(&mut begin, &[]);
    let mut settings = Vec::new();
    append_settings(&mut settings, &[]);
    append_settings_ack(&mut settings);
    let packets = vec![talk.send(&begin), talk.respond(&settings)];
    (talk, packets)
}

/// HEADERS of a request, whose stream they end where there is no body.
fn request(stream: u32, number: u64, body: usize) -> Vec<u8> {
    let mut head = format!("PUT /f HTTP/2\r\nHost: h\r\nX-Prestan: s: {number:06} (Put)\r\n");
    if body > 0 {
        head.push_str(&format!("Content-Length: {body}\r\n"));
    }
    let (mut block, mut frame) = (Vec::new(), Vec::new());
    append_request_block(&mut block, head.as_bytes(), false);
    append_headers(&mut frame, stream, &block, 16_384, body == 0);
    frame
}

fn data(stream: u32, length: usize, is_end: bool) -> Vec<u8> {
    let mut frame = Vec::new();
    append_data_header(&mut frame, stream, length, is_end);
    frame.resize(frame.len() + length, b'x');
    frame
}

/// HEADERS of a response: `:status: 200`.
fn response(stream: u32, is_end: bool) -> Vec<u8> {
    let mut frame = Vec::new();
    append_headers(&mut frame, stream, &[0x88], 16_384, is_end);
    frame
}

fn window(stream: u32) -> Vec<u8> {
    let mut frame = Vec::new();
    append_window_update(&mut frame, stream, 1000);
    frame
}

/// After the two packets with which a conversation begins.
fn timed(begin: Vec<Vec<u8>>, packets: &[Vec<u8>]) -> Vec<(Option<u64>, Option<i64>, bool)> {
    timed_requests(&[&begin, packets].concat())
}

#[test]
fn a_stream_is_an_exchange_from_its_last_frame_to_the_headers_of_its_response() {
    let (mut talk, begin) = conversation();
    let packets = [
        talk.send(&request(1, 1, 300)),
        talk.send(&data(1, 200, false)),
        talk.send(&data(1, 100, true)),
        talk.respond(&window(0)),
        talk.respond(&[window(1), response(1, false)].concat()),
        talk.respond(&data(1, 700, true)),
        talk.send(&[window(0), request(3, 2, 0)].concat()),
        talk.respond(&response(3, true)),
    ];
    let found = requests(&[&begin[..], &packets].concat());
    let moments = |request: &TracedRequest| {
        let TracedRequest {
            request_first_ns,
            request_last_ns,
            response_first_ns,
            response_last_ns,
            ..
        } = *request;
        let response = (response_first_ns.unwrap(), response_last_ns.unwrap());
        (request_first_ns, request_last_ns, response.0, response.1)
    };
    let all: Vec<_> = found.iter().map(moments).collect();
    assert_eq!(all, [(2000, 4000, 6000, 7000), (8000, 8000, 9000, 9000)]);
    assert_eq!(
        timed(begin, &packets),
        [(Some(1), Some(2), true), (Some(2), Some(1), true)]
    );
}

#[test]
fn streams_side_by_side_each_have_their_times() {
    let (mut talk, begin) = conversation();
    let packets = [
        talk.send(&[request(1, 1, 10), request(3, 2, 0)].concat()),
        talk.respond(&response(3, false)),
        talk.send(&data(1, 10, true)),
        talk.send(&request(5, 3, 0)),
        talk.respond(&[data(3, 5, true), response(5, true), response(1, true)].concat()),
    ];
    assert_eq!(
        timed(begin, &packets),
        [
            (Some(1), Some(2), true),
            (Some(2), Some(1), true),
            (Some(3), Some(1), true)
        ]
    );
}

#[test]
fn frames_may_be_cut_anywhere() {
    let (mut talk, begin) = conversation();
    let sent = [request(1, 1, 40), data(1, 40, true)].concat();
    let back = [window(0), response(1, false), data(1, 30, true)].concat();
    let mut packets: Vec<_> = sent.chunks(1).map(|byte| talk.send(byte)).collect();
    let last = packets.len() + 1;
    packets.extend(back.chunks(1).map(|byte| talk.respond(byte)));
    let first = last + 13 + 1;
    assert_eq!(
        timed(begin, &packets),
        [(Some(1), Some((first - last) as i64), true)]
    );
}

/// The packet as the capture keeps it.
fn cut(mut packet: Vec<u8>) -> Vec<u8> {
    packet.truncate(BEFORE + KEPT);
    packet
}

#[test]
fn a_body_whose_frames_were_cut_off_ends_before_its_response() {
    let (mut talk, begin) = conversation();
    let body = |stream| [data(stream, 16_384, false), data(stream, 13_616, true)].concat();
    let first = [request(1, 1, 60_000), body(1)].concat();
    let packets = [
        cut(talk.send(&first)),
        cut(talk.send(&body(1))),
        talk.respond(&window(1)),
        talk.respond(&response(1, true)),
        // Nothing of it.
        talk.send(&window(0)),
        cut(talk.send(&[request(3, 2, 60_000), body(3)].concat())),
        cut(talk.send(&body(3))),
        talk.respond(&response(3, true)),
    ];
    assert_eq!(
        timed(begin, &packets),
        [(Some(1), Some(2), true), (Some(2), Some(1), true)]
    );
}

#[test]
fn an_answer_whose_frames_were_cut_off_does_not_hide_the_next() {
    let (mut talk, begin) = conversation();
    let long = [response(1, false), data(1, 1500, false), data(1, 10, true)].concat();
    let packets = [
        talk.send(&request(1, 1, 0)),
        cut(talk.respond(&long)),
        talk.send(&request(3, 2, 0)),
        talk.respond(&response(3, true)),
    ];
    assert_eq!(
        timed(begin, &packets),
        [(Some(1), Some(1), true), (Some(2), Some(1), true)]
    );
}

#[test]
fn a_stream_without_a_time_has_none() {
    // The response came before its body had passed, with or without captured frames.
    let (mut talk, begin) = conversation();
    let packets = [
        talk.send(&request(1, 1, 20)),
        talk.respond(&response(1, true)),
        talk.send(&data(1, 20, true)),
        talk.send(&request(3, 2, 40_000)),
        cut(talk.send(&[data(3, 10_000, false), data(3, 10_000, false)].concat())),
        talk.respond(&response(3, true)),
        cut(talk.send(&[data(3, 10_000, false), data(3, 10_000, true)].concat())),
        talk.send(&request(5, 3, 0)),
        talk.respond(&response(5, true)),
    ];
    assert_eq!(
        timed(begin, &packets),
        [
            (Some(1), None, false),
            (Some(2), None, false),
            (Some(3), Some(1), true)
        ]
    );

    // Two blocks before the body: one of them is interim.
    let (mut talk, begin) = conversation();
    let packets = [
        talk.send(&request(1, 1, 0)),
        talk.respond(&[response(1, false), response(1, false), data(1, 3, true)].concat()),
    ];
    assert_eq!(timed(begin, &packets), [(Some(1), None, false)]);

    // The owner of bytes that were cut is unknown.
    let (mut talk, begin) = conversation();
    let both = [
        data(1, 1200, false),
        data(3, 1500, true),
        data(1, 300, true),
    ]
    .concat();
    let packets = [
        talk.send(&[request(1, 1, 1500), request(3, 2, 1500)].concat()),
        cut(talk.send(&both)),
        talk.respond(&[response(1, true), response(3, true)].concat()),
    ];
    assert_eq!(
        timed(begin, &packets),
        [(Some(1), None, false), (Some(2), None, false)]
    );

    let (mut talk, begin) = conversation();
    assert_eq!(
        timed(begin, &[talk.send(&request(1, 1, 0))]),
        [(Some(1), None, true)]
    );
}

/// A stream: bytes of the request's body and of the response's.
type Bodies = (usize, usize);

/// All packets of a connection, with the expected moments.
fn packets(
    streams: &[Bodies],
    segment: usize,
    moved: &[(Index, Index)],
) -> (Vec<Vec<u8>>, Vec<(i64, i64)>) {
    let (mut talk, mut all) = conversation();
    let mut moments = Vec::new();
    for (at, &(sent, back)) in streams.iter().enumerate() {
        let stream = 2 * at as u32 + 1;
        let mut bytes = request(stream, at as u64, sent);
        if sent > 0 {
            bytes.extend(data(stream, sent / 2, false));
            bytes.extend(data(stream, sent - sent / 2, true));
        }
        let start = all.len();
        all.extend(bytes.chunks(segment).map(|bytes| talk.send(bytes)));
        // Segments of a request that overtake each other: its last moment is the latest one.
        for (one, other) in moved {
            let count = all.len() - start;
            all.swap(start + one.index(count), start + other.index(count));
        }
        let last = all.len() - 1;
        let mut bytes = [window(0), response(stream, back == 0)].concat();
        if back > 0 {
            bytes.extend(data(stream, back, true));
        }
        moments.push((last as i64, (last + 1 + 13 / segment) as i64));
        all.extend(bytes.chunks(segment).map(|bytes| talk.respond(bytes)));
    }
    (all, moments)
}

proptest! {
    #[test]
    fn segments_of_any_length_and_order_have_the_same_streams(
        streams in prop::collection::vec((0_usize..300, 0_usize..300), 1..6),
        // Shorter ones can be overtaken by more segments than the reader keeps.
        segment in 2_usize..400,
        moved in prop::collection::vec(any::<(Index, Index)>(), 0..4),
    ) {
        let (packets, moments) = packets(&streams, segment, &moved);
        let found = requests(&packets);
        prop_assert_eq!(found.len(), streams.len());
        for (number, (request, (last, first))) in found.iter().zip(moments).enumerate() {
            prop_assert_eq!(request.number, Some(number as u64));
            prop_assert!(request.is_clean, "{:?}", request);
            prop_assert_eq!(request.request_last_ns, last * 1000);
            prop_assert_eq!(request.response_first_ns, Some(first * 1000));
        }
    }

    /// Packets that are damaged, cut, missing or lost: no panic, and no more exchanges than there
    /// can be frames.
    #[test]
    fn no_damage_makes_the_reader_panic(
        streams in prop::collection::vec((0_usize..300, 0_usize..300), 1..6),
        segment in 1_usize..400,
        damage in prop::collection::vec(any::<(Index, Index, u8, u8)>(), 0..60),
    ) {
        let (mut packets, _) = packets(&streams, segment, &[]);
        for (packet, offset, byte, kind) in &damage {
            let (at, count) = (packet.index(packets.len()), packets.len());
            if kind % 8 == 1 && count > 1 {
                packets.remove(at);
                continue;
            }
            let packet = &mut packets[at];
            let offset = offset.index(packet.len().max(1));
            match kind % 8 {
                0 => packet.truncate(offset.max(BEFORE)),
                // Payload more often than what is before it.
                2..=5 => packet.iter_mut().skip(offset.max(BEFORE)).take(1).for_each(|damaged| *damaged = *byte),
                _ => packet.iter_mut().skip(offset).take(1).for_each(|damaged| *damaged = *byte),
            }
        }
        // A packet without captured payload may be one, too.
        let segments = packets.iter().filter_map(|packet| parse(packet, 0).ok());
        let most = packets.len() + segments.map(|segment| segment.payload.len() / 9).sum::<usize>();
        prop_assert!(requests(&packets).len() <= most);
    }

    #[test]
    fn no_bytes_make_the_reader_panic(
        there in prop::collection::vec(any::<u8>(), 0..400),
        back in prop::collection::vec(any::<u8>(), 0..400),
        segment in 1_usize..100,
    ) {
        let (mut talk, mut packets) = conversation();
        packets.extend(there.chunks(segment).map(|bytes| talk.send(bytes)));
        packets.extend(back.chunks(segment).map(|bytes| talk.respond(bytes)));
        prop_assert!(requests(&packets).len() <= there.len() / 9);
    }
}

#[test]
fn heads_and_sizes_of_streams_are_read() {
    let (mut talk, mut packets) = conversation();
    packets.push(talk.send(&request(1, 7, 0)));
    let mut response = Vec::new();
    // `:status: 200` of the static table (RFC 7541, appendix A), and a body.
    append_headers(&mut response, 1, &[0x88], 16_384, false);
    append_data_header(&mut response, 1, 5, true);
    response.extend_from_slice(b"hello");
    packets.push(talk.respond(&response));
    let requests = requests(&packets);
    let [request] = &requests[..] else {
        panic!("{requests:?}");
    };
    assert_eq!((request.number, request.status), (Some(7), Some(200)));
    assert_eq!(request.method.as_deref(), Some("PUT"));
    assert_eq!(request.path.as_deref(), Some("/f"));
    assert_eq!(request.response_bytes, 6);
    assert_eq!(request.response_time_ns(), Some(1000));
}
