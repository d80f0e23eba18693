//! One test in a process of its own.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use wait4::Wait4;

use super::{ProgramTest, TestRequest};
use crate::project::root;

/// No test takes a tenth of this on a machine at rest: it hangs, and is killed.
const LIMIT: Duration = Duration::from_secs(600);

/// What became of a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TestVerdict {
    Passed,
    Failed,
    /// It was killed after [`LIMIT`].
    Hung,
    /// Its process could not be started or waited for.
    NotRun,
}

impl TestVerdict {
    pub(crate) fn words(self) -> &'static str {
        match self {
            TestVerdict::Passed => "passed",
            TestVerdict::Failed => "failed",
            TestVerdict::Hung => "had not ended after ten minutes",
            TestVerdict::NotRun => "could not be run",
        }
    }
}

/// A test that has ended.
#[derive(Debug)]
pub(crate) struct TestOutcome {
    pub(crate) verdict: TestVerdict,
    /// What it and its children printed.
    pub(crate) output: String,
    /// From its start to its end.
    pub(crate) took: Duration,
    /// Processor time of its process and of the children that it waited for.
    pub(crate) processor: Duration,
}

impl TestOutcome {
    /// Why it tested nothing, as `testbed::need` says it.
    pub(crate) fn skipped(&self) -> Option<&str> {
        self.output
            .lines()
            .find_map(|line| line.strip_prefix("skipped: "))
    }
}

/// Runs it to its end.
pub(crate) fn run(test: &ProgramTest<'_>, request: &TestRequest) -> TestOutcome {
    let begun = Instant::now();
    match attempt(test, request, begun + LIMIT) {
        Ok((verdict, output, processor)) => TestOutcome {
            verdict,
            output,
            took: begun.elapsed(),
            processor,
        },
        Err(error) => TestOutcome {
            verdict: TestVerdict::NotRun,
            output: error.to_string(),
            took: begun.elapsed(),
            processor: Duration::ZERO,
        },
    }
}

fn attempt(
    test: &ProgramTest<'_>,
    request: &TestRequest,
    deadline: Instant,
) -> io::Result<(TestVerdict, String, Duration)> {
    // A file and no pipe: a server that outlives the test would keep a pipe open.
    let mut output = tempfile::tempfile()?;
    let mut child = command(test, request, &output)?.spawn()?;
    let has_ended = ends_before(&child, deadline)?;
    if !has_ended {
        child.kill()?;
    }
    let ended = child.wait4()?;
    let mut text = Vec::new();
    output.rewind()?;
    output.read_to_end(&mut text)?;
    let text = String::from_utf8_lossy(&text).into_owned();
    let processor = ended.rusage.utime + ended.rusage.stime;
    Ok((verdict(ended.status, has_ended, &text), text, processor))
}

fn command(test: &ProgramTest<'_>, request: &TestRequest, output: &File) -> io::Result<Command> {
    let mut command = Command::new(&test.program.executable);
    command.args(["--exact", &test.name, "--nocapture", "--test-threads=1"]);
    if request.with_ignored {
        command.arg("--include-ignored");
    }
    // As cargo does; and insta asks cargo in each process where the workspace is, unless it is told.
    command
        .current_dir(&test.program.directory)
        .env("CARGO_MANIFEST_DIR", &test.program.directory);
    if let Ok(root) = root() {
        command.env("INSTA_WORKSPACE_ROOT", root);
    }
    command.envs(
        request
            .environment
            .iter()
            .map(|(name, value)| (name, value)),
    );
    command
        .stdin(Stdio::null())
        .stdout(output.try_clone()?)
        .stderr(output.try_clone()?);
    Ok(command)
}

/// Waits for its end, and gives whether it came in time.
fn ends_before(child: &Child, deadline: Instant) -> io::Result<bool> {
    let process = pidfd_open(Pid::from_child(child), PidfdFlags::empty())?;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let limit = Timespec {
            tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: left.subsec_nanos().into(),
        };
        match poll(&mut [PollFd::new(&process, PollFlags::IN)], Some(&limit)) {
            Ok(ready) => return Ok(ready > 0),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// A program that ends well has run the one test: a name that it does not know would be no failure to it.
fn verdict(status: ExitStatus, has_ended: bool, output: &str) -> TestVerdict {
    match (
        has_ended,
        status.success() && output.contains("test result: ok. 1 passed"),
    ) {
        (false, _) => TestVerdict::Hung,
        (true, true) => TestVerdict::Passed,
        (true, false) => TestVerdict::Failed,
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;

    use super::*;

    #[test]
    fn a_test_that_did_not_run_has_not_passed() {
        let [good, bad] = [0, 256].map(ExitStatus::from_raw);
        let ran = "test a ... ok\n\ntest result: ok. 1 passed; 0 failed; 0 ignored";
        assert_eq!(verdict(good, true, ran), TestVerdict::Passed);
        assert_eq!(verdict(bad, true, ran), TestVerdict::Failed);
        assert_eq!(
            verdict(good, true, "test result: ok. 0 passed; 0 failed"),
            TestVerdict::Failed
        );
        assert_eq!(verdict(good, false, ran), TestVerdict::Hung);
    }

    #[test]
    fn a_process_that_does_not_end_is_noticed() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let early = Instant::now() + Duration::from_millis(20);
        assert!(!ends_before(&child, early).unwrap());
        child.kill().unwrap();
        assert!(ends_before(&child, Instant::now() + Duration::from_secs(60)).unwrap());
        child.wait().unwrap();
    }
}
