//! Comparisons of which the answer is known.

mod budget;
mod recorded;
