//! Packets of a capture -> TCP segments -> HTTP exchanges with their moments.
//!
//! ```text
//! packets --> segment::parse --> exchange::Exchanges --> CapturedExchange
//!                                     |       |
//!                        stream (bytes in order)  http2 (frames)
//! ```
//!
//! Everything here is pure and reads bytes that strangers wrote: nothing in a packet makes it panic.

pub mod exchange;
mod http2;
pub mod segment;
mod stream;
#[cfg(test)]
mod tests;

pub use exchange::{CapturedExchange, Exchanges};
pub use segment::TcpSegment;
