//! Why a run could not be begun.

use record::Outcome;

/// Why nothing was measured.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    /// No usable response: no connection, or a response that cannot be read.
    #[error("{0}")]
    Unreachable(String),
    /// The response of a server that is no WebDAV server, or cannot be measured.
    #[error("{0}")]
    NotWebdav(String),
    /// Authentication failed.
    #[error("authentication failed: {0}")]
    Unauthorized(String),
    /// The collection of the run could not be made.
    #[error("{0}")]
    NoWorkspace(String),
    /// The user interrupted it.
    #[error("interrupted before anything was measured")]
    Interrupted,
    /// A limit of this machine.
    #[error("{0}")]
    Local(String),
}

impl RunError {
    /// The error for this outcome without a usable response.
    pub(crate) fn without_response(outcome: Outcome, what: &str) -> RunError {
        let fact = match outcome {
            Outcome::ConnectFailed => "the server cannot be reached",
            _ => "the server sent no usable response",
        };
        RunError::Unreachable(format!("{fact}: {what}"))
    }
}
