//! Limits of evaluations, and the remaining amounts.

use std::fmt::{self, Display, Write as _};

use crate::TemplateError;
use crate::value::{Later, Value, unfit};

/// Characters that are read or copied in a step.
pub(crate) const LETTERS: usize = 64;
/// Deepest nesting of lists and maps: each level takes space on the stack.
const DEEPEST: usize = 64;

/// Remaining limits of evaluations.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// Steps: a text, a statement, an operation.
    pub steps: u64,
    /// Bytes of results and intermediate results.
    pub bytes: usize,
}

impl Bounds {
    pub(crate) fn takes(&mut self, steps: usize) -> Result<(), TemplateError> {
        let left = self.steps.checked_sub(steps as u64);
        self.steps = left.ok_or(TemplateError::TooLong)?;
        Ok(())
    }

    pub(crate) fn makes(&mut self, bytes: usize) -> Result<(), TemplateError> {
        let left = self.bytes.checked_sub(bytes);
        self.bytes = left.ok_or(TemplateError::TooLarge)?;
        Ok(())
    }

    /// Takes as many steps as a value has parts: lists may share their items, so that they are
    /// larger than they seem.
    pub(crate) fn weighs<L: Later>(&mut self, value: &Value<L>) -> Result<(), TemplateError> {
        self.weighs_at(1, value)
    }

    fn weighs_at<L: Later>(&mut self, depth: usize, value: &Value<L>) -> Result<(), TemplateError> {
        if depth > DEEPEST {
            let message = format!("a value is nested more than {DEEPEST} levels deep");
            return Err(unfit(message));
        }
        self.takes(1)?;
        let parts = |value: &Value<L>| self.weighs_at(depth + 1, value);
        match value {
            Value::List(items) => items.iter().try_for_each(parts),
            Value::Map(members) => members.values().try_for_each(parts),
            Value::Later(later) => self.takes(later.size() / LETTERS),
            Value::Parts(parts) => self.takes(parts.len()),
            Value::Written(text, _) => self.takes(text.len() / LETTERS),
            _ => self.takes(value.text().map_or(0, str::len) / LETTERS),
        }
    }

    /// Formats a value within the remaining limit.
    pub(crate) fn written(&mut self, value: &impl Display) -> Result<String, TemplateError> {
        struct BoundedText<'b> {
            text: String,
            bounds: &'b mut Bounds,
        }
        impl fmt::Write for BoundedText<'_> {
            fn write_str(&mut self, text: &str) -> fmt::Result {
                self.bounds.makes(text.len()).map_err(|_| fmt::Error)?;
                self.text.push_str(text);
                Ok(())
            }
        }
        let mut written = BoundedText {
            text: String::new(),
            bounds: self,
        };
        match write!(written, "{value}") {
            Ok(()) => Ok(written.text),
            Err(fmt::Error) => Err(TemplateError::TooLarge),
        }
    }
}
