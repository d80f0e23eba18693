//! Packets of a capture -> TCP segments -> HTTP exchanges with their moments.
//!
//! ```text
//! live::Capture --> packets --> segment::parse --> exchange::Exchanges --> CapturedExchange
//!                                                       |       |
//!                                          stream (bytes in order)  http2 (frames)
//! ```
//!
//! All but [`live`] is pure and reads bytes that strangers wrote: nothing in a packet makes it panic.
//! [`live`] has the socket, and all unsafe code of the crate.

pub mod exchange;
mod http2;
pub mod live;
pub mod segment;
mod stream;
#[cfg(test)]
mod tests;

pub use exchange::{CapturedExchange, Exchanges};
pub use live::Capture;
pub use segment::TcpSegment;
