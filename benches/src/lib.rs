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
//! Each makes a report that is kept as JSON; [`table`] prints it and [`docs`] puts it into pages.
//! Pure code (exchanges to differences, statistics) is separate from code that acts, and tested
//! without a network.

pub mod accuracy;
pub mod branches;
pub mod builds;
pub mod child;
pub mod comparison;
pub mod cost;
pub mod docs;
pub mod floor;
pub mod inside;
pub mod load;
pub mod machine;
pub mod numbers;
pub mod observe;
pub mod pages;
pub mod peers;
pub mod samples;
pub mod scale;
pub mod server;
pub mod suite;
pub mod table;
pub mod threads;
pub mod verdicts;
pub mod verify;

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
