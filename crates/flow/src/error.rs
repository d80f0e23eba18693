//! Why traffic does not flow.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use crate::message::ControlFrameError;
use crate::stability::UnstableLoad;

/// Why traffic cannot flow, or has ended.
#[derive(Debug, Clone, thiserror::Error)]
pub enum FlowError {
    /// A system call failed.
    #[error("{what}: {error}")]
    System {
        /// The attempted action and its object.
        what: String,
        /// The error.
        error: Arc<io::Error>,
    },
    /// The token is not available.
    #[error("token: {0}")]
    Token(String),
    /// Invalid settings, or an impossible plan.
    #[error("{0}")]
    Settings(String),
    /// The other side is not a sink or source, or of another version.
    #[error(transparent)]
    Frame(#[from] ControlFrameError),
    /// The other side did not agree, with its reason.
    #[error("refused by the other side: {0}")]
    Refused(String),
    /// The sink ended what it had agreed to, with its reason.
    #[error("the sink ended the session: {0}")]
    EndedBySink(String),
    /// The other side is another program, whose output begins like this.
    #[error("it speaks another protocol (it begins with {0})")]
    OtherProtocol(String),
    /// The peer at an address is not a sink; its output begins like this.
    #[error("the peer at {address} is no sink of Prestan (it begins with {begins})")]
    NoSink {
        /// The address.
        address: SocketAddr,
        /// The beginning of its output.
        begins: String,
    },
    /// The other side does not share the token.
    #[error("the other side has another token")]
    OtherToken,
    /// This side was stopped before the agreement.
    #[error("it was stopped")]
    Stopped,
    /// The control connection ended, or its heartbeats did.
    #[error("the control connection was lost: {0}")]
    ControlLost(String),
    /// Something did not happen in time.
    #[error("{what} within {seconds} s")]
    TimedOut {
        /// The missing event: "the sink did not agree".
        what: String,
        /// The time limit.
        seconds: f64,
    },
    /// The load did not become stable.
    #[error(transparent)]
    Unstable(#[from] UnstableLoad),
}

impl FlowError {
    pub(crate) fn system(what: impl Into<String>) -> impl FnOnce(io::Error) -> FlowError {
        let what = what.into();
        move |error| FlowError::System {
            what,
            error: Arc::new(error),
        }
    }
}
