//! Packets of a capture -> TCP segments -> HTTP exchanges with their moments.
//!
//! ```text
//! live::Capture --> packets --> segment::parse --> exchange::Exchanges --> CapturedExchange
//! ```
//!
//! [`segment`] and [`exchange`] are pure and read bytes that strangers wrote: nothing in a packet makes
//! them panic. [`live`] has the socket, and all unsafe code of the crate.

pub mod exchange;
pub mod live;
pub mod segment;
#[cfg(test)]
mod tests;

pub use exchange::{CapturedExchange, Exchanges};
pub use live::Capture;
pub use segment::TcpSegment;
