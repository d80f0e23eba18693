//! One laboratory exists at a time, which `cargo xtask test` ensures: each measures time, and has a
//! thread of real-time priority.

mod bare_hosts;
mod downloads;
mod generators;
mod lifetime;
mod links;
mod messages;
mod networks;
mod scenes;
mod support;
