//! What the rules say of servers of which the truth is known.

mod detectors;
mod explained;
mod null;
mod simulated;
mod table;
