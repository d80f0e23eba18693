//! What a client is asked for, and what becomes of it.

use record::{Connect, Moments, Nanos, Outcome, Timing};
use wire::response::ResponseHead;

use crate::prepared::PreparedHead;

/// A request ready to be sent.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Request<'a> {
    pub(crate) method: &'a str,
    /// Path on the server, percent-encoded.
    pub(crate) path: &'a str,
    /// Headers beside those of every request.
    pub(crate) headers: &'a [(&'a str, &'a str)],
    pub(crate) body: Option<&'a [u8]>,
    /// Value of X-Prestan.
    pub(crate) label: &'a str,
    /// The head as it was written before the run, instead of all of the above but the method.
    pub(crate) prepared: Option<&'a PreparedHead<'a>>,
    /// When the operation was to begin; `None` for as soon as it can.
    pub(crate) planned: Option<Nanos>,
    /// The time, for who has just read the clock.
    pub(crate) now: Option<Nanos>,
    /// The body of a good answer is wanted, not only its length.
    pub(crate) keep_body: bool,
}

impl<'a> Request<'a> {
    /// A request without headers of its own and without a body.
    pub(crate) fn bare(method: &'a str, path: &'a str, label: &'a str) -> Self {
        Request {
            method,
            path,
            headers: &[],
            body: None,
            label,
            prepared: None,
            planned: None,
            now: None,
            keep_body: false,
        }
    }
}

/// What became of a request.
#[derive(Debug)]
pub(crate) struct Exchange<A = Answer> {
    pub(crate) moments: Moments,
    pub(crate) timing: Timing,
    pub(crate) connect: Option<Connect>,
    pub(crate) resent: bool,
    /// A first attempt died with its connection, and may have been carried out all the same.
    pub(super) died_once: bool,
    pub(crate) bytes_sent: u64,
    pub(crate) bytes_received: u64,
    pub(crate) result: Result<A, Failure>,
}

impl Exchange {
    /// Whether the answer is what a server says to a second `method` when the first, which died
    /// with its connection, has been carried out.
    pub(crate) fn repeats(&self, method: &str) -> bool {
        let Ok(answer) = &self.result else {
            return false;
        };
        let explained = match (method, answer.head.status) {
            ("MKCOL", status) => status == 405,
            ("DELETE" | "MOVE", 404) | ("UNLOCK", 400..=499) | (_, 412) => true,
            _ => false,
        };
        self.died_once && explained
    }
}

impl<A> Exchange<A> {
    pub(super) fn map<B>(self, change: impl FnOnce(A) -> B) -> Exchange<B> {
        Exchange {
            moments: self.moments,
            timing: self.timing,
            connect: self.connect,
            resent: self.resent,
            died_once: self.died_once,
            bytes_sent: self.bytes_sent,
            bytes_received: self.bytes_received,
            result: self.result.map(change),
        }
    }
}

/// A complete answer; its body is [`Client::body`](super::Client::body).
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) head: ResponseHead,
    pub(crate) body_length: u64,
    /// More arrived than the head said.
    pub(crate) surplus: bool,
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) outcome: Outcome,
    pub(crate) what: String,
}
