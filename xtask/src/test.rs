//! `cargo xtask test`: every test in a process of its own, as many side by side as keep the processors busy.
//!
//! ```text
//! setup ----------------.
//! cargo test --no-run --+--> programs --> tests --> queue --> slots --> outcomes
//! ```
//!
//! `cargo test` runs one program after the other, so that a slow test at the end of each leaves all processors but
//! one without work. Here all tests of all programs wait in one queue. A process of its own also gives each test
//! its own time limit, output and processor time, and a test that kills its process fails alone.

mod process;
mod programs;
mod queue;

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsString;
use std::path::Path;
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use tempfile::TempDir;

use crate::setup;
use process::{TestOutcome, TestVerdict};
use programs::TestProgram;
use queue::{NextTest, QueueGroup, TestQueue};

/// Most tests wait for a server, a window or a time limit most of their time.
const SLOTS_OF_A_PROCESSOR: usize = 2;

/// How many of the slowest tests `--times` lists.
const SLOWEST: usize = 40;

/// Which tests run, and what is said of them.
#[derive(Debug, Default)]
pub(crate) struct TestRequest {
    /// Tests whose label contains one of these; all without any.
    pub(crate) words: Vec<String>,
    /// Also those that are marked `#[ignore]`, and those of the features that are off.
    pub(crate) with_ignored: bool,
    /// The slowest are listed, and the processor time of each program.
    pub(crate) times: bool,
    /// Variables of the environment of all tests.
    pub(crate) environment: Vec<(&'static str, OsString)>,
}

impl TestRequest {
    /// # Errors
    /// When a word begins with `-` and is no option.
    pub(crate) fn parse(arguments: &[String]) -> Result<TestRequest> {
        let mut request = TestRequest::default();
        for argument in arguments {
            match argument.as_str() {
                "--include-ignored" => request.with_ignored = true,
                "--times" => request.times = true,
                option if option.starts_with('-') => bail!(
                    "test takes --include-ignored, --times and parts of the names of tests, and not {option}"
                ),
                word => request.words.push(word.to_owned()),
            }
        }
        Ok(request)
    }

    fn wants(&self, label: &str) -> bool {
        self.words.is_empty() || self.words.iter().any(|word| label.contains(&**word))
    }
}

/// One test of a program.
#[derive(Debug)]
struct ProgramTest<'a> {
    program: &'a TestProgram,
    /// As its program knows it: `tests::parsing::empty`.
    name: String,
}

impl ProgramTest<'_> {
    /// `lab/laboratory lab::links::a_rate_is_kept`.
    fn label(&self) -> String {
        format!("{} {}", self.program.label, self.name)
    }
}

/// Installs what tests need, builds them, and runs those that are asked for.
///
/// # Errors
/// When a step before fails, a test fails, or no test has such a name.
pub(crate) fn run(mut request: TestRequest) -> Result<()> {
    let setup = thread::spawn(setup::run);
    let features: &[&str] = if request.with_ignored {
        &["--features=prestan/png"]
    } else {
        &[]
    };
    let programs = programs::build(features)?;
    match setup.join() {
        Ok(outcome) => outcome?,
        Err(panic) => std::panic::resume_unwind(panic),
    }
    let memory = directory_in_memory();
    let files = memory
        .as_ref()
        .map(|memory| ("TMPDIR", memory.path().into()));
    request.environment.extend(files);

    let mut tests = Vec::new();
    let mut ignored = 0;
    for program in &programs {
        let listed = program.tests()?;
        let names = listed
            .into_iter()
            .filter(|test| request.wants(&format!("{} {}", program.label, test.name)));
        for test in names {
            if test.is_ignored && !request.with_ignored {
                ignored += 1;
            } else {
                tests.push(ProgramTest {
                    program,
                    name: test.name,
                });
            }
        }
    }
    if tests.is_empty() && ignored == 0 {
        bail!("no test has {} in its name", request.words.join(" or "));
    }
    let begun = Instant::now();
    let outcomes = all(tests, &request);
    report(&outcomes, ignored, begun.elapsed(), &request)
}

/// Runs the tests in slots side by side; those that fail are told at once.
fn all<'a>(
    tests: Vec<ProgramTest<'a>>,
    request: &TestRequest,
) -> Vec<(ProgramTest<'a>, TestOutcome)> {
    let processors = thread::available_parallelism().map_or(1, usize::from);
    let queue = Mutex::new(TestQueue::new(tests, |test| QueueGroup::of(&test.name)));
    let freed = Condvar::new();
    let slot = || {
        let mut own = Vec::new();
        let mut held = queue.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match held.next() {
                NextTest::Now(test, group) => {
                    drop(held);
                    let outcome = process::run(&test, request);
                    if outcome.verdict != TestVerdict::Passed {
                        eprintln!(
                            "\n{}: {}\n{}",
                            test.label(),
                            outcome.verdict.words(),
                            outcome.output
                        );
                    }
                    own.push((test, outcome));
                    held = queue.lock().unwrap_or_else(PoisonError::into_inner);
                    held.ended(group);
                    freed.notify_all();
                }
                NextTest::Later => held = freed.wait(held).unwrap_or_else(PoisonError::into_inner),
                NextTest::None => return own,
            }
        }
    };
    thread::scope(|scope| {
        let slots: Vec<_> = (0..processors * SLOTS_OF_A_PROCESSOR)
            .map(|_| scope.spawn(slot))
            .collect();
        let ended = slots.into_iter().map(|slot| slot.join());
        ended
            .flat_map(|own| own.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    })
}

/// Says what became of the tests, and ends with the line that counts them.
fn report(
    outcomes: &[(ProgramTest<'_>, TestOutcome)],
    ignored: usize,
    took: Duration,
    request: &TestRequest,
) -> Result<()> {
    let mut failed: Vec<String> = Vec::new();
    let mut skipped: BTreeMap<&str, usize> = BTreeMap::new();
    for (test, outcome) in outcomes {
        match outcome.verdict {
            TestVerdict::Passed => {
                if let Some(why) = outcome.skipped() {
                    *skipped.entry(why).or_default() += 1;
                }
            }
            verdict => failed.push(format!("{}: {}", test.label(), verdict.words())),
        }
    }
    if request.times {
        list_slowest(outcomes);
        list_programs(outcomes);
    }
    let processor: Duration = outcomes.iter().map(|(_, outcome)| outcome.processor).sum();
    eprintln!(
        "\nxtask: {} tests in {:.0} s, with {:.0} s of processor time",
        outcomes.len(),
        took.as_secs_f64(),
        processor.as_secs_f64()
    );
    for (why, tests) in &skipped {
        eprintln!("xtask: {tests} did not test anything: {why}");
    }
    for label in &failed {
        eprintln!("xtask: {label}");
    }
    let without = skipped.values().sum::<usize>();
    let passed = outcomes.len() - failed.len() - without;
    println!(
        "{passed} passed, {} failed, {} skipped",
        failed.len(),
        ignored + without
    );
    if failed.is_empty() {
        Ok(())
    } else {
        bail!("tests failed: {}", failed.len())
    }
}

fn list_slowest(outcomes: &[(ProgramTest<'_>, TestOutcome)]) {
    let mut order: Vec<&(ProgramTest<'_>, TestOutcome)> = outcomes.iter().collect();
    order.sort_by_key(|(_, outcome)| std::cmp::Reverse(outcome.took));
    eprintln!("\n    wall  processor");
    for (test, outcome) in order.into_iter().take(SLOWEST) {
        let [took, processor] = [outcome.took, outcome.processor].map(|time| time.as_secs_f64());
        eprintln!("{took:6.1} s {processor:6.1} s  {}", test.label());
    }
}

fn list_programs(outcomes: &[(ProgramTest<'_>, TestOutcome)]) {
    let mut programs: BTreeMap<&str, (usize, Duration)> = BTreeMap::new();
    for (test, outcome) in outcomes {
        let (tests, processor) = programs.entry(&test.program.label).or_default();
        *tests += 1;
        *processor += outcome.processor;
    }
    eprintln!("\nprocessor  tests");
    for (program, (tests, processor)) in programs {
        eprintln!("{:7.1} s {tests:6}  {program}", processor.as_secs_f64());
    }
}

/// Where the servers of the tests keep their files: in memory, if the system has a directory for that with
/// enough room. It is removed at the end.
///
/// They create and remove files by the ten thousand, and ext4 looks through the inodes that were freed during
/// the last five seconds for each new file: a run that takes 7 s in memory takes 55 s on a disk.
fn directory_in_memory() -> Option<TempDir> {
    const ROOM: u64 = 4 << 30;
    let memory = Path::new("/dev/shm");
    let space = rustix::fs::statvfs(memory).ok()?;
    let has_room = space.f_bavail.saturating_mul(space.f_frsize) >= ROOM;
    if env::var_os("TMPDIR").is_some() || !has_room {
        return None;
    }
    tempfile::Builder::new()
        .prefix("prestan-tests-")
        .tempdir_in(memory)
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_choose_tests_and_unknown_options_are_refused() {
        let of = |words: &[&str]| {
            TestRequest::parse(&words.iter().map(ToString::to_string).collect::<Vec<_>>())
        };
        let request = of(&["links", "--times", "stats"]).unwrap();
        assert!(request.times && !request.with_ignored);
        assert!(request.wants("lab/laboratory lab::links::a") && request.wants("stats tests::b"));
        assert!(!request.wants("wire tests::c"));
        assert!(of(&[]).unwrap().wants("anything"));
        assert!(of(&["--no-such"]).is_err());
    }
}
