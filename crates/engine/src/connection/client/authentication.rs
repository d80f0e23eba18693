//! What a challenge means for the request that met it.

use record::Outcome;
use wire::auth::{AuthDecision, AuthError, Authenticator};
use wire::response::ResponseHead;

use super::Failure;

/// Whether a response asks for other credentials than the request had, and we have them.
pub(super) fn heed_challenge(
    auth: &mut Authenticator,
    head: &ResponseHead,
) -> Result<bool, Failure> {
    if head.status != 401 {
        auth.answered(&head.headers);
        return Ok(false);
    }
    match auth.challenged(&head.headers) {
        AuthDecision::TryAgain => Ok(true),
        AuthDecision::GiveUp(reason) => Err(Failure {
            outcome: Outcome::Refused,
            what: format!("401 Unauthorized: {reason}{}", advice(&reason)),
        }),
    }
}

/// What to try where authentication failed.
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
