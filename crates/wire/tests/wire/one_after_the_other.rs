//! Responses that follow one another on a connection, read by one reader.

use crate::feed::{feed, feed_to};
use wire::response::{Limits, ReadEvent, ResponseHead, ResponseReader};

/// The request was a HEAD, the message, and what has to come of it: interim responses, status,
/// body.
type Case = (bool, &'static [u8], &'static [u16], u16, &'static [u8]);

const CASES: &[Case] = &[
    (false, b"HTTP/1.1 200 OK\r\nServer: x\r\nContent-Length: 5\r\n\r\nhello", &[], 200, b"hello"),
    (false, b"HTTP/1.1 207 Multi-Status\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n1;x\r\nd\r\n0\r\nT: u\r\n\r\n", &[], 207, b"abcd"),
    (false, b"HTTP/1.1 204 No Content\r\nX: folded\r\n here\r\n\r\n", &[], 204, b""),
    (true, b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", &[], 200, b""),
    (false, b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 \r\nX: y\r\n\r\nHTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n", &[100, 102], 201, b""),
    (true, b"HTTP/1.1 404 Not Found\nTransfer-Encoding: chunked\n\n", &[], 404, b""),
    (false, b"\r\nHTTP/1.0 200 gr\xc3\xbcn\r\nConnection: keep-alive\r\nX: gr\xfcn\r\nContent-Length: 2\r\n\r\nhi", &[], 200, b"hi"),
    (false, b"HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n", &[], 304, b""),
    (false, b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", &[], 200, b""),
];

#[derive(Debug, Default, PartialEq, Eq)]
struct Seen {
    interim: Vec<u16>,
    head: Option<ResponseHead>,
    body: Vec<u8>,
    reusable: bool,
    /// Bytes of the stream that had been taken when it was complete.
    until: usize,
}

/// Reads a response for each request from `stream`, which arrives cut at `cuts`.
fn read_all(
    stream: &[u8],
    cuts: &[usize],
    requests: &[bool],
    restart: fn(&mut ResponseReader, bool),
) -> Vec<Seen> {
    let mut reader = ResponseReader::new(requests[0], Limits::default());
    let mut all = Vec::new();
    let mut seen = Seen::default();
    let mut at = 0;
    for to in cuts.iter().copied().chain([stream.len()]) {
        while all.len() < requests.len() {
            let step = reader
                .step(&stream[at..to])
                .expect("nothing is wrong with it");
            at += step.consumed;
            match step.event {
                ReadEvent::NeedMore => break,
                ReadEvent::Interim(status) => seen.interim.push(status),
                ReadEvent::Head => assert!(reader.head().is_some()),
                ReadEvent::Body(bytes) => seen.body.extend_from_slice(bytes),
                ReadEvent::End => {
                    seen.head = reader.head().cloned();
                    seen.reusable = reader.reusable();
                    seen.until = at;
                    all.push(std::mem::take(&mut seen));
                    if let Some(&request_is_head) = requests.get(all.len()) {
                        restart(&mut reader, request_is_head);
                        assert!(!reader.started() && !reader.is_done() && !reader.reusable());
                        assert!(reader.head().is_none());
                    }
                }
            }
        }
    }
    all
}

#[test]
fn a_stream_of_responses_is_read_the_same_by_one_reader_and_by_many() {
    let requests: Vec<bool> = CASES.iter().map(|case| case.0).collect();
    let stream: Vec<u8> = CASES.iter().flat_map(|case| case.1).copied().collect();
    let fresh: fn(&mut ResponseReader, bool) =
        |reader, is_head| *reader = ResponseReader::new(is_head, Limits::default());

    let expected = read_all(&stream, &[], &requests, fresh);
    assert_eq!(expected.len(), CASES.len());
    let mut end = 0;
    for (seen, (_, message, interim, status, body)) in expected.iter().zip(CASES) {
        end += message.len();
        assert_eq!(seen.until, end, "nothing of the next response is taken");
        assert_eq!(seen.interim, *interim);
        assert_eq!(seen.head.as_ref().map(|head| head.status), Some(*status));
        assert_eq!(seen.body, *body);
        assert!(seen.reusable);
    }

    let every_byte: Vec<usize> = (0..=stream.len()).collect();
    let halves = every_byte.iter().map(std::slice::from_ref);
    for cuts in halves.chain([&every_byte[..], &[]]) {
        let kept = read_all(&stream, cuts, &requests, ResponseReader::restart);
        assert_eq!(kept, expected, "cut at {cuts:?}");
    }
}

#[test]
fn a_response_that_was_given_up_leaves_no_trace() {
    let broken: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n";
    let firsts = CASES.iter().map(|case| (case.0, case.1));
    for (first_is_head, first) in firsts.chain([(false, broken)]) {
        for given_up in 0..=first.len() {
            for &(is_head, message, ..) in CASES {
                let mut reader = ResponseReader::new(first_is_head, Limits::default());
                feed_to(&mut reader, &first[..given_up], &[]);
                reader.restart(is_head);
                let reading = feed_to(&mut reader, message, &[]);
                assert_eq!(reading, feed(message, &[], is_head, Limits::default()));
            }
        }
    }
}

#[test]
fn the_limits_are_those_of_one_response() {
    let limits = Limits {
        head_bytes: 40,
        headers: 1,
        body_bytes: 5,
        interim: 1,
    };
    let message =
        b"HTTP/1.1 100 \r\n\r\n\r\n\r\n\r\nHTTP/1.1 200 \r\nContent-Length: 5\r\n\r\nhello";
    let mut reader = ResponseReader::new(false, limits);
    for _ in 0..20 {
        assert_eq!(feed_to(&mut reader, message, &[]).end, Ok(()));
        reader.restart(false);
    }
    let longer = b"HTTP/1.1 200 \r\nContent-Length: 6\r\n\r\nhello!";
    assert!(feed_to(&mut reader, longer, &[]).end.is_err());
}
