//! Packets of the loopback interface with the kernel's time stamps, as the crate `trace` reads them.

pub mod live;

pub use live::Capture;
