//! One user's way to the server: a connection that is kept, opened anew when it must be, with
//! authentication and everything else that has to happen outside the measured part.

use std::rc::Rc;
use std::time::Duration;

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use record::{Connect, Moments, Nanos, Outcome};
use wire::auth::{AuthError, Authenticator, Verdict};
use wire::request::{RequestHead, is_idempotent, write_head};
use wire::response::{Limits, ResponseHead, Version};
use wire::target::Target;

use crate::cancel::Cancel;
use crate::clock::RunClock;
use crate::connection::{Connection, ExchangeError, Outgoing, Response, Scratch, Stamps};
use crate::dial::Dialer;

/// How long an operation may go on after the run was interrupted.
const GRACE: Duration = Duration::from_secs(2);
/// A patient client waits so many times the usual time limit.
const PATIENCE: u32 = 10;
/// How much of the body of an answer is kept to explain a failure.
const EXCERPT: usize = 2 * 1024;
/// Largest answer that is read: a bound against endless ones.
const LARGEST_ANSWER: u64 = 1 << 30;
/// Largest answer that is kept: every 207 is read as a whole.
const LARGEST_KEPT: usize = 64 << 20;
/// Room for kept answers that stays with a user.
const COMMON_BODY: usize = 256 * 1024;
/// Answers to one request, counted in asking again for reasons of authentication.
const CHALLENGES: u32 = 3;

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
            keep_body: false,
        }
    }
}

/// What became of a request.
#[derive(Debug)]
pub(crate) struct Exchange {
    pub(crate) moments: Moments,
    pub(crate) connect: Option<Connect>,
    pub(crate) resent: bool,
    /// A first attempt died with its connection, and may have been carried out all the same.
    died_once: bool,
    pub(crate) bytes_sent: u64,
    pub(crate) bytes_received: u64,
    pub(crate) result: Result<Answer, Failure>,
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

/// A complete answer; its body is [`Client::body`].
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

/// What the clients of a run have in common.
#[derive(Debug)]
pub(crate) struct ClientConfig {
    pub(crate) dialer: Dialer,
    pub(crate) target: Target,
    /// Value of Host.
    pub(crate) authority: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) clock: RunClock,
    pub(crate) timeout: Duration,
    pub(crate) cancel: Cancel,
    pub(crate) scratch: Scratch,
}

/// One user's way to the server.
pub(crate) struct Client {
    config: Rc<ClientConfig>,
    connection: Option<Connection>,
    auth: Authenticator,
    rng: ChaCha8Rng,
    head: Vec<u8>,
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
        Client {
            config,
            connection: None,
            auth,
            rng,
            head: Vec::new(),
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

    /// The body of the last answer, as far as it was kept.
    pub(crate) fn body(&self) -> &[u8] {
        &self.body
    }

    /// Sends a request and waits for the answer, within the time limit.
    pub(crate) async fn perform(&mut self, request: Request<'_>) -> Exchange {
        let timeout = match self.is_patient && !self.was_left_waiting {
            true => self.config.timeout * PATIENCE,
            false => self.config.timeout,
        };
        // One large 207 is no reason to keep its memory for the rest of the run.
        if self.body.capacity() > COMMON_BODY {
            self.body = Vec::new();
        }
        let mut progress = Progress::default();
        let cancel = self.config.cancel.clone();
        let interruptible = !self.ignore_cancel;
        let clock = self.config.clock;
        let interrupted = async {
            match interruptible {
                true => {
                    cancel.cancelled().await;
                    tokio::time::sleep(GRACE).await;
                }
                false => std::future::pending().await,
            }
        };
        let result = tokio::select! {
            biased;
            result = self.attempts(request, &mut progress) => result,
            () = tokio::time::sleep_until(RunClock::deadline(timeout)) => Err(Failure {
                outcome: Outcome::Timeout,
                what: format!("no complete answer within {timeout:?} (--timeout changes the limit)"),
            }),
            () = interrupted => Err(Failure {
                outcome: Outcome::Cancelled,
                what: "the run was interrupted".to_owned(),
            }),
        };
        if result.is_err() {
            self.connection = None;
        }
        self.was_left_waiting =
            matches!(&result, Err(failure) if failure.outcome == Outcome::Timeout);
        progress.into_exchange(result, clock)
    }

    /// Asks until there is an answer that is not about authentication.
    async fn attempts(
        &mut self,
        request: Request<'_>,
        progress: &mut Progress,
    ) -> Result<Answer, Failure> {
        let mut challenges = 0;
        loop {
            let response = self.attempt(request, progress).await?;
            let headers = &response.head.headers;
            if response.head.status != 401 {
                self.auth.answered(headers);
            } else {
                challenges += 1;
                match self.auth.challenged(headers) {
                    Verdict::TryAgain if challenges < CHALLENGES => {
                        progress.resent = true;
                        continue;
                    }
                    Verdict::TryAgain => {}
                    Verdict::GiveUp(reason) => {
                        return Err(Failure {
                            outcome: Outcome::Refused,
                            what: format!("401 Unauthorized: {reason}{}", advice(&reason)),
                        });
                    }
                }
            }
            return Ok(Answer {
                head: response.head,
                body_length: response.body_length,
                surplus: response.surplus,
            });
        }
    }

    /// Sends the request once, or twice when a kept connection turns out to be dead.
    async fn attempt(
        &mut self,
        request: Request<'_>,
        progress: &mut Progress,
    ) -> Result<Response, Failure> {
        self.write_request(request)?;
        progress.started = self.config.clock.now();
        if self.connection.as_mut().is_some_and(Connection::is_stale) {
            self.connection = None;
        }
        loop {
            let mut connection = match self.connection.take() {
                Some(connection) => connection,
                None => self.dial(progress).await?,
            };
            let kept = connection.exchanges > 0;
            progress.stamps = Stamps::default();
            let outgoing = Outgoing {
                head: &self.head,
                body: request.body.unwrap_or_default(),
                is_head: request.method == "HEAD",
            };
            let limits = Limits {
                body_bytes: LARGEST_ANSWER,
                ..Limits::default()
            };
            let keep = |head: &ResponseHead| match head.status {
                207 => LARGEST_KEPT,
                200..=299 if request.keep_body => LARGEST_KEPT,
                _ => EXCERPT,
            };
            let clock = self.config.clock;
            let result = connection
                .exchange(
                    outgoing,
                    limits,
                    &keep,
                    &mut self.body,
                    clock,
                    &mut progress.stamps,
                )
                .await;
            match result {
                Ok(response) => {
                    if response.reusable {
                        self.connection = Some(connection);
                    }
                    return Ok(response);
                }
                Err(ExchangeError::Ended { silent: true, .. })
                    if kept && is_idempotent(request.method) =>
                {
                    progress.resent = true;
                    progress.died_once = true;
                    progress.started = self.config.clock.now();
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

    async fn dial(&mut self, progress: &mut Progress) -> Result<Connection, Failure> {
        match self.config.dialer.dial().await {
            Ok((transport, connect)) => {
                progress.connect = Some(connect);
                Ok(Connection::new(transport, Rc::clone(&self.config.scratch)))
            }
            Err(error) => Err(Failure {
                outcome: Outcome::ConnectFailed,
                what: error.to_string(),
            }),
        }
    }

    /// Writes the head of the request into the buffer kept for it.
    fn write_request(&mut self, request: Request<'_>) -> Result<(), Failure> {
        let cnonce: u64 = self.rng.random();
        let authorization = self
            .auth
            .authorization(request.method, request.path, cnonce);
        let length = request.body.map(|body| body.len().to_string());
        let mut headers: Vec<(&str, &str)> = Vec::with_capacity(8 + request.headers.len());
        headers.push(("Host", &self.config.authority));
        headers.push(("User-Agent", concat!("prestan/", env!("CARGO_PKG_VERSION"))));
        for (name, value) in &self.config.headers {
            headers.push((name, value));
        }
        headers.extend_from_slice(request.headers);
        if let Some(value) = &authorization {
            headers.push(("Authorization", value));
        }
        if let Some(length) = &length {
            headers.push(("Content-Length", length));
        }
        headers.push(("X-Prestan", request.label));
        self.head.clear();
        let head = RequestHead {
            method: request.method,
            target: request.path,
            version: Version::Http11,
            headers: &headers,
        };
        write_head(&mut self.head, &head).map_err(|error| Failure {
            outcome: Outcome::ProtocolError,
            what: format!("the request cannot be written: {error}"),
        })
    }
}

/// What to try when the server does not let us in.
fn advice(error: &AuthError) -> &'static str {
    match error {
        AuthError::NoCredentials { .. } => {
            "; --user with --password-file, or --token-file, says who you are"
        }
        AuthError::Refused { .. } => "; check user and password",
        AuthError::TokenRefused { .. } => "; check the token",
        AuthError::NoCommonScheme { .. } => "; --auth says which may be used",
        AuthError::NoChallenge | AuthError::UserName => "",
    }
}

/// How far an operation has come, kept outside the future so that a time limit does not lose it.
#[derive(Debug, Default)]
struct Progress {
    started: Nanos,
    stamps: Stamps,
    connect: Option<Connect>,
    resent: bool,
    died_once: bool,
}

impl Progress {
    fn into_exchange(self, result: Result<Answer, Failure>, clock: RunClock) -> Exchange {
        let connected_here = self.connect.is_some();
        let started = match connected_here || self.stamps.started == 0 {
            true => self.started,
            false => self.stamps.started,
        };
        // A failed operation ends when we gave it up.
        let done = self
            .stamps
            .done
            .or_else(|| result.is_err().then(|| clock.now()));
        Exchange {
            moments: Moments {
                planned: started,
                started,
                sent: self.stamps.sent,
                first: self.stamps.first,
                done,
            },
            connect: self.connect,
            resent: self.resent,
            died_once: self.died_once,
            bytes_sent: self.stamps.bytes_sent,
            bytes_received: self.stamps.bytes_received,
            result,
        }
    }
}
