//! Captures packets of interfaces with the kernel's time stamps, to be read by the crate `trace`.
//!
//! ```text
//! recording     any interface, filtered, streamed to a pcapng file by a thread of its own
//!     |-------> output    the file: whole blocks only, also on a full disk
//!     |-------> filter    BPF programs
//!     `-------> socket --> ring
//! ```
//!
//! All unsafe code of the crate is in `socket` and `ring`.

mod error;
mod filter;
mod output;
pub mod recording;
mod ring;
mod socket;
#[cfg(test)]
mod tests;

pub use error::CaptureError;
pub use recording::{
    CaptureLimits, CaptureSource, PacketSelection, Recording, RecordingEnd, RecordingOptions,
    RecordingSummary, available,
};
