//! From the bytes of one head to a [`ResponseHead`].

use std::mem::MaybeUninit;

use super::{Hint, Limits, ProtocolError, ResponseHead, Version};
use crate::{excerpt, redact};

/// How every response begins, up to the minor version.
const START: &[u8] = b"HTTP/1.";
/// Offset of the status code in a status line.
pub(super) const STATUS_AT: usize = b"HTTP/1.1 ".len();

/// Header fields for which there is room on the stack: the usual limit.
const STACK_FIELDS: usize = 128;

/// Fails as soon as the input cannot be the beginning of a response.
pub(super) fn check_start(input: &[u8]) -> Result<(), ProtocolError> {
    let protocol = b"HTTP/";
    if !agree(input, protocol) {
        return Err(not_http(input));
    }
    let minor = input.get(START.len());
    let minor_is_known = minor.is_none_or(|minor| matches!(minor, b'0' | b'1'));
    if !agree(input, START) || !minor_is_known {
        let line = excerpt::escaped_bytes(first_line(input));
        return Err(ProtocolError::Version(line));
    }
    Ok(())
}

/// True if one is the beginning of the other.
fn agree(input: &[u8], start: &[u8]) -> bool {
    input.iter().zip(start).all(|(a, b)| a == b)
}

pub(super) fn not_http(input: &[u8]) -> ProtocolError {
    ProtocolError::NotHttp {
        start: excerpt::escaped_bytes(input),
        hint: Hint::guess(input),
    }
}

/// Parses the head that `input` begins with into `head` and returns its length, if it is complete
/// and ordinary: the fast path for nearly all heads.
///
/// Other heads are left to [`parse`]; both give the same result where both can parse.
pub(super) fn parse_plain(input: &[u8], limits: &Limits, head: &mut ResponseHead) -> Option<usize> {
    let mut room = [const { MaybeUninit::uninit() }; STACK_FIELDS];
    let room = &mut room[..limits.headers.min(STACK_FIELDS)];
    let mut response = httparse::Response::new(&mut []);
    // The default configuration rejects folds, so there are as many lines as there are fields.
    let length = match httparse::ParserConfig::default().parse_response_with_uninit_headers(
        &mut response,
        input,
        room,
    ) {
        Ok(httparse::Status::Complete(length)) if length <= limits.head_bytes => length,
        _ => return None,
    };
    let text = str::from_utf8(&input[..length]).ok()?;
    take_status_line(&response, head)?;
    head.headers.take_over(text, response.headers);
    Some(length)
}

/// Parses a complete head of `lines` lines, the empty one included, into `head`.
pub(super) fn parse(
    bytes: &[u8],
    lines: usize,
    max_headers: usize,
    head: &mut ResponseHead,
) -> Result<(), ProtocolError> {
    // Folds make fewer headers than lines; the bound is on the lines that were read.
    let header_lines = lines.saturating_sub(2);
    if header_lines > max_headers {
        return Err(ProtocolError::TooManyHeaders(max_headers));
    }
    let mut on_stack = [const { MaybeUninit::uninit() }; STACK_FIELDS];
    let mut on_heap = Vec::new();
    let room = match on_stack.get_mut(..header_lines) {
        Some(room) => room,
        None => {
            on_heap.resize(header_lines, MaybeUninit::uninit());
            &mut on_heap[..]
        }
    };
    let mut response = httparse::Response::new(&mut []);
    let mut config = httparse::ParserConfig::default();
    config.allow_obsolete_multiline_headers_in_responses(true);
    let complete = config
        .parse_response_with_uninit_headers(&mut response, bytes, room)
        .is_ok_and(|status| status == httparse::Status::Complete(bytes.len()));
    if !complete || take_status_line(&response, head).is_none() {
        return Err(malformed(bytes));
    }
    head.headers.clear();
    for field in response.headers.iter() {
        head.headers.push(field.name, field.value);
    }
    Ok(())
}

/// `None` if the status is below 100, which the parser accepts.
fn take_status_line(response: &httparse::Response<'_, '_>, head: &mut ResponseHead) -> Option<()> {
    head.status = response.code.filter(|&status| status >= 100)?;
    head.version = match response.version? {
        0 => Version::Http10,
        _ => Version::Http11,
    };
    head.reason.clear();
    head.reason.push_str(response.reason?);
    Some(())
}

/// Finds the line that the parser rejected, for the message: each line is parsed alone.
fn malformed(bytes: &[u8]) -> ProtocolError {
    let lines = bytes.split(|&byte| byte == b'\n');
    let mut lines = lines.map(|line| line.trim_ascii_end());
    let status_line = lines.next().unwrap_or_default();
    if !parses(&[status_line]) {
        return ProtocolError::StatusLine(excerpt::escaped_bytes(status_line));
    }
    let mut before: &[u8] = b"";
    let culprit = lines.find(|line| {
        let is_fold = line.starts_with(b" ") || line.starts_with(b"\t");
        // A fold is judged as the second line of a header, unless there was none to continue.
        let continues = is_fold && !before.is_empty();
        let name: &[u8] = if continues { b"x:" } else { b"" };
        before = line;
        !line.is_empty() && !parses(&[b"HTTP/1.1 200 OK", &[name, line].concat()])
    });
    let culprit = redact::malformed(culprit.unwrap_or_default());
    ProtocolError::HeaderLine(excerpt::escaped_bytes(culprit))
}

/// True if these lines are a head by themselves.
fn parses(lines: &[&[u8]]) -> bool {
    let bytes = [&lines.join(&b"\r\n"[..]), &b"\r\n\r\n"[..]].concat();
    let mut field = [httparse::EMPTY_HEADER];
    let mut response = httparse::Response::new(&mut field);
    let complete = matches!(response.parse(&bytes), Ok(httparse::Status::Complete(_)));
    complete && response.code.is_some_and(|code| code >= 100)
}

fn first_line(input: &[u8]) -> &[u8] {
    let line = input.split(|&byte| byte == b'\n').next();
    line.unwrap_or_default().trim_ascii_end()
}
