//! Background traffic: its files, its random laws, its schedules and the statistics of its sinks.

#![cfg(test)]

mod files;
mod generators;
mod hurst;
mod laws;
mod schedules;
mod sinks;
