//! A web server with its own TCP, whose features are switches.
//!
//! A. Loukili's dissertation (Towson University, 2012) measures a "bare PC" server: HTTP
//! intertwined with a lean TCP, without an operating system, without SACK, fast retransmit, fast
//! recovery or congestion control. [`BareServer`] stands in for it, and shows the effect of each of
//! these features ([`SenderSettings`]).
//!
//! ```text
//!  frame --> frames --> neighbours (ARP, NDP, echo) -----------------------------> frame
//!                 `--> server --> connection --> http --> stream
//!                                     `--> sender --> sent, timeout, congestion --> frame
//! ```
//!
//! This crate has no clock, socket or file: frames and nanoseconds come in, frames go out. Formats
//! of Ethernet, IP, ICMP and TCP are those of `smoltcp::wire`; the rest is written here.

mod congestion;
mod connection;
mod counters;
mod files;
mod frames;
mod http;
mod neighbours;
mod sender;
mod sent;
mod server;
mod stream;
mod timeout;

// The types of its settings.
pub use topology::{CongestionControl, SenderSettings, SenderSettingsError, TimeoutResend};
pub use trace::rto::{PAPER_WEIGHTS, RtoFormula, RtoWeights, SamplingStrategy};

pub use congestion::{CUBIC_BETA, CUBIC_C, CubicCurve};
pub use counters::{BareServerCounters, EndedConnection, RttLog, RttLogEntry, SenderCounters};
pub use files::{ServedFiles, test_pattern};
pub use server::{BareServer, BareServerSettings};
