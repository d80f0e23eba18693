//! Captures: packets and their analysis.

#![cfg(test)]

mod captures;
mod contents;
mod properties;
mod rto;
mod support;
