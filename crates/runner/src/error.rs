//! Errors of requests that failed.

use std::fmt;
use std::io;
use std::thread::{self, JoinHandle};

/// The error of a request that failed. The variant is the kind of the failure, and its text is the
/// whole message.
#[derive(Debug, thiserror::Error)]
pub enum RunnerError {
    /// The request is invalid, or a file that it names is.
    #[error("{0}")]
    Usage(String),
    /// The result rests on estimates that do not describe the server.
    #[error("{0}")]
    Inconclusive(String),
    /// The server could not be reached, or is not the expected one.
    #[error("{0}")]
    Target(String),
    /// Something on this machine failed, such as a write to a disk that is full.
    #[error("{0}")]
    Local(String),
    /// The record of a run could not be written.
    #[error("{0}")]
    NotSaved(String),
    /// This machine has too few threads or open files, or too little memory, for the load.
    #[error("{0}")]
    Resources(String),
    /// A signal ended the work.
    #[error("{0}")]
    Interrupted(String),
    /// The file of a program does not exist.
    #[error("{0}")]
    ProgramNotFound(String),
    /// A program could not be started.
    #[error("{0}")]
    ProgramNotStarted(String),
}

impl RunnerError {
    /// The result rests on rows that are inconclusive, for this reason.
    pub fn inconclusive(why: impl fmt::Display) -> RunnerError {
        RunnerError::Inconclusive(format!("inconclusive: {why}"))
    }

    /// A thread could not be started.
    pub fn no_thread(error: &io::Error) -> RunnerError {
        RunnerError::Resources(limits::no_thread(error))
    }

    /// The same failure, with `more` after its message.
    #[must_use]
    pub fn followed_by(mut self, more: &str) -> RunnerError {
        self.message_mut().push_str(more);
        self
    }

    fn message_mut(&mut self) -> &mut String {
        match self {
            RunnerError::Usage(message)
            | RunnerError::Inconclusive(message)
            | RunnerError::Target(message)
            | RunnerError::Local(message)
            | RunnerError::NotSaved(message)
            | RunnerError::Resources(message)
            | RunnerError::Interrupted(message)
            | RunnerError::ProgramNotFound(message)
            | RunnerError::ProgramNotStarted(message) => message,
        }
    }
}

impl From<engine::RunError> for RunnerError {
    fn from(error: engine::RunError) -> RunnerError {
        // The text may quote a server, whose control characters must not reach a terminal.
        let message = report::clean(&error.to_string());
        match error {
            engine::RunError::Interrupted => RunnerError::Interrupted(message),
            engine::RunError::Local(_) => RunnerError::Resources(message),
            engine::RunError::Unreachable(_)
            | engine::RunError::NotWebdav(_)
            | engine::RunError::Unauthorized(_)
            | engine::RunError::NoWorkspace(_) => RunnerError::Target(message),
        }
    }
}

impl From<rundir::RunDirError> for RunnerError {
    fn from(error: rundir::RunDirError) -> RunnerError {
        RunnerError::Local(error.to_string())
    }
}

impl From<lab::LabError> for RunnerError {
    fn from(error: lab::LabError) -> RunnerError {
        match error {
            lab::LabError::RefusedSysctl { .. } => RunnerError::Usage(error.to_string()),
            error => RunnerError::Local(error.to_string()),
        }
    }
}

/// Starts a thread.
///
/// # Errors
///
/// The system has no resources for another thread.
pub fn start_thread<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<JoinHandle<T>, RunnerError> {
    let started = thread::Builder::new().spawn(work);
    started.map_err(|error| RunnerError::no_thread(&error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_server_wrote_is_shown_without_control_characters() {
        let error = engine::RunError::NotWebdav("it is \u{1b}[2J".to_owned());
        let RunnerError::Target(message) = RunnerError::from(error).followed_by("; more") else {
            panic!("it is another kind");
        };
        assert!(!message.contains('\u{1b}'), "{message:?}");
        assert!(message.ends_with("; more"), "{message:?}");
    }
}
