//! One loop makes the steps of all series, and policies see nothing but the history.

use std::fs;

use crate::arrows::ours;
use crate::rust_code::files_of;
use crate::{assert_none, check, impurities, named, root};

/// Names that give access to the steps of a series: the trait, all of its module, or the module
/// under another name.
const OF_RUNNERS: [&str; 5] = [
    "series::Runner",
    "Runner::run",
    "series::*",
    "series::as",
    "series::self::as",
];

/// Files that may name the trait: it and its loop, and the two implementations.
const WITH_RUNNERS: [&str; 3] = [
    "crates/runner/src/series.rs",
    "crates/runner/src/local.rs",
    "crates/campaign/src/laboratory_runner.rs",
];

/// Where a step is made: `run` is called with arguments, as a method or by the name of its trait.
fn made_steps(text: &str) -> Vec<String> {
    let is_call = |line: &str| {
        let methods = line.match_indices(".run(");
        let mut methods = methods.map(|(at, call)| &line[at + call.len()..]);
        methods.any(|arguments| !arguments.starts_with(')')) || line.contains("Runner::run")
    };
    let lines = text.lines().enumerate();
    let made = lines.filter(|(_, line)| is_call(line));
    made.map(|(number, line)| format!("line {}: {}", number + 1, line.trim()))
        .collect()
}

#[test]
fn steps_of_a_series_are_made_in_one_place() {
    for text in [
        "use crate::series::{MadeStep, Runner};\nfn f() { local.run(1, &step); }",
        "use runner::{RunnerError, series::*};",
        "use runner::series as loops;",
        "use runner::series::{self as loops};",
        "fn f(of: &mut impl runner::series::Runner) {}",
        "fn f() { Runner::run(&mut local, 1, &step); }",
    ] {
        assert!(!named(text, &OF_RUNNERS).is_empty(), "{text}");
    }
    let harmless =
        "use runner::series::{self, SeriesEnd}; fn f() { series::perform(); runner.run() }";
    assert!(named(harmless, &OF_RUNNERS).is_empty());
    for text in [
        "local.run(1, &step)",
        "Runner::run(&mut local, 1, &step)",
        "runner.run(\n",
    ] {
        assert_eq!(made_steps(text).len(), 1, "{text}");
    }
    assert_eq!(made_steps("task.run()").len(), 0);

    let allowed = WITH_RUNNERS.map(|path| root().join(path));
    let made = allowed
        .each_ref()
        .map(|path| made_steps(&fs::read_to_string(path).unwrap()).len());
    assert_eq!(made, [1, 0, 0], "{WITH_RUNNERS:?}");
    let sources = ours().into_iter().flat_map(|name| {
        let sources = files_of(&root().join("crates").join(name).join("src"));
        sources.into_iter().filter(|path| !allowed.contains(path))
    });
    assert_none(&check(sources.collect(), |text| named(text, &OF_RUNNERS)));
}

/// Modules that a policy must not use beside its history: disks, servers, and directories of runs.
const BEYOND_HISTORY: [&str; 5] = [
    "rundir",
    "crate::servers",
    "crate::state",
    "super::servers",
    "super::state",
];

#[test]
fn a_policy_sees_a_history_and_nothing_else() {
    let beyond = |text: &str| [impurities(text), named(text, &BEYOND_HISTORY)].concat();
    for text in [
        "fn f(run: &KeptRun) { rundir::open(run.path.as_ref()); }",
        "use crate::{kept::KeptRun, servers::TestedServer};",
        "use crate::state;",
        "use super::super::state::run_directory;",
        "use std::fs;",
        "fn f() { Instant::now(); }",
    ] {
        assert_eq!(beyond(text).len(), 1, "{text}");
    }
    assert!(
        beyond("use crate::kept::KeptRun; fn f(servers: usize) { servers + state }").is_empty()
    );
    let mut policies = files_of(&root().join("crates/runner/src"));
    policies.retain(|path| path.starts_with(root().join("crates/runner/src/policy")));
    assert!(policies.len() > 7, "{policies:?}");
    assert_none(&check(policies, beyond));
}
