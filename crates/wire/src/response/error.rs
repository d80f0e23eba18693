//! Errors of a response, described for the person who has to find the cause.

use thiserror::Error;

/// A response violated HTTP, or exceeded one of the bounds here. Text of the server in it is cut
/// and escaped.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ProtocolError {
    /// The first bytes cannot begin a response.
    #[error("the response is not HTTP, it begins with \"{start}\"{hint}")]
    NotHttp {
        /// The first bytes.
        start: String,
        /// The protocol that they resemble.
        hint: Hint,
    },
    /// A version such as that of `HTTP/2 200`.
    #[error("the status line \"{0}\" is not of HTTP/1.0 or HTTP/1.1 (RFC 9112, section 2.3)")]
    Version(String),
    /// A status line that is not version, three digits, and perhaps a reason.
    #[error("the status line \"{0}\" is malformed (RFC 9112, section 4)")]
    StatusLine(String),
    /// A line that is not a field, or has bytes that no field may have.
    #[error("the header line \"{0}\" is malformed (RFC 9112, section 5)")]
    HeaderLine(String),
    /// More than [`Limits::head_bytes`](super::Limits::head_bytes).
    #[error("the response head is longer than {0} bytes")]
    HeadTooLong(usize),
    /// More than [`Limits::headers`](super::Limits::headers).
    #[error("the response has more than {0} header lines")]
    TooManyHeaders(usize),
    /// More than [`Limits::interim`](super::Limits::interim).
    #[error("more than {0} interim responses came before the final one")]
    TooManyInterim(u32),
    /// A switch to a protocol that was not requested.
    #[error("the server switches protocols (101), which was not requested (RFC 9110, section 7.8)")]
    Switching,
    /// A Content-Length that is not a number.
    #[error("Content-Length \"{0}\" is not a number of bytes (RFC 9110, section 8.6)")]
    ContentLength(String),
    /// Two values of Content-Length, so the end of the body is unknown.
    #[error("two different Content-Length values, {0} and {1} (RFC 9112, section 6.3)")]
    ContentLengths(u64, u64),
    /// A transfer coding that was not requested.
    #[error("Transfer-Encoding \"{0}\" was not requested and cannot be read (RFC 9112, section 7)")]
    TransferEncoding(String),
    /// The framing of a chunked body is broken.
    #[error(transparent)]
    Chunk(#[from] crate::chunked::ChunkError),
    /// HTTP/2 fields that a response must not have.
    #[error("the header block of the response is malformed: {0} (RFC 9113, sections 8.2 and 8.3)")]
    Fields(&'static str),
    /// A body whose length differs from its Content-Length (HTTP/2).
    #[error(
        "the body has {received} bytes, and Content-Length is {expected} (RFC 9113, section 8.1.1)"
    )]
    BodyLength {
        /// Bytes that came.
        received: u64,
        /// Bytes announced in the head.
        expected: u64,
    },
    /// More than [`Limits::body_bytes`](super::Limits::body_bytes).
    #[error("the response body is longer than {0} bytes")]
    BodyTooLarge(u64),
    /// The connection ended before the first byte of a response.
    #[error("the connection ended without a response")]
    NoResponse,
    /// The connection ended within the response.
    #[error("the connection ended {0} (RFC 9112, section 8)")]
    Truncated(Truncation),
}

/// Protocols that the first bytes may belong to, if not to HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hint {
    /// Unknown.
    None,
    /// A TLS record.
    Tls,
    /// A frame of HTTP/2.
    Http2,
    /// The banner of an SSH server.
    Ssh,
    /// The greeting of a mail or FTP server.
    Greeting,
    /// A body without a head, as HTTP/0.9 had it.
    Http09,
}

impl Hint {
    /// Guesses from the first bytes. One byte decides, so the result is the same however they
    /// arrived.
    pub(super) fn guess(start: &[u8]) -> Hint {
        match start.first() {
            Some(0x14..=0x17) => Hint::Tls,
            Some(0x00) => Hint::Http2,
            Some(b'S') => Hint::Ssh,
            Some(b'1'..=b'5') => Hint::Greeting,
            Some(b'<') => Hint::Http09,
            _ => Hint::None,
        }
    }
}

impl std::fmt::Display for Hint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Hint::None => "",
            Hint::Tls => ": it looks like TLS, so try https",
            Hint::Http2 => ": it looks like HTTP/2 (--http 2)",
            Hint::Ssh => ": it may be an SSH server, so check the port",
            Hint::Greeting => ": it looks like a mail or FTP server, so check the port",
            Hint::Http09 => ": it looks like a body without a response head",
        })
    }
}

/// Where in a response the connection ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Truncation {
    /// Within the head, after this many of its bytes.
    #[error("within the response head, after {0} bytes of it")]
    Head(usize),
    /// After an interim response, before the final one.
    #[error("after an interim response, before the final one")]
    Interim,
    /// Before all of the Content-Length had arrived.
    #[error("after {received} of {expected} body bytes")]
    Body {
        /// Body bytes received.
        received: u64,
        /// Body bytes that were announced.
        expected: u64,
    },
    /// Before the last chunk had arrived.
    #[error("within the chunked body, after {0} bytes of it")]
    Chunked(u64),
}
