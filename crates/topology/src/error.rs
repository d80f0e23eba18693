//! What is wrong with a lab file, and where.

use std::fmt;

/// A defect of a lab file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopologyError {
    place: String,
    message: String,
}

impl TopologyError {
    pub(crate) fn new(place: impl Into<String>, message: impl Into<String>) -> Self {
        TopologyError {
            place: place.into(),
            message: message.into(),
        }
    }

    /// The key that is wrong (`links[2].rate`), or file, line and column if the YAML cannot be read.
    #[must_use]
    pub fn place(&self) -> &str {
        &self.place
    }

    /// What is wrong with it.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for TopologyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.message)
    }
}

impl std::error::Error for TopologyError {}
