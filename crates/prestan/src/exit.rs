//! The end of the program.

use std::env;
use std::process::ExitCode;

use runner::RunnerError;
use stats::{Conclusion, Summary};

use terminal::output::{print_described, print_formatted, print_message};
use terminal::screen::{ColorChoice, Screen};

/// Exit status, as `--help` documents it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExitStatus {
    Done,
    TestFailed,
    /// Wrong usage, or a bad suite file.
    Usage,
    /// The result rests on estimates that do not describe the server.
    Inconclusive,
    /// The target could not be reached or is not WebDAV.
    Target,
    /// Interrupted: the process ends by the signal.
    Interrupted,
    /// Status of a started program, whatever its meaning.
    Program(u8),
}

impl ExitStatus {
    /// Status of an error. A program that could not be started has the status of shells.
    pub(crate) fn of(error: &RunnerError) -> ExitStatus {
        match error {
            RunnerError::Usage(_) => ExitStatus::Usage,
            RunnerError::Inconclusive(_) => ExitStatus::Inconclusive,
            RunnerError::Target(_) => ExitStatus::Target,
            RunnerError::Local(_) | RunnerError::NotSaved(_) | RunnerError::Resources(_) => {
                ExitStatus::TestFailed
            }
            RunnerError::Interrupted(_) => ExitStatus::Interrupted,
            RunnerError::ProgramNotFound(_) => ExitStatus::Program(127),
            RunnerError::ProgramNotStarted(_) => ExitStatus::Program(126),
        }
    }

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

    /// The same with another status for an inconclusive result.
    pub(crate) fn with(self, inconclusive: Option<ExitStatus>) -> ExitStatus {
        match (self, inconclusive) {
            (ExitStatus::Inconclusive, Some(counted_as)) => counted_as,
            (code, _) => code,
        }
    }
}

impl From<ExitStatus> for ExitCode {
    fn from(code: ExitStatus) -> ExitCode {
        ExitCode::from(code.number())
    }
}

/// Prints the error of a command line, or the text of `--help`, and returns the exit status.
pub(crate) fn print_usage(error: &clap::Error) -> i32 {
    let text = error.render();
    let (plain, colored) = (text.to_string(), text.ansi().to_string());
    if error.use_stderr() {
        print_formatted(&plain, &colored);
        return error.exit_code();
    }
    let text = if Screen::Output.has_colors(ColorChoice::Auto) {
        colored
    } else {
        plain
    };
    match print_described(&text) {
        Ok(()) => error.exit_code(),
        Err(failed) => {
            print_message(&format!("prestan: {failed}"));
            i32::from(ExitStatus::of(&failed).number())
        }
    }
}

/// Status of runs whose rows were all requested. A failure has priority over an inconclusive row,
/// and both are printed.
pub(crate) fn code_of_all<'s>(
    summaries: impl Iterator<Item = &'s Summary> + Clone,
) -> Result<ExitStatus, RunnerError> {
    let has_failed = summaries
        .clone()
        .any(|summary| summary.conclusion() == Conclusion::Fail);
    if env::var("GITHUB_ACTIONS").is_ok_and(|is_there| is_there == "true") {
        let annotations = summaries.clone().flat_map(report::github_annotations);
        annotations.for_each(|line| print_message(&line));
    }
    for summary in summaries.clone() {
        let rows = report::failed_rows(summary).into_iter();
        for failed in rows.chain(report::failed_constraints(summary)) {
            print_message(&format!("prestan: failed: {failed}"));
        }
    }
    let mut inconclusive = summaries
        .filter_map(report::inconclusive_briefly)
        .map(RunnerError::inconclusive);
    match (has_failed, inconclusive.next()) {
        (true, why) => {
            for why in why.into_iter().chain(inconclusive) {
                print_message(&format!("prestan: {why}"));
            }
            Ok(ExitStatus::TestFailed)
        }
        (false, Some(why)) => Err(why),
        (false, None) => Ok(ExitStatus::Done),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::command::Cli;

    const CODES: [ExitStatus; 6] = [
        ExitStatus::Done,
        ExitStatus::TestFailed,
        ExitStatus::Usage,
        ExitStatus::Inconclusive,
        ExitStatus::Target,
        ExitStatus::Interrupted,
    ];

    #[test]
    fn each_kind_of_failure_has_its_status() {
        type Kind = fn(String) -> RunnerError;
        let kinds: [(Kind, u8); 9] = [
            (RunnerError::Usage, 2),
            (RunnerError::Inconclusive, 3),
            (RunnerError::Target, 4),
            (RunnerError::Local, 1),
            (RunnerError::NotSaved, 1),
            (RunnerError::Resources, 1),
            (RunnerError::Interrupted, 130),
            (RunnerError::ProgramNotFound, 127),
            (RunnerError::ProgramNotStarted, 126),
        ];
        for (kind, number) in kinds {
            let why = kind(String::new());
            assert_eq!(ExitStatus::of(&why).number(), number, "{why:?}");
        }
    }

    #[test]
    fn only_an_inconclusive_result_counts_as_something_else() {
        let numbers = |counts_as| CODES.map(|code| code.with(counts_as).number());
        assert_eq!(numbers(None), [0, 1, 2, 3, 4, 130]);
        assert_eq!(numbers(Some(ExitStatus::Done)), [0, 1, 2, 0, 4, 130]);
        assert_eq!(numbers(Some(ExitStatus::TestFailed)), [0, 1, 2, 1, 4, 130]);
    }

    #[test]
    fn commands_that_can_be_inconclusive_say_what_that_counts_as() {
        let read = |line: &str| {
            let words = format!("prestan {line} --inconclusive pass");
            Cli::try_parse_from(words.split(' ')).map(|cli| cli.inconclusive())
        };
        let measuring = "http://h/|run prestan http://h/|load GET http://h/|webstone http://h/|demo|\
                         compare http://h/ http://h/b|sweep --vary width=1,2 http://h/|\
                         search --find users --while p99<1s http://h/|diagnose|report";
        for line in measuring.split('|') {
            assert_eq!(read(line).ok(), Some(Some(ExitStatus::Done)), "{line}");
        }
        let others = "runs|gallery d|analyze f|suites|servers|serve|traffic check f|lab list|clean http://h/|\
                      completions bash|man";
        for line in others.split('|') {
            assert!(read(line).is_err(), "{line}");
            let without = Cli::try_parse_from(format!("prestan {line}").split(' '));
            assert_eq!(without.unwrap().inconclusive(), None, "{line}");
        }
    }
}
