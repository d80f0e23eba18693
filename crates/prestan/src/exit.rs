//! How the program ends.

use std::env;
use std::fmt;
use std::io;
use std::process::ExitCode;
use std::thread::{self, JoinHandle};

use stats::{Conclusion, Summary};

use crate::args::InconclusiveArg;
use crate::output::tell;

/// Exit status, as `--help` documents it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExitStatus {
    /// Done.
    Done,
    /// A test failed.
    TestFailed,
    /// Wrong usage, or a bad suite file.
    Usage,
    /// What was asked for rests on estimates that do not describe the server.
    Inconclusive,
    /// The target could not be reached or is not WebDAV.
    Target,
    /// Interrupted: the process ends by the signal.
    Interrupted,
    /// As a program ended that was started, whatever its status means.
    Program(u8),
}

impl ExitStatus {
    pub(crate) fn number(self) -> u8 {
        match self {
            ExitStatus::Done => 0,
            ExitStatus::TestFailed => 1,
            ExitStatus::Usage => 2,
            ExitStatus::Inconclusive => 3,
            ExitStatus::Target => 4,
            ExitStatus::Interrupted => 130,
            ExitStatus::Program(number) => number,
        }
    }

    /// The same where an inconclusive result is to count as something else.
    pub(crate) fn with(self, inconclusive: Option<InconclusiveArg>) -> ExitStatus {
        match (self, inconclusive) {
            (ExitStatus::Inconclusive, Some(InconclusiveArg::Pass)) => ExitStatus::Done,
            (ExitStatus::Inconclusive, Some(InconclusiveArg::Fail)) => ExitStatus::TestFailed,
            (code, _) => code,
        }
    }
}

impl From<ExitStatus> for ExitCode {
    fn from(code: ExitStatus) -> ExitCode {
        ExitCode::from(code.number())
    }
}

/// Why the program cannot do what it was asked.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failed {
    /// What was asked makes no sense.
    #[error("{0}")]
    Usage(String),
    /// It was done, and says nothing of the server.
    #[error("{0}")]
    Inconclusive(String),
    /// The server is not there, or not the right one.
    #[error("{0}")]
    Target(String),
    /// A file or a terminal would not do.
    #[error("{0}")]
    Local(String),
    /// The user had enough.
    #[error("{0}")]
    Interrupted(String),
    /// A program could not be started. The status is that of shells: 127 if it was not found, 126 otherwise.
    #[error("{0}")]
    NotStarted(String, u8),
}

/// Starts a thread.
pub(crate) fn start_thread<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<JoinHandle<T>, Failed> {
    let started = thread::Builder::new().spawn(work);
    started.map_err(|error| Failed::no_thread(&error))
}

impl Failed {
    /// What was asked for rests on rows that are inconclusive, for this reason.
    pub(crate) fn inconclusive(why: impl fmt::Display) -> Failed {
        Failed::Inconclusive(format!("inconclusive: {why}"))
    }

    /// A thread could not be started.
    pub(crate) fn no_thread(error: &io::Error) -> Failed {
        Failed::Local(engine::no_thread(error))
    }

    /// The same failure, with more behind its message.
    pub(crate) fn followed_by(self, more: &str) -> Failed {
        let follow = |what: String| format!("{what}{more}");
        match self {
            Failed::Usage(what) => Failed::Usage(follow(what)),
            Failed::Inconclusive(what) => Failed::Inconclusive(follow(what)),
            Failed::Target(what) => Failed::Target(follow(what)),
            Failed::Local(what) => Failed::Local(follow(what)),
            Failed::Interrupted(what) => Failed::Interrupted(follow(what)),
            Failed::NotStarted(what, status) => Failed::NotStarted(follow(what), status),
        }
    }

    pub(crate) fn code(&self) -> ExitStatus {
        match self {
            Failed::Usage(_) => ExitStatus::Usage,
            Failed::Inconclusive(_) => ExitStatus::Inconclusive,
            Failed::Target(_) => ExitStatus::Target,
            Failed::Local(_) => ExitStatus::TestFailed,
            Failed::Interrupted(_) => ExitStatus::Interrupted,
            Failed::NotStarted(_, status) => ExitStatus::Program(*status),
        }
    }
}

/// How runs end in which all rows were asked for. A failure goes before an inconclusive row, and
/// both are reported.
pub(crate) fn code_of_all<'s>(
    summaries: impl Iterator<Item = &'s Summary> + Clone,
) -> Result<ExitStatus, Failed> {
    let has_failed = summaries
        .clone()
        .any(|summary| summary.conclusion() == Conclusion::Fail);
    if env::var("GITHUB_ACTIONS").is_ok_and(|is_there| is_there == "true") {
        let annotations = summaries.clone().flat_map(report::github_annotations);
        annotations.for_each(|line| tell(&line));
    }
    for summary in summaries.clone() {
        let failed = [
            report::failed_rows(summary),
            report::failed_constraints(summary),
        ];
        for failed in failed.into_iter().flatten() {
            tell(&format!("prestan: failed: {failed}"));
        }
    }
    let mut inconclusive = summaries
        .filter_map(report::inconclusive_briefly)
        .map(Failed::inconclusive);
    match (has_failed, inconclusive.next()) {
        (true, why) => {
            for why in why.into_iter().chain(inconclusive) {
                tell(&format!("prestan: {why}"));
            }
            Ok(ExitStatus::TestFailed)
        }
        (false, Some(why)) => Err(why),
        (false, None) => Ok(ExitStatus::Done),
    }
}

impl From<engine::RunError> for Failed {
    fn from(error: engine::RunError) -> Failed {
        // What a server wrote stands in it, and must not pass for a line of ours.
        let text = report::clean(&error.to_string());
        match error {
            engine::RunError::Interrupted => Failed::Interrupted(text),
            engine::RunError::Local(_) => Failed::Local(text),
            engine::RunError::Unreachable(_)
            | engine::RunError::NotWebdav(_)
            | engine::RunError::Unauthorized(_)
            | engine::RunError::NoWorkspace(_) => Failed::Target(text),
        }
    }
}

impl From<rundir::RunDirError> for Failed {
    fn from(error: rundir::RunDirError) -> Failed {
        Failed::Local(error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::args::Cli;

    const CODES: [ExitStatus; 6] = [
        ExitStatus::Done,
        ExitStatus::TestFailed,
        ExitStatus::Usage,
        ExitStatus::Inconclusive,
        ExitStatus::Target,
        ExitStatus::Interrupted,
    ];

    #[test]
    fn only_an_inconclusive_result_counts_as_something_else() {
        let numbers = |counts_as| CODES.map(|code| code.with(counts_as).number());
        assert_eq!(numbers(None), [0, 1, 2, 3, 4, 130]);
        assert_eq!(numbers(Some(InconclusiveArg::Pass)), [0, 1, 2, 0, 4, 130]);
        assert_eq!(numbers(Some(InconclusiveArg::Fail)), [0, 1, 2, 1, 4, 130]);
    }

    #[test]
    fn commands_that_can_be_inconclusive_say_what_that_counts_as() {
        let read = |line: &str| {
            let words = format!("prestan {line} --inconclusive pass");
            Cli::try_parse_from(words.split(' ')).map(|cli| cli.inconclusive())
        };
        for line in [
            "http://h/",
            "run prestan http://h/",
            "load GET http://h/",
            "webstone http://h/",
            "demo",
            "compare http://h/ http://h/b",
            "sweep --vary width=1,2 http://h/",
            "search --find users --while p99<1s http://h/",
            "diagnose",
            "report",
        ] {
            assert_eq!(read(line).ok(), Some(Some(InconclusiveArg::Pass)), "{line}");
        }
        for line in [
            "runs",
            "gallery d",
            "analyze f",
            "suites",
            "servers",
            "serve",
            "traffic check f",
            "lab list",
            "clean http://h/",
            "completions bash",
            "man",
        ] {
            assert!(read(line).is_err(), "{line}");
            let without = Cli::try_parse_from(format!("prestan {line}").split(' '));
            assert_eq!(without.unwrap().inconclusive(), None, "{line}");
        }
    }
}
