//! Requests to a client, and their results.

use std::time::Duration;

use record::{Connect, HttpVersion, Moments, Nanos, Outcome, Segments, Timing};
use wire::response::ResponseHead;

use crate::clock::timekeeper::{Stamps, Timekeeper};
use crate::connection::body::KeptBody;
use crate::connection::http1::Response;
use crate::connection::queue::RequestHistory;
use crate::event_loop::patience::EarlyEndOfWait;

#[derive(Debug, Clone, Copy)]
pub(crate) struct PlainRequest<'a> {
    pub(crate) method: &'a str,
    /// Path on the server, percent-encoded.
    pub(crate) path: &'a str,
    /// Headers in addition to those of every request.
    pub(crate) headers: &'a [(&'a str, &'a str)],
    pub(crate) body: Option<&'a [u8]>,
    /// Value of X-Prestan.
    pub(crate) label: &'a str,
    /// The body of a good response is needed, not only its length.
    pub(crate) keep_body: bool,
}

/// When a prepared request is sent, and the part of its response that is kept.
#[derive(Debug, Clone, Default)]
pub(crate) struct SendOptions {
    /// When the operation was to begin; `None` for as soon as it can.
    pub(crate) planned: Option<Nanos>,
    /// The time, if the clock has just been read.
    pub(crate) now: Option<Nanos>,
    pub(crate) keep: KeptBody,
}

impl<'a> PlainRequest<'a> {
    pub(crate) fn bare(method: &'a str, path: &'a str, label: &'a str) -> Self {
        PlainRequest {
            method,
            path,
            headers: &[],
            body: None,
            label,
            keep_body: false,
        }
    }
}

/// The result of a request; the body of a response is [`Client::body`](super::Client::body).
#[derive(Debug)]
pub(crate) struct Exchange<A = ResponseHead> {
    pub(crate) trace: Trace,
    /// A first attempt ended with its connection, and may have been carried out all the same.
    pub(super) died_once: bool,
    pub(crate) result: Result<A, Failure>,
}

/// Recorded facts about a request, without its user and verdict: the fields of [`record::Sample`]
/// with these names.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Trace {
    pub(crate) moments: Moments,
    pub(crate) timing: Timing,
    pub(crate) connection: Option<u32>,
    pub(crate) protocol: Option<HttpVersion>,
    pub(crate) stream: Option<u32>,
    pub(crate) connect: Option<Connect>,
    pub(crate) segments: Option<Segments>,
    pub(crate) resent: bool,
    pub(crate) shares_first: bool,
    pub(crate) bytes_sent: u64,
    pub(crate) bytes_received: u64,
    pub(crate) status: Option<u16>,
    pub(crate) body_received: u64,
}

impl Trace {
    /// The trace of an operation that sent nothing, at moment 0.
    pub(crate) fn nothing(timing: Timing) -> Trace {
        Trace {
            moments: Moments {
                planned: 0,
                started: 0,
                sent: None,
                acked: None,
                first: None,
                done: None,
            },
            timing,
            connection: None,
            protocol: None,
            stream: None,
            connect: None,
            segments: None,
            resent: false,
            shares_first: false,
            bytes_sent: 0,
            bytes_received: 0,
            status: None,
            body_received: 0,
        }
    }
}

impl<A> Exchange<A> {
    /// True if the response is the usual one to a second `method` when the first, whose connection
    /// ended, has been carried out.
    pub(crate) fn repeats(&self, method: &str) -> bool {
        let Some(status) = self.trace.status else {
            return false;
        };
        let explained = match (method, status) {
            ("MKCOL", status) => status == 405,
            ("DELETE" | "MOVE", 404) | ("UNLOCK", 400..=499) | (_, 412) => true,
            _ => false,
        };
        self.died_once && explained
    }

    pub(super) fn map<B>(self, change: impl FnOnce(A) -> B) -> Exchange<B> {
        Exchange {
            trace: self.trace,
            died_once: self.died_once,
            result: self.result.map(change),
        }
    }
}

impl Exchange<Response> {
    #[inline]
    pub(super) fn new(
        history: &RequestHistory,
        stamps: &Stamps,
        result: Result<Response, Failure>,
        time: &Timekeeper,
    ) -> Exchange<Response> {
        let connected_here = history.connect.is_some();
        let started = if connected_here || stamps.started == 0 {
            history.began
        } else {
            stamps.started
        };
        // A failed operation ends when it is aborted.
        let given_up = || result.is_err().then(|| time.clock.now());
        let done = stamps.done.or_else(given_up);
        let (moments, timing) = time.moments(stamps, history.planned, started, done);
        let response = result.as_ref().ok();
        Exchange {
            trace: Trace {
                moments,
                timing,
                connection: history.connection,
                protocol: response.map(|response| response.version),
                stream: history.stream,
                connect: history.connect,
                segments: history.segments,
                resent: history.resent,
                shares_first: false,
                bytes_sent: stamps.bytes_sent,
                bytes_received: stamps.bytes_received,
                status: response.map(|response| response.status),
                body_received: response.map_or(0, |response| response.body_length),
            },
            died_once: history.died_once,
            result,
        }
    }
}

/// Why there is no response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) outcome: Outcome,
    pub(crate) what: String,
}

/// The failure of an operation that was aborted.
pub(super) fn failure_of_wait(early_end: EarlyEndOfWait, timeout: Duration) -> Failure {
    match early_end {
        EarlyEndOfWait::Late => Failure {
            outcome: Outcome::Timeout,
            what: format!("no complete response within {timeout:?} (--timeout changes the limit)"),
        },
        EarlyEndOfWait::Interrupted => Failure {
            outcome: Outcome::Cancelled,
            what: "the run was interrupted".to_owned(),
        },
    }
}
