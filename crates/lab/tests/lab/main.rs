//! Laboratories on this machine: what links do to real traffic, and what is left when they end.
//!
//! They need root (or CAP_NET_ADMIN), `/dev/net/tun` and `ip`.

#![cfg(test)]

mod laboratory;
