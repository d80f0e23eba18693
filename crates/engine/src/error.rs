//! Why a run could not be begun.

/// Nothing was measured, for this reason.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    /// No answer at all.
    #[error("the server cannot be reached: {0}")]
    Unreachable(String),
    /// An answer, but not of a WebDAV server.
    #[error("{0}")]
    NotWebdav(String),
    /// The server does not let us in.
    #[error("the server does not let us in: {0}")]
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
