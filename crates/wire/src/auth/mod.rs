//! Authentication of a user: Basic (RFC 7617), Digest (RFC 7616), Bearer (RFC 6750).
//!
//! ```text
//!               authorization()          no Authorization header yet, or the one the server wants
//!   request  <------------------.
//!      |                         \
//!      v             challenged() | TryAgain: same request, once more
//!   401 ----------> Authenticator |
//!   other --------->              ' GiveUp: the reason, for the user
//!         accepted()
//! ```
//!
//! The caller draws the random `cnonce`. No message here contains a password or a token.

mod challenge;
mod digest;
mod netrc;

use std::borrow::Cow;
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use thiserror::Error;

pub use challenge::{Challenge, parse_challenges};
pub use netrc::netrc_entry;

use crate::excerpt;
use crate::response::Headers;
use digest::Digest;

/// Challenges that may follow one another, each with a reason to send the request again (a stale
/// nonce, another realm, another scheme), before the request counts as refused.
const CHALLENGES_IN_A_ROW: u32 = 4;

/// Text that must not be shown. `Debug` writes `***`, and there is no `Display`.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Hides `text`.
    pub fn new(text: impl Into<String>) -> Secret {
        Secret(text.into())
    }

    /// The text itself, for sending only.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// Credentials of a user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Credentials {
    /// For Basic and Digest.
    Password {
        /// Name of the user.
        user: String,
        /// Password of the user.
        password: Secret,
    },
    /// A token.
    Bearer(Secret),
}

/// Schemes that may be used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum AuthScheme {
    /// The strongest the server offers.
    #[default]
    Auto,
    /// Basic and nothing else.
    Basic,
    /// Digest and nothing else.
    Digest,
    /// Bearer and nothing else.
    Bearer,
}

impl fmt::Display for AuthScheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            AuthScheme::Auto => "Basic or Digest",
            AuthScheme::Basic => "Basic",
            AuthScheme::Digest => "Digest",
            AuthScheme::Bearer => "Bearer",
        })
    }
}

/// Reaction to a 401.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AuthDecision {
    /// Send the request again, with a new [`Authenticator::authorization`].
    TryAgain,
    /// The same request would be challenged again.
    GiveUp(AuthError),
}

/// Why authentication failed. Text of the server in it is cut and escaped.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum AuthError {
    /// No credentials were given.
    #[error("no credentials were given and the server requires {offered}")]
    NoCredentials {
        /// The challenges.
        offered: String,
    },
    /// The credentials were sent and not accepted.
    #[error("the server refused user \"{user}\" (realm \"{realm}\")")]
    Refused {
        /// Name of the user.
        user: String,
        /// The server's name for the protected space.
        realm: String,
    },
    /// The token was sent and not accepted.
    #[error("the server refused the bearer token and requires {offered}")]
    TokenRefused {
        /// The challenges.
        offered: String,
    },
    /// The request was sent with the required credentials, and challenged differently (a new nonce,
    /// another realm or scheme), more than once.
    #[error("each response to a challenge was challenged anew; the server requires {offered}")]
    Unending {
        /// The challenges.
        offered: String,
    },
    /// No offered scheme can be used.
    #[error("the server accepts only {offered}, and {usable} could be used")]
    NoCommonScheme {
        /// The challenges.
        offered: String,
        /// The scheme for which the credentials can be used.
        usable: AuthScheme,
    },
    /// A 401 without a challenge.
    #[error("the server responded 401 without a challenge (RFC 9110, section 11.6.1)")]
    NoChallenge,
    /// Basic cannot carry the user's name.
    #[error(
        "the user name has a colon or a control character, which Basic cannot carry (RFC 7617, section 2)"
    )]
    UserName,
}

/// Keeps the state of authentication for the requests of one user, which come one after the other.
///
/// Clones are independent: each connection that sends concurrently needs one, because servers may
/// insist that the counter of a nonce only grows.
#[derive(Debug, Clone)]
pub struct Authenticator {
    credentials: Option<Credentials>,
    scheme: AuthScheme,
    state: AuthState,
    /// The last request carried credentials.
    sent: bool,
    /// The credentials have been accepted since the last refusal.
    worked: bool,
    /// Challenges in a row without an accepted request between them.
    challenges: u32,
}

#[derive(Clone)]
enum AuthState {
    /// No scheme agreed upon; requests go without credentials.
    Unasked,
    /// The header's value never changes.
    Constant {
        value: Secret,
        asked: bool,
    },
    Digest(Box<Digest>),
}

impl fmt::Debug for AuthState {
    /// The value and the digest's key are as good as the password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            AuthState::Unasked => "Unasked",
            AuthState::Constant { .. } => "Constant",
            AuthState::Digest(_) => "Digest",
        })
    }
}

impl Authenticator {
    /// A user before the first request.
    ///
    /// With `send_unasked` the first request already carries the token, or the password by Basic
    /// unless `scheme` excludes that. This saves a round trip, and reveals the secret to every host
    /// on the path.
    pub fn new(
        credentials: Option<Credentials>,
        scheme: AuthScheme,
        send_unasked: bool,
    ) -> Authenticator {
        let may_be_basic = matches!(scheme, AuthScheme::Auto | AuthScheme::Basic);
        let value = match credentials.as_ref().filter(|_| send_unasked) {
            Some(Credentials::Bearer(token)) => Some(bearer(token)),
            Some(Credentials::Password { user, password }) if may_be_basic => {
                basic(user, password).ok()
            }
            _ => None,
        };
        let state = match value {
            Some(value) => AuthState::Constant {
                value: Secret(value),
                asked: false,
            },
            None => AuthState::Unasked,
        };
        Authenticator {
            credentials,
            scheme,
            state,
            sent: false,
            worked: false,
            challenges: 0,
        }
    }

    /// The value of the `Authorization` header for the next request, if it needs one.
    ///
    /// `cnonce` should be a new random number each time; only Digest uses it. Basic and Bearer
    /// lend the value they keep.
    pub fn authorization(
        &mut self,
        method: &str,
        target: &str,
        cnonce: u64,
    ) -> Option<Cow<'_, [u8]>> {
        let value = match (&mut self.state, &self.credentials) {
            (AuthState::Constant { value, .. }, _) => Some(value.expose().as_bytes().into()),
            (AuthState::Digest(digest), Some(Credentials::Password { user, password })) => {
                let who = (user.as_str(), password.expose());
                Some(digest.authorization(who, (method, target), cnonce).into())
            }
            _ => None,
        };
        self.sent = value.is_some();
        value
    }

    /// True without credentials: no request will have an `Authorization` header, so a head can be
    /// written once for many requests.
    pub fn is_anonymous(&self) -> bool {
        self.credentials.is_none()
    }

    /// The server has sent a challenge that can be met.
    pub fn is_needed(&self) -> bool {
        match self.state {
            AuthState::Unasked => false,
            AuthState::Constant { asked, .. } => asked,
            AuthState::Digest(_) => true,
        }
    }

    /// Reads the head of a 401: can the request succeed if it is sent again?
    ///
    /// Fails if the credentials that were sent were wrong. A stale nonce is replaced
    /// (`stale=true`); so is, once, one that had worked before, because not every server announces
    /// that it discarded its nonces.
    pub fn challenged(&mut self, headers: &Headers) -> AuthDecision {
        match self.next_state(&challenges_in(headers)) {
            Ok(state) => {
                self.state = state;
                self.challenges += 1;
                self.worked = false;
                AuthDecision::TryAgain
            }
            Err(error) => AuthDecision::GiveUp(error),
        }
    }

    /// The error for a request that is still challenged after it was sent again several times.
    pub fn unending(headers: &Headers) -> AuthError {
        AuthError::Unending {
            offered: describe(&challenges_in(headers)),
        }
    }

    /// Reads the head of a response other than a 401, which may contain the next nonce.
    pub fn accepted(&mut self, headers: &Headers) {
        self.worked = self.sent;
        self.challenges = 0;
        if let AuthState::Digest(digest) = &mut self.state {
            for info in headers.get_all_bytes("Authentication-Info") {
                let params = challenge::parse_params(&info);
                if let Some(nonce) = challenge::param(&params, "nextnonce") {
                    digest.next_nonce(nonce);
                }
            }
        }
    }

    fn next_state(&self, challenges: &[Challenge]) -> Result<AuthState, AuthError> {
        if challenges.is_empty() {
            return Err(AuthError::NoChallenge);
        }
        let offered = describe(challenges);
        let (user, password) = match &self.credentials {
            None => return Err(AuthError::NoCredentials { offered }),
            Some(Credentials::Bearer(token)) => {
                return self.next_state_with_token(token, challenges, offered);
            }
            Some(Credentials::Password { user, password }) => (user, password),
        };
        if self.challenges == CHALLENGES_IN_A_ROW {
            return Err(AuthError::Unending { offered });
        }
        let digest = self.strongest_digest(challenges);
        let is_basic = |challenge: &&Challenge| challenge.is("Basic");
        let mut basics = challenges.iter().filter(is_basic);
        let basic_challenge = basics.next().filter(|_| self.may_use(AuthScheme::Basic));
        match (digest, basic_challenge) {
            (Some((digest, challenge)), _) => {
                if self.digest_was_refused(&digest, challenge) {
                    return Err(refused(user, challenge));
                }
                Ok(AuthState::Digest(Box::new(digest)))
            }
            (None, Some(challenge)) => {
                if self.sent && matches!(self.state, AuthState::Constant { .. }) {
                    return Err(refused(user, challenge));
                }
                Ok(AuthState::Constant {
                    value: Secret(basic(user, password)?),
                    asked: true,
                })
            }
            (None, None) => Err(AuthError::NoCommonScheme {
                offered,
                usable: self.scheme,
            }),
        }
    }

    fn may_use(&self, scheme: AuthScheme) -> bool {
        self.scheme == AuthScheme::Auto || self.scheme == scheme
    }

    fn next_state_with_token(
        &self,
        token: &Secret,
        challenges: &[Challenge],
        offered: String,
    ) -> Result<AuthState, AuthError> {
        if self.sent {
            return Err(AuthError::TokenRefused { offered });
        }
        if challenges.iter().any(|challenge| challenge.is("Bearer")) {
            Ok(AuthState::Constant {
                value: Secret(bearer(token)),
                asked: true,
            })
        } else {
            Err(AuthError::NoCommonScheme {
                offered,
                usable: AuthScheme::Bearer,
            })
        }
    }

    fn strongest_digest<'a>(&self, challenges: &'a [Challenge]) -> Option<(Digest, &'a Challenge)> {
        let mut best: Option<(Digest, &Challenge)> = None;
        let digests = challenges
            .iter()
            .filter(|challenge| challenge.is("Digest") && self.may_use(AuthScheme::Digest));
        for challenge in digests {
            let Ok(digest) = Digest::from_challenge(challenge) else {
                continue;
            };
            // The first of equals: servers list their preferred challenge first.
            if best
                .as_ref()
                .is_none_or(|(best, _)| digest.algorithm > best.algorithm)
            {
                best = Some((digest, challenge));
            }
        }
        best
    }

    /// The last request met such a challenge, so a new one is a refusal (RFC 7616, section 3.3).
    fn digest_was_refused(&self, new: &Digest, challenge: &Challenge) -> bool {
        let AuthState::Digest(old) = &self.state else {
            return false;
        };
        if !self.sent {
            return false;
        }
        let stale = challenge.param("stale").unwrap_or_default();
        let stale = stale.eq_ignore_ascii_case(b"true");
        // A challenge for another realm does not refuse the credentials for this one.
        let forgotten = self.worked && new.nonce != old.nonce;
        !stale && !forgotten && new.realm == old.realm
    }
}

/// The value of `Authorization` for Basic; user and password are UTF-8 (RFC 7617, section 2.1).
fn basic(user: &str, password: &Secret) -> Result<String, AuthError> {
    if user.contains(|c: char| c == ':' || c.is_control()) {
        return Err(AuthError::UserName);
    }
    let pair = format!("{user}:{}", password.expose());
    Ok(format!("Basic {}", BASE64.encode(pair)))
}

/// The value of `Authorization` for Bearer (RFC 6750, section 2.1).
fn bearer(token: &Secret) -> String {
    format!("Bearer {}", token.expose())
}

fn refused(user: &str, challenge: &Challenge) -> AuthError {
    AuthError::Refused {
        user: excerpt::escaped_text(user),
        realm: excerpt::escaped_text(&challenge.text("realm").unwrap_or_default()),
    }
}

fn challenges_in(headers: &Headers) -> Vec<Challenge> {
    let values = headers.get_all_bytes("WWW-Authenticate");
    values.flat_map(|value| parse_challenges(&value)).collect()
}

/// The challenges of a server as text: `Basic realm "x", Negotiate`.
fn describe(challenges: &[Challenge]) -> String {
    let describe_one = |challenge: &Challenge| {
        let scheme = excerpt::escaped_text(&challenge.scheme);
        let named = match challenge.text("realm") {
            Some(realm) => format!("{scheme} realm \"{}\"", excerpt::escaped_text(&realm)),
            None => scheme,
        };
        match Digest::from_challenge(challenge) {
            Err(why) if challenge.is("Digest") => format!("{named} ({why})"),
            _ => named,
        }
    };
    let shown: Vec<_> = challenges.iter().take(8).map(describe_one).collect();
    shown.join(", ")
}
