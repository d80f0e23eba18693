//! One user's way to the server: a connection that is kept, opened anew when it must be, with
//! authentication and everything else that has to happen outside the measured part.

mod authentication;
mod exchange;
mod pipeline;

use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use record::{Connect, Http, Nanos, Outcome};
use wire::auth::Authenticator;
use wire::response::{Limits, ResponseHead};
use wire::target::Target;

use crate::clock::nanos;
use crate::clock::timekeeper::Stamps;
use crate::clock::timekeeper::Timekeeper;
use crate::connection::dial::Dialer;
use crate::connection::http1::{Connection, ExchangeError, Idle, Outgoing, Response, Scratch};
use crate::connection::prepared::{PreparedRequest, Values};
use crate::connection::silent_closes::{Caution, CloseShown, SilentCloses};
use crate::event_loop::patience::{GaveUp, Patience, Watchdog};
use crate::watch::heads::{Heads, HeadsOfClient};
use authentication::heed_challenge;
pub(crate) use exchange::{
    Exchange, Failure, KeptBody, PlainRequest, ReceivedHead, SendOptions, Trace,
};
pub(crate) use pipeline::{Pipeline, Submission};

/// A patient client waits so many times the usual time limit.
const PATIENCE: u32 = 10;
/// How much of the body of an answer is kept to explain a failure.
const EXCERPT: usize = 2 * 1024;
/// A connection that was used so short a time ago, in nanoseconds, need not be looked at before it
/// is used again.
const FRESH: Nanos = 1_000_000;
/// Bounds of answers that are read, against endless ones.
pub(crate) const ANSWER_LIMITS: Limits = Limits {
    head_bytes: 64 * 1024,
    headers: 128,
    body_bytes: 1 << 30,
    interim: 16,
};
/// Largest answer that is kept: every 207 is read as a whole.
const LARGEST_KEPT: usize = 64 << 20;
/// Room for kept answers that stays with a user.
const COMMON_BODY: usize = 256 * 1024;
/// A request that was challenged so often is not sent again.
const CHALLENGES: u32 = 3;

/// A prepared request with what fills it.
struct FilledRequest<'a> {
    request: &'a PreparedRequest,
    values: &'a Values<'a>,
    body: Option<&'a [u8]>,
}

impl FilledRequest<'_> {
    fn length(&self) -> usize {
        self.body.map_or(0, <[u8]>::len)
    }
}

/// What the clients of a run have in common.
#[derive(Debug)]
pub(crate) struct ClientConfig {
    pub(crate) dialer: Dialer,
    pub(crate) target: Target,
    /// Path below which users work; ends with a slash.
    pub(crate) root: String,
    /// Value of Host.
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

/// One user's way to the server.
pub(crate) struct Client {
    config: Rc<ClientConfig>,
    /// Boxed, because it is handed to and fro.
    connection: Option<Box<Connection>>,
    /// The head of the last answer, where its connection is gone.
    parting: Option<ResponseHead>,
    patience: Rc<Patience>,
    heads: Option<HeadsOfClient>,
    /// When the last answer was complete.
    last_used: Nanos,
    last_status: u16,
    auth: Authenticator,
    rng: ChaCha8Rng,
    head: Vec<u8>,
    /// Where the body of a request with variables is put together.
    filled: Vec<u8>,
    /// The body of the last response, as far as it was kept.
    body: Vec<u8>,
    /// An interrupted run ends what is under way soon; cleaning up is exempt.
    pub(crate) ignore_cancel: bool,
    /// Removing a whole collection may take longer than any measured operation.
    pub(crate) is_patient: bool,
    /// The last request got no answer in time: nobody is patient with such a server.
    was_left_waiting: bool,
}

impl Client {
    pub(crate) fn new(config: Rc<ClientConfig>, auth: Authenticator, rng: ChaCha8Rng) -> Self {
        let patience = Patience::new(Rc::clone(&config.watchdog));
        Client {
            heads: config.heads.as_ref().map(Heads::of_client),
            config,
            connection: None,
            parting: None,
            patience: Rc::new(patience),
            last_used: 0,
            last_status: 0,
            auth,
            rng,
            head: Vec::new(),
            filled: Vec::new(),
            body: Vec::new(),
            ignore_cancel: false,
            is_patient: false,
            was_left_waiting: false,
        }
    }

    /// The absolute URI of a path on the target, as Destination wants it: servers refuse paths.
    pub(crate) fn absolute(&self, path: &str) -> String {
        self.config.target.absolute(path)
    }

    /// URL of the target.
    pub(crate) fn target(&self) -> String {
        self.config.target.url()
    }

    /// Path below which users work; ends with a slash.
    pub(crate) fn root(&self) -> &str {
        &self.config.root
    }

    /// Opens the connection that the next request will need.
    pub(crate) async fn connect(&mut self) -> Result<(), Failure> {
        if self.connection.is_none() {
            self.connection = Some(self.dial_in_time(&mut ExchangeProgress::default()).await?);
        }
        Ok(())
    }

    /// Tells whoever reads along why there is no answer.
    fn tell_of_failure(&self, what: &str) {
        if let Some(heads) = &self.heads {
            heads.failure(what);
        }
    }

    /// What this user's requests wait with.
    fn patience(&self) -> Rc<Patience> {
        Rc::clone(&self.patience)
    }

    /// The body of the last answer, as far as it was kept.
    pub(crate) fn body(&self) -> &[u8] {
        &self.body
    }

    /// The head of the last answer.
    pub(crate) fn head(&self) -> Option<&ResponseHead> {
        last_head(&self.parting, &self.connection)
    }

    /// Sends a request and waits for the answer, within the time limit.
    pub(crate) async fn perform(&mut self, request: PlainRequest<'_>) -> Exchange {
        let prepared = match PreparedRequest::plain(&request, &self.config) {
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
            (Ok(_), Some(head)) => exchange.map(|_| ReceivedHead { head }),
            (Ok(_), None) => unreachable!("an answer has a head"),
            (Err(_), _) => exchange.map(|_| unreachable!("it is an error")),
        }
    }

    /// A request that cannot be written.
    fn unsent(&self, what: String) -> Exchange {
        let outcome = Outcome::ProtocolError;
        let what = format!("the request cannot be written: {what}");
        let progress = ExchangeProgress {
            started: self.config.time.clock.now(),
            ..ExchangeProgress::default()
        };
        let exchange = progress.into_exchange(Err(Failure { outcome, what }), &self.config.time);
        exchange.map(|_| unreachable!("it is an error"))
    }

    /// Sends a prepared request and waits for the response, within the time limit. Head and body of the
    /// response are there until the next request, as [`Self::head`] and [`Self::body`].
    pub(crate) async fn send(
        &mut self,
        request: &PreparedRequest,
        values: &Values<'_>,
        sending: SendOptions,
    ) -> Exchange<Response> {
        let mut filled = std::mem::take(&mut self.filled);
        let request = &FilledRequest {
            request,
            values,
            body: request.body(values, &mut filled),
        };
        let timeout = if self.is_patient && !self.was_left_waiting {
            self.config.timeout * PATIENCE
        } else {
            self.config.timeout
        };
        // One large 207 is no reason to keep its memory for the rest of the run.
        if self.body.capacity() > COMMON_BODY {
            self.body = Vec::new();
        }
        self.parting = None;
        let config = Rc::clone(&self.config);
        let begun = sending.now.unwrap_or_else(|| config.time.clock.now());
        let end = begun.saturating_add(nanos(timeout));
        let interruptible = !self.ignore_cancel;
        let mut progress = ExchangeProgress {
            started: begun,
            planned: sending.planned,
            ..ExchangeProgress::default()
        };
        let patience = self.patience();
        let waited = {
            let attempts = pin!(self.attempts(request, sending.keep, &mut progress));
            patience.wait_for(end, interruptible, attempts).await
        };
        let result = waited.unwrap_or_else(|gave_up| Err(gave_up_failure(gave_up, timeout)));
        if let Err(failure) = &result {
            self.connection = None;
            self.tell_of_failure(&failure.what);
        }
        self.was_left_waiting =
            matches!(&result, Err(failure) if failure.outcome == Outcome::Timeout);
        self.filled = filled;
        progress.into_exchange(result, &config.time)
    }

    /// Asks until there is an answer that is not about authentication.
    async fn attempts(
        &mut self,
        request: &FilledRequest<'_>,
        keep: KeptBody,
        progress: &mut ExchangeProgress,
    ) -> Result<Response, Failure> {
        let mut challenges = 0;
        loop {
            let response = self.attempt(request, keep, progress).await?;
            if response.status != 401 && self.auth.is_anonymous() {
                return Ok(response);
            }
            let Some(head) = last_head(&self.parting, &self.connection) else {
                return Ok(response);
            };
            let is_challenge = heed_challenge(&mut self.auth, head)?;
            challenges += u32::from(is_challenge);
            if !is_challenge || challenges == CHALLENGES {
                return Ok(response);
            }
            progress.resent = true;
        }
    }

    /// Sends the request once, or twice when a kept connection turns out to be dead.
    async fn attempt(
        &mut self,
        request: &FilledRequest<'_>,
        keep: KeptBody,
        progress: &mut ExchangeProgress,
    ) -> Result<Response, Failure> {
        self.write_head(request.request, request.values, request.length());
        // Just after an answer the server has not given the connection up, or the request is
        // sent once more.
        let is_idempotent = request.request.is_idempotent;
        let fresh = is_idempotent && progress.started.saturating_sub(self.last_used) < FRESH;
        if !fresh {
            self.drop_if_closed(is_idempotent);
        }
        if self.connection.is_none() {
            progress.started = self.config.time.clock.now();
        }
        loop {
            let mut connection = match self.connection.take() {
                Some(connection) => connection,
                None => Box::pin(self.dial(progress)).await?,
            };
            let kept = connection.exchanges > 0;
            progress.connection = Some(connection.number);
            progress.stamps = Stamps::default();
            let outgoing = Outgoing {
                head: &self.head,
                body: request.body.unwrap_or_default(),
                is_head: request.request.method == "HEAD",
            };
            let keep = |head: &ResponseHead| match (head.status, keep) {
                (207, _) | (200..=299, KeptBody::All) => LARGEST_KEPT,
                (200..=299, KeptBody::Nothing) => 0,
                _ => EXCERPT,
            };
            let clock = self.config.time.clock;
            let result = connection
                .exchange(outgoing, &keep, &mut self.body, clock, &mut progress.stamps)
                .await;
            match result {
                Ok(response) => {
                    self.last_used = progress.stamps.done.unwrap_or_default();
                    self.last_status = response.status;
                    if response.reusable && !response.surplus && self.config.http.keep_alive {
                        self.connection = Some(connection)
                    } else {
                        self.parting = connection.head().cloned()
                    }
                    return Ok(response);
                }
                Err(ExchangeError::Ended { what, silent: true }) if kept => {
                    self.note_silent_close(CloseShown::Lost);
                    if !is_idempotent {
                        let outcome = Outcome::Reset;
                        let what = format!(
                            "{what}; the connection was kept from the request before, and {} is not \
                             sent again, because it may have been carried out",
                            request.request.method
                        );
                        return Err(Failure { outcome, what });
                    }
                    self.tell_of_failure("the kept connection has ended; asked again on another");
                    progress.resent = true;
                    progress.died_once = true;
                    progress.started = self.config.time.clock.now();
                }
                Err(ExchangeError::Ended { what, .. }) => {
                    return Err(Failure {
                        outcome: Outcome::Reset,
                        what,
                    });
                }
                Err(ExchangeError::Protocol(error)) => {
                    return Err(Failure {
                        outcome: Outcome::ProtocolError,
                        what: error.to_string(),
                    });
                }
            }
        }
    }

    /// Drops the kept connection where the server has closed it or said something unasked: what comes when
    /// nothing was asked for is no answer to what is asked for next.
    fn drop_if_spoken(&mut self) {
        let kept = self.connection.as_deref_mut();
        if kept.is_some_and(|connection| connection.idle() != Idle::Open) {
            self.connection = None;
        }
    }

    /// Drops the kept connection where the server has closed it, and where the server has closed
    /// others like it and the request must not be repeated.
    fn drop_if_closed(&mut self, is_idempotent: bool) {
        let Some(mut connection) = self.connection.take() else {
            return;
        };
        let closes = &self.config.closes;
        let is_kept = connection.exchanges > 0;
        let caution = if is_kept && closes.any() && !is_idempotent {
            closes.caution(self.last_status)
        } else {
            Caution::None
        };
        if caution != Caution::None {
            connection.look_again();
        }
        match connection.idle() {
            Idle::Open if caution == Caution::Reconnect => {}
            Idle::Open => self.connection = Some(connection),
            Idle::Ended if is_kept => self.note_silent_close(CloseShown::Noticed),
            Idle::Ended | Idle::Spoke => {}
        }
    }

    /// The kept connection has ended though its last response did not announce that.
    fn note_silent_close(&self, shown: CloseShown) {
        let idle = self.config.time.clock.now().saturating_sub(self.last_used);
        self.config.closes.note(self.last_status, idle, shown);
    }

    /// As [`Self::dial`], within the time limit of an operation.
    async fn dial_in_time(
        &self,
        progress: &mut ExchangeProgress,
    ) -> Result<Box<Connection>, Failure> {
        let timeout = self.config.timeout;
        let end = self.config.time.clock.now().saturating_add(nanos(timeout));
        let dialing = pin!(self.dial(progress));
        let dialed = self.patience.wait_for(end, !self.ignore_cancel, dialing);
        let gave_up = |gave_up| Err(gave_up_failure(gave_up, timeout));
        dialed.await.unwrap_or_else(gave_up)
    }

    async fn dial(&self, progress: &mut ExchangeProgress) -> Result<Box<Connection>, Failure> {
        match self.config.dialer.dial().await {
            Ok((transport, connect)) => {
                progress.connect = Some(connect);
                let scratch = Rc::clone(&self.config.scratch);
                let heads = self.heads.clone();
                Ok(Box::new(Connection::new(
                    self.config.dialer.next_number(),
                    transport,
                    scratch,
                    ANSWER_LIMITS,
                    heads,
                )))
            }
            Err(error) => Err(Failure {
                outcome: Outcome::ConnectFailed,
                what: error.to_string(),
            }),
        }
    }

    /// Writes the head of a request into the buffer kept for it.
    fn write_head(&mut self, request: &PreparedRequest, values: &Values<'_>, length: usize) {
        self.head.clear();
        request.write_head(&mut self.head, values, length, None);
        if self.auth.is_anonymous() {
            return;
        }
        // Digest signs the target of the request line.
        let target = self.head.split(|byte| *byte == b' ').nth(1);
        let target = String::from_utf8_lossy(target.unwrap_or_default());
        let cnonce: u64 = self.rng.random();
        let authorization = self.auth.authorization(&request.method, &target, cnonce);
        self.head.clear();
        request.write_head(&mut self.head, values, length, authorization.as_deref());
    }

    /// A prepared request, head and body, for who sends it on a connection that is used in another
    /// way.
    fn written(&mut self, request: &PreparedRequest, values: &Values<'_>, out: impl FnMut(&[u8])) {
        let mut out = out;
        let mut filled = std::mem::take(&mut self.filled);
        let body = request.body(values, &mut filled).unwrap_or_default();
        self.write_head(request, values, body.len());
        if let Some(heads) = &self.heads {
            heads.request(&self.head);
        }
        out(&self.head);
        out(body);
        self.filled = filled;
    }

    /// Whether a response asks for credentials, which requests will carry from now on; the reason
    /// where there are none. For requests that are sent ahead of responses.
    fn heed_challenge(&mut self, head: &ResponseHead) -> Result<bool, Failure> {
        if head.status != 401 && self.auth.is_anonymous() {
            return Ok(false);
        }
        heed_challenge(&mut self.auth, head)
    }

    /// A new connection of its own, for who uses it in another way than one request at a time.
    async fn dial_apart(&mut self) -> (Result<Box<Connection>, Failure>, Option<Connect>) {
        let mut progress = ExchangeProgress::default();
        let connection = match self.connection.take() {
            Some(kept) => Ok(kept),
            None => self.dial_in_time(&mut progress).await,
        };
        (connection, progress.connect)
    }
}

/// The head of the last answer: that of a connection that is gone, or of the present one.
fn last_head<'a>(
    parting: &'a Option<ResponseHead>,
    connection: &'a Option<Box<Connection>>,
) -> Option<&'a ResponseHead> {
    let kept = connection.as_deref().and_then(Connection::head);
    parting.as_ref().or(kept)
}

/// What an operation that was given up came to.
fn gave_up_failure(gave_up: GaveUp, timeout: Duration) -> Failure {
    match gave_up {
        GaveUp::Late => Failure {
            outcome: Outcome::Timeout,
            what: format!("no complete answer within {timeout:?} (--timeout changes the limit)"),
        },
        GaveUp::Interrupted => Failure {
            outcome: Outcome::Cancelled,
            what: "the run was interrupted".to_owned(),
        },
    }
}

/// How far an operation has come, kept outside the future so that a time limit does not lose it.
#[derive(Debug, Default)]
struct ExchangeProgress {
    planned: Option<Nanos>,
    started: Nanos,
    stamps: Stamps,
    connection: Option<u32>,
    connect: Option<Connect>,
    resent: bool,
    died_once: bool,
}

impl ExchangeProgress {
    fn into_exchange(
        self,
        result: Result<Response, Failure>,
        time: &Timekeeper,
    ) -> Exchange<Response> {
        let connected_here = self.connect.is_some();
        let started = if connected_here || self.stamps.started == 0 {
            self.started
        } else {
            self.stamps.started
        };
        // A failed operation ends when we gave it up.
        let given_up = || result.is_err().then(|| time.clock.now());
        let done = self.stamps.done.or_else(given_up);
        let (moments, timing) = time.moments(&self.stamps, self.planned, started, done);
        let response = result.as_ref().ok();
        Exchange {
            trace: Trace {
                moments,
                timing,
                connection: self.connection,
                protocol: response.map(|response| response.version),
                connect: self.connect,
                resent: self.resent,
                bytes_sent: self.stamps.bytes_sent,
                bytes_received: self.stamps.bytes_received,
                status: response.map(|response| response.status),
                body_received: response.map_or(0, |response| response.body_length),
            },
            died_once: self.died_once,
            result,
        }
    }
}
