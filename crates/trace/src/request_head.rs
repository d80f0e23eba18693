//! Heads of requests and responses of HTTP/1, as far as they were captured. Pure.

use crate::reassembly::NewBytes;

/// Longest head that is read.
const LONGEST_HEAD: usize = 16 * 1024;

/// Bytes of a method or path that are kept.
pub(crate) const LONGEST_NAME: usize = 512;

/// The start of a request or response, as far as it is needed and was captured.
#[derive(Debug, Default)]
pub(crate) struct HeadStart {
    pub(crate) bytes: Vec<u8>,
    pub(crate) is_over: bool,
}

impl HeadStart {
    /// Adds bytes; true when the head is complete or will not become so.
    pub(crate) fn add(&mut self, bytes: &NewBytes) -> bool {
        if self.is_over {
            return false;
        }
        let room = LONGEST_HEAD - self.bytes.len();
        let captured = &bytes.captured[..bytes.captured.len().min(room)];
        // The end of the head can begin in the bytes before these.
        let searched = self.bytes.len().saturating_sub(3);
        self.bytes.extend_from_slice(captured);
        let is_cut = (captured.len() as i64) < bytes.length;
        let mut ends = self.bytes[searched..].windows(4);
        self.is_over = is_cut || ends.any(|end| end == b"\r\n\r\n");
        self.is_over
    }
}

/// The fields of the beginning of a request.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RequestStart {
    pub(crate) number: Option<u64>,
    /// Bytes of the whole request, if known.
    pub(crate) length: Option<i64>,
}

impl RequestStart {
    pub(crate) fn parse(bytes: &[u8]) -> RequestStart {
        let mut headers = [httparse::EMPTY_HEADER; 64];
        let mut request = httparse::Request::new(&mut headers);
        let Ok(httparse::Status::Complete(head)) = request.parse(bytes) else {
            return RequestStart::default();
        };
        let value = |name: &str| {
            let mut headers = request.headers.iter();
            let found = headers.find(|header| header.name.eq_ignore_ascii_case(name))?;
            str::from_utf8(found.value).ok()
        };
        let body: Option<u32> = match (value("Content-Length"), value("Transfer-Encoding")) {
            (Some(length), None) => length.parse().ok(),
            (None, None) => Some(0),
            _ => None,
        };
        RequestStart {
            number: value("X-Prestan").and_then(number),
            length: body.map(|body| head as i64 + i64::from(body)),
        }
    }
}

/// The number of `suite: 000017 (measure)`.
pub(crate) fn number(label: &str) -> Option<u64> {
    let (before, _) = label.rsplit_once(" (")?;
    let (_, number) = before.rsplit_once(": ")?;
    number.parse().ok()
}

/// Method and target of a request, if the bytes begin with both.
pub(crate) fn request_line(head: &[u8]) -> (Option<String>, Option<String>) {
    let line = head.split(|byte| *byte == b'\r').next().unwrap_or_default();
    let line = &line[..line.len().min(2 * LONGEST_NAME)];
    let Ok(line) = str::from_utf8(line) else {
        return (None, None);
    };
    let mut words = line.split(' ');
    let is_name =
        |word: &&str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_graphic());
    let method = words.next().filter(is_name);
    let path = words.next().filter(is_name);
    if path.is_none() {
        return (None, None);
    }
    let kept = |word: &str| word[..word.len().min(LONGEST_NAME)].to_owned();
    (method.map(kept), path.map(kept))
}

/// True if these bytes begin with the line of a request, as far as they were captured.
pub(crate) fn begins_request(bytes: &[u8]) -> bool {
    let line = bytes
        .split(|byte| *byte == b'\r')
        .next()
        .unwrap_or_default();
    let mut words = line.splitn(3, |byte| *byte == b' ');
    let method = words.next().unwrap_or_default();
    let is_method = !method.is_empty() && method.iter().all(u8::is_ascii_uppercase);
    is_method
        && words.next().is_some()
        && words
            .next()
            .is_some_and(|version| version.starts_with(b"HTTP/1."))
}

/// The status of a response; a head that was cut has its status line.
pub(crate) fn status(head: &[u8]) -> Option<u16> {
    let mut headers = [httparse::EMPTY_HEADER; 64];
    let mut response = httparse::Response::new(&mut headers);
    let _ = response.parse(head);
    response.code
}

/// Bytes of a response with its head, if the head declares them.
pub(crate) fn response_length(head: &[u8]) -> Option<u64> {
    let mut headers = [httparse::EMPTY_HEADER; 64];
    let mut response = httparse::Response::new(&mut headers);
    let Ok(httparse::Status::Complete(length)) = response.parse(head) else {
        return None;
    };
    let mut headers = response.headers.iter();
    let found = headers.find(|header| header.name.eq_ignore_ascii_case("Content-Length"))?;
    let body: u64 = str::from_utf8(found.value).ok()?.parse().ok()?;
    // The response to a HEAD, and a 304, have a length and no body.
    let has_body = !matches!(response.code, Some(100..200 | 204 | 304));
    has_body.then(|| body.saturating_add(length as u64))
}

/// True if the first bytes of an end are not HTTP, as far as they were captured.
pub(crate) fn is_foreign(is_client: bool, bytes: &[u8]) -> bool {
    if !is_client {
        return !bytes.is_empty() && !bytes.starts_with(&b"HTTP/"[..bytes.len().min(5)]);
    }
    let line_end = bytes.iter().position(|byte| matches!(byte, b'\r' | b'\n'));
    if let Some(end) = line_end {
        return !bytes[..end].windows(6).any(|part| part == b" HTTP/");
    }
    let method = bytes.iter().take_while(|byte| **byte != b' ');
    !method
        .take(20)
        .all(|byte| byte.is_ascii_uppercase() || *byte == b'-')
}

/// True if bytes begin like a request of HTTP; `None` if they begin neither like one nor like a
/// response.
pub(crate) fn is_request(bytes: &[u8]) -> Option<bool> {
    if bytes.starts_with(b"HTTP/1.") {
        return Some(false);
    }
    let method = bytes.iter().take_while(|byte| byte.is_ascii_uppercase());
    let length = method.count();
    let is_line = (3..=16).contains(&length) && bytes.get(length) == Some(&b' ');
    is_line.then_some(true)
}

#[cfg(test)]
mod tests {
    use super::is_request;

    #[test]
    fn what_is_no_http_is_recognised_by_its_first_bytes() {
        let table: [(bool, &[u8], bool); 9] = [
            (true, b"GET /x HTTP/1.1\r\nHost: h\r\n", false),
            (true, b"VERSION-CON", false),
            (true, b"", false),
            (true, b"xk3fjabcdefghijklmnopqrstuvwxyz234567\0", true),
            (true, b"SSH-2.0-OpenSSH_9.2\r\n", true),
            (true, b"EHLO host\r\n", true),
            (false, b"SSH-2.0-OpenSSH_9.2\r\n", true),
            (false, b"HTTP/1.1 408 ", false),
            (false, b"HT", false),
        ];
        for (is_client, bytes, expected) in table {
            assert_eq!(super::is_foreign(is_client, bytes), expected, "{bytes:?}");
        }
    }

    #[test]
    fn requests_and_responses_are_told_apart_by_how_they_begin() {
        let table: [(&[u8], Option<bool>); 7] = [
            (b"GET /x HTTP/1.1\r\n", Some(true)),
            (b"VERSION-CONTROL", None),
            (b"PRI * HTTP/2.0", Some(true)),
            (b"HTTP/1.1 200 OK", Some(false)),
            (b"GE /", None),
            (b"\x16\x03\x01", None),
            (b"", None),
        ];
        for (bytes, expected) in table {
            assert_eq!(is_request(bytes), expected, "{bytes:?}");
        }
    }
}
