//! Results of the rules for servers of which the truth is known.

mod cases;
mod detectors;
mod explained;
mod lacking;
mod null;
mod simulated;
mod table;
mod traced;
