//! Tests of the whole crate: summaries of runs with known content.

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

use record::{MeasureId, Outcome, Sample};

use crate::testing;

/// One expected operation of `user` from `started` to `done`.
fn op(user: u32, started: u64, done: u64) -> Sample {
    let mut sample = testing::sample(MeasureId(0), user, Outcome::Ok);
    sample.moments = testing::moments(started, started, done, done);
    sample
}
