//! What a capture says: why its transfers were slow, and the figures of its connections and
//! requests, for people and for programs.

mod causes;
mod courses;
mod details;
mod document;
mod figures;
mod json;
mod not_judged;
mod on_wire;
mod sheet;
mod tables;
mod timeouts;
mod warnings;
mod words;

use trace::contents::CaptureContents;

pub use document::{analysis_page, analysis_text};
pub use json::analysis_json;
#[cfg(feature = "schema")]
pub use json::analysis_schema;
pub use on_wire::RunOnWire;
pub use sheet::analysis_csv;
pub use timeouts::{FormulaName, TimeoutStudy};

/// An analysed capture.
#[derive(Debug)]
pub struct CaptureAnalysis {
    /// Its file.
    pub file: String,
    /// What it contains.
    pub contents: CaptureContents,
    /// Timeouts of other settings, where they were asked for.
    pub timeouts: Option<TimeoutStudy>,
    /// A recorded run beside it, where one was given.
    pub run: Option<RunOnWire>,
}

impl CaptureAnalysis {
    /// Requests of all connections, also those that were not kept.
    pub(crate) fn request_count(&self) -> u64 {
        let connections = self.contents.traced.connections.iter();
        connections.map(|connection| connection.request_count).sum()
    }

    /// From the first packet of a connection to the last of all, in nanoseconds.
    pub(crate) fn duration_ns(&self) -> i64 {
        let connections = self.contents.traced.connections.iter();
        let end_ns = connections.map(|connection| connection.end_ns).max();
        end_ns.map_or(0, |end_ns| self.since_start_ns(end_ns).max(0))
    }

    /// A moment in nanoseconds since the first packet.
    pub(crate) fn since_start_ns(&self, at_ns: i64) -> i64 {
        at_ns.saturating_sub(self.contents.start_ns)
    }
}
