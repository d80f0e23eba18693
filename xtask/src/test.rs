//! `cargo xtask test`: every test in a separate process, as many side by side as keep the
//! processors busy.
//!
//! ```text
//! setup ----------------.
//! cargo test --no-run --+--> programs --> tests --> queue --> slots --> outcomes
//! ```
//!
//! `cargo test` runs one program after the other, so that a slow test at the end of each leaves all
//! processors but one idle. Here all tests of all programs wait in one queue. A separate
//! process also gives each test a time limit, output and processor time, and a test that kills its
//! process fails alone.

mod files;
pub(crate) mod interruption;
mod process;
mod programs;
mod queue;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, Write};
use std::panic::resume_unwind;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};

use crate::setup;
use files::FilesInMemory;
use interruption::Interruption;
use process::{TestOutcome, TestVerdict};
use programs::{ListedTest, TestProgram};
use queue::{QueueGroup, SharedQueue, TestQueue};

/// Tests per processor: most wait for a server, a window or a time limit most of the time.
const SLOTS_OF_A_PROCESSOR: usize = 2;

/// Number of the slowest tests that `--times` lists.
const SLOWEST: usize = 40;

/// Time limit of a test, ten times that of any on an idle machine: it hangs, and is killed.
const LIMIT: Duration = Duration::from_secs(10 * 60);

/// Time limit of ignored long tests, of which the longest take half an hour alone.
const LONG_LIMIT: Duration = Duration::from_secs(3 * 60 * 60);

/// Selection of tests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum TestChoice {
    /// Tests that judge a change.
    #[default]
    Usual,
    /// Also tests that are marked `#[ignore]`, and those of disabled features; but none that needs
    /// optimised code.
    WithIgnored,
    /// Only tests in modules `quiet`, which measure speed or memory: optimised, one at a time.
    Optimised,
}

/// Selection of tests, and options of the output.
#[derive(Debug, Default)]
pub(crate) struct TestRequest {
    /// Selects tests whose label contains one of these; empty: all.
    pub(crate) words: Vec<String>,
    pub(crate) choice: TestChoice,
    /// Lists the slowest tests, and the processor time of each program.
    pub(crate) times: bool,
    /// Environment variables of all tests.
    pub(crate) environment: Vec<(&'static str, OsString)>,
}

impl TestRequest {
    /// # Errors
    /// A word begins with `-` and is no option.
    pub(crate) fn parse(arguments: &[String]) -> Result<TestRequest> {
        let mut request = TestRequest::default();
        for argument in arguments {
            match argument.as_str() {
                "--include-ignored" => request.choice = TestChoice::WithIgnored,
                "--release" => request.choice = TestChoice::Optimised,
                "--times" => request.times = true,
                option if option.starts_with('-') => bail!(
                    "test takes --include-ignored, --release, --times and parts of the names of tests, and not {option}"
                ),
                word => request.words.push(word.to_owned()),
            }
        }
        Ok(request)
    }

    fn wants(&self, label: &str) -> bool {
        self.words.is_empty() || self.words.iter().any(|word| label.contains(&**word))
    }

    fn runs(&self, test: &ListedTest) -> bool {
        let is_quiet = QueueGroup::of(&test.name) == QueueGroup::Quiet;
        match self.choice {
            TestChoice::Usual => !test.is_ignored,
            TestChoice::WithIgnored => !(test.is_ignored && is_quiet),
            TestChoice::Optimised => is_quiet,
        }
    }

    fn limit(&self) -> Duration {
        match self.choice {
            TestChoice::Usual => LIMIT,
            TestChoice::WithIgnored | TestChoice::Optimised => LONG_LIMIT,
        }
    }
}

/// One test of a program.
#[derive(Debug)]
struct ProgramTest<'a> {
    program: &'a TestProgram,
    /// Name in its program: `tests::parsing::empty`.
    name: String,
}

impl ProgramTest<'_> {
    /// `lab/lab laboratory::links::a_rate_is_kept`.
    fn label(&self) -> String {
        format!("{} {}", self.program.label, self.name)
    }
}

/// Installs everything that tests need, builds them, and runs the requested ones.
///
/// # Errors
/// An earlier step fails, a test fails, no test has such a name, or a signal ends it.
pub(crate) fn run(mut request: TestRequest) -> Result<()> {
    let programs = while_setting_up(setup::run, || programs::build(request.choice))?;
    let interruption = Interruption::listen()?;
    let files = FilesInMemory::create();
    let variable = files.as_ref().map(|files| ("TMPDIR", files.path().into()));
    request.environment.extend(variable);

    let mut tests = Vec::new();
    let mut ignored = 0;
    for program in &programs {
        for listed in program.tests()? {
            let runs = request.runs(&listed);
            let name = listed.name;
            let test = ProgramTest { program, name };
            if !request.wants(&test.label()) {
                continue;
            }
            if runs {
                tests.push(test);
            } else {
                ignored += 1;
            }
        }
    }
    if tests.is_empty() && ignored == 0 {
        bail!("no test has {} in its name", request.words.join(" or "));
    }
    let begun = Instant::now();
    let outcomes = all(tests, &request, &interruption);
    report(&outcomes, ignored, begun.elapsed(), &request)?;
    if interruption.has_come() {
        bail!("interrupted; the tests that had not ended are not counted");
    }
    Ok(())
}

/// Builds and sets up at the same time. Waits for the set-up even if the build fails: its work as
/// root must not be left incomplete.
fn while_setting_up<T>(
    setup: impl FnOnce() -> Result<()> + Send,
    build: impl FnOnce() -> Result<T>,
) -> Result<T> {
    thread::scope(|scope| {
        let setup = scope.spawn(setup);
        let built = build();
        let is_set_up = setup.join().unwrap_or_else(|panic| resume_unwind(panic));
        let built = built?;
        is_set_up.map(|()| built)
    })
}

/// Runs the tests in slots side by side; failures are printed immediately.
fn all<'a>(
    tests: Vec<ProgramTest<'a>>,
    request: &TestRequest,
    interruption: &Interruption,
) -> Vec<(ProgramTest<'a>, TestOutcome)> {
    let processors = thread::available_parallelism().map_or(1, usize::from);
    let queue = TestQueue::new(tests, |test| QueueGroup::of(&test.name));
    let queue = SharedQueue::new(queue);
    let slot = || {
        let mut outcomes = Vec::new();
        while let Some((test, _slot)) = queue.begin() {
            let outcome = process::run(&test, request, interruption);
            match outcome.verdict {
                TestVerdict::Interrupted => {
                    queue.abandon();
                    continue;
                }
                TestVerdict::Passed => {}
                verdict => {
                    let (label, words) = (test.label(), verdict.words());
                    message!("\n{label}: {words}\n{}", outcome.output);
                }
            }
            outcomes.push((test, outcome));
        }
        outcomes
    };
    thread::scope(|scope| {
        let slots = 0..processors * SLOTS_OF_A_PROCESSOR;
        let slots: Vec<_> = slots.map(|_| scope.spawn(slot)).collect();
        let ended = slots.into_iter().map(|slot| slot.join());
        ended
            .flat_map(|thread| thread.unwrap_or_else(|panic| resume_unwind(panic)))
            .collect()
    })
}

/// Prints the results of the tests, and finally the line that counts them.
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
    message!(
        "\nxtask: {} tests in {:.0} s, with {:.0} s of processor time",
        outcomes.len(),
        took.as_secs_f64(),
        processor.as_secs_f64()
    );
    for (why, tests) in &skipped {
        message!("xtask: {tests} did not test anything: {why}");
    }
    for label in &failed {
        message!("xtask: {label}");
    }
    let without = skipped.values().sum::<usize>();
    let passed = outcomes.len() - failed.len() - without;
    // The reader may have closed the pipe.
    let _ = writeln!(
        io::stdout(),
        "{passed} passed, {} failed, {} skipped",
        failed.len(),
        ignored + without
    );
    ensure!(failed.is_empty(), "tests failed: {}", failed.len());
    Ok(())
}

fn list_slowest(outcomes: &[(ProgramTest<'_>, TestOutcome)]) {
    let mut order: Vec<&(ProgramTest<'_>, TestOutcome)> = outcomes.iter().collect();
    order.sort_by_key(|(_, outcome)| std::cmp::Reverse(outcome.took));
    message!("\n    wall  processor");
    for (test, outcome) in order.into_iter().take(SLOWEST) {
        let [took, processor] = [outcome.took, outcome.processor].map(|time| time.as_secs_f64());
        message!("{took:6.1} s {processor:6.1} s  {}", test.label());
    }
}

fn list_programs(outcomes: &[(ProgramTest<'_>, TestOutcome)]) {
    let mut programs: BTreeMap<&str, (usize, Duration)> = BTreeMap::new();
    for (test, outcome) in outcomes {
        let (tests, processor) = programs.entry(&test.program.label).or_default();
        *tests += 1;
        *processor += outcome.processor;
    }
    message!("\nprocessor  tests");
    for (program, (tests, processor)) in programs {
        message!("{:7.1} s {tests:6}  {program}", processor.as_secs_f64());
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    fn parsed(words: &[&str]) -> Result<TestRequest> {
        TestRequest::parse(&words.iter().map(ToString::to_string).collect::<Vec<_>>())
    }

    #[test]
    fn words_choose_tests_and_unknown_options_are_refused() {
        let request = parsed(&["links", "--times", "stats"]).unwrap();
        assert!(request.times && request.choice == TestChoice::Usual);
        assert!(request.wants("lab/lab laboratory::links::a") && request.wants("stats tests::b"));
        assert!(!request.wants("wire tests::c"));
        assert!(parsed(&[]).unwrap().wants("anything"));
        assert!(parsed(&["--no-such"]).is_err());
    }

    #[test]
    fn what_is_long_or_needs_optimised_code_is_chosen() {
        let test = |name: &str, is_ignored| ListedTest {
            name: name.to_owned(),
            is_ignored,
        };
        let tests = [test("a", false), test("b", true), test("quiet::c", true)];
        let chosen = |option: &[&str]| {
            let request = parsed(option).unwrap();
            let names = tests.iter().filter(|test| request.runs(test));
            let names: Vec<&str> = names.map(|test| &*test.name).collect();
            (names, request.limit())
        };
        assert_eq!(chosen(&[]), (vec!["a"], LIMIT));
        assert_eq!(chosen(&["--include-ignored"]), (vec!["a", "b"], LONG_LIMIT));
        assert_eq!(chosen(&["--release"]), (vec!["quiet::c"], LONG_LIMIT));
    }

    #[test]
    fn setting_up_is_waited_for_if_nothing_can_be_built() {
        let (built, has_failed) = std::sync::mpsc::channel();
        let is_set_up = AtomicBool::new(false);
        let has_set_up = &is_set_up;
        let outcome: Result<()> = while_setting_up(
            move || {
                has_failed.recv()?;
                thread::sleep(Duration::from_millis(50));
                has_set_up.store(true, Ordering::Relaxed);
                Ok(())
            },
            || {
                built.send(())?;
                bail!("it does not compile")
            },
        );
        assert_eq!(outcome.unwrap_err().to_string(), "it does not compile");
        assert!(is_set_up.into_inner());
    }
}
