//! Units of time, as suites declare them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Unit of the times of a row in reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum TimeUnit {
    /// Microseconds.
    #[serde(rename = "us", alias = "µs")]
    Microseconds,
    /// Milliseconds.
    #[serde(rename = "ms")]
    Milliseconds,
    /// Seconds.
    #[serde(rename = "s")]
    Seconds,
    /// Minutes.
    #[serde(rename = "min")]
    Minutes,
}

impl TimeUnit {
    /// Sign in reports, and length in nanoseconds.
    pub fn sign_and_nanos(self) -> (&'static str, f64) {
        match self {
            TimeUnit::Microseconds => ("µs", 1e3),
            TimeUnit::Milliseconds => ("ms", 1e6),
            TimeUnit::Seconds => ("s", 1e9),
            TimeUnit::Minutes => ("min", 60e9),
        }
    }
}
