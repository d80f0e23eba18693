//! Correct messages: a table, fed in every way, with the expected results.

use crate::feed::{assert_same, feed, feed_all_ways};
use wire::response::{Limits, ReadEvent, ResponseReader, Version};

#[test]
fn the_rest_of_a_body_with_a_length_is_counted() {
    let mut reader = ResponseReader::new(false, Limits::default());
    let head = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n";
    assert_eq!(reader.body_left(), 0);
    let step = reader.step(head).unwrap();
    assert_eq!((step.event, step.consumed), (ReadEvent::Head, head.len()));
    assert_eq!(reader.body_left(), 5);
    reader.step(b"hel").unwrap();
    assert_eq!(reader.body_left(), 2);
    reader.step(b"loHTTP/1.1").unwrap();
    assert_eq!(reader.body_left(), 0);
    reader.restart(false);
    let chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhe";
    let step = reader.step(chunked).unwrap();
    reader.step(&chunked[step.consumed..]).unwrap();
    assert_eq!(reader.body_left(), 0);
}

/// A message and what has to come of it.
struct Case {
    name: &'static str,
    head_request: bool,
    message: &'static [u8],
    interim: &'static [u16],
    status: u16,
    body: &'static [u8],
    reusable: bool,
    /// Bytes at the end that belong to no response.
    left: usize,
}

const PLAIN: Case = Case {
    name: "content-length",
    head_request: false,
    message: b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
    interim: &[],
    status: 200,
    body: b"hello",
    reusable: true,
    left: 0,
};

const CASES: &[Case] = &[
    PLAIN,
    Case { name: "content-length 0", message: b"HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n", status: 201, body: b"", ..PLAIN },
    Case { name: "204 with a content-length", message: b"HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n", status: 204, body: b"", ..PLAIN },
    Case { name: "204 declared as chunked", message: b"HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n", status: 204, body: b"", ..PLAIN },
    Case { name: "304 with a content-length", message: b"HTTP/1.1 304 Not Modified\r\nContent-Length: 500\r\n\r\n", status: 304, body: b"", ..PLAIN },
    Case { name: "response to HEAD", head_request: true, message: b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", body: b"", ..PLAIN },
    Case { name: "response to HEAD, chunked", head_request: true, message: b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", body: b"", ..PLAIN },
    Case { name: "response to HEAD without anything", head_request: true, message: b"HTTP/1.1 200 OK\r\n\r\n", body: b"", ..PLAIN },
    Case { name: "two responses in one piece", message: b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhiHTTP/1.1 200 OK\r\n", body: b"hi", left: 17, ..PLAIN },
    Case { name: "connection: close", message: b"HTTP/1.1 200 OK\r\nConnection: Foo, CLOSE\r\nContent-Length: 2\r\n\r\nhi", body: b"hi", reusable: false, ..PLAIN },
    Case { name: "1.0 until the end", message: b"HTTP/1.0 200 OK\r\nServer: radicale\r\n\r\nhello", reusable: false, ..PLAIN },
    Case { name: "1.0 with a length", message: b"HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello", reusable: false, ..PLAIN },
    Case { name: "1.0 keep-alive", message: b"HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 5\r\n\r\nhello", ..PLAIN },
    Case { name: "1.0 keep-alive until the end", message: b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n\r\nhello", reusable: false, ..PLAIN },
    Case { name: "1.1 until the end", message: b"HTTP/1.1 200 OK\r\n\r\nhello", reusable: false, ..PLAIN },
    Case { name: "1.1 until the end, empty", message: b"HTTP/1.1 200 OK\r\n\r\n", body: b"", reusable: false, ..PLAIN },
    Case { name: "chunked", message: b"HTTP/1.1 207 Multi-Status\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n", status: 207, ..PLAIN },
    Case { name: "chunked, nothing in it", message: b"HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n0\r\n\r\n", body: b"", ..PLAIN },
    Case { name: "chunk sizes with zeros, capitals, blanks", message: b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n000A \t\r\n0123456789\r\n00\r\n\r\n", body: b"0123456789", ..PLAIN },
    Case { name: "chunk extensions", message: b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;a=\"b;c\" ;d\r\nhello\r\n0 ;x\r\n\r\n", ..PLAIN },
    Case { name: "trailers", message: b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X\r\n\r\n5\r\nhello\r\n0\r\nX: y\r\nZ: 1\n\r\n", ..PLAIN },
    Case { name: "identity, then length", message: b"HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\nContent-Length: 5\r\n\r\nhello", ..PLAIN },
    Case { name: "chunked beats length, and is the last response", message: b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", reusable: false, ..PLAIN },
    Case { name: "chunked in 1.0 is the last response", message: b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", reusable: false, ..PLAIN },
    Case { name: "the same length twice", message: b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\ncontent-length: 5, 5\r\n\r\nhello", ..PLAIN },
    Case { name: "100 first", message: b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n", interim: &[100], status: 201, body: b"", ..PLAIN },
    Case { name: "several interim responses, one with a length", message: b"HTTP/1.1 102 Processing\r\nContent-Length: 7\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", interim: &[102, 103], ..PLAIN },
    Case { name: "no reason, as tomcat", message: b"HTTP/1.1 207 \r\nContent-Length: 5\r\n\r\nhello", status: 207, ..PLAIN },
    Case { name: "no reason and no blank", message: b"HTTP/1.1 207\r\nContent-Length: 5\r\n\r\nhello", status: 207, ..PLAIN },
    Case { name: "an odd reason, as apache", message: b"HTTP/1.1 409 (status)\r\nContent-Length: 5\r\n\r\nhello", status: 409, ..PLAIN },
    Case { name: "a reason that is not ascii", message: b"HTTP/1.1 404 nicht gef\xfcnden\r\nContent-Length: 5\r\n\r\nhello", status: 404, ..PLAIN },
    Case { name: "a status beyond 599", message: b"HTTP/1.1 999 No\r\nContent-Length: 5\r\n\r\nhello", status: 999, ..PLAIN },
    Case { name: "bare line feeds", message: b"HTTP/1.1 200 OK\nContent-Length: 5\n\nhello", ..PLAIN },
    Case { name: "line ends of the body before", message: b"\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", ..PLAIN },
    Case { name: "folded header", message: b"HTTP/1.1 200 OK\r\nX-Long: one\r\n two\r\n\tthree\r\nContent-Length:\r\n 5\r\n\r\nhello", ..PLAIN },
    Case { name: "header values of all kinds", message: b"HTTP/1.1 200 OK\r\nEmpty:\r\nTight:x\r\nLatin: \xe9\r\nContent-Length: 5  \r\n\r\nhello", ..PLAIN },
];

#[test]
fn good_messages_are_read_the_same_however_they_are_cut() {
    for case in CASES {
        let reading = feed_all_ways(case.message, case.head_request, Limits::default());
        let name = case.name;
        assert_eq!(reading.end, Ok(()), "{name}");
        assert_eq!(reading.interim, case.interim, "{name}");
        assert_eq!(reading.status(), Some(case.status), "{name}");
        assert_eq!(
            reading.body.escape_ascii().to_string(),
            case.body.escape_ascii().to_string(),
            "{name}"
        );
        assert_eq!(reading.reusable, case.reusable, "{name}");
        assert_eq!(reading.taken, case.message.len() - case.left, "{name}");
    }
}

/// True if the message may be cut unnoticed: within a body that ends with the connection, once the
/// head is there.
fn ends_with_the_connection(case: &Case) -> bool {
    case.name.contains("until the end")
}

#[test]
fn every_prefix_of_a_good_message_ends_with_a_clear_error() {
    for case in CASES.iter().filter(|case| case.left == 0) {
        for length in 0..case.message.len() {
            let prefix = &case.message[..length];
            let reading = feed(prefix, &[], case.head_request, Limits::default());
            if ends_with_the_connection(case) && reading.head.is_some() {
                assert_eq!(reading.end, Ok(()));
                continue;
            }
            let error = reading.error();
            let is_clear = error.starts_with("the connection ended ");
            assert!(is_clear, "{}: {error}", case.name);
            let is_empty = error == "the connection ended without a response";
            let is_blank = prefix.iter().all(|byte| b"\r\n".contains(byte));
            assert_eq!(is_empty, is_blank, "{} after {length} bytes", case.name);
        }
    }
}

#[test]
fn heads_are_kept_as_they_were_sent() {
    let message = b"HTTP/1.0 207 Multi Status\r\nDAV: 1\r\nX-Long: one\r\n  two\r\nDAV: 2\r\n\r\n";
    let head = feed(message, &[], false, Limits::default()).head.unwrap();
    let status_line = (head.version, head.status, head.reason.as_str());
    assert_eq!(status_line, (Version::Http10, 207, "Multi Status"));
    let fields: Vec<_> = head.headers.iter().collect();
    assert_eq!(fields, [("DAV", "1"), ("X-Long", "one two"), ("DAV", "2")]);
}

/// The moment of the first byte depends on this: see the documentation of `ResponseReader`.
#[test]
fn the_first_byte_of_the_final_response_is_the_first_unconsumed_one_when_it_has_started() {
    let interim = b"HTTP/1.1 100 Continue\r\n\r\n";
    let message = [&interim[..], b"HTTP/1.1 204 \r\n\r\n"].concat();
    let mut reader = ResponseReader::new(false, Limits::default());
    let mut consumed = 0;
    let mut began = None;
    for arrived in 0..=message.len() {
        loop {
            let step = reader.step(&message[consumed..arrived]).unwrap();
            if reader.started() && began.is_none() {
                began = Some((consumed, arrived));
            }
            consumed += step.consumed;
            match step.event {
                ReadEvent::Interim(status) => assert_eq!((status, consumed), (100, interim.len())),
                ReadEvent::NeedMore | ReadEvent::End => break,
                ReadEvent::Head | ReadEvent::Body(_) => {}
            }
        }
    }
    // Known with the digit after "HTTP/1.1 ", and it is the byte after the interim response.
    assert_eq!(began, Some((interim.len(), interim.len() + 10)));
    assert!(reader.is_done());
}

#[test]
fn nothing_of_the_final_response_is_consumed_with_an_interim_one() {
    let message = b"HTTP/1.1 100 \r\n\r\nHTTP/1.1 204 \r\n\r\n";
    let mut reader = ResponseReader::new(false, Limits::default());
    let step = reader.step(message).unwrap();
    assert_eq!((step.consumed, step.event), (17, ReadEvent::Interim(100)));
    assert!(!reader.started() && !reader.is_done() && reader.head().is_none());
    let step = reader.step(&message[17..]).unwrap();
    assert_eq!((step.consumed, step.event), (17, ReadEvent::Head));
    assert!(reader.started() && reader.is_done() && reader.reusable());
}

/// All these tables rely on this check, which must notice when a cut makes a difference.
#[test]
#[should_panic(expected = "cut at the end")]
fn the_split_check_fails_where_pieces_make_a_difference() {
    let message = b"HTTP/1.1 200 OK\r\n\r\nhello";
    let whole = feed(message, &[], false, Limits::default());
    let other = feed(&message[..message.len() - 1], &[], false, Limits::default());
    assert_same(&whole, &other, message, "cut at the end");
}
