//! What is wrong with an experiment, and where.

use std::fmt;

use topology::{TopologyError, nearest};
use traffic::TrafficError;

/// A defect of an experiment file, of its choice on the command line, or of the record of a campaign.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExperimentError {
    place: String,
    message: String,
}

impl ExperimentError {
    pub(crate) fn new(place: impl Into<String>, message: impl Into<String>) -> Self {
        ExperimentError {
            place: place.into(),
            message: message.into(),
        }
    }

    /// A name that nothing has, with the one that was probably meant or all that there are.
    pub(crate) fn unknown<'a>(
        place: impl Into<String>,
        kind: &str,
        name: &str,
        known: impl Iterator<Item = &'a str> + Clone,
    ) -> Self {
        let hint = match nearest(name, known.clone()) {
            Some(meant) => format!("; did you mean `{meant}`?"),
            None => match shown(known) {
                known if known.is_empty() => String::new(),
                known => format!("; known are {known}"),
            },
        };
        ExperimentError::new(place, format!("no {kind} is called `{name}`{hint}"))
    }

    /// The same below a key.
    pub(crate) fn below(self, key: &str) -> Self {
        ExperimentError::new(format!("{key}.{}", self.place), self.message)
    }

    /// The key that is wrong (`tables[2].rows`), or file, line and column if the YAML cannot be read.
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

/// Most names that a message lists.
const MOST_SHOWN: usize = 12;

fn shown<'a>(names: impl Iterator<Item = &'a str> + Clone) -> String {
    let more = names.clone().count() > MOST_SHOWN;
    let mut shown: Vec<&str> = names.take(MOST_SHOWN).collect();
    shown.extend(more.then_some("..."));
    shown.join(", ")
}

impl From<TopologyError> for ExperimentError {
    fn from(error: TopologyError) -> Self {
        ExperimentError::new(error.place(), error.message())
    }
}

impl From<TrafficError> for ExperimentError {
    fn from(error: TrafficError) -> Self {
        ExperimentError::new(error.place(), error.message())
    }
}

impl fmt::Display for ExperimentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.message)
    }
}

impl std::error::Error for ExperimentError {}
