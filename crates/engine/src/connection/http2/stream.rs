//! One stream: a request and its response.

use wire::response::{Limits, ProtocolError, ResponseHead};

use crate::connection::body::BodyIntake;
use crate::connection::http1::StreamEnd;
use crate::connection::queue::{RequestQueue, RequestToken};
use crate::watch::heads::HeadsOfClient;

/// Memory that a body may keep for the next one.
const COMMON_BODY: usize = 256 * 1024;

/// A request in flight as a stream.
#[derive(Debug, Default)]
pub(super) struct Stream {
    pub(super) number: u32,
    pub(super) token: RequestToken,
    pub(super) head: ResponseHead,
    /// The head is that of the final response.
    pub(super) has_head: bool,
    /// A byte of the final response has arrived.
    pub(super) has_begun: bool,
    interim: u32,
    pub(super) body: Vec<u8>,
    pub(super) intake: BodyIntake,
    /// Bytes of the request's body in frames.
    pub(super) sent: usize,
    /// All of the request is in frames.
    pub(super) is_sent: bool,
    /// Bytes that the server accepts; below 0 after it has reduced its window.
    pub(super) window: i64,
    pub(super) end: Option<StreamEnd>,
}

impl Stream {
    pub(super) fn begin(&mut self, number: u32, token: RequestToken, window: i64) {
        let mut body = std::mem::take(&mut self.body);
        body.clear();
        let head = std::mem::take(&mut self.head);
        *self = Stream {
            number,
            token,
            head,
            body,
            window,
            ..Stream::default()
        };
    }

    /// Releases the memory of an unusually large body.
    pub(super) fn forget_large_body(&mut self) {
        if self.body.capacity() > COMMON_BODY {
            self.body = Vec::new();
        }
    }

    /// True if it has ended with a response.
    pub(super) fn has_response(&self) -> bool {
        matches!(self.end, Some(StreamEnd::Complete))
    }

    pub(super) fn on_head(
        &mut self,
        is_end: bool,
        limits: Limits,
        queue: &mut RequestQueue,
        heads: Option<&HeadsOfClient>,
    ) {
        let status = self.head.status;
        if status < 200 {
            return self.on_interim(is_end, limits, queue, heads);
        }
        self.has_head = true;
        if let Some(heads) = heads {
            heads.response(&self.head);
        }
        if let Some(request) = queue.request(self.token) {
            self.intake = BodyIntake::after(&self.head, &request.keep);
        }
        if is_end {
            self.finish(queue);
        }
    }

    /// Resets the assumed beginning of the response, which was an interim one.
    fn on_interim(
        &mut self,
        is_end: bool,
        limits: Limits,
        queue: &mut RequestQueue,
        heads: Option<&HeadsOfClient>,
    ) {
        if let Some(heads) = heads {
            heads.interim(self.head.status);
        }
        self.interim += 1;
        self.has_begun = false;
        if let Some(request) = queue.request(self.token) {
            request.stamps.first = None;
        }
        let limit = limits.interim;
        if is_end || self.head.status == 101 {
            let what = "an interim response ends the stream, or is 101";
            self.end = Some(StreamEnd::Malformed(ProtocolError::Fields(what)));
        } else if self.interim > limit {
            self.end = Some(StreamEnd::Malformed(ProtocolError::TooManyInterim(limit)));
        }
    }

    pub(super) fn on_data(
        &mut self,
        data: &[u8],
        is_end: bool,
        limits: Limits,
        queue: &mut RequestQueue,
    ) {
        let limit = limits.body_bytes;
        if !self.has_head {
            let what = "DATA came before it";
            self.end = Some(StreamEnd::Malformed(ProtocolError::Fields(what)));
        } else if self.intake.length + data.len() as u64 > limit {
            self.end = Some(StreamEnd::Malformed(ProtocolError::BodyTooLarge(limit)));
        } else {
            self.intake.take(data, &mut self.body);
            if is_end {
                self.finish(queue);
            }
        }
    }

    /// Completes the response, if its length is that of its head. The response to a HEAD has no
    /// body whatever its head declares.
    pub(super) fn finish(&mut self, queue: &mut RequestQueue) {
        let request = queue.request(self.token);
        let is_head = request.is_some_and(|request| request.is_head);
        let length = self.head.headers.get("content-length");
        let length = length.and_then(|length| length.parse().ok());
        let may_differ = is_head || self.head.status == 304;
        self.end = Some(match length {
            Some(expected) if expected != self.intake.length && !may_differ => {
                let received = self.intake.length;
                StreamEnd::Malformed(ProtocolError::BodyLength { received, expected })
            }
            _ => StreamEnd::Complete,
        });
    }
}
