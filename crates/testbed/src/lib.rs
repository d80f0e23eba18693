//! Targets to measure: servers that Prestan can start by itself.
//!
//! - [`demo`]: a complete WebDAV server inside this process, for `prestan demo` and for tests.
//! - [`fault`]: a server with configured faults, which records its actions and their times, so that
//!   tests have a truth to compare a measurement with (feature `fault`).
//! - [`real`]: the servers of `servers/` (Apache, nginx, ...), started on loopback in a temporary
//!   directory, which end with their owner.

pub mod demo;
#[cfg(feature = "fault")]
pub mod fault;
mod listen;
mod need;
pub mod real;

pub use demo::{DemoServer, Root, Slowdown};
#[cfg(feature = "fault")]
pub use fault::FaultServer;
pub use need::{need, need_or};
pub use real::RealServer;
