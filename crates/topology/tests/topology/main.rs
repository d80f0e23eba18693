//! Networks of laboratories: their files, addresses, queues.

#![cfg(test)]

mod bare_hosts;
mod files;
mod queues;
