//! One test in a process of its own, which leads a process group: its children end with it.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};
use wait4::{ResUse, Wait4};

use super::interruption::Interruption;
use super::{ProgramTest, TestChoice, TestRequest};
use crate::project::root;

/// Bytes kept of the beginning of a test's output, and of its end: the output may be endless.
const KEPT: u64 = 1 << 20;

/// Result of a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TestVerdict {
    Passed,
    /// Its program ended in this way, or ran no such test.
    Failed(ExitStatus),
    /// The test was killed after this time.
    Hung(Duration),
    /// The test was killed because this program ends.
    Interrupted,
    /// Its process could not be started or waited for.
    NotRun,
}

impl TestVerdict {
    pub(crate) fn words(self) -> String {
        match self {
            TestVerdict::Passed => "passed".to_owned(),
            TestVerdict::Failed(status) => format!("failed ({status})"),
            TestVerdict::Hung(limit) => {
                format!("had not ended after {} minutes", limit.as_secs() / 60)
            }
            TestVerdict::Interrupted => "was interrupted".to_owned(),
            TestVerdict::NotRun => "could not be run".to_owned(),
        }
    }
}

/// A test that has ended.
#[derive(Debug)]
pub(crate) struct TestOutcome {
    pub(crate) verdict: TestVerdict,
    /// Output of the test and its children.
    pub(crate) output: String,
    /// Time from its start to its end.
    pub(crate) took: Duration,
    /// Processor time of its process and of the children that it waited for.
    pub(crate) processor: Duration,
}

impl TestOutcome {
    /// The reason why it tested nothing, printed by `testbed::need`.
    pub(crate) fn skipped(&self) -> Option<&str> {
        // `test NAME ... ` has no line end before the first output of a test.
        let outcome = |line| match str::strip_prefix(line, "test ")?.split_once(" ... ") {
            Some((_, outcome)) => outcome.strip_prefix("skipped: "),
            None => None,
        };
        let why = |line| str::strip_prefix(line, "skipped: ").or_else(|| outcome(line));
        self.output.lines().find_map(why)
    }
}

/// Runs it to its end.
pub(crate) fn run(
    test: &ProgramTest<'_>,
    request: &TestRequest,
    interruption: &Interruption,
) -> TestOutcome {
    let begun = Instant::now();
    let outcome = command(test, request)
        .and_then(|command| attempt(command, request.limit(), interruption))
        .unwrap_or_else(|error| (TestVerdict::NotRun, error.to_string(), Duration::ZERO));
    let (verdict, output, processor) = outcome;
    TestOutcome {
        verdict,
        output,
        took: begun.elapsed(),
        processor,
    }
}

fn attempt(
    mut command: Command,
    limit: Duration,
    interruption: &Interruption,
) -> io::Result<(TestVerdict, String, Duration)> {
    // A file and no pipe: a server that outlives the test would keep a pipe open.
    let output = tempfile::tempfile()?;
    command
        .stdout(output.try_clone()?)
        .stderr(output.try_clone()?);
    let mut group = ProcessGroup::start(&mut command)?;
    let awaited = group.wait(limit, interruption)?;
    let ended = group.end().ok_or(io::ErrorKind::NotFound)??;
    let text = printed(&output)?;
    let verdict = match awaited {
        Awaited::Ended if has_passed(ended.status, &text) => TestVerdict::Passed,
        Awaited::Ended => TestVerdict::Failed(ended.status),
        Awaited::Late => TestVerdict::Hung(limit),
        Awaited::Interrupted => TestVerdict::Interrupted,
    };
    Ok((verdict, text, ended.rusage.utime + ended.rusage.stime))
}

fn command(test: &ProgramTest<'_>, request: &TestRequest) -> io::Result<Command> {
    let mut command = Command::new(&test.program.executable);
    command.args(["--exact", &test.name, "--nocapture", "--test-threads=1"]);
    if request.choice != TestChoice::Usual {
        command.arg("--include-ignored");
    }
    // Like cargo; without this, insta calls cargo in each process to find the workspace.
    command
        .current_dir(&test.program.directory)
        .env("CARGO_MANIFEST_DIR", &test.program.directory);
    let root = root().map_err(io::Error::other)?;
    command.env("INSTA_WORKSPACE_ROOT", root);
    let environment = request.environment.iter();
    command.envs(environment.map(|(name, value)| (name, value)));
    Ok(command)
}

/// True if the program succeeded and has run the one test: an unknown name would be no failure.
fn has_passed(status: ExitStatus, output: &str) -> bool {
    status.success() && output.contains("test result: ok. 1 passed")
}

/// The content of a file from its beginning, regardless of the position of its writers.
fn printed(output: &File) -> io::Result<String> {
    let part = |from: u64, to: u64| -> io::Result<String> {
        let mut bytes = vec![0; usize::try_from(to - from).map_err(io::Error::other)?];
        output.read_exact_at(&mut bytes, from)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    };
    let length = output.metadata()?.len();
    let text = part(0, length.min(2 * KEPT))?;
    if length <= 2 * KEPT {
        return Ok(text);
    }
    let left_out = length - 2 * KEPT;
    let end = part(length - KEPT, length)?;
    let beginning = part(0, KEPT)?;
    Ok(format!(
        "{beginning}\n[{left_out} bytes are left out]\n{end}"
    ))
}

/// Result of waiting for a process.
#[derive(Debug, PartialEq, Eq)]
enum Awaited {
    Ended,
    Late,
    Interrupted,
}

/// A process and its children, all of which are killed when it has ended or is not needed any more.
struct ProcessGroup {
    number: Pid,
    /// Until it is waited for.
    leader: Option<Child>,
}

impl ProcessGroup {
    fn start(command: &mut Command) -> io::Result<ProcessGroup> {
        let leader = command.stdin(Stdio::null()).process_group(0).spawn()?;
        Ok(ProcessGroup {
            number: Pid::from_child(&leader),
            leader: Some(leader),
        })
    }

    fn wait(&self, limit: Duration, interruption: &Interruption) -> io::Result<Awaited> {
        let deadline = Instant::now() + limit;
        let process = pidfd_open(self.number, PidfdFlags::empty())?;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let time = Timespec::try_from(left).map_err(io::Error::other)?;
            let mut awaited = [
                PollFd::new(&process, PollFlags::IN),
                PollFd::new(interruption, PollFlags::IN),
            ];
            match poll(&mut awaited, Some(&time)) {
                Ok(0) => return Ok(Awaited::Late),
                Ok(_) if awaited[0].revents().is_empty() => return Ok(Awaited::Interrupted),
                Ok(_) => return Ok(Awaited::Ended),
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Kills all of it. The number is not reused until the leader is waited for, which comes last.
    fn end(&mut self) -> Option<io::Result<ResUse>> {
        let leader = self.leader.take()?;
        let _ = kill_process_group(self.number, Signal::KILL);
        Some(leader.wait4())
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Seek, Write};

    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    fn shell(script: &str, limit: Duration) -> (TestVerdict, String) {
        let mut shell = Command::new("sh");
        shell.args(["-c", script]);
        let never = Interruption::never().unwrap();
        let (verdict, output, _) = attempt(shell, limit, &never).unwrap();
        (verdict, output)
    }

    fn outcome(output: &str) -> TestOutcome {
        TestOutcome {
            verdict: TestVerdict::Passed,
            output: output.to_owned(),
            took: LONG,
            processor: LONG,
        }
    }

    #[test]
    fn a_test_that_did_not_run_has_not_passed() {
        let ran = "printf 'test a ... ok\n\ntest result: ok. 1 passed; 0 failed; 0 ignored'";
        assert_eq!(shell(ran, LONG).0, TestVerdict::Passed);
        for (script, words) in [
            (&*format!("{ran}; exit 101"), "failed (exit status: 101)"),
            (
                &format!("{ran}; kill -SEGV $$"),
                "failed (signal: 11 (SIGSEGV)",
            ),
            (
                "printf 'test result: ok. 0 passed; 0 failed'",
                "failed (exit status: 0)",
            ),
        ] {
            let (verdict, output) = shell(script, LONG);
            assert!(verdict.words().starts_with(words), "{verdict:?} {output}");
        }
    }

    #[test]
    fn a_skipped_test_is_recognised_behind_its_name() {
        let table = [
            (
                "\nrunning 1 test\ntest tests::a ... skipped: there is no tcpdump\nok\n\ntest result: ok. 1 passed;",
                Some("there is no tcpdump"),
            ),
            (
                "\nrunning 1 test\ntest tests::a - should panic ... skipped: no tshark\nok\n",
                Some("no tshark"),
            ),
            (
                "\nrunning 1 test\ntest tests::a ... begins\nskipped: no nginx\nok\n",
                Some("no nginx"),
            ),
            (
                "\nrunning 1 test\ntest tests::a ... the server skipped: 3\nok\n\ntest result: ok. 1 passed;",
                None,
            ),
            ("\nrunning 1 test\ntest tests::a ... ok\n", None),
        ];
        for (output, why) in table {
            assert_eq!(outcome(output).skipped(), why, "{output}");
        }
    }

    #[test]
    fn what_a_test_that_hangs_has_started_ends_with_it() {
        let limit = Duration::from_millis(200);
        let (verdict, output) = shell("sleep 600 & echo $!; wait", limit);
        assert_eq!(verdict, TestVerdict::Hung(limit));
        until_ended(output.trim());
        // Including processes that outlive a test.
        let (_, output) = shell("sleep 600 & echo $!", LONG);
        until_ended(output.trim());
        // Also if this program gives up.
        let group = ProcessGroup::start(Command::new("sleep").arg("600")).unwrap();
        let leader = group.number.as_raw_nonzero().to_string();
        drop(group);
        until_ended(&leader);
    }

    #[test]
    fn a_signal_to_this_program_ends_the_test_that_runs() {
        let interruption = Interruption::listen().unwrap();
        assert!(!interruption.has_come());
        let mut shell = Command::new("sh");
        shell.args(["-c", "sleep 600 & echo $!; kill -INT $PPID; wait"]);
        let (verdict, output, _) = attempt(shell, LONG, &interruption).unwrap();
        assert_eq!(verdict, TestVerdict::Interrupted);
        assert!(interruption.has_come());
        until_ended(output.trim());
    }

    /// Waits until a process has ended.
    fn until_ended(pid: &str) {
        let deadline = Instant::now() + LONG;
        let runs = || {
            let status = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            !status.is_empty() && !status.contains(") Z ")
        };
        while runs() {
            assert!(Instant::now() < deadline, "{pid} runs on");
            std::thread::yield_now();
        }
    }

    #[test]
    fn of_output_without_end_the_ends_are_kept() {
        let mut output = tempfile::tempfile().unwrap();
        let line = [b'x'; 1 << 16];
        output.write_all(b"begins\n").unwrap();
        for _ in 0..(4 * KEPT) >> 16 {
            output.write_all(&line).unwrap();
        }
        output.write_all(b"\nends").unwrap();
        let text = printed(&output).unwrap();
        assert!(text.starts_with("begins\n") && text.ends_with("\nends"));
        assert!(text.contains(&format!("\n[{} bytes are left out]\n", 2 * KEPT + 12)));
        assert!(text.len() < 2 * KEPT as usize + 100);
    }

    #[test]
    fn reading_moves_nobody_who_writes() {
        let output = tempfile::tempfile().unwrap();
        let mut writer = output.try_clone().unwrap();
        writer.write_all(b"one two").unwrap();
        writer.seek(io::SeekFrom::Start(4)).unwrap();
        assert_eq!(printed(&output).unwrap(), "one two");
        assert_eq!(writer.stream_position().unwrap(), 4);
    }
}
