//! As much HTTP/1.1 as a store-and-forward proxy needs: heads by `httparse`, and where bodies end.
//!
//! Deliberately not the crate `wire`: the server that tests the client must not share its faults.

use std::io::{self, Read};
use std::time::Instant;

const HEAD_LIMIT: usize = 256 * 1024;
const BODY_LIMIT: u64 = 256 << 20;
/// Bytes that are read at once.
const PIECE: usize = 64 * 1024;

/// Header lines in their order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct HeaderLines(pub(super) Vec<(String, String)>);

impl HeaderLines {
    pub(super) fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        let named = self.0.iter();
        let named = named.filter(move |(key, _)| key.eq_ignore_ascii_case(name));
        named.map(|(_, value)| value.as_str())
    }

    pub(super) fn first(&self, name: &str) -> Option<&str> {
        self.all(name).next()
    }

    pub(super) fn has_token(&self, name: &str, token: &str) -> bool {
        self.all(name)
            .flat_map(|value| value.split(','))
            .any(|part| part.trim().eq_ignore_ascii_case(token))
    }

    pub(super) fn remove(&mut self, name: &str) {
        self.0.retain(|(key, _)| !key.eq_ignore_ascii_case(name));
    }

    pub(super) fn push(&mut self, name: &str, value: impl ToString) {
        self.0.push((name.to_owned(), value.to_string()));
    }

    fn from_parsed(headers: &[httparse::Header<'_>]) -> HeaderLines {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let pairs = headers.iter().map(|h| (h.name.to_owned(), text(h.value)));
        HeaderLines(pairs.collect())
    }
}

/// A request's head.
#[derive(Debug, Clone)]
pub(super) struct ServedRequest {
    pub(super) method: String,
    pub(super) target: String,
    pub(super) http10: bool,
    pub(super) headers: HeaderLines,
}

/// A response's head.
#[derive(Debug, Clone)]
pub(super) struct SentHead {
    pub(super) status: u16,
    pub(super) reason: String,
    pub(super) headers: HeaderLines,
}

/// Where a body ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SentFraming {
    None,
    Length(u64),
    Chunked,
    UntilClose,
}

impl SentFraming {
    /// RFC 9112, section 6.3, for a request.
    pub(super) fn of_request(request: &ServedRequest) -> io::Result<SentFraming> {
        if request.headers.has_token("transfer-encoding", "chunked") {
            return Ok(SentFraming::Chunked);
        }
        length(&request.headers).map(|length| length.map_or(SentFraming::None, SentFraming::Length))
    }

    /// RFC 9112, section 6.3, for the response to a method.
    pub(super) fn of_response(method: &str, head: &SentHead) -> io::Result<SentFraming> {
        if method == "HEAD" || matches!(head.status, 100..200 | 204 | 304) {
            return Ok(SentFraming::None);
        }
        if head.headers.has_token("transfer-encoding", "chunked") {
            return Ok(SentFraming::Chunked);
        }
        length(&head.headers)
            .map(|length| length.map_or(SentFraming::UntilClose, SentFraming::Length))
    }
}

fn length(headers: &HeaderLines) -> io::Result<Option<u64>> {
    let Some(value) = headers.first("content-length") else {
        return Ok(None);
    };
    match value.parse() {
        Ok(length) if length <= BODY_LIMIT => Ok(Some(length)),
        _ => Err(invalid(format!("bad Content-Length `{value}`"))),
    }
}

/// Reads messages from one side of a connection, and records when bytes arrive.
#[derive(Debug)]
pub(super) struct Reader {
    buffer: Vec<u8>,
    start: usize,
    /// Where bytes land first: clearing room for them at the end of `buffer`, again for each
    /// piece, took longer than reading them.
    landing: Box<[u8]>,
    /// Arrival of the latest bytes.
    pub(super) last_read: Instant,
    /// Arrival of the first bytes after this was last emptied.
    pub(super) first_read: Option<Instant>,
}

impl Reader {
    pub(super) fn new() -> Reader {
        Reader {
            buffer: Vec::new(),
            start: 0,
            landing: vec![0; PIECE].into_boxed_slice(),
            last_read: Instant::now(),
            first_read: None,
        }
    }

    /// `None` when the peer closed between requests.
    pub(super) fn request(&mut self, from: &mut impl Read) -> io::Result<Option<ServedRequest>> {
        loop {
            let mut headers = [httparse::EMPTY_HEADER; 128];
            let mut parsed = httparse::Request::new(&mut headers);
            let state = parsed.parse(self.unread()).map_err(invalid)?;
            if let httparse::Status::Complete(size) = state {
                let request = ServedRequest {
                    method: parsed.method.unwrap_or_default().to_owned(),
                    target: parsed.path.unwrap_or_default().to_owned(),
                    http10: parsed.version == Some(0),
                    headers: HeaderLines::from_parsed(parsed.headers),
                };
                self.consume(size);
                return Ok(Some(request));
            }
            let begun = !self.unread().is_empty();
            if self.more(from)? == 0 {
                return if begun { Err(cut()) } else { Ok(None) };
            }
        }
    }

    /// A response head; `None` when the peer closed before its first byte.
    pub(super) fn response(&mut self, from: &mut impl Read) -> io::Result<Option<SentHead>> {
        loop {
            let mut headers = [httparse::EMPTY_HEADER; 128];
            let mut parsed = httparse::Response::new(&mut headers);
            let state = parsed.parse(self.unread()).map_err(invalid)?;
            if let httparse::Status::Complete(size) = state {
                let head = SentHead {
                    status: parsed.code.unwrap_or_default(),
                    reason: parsed.reason.unwrap_or_default().to_owned(),
                    headers: HeaderLines::from_parsed(parsed.headers),
                };
                self.consume(size);
                return Ok(Some(head));
            }
            let begun = !self.unread().is_empty();
            if self.more(from)? == 0 {
                return if begun { Err(cut()) } else { Ok(None) };
            }
        }
    }

    /// A whole body, decoded.
    pub(super) fn body(
        &mut self,
        from: &mut impl Read,
        framing: SentFraming,
    ) -> io::Result<Vec<u8>> {
        match framing {
            SentFraming::None => Ok(Vec::new()),
            SentFraming::Length(length) => self.exact(from, length),
            SentFraming::Chunked => self.chunks(from),
            SentFraming::UntilClose => {
                while self.more(from)? > 0 {}
                let body = self.unread().to_vec();
                self.consume(body.len());
                Ok(body)
            }
        }
    }

    fn exact(&mut self, from: &mut impl Read, length: u64) -> io::Result<Vec<u8>> {
        let length = usize::try_from(length).map_err(invalid)?;
        while self.unread().len() < length {
            if self.more(from)? == 0 {
                return Err(cut());
            }
        }
        let body = self.unread()[..length].to_vec();
        self.consume(length);
        Ok(body)
    }

    fn chunks(&mut self, from: &mut impl Read) -> io::Result<Vec<u8>> {
        let mut body = Vec::new();
        loop {
            let state = httparse::parse_chunk_size(self.unread());
            let state = state.map_err(|_| invalid("bad chunk size"))?;
            let httparse::Status::Complete((line, size)) = state else {
                if self.more(from)? == 0 {
                    return Err(cut());
                }
                continue;
            };
            self.consume(line);
            if size == 0 {
                self.trailers(from)?;
                return Ok(body);
            }
            if body.len() as u64 + size > BODY_LIMIT {
                return Err(invalid("chunked body over the limit"));
            }
            let chunk = self.exact(from, size + 2)?;
            body.extend_from_slice(&chunk[..chunk.len() - 2]);
        }
    }

    /// Reads trailers up to their empty line and forgets them.
    fn trailers(&mut self, from: &mut impl Read) -> io::Result<()> {
        loop {
            let line = self.unread().windows(2).position(|pair| pair == b"\r\n");
            match line {
                Some(0) => {
                    self.consume(2);
                    return Ok(());
                }
                Some(end) => self.consume(end + 2),
                None if self.more(from)? == 0 => return Err(cut()),
                None => {}
            }
        }
    }

    fn unread(&self) -> &[u8] {
        &self.buffer[self.start..]
    }

    fn consume(&mut self, size: usize) {
        self.start += size;
        if self.start == self.buffer.len() {
            self.buffer.clear();
            self.start = 0;
        }
    }

    fn more(&mut self, from: &mut impl Read) -> io::Result<usize> {
        if self.unread().len() as u64 > BODY_LIMIT + HEAD_LIMIT as u64 {
            return Err(invalid("message over the limit"));
        }
        let read = from.read(&mut self.landing);
        self.last_read = Instant::now();
        let read = read?;
        self.buffer.extend_from_slice(&self.landing[..read]);
        if read > 0 {
            self.first_read.get_or_insert(self.last_read);
        }
        Ok(read)
    }
}

fn cut() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "closed inside a message")
}

fn invalid(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives one byte a time, so that every message is cut everywhere.
    struct Bytewise<'a>(&'a [u8]);

    impl Read for Bytewise<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let Some((byte, rest)) = self.0.split_first() else {
                return Ok(0);
            };
            into[0] = *byte;
            self.0 = rest;
            Ok(1)
        }
    }

    #[test]
    fn bodies_end_where_they_say() {
        let cases: [(&str, &str); 4] = [
            ("Content-Length: 3\r\n\r\nabc", "abc"),
            (
                "Transfer-Encoding: chunked\r\n\r\n2;x=y\r\nab\r\n1\r\nc\r\n0\r\nT: t\r\n\r\n",
                "abc",
            ),
            ("Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", ""),
            ("\r\n", ""),
        ];
        for (rest, body) in cases {
            let two = format!("PUT /x HTTP/1.1\r\n{rest}").repeat(2);
            let mut stream = Bytewise(two.as_bytes());
            let mut reader = Reader::new();
            for _ in 0..2 {
                let request = reader.request(&mut stream).unwrap().unwrap();
                assert_eq!((&*request.method, &*request.target), ("PUT", "/x"));
                let framing = SentFraming::of_request(&request).unwrap();
                assert_eq!(reader.body(&mut stream, framing).unwrap(), body.as_bytes());
            }
            assert!(reader.request(&mut stream).unwrap().is_none());
        }
    }

    #[test]
    fn a_message_that_is_cut_off_is_an_error_and_not_an_end() {
        let whole = b"PUT / HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc";
        for cut in 1..whole.len() {
            let mut stream = Bytewise(&whole[..cut]);
            let mut reader = Reader::new();
            let outcome = reader.request(&mut stream).and_then(|request| {
                let framing = SentFraming::of_request(&request.unwrap())?;
                reader.body(&mut stream, framing)
            });
            assert_eq!(outcome.unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
        }
    }
}
