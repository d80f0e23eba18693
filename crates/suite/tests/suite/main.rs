//! Suites: built-in ones, documented ones, errors.

#![cfg(test)]

mod builtin;
mod documentation;
mod errors;
mod written;
