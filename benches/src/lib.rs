//! Benchmarks of Prestan as a measuring instrument.
//!
//! | benchmark | question |
//! |---|---|
//! | [`accuracy`] | how far are reported times from those on the wire? |
//! | [`cost`] | how much processor time does a request cost the client? |
//! | [`pages`] | and a file of a page? |
//! | [`scale`] | what do ten thousand users cost, and how punctual is a schedule? |
//! | [`suite`] | how much of a suite's time is the server's? |
//! | [`threads`] | do more worker threads help beside a server on the same machine? |
//! | [`verdicts`] | are comparisons right? |
//! | [`verify`] | what does it cost to verify responses? |
//!
//! Each makes a report that is kept as JSON; [`table`] prints it and [`docs`] puts it into pages. A
//! benchmark fails if a program is missing or fails, or if packets cannot be captured.
//!
//! Pure code (exchanges to differences, statistics) is separate from code that acts, and tested
//! without a network.

pub mod accuracy;
pub mod branches;
pub mod builds;
mod child;
pub mod comparison;
pub mod cost;
pub mod docs;
pub mod floor;
pub mod inside;
pub mod load;
pub mod machine;
mod numbers;
pub mod observe;
pub mod pages;
mod peers;
mod samples;
pub mod scale;
pub mod server;
pub mod suite;
pub mod table;
pub mod threads;
pub mod verdicts;
pub mod verify;

use machine::BenchMachine;
use serde::Serialize;
use serde::de::DeserializeOwned;
use table::BenchTable;

/// A benchmark's result.
pub trait BenchReport: Serialize + DeserializeOwned {
    /// The machine that measured it.
    fn machine(&self) -> &BenchMachine;

    /// Tables for the terminal and for pages.
    fn tables(&self) -> Vec<BenchTable>;

    /// The table for README, under this name.
    fn excerpt(&self) -> Option<(&'static str, BenchTable)> {
        None
    }
}

/// Size of a benchmark.
#[derive(Debug, Clone, Copy)]
pub enum BenchSize {
    /// The size for the documents.
    Full,
    /// A short version.
    Quick,
}

impl BenchSize {
    /// Chooses a value by size.
    pub fn of<T>(self, full: T, quick: T) -> T {
        match self {
            BenchSize::Full => full,
            BenchSize::Quick => quick,
        }
    }
}
