//! The closed loop with several requests under way on one connection (RFC 9112, section 9.3.2).
//!
//! ```text
//! fill up --> write --> read one answer --> record --> fill up ...
//! ```
//!
//! A server may close the connection after an answer, and then the requests behind it were never
//! answered: they are sent again on a new connection, as the RFC asks of clients, and say so.
//!
//! A request that is answered 401 is sent again behind the others, with the credentials that the
//! response asks for. Those that left before it was read carry the old ones: they are sent again
//! too, and their challenges are not heeded, because the first of them was.

use std::collections::VecDeque;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;

use record::{Connect, Nanos, Outcome};
use wire::response::ResponseHead;

use super::field::UserPhase;
use super::kinds::{Kind, Unit};
use super::lane::Lane;
use crate::clock::nanos;
use crate::clock::timekeeper::{KernelStamps, Stamps};
use crate::connection::client::{CHALLENGES, Failure, Trace, gave_up_failure};
use crate::connection::http1::{Connection, ExchangeError, Idle, Response};
use crate::connection::prepared::{Count, Values};
use crate::drive::check::{Wrong, outcome};
use crate::drive::operation::Operation;
use crate::drive::step::Reading;

/// Answers that are kept: a 207, which is read.
const KEPT: usize = 64 << 20;
/// Times a request is sent on a new connection before it counts as failed, where none brought an
/// answer to any.
const TRIES: u32 = 3;

/// A request under way.
struct UnderWay {
    kind: usize,
    count: Count,
    /// The visit whose page it is a part of.
    visit: Option<u64>,
    /// Where it ends in all that this connection is to carry.
    end: u64,
    mark: Option<u64>,
    stamps: Stamps,
    connect: Option<Connect>,
    /// Connections that ended without an answer while it was under way.
    tries: u32,
    is_resent: bool,
    /// Which [credentials](Pipe::credentials) it carries.
    credentials: u32,
    /// How often these were not good enough.
    challenges: u32,
}

/// What a connection that has ended brought: with an answer each, all requests are answered in the
/// end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Brought {
    Answer,
    Nothing,
}

/// One user of a closed loop with a pipeline.
pub(super) async fn lane(mut lane: Lane, depth: usize) {
    let field = Arc::clone(&lane.field);
    lane.get_ready().await;

    lane.worker.vitals.enter();
    let mut pipe = Pipe {
        connection: None,
        number: None,
        under_way: VecDeque::with_capacity(depth),
        page: Page::default(),
        outgoing: Outgoing::default(),
        body: Vec::new(),
        now: field.stage().clock.now(),
        phase: UserPhase::default(),
        unanswered: 0,
        credentials: 0,
    };
    while pipe.fill_up(&mut lane, depth) {
        pipe.step(&mut lane).await;
    }
    lane.worker.vitals.leave(&field.stage().vitals);
}

/// An operation that is more than one request, as far as it is not sent.
#[derive(Default)]
struct Page {
    operation: u64,
    /// Its number, where it is a page.
    visit: Option<u64>,
    /// Kinds of the requests that are still to be sent.
    left: VecDeque<usize>,
}

/// A request that is to be sent.
struct Next {
    kind: usize,
    number: u64,
    visit: Option<u64>,
}

/// A connection with several requests under way.
struct Pipe {
    connection: Option<Box<Connection>>,
    /// Number of the connection, or of the last one.
    number: Option<u32>,
    under_way: VecDeque<UnderWay>,
    page: Page,
    outgoing: Outgoing,
    body: Vec<u8>,
    now: Nanos,
    phase: UserPhase,
    unanswered: u32,
    /// Counts the challenges that were heeded: requests carry other credentials after each.
    credentials: u32,
}

impl Pipe {
    /// Claims operations until there are enough under way; false when there are none.
    fn fill_up(&mut self, lane: &mut Lane, depth: usize) -> bool {
        // What comes when nothing was asked for is no answer to what is asked for next.
        let mut idle = self.connection.as_deref_mut();
        idle = idle.filter(|_| self.under_way.is_empty());
        if idle.is_some_and(|connection| connection.idle() != Idle::Open) {
            self.connection = None;
        }
        while self.under_way.len() < depth {
            let Some(next) = self.next(lane) else {
                break;
            };
            let request = UnderWay {
                kind: next.kind,
                count: lane.count(next.number),
                visit: next.visit,
                end: 0,
                mark: None,
                stamps: Stamps::default(),
                connect: None,
                tries: 0,
                is_resent: false,
                credentials: 0,
                challenges: 0,
            };
            self.enqueue(lane, request);
        }
        !self.under_way.is_empty()
    }

    /// The next request: of the page that is under way, or of an operation that is claimed for it.
    fn next(&mut self, lane: &mut Lane) -> Option<Next> {
        if self.page.left.is_empty() {
            // A page begins when the one before it is complete.
            if self.page.visit.is_some() && !self.under_way.is_empty() {
                return None;
            }
            // What is not sent yet begins later than now.
            let first = self.under_way.front();
            let first = first.map(|first| first.stamps.started);
            let oldest = first.filter(|started| *started > 0);
            let operation = lane.field.claim(&mut self.phase, self.now, oldest)?;
            let kinds = Rc::clone(&lane.kinds);
            let unit = kinds.unit(lane.draw(operation));
            self.page.visit = matches!(unit, Unit::Page(_)).then_some(operation);
            self.page.operation = operation;
            self.page.left.extend(unit.kinds());
        } else if lane.field.is_cut_off(self.now) {
            self.page.left.clear();
            return None;
        }
        let kind = self.page.left.pop_front()?;
        Some(Next {
            kind,
            number: lane.number(self.page.operation),
            visit: self.page.visit,
        })
    }

    /// Writes a request behind the others that are to be written.
    fn enqueue(&mut self, lane: &mut Lane, mut request: UnderWay) {
        let kinds = Rc::clone(&lane.kinds);
        let kind = kinds.kind(request.kind);
        let values = Values::of(request.count);
        let before = self.outgoing.end();
        let outgoing = &mut self.outgoing;
        let push = |bytes: &[u8]| outgoing.push(bytes);
        lane.client.written(&kind.step.request, &values, push);
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
    async fn step(&mut self, lane: &mut Lane) {
        if self.connection.is_none() {
            let (connection, connect) = lane.client.dial_apart().await;
            match connection {
                Ok(connection) => {
                    self.number = Some(connection.number);
                    self.connection = Some(connection);
                }
                Err(failure) => return self.fail_all(lane, failure).await,
            }
            if let Some(first) = self.under_way.front_mut() {
                first.connect = connect;
            }
        }
        let Some(mut connection) = self.connection.take() else {
            return;
        };
        let clock = lane.field.stage().clock;
        let timeout = lane.worker.config.timeout;
        let end = clock.now().saturating_add(nanos(timeout));
        // However many answers are still to come, the run ends in time.
        let end = end.min(lane.field.cut_off());
        let patience = lane.client.patience();
        let exchanged = {
            let exchange = pin!(self.exchange(lane, &mut connection));
            patience.wait_for(end, true, exchange).await
        };
        match exchanged {
            Ok(Ok(Some(_))) if connection.has_spoken_unasked() && self.under_way.len() == 1 => {
                let what = "more answers came than there were requests".to_owned();
                let outcome = Outcome::ProtocolError;
                self.fail_first(lane, Failure { outcome, what });
            }
            Ok(Ok(Some(response))) => {
                self.unanswered = 0;
                self.finish(lane, &mut connection, &response).await;
                match response.reusable {
                    true => self.connection = Some(connection),
                    false => {
                        self.send_again(lane, "the server closed the connection", Brought::Answer)
                            .await
                    }
                }
            }
            // Everything is written, and the answer is still to come.
            Ok(Ok(None)) => self.connection = Some(connection),
            Ok(Err(ExchangeError::Ended { what, silent })) if silent => {
                self.send_again(lane, &what, Brought::Nothing).await;
                self.rest(lane).await;
            }
            Ok(Err(error)) => {
                let outcome = match error {
                    ExchangeError::Ended { .. } => Outcome::Reset,
                    ExchangeError::Protocol(_) => Outcome::ProtocolError,
                };
                let what = error.to_string();
                self.fail_first(lane, Failure { outcome, what });
                self.send_again(lane, "an answer was broken off", Brought::Nothing)
                    .await;
                self.rest(lane).await;
            }
            Err(gave_up) => {
                let failure = gave_up_failure(gave_up, timeout);
                self.fail_all(lane, failure).await;
            }
        }
    }

    /// Writes; reads the answer to the first request once that has left.
    async fn exchange(
        &mut self,
        lane: &Lane,
        connection: &mut Connection,
    ) -> Result<Option<Response>, ExchangeError> {
        let clock = lane.field.stage().clock;
        let first_has_left = |pipe: &Pipe| {
            let first = pipe.under_way.front();
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
        let kinds = Rc::clone(&lane.kinds);
        let is_head = kinds.kind(first.kind).step.plan.method == "HEAD";
        let keep = |head: &ResponseHead| if head.status == 207 { KEPT } else { 0 };
        let response = connection
            .receive_next(is_head, &keep, &mut self.body, clock, &mut first.stamps)
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
            let bytes = match connection.must_drain() {
                true => &[],
                false => self.outgoing.unwritten(),
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

    /// Records the answer to the first request.
    async fn finish(&mut self, lane: &mut Lane, connection: &mut Connection, answer: &Response) {
        let Some(mut first) = self.under_way.pop_front() else {
            return;
        };
        if let Some(mark) = first.mark {
            connection.settle(mark, &mut first.stamps).await;
        }
        let kinds = Rc::clone(&lane.kinds);
        let kind = kinds.kind(first.kind);
        let Some(head) = connection.head() else {
            return self.record(lane, kind, &first, Some(answer), Ok(()));
        };
        match self.is_challenged(lane, &mut first, head) {
            Ok(true) => {
                first.is_resent = true;
                self.enqueue(lane, first);
            }
            Ok(false) => {
                let verdict = kind
                    .step
                    .judge(head, &self.body, answer.body_length, Reading::Quick);
                let verdict = verdict.map(|_| ());
                self.record(lane, kind, &first, Some(answer), verdict);
            }
            Err(Failure { outcome, what }) => {
                let wrong = Wrong::new(outcome, what);
                self.record(lane, kind, &first, None, Err(wrong));
            }
        }
    }

    /// Whether a request has to be sent again with other credentials; the reason where there are
    /// none.
    fn is_challenged(
        &mut self,
        lane: &mut Lane,
        request: &mut UnderWay,
        head: &ResponseHead,
    ) -> Result<bool, Failure> {
        if head.status == 401 && request.credentials != self.credentials {
            return Ok(true);
        }
        let is_challenge = lane.client.heed_challenge(head)?;
        self.credentials += u32::from(is_challenge);
        request.challenges += u32::from(is_challenge);
        Ok(is_challenge && request.challenges < CHALLENGES)
    }

    fn record(
        &mut self,
        lane: &mut Lane,
        kind: &Kind,
        request: &UnderWay,
        answer: Option<&Response>,
        verdict: Result<(), Wrong>,
    ) {
        let field = Arc::clone(&lane.field);
        let now = field.stage().clock.now();
        let done = request.stamps.done.unwrap_or(now);
        let started = match request.stamps.started {
            0 => now,
            started => started,
        };
        let time = &lane.worker.config.time;
        let (moments, timing) = time.moments(&request.stamps, None, started, Some(done));
        self.now = done;
        self.phase.has_ended_one = true;
        if let (None, Err(wrong)) = (answer, &verdict) {
            lane.client.tell_of_failure(&wrong.what);
        }
        let operation = Operation {
            measure: kind.measure,
            user: lane.log.user,
            number: request.count.number,
            visit: request.visit,
            phase: 0,
        };
        let heard = (done, answer.is_some());
        lane.log.hear(&operation, &kind.step, heard, &verdict);
        let trace = Trace {
            moments,
            timing,
            connection: self.number,
            protocol: answer.map(|answer| answer.version),
            connect: request.connect,
            resent: request.is_resent,
            bytes_sent: request.stamps.bytes_sent,
            bytes_received: request.stamps.bytes_received,
            status: answer.map(|answer| answer.status),
            body_received: answer.map_or(0, |answer| answer.body_length),
        };
        lane.worker.record(operation, trace, outcome(&verdict));
    }

    fn fail_first(&mut self, lane: &mut Lane, failure: Failure) {
        let Some(first) = self.under_way.pop_front() else {
            return;
        };
        let kinds = Rc::clone(&lane.kinds);
        let wrong = Wrong::new(failure.outcome, failure.what);
        self.record(lane, kinds.kind(first.kind), &first, None, Err(wrong));
    }

    async fn fail_all(&mut self, lane: &mut Lane, failure: Failure) {
        self.connection = None;
        while !self.under_way.is_empty() {
            self.fail_first(lane, failure.clone());
        }
        self.outgoing = Outgoing::default();
        self.rest(lane).await;
    }

    /// A server that does not answer is not asked again at once.
    async fn rest(&mut self, lane: &mut Lane) {
        lane.rest(self.unanswered).await;
        self.unanswered += 1;
        self.now = lane.field.stage().clock.now();
    }

    /// The connection is gone: what was not answered is sent on a new one.
    async fn send_again(&mut self, lane: &mut Lane, why: &str, brought: Brought) {
        self.connection = None;
        self.outgoing = Outgoing::default();
        for mut request in std::mem::take(&mut self.under_way) {
            request.tries += u32::from(brought == Brought::Nothing);
            request.is_resent = true;
            let kinds = Rc::clone(&lane.kinds);
            let kind = kinds.kind(request.kind);
            let may_repeat = kind.step.request.is_idempotent;
            if may_repeat && request.tries <= TRIES {
                self.enqueue(lane, request);
                continue;
            }
            let what = format!("{why}, and the request behind it was never answered");
            let wrong = Wrong::new(Outcome::Reset, what);
            self.record(lane, kind, &request, None, Err(wrong));
        }
    }
}

/// Bytes of requests that a connection is to carry, but for those that it has carried.
#[derive(Default)]
struct Outgoing {
    bytes: Vec<u8>,
    /// How many of them are written.
    at: usize,
    /// Bytes written before these.
    gone: u64,
}

impl Outgoing {
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
