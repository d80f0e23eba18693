//! The credentials of a client, and the consequence of a challenge for the request that met it.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use record::Outcome;
use wire::auth::{AuthDecision, AuthError, AuthScheme, Authenticator};
use wire::response::ResponseHead;

use super::Failure;
use crate::connection::queue::RequestHistory;

/// Challenges after which a request is not sent again.
const CHALLENGES: u32 = 3;

#[derive(Debug)]
pub(super) struct ClientCredentials {
    auth: Authenticator,
    rng: ChaCha8Rng,
    /// Number of challenges that were met: requests carry other credentials after each.
    pub(super) heeded: u32,
    /// A request that tests these credentials has been sent with them: many servers permit everyone
    /// to read.
    were_tried: bool,
    /// The response to such a request was not 401.
    were_accepted: bool,
    /// A request has been sent with them.
    were_sent: bool,
}

impl ClientCredentials {
    pub(super) fn new(auth: Authenticator, rng: ChaCha8Rng) -> ClientCredentials {
        ClientCredentials {
            auth,
            rng,
            heeded: 0,
            were_tried: false,
            were_accepted: false,
            were_sent: false,
        }
    }

    /// Appends the credentials to a head that begins at `start`.
    pub(super) fn write(&mut self, bytes: &mut Vec<u8>, start: usize) {
        if self.auth.is_anonymous() {
            return;
        }
        let mut words = bytes[start..].split(|byte| *byte == b' ');
        let mut word = || String::from_utf8_lossy(words.next().unwrap_or_default()).into_owned();
        // Digest signs the target of the request line.
        let (method, target) = (word(), word());
        let cnonce: u64 = self.rng.random();
        if let Some(value) = self.auth.authorization(&method, &target, cnonce) {
            self.were_sent = true;
            self.were_tried |= !suite::READING.contains(&&*method);
            bytes.extend_from_slice(b"Authorization: ");
            bytes.extend_from_slice(&value);
            bytes.extend_from_slice(b"\r\n");
        }
    }

    /// True if a response requires other credentials than the request had, and they are available.
    ///
    /// # Errors
    /// They are not available, with the reason.
    pub(super) fn challenged(
        &mut self,
        request: &mut RequestHistory,
        head: &ResponseHead,
    ) -> Result<bool, Failure> {
        if head.status != 401 {
            if !self.auth.is_anonymous() {
                self.auth.accepted(&head.headers);
                self.were_accepted |= self.were_tried;
            }
            return Ok(false);
        }
        // It left before another challenge was met.
        if request.credentials != self.heeded {
            return Ok(true);
        }
        let reason = match self.auth.challenged(&head.headers) {
            AuthDecision::TryAgain => {
                self.heeded += 1;
                request.challenges += 1;
                if request.challenges < CHALLENGES {
                    return Ok(true);
                }
                Authenticator::unending(&head.headers)
            }
            AuthDecision::GiveUp(reason) => reason,
        };
        Err(Failure {
            outcome: Outcome::Refused,
            what: format!("401 Unauthorized: {reason}{}", self.advice(&reason)),
        })
    }

    /// Advice after a failed authentication.
    fn advice(&self, error: &AuthError) -> &'static str {
        match error {
            AuthError::Refused { .. } | AuthError::TokenRefused { .. } | AuthError::NoChallenge
                if self.were_accepted =>
            {
                ", which it accepted before; check the server's log"
            }
            AuthError::NoChallenge if !self.auth.is_anonymous() && !self.were_sent => {
                "; user and password, or the token, were not sent, because nothing asked for them: `--auth basic`, or \
                 `--auth bearer`, sends them all the same"
            }
            AuthError::NoChallenge if self.were_sent => "; check user and password, or the token",
            AuthError::NoCredentials { .. } | AuthError::NoChallenge => {
                "; give --user with --password-file, or --token-file"
            }
            AuthError::Refused { .. } => "; check user and password",
            AuthError::TokenRefused { .. } => "; check the token",
            AuthError::Unending { .. } => {
                "; do several servers behind this address make nonces of their own?"
            }
            AuthError::NoCommonScheme {
                usable: AuthScheme::Basic | AuthScheme::Digest,
                ..
            } => "; --auth limits the schemes",
            AuthError::NoCommonScheme { .. } | AuthError::UserName => "",
        }
    }
}
