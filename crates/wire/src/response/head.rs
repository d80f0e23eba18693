//! From the bytes of one head to a [`ResponseHead`], and from that to the framing of the body.

use super::{Headers, Hint, ProtocolError, ResponseHead, Version};
use crate::excerpt;

/// How every response begins, up to the minor version.
const START: &[u8] = b"HTTP/1.";
/// Where the status code stands in a status line.
pub(super) const STATUS_AT: usize = b"HTTP/1.1 ".len();

/// How the end of a body is found (RFC 9112, section 6.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Framing {
    None,
    Length(u64),
    Chunked,
    UntilClose,
}

pub(super) struct BodyFraming {
    pub(super) body: Framing,
    /// The connection's next response surely begins where this one ends.
    pub(super) trusted: bool,
}

/// Fails as soon as the beginning of a message cannot be that of a response.
pub(super) fn check_start(input: &[u8]) -> Result<(), ProtocolError> {
    let protocol = b"HTTP/";
    if !agree(input, protocol) {
        return Err(not_http(input));
    }
    let minor_is_known = input
        .get(START.len())
        .is_none_or(|minor| matches!(minor, b'0' | b'1'));
    if !agree(input, START) || !minor_is_known {
        return Err(ProtocolError::Version(excerpt::of_bytes(first_line(input))));
    }
    Ok(())
}

/// One is the beginning of the other.
fn agree(input: &[u8], start: &[u8]) -> bool {
    input.iter().zip(start).all(|(a, b)| a == b)
}

pub(super) fn not_http(input: &[u8]) -> ProtocolError {
    ProtocolError::NotHttp {
        start: excerpt::of_bytes(input),
        hint: Hint::of(input),
    }
}

/// Parses a complete head that has so many lines, the empty one included.
pub(super) fn parse(
    bytes: &[u8],
    lines: usize,
    max_headers: usize,
) -> Result<ResponseHead, ProtocolError> {
    // Folds make fewer headers than lines; the bound is on what the server made us read.
    let header_lines = lines.saturating_sub(2);
    if header_lines > max_headers {
        return Err(ProtocolError::TooManyHeaders(max_headers));
    }
    let mut fields = vec![httparse::EMPTY_HEADER; header_lines];
    let mut response = httparse::Response::new(&mut fields);
    let mut config = httparse::ParserConfig::default();
    config.allow_obsolete_multiline_headers_in_responses(true);
    let complete = config
        .parse_response(&mut response, bytes)
        .is_ok_and(|status| status == httparse::Status::Complete(bytes.len()));
    let (true, Some(minor), Some(status @ 100..)) = (complete, response.version, response.code)
    else {
        return Err(malformed(bytes));
    };
    let mut headers = Headers::new();
    for field in response.headers.iter() {
        headers.push(field.name, field.value);
    }
    Ok(ResponseHead {
        version: if minor == 0 {
            Version::Http10
        } else {
            Version::Http11
        },
        status,
        reason: response.reason.unwrap_or_default().to_owned(),
        headers,
    })
}

/// Finds the line that the parser did not like, for the message: it parses each of them alone.
fn malformed(bytes: &[u8]) -> ProtocolError {
    let mut lines = bytes
        .split(|&byte| byte == b'\n')
        .map(|line| line.trim_ascii_end());
    let status_line = lines.next().unwrap_or_default();
    if !parses(&[status_line]) {
        return ProtocolError::StatusLine(excerpt::of_bytes(status_line));
    }
    let mut before: &[u8] = b"";
    let culprit = lines.find(|line| {
        let is_fold = line.starts_with(b" ") || line.starts_with(b"\t");
        // A fold is judged as the second line of a header, unless there was none to continue.
        let name: &[u8] = if is_fold && !before.is_empty() {
            b"x:"
        } else {
            b""
        };
        before = line;
        !line.is_empty() && !parses(&[b"HTTP/1.1 200 OK", &[name, line].concat()])
    });
    ProtocolError::HeaderLine(excerpt::of_bytes(culprit.unwrap_or_default()))
}

/// These lines are a head by themselves.
fn parses(lines: &[&[u8]]) -> bool {
    let bytes = [&lines.join(&b"\r\n"[..]), &b"\r\n\r\n"[..]].concat();
    let mut field = [httparse::EMPTY_HEADER];
    let mut response = httparse::Response::new(&mut field);
    let complete = matches!(response.parse(&bytes), Ok(httparse::Status::Complete(_)));
    complete && response.code.is_some_and(|code| code >= 100)
}

fn first_line(input: &[u8]) -> &[u8] {
    input
        .split(|&byte| byte == b'\n')
        .next()
        .unwrap_or_default()
        .trim_ascii_end()
}

/// The rules of RFC 9112, section 6.3, in its order.
pub(super) fn framing(
    head: &ResponseHead,
    request_is_head: bool,
) -> Result<BodyFraming, ProtocolError> {
    if request_is_head || matches!(head.status, 204 | 304) {
        return Ok(BodyFraming {
            body: Framing::None,
            trusted: true,
        });
    }
    if is_chunked(&head.headers)? {
        let has_length = head.headers.get("Content-Length").is_some();
        let trusted = head.version == Version::Http11 && !has_length;
        return Ok(BodyFraming {
            body: Framing::Chunked,
            trusted,
        });
    }
    Ok(match content_length(&head.headers)? {
        Some(length) => BodyFraming {
            body: Framing::Length(length),
            trusted: true,
        },
        None => BodyFraming {
            body: Framing::UntilClose,
            trusted: false,
        },
    })
}

/// `chunked` is the only coding we can undo; `identity` once meant none.
fn is_chunked(headers: &Headers) -> Result<bool, ProtocolError> {
    let mut codings = headers
        .list("Transfer-Encoding")
        .filter(|coding| !coding.eq_ignore_ascii_case("identity"));
    match (codings.next(), codings.next()) {
        (None, _) => Ok(false),
        (Some(only), None) if only.eq_ignore_ascii_case("chunked") => Ok(true),
        _ => {
            let all: Vec<_> = headers.get_all("Transfer-Encoding").collect();
            Err(ProtocolError::TransferEncoding(excerpt::of_text(
                &all.join(", "),
            )))
        }
    }
}

/// The same number several times is one number; anything else is an error.
fn content_length(headers: &Headers) -> Result<Option<u64>, ProtocolError> {
    let mut length = None;
    for value in headers
        .get_all("Content-Length")
        .flat_map(|value| value.split(','))
    {
        let value = value.trim_matches([' ', '\t']);
        let number = match value.parse::<u64>() {
            // `parse` takes a leading plus.
            Ok(number) if value.bytes().all(|byte| byte.is_ascii_digit()) => number,
            _ => return Err(ProtocolError::ContentLength(excerpt::of_text(value))),
        };
        match length {
            Some(other) if other != number => {
                return Err(ProtocolError::ContentLengths(other, number));
            }
            _ => length = Some(number),
        }
    }
    Ok(length)
}
