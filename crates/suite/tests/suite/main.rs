//! Suites: what is built in, what is documented, what is said about errors.

#![cfg(test)]

mod builtin;
mod documentation;
mod errors;
mod written;
