//! Policies, with a runner that makes up outcomes.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use engine::{Drive, Pacing, Rounds};
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use record::{ConstraintRecord, ConstraintSense, Run};
use report::Find;
use stats::testing::RunBuilder;
use stats::{ComparedBy, ComparedTimes, Conclusion, Search};

use super::*;
use crate::RunnerError;
use crate::background::BackgroundRequest;
use crate::kept::KeptRun;
use crate::local::{RunStep, RunTask, StepRun, StepRuns};
use crate::series::{CompletedSeries, MadeStep, Policy, Runner, SeriesHistory, perform};

mod campaign;
mod ends;
mod histories;

const SECOND: Duration = Duration::from_secs(1);

/// Response times are compared.
fn question(same_within: f64) -> ComparedBy {
    let times = ComparedTimes::ToFirstByte;
    ComparedBy { same_within, times }
}

/// The outcome of a simulated step.
type MadeUp<'a, S, O> = dyn FnMut(usize, &S) -> MadeStep<O> + 'a;

struct Simulated<'a, S, O> {
    make: Box<MadeUp<'a, S, O>>,
    now: Duration,
    each: Duration,
    remarks: RefCell<Vec<String>>,
    made: usize,
}

impl<S, O> Runner for Simulated<'_, S, O> {
    type Step = S;
    type Outcome = O;

    fn run(&mut self, number: usize, step: &S) -> MadeStep<O> {
        self.now += self.each;
        self.made += 1;
        (self.make)(number, step)
    }

    fn elapsed(&self) -> Duration {
        self.now
    }

    fn remark(&self, remark: &str) {
        self.remarks.borrow_mut().push(remark.to_owned());
    }
}

/// Each step takes a second.
fn simulated<'a, S, O>(make: impl FnMut(usize, &S) -> MadeStep<O> + 'a) -> Simulated<'a, S, O> {
    Simulated {
        make: Box::new(make),
        now: Duration::ZERO,
        each: SECOND,
        remarks: RefCell::default(),
        made: 0,
    }
}

/// A run whose operations took `us` microseconds.
fn run(us: u64, change: impl FnOnce(&mut Run)) -> KeptRun {
    let run = RunBuilder::new(1)
        .test("Get", &[("Get", "GET")])
        .ok("Get", 200, |number| us + number % 7)
        .with(change)
        .build();
    kept(run)
}

fn kept(run: Run) -> KeptRun {
    let summary = stats::summarise(&run);
    KeptRun::new(run, summary, String::new())
}

/// A trial with the condition that times are below one millisecond.
fn trial(us: u64, undecided: bool) -> KeptRun {
    let condition = ConstraintRecord {
        name: "--while".to_owned(),
        expression: "mean < 1 ms".to_owned(),
        sense: ConstraintSense::Trial,
        abort: false,
    };
    let mut kept = run(us, |run| run.plan.constraints = vec![condition]);
    if undecided {
        kept.summary.constraints[0].verdict = Conclusion::Inconclusive;
    }
    // There are many trials, and their samples are not used.
    kept.run.samples = Vec::new();
    kept
}

/// A step whose runs all ended normally.
fn whole(runs: Vec<KeptRun>) -> MadeStep<StepRuns> {
    StepRuns::made(Ok(runs.into_iter().map(Ok).collect()), None)
}

fn copy(like: &KeptRun) -> KeptRun {
    KeptRun {
        material: like.material.clone(),
        ..KeptRun::new(like.run.clone(), like.summary.clone(), like.path.clone())
    }
}

fn task() -> Arc<RunTask> {
    let text =
        "suite: s\nneeds: http\ntests:\n  - name: Get\n    loop:\n      - {GET: a, measure: Get}\n";
    let spec = suite::parse("s", text).unwrap();
    let plan = suite::resolve("s", text, &spec, &suite::Overrides::default()).unwrap();
    let background = BackgroundRequest::default();
    Arc::new(RunTask::new(plan, text.to_owned(), &background).unwrap())
}

/// Points with this task, each with its number, from 1, as the number of users.
fn at_points(points: usize, task: &Arc<RunTask>) -> Vec<AtPoint> {
    let point = |number: usize| AtPoint {
        task: Arc::clone(task),
        users: number as u32,
        drive: Drive::Rounds(Rounds::default()),
    };
    (1..=points).map(point).collect()
}

fn trials(find: Find, search: Search, task: &Arc<RunTask>) -> Trials {
    let load = TrialLoad {
        find,
        duration: SECOND,
        warmup: 0,
        in_turn: false,
        connections: 1,
        seed: 1,
    };
    Trials::new(search, load, Arc::clone(task))
}

fn frame() -> BlockFrame {
    BlockFrame {
        seed: 7,
        are_started: vec![true, false],
        are_kept_apart: false,
        users: 1,
        warmup: 0,
    }
}

fn suite_of(name: &str, users: u32, task: &Arc<RunTask>) -> PlannedSuite {
    PlannedSuite {
        name: name.to_owned(),
        task: Arc::clone(task),
        users,
        is_repeat: false,
    }
}

/// Trials that a server sustains, and that it does not, each also undecided.
fn quick_and_slow() -> [[KeptRun; 2]; 2] {
    [100, 2_000].map(|us| [false, true].map(|undecided| trial(us, undecided)))
}

/// Users, or operations per second, of a step.
fn offered(step: &RunStep) -> f64 {
    match &step.runs[0].drive {
        Drive::Load(load) => match &load.pacing {
            Pacing::Open { stages, .. } => stages[0].rate,
            Pacing::Closed => f64::from(step.runs[0].users),
        },
        other => panic!("{other:?}"),
    }
}

/// Capacity of a simulated server, result of the search, and its end.
fn searched(
    find: Find,
    (made, task): (&[[KeptRun; 2]; 2], &Arc<RunTask>),
    seed: u64,
    inconclusive: f64,
) -> (u32, Option<f64>, Option<RunnerError>, usize) {
    let rng = &mut StdRng::seed_from_u64(seed);
    let capacity: u32 = rng.random_range(1..500);
    let mut in_a_row = 0;
    let mut longest = 0;
    let mut runner = simulated(|_, step: &RunStep| {
        let undecided = rng.random_bool(inconclusive);
        let like = &made[usize::from(offered(step) > f64::from(capacity))][usize::from(undecided)];
        in_a_row = if undecided { in_a_row + 1 } else { 0 };
        longest = longest.max(in_a_row);
        whole(vec![copy(like)])
    });
    let search = match find {
        Find::Users => Search::for_users(1, 4096),
        Find::Rate => Search::for_rate(20.0, 4096.0, 1.0),
    };
    let mut policy = trials(find, search, task);
    let CompletedSeries { history, ended } = perform(&mut policy, &mut runner);
    drop(runner);
    let (tried, ran) = policy.made(&history);
    assert_eq!(tried.len(), ran.len());
    for (tried, ran) in tried.iter().zip(ran) {
        let is_slow = ran.summary.tests[0].first_byte_times().unwrap().mean > 1e6;
        assert_eq!(tried.held, !is_slow, "a trial stands with its run");
    }
    let holds = policy.search().outcome().holds.map(|holds| holds.load);
    (capacity, holds, ended.map(|end| end.why), longest)
}

/// True if that is the largest load that holds, at the resolution of a search.
fn is_near(holds: Option<f64>, capacity: u32) -> bool {
    let capacity = f64::from(capacity);
    holds.is_some_and(|holds| holds <= capacity && capacity <= holds * 1.05 + 1.0)
}

#[test]
fn a_search_finds_what_a_server_takes() {
    let (made, task) = (quick_and_slow(), task());
    for (seed, find) in (0..1000).flat_map(|seed| [(seed, Find::Users), (seed, Find::Rate)]) {
        let (capacity, holds, ended, _) = searched(find, (&made, &task), seed, 0.0);
        assert!(ended.is_none(), "{ended:?}");
        assert!(is_near(holds, capacity), "{find:?}, seed {seed}");
    }
}

#[test]
fn a_search_has_patience_with_three_trials_in_a_row() {
    let mut given_up = 0;
    let (made, task) = (quick_and_slow(), task());
    for seed in 0..1000 {
        let (capacity, holds, ended, longest) = searched(Find::Users, (&made, &task), seed, 0.1);
        assert_eq!(ended.is_some(), longest == 3, "seed {seed}");
        if let Some(why) = &ended {
            assert!(matches!(why, RunnerError::Inconclusive(_)), "{why}");
            given_up += 1;
        } else {
            assert!(is_near(holds, capacity), "seed {seed}");
        }
    }
    assert!((1..200).contains(&given_up), "{given_up}");
}

#[test]
fn a_comparison_goes_on_until_it_is_decided_or_its_time_is_over() {
    let task_of = |_: Vec<String>, _: Duration| Ok(Arc::into_inner(task()).unwrap());
    for (seed, other) in (0..40).flat_map(|seed| [100, 101, 150].map(|us| (seed, us))) {
        let rng = &mut StdRng::seed_from_u64(seed);
        let mut runner = simulated(|_, step: &RunStep| {
            let us = [100, other].map(|us| us + rng.random_range(0..4));
            let names = step.runs.iter().filter_map(|run| run.name.as_deref());
            let names: BTreeSet<&str> = names.collect();
            assert_eq!(names.len(), 2, "runs of a block have different names");
            let named = |(step_run, us): (&StepRun, u64)| {
                run(us, |run| {
                    run.plan.run_id = step_run.name.clone().unwrap_or_default()
                })
            };
            whole(step.runs.iter().zip(us).map(named).collect())
        });
        let budget = (SECOND * 30, 0);
        let question = question(0.02);
        let plan = task().plan.clone();
        let mut policy = BudgetedBlocks::new(frame(), budget, plan, question, &task_of);
        let CompletedSeries { history, ended } = perform(&mut policy, &mut runner);
        assert!(ended.is_none());
        let blocks = history.steps.len();
        assert!((2..=30).contains(&blocks), "{blocks}");
        if other == 150 {
            assert!(blocks < 20, "half as much again is seen soon: {blocks}");
        }
        for (number, past) in (1..).zip(&history.steps) {
            let order = &past.step.start.as_ref().unwrap().order;
            let before = &history.steps[(number - 1) / 2 * 2].step.start;
            let before = &before.as_ref().unwrap().order;
            let reversed: Vec<usize> = before.iter().rev().copied().collect();
            let expected = if number % 2 == 0 { &reversed } else { before };
            assert_eq!(order, expected, "pairs of blocks are started both ways");
        }
    }
}

/// A suite of two tests, each with a row.
fn task_of_two(rows: &[String]) -> RunTask {
    let text = "suite: s\nneeds: http\ntests:\n  - name: Fetch\n    loop:\n      - {GET: a, measure: Get}\n  \
                - name: Look\n    loop:\n      - {HEAD: a, measure: Head}\n";
    let spec = suite::parse("s", text).unwrap();
    let mut overrides = suite::Overrides::default();
    overrides.selection.only = rows.to_vec();
    let plan = suite::resolve("s", text, &spec, &overrides).unwrap();
    RunTask::new(plan, text.to_owned(), &BackgroundRequest::default()).unwrap()
}

/// A run of these rows, which take these microseconds.
fn run_of_two(step: &StepRun, (get_us, head_us): (u64, u64)) -> KeptRun {
    let mut builder = RunBuilder::new(1);
    for measure in &step.task.plan.measures {
        let (test, row, us) = match &*measure.name {
            "Get" => ("Fetch", "Get", get_us),
            _ => ("Look", "Head", head_us),
        };
        builder = builder.test(test, &[(row, "GET")]);
        builder = builder.ok(row, 200, |number| us + number % 7);
    }
    let name = step.name.clone().unwrap_or_default();
    kept(builder.with(|run| run.plan.run_id = name).build())
}

#[test]
fn a_test_that_is_decided_leaves_its_time_to_the_others() {
    let asked = RefCell::new(Vec::new());
    let task_of = |rows: Vec<String>, _: Duration| {
        let task = task_of_two(&rows);
        asked.borrow_mut().push(rows);
        Ok(task)
    };
    let rng = &mut StdRng::seed_from_u64(1);
    let mut runner = simulated(|_, step: &RunStep| {
        let run = |(side, run): (usize, &StepRun)| {
            let noise = rng.random_range(0..5);
            run_of_two(run, ([100, 10_000][side] + noise, 100 + noise))
        };
        whole(step.runs.iter().enumerate().map(run).collect())
    });
    let question = question(0.0);
    let plan = task_of_two(&[]).plan;
    let mut policy = BudgetedBlocks::new(frame(), (SECOND * 24, 0), plan, question, &task_of);
    assert!(perform(&mut policy, &mut runner).ended.is_none());
    let asked = asked.into_inner();
    let with = |row: &str| {
        let has_row = |rows: &&Vec<String>| rows.iter().any(|name| name == row);
        asked.iter().filter(has_row).count()
    };
    assert!(with("Get") >= 2 && with("Get") < with("Head"), "{asked:?}");
    assert_eq!(asked[0], ["Get", "Head"]);
    assert_eq!(asked.last().unwrap(), &["Head"]);
}

#[test]
fn a_budget_that_cannot_be_kept_is_reported_once_with_what_it_takes() {
    let task_of = |_: Vec<String>, _: Duration| Ok(Arc::into_inner(task()).unwrap());
    let mut runner = simulated(|_, _| whole(vec![run(100, |_| ()), run(100, |_| ())]));
    runner.each = SECOND * 20;
    let question = question(0.02);
    let plan = task().plan.clone();
    let mut policy = BudgetedBlocks::new(frame(), (SECOND, 0), plan, question, &task_of);
    assert!(perform(&mut policy, &mut runner).ended.is_none());
    let remarks = runner.remarks.into_inner();
    assert_eq!(remarks.len(), 1, "{remarks:?}");
    let expected = "longer than --for: 1 test on each server take part in 2 blocks at least";
    assert!(remarks[0].contains(expected), "{remarks:?}");
    assert!(remarks[0].contains("(--only)"), "{remarks:?}");
}
