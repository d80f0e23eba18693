//! Responses: bytes in, events out.
//!
//! ```text
//!          leading CR LF       1xx, bounded
//!   new ------------> Head <------------------.
//!                      |  \___________________/
//!     ^                v
//!     |      Empty, Length, Chunked, UntilClose -----> Done
//!     '---------------------- restart -------------------'
//! ```
//!
//! [`ResponseReader`] reads one response to one request and, after a restart, the next without
//! allocating. Tolerated, and not tolerated:
//!
//! * Lines of the head may end with a bare LF, and fields may be folded (both are accepted by
//!   RFC 9112, sections 2.2 and 5.2); chunk lines may not (see [`chunked`](crate::chunked)).
//! * Up to eight bytes of CR and LF before the status line are skipped, as some servers send the
//!   line end of a previous body twice.
//! * Transfer-Encoding beats Content-Length, and one in an HTTP/1.0 response is honoured; either
//!   way the connection is not [reusable](ResponseReader::reusable) (RFC 9112, section 6.1).
//! * HEAD, 204 and 304 have no body whatever their head declares (RFC 9112, section 6.3).
//! * A line without a colon, blanks before a colon, and different Content-Length values are errors.

mod caches;
mod error;
mod framing;
mod head;
mod headers;
mod reader;
mod status;

pub use caches::{cache_name, intermediary, is_cached};
pub use error::{Hint, ProtocolError, Truncation};
pub use headers::Headers;
pub use reader::{ReadEvent, ReadStep, ResponseReader};
pub(crate) use status::status_code;
pub use status::status_text;

/// Version of HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Version {
    /// HTTP/1.0 (RFC 1945).
    Http10,
    /// HTTP/1.1 (RFC 9112).
    Http11,
    /// HTTP/2 (RFC 9113).
    Http2,
}

impl Version {
    /// The name in a head: `HTTP/1.1`.
    pub fn name(self) -> &'static str {
        match self {
            Version::Http10 => "HTTP/1.0",
            Version::Http11 => "HTTP/1.1",
            Version::Http2 => "HTTP/2",
        }
    }
}

/// Bytes that each buffer of a head may keep from one response to the next: more than any ordinary
/// head needs, and little enough for ten thousand connections that each received an unusual one.
const KEPT_BYTES: usize = 16 * 1024;

/// A response without its body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResponseHead {
    /// Version of HTTP the server claims.
    pub version: Version,
    /// Status code, 100 to 999.
    pub status: u16,
    /// Reason phrase; may be empty.
    pub reason: String,
    /// Header fields.
    pub headers: Headers,
}

impl Default for ResponseHead {
    /// An empty head, to be filled.
    fn default() -> ResponseHead {
        ResponseHead {
            version: Version::Http11,
            status: 0,
            reason: String::new(),
            headers: Headers::new(),
        }
    }
}

impl ResponseHead {
    /// Empties the head for another response of that version, and keeps the memory.
    pub(crate) fn begin(&mut self, version: Version) {
        self.version = version;
        self.status = 0;
        self.recycle(KEPT_BYTES);
    }

    /// Empties the head for another response; each buffer keeps at most `kept` bytes.
    fn recycle(&mut self, kept: usize) {
        self.reason.clear();
        self.reason.shrink_to(kept);
        self.headers.clear();
        self.headers.shrink_to(kept);
    }

    /// The server intends to keep the connection open (RFC 9112, section 9.3).
    ///
    /// In HTTP/1.1 unless the header is `close`, in HTTP/1.0 only if it is `keep-alive`.
    pub fn keep_alive(&self) -> bool {
        framing::FramingFields::new(&self.headers).persists(self.version)
    }
}

/// Limits of a response, beyond which it is an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of a head, and of the trailers.
    pub head_bytes: usize,
    /// Header lines.
    pub headers: usize,
    /// Bytes of a body, without its framing.
    pub body_bytes: u64,
    /// Interim responses before the final one.
    pub interim: u32,
}

impl Default for Limits {
    /// 64 KiB of head, 128 headers, 1 TiB of body, 16 interim responses.
    fn default() -> Limits {
        Limits {
            head_bytes: 64 * 1024,
            headers: 128,
            body_bytes: 1 << 40,
            interim: 16,
        }
    }
}
