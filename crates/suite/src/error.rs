//! Defects of suite files.

use std::fmt;

use wire::redact::{HIDDEN, names_secret, redacted_line};

use crate::position::Position;

/// A defect of a suite file. Its text shows the line with a mark.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SuiteError {
    file: String,
    position: Option<Position>,
    /// Shown part of the line, and the column of the mark in it, from 0.
    line: Option<(String, usize)>,
    message: String,
}

impl SuiteError {
    /// A defect at `position` of `text`, the text of the file `file`.
    pub(crate) fn at(
        file: &str,
        text: &str,
        position: Option<Position>,
        message: impl Into<String>,
    ) -> Self {
        let position = position.filter(|position| position.line > 0);
        let line = position.and_then(|position| {
            let before = text.lines().take(position.line as usize - 1);
            let line = text.lines().nth(position.line as usize - 1)?;
            let shown = if is_value_of_secret(before, line) {
                HIDDEN.to_owned()
            } else {
                redacted_line(line)
            };
            Some(excerpt(&shown, position.column))
        });
        SuiteError {
            file: file.to_owned(),
            position,
            line,
            message: message.into(),
        }
    }

    /// The defect without its position.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Line and column from 1, if known.
    pub fn position(&self) -> Option<(u32, u32)> {
        self.position
            .map(|position| (position.line, position.column))
    }
}

impl fmt::Display for SuiteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(position) = self.position else {
            return write!(f, "{}: {}", self.file, self.message);
        };
        write!(
            f,
            "{}:{}:{}: {}",
            self.file, position.line, position.column, self.message
        )?;
        let Some((line, column)) = &self.line else {
            return Ok(());
        };
        let number = position.line.to_string();
        let margin = " ".repeat(number.len());
        let indent = " ".repeat(*column);
        write!(
            f,
            "\n {margin} |\n {number} | {line}\n {margin} | {indent}^"
        )
    }
}

impl std::error::Error for SuiteError {}

/// True if a line belongs to the value of a secret field, which begins on an earlier line with less
/// indentation.
fn is_value_of_secret<'t>(before: impl Iterator<Item = &'t str>, line: &str) -> bool {
    let indentation = |line: &str| line.len() - line.trim_start().len();
    let is_less = |other: &&str| !other.trim().is_empty() && indentation(other) < indentation(line);
    let less = before.filter(is_less);
    less.last().is_some_and(names_secret)
}

/// Characters of a long line that are shown on each side of a mark.
const AROUND: usize = 80;

/// The part of a line around a column (from 1), and the column in it (from 0).
fn excerpt(line: &str, column: u32) -> (String, usize) {
    let line = line.replace('\t', " ");
    // The column may be beyond the shown part of the line.
    let column = (column.saturating_sub(1) as usize).min(line.chars().count());
    if line.chars().nth(2 * AROUND).is_none() {
        return (line, column);
    }
    let cut = column.saturating_sub(AROUND);
    let before = if cut > 0 { "…" } else { "" };
    let mut rest = line.chars().skip(cut);
    let near: String = rest.by_ref().take(column - cut + AROUND).collect();
    let behind = if rest.next().is_some() { "…" } else { "" };
    (
        format!("{before}{near}{behind}"),
        column - cut + before.chars().count(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_secret_of_a_line_is_shown() {
        let shown = |text: &str| {
            let position = Some(Position {
                line: 1,
                column: 60,
            });
            SuiteError::at("s.yaml", text, position, "wrong").to_string()
        };
        for line in [
            "      Authorization: Bearer s3cret",
            "  - {GET: a, headers: {\"X-Auth-Token\": s3cret, b: c}}",
            "headers: {Cookie : 's3cret'}",
            "Proxy-Authorization: s3cret",
        ] {
            let shown = shown(line);
            let is_hidden = shown.contains("(not shown)") && !shown.contains("s3cret");
            assert!(is_hidden, "{shown}");
        }
        let position = Some(Position { line: 2, column: 3 });
        let below = SuiteError::at("s.yaml", "Cookie: >-\n  s3cret", position, "wrong").to_string();
        assert!(!below.contains("s3cret"), "{below}");
        for line in [
            "users: 10",
            "headers: {Lock-Token: x, User-Agent: y}",
            "key: z",
        ] {
            assert!(shown(line).contains(line));
        }
    }

    #[test]
    fn of_a_long_line_what_is_near_the_mark_is_shown() {
        let shown = |text: &str, column: u32| {
            let position = Some(Position { line: 1, column });
            let error = SuiteError::at("s.yaml", text, position, "wrong");
            error.to_string()
        };
        let long = format!("{}X{}", "ü\t".repeat(500_000), "é".repeat(1_000_000));
        let around = format!("…{}X{}…", "ü ".repeat(40), "é".repeat(79));
        assert_eq!(
            shown(&long, 1_000_001),
            format!(
                "s.yaml:1:1000001: wrong\n   |\n 1 | {around}\n   | {}^",
                " ".repeat(81)
            )
        );
        let start = format!("ü {}…", "ü ".repeat(39));
        assert!(shown(&long, 1).contains(&format!(" 1 | {start}\n   | ^")));
        let end = format!("…{}", "é".repeat(80));
        assert!(shown(&long, 2_000_002).contains(&format!(" 1 | {end}\n   | {}^", " ".repeat(81))));
        // A line that fits on two lines of a terminal is shown whole.
        let short = "x".repeat(160);
        assert!(shown(&short, 155).contains(&format!("| {short}\n")));
    }
}
