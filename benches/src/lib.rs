//! What the project says about itself as a measuring instrument, measured.
//!
//! | benchmark | question |
//! |---|---|
//! | [`accuracy`] | how far are reported times from those on the wire? |
//! | [`cost`] | what does a request cost the client's processor? |
//! | [`pages`] | and a file of a page? |
//! | [`scale`] | what do ten thousand users cost, and how punctual is a schedule? |
//! | [`suite`] | how much of a suite's time is the server's? |
//! | [`threads`] | do more worker threads help beside a server on the same machine? |
//! | [`verdicts`] | is what comparisons say right? |
//! | [`verify`] | what does it cost to verify responses? |
//!
//! Each makes a report that is kept as JSON; [`table`] prints it and [`docs`] puts it into pages.
//! What is pure (exchanges to differences, statistics) is apart from what acts, and tested without a
//! network.

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

/// How much is done.
#[derive(Debug, Clone, Copy)]
pub enum BenchSize {
    /// What the documents show.
    Full,
    /// A first look.
    Quick,
}

impl BenchSize {
    /// The one or the other.
    pub fn of<T>(self, full: T, quick: T) -> T {
        match self {
            BenchSize::Full => full,
            BenchSize::Quick => quick,
        }
    }
}
