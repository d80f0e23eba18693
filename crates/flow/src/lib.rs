//! Background traffic: sources that send by a plan, sinks that count what arrives, and the
//! agreement without which nothing is sent.
//!
//! ```text
//! TrafficSource                                    TrafficSink
//!   control thread   <-- ControlMessage, JSON -->    session thread, one for each source
//!   sending threads  --- datagrams, streams   -->    data thread
//! ```
//!
//! A source proves that it shares a token with the sink and requests flows; the sink agrees within
//! the limits that its user set, or refuses with a sentence. Heartbeats go both ways: when either
//! side is killed, the other stops within two seconds; when the network between them carries
//! nothing any more, within seventeen, because a queue of seconds looks the same.

pub mod behaviour;
mod clock;
pub mod external;
mod group_guard;
mod link;
pub mod message;
pub mod payload;
pub mod sink;
pub mod source;
pub mod stability;
mod sys;
mod token;
mod watched;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use group_guard::{GroupGuard, GuardedChild};
pub use sink::{PermittedPeers, SinkHandle, SinkLimits, SinkSettings, TrafficSink};
pub use source::{SourceHandle, SourcePlan, TrafficSource};
pub use token::SharedToken;

use crate::message::ControlFrameError;

/// Longest time between two messages of each side of a session.
pub const HEARTBEAT: Duration = Duration::from_millis(250);
/// A side that was silent for this long is regarded as dead, and nothing is sent to it any more,
/// unless another time is given: a network that the flows themselves congest loses heartbeats, too.
/// Without even acknowledgments, the limit is longer.
pub const LONGEST_SILENCE: Duration = Duration::from_millis(1500);

/// The protocol of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FlowTransport {
    /// One connection.
    Tcp,
    /// Datagrams of one socket.
    Udp,
}

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
    Stranger(String),
    /// The peer at an address is not a sink; its output begins like this.
    #[error("what answers at {address} is no sink of Prestan (it begins with {begins})")]
    NoSink {
        /// The address.
        address: std::net::SocketAddr,
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
    Unstable(#[from] stability::UnstableLoad),
}

impl FlowError {
    fn system(what: impl Into<String>) -> impl FnOnce(io::Error) -> FlowError {
        let what = what.into();
        move |error| FlowError::System {
            what,
            error: Arc::new(error),
        }
    }
}
