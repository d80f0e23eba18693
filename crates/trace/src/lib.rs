//! Packets of a capture -> TCP segments -> HTTP exchanges with their moments.
//!
//! ```text
//! bytes of a file --> file::CaptureReader --> CapturedPacket
//!
//! CapturedPacket --> link::Dissector --> TcpSegment --> exchange::Exchanges --> CapturedExchange
//!                    ip, fragments                          |       |
//!                                              stream (bytes in order)  http2 (frames)
//! ```
//!
//! Everything here is pure and reads bytes that strangers wrote: nothing in a packet makes it panic.

pub mod exchange;
pub mod file;
mod fragments;
mod http2;
mod ip;
pub mod link;
pub mod segment;
mod stream;
#[cfg(test)]
mod tests;

pub use exchange::{CapturedExchange, Exchanges};
pub use file::{CaptureReader, CapturedPacket, PcapngWriter};
pub use link::Dissector;
pub use segment::TcpSegment;
