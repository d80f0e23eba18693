//! The conditions of steps, and where one is wrong.

use std::cell::RefCell;

use constraint::{Constraint, ConstraintError};

use super::SuiteSource;
use crate::error::SuiteError;
use crate::position::{Located, Position};

/// The conditions of steps, as they are met.
#[derive(Default)]
pub(super) struct WrittenConditions(pub(super) RefCell<Vec<(Located<String>, Constraint)>>);

impl WrittenConditions {
    /// Adds one of a test whose names have something behind them; returns its index.
    pub(super) fn add(
        &self,
        file: &SuiteSource<'_>,
        text: &Located<String>,
        renamed: impl Fn(&str) -> Option<String>,
    ) -> Result<usize, SuiteError> {
        let constraint = Constraint::parse(&text.value).map_err(|why| at(file, text, &why))?;
        let mut all = self.0.borrow_mut();
        all.push((text.clone(), constraint.renamed(&renamed)));
        Ok(all.len() - 1)
    }
}

/// The error at its position in the file: of a text on one line, that of the character.
pub(super) fn at(
    file: &SuiteSource<'_>,
    text: &Located<String>,
    why: &ConstraintError,
) -> SuiteError {
    let Position { line, column } = text.position;
    let written = file.text.lines().nth(line.saturating_sub(1) as usize);
    let from = written.map(|line| line.chars().skip(column.saturating_sub(1) as usize));
    let from: String = from.map(Iterator::collect).unwrap_or_default();
    let quote = u32::from(from.starts_with(['"', '\'']));
    let is_plain = from
        .get(quote as usize..)
        .is_some_and(|from| from.starts_with(&text.value));
    let before = text
        .value
        .get(..why.offset)
        .map_or(0, |before| before.chars().count());
    let position = if is_plain {
        let column = column + quote + u32::try_from(before).unwrap_or(0);
        Position { line, column }
    } else {
        text.position
    };
    file.error(position, why.message.clone())
}
