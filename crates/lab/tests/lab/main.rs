//! Laboratories on this machine: effects of links on real traffic, and leftovers after their end.
//!
//! They need root (or CAP_NET_ADMIN), `/dev/net/tun` and `ip`.

#![cfg(test)]

mod laboratory;
