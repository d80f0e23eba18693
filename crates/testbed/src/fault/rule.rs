//! Which fault happens to which request.

use std::time::Duration;

use super::http::ServedRequest;

/// A fault. Each describes a real server with this behaviour.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// The first response byte leaves this much later than it could have.
    Delay(Duration),
    /// The first response byte leaves exactly this time after the last request byte arrived, if the
    /// upstream server is faster: a response time that is known in advance.
    AnswerAfter(Duration),
    /// This response, without a request to the upstream server: a full disk, a lock, an overload.
    Status {
        /// Status code; the reason phrase is the standard one.
        code: u16,
        /// Headers beside `Content-Length`.
        headers: Vec<(String, String)>,
        /// Body.
        body: Vec<u8>,
    },
    /// The same, as soon as the head is there and without reading the body, then a close
    /// (RFC 9112, section 9.6).
    EarlyStatus {
        /// Status code.
        code: u16,
    },
    /// An orderly close in place of the response: a worker that ended, or a keep-alive time that
    /// expired while the request was in flight.
    CloseBeforeResponse,
    /// A close after that many bytes of the response, including its head.
    CloseAfterBytes(usize),
    /// A TCP reset in place of the response.
    Reset,
    /// No response, until the client closes; a minute at most.
    Hang,
    /// These bytes instead of a response, then a close.
    Garbage(Vec<u8>),
    /// A status line and headers without end.
    EndlessHead,
    /// A body without end: chunked, or behind a `Content-Length` of 2^62.
    EndlessBody {
        /// Which of the two.
        chunked: bool,
    },
    /// More bytes than announced in the head.
    LongerThanSaid,
    /// A close before the last announced byte.
    ShorterThanSaid,
    /// So many interim 100 responses before the response.
    Interim100(u32),
    /// The response byte by byte, with a pause after each.
    Trickle(Duration),
    /// The connection ends after that many requests, as with Apache's `MaxKeepAliveRequests`.
    CloseAfterRequests {
        /// Responses on one connection, including this one.
        requests: u32,
        /// The last response has `Connection: close`.
        announced: bool,
    },
    /// The connection ends after a response with this status, without an announcement.
    CloseAfterStatus(u16),
    /// A complete HTTP/1.0 response: that version, no chunks, a close at the end.
    Http10,
    /// The body chunked, regardless of the upstream server.
    Chunked,
    /// The body in gzip, even if not requested.
    Gzip,
    /// A header is missing (such as `DAV`, for a server that does not announce it).
    DropHeader(String),
    /// One more header: its name and value.
    AddHeader(String, String),
    /// Another status line: 201 without its reason phrase, a 423 in front of the same body.
    RewriteStatus(u16),
    /// Every `from` in the body becomes `to`: a 403 inside a 207, another ETag.
    RewriteBody {
        /// Text to replace.
        from: String,
        /// Replacement.
        to: String,
    },
}

/// A fault, the requests it happens to, and how often.
#[derive(Debug, Clone)]
pub struct Rule {
    pub(super) fault: Fault,
    method: Option<String>,
    path: Option<String>,
    header: Option<(String, String)>,
    times: Occurrences,
}

#[derive(Debug, Clone, Copy)]
enum Occurrences {
    Always,
    Nth(u64),
    Every(u64),
    From(u64),
}

impl Rule {
    /// A fault that happens to every request, until narrowed down.
    pub fn new(fault: Fault) -> Rule {
        Rule {
            fault,
            method: None,
            path: None,
            header: None,
            times: Occurrences::Always,
        }
    }

    /// Only to requests with this method.
    pub fn method(mut self, method: &str) -> Rule {
        self.method = Some(method.to_owned());
        self
    }

    /// Only to requests whose target contains this.
    pub fn path(mut self, part: &str) -> Rule {
        self.path = Some(part.to_owned());
        self
    }

    /// Only to requests with a header of that name whose value contains this.
    pub fn header(mut self, name: &str, part: &str) -> Rule {
        self.header = Some((name.to_owned(), part.to_owned()));
        self
    }

    /// Only to requests whose `X-Prestan` header contains this: the name of a test, for example.
    pub fn tag(self, part: &str) -> Rule {
        self.header("x-prestan", part)
    }

    /// Only to the n-th request that matches so far, counted from 1 over all connections.
    pub fn nth(mut self, n: u64) -> Rule {
        self.times = Occurrences::Nth(n);
        self
    }

    /// Only to every n-th request that matches so far.
    pub fn every(mut self, n: u64) -> Rule {
        self.times = Occurrences::Every(n);
        self
    }

    /// Only from the n-th request that matches on: a server that gets worse.
    pub fn from(mut self, n: u64) -> Rule {
        self.times = Occurrences::From(n);
        self
    }

    pub(super) fn matches(&self, request: &ServedRequest) -> bool {
        let method = self.method.as_ref().is_none_or(|m| *m == request.method);
        let path = self
            .path
            .as_ref()
            .is_none_or(|p| request.target.contains(p));
        let header = self.header.as_ref().is_none_or(|(name, part)| {
            let mut values = request.headers.all(name);
            values.any(|value| value.contains(part.as_str()))
        });
        method && path && header
    }

    /// True if it applies to the request that is the `count`-th to match.
    pub(super) fn applies(&self, count: u64) -> bool {
        match self.times {
            Occurrences::Always => true,
            Occurrences::Nth(n) => count == n,
            Occurrences::From(n) => count >= n,
            Occurrences::Every(n) => count.is_multiple_of(n.max(1)),
        }
    }
}

impl Fault {
    /// True if it replaces the upstream server's response.
    pub(super) fn replaces_response(&self) -> bool {
        matches!(
            self,
            Fault::Status { .. }
                | Fault::EarlyStatus { .. }
                | Fault::CloseBeforeResponse
                | Fault::Reset
                | Fault::Hang
                | Fault::Garbage(_)
                | Fault::EndlessHead
                | Fault::EndlessBody { .. }
        )
    }
}
