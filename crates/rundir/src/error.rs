//! Errors of run directories.

use std::io;
use std::path::{Path, PathBuf};

/// Longest message, in bytes.
const LONGEST_MESSAGE: usize = 1000;

/// An error of a run directory.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages describe them")]
pub enum RunDirError {
    #[error("{what} {} failed: {source}", path.display())]
    Io {
        what: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    #[error("{}: {message}", path.display())]
    Damaged { path: PathBuf, message: String },
    #[error("the plan is too large to be recorded: {0}; plan less in one run")]
    PlanTooLarge(String),
}

pub(crate) fn writing(path: &Path, source: io::Error) -> RunDirError {
    RunDirError::Io {
        what: "writing",
        path: path.to_owned(),
        source,
    }
}

pub(crate) fn reading(path: &Path, source: io::Error) -> RunDirError {
    RunDirError::Io {
        what: "reading",
        path: path.to_owned(),
        source,
    }
}

pub(crate) fn damaged(path: &Path, mut message: String) -> RunDirError {
    // A quotation of a file may be as long as the file.
    if message.len() > LONGEST_MESSAGE {
        let head = message.floor_char_boundary(LONGEST_MESSAGE / 2);
        let tail = message.ceil_char_boundary(message.len() - LONGEST_MESSAGE / 4);
        message.replace_range(head..tail, " ... ");
    }
    RunDirError::Damaged {
        path: path.to_owned(),
        message,
    }
}
