//! Background traffic: its files, its random laws, its schedules and what its sinks compute.

#![cfg(test)]

mod files;
mod generators;
mod hurst;
mod laws;
mod schedules;
mod sinks;
