//! Background traffic: from a load of a traffic file to flows that run.
//!
//! ```text
//! BackgroundTask --start--> RunningBackground --poll--> readings of about a second
//! (file, sinks)             (sources, own sinks) --end--> totals
//! ```

mod asked;
mod follower;
mod generators;
mod running;
mod suite_text;
mod task;
mod written;

use std::path::Path;

use flow::{FlowError, SharedToken};

use crate::error::RunnerError;

pub use asked::{BackgroundRequest, RequestedBackground, RequestedTraffic};
pub(crate) use follower::{BackgroundShare, started};
pub use generators::recorded as shown_generators;
pub use running::{EndedBackground, LOOK, RunningBackground, UnstableBackground};
pub(crate) use suite_text::recorded_suite;
pub use task::{
    BackgroundOptions, BackgroundTask, SinkPlace, TrafficEnds, TrafficFile, components_of,
};
pub use written::stable_percent;

/// Environment variable with the token where no file is given.
const TOKEN_VARIABLE: &str = "PRESTAN_TRAFFIC_TOKEN";

/// The token of sources and sinks.
pub fn token(file: Option<&Path>) -> Result<SharedToken, RunnerError> {
    let read = match file {
        Some(file) => SharedToken::from_file(file),
        None if std::env::var_os(TOKEN_VARIABLE).is_some() => {
            SharedToken::from_environment(TOKEN_VARIABLE)
        }
        None => {
            return Err(RunnerError::Usage(format!(
                "sources and sinks share a token; write one of 16 bytes or more into a file that only you \
                 can read, and give its name with --token-file, beside runs --sink-token-file (or set {TOKEN_VARIABLE})"
            )));
        }
    };
    read.map_err(|error| RunnerError::Usage(error.to_string()))
}

/// The error of background traffic that cannot be sent.
fn failed(error: &FlowError) -> RunnerError {
    let text = report::clean(&error.to_string());
    match error {
        FlowError::Settings(_) | FlowError::Token(_) => RunnerError::Usage(text),
        _ => RunnerError::Target(format!("background traffic: {text}")),
    }
}
