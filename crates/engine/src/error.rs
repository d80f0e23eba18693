//! Why a run could not be begun.

use record::Outcome;

/// Nothing was measured, for this reason.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    /// No usable response: no connection, or a response that cannot be read.
    #[error("{0}")]
    Unreachable(String),
    /// An answer, but none of a WebDAV server that can be measured.
    #[error("{0}")]
    NotWebdav(String),
    /// Authentication failed.
    #[error("authentication failed: {0}")]
    Unauthorized(String),
    /// The collection of the run could not be made.
    #[error("{0}")]
    NoWorkspace(String),
    /// The user ended it.
    #[error("interrupted before anything was measured")]
    Interrupted,
    /// This machine cannot do it.
    #[error("{0}")]
    Local(String),
}

impl RunError {
    /// There was no usable response, but this outcome.
    pub(crate) fn without_response(outcome: Outcome, what: &str) -> RunError {
        let fact = match outcome {
            Outcome::ConnectFailed => "the server cannot be reached",
            _ => "the server sent no usable response",
        };
        RunError::Unreachable(format!("{fact}: {what}"))
    }
}
