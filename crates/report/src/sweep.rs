//! How servers fare when something is varied, for people and for programs.

pub(crate) mod document;
mod json;
pub(crate) mod words;

use record::NoteRecord;
use schemars::JsonSchema;
use serde::Serialize;
use stats::SweptRow;

use crate::incomplete::Incomplete;
use crate::terminal::TextReport;

pub use json::sweep_json;
#[cfg(feature = "schema")]
pub use json::sweep_schema;

/// Results of a sweep.
#[derive(Debug, Clone, PartialEq)]
pub struct Sweep {
    /// Name of the suite.
    pub suite: String,
    /// Parameters that were varied.
    pub vary: Vec<Varied>,
    /// Which points were measured.
    pub design: Design,
    /// How often each was to be measured.
    pub repeats: usize,
    /// Seed of the order of the runs, and of what they do.
    pub seed: u64,
    /// Share up to which an effect does not matter.
    pub same_within: f64,
    /// On which servers.
    pub servers: Vec<SweepServer>,
    /// Notes about the runs by their authors, each once.
    pub notes: Vec<NoteRecord>,
    /// Why runs are missing, where it ended early.
    pub incomplete: Option<Incomplete>,
    /// Caveats, to be read before the results.
    pub caveats: Vec<String>,
    /// Row by row.
    pub rows: Vec<SweptRow>,
}

/// A parameter.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields, rename = "Parameter")]
pub struct Varied {
    /// Its name.
    pub name: String,
    /// Its values, ascending; sizes in bytes.
    pub values: Vec<f64>,
    /// Its values as they were written.
    pub written: Vec<String>,
}

/// Which points of a sweep are measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Design {
    /// All combinations of values.
    Grid,
    /// Each parameter alone, with the others at their first value.
    OneAtATime,
}

impl Sweep {
    /// Runs at every point; fewer than were planned where the sweep ended early.
    fn repeats_made(&self) -> usize {
        let servers = self.rows.iter().flat_map(|row| &row.servers);
        let runs = servers.flat_map(|server| &server.points);
        runs.map(|point| point.runs).min().unwrap_or_default()
    }
}

impl Design {
    fn name(self) -> &'static str {
        match self {
            Design::Grid => "grid",
            Design::OneAtATime => "one at a time",
        }
    }
}

/// A server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields, rename = "Server")]
pub struct SweepServer {
    /// How it is called: its URL or its recipe.
    pub name: String,
    /// Where it is.
    pub target: String,
    /// Software that it reports; null where it reports none.
    pub software: Option<String>,
}

/// The sweep for people. Ends with a newline.
pub fn sweep_text(sweep: &Sweep, color: bool, width: usize) -> String {
    let mut report = TextReport::new(color, width);
    report.blocks(&document::document(sweep));
    report.finish()
}

/// `5 %`, as it was asked for.
fn limit(sweep: &Sweep) -> String {
    format!("{} %", (sweep.same_within * 1000.0).round() / 10.0)
}
