//! The server against a client and a link of simulated time.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod client;
mod features;
mod hostile;
mod link;
mod neighbours;
mod transfers;
mod wireshark;
mod world;
