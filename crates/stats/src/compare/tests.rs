//! Comparisons of which the answer is known.

mod budget;
mod failures;
mod recorded;
pub(super) mod simulated;
mod webstone;
