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

/// Messages with the escapes of [`unescaped`], and the whole text of the error.
const CASES: &str = r#"
    => the connection ended without a response
    \x15\x03\x03\x00\x02\x02\x46
        => the response is not HTTP, it begins with "\x15\x03\x03\x00\x02\x02F": it looks like TLS, so try https
    \x00\x00\x12\x04\x00\x00\x00\x00\x00
        => the response is not HTTP, it begins with "\x00\x00\x12\x04\x00\x00\x00\x00\x00": it looks like HTTP/2 (--http 2)
    PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n => the response is not HTTP, it begins with "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
    SSH-2.0-OpenSSH_9.2\r\n
        => the response is not HTTP, it begins with "SSH-2.0-OpenSSH_9.2\r\n": it may be an SSH server, so check the port
    220 mail ESMTP\r\n
        => the response is not HTTP, it begins with "220 mail ESMTP\r\n": it looks like a mail or FTP server, so check the port
    <html> => the response is not HTTP, it begins with "<html>": it looks like a body without a response head
    HTTQ/1.1 200 OK\r\n\r\n => the response is not HTTP, it begins with "HTTQ/1.1 200 OK\r\n\r\n"
    http/1.1 200 OK\r\n\r\n => the response is not HTTP, it begins with "http/1.1 200 OK\r\n\r\n"
    \x20HTTP/1.1 200 OK\r\n\r\n => the response is not HTTP, it begins with " HTTP/1.1 200 OK\r\n\r\n"
    \r\n\r\n\r\n\r\n\r\n => the response is not HTTP, it begins with "\r\n\r\n\r\n\r\n\r\n"
    HTTP/2 200 OK\r\n\r\n => the status line "HTTP/2 200 OK" is not of HTTP/1.0 or HTTP/1.1 (RFC 9112, section 2.3)
    HTTP/1.2 200 OK\r\n\r\n => the status line "HTTP/1.2 200 OK" is not of HTTP/1.0 or HTTP/1.1 (RFC 9112, section 2.3)
    HTTP/1.1 OK\r\n\r\n => the status line "HTTP/1.1 OK" is malformed (RFC 9112, section 4)
    HTTP/1.1  200 OK\r\n\r\n => the status line "HTTP/1.1  200 OK" is malformed (RFC 9112, section 4)
    HTTP/1.1 20 OK\r\n\r\n => the status line "HTTP/1.1 20 OK" is malformed (RFC 9112, section 4)
    HTTP/1.1 2000 OK\r\n\r\n => the status line "HTTP/1.1 2000 OK" is malformed (RFC 9112, section 4)
    HTTP/1.1 099 OK\r\n\r\n => the status line "HTTP/1.1 099 OK" is malformed (RFC 9112, section 4)
    HTTP/1.1 -20 OK\r\n\r\n => the status line "HTTP/1.1 -20 OK" is malformed (RFC 9112, section 4)
    HTTP/1.1\r\n\r\n => the status line "HTTP/1.1" is malformed (RFC 9112, section 4)
    HTTP/1.1 200 O\x00K\r\n\r\n => the status line "HTTP/1.1 200 O\x00K" is malformed (RFC 9112, section 4)
    HTTP/1.1 200 OK\r\nA: b\r\njunk without colon\r\n\r\n
        => the header line "junk without colon" is malformed (RFC 9112, section 5)
    HTTP/1.1 200 OK\r\nA: b\r\nName : x\r\n\r\n => the header line "Name : x" is malformed (RFC 9112, section 5)
    HTTP/1.1 200 OK\r\n: x\r\n\r\n => the header line ": x" is malformed (RFC 9112, section 5)
    HTTP/1.1 200 OK\r\nA: \x1b[31m\r\n\r\n => the header line "A: \x1b[31m" is malformed (RFC 9112, section 5)
    HTTP/1.1 200 OK\r\n folded into nothing\r\n\r\n
        => the header line " folded into nothing" is malformed (RFC 9112, section 5)
    HTTP/1.1 200 OK\r\nA: b\r\n c\x00\r\n\r\n => the header line " c\x00" is malformed (RFC 9112, section 5)
    HTTP/1.1 200 OK\r\nA: b\rc: d\r\n\r\n => the header line "A: b\rc: d" is malformed (RFC 9112, section 5)
    HTTP/1.1 200 OK\r\na:\r\na:\r\na:\r\na:\r\na:\r\n\r\n => the response has more than 4 header lines
    HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 7\r\n\r\n
        => two different Content-Length values, 5 and 7 (RFC 9112, section 6.3)
    HTTP/1.1 200 OK\r\nContent-Length: 5, 7\r\n\r\n
        => two different Content-Length values, 5 and 7 (RFC 9112, section 6.3)
    HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n
        => Content-Length "-1" is not a number of bytes (RFC 9110, section 8.6)
    HTTP/1.1 200 OK\r\nContent-Length: +5\r\n\r\n
        => Content-Length "+5" is not a number of bytes (RFC 9110, section 8.6)
    HTTP/1.1 200 OK\r\nContent-Length: 0x5\r\n\r\n
        => Content-Length "0x5" is not a number of bytes (RFC 9110, section 8.6)
    HTTP/1.1 200 OK\r\nContent-Length: 5 5\r\n\r\n
        => Content-Length "5 5" is not a number of bytes (RFC 9110, section 8.6)
    HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\n => Content-Length "" is not a number of bytes (RFC 9110, section 8.6)
    HTTP/1.1 200 OK\r\nContent-Length: 5,\r\n\r\n => Content-Length "" is not a number of bytes (RFC 9110, section 8.6)
    HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551616\r\n\r\n
        => Content-Length "18446744073709551616" is not a number of bytes (RFC 9110, section 8.6)
    HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551615\r\n\r\n => the response body is longer than 10 bytes
    HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n => the response body is longer than 10 bytes
    HTTP/1.1 200 OK\r\n\r\n01234567890 => the response body is longer than 10 bytes
    HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n
        => Transfer-Encoding "gzip, chunked" was not requested and cannot be read (RFC 9112, section 7)
    HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n
        => Transfer-Encoding "chunked, chunked" was not requested and cannot be read (RFC 9112, section 7)
    HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\n\r\n
        => the server switches protocols (101), which was not requested (RFC 9110, section 7.8)
    HTTP/1.1 100 \r\n\r\nHTTP/1.1 100 \r\n\r\nHTTP/1.1 100 \r\n\r\n
        => more than 2 interim responses came before the final one
    HTTP/1.1 100 \r\n\r\n => the connection ended after an interim response, before the final one (RFC 9112, section 8)
    HTTP/1.1 100 \r\n\r\njunk => the response is not HTTP, it begins with "junk"
    HTTP/1.1 200 => the connection ended within the response head, after 12 bytes of it (RFC 9112, section 8)
    HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel
        => the connection ended after 3 of 5 body bytes (RFC 9112, section 8)
    HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel
        => the connection ended within the chunked body, after 3 bytes of it (RFC 9112, section 8)
"#;

/// Chunked bodies, and the whole text of the error.
const CHUNKED: &str = r#"
    g\r\n => a chunk size has "g" in it (RFC 9112, section 7.1)
    -1\r\n => a chunk size has "-" in it (RFC 9112, section 7.1)
    0x5\r\nhello\r\n => a chunk size has "x" in it (RFC 9112, section 7.1)
    1 1\r\n => a chunk size has "1" in it (RFC 9112, section 7.1)
    \x205\r\nhello\r\n => a chunk size has " " in it (RFC 9112, section 7.1)
    \r\n => a chunk size has "\r" in it (RFC 9112, section 7.1)
    ;x\r\n => a chunk size has ";" in it (RFC 9112, section 7.1)
    \x15\x03 => a chunk size has "\x15" in it (RFC 9112, section 7.1)
    5\nhello\r\n => "\n" stands where a chunk needs its CR LF (RFC 9112, section 7.1)
    5;x\nhello\r\n => "\n" stands where a chunk needs its CR LF (RFC 9112, section 7.1)
    5\rhello\r\n => "h" stands where a chunk needs its CR LF (RFC 9112, section 7.1)
    5\r\nhello!\r\n => "!" stands where a chunk needs its CR LF (RFC 9112, section 7.1)
    5\r\nhello\n => "\n" stands where a chunk needs its CR LF (RFC 9112, section 7.1)
    5\r\nhello\rx => "x" stands where a chunk needs its CR LF (RFC 9112, section 7.1)
    10000000000000000\r\n => a chunk size has too many digits (RFC 9112, section 7.1)
    ffffffffffffffff\r\n => the response body is longer than 10 bytes
    6\r\nhello,\r\n5\r\n => the response body is longer than 10 bytes
    6\r\nhello,\r\nffffffffffffffff\r\n => the response body is longer than 10 bytes
"#;

/// The bytes of a text with the escapes `\r`, `\n` and `\x20`.
fn unescaped(text: &str) -> Vec<u8> {
    let mut parts = text.split('\\');
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        let (escape, rest) = part.split_at(if part.starts_with('x') { 3 } else { 1 });
        bytes.push(match escape {
            "r" => b'\r',
            "n" => b'\n',
            hex => u8::from_str_radix(&hex[1..], 16).unwrap(),
        });
        bytes.extend_from_slice(rest.as_bytes());
    }
    bytes
}

#[test]
fn odd_messages_end_with_the_error_that_says_why() {
    for [message, text] in cases::rows(CASES) {
        let reading = feed_all_ways(&unescaped(message), false, SMALL);
        assert_eq!(reading.error(), text, "{message}");
    }
}

#[test]
fn odd_chunks_end_with_the_error_that_says_why() {
    for [chunks, text] in cases::rows(CHUNKED) {
        let head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
        let message = [&head[..], &unescaped(chunks)].concat();
        let reading = feed_all_ways(&message, false, SMALL);
        assert_eq!(reading.error(), text, "{chunks}");
        assert_eq!(reading.status(), Some(200), "the head was fine and is kept");
    }
}

#[test]
fn error_texts_are_lower_case_without_a_final_period() {
    for [_, text] in cases::rows(CASES).into_iter().chain(cases::rows(CHUNKED)) {
        let mut names = ["Content-Length", "Transfer-Encoding"].iter();
        let is_name = names.any(|name| text.starts_with(name));
        let first = text.trim_start_matches('"').chars().next().unwrap();
        assert!(is_name || !first.is_uppercase(), "{text}");
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
    let Err(ProtocolError::NotHttp { hint, .. }) = tls else {
        panic!("{tls:?}")
    };
    assert_eq!(hint, Hint::Tls);
}

/// Everything that could be endless, and the limit that stops it.
#[test]
fn endless_messages_are_stopped() {
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    let head = "the response head is longer than 65536 bytes";
    let interim = "more than 16 interim responses came before the final one";
    let digits = "a chunk size has too many digits (RFC 9112, section 7.1)";
    let extensions = "the chunk extensions are longer than 16384 bytes";
    let trailers = "the trailers are longer than 65536 bytes";
    let cases: [(&str, &str, &str); 9] = [
        ("HTTP/1.1 200 ", "x", head),
        ("HTTP/1.1 200 OK\r\nX: ", "x", head),
        ("HTTP/1.1 200 OK\r\n", "X: y\r\n", head),
        ("HTTP/1.1 200 OK\r\nX: y\r\n", " z\r\n", head),
        ("", "HTTP/1.1 102 \r\n\r\n", interim),
        (chunked, "0", digits),
        (&format!("{chunked}1"), " ", extensions),
        (chunked, "1;extension\r\nx\r\n", extensions),
        (&format!("{chunked}0\r\n"), "X: y\r\n", trailers),
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

    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    let interim = "HTTP/1.1 100 \r\n\r\n".repeat(2);
    for message in [
        "HTTP/1.1 204 \r\na:\r\na:\r\na:\r\na:\r\n\r\n",
        "HTTP/1.1 200 OK\r\n\r\n0123456789",
        "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n0123456789",
        &format!("{chunked}a\r\n0123456789\r\n0\r\n\r\n"),
        &format!("{interim}HTTP/1.1 204 \r\n\r\n"),
    ] {
        assert_eq!(read(message), Ok(()), "{message}");
    }
}

/// A response that arrives before the request was sent is read like any other.
#[test]
fn an_early_refusal_is_a_response() {
    let message = b"HTTP/1.1 413 Too Large\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
    let reading = feed_all_ways(message, false, Limits::default());
    assert_eq!((reading.status(), reading.reusable), (Some(413), false));
}
