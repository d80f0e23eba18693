//! Comparisons of which the answer is known.

mod budget;
mod failures;
mod recorded;
mod simulated;
mod webstone;
