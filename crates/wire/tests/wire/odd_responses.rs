//! Messages that are wrong: each with its error, which has to be understandable.

use crate::feed::{feed, feed_all_ways};
use wire::response::{Hint, Limits, ProtocolError};

/// Bounds small enough to be reached in a table.
const SMALL: Limits = Limits {
    head_bytes: 200,
    headers: 4,
    body_bytes: 10,
    interim: 2,
};

/// Messages, and the whole text of the error.
const CASES: &[(&[u8], &str)] = &[
    // Not HTTP.
    (
        b"\x15\x03\x03\x00\x02\x02\x46",
        r#"the response is not HTTP, it begins with "\x15\x03\x03\x00\x02\x02F": it looks like TLS, so try https"#,
    ),
    (
        b"\x00\x00\x12\x04\x00\x00\x00\x00\x00",
        r#"the response is not HTTP, it begins with "\x00\x00\x12\x04\x00\x00\x00\x00\x00": it looks like HTTP/2 (--http 2)"#,
    ),
    (
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        r#"the response is not HTTP, it begins with "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n""#,
    ),
    (
        b"SSH-2.0-OpenSSH_9.2\r\n",
        r#"the response is not HTTP, it begins with "SSH-2.0-OpenSSH_9.2\r\n": it may be an SSH server, so check the port"#,
    ),
    (
        b"220 mail ESMTP\r\n",
        r#"the response is not HTTP, it begins with "220 mail ESMTP\r\n": it looks like a mail or FTP server, so check the port"#,
    ),
    (
        b"<html>",
        r#"the response is not HTTP, it begins with "<html>": it looks like a body without a response head"#,
    ),
    (
        b"HTTQ/1.1 200 OK\r\n\r\n",
        r#"the response is not HTTP, it begins with "HTTQ/1.1 200 OK\r\n\r\n""#,
    ),
    (
        b"http/1.1 200 OK\r\n\r\n",
        r#"the response is not HTTP, it begins with "http/1.1 200 OK\r\n\r\n""#,
    ),
    (
        b" HTTP/1.1 200 OK\r\n\r\n",
        r#"the response is not HTTP, it begins with " HTTP/1.1 200 OK\r\n\r\n""#,
    ),
    (
        b"\r\n\r\n\r\n\r\n\r\n",
        r#"the response is not HTTP, it begins with "\r\n\r\n\r\n\r\n\r\n""#,
    ),
    // Status lines.
    (
        b"HTTP/2 200 OK\r\n\r\n",
        r#"the status line "HTTP/2 200 OK" is not of HTTP/1.0 or HTTP/1.1 (RFC 9112, section 2.3)"#,
    ),
    (
        b"HTTP/1.2 200 OK\r\n\r\n",
        r#"the status line "HTTP/1.2 200 OK" is not of HTTP/1.0 or HTTP/1.1 (RFC 9112, section 2.3)"#,
    ),
    (
        b"HTTP/1.1 OK\r\n\r\n",
        r#"the status line "HTTP/1.1 OK" is malformed (RFC 9112, section 4)"#,
    ),
    (
        b"HTTP/1.1  200 OK\r\n\r\n",
        r#"the status line "HTTP/1.1  200 OK" is malformed (RFC 9112, section 4)"#,
    ),
    (
        b"HTTP/1.1 20 OK\r\n\r\n",
        r#"the status line "HTTP/1.1 20 OK" is malformed (RFC 9112, section 4)"#,
    ),
    (
        b"HTTP/1.1 2000 OK\r\n\r\n",
        r#"the status line "HTTP/1.1 2000 OK" is malformed (RFC 9112, section 4)"#,
    ),
    (
        b"HTTP/1.1 099 OK\r\n\r\n",
        r#"the status line "HTTP/1.1 099 OK" is malformed (RFC 9112, section 4)"#,
    ),
    (
        b"HTTP/1.1 -20 OK\r\n\r\n",
        r#"the status line "HTTP/1.1 -20 OK" is malformed (RFC 9112, section 4)"#,
    ),
    (
        b"HTTP/1.1\r\n\r\n",
        r#"the status line "HTTP/1.1" is malformed (RFC 9112, section 4)"#,
    ),
    (
        b"HTTP/1.1 200 O\x00K\r\n\r\n",
        r#"the status line "HTTP/1.1 200 O\x00K" is malformed (RFC 9112, section 4)"#,
    ),
    // Headers.
    (
        b"HTTP/1.1 200 OK\r\nA: b\r\njunk without colon\r\n\r\n",
        r#"the header line "junk without colon" is malformed (RFC 9112, section 5)"#,
    ),
    (
        b"HTTP/1.1 200 OK\r\nA: b\r\nName : x\r\n\r\n",
        r#"the header line "Name : x" is malformed (RFC 9112, section 5)"#,
    ),
    (
        b"HTTP/1.1 200 OK\r\n: x\r\n\r\n",
        r#"the header line ": x" is malformed (RFC 9112, section 5)"#,
    ),
    (
        b"HTTP/1.1 200 OK\r\nA: \x1b[31m\r\n\r\n",
        r#"the header line "A: \x1b[31m" is malformed (RFC 9112, section 5)"#,
    ),
    (
        b"HTTP/1.1 200 OK\r\n folded into nothing\r\n\r\n",
        r#"the header line " folded into nothing" is malformed (RFC 9112, section 5)"#,
    ),
    (
        b"HTTP/1.1 200 OK\r\nA: b\r\n c\x00\r\n\r\n",
        r#"the header line " c\x00" is malformed (RFC 9112, section 5)"#,
    ),
    (
        b"HTTP/1.1 200 OK\r\nA: b\rc: d\r\n\r\n",
        r#"the header line "A: b\rc: d" is malformed (RFC 9112, section 5)"#,
    ),
    (
        b"HTTP/1.1 200 OK\r\na:\r\na:\r\na:\r\na:\r\na:\r\n\r\n",
        "the response has more than 4 header lines",
    ),
    // Framing.
    (
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 7\r\n\r\n",
        "two different Content-Length values, 5 and 7 (RFC 9112, section 6.3)",
    ),
    (
        b"HTTP/1.1 200 OK\r\nContent-Length: 5, 7\r\n\r\n",
        "two different Content-Length values, 5 and 7 (RFC 9112, section 6.3)",
    ),
    (
        b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        r#"Content-Length "-1" is not a number of bytes (RFC 9110, section 8.6)"#,
    ),
    (
        b"HTTP/1.1 200 OK\r\nContent-Length: +5\r\n\r\n",
        r#"Content-Length "+5" is not a number of bytes (RFC 9110, section 8.6)"#,
    ),
    (
        b"HTTP/1.1 200 OK\r\nContent-Length: 0x5\r\n\r\n",
        r#"Content-Length "0x5" is not a number of bytes (RFC 9110, section 8.6)"#,
    ),
    (
        b"HTTP/1.1 200 OK\r\nContent-Length: 5 5\r\n\r\n",
        r#"Content-Length "5 5" is not a number of bytes (RFC 9110, section 8.6)"#,
    ),
    (
        b"HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\n",
        r#"Content-Length "" is not a number of bytes (RFC 9110, section 8.6)"#,
    ),
    (
        b"HTTP/1.1 200 OK\r\nContent-Length: 5,\r\n\r\n",
        r#"Content-Length "" is not a number of bytes (RFC 9110, section 8.6)"#,
    ),
    (
        b"HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551616\r\n\r\n",
        r#"Content-Length "18446744073709551616" is not a number of bytes (RFC 9110, section 8.6)"#,
    ),
    (
        b"HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551615\r\n\r\n",
        "the response body is longer than 10 bytes",
    ),
    (
        b"HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n",
        "the response body is longer than 10 bytes",
    ),
    (
        b"HTTP/1.1 200 OK\r\n\r\n01234567890",
        "the response body is longer than 10 bytes",
    ),
    (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
        r#"Transfer-Encoding "gzip, chunked" was not requested and cannot be read (RFC 9112, section 7)"#,
    ),
    (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
        r#"Transfer-Encoding "chunked, chunked" was not requested and cannot be read (RFC 9112, section 7)"#,
    ),
    // Interim responses.
    (
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\n\r\n",
        "the server switches protocols (101), which was not requested (RFC 9110, section 7.8)",
    ),
    (
        b"HTTP/1.1 100 \r\n\r\nHTTP/1.1 100 \r\n\r\nHTTP/1.1 100 \r\n\r\n",
        "more than 2 interim responses came before the final one",
    ),
    (
        b"HTTP/1.1 100 \r\n\r\n",
        "the connection ended after an interim response, before the final one (RFC 9112, section 8)",
    ),
    (
        b"HTTP/1.1 100 \r\n\r\njunk",
        r#"the response is not HTTP, it begins with "junk""#,
    ),
    // Ends.
    (b"", "the connection ended without a response"),
    (
        b"HTTP/1.1 200",
        "the connection ended within the response head, after 12 bytes of it (RFC 9112, section 8)",
    ),
    (
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel",
        "the connection ended after 3 of 5 body bytes (RFC 9112, section 8)",
    ),
    (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel",
        "the connection ended within the chunked body, after 3 bytes of it (RFC 9112, section 8)",
    ),
];

/// Chunked bodies, and the whole text of the error.
const CHUNKED: &[(&[u8], &str)] = &[
    (
        b"g\r\n",
        r#"a chunk size has "g" in it (RFC 9112, section 7.1)"#,
    ),
    (
        b"-1\r\n",
        r#"a chunk size has "-" in it (RFC 9112, section 7.1)"#,
    ),
    (
        b"0x5\r\nhello\r\n",
        r#"a chunk size has "x" in it (RFC 9112, section 7.1)"#,
    ),
    (
        b"1 1\r\n",
        r#"a chunk size has "1" in it (RFC 9112, section 7.1)"#,
    ),
    (
        b" 5\r\nhello\r\n",
        r#"a chunk size has " " in it (RFC 9112, section 7.1)"#,
    ),
    (
        b"\r\n",
        r#"a chunk size has "\r" in it (RFC 9112, section 7.1)"#,
    ),
    (
        b";x\r\n",
        r#"a chunk size has ";" in it (RFC 9112, section 7.1)"#,
    ),
    (
        b"\x15\x03",
        r#"a chunk size has "\x15" in it (RFC 9112, section 7.1)"#,
    ),
    (
        b"5\nhello\r\n",
        r#""\n" stands where a chunk needs its CR LF (RFC 9112, section 7.1)"#,
    ),
    (
        b"5;x\nhello\r\n",
        r#""\n" stands where a chunk needs its CR LF (RFC 9112, section 7.1)"#,
    ),
    (
        b"5\rhello\r\n",
        r#""h" stands where a chunk needs its CR LF (RFC 9112, section 7.1)"#,
    ),
    (
        b"5\r\nhello!\r\n",
        r#""!" stands where a chunk needs its CR LF (RFC 9112, section 7.1)"#,
    ),
    (
        b"5\r\nhello\n",
        r#""\n" stands where a chunk needs its CR LF (RFC 9112, section 7.1)"#,
    ),
    (
        b"5\r\nhello\rx",
        r#""x" stands where a chunk needs its CR LF (RFC 9112, section 7.1)"#,
    ),
    (
        b"10000000000000000\r\n",
        "a chunk size has too many digits (RFC 9112, section 7.1)",
    ),
    (
        b"ffffffffffffffff\r\n",
        "the response body is longer than 10 bytes",
    ),
    (
        b"6\r\nhello,\r\n5\r\n",
        "the response body is longer than 10 bytes",
    ),
    (
        b"6\r\nhello,\r\nffffffffffffffff\r\n",
        "the response body is longer than 10 bytes",
    ),
];

#[test]
fn odd_messages_end_with_the_error_that_says_why() {
    for (message, text) in CASES {
        let reading = feed_all_ways(message, false, SMALL);
        assert_eq!(reading.error(), *text, "{}", message.escape_ascii());
    }
}

#[test]
fn odd_chunks_end_with_the_error_that_says_why() {
    for (chunks, text) in CHUNKED {
        let head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
        let message = [&head[..], chunks].concat();
        let reading = feed_all_ways(&message, false, SMALL);
        assert_eq!(reading.error(), *text, "{}", chunks.escape_ascii());
        assert_eq!(reading.status(), Some(200), "the head was fine and is kept");
    }
}

#[test]
fn error_texts_are_lower_case_without_a_final_period() {
    for (_, text) in CASES.iter().chain(CHUNKED) {
        let names = ["Content-Length", "Transfer-Encoding"];
        let first = text.trim_start_matches('"').chars().next().unwrap();
        assert!(
            names.iter().any(|name| text.starts_with(name)) || !first.is_uppercase(),
            "{text}"
        );
        assert!(!text.ends_with('.'), "{text}");
    }
}

#[test]
fn what_is_not_http_is_known_from_its_first_byte() {
    for first in 0..=u8::MAX {
        let reading = feed(&[first], &[], false, SMALL);
        match first {
            b'H' => assert!(matches!(reading.end, Err(ProtocolError::Truncated(_)))),
            b'\r' | b'\n' => assert_eq!(reading.end, Err(ProtocolError::NoResponse)),
            _ => assert!(
                matches!(reading.end, Err(ProtocolError::NotHttp { .. })),
                "{first}"
            ),
        }
    }
    let tls = feed(b"\x16\x03\x01", &[], false, SMALL).end;
    assert!(matches!(
        tls,
        Err(ProtocolError::NotHttp {
            hint: Hint::Tls,
            ..
        })
    ));
}

/// Everything that could be endless, and the limit that stops it.
#[test]
fn endless_messages_are_stopped() {
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    let cases: [(&str, &str, &str); 9] = [
        (
            "HTTP/1.1 200 ",
            "x",
            "the response head is longer than 65536 bytes",
        ),
        (
            "HTTP/1.1 200 OK\r\nX: ",
            "x",
            "the response head is longer than 65536 bytes",
        ),
        (
            "HTTP/1.1 200 OK\r\n",
            "X: y\r\n",
            "the response head is longer than 65536 bytes",
        ),
        (
            "HTTP/1.1 200 OK\r\nX: y\r\n",
            " z\r\n",
            "the response head is longer than 65536 bytes",
        ),
        (
            "",
            "HTTP/1.1 102 \r\n\r\n",
            "more than 16 interim responses came before the final one",
        ),
        (
            chunked,
            "0",
            "a chunk size has too many digits (RFC 9112, section 7.1)",
        ),
        (
            &format!("{chunked}1"),
            " ",
            "the chunk extensions are longer than 16384 bytes",
        ),
        (
            chunked,
            "1;extension\r\nx\r\n",
            "the chunk extensions are longer than 16384 bytes",
        ),
        (
            &format!("{chunked}0\r\n"),
            "X: y\r\n",
            "the trailers are longer than 65536 bytes",
        ),
    ];
    for (start, repeated, text) in cases {
        let message = [start, &repeated.repeat(80_000 / repeated.len() + 1)].concat();
        let whole = feed(message.as_bytes(), &[], false, Limits::default());
        let pieces: Vec<usize> = (0..message.len()).step_by(1000).collect();
        let cut = feed(message.as_bytes(), &pieces, false, Limits::default());
        assert_eq!(whole.error(), text);
        assert_eq!(whole.error(), cut.error());
    }
}

#[test]
fn bounds_are_exact() {
    let head = |bytes: usize| {
        let empty = "HTTP/1.1 204 \r\nX: \r\n\r\n";
        empty.replace("X: ", &format!("X: {}", "x".repeat(bytes - empty.len())))
    };
    let read = |message: &str| feed_all_ways(message.as_bytes(), false, SMALL).end;
    assert_eq!(read(&head(200)), Ok(()));
    assert_eq!(read(&head(201)), Err(ProtocolError::HeadTooLong(200)));

    assert_eq!(
        read("HTTP/1.1 204 \r\na:\r\na:\r\na:\r\na:\r\n\r\n"),
        Ok(())
    );
    assert_eq!(read("HTTP/1.1 200 OK\r\n\r\n0123456789"), Ok(()));
    assert_eq!(
        read("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n0123456789"),
        Ok(())
    );
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    assert_eq!(
        read(&format!("{chunked}a\r\n0123456789\r\n0\r\n\r\n")),
        Ok(())
    );
    let interim = "HTTP/1.1 100 \r\n\r\n".repeat(2);
    assert_eq!(read(&format!("{interim}HTTP/1.1 204 \r\n\r\n")), Ok(()));
}

/// A response that arrives before the request was sent is read like any other.
#[test]
fn an_early_refusal_is_a_response() {
    let message = b"HTTP/1.1 413 Too Large\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
    let reading = feed_all_ways(message, false, Limits::default());
    assert_eq!((reading.status(), reading.reusable), (Some(413), false));
}
