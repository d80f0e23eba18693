//! What is wrong with a traffic file, and where.

use std::fmt;

/// A defect of a traffic file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrafficError {
    place: String,
    message: String,
}

impl TrafficError {
    pub(crate) fn new(place: impl Into<String>, message: impl Into<String>) -> Self {
        TrafficError {
            place: place.into(),
            message: message.into(),
        }
    }

    /// The key that is wrong (`loads.busy.flows[0].n`), or file, line and column if the YAML cannot be read.
    pub fn place(&self) -> &str {
        &self.place
    }

    /// What is wrong with it.
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for TrafficError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.message)
    }
}

impl std::error::Error for TrafficError {}
