//! Several requests under way on one connection (RFC 9112, section 9.3.2).
//!
//! ```text
//! submit, submit, ... --> write --> read the response to the first --> next
//! ```
//!
//! A server may close the connection after a response, and then the requests behind it were never
//! answered: they are sent again on a new connection, as the RFC asks of clients, and say so.
//!
//! A request that is answered 401 is sent again behind the others, with the credentials that the
//! response asks for. Those that left before it was read carry the old ones: they are sent again
//! too, and their challenges are not heeded, because the first of them was.

use std::collections::VecDeque;
use std::pin::pin;

use record::{Connect, Nanos, Outcome};
use wire::response::ResponseHead;

use super::{CHALLENGES, Client, Exchange, Failure, LARGEST_KEPT, Trace, gave_up_failure};
use crate::clock::nanos;
use crate::clock::timekeeper::{KernelStamps, Stamps};
use crate::connection::http1::{Connection, ExchangeError, Response};
use crate::connection::prepared::{PreparedRequest, Values};

/// Times a request is sent on a new connection before it counts as failed, where none brought an
/// answer to any.
const TRIES: u32 = 3;

/// What is submitted: a request with what fills it, which comes back with what became of it.
pub(crate) trait Submission {
    fn request(&self) -> &PreparedRequest;
    fn values(&self) -> Values<'_>;
}

/// The requests of a client that are under way on one connection.
pub(crate) struct Pipeline<S> {
    under_way: VecDeque<UnderWay<S>>,
    /// Those that have ended and were not handed out yet.
    ended: VecDeque<(S, Exchange<Response>)>,
    outgoing: SendBuffer,
    /// Number of the connection, or of the last one.
    connection: Option<u32>,
    /// Counts the challenges that were heeded: requests carry other credentials after each.
    credentials: u32,
}

/// A request under way.
struct UnderWay<S> {
    submission: S,
    /// Where it ends in all that this connection is to carry.
    end: u64,
    mark: Option<u64>,
    stamps: Stamps,
    connect: Option<Connect>,
    /// Connections that ended without an answer while it was under way.
    tries: u32,
    is_resent: bool,
    /// Which [credentials](Pipeline::credentials) it carries.
    credentials: u32,
    /// How often these were not good enough.
    challenges: u32,
}

/// What a connection that has ended brought: with an answer each, all requests are answered in the
/// end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Brought {
    ReceivedHead,
    Nothing,
}

impl<S: Submission> Pipeline<S> {
    /// Nothing is under way.
    pub(crate) fn new(depth: usize) -> Self {
        Pipeline {
            under_way: VecDeque::with_capacity(depth),
            ended: VecDeque::new(),
            outgoing: SendBuffer::default(),
            connection: None,
            credentials: 0,
        }
    }

    /// How many requests are under way.
    pub(crate) fn len(&self) -> usize {
        self.under_way.len() + self.ended.len()
    }

    /// When the oldest of them began, if it has.
    pub(crate) fn oldest(&self) -> Option<Nanos> {
        let first = self.under_way.front();
        first
            .map(|first| first.stamps.started)
            .filter(|started| *started > 0)
    }

    /// Writes a request behind the others.
    pub(crate) fn submit(&mut self, client: &mut Client, submission: S) {
        if self.under_way.is_empty() {
            client.drop_if_spoken();
        }
        let request = UnderWay {
            submission,
            end: 0,
            mark: None,
            stamps: Stamps::default(),
            connect: None,
            tries: 0,
            is_resent: false,
            credentials: 0,
            challenges: 0,
        };
        self.enqueue(client, request);
    }

    /// Waits for the oldest request to end, at the latest at `cut_off`; `None` where none is under way.
    pub(crate) async fn poll(
        &mut self,
        client: &mut Client,
        cut_off: Nanos,
    ) -> Option<(S, Exchange<Response>)> {
        while self.ended.is_empty() && !self.under_way.is_empty() {
            self.step(client, cut_off).await;
        }
        self.ended.pop_front()
    }

    fn enqueue(&mut self, client: &mut Client, mut request: UnderWay<S>) {
        let before = self.outgoing.end();
        let outgoing = &mut self.outgoing;
        let push = |bytes: &[u8]| outgoing.push(bytes);
        let submission = &request.submission;
        client.written(submission.request(), &submission.values(), push);
        request.end = self.outgoing.end();
        request.stamps = Stamps {
            bytes_sent: request.end - before,
            ..Stamps::default()
        };
        request.mark = None;
        request.credentials = self.credentials;
        self.under_way.push_back(request);
    }

    /// Writes what can be written and reads one answer.
    async fn step(&mut self, client: &mut Client, cut_off: Nanos) {
        client.parting = None;
        let mut connection = match client.connection.take() {
            Some(connection) => connection,
            None => match self.dial(client).await {
                Ok(connection) => connection,
                Err(failure) => return self.fail_all(client, &failure),
            },
        };
        self.connection = Some(connection.number);
        let timeout = client.config.timeout;
        let now = client.config.time.clock.now();
        // However many answers are still to come, the run ends in time.
        let end = now.saturating_add(nanos(timeout)).min(cut_off);
        let patience = client.patience();
        let exchanged = {
            let exchange = pin!(self.exchange(client, &mut connection));
            patience.wait_for(end, true, exchange).await
        };
        match exchanged {
            Ok(Ok(Some(_))) if connection.has_spoken_unasked() && self.under_way.len() == 1 => {
                let what = "more answers came than there were requests".to_owned();
                let outcome = Outcome::ProtocolError;
                self.fail_first(client, Failure { outcome, what });
            }
            Ok(Ok(Some(mut response))) => {
                // What follows it is the response to the next.
                response.surplus = false;
                self.finish(client, &mut connection, response).await;
                if response.reusable {
                    client.connection = Some(connection);
                } else {
                    client.parting = connection.head().cloned();
                    let why = "the server closed the connection";
                    self.send_again(client, why, Brought::ReceivedHead);
                }
            }
            // Everything is written, and the answer is still to come.
            Ok(Ok(None)) => client.connection = Some(connection),
            Ok(Err(ExchangeError::Ended { what, silent })) if silent => {
                self.send_again(client, &what, Brought::Nothing);
            }
            Ok(Err(error)) => {
                let outcome = match error {
                    ExchangeError::Ended { .. } => Outcome::Reset,
                    ExchangeError::Protocol(_) => Outcome::ProtocolError,
                };
                let what = error.to_string();
                self.fail_first(client, Failure { outcome, what });
                self.send_again(client, "an answer was broken off", Brought::Nothing);
            }
            Err(gave_up) => self.fail_all(client, &gave_up_failure(gave_up, timeout)),
        }
    }

    async fn dial(&mut self, client: &mut Client) -> Result<Box<Connection>, Failure> {
        let (connection, connect) = client.dial_apart().await;
        if let Some(first) = self.under_way.front_mut() {
            first.connect = connect;
        }
        connection
    }

    /// Writes; reads the answer to the first request once that has left.
    async fn exchange(
        &mut self,
        client: &mut Client,
        connection: &mut Connection,
    ) -> Result<Option<Response>, ExchangeError> {
        let clock = client.config.time.clock;
        let first_has_left = |pipeline: &Self| {
            let first = pipeline.under_way.front();
            first.is_some_and(|first| first.stamps.sent.is_some())
        };
        loop {
            self.write(connection, clock.now())?;
            if first_has_left(self) {
                break;
            }
            let readable = connection.wait_either().await.map_err(ended)?;
            if readable && !first_has_left(self) {
                // An answer before its request was sent breaks the pipe.
                break;
            }
        }
        let Some(first) = self.under_way.front_mut() else {
            return Ok(None);
        };
        let is_head = first.submission.request().method == "HEAD";
        let keep = |head: &ResponseHead| match head.status {
            207 => LARGEST_KEPT,
            _ => 0,
        };
        let (body, stamps) = (&mut client.body, &mut first.stamps);
        let response = connection
            .receive_next(is_head, &keep, body, clock, stamps)
            .await?;
        Ok(Some(response))
    }

    /// Writes as much as the kernel takes, and marks the requests that have left.
    fn write(&mut self, connection: &mut Connection, now: Nanos) -> Result<(), ExchangeError> {
        for request in &mut self.under_way {
            if request.stamps.started == 0 {
                request.stamps.started = now;
            }
        }
        while !self.outgoing.unwritten().is_empty() || connection.must_drain() {
            let from = self.outgoing.written();
            let ends = |count: usize| {
                let piece = from..from + count as u64;
                let mut ends = self.under_way.iter().map(|request| request.end - 1);
                ends.any(|last| piece.contains(&last))
            };
            // What was taken before leaves by itself, so that its stamps are its own.
            let bytes = if connection.must_drain() {
                &[]
            } else {
                self.outgoing.unwritten()
            };
            match connection.offer_ahead(bytes, ends) {
                Ok(count) => self.outgoing.wrote(count),
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(ended(error)),
            }
            if !connection.must_drain() {
                self.mark_left(connection);
            }
        }
        connection.collect_stamps();
        Ok(())
    }

    /// Notes of the requests that have left by now when they did.
    fn mark_left(&mut self, connection: &mut Connection) {
        let written = self.outgoing.written();
        let requests = self.under_way.iter_mut();
        let mut left = requests
            .filter(|request| request.stamps.sent.is_none() && request.end <= written)
            .peekable();
        if left.peek().is_none() {
            return;
        }
        let (at, mark) = connection.mark_ahead();
        for request in left {
            request.stamps.sent = Some(at);
            request.mark = mark;
            request.stamps.kernel = mark.map(|_| KernelStamps::default());
        }
    }

    /// The response to the first request has come.
    async fn finish(
        &mut self,
        client: &mut Client,
        connection: &mut Connection,
        response: Response,
    ) {
        let Some(mut first) = self.under_way.pop_front() else {
            return;
        };
        if let Some(mark) = first.mark {
            connection.settle(mark, &mut first.stamps).await;
        }
        let challenged = match connection.head() {
            Some(head) => self.is_challenged(client, &mut first, head),
            None => Ok(false),
        };
        match challenged {
            Ok(true) => {
                first.is_resent = true;
                self.enqueue(client, first);
            }
            Ok(false) => self.end(client, first, Ok(response)),
            Err(failure) => self.end(client, first, Err(failure)),
        }
    }

    /// Whether a request has to be sent again with other credentials; the reason where there are
    /// none.
    fn is_challenged(
        &mut self,
        client: &mut Client,
        request: &mut UnderWay<S>,
        head: &ResponseHead,
    ) -> Result<bool, Failure> {
        if head.status == 401 && request.credentials != self.credentials {
            return Ok(true);
        }
        let is_challenge = client.heed_challenge(head)?;
        self.credentials += u32::from(is_challenge);
        request.challenges += u32::from(is_challenge);
        Ok(is_challenge && request.challenges < CHALLENGES)
    }

    /// Keeps what became of a request until it is asked for.
    fn end(&mut self, client: &Client, request: UnderWay<S>, result: Result<Response, Failure>) {
        if let Err(failure) = &result {
            client.tell_of_failure(&failure.what);
        }
        let time = &client.config.time;
        let now = time.clock.now();
        let started = match request.stamps.started {
            0 => now,
            started => started,
        };
        let done = request.stamps.done.unwrap_or(now);
        let (moments, timing) = time.moments(&request.stamps, None, started, Some(done));
        let response = result.as_ref().ok();
        let trace = Trace {
            moments,
            timing,
            connection: self.connection,
            protocol: response.map(|response| response.version),
            connect: request.connect,
            resent: request.is_resent,
            bytes_sent: request.stamps.bytes_sent,
            bytes_received: request.stamps.bytes_received,
            status: response.map(|response| response.status),
            body_received: response.map_or(0, |response| response.body_length),
        };
        let exchange = Exchange {
            trace,
            died_once: false,
            result,
        };
        self.ended.push_back((request.submission, exchange));
    }

    fn fail_first(&mut self, client: &Client, failure: Failure) {
        if let Some(first) = self.under_way.pop_front() {
            self.end(client, first, Err(failure));
        }
    }

    fn fail_all(&mut self, client: &Client, failure: &Failure) {
        while !self.under_way.is_empty() {
            self.fail_first(client, failure.clone());
        }
        self.outgoing = SendBuffer::default();
    }

    /// The connection is gone: what was not answered is sent on a new one.
    fn send_again(&mut self, client: &mut Client, why: &str, brought: Brought) {
        self.outgoing = SendBuffer::default();
        for mut request in std::mem::take(&mut self.under_way) {
            request.tries += u32::from(brought == Brought::Nothing);
            request.is_resent = true;
            let may_repeat = request.submission.request().is_idempotent;
            if may_repeat && request.tries <= TRIES {
                self.enqueue(client, request);
                continue;
            }
            let outcome = Outcome::Reset;
            let what = format!("{why}, and the request behind it was never answered");
            self.end(client, request, Err(Failure { outcome, what }));
        }
    }
}

/// Bytes of requests that a connection is to carry, but for those that it has carried.
#[derive(Default)]
struct SendBuffer {
    bytes: Vec<u8>,
    /// How many of them are written.
    at: usize,
    /// Bytes written before these.
    gone: u64,
}

impl SendBuffer {
    fn push(&mut self, bytes: &[u8]) {
        // Moved only when there is more to forget than to keep.
        if self.at > self.bytes.len() / 2 {
            self.gone += self.at as u64;
            self.bytes.drain(..self.at);
            self.at = 0;
        }
        self.bytes.extend_from_slice(bytes);
    }

    fn wrote(&mut self, count: usize) {
        self.at += count;
    }

    fn unwritten(&self) -> &[u8] {
        &self.bytes[self.at..]
    }

    /// How many were written in all.
    fn written(&self) -> u64 {
        self.gone + self.at as u64
    }

    /// How many there were in all.
    fn end(&self) -> u64 {
        self.gone + self.bytes.len() as u64
    }
}

fn ended(error: std::io::Error) -> ExchangeError {
    ExchangeError::Ended {
        what: crate::connection::dial::plain(&error),
        silent: true,
    }
}
