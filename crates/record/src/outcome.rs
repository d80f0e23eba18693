//! Outcomes of operations.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Outcome of a planned operation. Every one has exactly one: planned = the sum of outcomes,
/// always.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The expected response, including the content of a 207.
    Ok,
    /// A status that the test does not expect.
    WrongStatus,
    /// The status was expected; length, content, properties or members were not.
    WrongBody,
    /// The server does not have the method or the feature (405, 501).
    Unsupported,
    /// The server refused: locked, out of space, not allowed (423, 507, 403...).
    Refused,
    /// No connection could be opened, or TLS could not be negotiated.
    ConnectFailed,
    /// No complete response within the time limit.
    Timeout,
    /// The connection ended before the response.
    Reset,
    /// The response was not HTTP, or exceeded a limit of the client.
    ProtocolError,
    /// Planned and never sent: an earlier step did not save what it needs, or the load generator
    /// could not keep up.
    Dropped,
    /// The run was interrupted while it was in flight.
    Cancelled,
}

impl Outcome {
    /// All outcomes, in the order of reports.
    pub const ALL: [Outcome; 11] = [
        Outcome::Ok,
        Outcome::WrongStatus,
        Outcome::WrongBody,
        Outcome::Unsupported,
        Outcome::Refused,
        Outcome::ConnectFailed,
        Outcome::Timeout,
        Outcome::Reset,
        Outcome::ProtocolError,
        Outcome::Dropped,
        Outcome::Cancelled,
    ];

    /// Names in files, in the same order: `wrong_status`.
    pub const NAMES: [&str; 11] = [
        "ok",
        "wrong_status",
        "wrong_body",
        "unsupported",
        "refused",
        "connect_failed",
        "timeout",
        "reset",
        "protocol_error",
        "dropped",
        "cancelled",
    ];

    /// Name in files: `wrong_status`.
    pub fn name(self) -> &'static str {
        Outcome::NAMES[self as usize]
    }

    /// True for an outcome that is neither expected nor caused by the user.
    pub fn is_failure(self) -> bool {
        !matches!(self, Outcome::Ok | Outcome::Cancelled)
    }
}

impl fmt::Display for Outcome {
    /// Writes the words for people: `wrong status`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name().replace('_', " "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_the_serde_names() {
        for outcome in Outcome::ALL {
            let json = serde_json::to_string(&outcome).unwrap();
            assert_eq!(json, format!("\"{}\"", outcome.name()));
        }
    }
}
