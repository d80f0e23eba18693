//! What the rules say of servers of which the truth is known.

mod detectors;
mod null;
mod simulated;
mod table;
