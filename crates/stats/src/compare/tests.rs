//! Comparisons whose result is known.

mod budget;
mod conditions;
mod failures;
mod inside;
mod recorded;
pub(super) mod simulated;
mod webstone;
