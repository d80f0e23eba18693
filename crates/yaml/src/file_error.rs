//! Errors of files, including those that are no defects of their YAML.

use serde::de::DeserializeOwned;

use crate::error::YamlError;

/// A defect of a file, of a choice from it on the command line, or of a record about it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{location}: {message}")]
pub struct FileError {
    location: String,
    message: String,
}

impl FileError {
    /// A defect at a position: a key, or file, line and column.
    pub fn new(location: impl Into<String>, message: impl Into<String>) -> Self {
        FileError {
            location: location.into(),
            message: message.into(),
        }
    }

    /// An unknown name, with the one that was probably meant, or all known ones.
    pub fn unknown<'a>(
        location: impl Into<String>,
        kind: &str,
        name: &str,
        known: impl Iterator<Item = &'a str>,
    ) -> Self {
        let hint = nearest::hint(name, known, "known are");
        FileError::new(location, format!("no {kind} is called `{name}`; {hint}"))
    }

    /// An error of the JSON parser about a value. If it lists the known keys, the one that was
    /// probably meant is suggested.
    pub fn from_json(location: impl Into<String>, error: &serde_json::Error) -> Self {
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
        FileError::new(location, hinted.unwrap_or_else(|| message.to_owned()))
    }

    /// A defect of the document of a file, with line and column.
    fn from_document(name: &str, error: &YamlError) -> Self {
        let location = match error.position() {
            Some(position) => format!("{name}:{}:{}", position.line, position.column),
            None => name.to_owned(),
        };
        FileError::new(location, error.message())
    }

    /// The same below a key.
    #[must_use]
    pub fn below(self, key: &str) -> Self {
        FileError::new(format!("{key}.{}", self.location), self.message)
    }

    /// The defective key (`links[2].rate`), or file, line and column if the YAML cannot be parsed.
    pub fn location(&self) -> &str {
        &self.location
    }

    /// The defect.
    pub fn message(&self) -> &str {
        &self.message
    }
}

/// Parses a file with one document. `name` is its name in errors.
///
/// # Errors
/// The first defect, with line and column.
pub fn read_file<T: DeserializeOwned>(name: &str, text: &str) -> Result<T, FileError> {
    crate::read(text).map_err(|error| FileError::from_document(name, &error))
}
