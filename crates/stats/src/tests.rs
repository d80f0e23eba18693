//! Tests of the whole crate: what a run with known content must say.

mod cases;
mod coverage;
mod estimated;
mod generator;
mod inside;
mod intervals;
mod judged;
mod live;
mod load;
mod pooled;
mod properties;
mod server_view;
mod stalls;
mod steady;
mod stopping;
mod streaming;
mod throughput;
mod warnings;
