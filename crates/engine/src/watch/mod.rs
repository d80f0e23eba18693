//! Observations during a run: events, samples, counts, and figures of the load generator.

pub(crate) mod conditions;
pub(crate) mod exhaustion;
pub(crate) mod heads;
pub(crate) mod journal;
pub(crate) mod origins;
pub(crate) mod progress;
pub(crate) mod recorder;
pub(crate) mod server_timings;
pub(crate) mod vitals;
