//! What evaluations may take, and what is left of it.

use std::fmt::{self, Display, Write as _};

use crate::TemplateError;

/// How much evaluations may take, less what those before have taken.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// Steps: a text, a statement, an operation.
    pub steps: u64,
    /// Bytes that are made, of results and of all on the way to them.
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

    /// Something as a text, of which no more is written than there may be.
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
