//! Series of runs on this machine.

pub(crate) mod local;
mod progress;
pub(crate) mod servers;

pub(crate) use progress::{SeriesPace, SeriesProgress};
