//! Who the user is: Basic (RFC 7617), Digest (RFC 7616), Bearer (RFC 6750).
//!
//! ```text
//!               authorization()          no Authorization header yet, or the one the server wants
//!   request  <------------------.
//!      |                         \
//!      v             challenged() | TryAgain: same request, once more
//!   401 ----------> Authenticator |
//!   other --------->              ' GiveUp: the reason, for the user
//!         answered()
//! ```
//!
//! The random `cnonce` is drawn by the caller. No message here holds a password or a token.

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

/// Challenges that may follow one another, each with a reason to try again (a stale nonce, another
/// realm, another scheme), before it is called a refusal.
const CHALLENGES_IN_A_ROW: u32 = 4;

/// Something that must not be shown. `Debug` writes `***`, and there is no `Display`.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Hides `text`.
    pub fn new(text: impl Into<String>) -> Secret {
        Secret(text.into())
    }

    /// The text itself, to be sent and nothing else.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// What the user has to show.
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

/// Which scheme may be used.
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

/// What to do about a 401.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AuthDecision {
    /// Send the request again, with a new [`Authenticator::authorization`].
    TryAgain,
    /// Sending it again would be answered in the same way.
    GiveUp(AuthError),
}

/// Why the server cannot be satisfied. Text of the server in it is cut and escaped.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum AuthError {
    /// Nobody said who the user is.
    #[error("no credentials were given and the server asks for {offered}")]
    NoCredentials {
        /// The challenges.
        offered: String,
    },
    /// The credentials were sent and not accepted.
    #[error("the server refused user \"{user}\" (realm \"{realm}\")")]
    Refused {
        /// Name of the user.
        user: String,
        /// What the server calls the protected space.
        realm: String,
    },
    /// The token was sent and not accepted.
    #[error("the server refused the bearer token and asks for {offered}")]
    TokenRefused {
        /// The challenges.
        offered: String,
    },
    /// What the server asked for was sent, and it asked for something else (a new nonce, another realm or scheme), more
    /// than once.
    #[error("each answer to a challenge of the server was challenged anew; it asks for {offered}")]
    Unending {
        /// The challenges.
        offered: String,
    },
    /// Nothing on offer can be used.
    #[error("the server asks for {offered} only, and {usable} could be used")]
    NoCommonScheme {
        /// The challenges.
        offered: String,
        /// What the credentials are good for.
        usable: AuthScheme,
    },
    /// A 401 that says nothing.
    #[error("the server answered 401 without a challenge (RFC 9110, section 11.6.1)")]
    NoChallenge,
    /// Basic cannot carry the user's name.
    #[error(
        "the user name has a colon or a control character, which Basic cannot carry (RFC 7617, section 2)"
    )]
    UserName,
}

/// Keeps the state of authentication for the requests of one user, which come one after the other.
///
/// Clones go their own ways: each connection that sends concurrently needs one, because servers
/// may insist that the counter of a nonce only grows.
#[derive(Debug, Clone)]
pub struct Authenticator {
    credentials: Option<Credentials>,
    scheme: AuthScheme,
    state: AuthState,
    /// The last request carried credentials.
    sent: bool,
    /// They have been accepted since the last refusal.
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
    /// unless `scheme` excludes that. It saves a round trip, and reveals the secret to whoever
    /// responds and to everyone on the way.
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

    /// There are no credentials, so no request will ever have an `Authorization` header and a head
    /// may be written once for many.
    pub fn is_anonymous(&self) -> bool {
        self.credentials.is_none()
    }

    /// The server has asked for credentials and we know how to give them.
    pub fn is_needed(&self) -> bool {
        match self.state {
            AuthState::Unasked => false,
            AuthState::Constant { asked, .. } => asked,
            AuthState::Digest(_) => true,
        }
    }

    /// Reads the head of a 401: can sending the request again succeed?
    ///
    /// It cannot when the credentials that were sent were wrong. A nonce that went stale is
    /// replaced (`stale=true`); so is, once, one that had worked before, because not every server
    /// says that it forgot its nonces.
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

    /// Why a request that was challenged like this, after it was sent again and again, is given up.
    pub fn unending(headers: &Headers) -> AuthError {
        AuthError::Unending {
            offered: describe(&challenges_in(headers)),
        }
    }

    /// Reads the head of an answer that is no 401: the next nonce may be in it.
    pub fn answered(&mut self, headers: &Headers) {
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
        let basic_challenge = challenges
            .iter()
            .find(|challenge| challenge.is("Basic") && self.may_use(AuthScheme::Basic));
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

    /// The strongest Digest challenge.
    fn strongest_digest<'a>(&self, challenges: &'a [Challenge]) -> Option<(Digest, &'a Challenge)> {
        let mut best: Option<(Digest, &Challenge)> = None;
        let digests = challenges
            .iter()
            .filter(|challenge| challenge.is("Digest") && self.may_use(AuthScheme::Digest));
        for challenge in digests {
            let Ok(digest) = Digest::from_challenge(challenge) else {
                continue;
            };
            // The first of equals: servers list what they prefer first.
            if best
                .as_ref()
                .is_none_or(|(best, _)| digest.algorithm > best.algorithm)
            {
                best = Some((digest, challenge));
            }
        }
        best
    }

    /// The last request answered such a challenge, so a new one means no (RFC 7616, section 3.3).
    fn digest_was_refused(&self, new: &Digest, challenge: &Challenge) -> bool {
        let AuthState::Digest(old) = &self.state else {
            return false;
        };
        if !self.sent {
            return false;
        }
        let stale = challenge.param("stale").unwrap_or_default();
        let stale = stale.eq_ignore_ascii_case(b"true");
        // Another realm is another door, and no refusal at this one.
        let forgotten = self.worked && new.nonce != old.nonce;
        !stale && !forgotten && new.realm == old.realm
    }
}

/// The value of `Authorization` for Basic; user and password are UTF-8 (RFC 7617, section 2.1).
fn basic(user: &str, password: &Secret) -> Result<String, AuthError> {
    if user.contains(|c: char| c == ':' || c.is_control()) {
        return Err(AuthError::UserName);
    }
    Ok(format!(
        "Basic {}",
        BASE64.encode(format!("{user}:{}", password.expose()))
    ))
}

/// The value of `Authorization` for Bearer (RFC 6750, section 2.1).
fn bearer(token: &Secret) -> String {
    format!("Bearer {}", token.expose())
}

fn refused(user: &str, challenge: &Challenge) -> AuthError {
    AuthError::Refused {
        user: excerpt::of_text(user),
        realm: excerpt::of_text(&challenge.text("realm").unwrap_or_default()),
    }
}

fn challenges_in(headers: &Headers) -> Vec<Challenge> {
    headers
        .get_all_bytes("WWW-Authenticate")
        .flat_map(|value| parse_challenges(&value))
        .collect()
}

/// `Basic realm "x", Negotiate`: what the server asks for, in words.
fn describe(challenges: &[Challenge]) -> String {
    let describe_one = |challenge: &Challenge| {
        let scheme = excerpt::of_text(&challenge.scheme);
        let named = match challenge.text("realm") {
            Some(realm) => format!("{scheme} realm \"{}\"", excerpt::of_text(&realm)),
            None => scheme,
        };
        match Digest::from_challenge(challenge) {
            Err(why) if challenge.is("Digest") => format!("{named} ({why})"),
            _ => named,
        }
    };
    challenges
        .iter()
        .take(8)
        .map(describe_one)
        .collect::<Vec<_>>()
        .join(", ")
}
