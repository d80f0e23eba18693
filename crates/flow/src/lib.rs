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
mod error;
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

use std::time::Duration;

pub use error::FlowError;
pub use group_guard::{GroupGuard, GuardedChild};
pub use message::FlowTransport;
pub use sink::{PermittedPeers, SinkHandle, SinkLimits, SinkSettings, TrafficSink};
pub use source::{SourceHandle, SourcePlan, TrafficSource};
pub use token::SharedToken;

/// Longest time between two messages of each side of a session.
pub const HEARTBEAT: Duration = Duration::from_millis(250);
/// A side that was silent for this long is regarded as dead, and nothing is sent to it any more,
/// unless another time is given: a network that the flows themselves congest loses heartbeats, too.
/// Without even acknowledgments, the limit is longer.
pub const LONGEST_SILENCE: Duration = Duration::from_millis(1500);
