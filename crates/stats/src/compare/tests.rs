//! Comparisons of which the answer is known.

mod recorded;
