//! Laboratories on this machine: what links do to real traffic, and what is left when they end.
//!
//! They need root (or CAP_NET_ADMIN), `/dev/net/tun` and `ip`.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod bare_hosts;
mod generators;
mod lifetime;
mod links;
mod messages;
mod networks;
mod scenes;
mod support;
