//! What is wrong with a suite file, and where.

use std::fmt;

use crate::place::Place;

/// A defect of a suite file. Its text shows the line with a mark under the place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SuiteError {
    file: String,
    place: Option<Place>,
    line: Option<String>,
    message: String,
}

impl SuiteError {
    /// A defect at `place` of `text`, the text of the file called `file`.
    pub(crate) fn at(
        file: &str,
        text: &str,
        place: Option<Place>,
        message: impl Into<String>,
    ) -> Self {
        let place = place.filter(|place| place.line > 0);
        let line = place.and_then(|place| {
            text.lines()
                .nth(place.line as usize - 1)
                .map(|line| line.replace('\t', " "))
        });
        SuiteError {
            file: file.to_owned(),
            place,
            line,
            message: message.into(),
        }
    }

    /// What is wrong, without the place.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Line and column, counted from 1, where they are known.
    pub fn position(&self) -> Option<(u32, u32)> {
        self.place.map(|place| (place.line, place.column))
    }
}

impl fmt::Display for SuiteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(place) = self.place else {
            return write!(f, "{}: {}", self.file, self.message);
        };
        write!(
            f,
            "{}:{}:{}: {}",
            self.file, place.line, place.column, self.message
        )?;
        let Some(line) = &self.line else {
            return Ok(());
        };
        let number = place.line.to_string();
        let margin = " ".repeat(number.len());
        let indent = " ".repeat(place.column.saturating_sub(1) as usize);
        write!(
            f,
            "\n {margin} |\n {number} | {line}\n {margin} | {indent}^"
        )
    }
}

impl std::error::Error for SuiteError {}
