//! Captures, as packets and as what is found in them.

#![cfg(test)]

mod captures;
mod contents;
mod properties;
mod rto;
mod support;
