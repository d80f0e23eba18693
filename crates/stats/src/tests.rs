//! Tests of the whole crate: what a run with known content must say.

mod cases;
mod coverage;
mod properties;
mod warnings;
