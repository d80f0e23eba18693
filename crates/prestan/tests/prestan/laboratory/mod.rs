//! `prestan lab`, and measurements in laboratories: one at a time, which `cargo xtask test`
//! ensures, as each has a thread of real-time priority.

mod commands;
mod experiments;
mod option;
mod strange_hosts;
mod traffic;
