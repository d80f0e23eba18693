//! What is wrong with an experiment, and where.

use std::fmt;

use topology::TopologyError;
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
        known: impl Iterator<Item = &'a str>,
    ) -> Self {
        let hint = nearest::hint(name, known, "known are");
        ExperimentError::new(place, format!("no {kind} is called `{name}`; {hint}"))
    }

    /// What a reader of JSON says of a value. Where it lists the keys that are known, the one that was meant is named.
    pub(crate) fn of_json(place: impl Into<String>, error: &serde_json::Error) -> Self {
        let message = error.to_string();
        let message = &message[..message.rfind(" at line ").unwrap_or(message.len())];
        let hinted = message
            .split_once(", expected ")
            .and_then(|(unknown, known)| {
                // Names are in backquotes.
                let names = known.split('`').skip(1).step_by(2);
                let meant = nearest::meant(unknown.split('`').nth(1)?, names)?;
                Some(format!("{unknown}; did you mean `{meant}`?"))
            });
        ExperimentError::new(place, hinted.unwrap_or_else(|| message.to_owned()))
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
