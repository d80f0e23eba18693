//! What a run tells while it goes on: events, samples, counts, and how the load generator itself fares.

pub(crate) mod conditions;
pub(crate) mod exhaustion;
pub(crate) mod heads;
pub(crate) mod journal;
pub(crate) mod origins;
pub(crate) mod progress;
pub(crate) mod recorder;
pub(crate) mod server_timings;
pub(crate) mod vitals;
