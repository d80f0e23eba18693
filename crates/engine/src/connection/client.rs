//! The connection of one user to the server: kept, opened anew when necessary, with authentication
//! and everything else that has to happen outside the measured part.
//!
//! ```text
//! submit, submit, ... --> poll --> token, exchange        send: submit and poll of one
//! ```
//!
//! The version of HTTP is handled below ([`http1`](super::http1)); the consequences are the same
//! for all requests, one at a time or several in flight:
//!
//! | event | the oldest request | those behind it |
//! |---|---|---|
//! | a response | ends | stay in flight |
//! | a 401 that requires credentials that were given | is sent again, behind the others | stay, and are sent again after a 401 as well |
//! | a response, and the server ends the connection | ends | are sent again, if they may be repeated or were not sent yet |
//! | a connection that has brought responses ends in silence | is sent again, if it may be repeated | are sent again, if they may be repeated |
//! | any other end, or bytes that are not HTTP | fails | are sent again, if they may be repeated |
//! | a stream ends without a response | fails, or is sent again if it was refused | stay in flight |
//! | the server takes no more streams (GOAWAY) | is sent again if unprocessed | are sent again if unprocessed |
//! | no connection, no response in time | fails | fail |
//!
//! Every connection brings a response or a failure, so that all requests end.

mod authentication;
mod ending;
mod exchange;
mod repetition;

use std::cell::Cell;
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use rand_chacha::ChaCha8Rng;
use record::{Http, HttpVersion, Nanos, Outcome};
use wire::auth::Authenticator;
use wire::response::{Limits, ResponseHead};
use wire::target::{Scheme, Target};

use crate::clock::nanos;
use crate::clock::timekeeper::{Stamps, Timekeeper};
pub(crate) use crate::connection::body::KeptBody;
use crate::connection::carrier::Carrier;
use crate::connection::dial::Dialer;
use crate::connection::http1::{Connection, Response, Scratch};
use crate::connection::http2::Http2Connection;
use crate::connection::prepared::{PreparedRequest, Values};
pub(crate) use crate::connection::queue::RequestToken;
use crate::connection::queue::{RequestHistory, RequestQueue, UnderWay};
use crate::connection::silent_closes::SilentCloses;
use crate::event_loop::patience::{EarlyEndOfWait, Patience, Watchdog};
use crate::watch::heads::{Heads, HeadsOfClient};
use authentication::ClientCredentials;
use exchange::failure_of_wait;
pub(crate) use exchange::{Exchange, Failure, PlainRequest, SendOptions, Trace};

/// Factor of the usual time limit for a patient client.
const PATIENCE: u32 = 10;
/// A connection used at most this many nanoseconds ago need not be checked before its next use.
const FRESH: Nanos = 1_000_000;
/// Limits of responses, against endless ones.
pub(crate) const LIMITS: Limits = Limits {
    head_bytes: 64 * 1024,
    headers: 128,
    body_bytes: 1 << 30,
    interim: 16,
};
/// Why requests are sent again.
const LATE_STREAM: &str = "another stream had no response in time, and the connection was closed";
/// Memory for kept responses that stays with a user.
const COMMON_BODY: usize = 256 * 1024;

/// Settings shared by the clients of a run.
#[derive(Debug)]
pub(crate) struct ClientConfig {
    pub(crate) dialer: Dialer,
    pub(crate) target: Target,
    /// Path below which users work; ends with a slash.
    pub(crate) root: String,
    pub(crate) authority: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) http: Http,
    pub(crate) time: Arc<Timekeeper>,
    pub(crate) timeout: Duration,
    pub(crate) watchdog: Rc<Watchdog>,
    pub(crate) scratch: Scratch,
    /// For `--debug`.
    pub(crate) heads: Option<Arc<Heads>>,
    pub(crate) closes: Arc<SilentCloses>,
}

/// The client of one user for one server.
pub(crate) struct Client {
    config: Rc<ClientConfig>,
    /// Use of connections, from the beginning of a test on.
    http: Http,
    connection: Option<Carrier>,
    /// Address of the last connection; `None` for a local socket.
    pub(crate) address: Option<SocketAddr>,
    /// The head of the last response, if its connection is gone.
    parting: Option<ResponseHead>,
    patience: Rc<Patience>,
    heads: Option<HeadsOfClient>,
    /// When the last response was complete.
    last_used: Nanos,
    last_status: u16,
    /// Connection and *first* of the response that ended last.
    last_begun: Cell<Option<(Option<u32>, Nanos)>>,
    credentials: ClientCredentials,
    queue: RequestQueue,
    /// Ended requests that have not been returned yet.
    ended: VecDeque<(RequestToken, Exchange<Response>)>,
    /// When the oldest request became the oldest.
    waiting_since: Nanos,
    /// Buffer for the body of a request with variables.
    filled: Vec<u8>,
    /// The body of the last response, as far as it was kept.
    body: Vec<u8>,
    /// True for cleaning up: an interrupted run ends other requests soon.
    pub(crate) ignore_cancel: bool,
    /// True for the removal of a collection, which may take longer than any measured operation.
    pub(crate) is_patient: bool,
    /// The last request had no response in time: the next gets no extra patience.
    was_left_waiting: bool,
    /// The last request was declined in spite of repetitions: the next is sent once.
    pub(crate) is_turned_away: bool,
}

impl Client {
    pub(crate) fn new(config: Rc<ClientConfig>, auth: Authenticator, rng: ChaCha8Rng) -> Self {
        let patience = Patience::new(Rc::clone(&config.watchdog));
        Client {
            heads: config.heads.as_ref().map(Heads::for_client),
            http: config.http,
            config,
            connection: None,
            address: None,
            parting: None,
            patience: Rc::new(patience),
            last_used: 0,
            last_status: 0,
            last_begun: Cell::new(None),
            credentials: ClientCredentials::new(auth, rng),
            queue: RequestQueue::default(),
            ended: VecDeque::new(),
            waiting_since: 0,
            filled: Vec::new(),
            body: Vec::new(),
            ignore_cancel: false,
            is_patient: false,
            was_left_waiting: false,
            is_turned_away: false,
        }
    }

    /// The absolute URI of a path on the target, as Destination needs it: servers refuse paths.
    pub(crate) fn absolute(&self, path: &str) -> String {
        self.config.target.absolute_at_server(path)
    }

    pub(crate) fn scheme(&self) -> Scheme {
        self.config.target.scheme()
    }

    pub(crate) fn sends_proxy_line(&self) -> bool {
        self.http.haproxy_protocol
    }

    pub(crate) fn target(&self) -> String {
        self.config.target.url()
    }

    /// Path below which users work; ends with a slash.
    pub(crate) fn root(&self) -> &str {
        &self.config.root
    }

    /// Opens the connection that the next request will need.
    pub(crate) async fn connect(&mut self) -> Result<(), Failure> {
        if self.connection.is_some() {
            return Ok(());
        }
        let timeout = self.config.timeout;
        let end = self.config.time.clock.now().saturating_add(nanos(timeout));
        let (patience, interruptible) = (Rc::clone(&self.patience), !self.ignore_cancel);
        let dialing = pin!(self.dial());
        let dialed = patience.wait_for(end, interruptible, dialing).await;
        dialed.unwrap_or_else(|early_end| Err(failure_of_wait(early_end, timeout)))
    }

    /// Waits before a request that is not measured; false where the run ended meanwhile.
    pub(crate) async fn pause(&self, pause: Duration) -> bool {
        let end = self.config.time.clock.now().saturating_add(nanos(pause));
        let for_ever = pin!(std::future::pending::<()>());
        let waited = self.patience.wait_for(end, !self.ignore_cancel, for_ever);
        waited.await == Err(EarlyEndOfWait::Late)
    }

    /// The shortest round trip of the current connection, if there is one and the system reports
    /// it.
    pub(crate) fn least_round_trip(&self) -> Option<Nanos> {
        self.connection.as_ref()?.least_round_trip()
    }

    fn report_failure(&self, what: &str) {
        if let Some(heads) = &self.heads {
            heads.failure(what);
        }
    }

    pub(crate) fn body(&self) -> &[u8] {
        &self.body
    }

    pub(crate) fn head(&self) -> Option<&ResponseHead> {
        last_head(&self.parting, &self.connection)
    }

    /// Sends a request and waits for the response, within the time limit.
    pub(crate) async fn perform(&mut self, request: PlainRequest<'_>) -> Exchange {
        let prepared = match PreparedRequest::plain(&request, (&self.config, self.http)) {
            Ok(prepared) => prepared,
            Err(what) => return self.unsent(what),
        };
        let sending = SendOptions {
            keep: if request.keep_body {
                KeptBody::All
            } else {
                KeptBody::Excerpt
            },
            ..SendOptions::default()
        };
        let exchange = self.send(&prepared, &Values::NONE, sending).await;
        let head = self.head().cloned();
        match (&exchange.result, head) {
            (Ok(_), Some(head)) => exchange.map(|_| head),
            (Ok(_), None) => unreachable!("a response has a head"),
            (Err(_), _) => exchange.map(|_| unreachable!("it is an error")),
        }
    }

    fn unsent(&self, what: String) -> Exchange {
        let outcome = Outcome::ProtocolError;
        let what = format!("the request cannot be written: {what}");
        let history = RequestHistory {
            began: self.config.time.clock.now(),
            ..RequestHistory::default()
        };
        let failed = Err(Failure { outcome, what });
        let exchange = Exchange::new(&history, &Stamps::default(), failed, &self.config.time);
        exchange.map(|_| unreachable!("it is an error"))
    }

    /// Sends a prepared request and waits for the response, within the time limit. Head and body of
    /// the response are available until the next request, as [`Self::head`] and [`Self::body`].
    pub(crate) async fn send(
        &mut self,
        request: &PreparedRequest,
        values: &Values<'_>,
        sending: SendOptions,
    ) -> Exchange<Response> {
        // Requests that were abandoned are not waited for any more.
        self.queue.clear();
        self.ended.clear();
        self.submit(request, values, sending);
        match self.poll(Nanos::MAX).await {
            Some((_, exchange)) => exchange,
            None => unreachable!("what was submitted ends"),
        }
    }

    /// Number of requests that have been submitted and not returned.
    pub(crate) fn under_way(&self) -> usize {
        self.queue.len() + self.ended.len()
    }

    /// True if one of them has ended already, and is returned without waiting.
    pub(crate) fn has_ended_one(&self) -> bool {
        !self.ended.is_empty()
    }

    /// When the oldest of them began to be written, if it has.
    pub(crate) fn oldest(&self) -> Option<Nanos> {
        let started = self.queue.first()?.stamps.started;
        (started > 0).then_some(started)
    }

    /// Adds a request behind those in flight.
    #[inline]
    pub(crate) fn submit(
        &mut self,
        request: &PreparedRequest,
        values: &Values<'_>,
        sending: SendOptions,
    ) -> RequestToken {
        let clock = self.config.time.clock;
        let mut began = sending.now.unwrap_or_else(|| clock.now());
        if self.queue.is_empty() {
            self.waiting_since = began;
            // Just after a response the server has not closed the connection, or the request is
            // sent again.
            let is_fresh = began.saturating_sub(self.last_used) < FRESH;
            if !(is_fresh && request.is_idempotent) {
                self.drop_if_closed(request.is_idempotent);
            }
            if self.connection.is_none() {
                began = clock.now();
            }
        }
        let live = request.live_body(values, &mut self.filled);
        let fixed = request.fixed_body();
        let length = live.len() + fixed.map_or(0, |body| body.len());
        let history = RequestHistory {
            planned: sending.planned,
            began,
            is_idempotent: request.is_idempotent,
            credentials: self.credentials.heeded,
            ..RequestHistory::default()
        };
        let credentials = &mut self.credentials;
        let token = self.queue.submit(
            UnderWay::new(request.is_head, sending.keep, fixed.cloned(), history),
            |bytes| request.write_head(bytes, values, length),
            |bytes, start| credentials.write(bytes, start),
            live,
        );
        self.show_request();
        token
    }

    /// Waits for a request to end, at the latest at `cut_off`; `None` if none is in flight. Head
    /// and body of the response are available until the next call, as [`Self::head`] and
    /// [`Self::body`].
    pub(crate) async fn poll(
        &mut self,
        cut_off: Nanos,
    ) -> Option<(RequestToken, Exchange<Response>)> {
        if self.queue.is_empty() || !self.ended.is_empty() {
            return self.ended.pop_front();
        }
        if self.patience.is_over(!self.ignore_cancel) {
            self.connection = None;
            let failure = failure_of_wait(EarlyEndOfWait::Interrupted, self.config.timeout);
            return self.end_all(&failure);
        }
        let mut timeout = self.config.timeout;
        if self.is_patient && !self.was_left_waiting {
            timeout *= PATIENCE;
        }
        // One large 207 is no reason to keep its memory for the rest of the run.
        if self.body.capacity() > COMMON_BODY {
            self.body = Vec::new();
        }
        let end = self.waiting_since.saturating_add(nanos(timeout));
        let (patience, interruptible) = (Rc::clone(&self.patience), !self.ignore_cancel);
        let waited = {
            let ending = pin!(self.next_to_end());
            patience
                .wait_for(end.min(cut_off), interruptible, ending)
                .await
        };
        match waited {
            Ok(Ending::Response(result)) => {
                Some(self.end_oldest(result, "the server ended the connection", false))
            }
            Ok(Ending::BrokenOff(failure)) => {
                Some(self.end_oldest(Err(failure), "a response was cut off", true))
            }
            Ok(Ending::All(failure)) => self.end_all(&failure),
            Err(early_end) => {
                self.was_left_waiting = early_end == EarlyEndOfWait::Late;
                self.connection = None;
                let failure = failure_of_wait(early_end, timeout);
                // Streams do not wait for each other: the others are not late.
                if early_end == EarlyEndOfWait::Late && self.has_streams() && self.queue.len() > 1 {
                    return Some(self.end_oldest(Err(failure), LATE_STREAM, true));
                }
                self.end_all(&failure)
            }
        }
    }

    async fn next_to_end(&mut self) -> Ending {
        loop {
            // The head of a response after which the request was sent again is not that of the next
            // one.
            self.parting = None;
            if self.connection.is_none()
                && let Err(failure) = Box::pin(self.dial()).await
            {
                return Ending::All(failure);
            }
            let Some(mut connection) = self.connection.take() else {
                unreachable!("there is a connection")
            };
            let clock = self.config.time.clock;
            let response = connection.next_response(&mut self.queue, &mut self.body, clock);
            let ended = match response.await {
                Ok(response) => self
                    .take_response(connection, response)
                    .map(Ending::Response),
                Err(error) => self.broken_off(connection, error).map(Ending::BrokenOff),
            };
            if let Some(ended) = ended {
                return ended;
            }
        }
    }

    /// Handles the response to the oldest request, which ends with it unless that requires other
    /// credentials.
    fn take_response(
        &mut self,
        connection: Carrier,
        response: Response,
    ) -> Option<Result<Response, Failure>> {
        let first = self.queue.first_mut()?;
        self.last_used = first.stamps.done.unwrap_or_default();
        self.last_status = response.status;
        self.was_left_waiting = false;
        let challenged = match connection.head() {
            Some(head) => self.credentials.challenged(&mut first.history, head),
            None => Ok(false),
        };
        if response.reusable && !response.surplus && self.http.keep_alive {
            self.connection = Some(connection);
        } else {
            first.history.ended(&connection, &self.http);
            self.parting = connection.head().cloned();
        }
        match challenged {
            Ok(true) => {
                self.resend_oldest();
                None
            }
            Ok(false) => Some(Ok(response)),
            Err(failure) => Some(Err(failure)),
        }
    }

    fn show_request(&self) {
        if let Some(heads) = &self.heads {
            heads.request(self.queue.last_head());
        }
    }

    /// Ends the oldest request; those behind it continue, on another connection if this one is
    /// gone, for this reason.
    #[inline]
    fn end_oldest(
        &mut self,
        result: Result<Response, Failure>,
        why: &str,
        may_be_carried_out: bool,
    ) -> (RequestToken, Exchange<Response>) {
        let Some(first) = self.queue.first() else {
            unreachable!("what has ended is the oldest")
        };
        let (token, exchange) = (first.token, self.exchange_of(first, result));
        self.queue.take_first();
        if !self.queue.is_empty() {
            self.waiting_since = self.config.time.clock.now();
            if self.connection.is_none() {
                self.send_again(why, may_be_carried_out);
            }
            if self.has_streams()
                && let Some(first) = self.queue.first()
            {
                self.waiting_since = first.history.began;
            }
        }
        (token, exchange)
    }

    /// True if requests in flight are streams, whose responses come in any order.
    fn has_streams(&self) -> bool {
        self.http.version == HttpVersion::Http2
    }

    /// Ends all requests in flight: none will have a response.
    fn end_all(&mut self, failure: &Failure) -> Option<(RequestToken, Exchange<Response>)> {
        while let Some(first) = self.queue.take_first() {
            let failed = self.exchange_of(&first, Err(failure.clone()));
            self.ended.push_back((first.token, failed));
        }
        self.ended.pop_front()
    }

    #[inline]
    fn exchange_of(
        &self,
        request: &UnderWay,
        result: Result<Response, Failure>,
    ) -> Exchange<Response> {
        if let Err(failure) = &result {
            self.report_failure(&failure.what);
        }
        let mut exchange =
            Exchange::new(&request.history, &request.stamps, result, &self.config.time);
        let trace = &mut exchange.trace;
        if let Some(first) = trace.moments.first {
            let begun = Some((trace.connection, first));
            trace.shares_first = begun == self.last_begun.replace(begun);
        }
        exchange
    }

    /// Opens a connection, for the oldest request if there is one.
    async fn dial(&mut self) -> Result<(), Failure> {
        let failure = |what| Failure {
            outcome: Outcome::ConnectFailed,
            what,
        };
        let dialed = self.config.dialer.dial().await;
        let dialed = dialed.map_err(|error| failure(error.to_string()))?;
        if let Some(first) = self.queue.first_mut() {
            first.history.connect = Some(dialed.connect);
        }
        self.address = dialed.address;
        let (number, transport) = (dialed.number, dialed.transport);
        let (scratch, heads) = (Rc::clone(&self.config.scratch), self.heads.clone());
        self.connection = Some(if self.http.version == HttpVersion::Http2 {
            let is_https = self.scheme() == Scheme::Https;
            let begun = Http2Connection::begin(number, transport, scratch, LIMITS, heads, is_https);
            Carrier::Http2(Box::new(begun.await.map_err(failure)?))
        } else {
            let connection = Connection::new(number, transport, scratch, LIMITS, heads);
            Carrier::Http1(Box::new(connection.in_two_writes(self.http.two_writes)))
        });
        Ok(())
    }
}

/// The head of the last response: that of a connection that is gone, or of the current one.
fn last_head<'a>(
    parting: &'a Option<ResponseHead>,
    connection: &'a Option<Carrier>,
) -> Option<&'a ResponseHead> {
    let kept = connection.as_ref().and_then(Carrier::head);
    parting.as_ref().or(kept)
}

/// Requests that end, and their results.
enum Ending {
    /// The oldest, with a response; a failure if that requires credentials that were not given.
    Response(Result<Response, Failure>),
    /// The oldest, without a response.
    BrokenOff(Failure),
    All(Failure),
}
