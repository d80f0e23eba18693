//! Policies, with a runner that makes up what came of their steps.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use engine::{Drive, Pacing};
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
use crate::local::{RunStep, RunTask, ServerStart, StepRun, StepRuns};
use crate::series::{
    CompletedSeries, MadeStep, Policy, Runner, SeriesHistory, StepFailure, perform,
};

const SECOND: Duration = Duration::from_secs(1);

/// Response times are compared.
fn question(same_within: f64) -> ComparedBy {
    let times = ComparedTimes::ToFirstByte;
    ComparedBy { same_within, times }
}

/// A runner without servers.
struct Simulated<F> {
    make: F,
    now: Duration,
    /// How long a step takes.
    each: Duration,
    /// What was said, line by line.
    said: RefCell<Vec<String>>,
    /// Steps that were made, by the names of their runs.
    made: Vec<String>,
}

impl<F: FnMut(usize, &RunStep) -> MadeStep<StepRuns>> Runner for Simulated<F> {
    type Step = RunStep;
    type Outcome = StepRuns;

    fn run(&mut self, number: usize, step: &RunStep) -> MadeStep<StepRuns> {
        self.now += self.each;
        let names: Vec<&str> = step
            .runs
            .iter()
            .filter_map(|run| run.name.as_deref())
            .collect();
        self.made.push(names.join(" "));
        (self.make)(number, step)
    }

    fn elapsed(&self) -> Duration {
        self.now
    }

    fn say(&self, remark: &str) {
        self.said.borrow_mut().push(remark.to_owned());
    }
}

/// Each step takes a second.
fn simulated<F: FnMut(usize, &RunStep) -> MadeStep<StepRuns>>(make: F) -> Simulated<F> {
    Simulated {
        make,
        now: Duration::ZERO,
        each: SECOND,
        said: RefCell::default(),
        made: Vec::new(),
    }
}

/// A run whose operations took so many microseconds.
fn run(us: u64, change: impl FnOnce(&mut Run)) -> KeptRun {
    let run = RunBuilder::new(1)
        .test("Get", &[("Get", "GET")])
        .ok("Get", 200, |place| us + place % 7)
        .with(change)
        .build();
    kept(run)
}

fn kept(run: Run) -> KeptRun {
    let summary = stats::summarise(&run);
    KeptRun::new(run, summary, String::new())
}

/// A trial whose condition is that times are below one millisecond.
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
    // There are many trials, and nobody looks at their samples.
    kept.run.samples = Vec::new();
    kept
}

fn whole(runs: Vec<KeptRun>) -> MadeStep<StepRuns> {
    MadeStep {
        outcome: Some(StepRuns {
            runs,
            is_whole: true,
        }),
        ended: None,
    }
}

fn broken_off(why: RunnerError) -> MadeStep<StepRuns> {
    MadeStep {
        outcome: None,
        ended: Some(StepFailure {
            why,
            has_begun: true,
        }),
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

fn trials(find: Find, search: Search) -> Trials {
    let load = TrialLoad {
        find,
        duration: SECOND,
        warmup: 0,
        in_turn: false,
        connections: 1,
        seed: 1,
    };
    Trials::new(search, load, task())
}

fn one_run(place: usize) -> RunStep {
    RunStep {
        start: (place == 0).then(|| ServerStart::in_order(1)),
        title: None,
        runs: vec![StepRun {
            server: 0,
            group: place,
            name: Some((place + 1).to_string()),
            task: task(),
            users: 1,
            drive: Drive::Rounds(engine::Rounds::default()),
            seed: 1,
        }],
    }
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

fn suite_of(name: &str, users: u32) -> PlannedSuite {
    PlannedSuite {
        name: name.to_owned(),
        task: task(),
        users,
        is_repeat: false,
    }
}

const REASONS: [fn(String) -> RunnerError; 5] = [
    RunnerError::Usage,
    RunnerError::Inconclusive,
    RunnerError::Target,
    RunnerError::Local,
    RunnerError::Interrupted,
];

/// Lets each of the first steps fail for each reason, and looks how the series ends.
fn ends_where_a_step_fails<P: Policy<Step = RunStep, Outcome = StepRuns>>(
    policy: impl Fn() -> P,
    steps: usize,
    sides: usize,
) {
    for (failing, reason) in (1..=steps).flat_map(|step| REASONS.map(|reason| (step, reason))) {
        let mut runner = simulated(|number, _| {
            if number == failing {
                broken_off(reason("this is why".to_owned()))
            } else {
                whole((0..sides).map(|_| trial(100, false)).collect())
            }
        });
        let CompletedSeries { history, ended } = perform(&mut policy(), &mut runner);
        assert_eq!(runner.made.len(), failing, "nothing is made after it");
        assert_eq!(history.steps.len(), failing - 1, "what was made stays");
        let ended = ended.unwrap();
        assert_eq!(ended.step, Some(failing));
        assert_eq!(
            format!("{:?}", ended.why),
            format!("{:?}", reason("this is why".to_owned()))
        );
    }
}

#[test]
fn whatever_the_policy_a_series_ends_with_the_step_that_fails() {
    ends_where_a_step_fails(|| Listed::new((0..5).map(one_run)), 5, 1);
    ends_where_a_step_fails(|| trials(Find::Users, Search::of_users(1, 64)), 9, 1);
    let nothing = |_: &_| Ok(Vec::new());
    let suites = || {
        let firsts = vec![suite_of("a", 1), suite_of("b", 1)];
        let last = vec![suite_of("a", 8)];
        DiagnosisSuites::new(firsts, last, &nothing, (3, 1))
    };
    ends_where_a_step_fails(suites, 3, 1);
    let task_of = |_: Vec<String>, _: Duration| Ok(Arc::into_inner(task()).unwrap());
    let blocks = || {
        let budget = (SECOND * 60, 0);
        let question = question(0.02);
        BudgetedBlocks::new(frame(), budget, task().plan.clone(), question, &task_of)
    };
    ends_where_a_step_fails(blocks, 2, 2);
}

/// Trials that a server takes and that it does not take, each also undecided.
fn quick_and_slow() -> [[KeptRun; 2]; 2] {
    [100, 2_000].map(|us| [false, true].map(|undecided| trial(us, undecided)))
}

/// Users, or operations a second, of a step.
fn offered(step: &RunStep) -> f64 {
    match &step.runs[0].drive {
        Drive::Load(load) => match &load.pacing {
            Pacing::Open { stages, .. } => stages[0].rate,
            Pacing::Closed => f64::from(step.runs[0].users),
        },
        other => panic!("{other:?}"),
    }
}

/// How much a simulated server takes, what a search found, and how it ended.
fn searched(
    find: Find,
    made: &[[KeptRun; 2]; 2],
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
        let copy = KeptRun::new(like.run.clone(), like.summary.clone(), String::new());
        whole(vec![copy])
    });
    let search = match find {
        Find::Users => Search::of_users(1, 4096),
        Find::Rate => Search::of_rate(20.0, 4096.0, 1.0),
    };
    let mut policy = trials(find, search);
    let CompletedSeries { history, ended } = perform(&mut policy, &mut runner);
    drop(runner);
    let (tried, ran) = policy.made(&history);
    assert_eq!(tried.len(), ran.len());
    for (tried, ran) in tried.iter().zip(ran) {
        let is_slow = ran.summary.tests[0].waited().unwrap().mean > 1e6;
        assert_eq!(tried.held, !is_slow, "a trial stands with its own run");
    }
    let holds = policy.search().answer().holds.map(|holds| holds.load);
    (capacity, holds, ended.map(|end| end.why), longest)
}

/// Whether that is the largest load that holds, as exactly as a search tells loads apart.
fn is_near(holds: Option<f64>, capacity: u32) -> bool {
    let capacity = f64::from(capacity);
    holds.is_some_and(|holds| holds <= capacity && capacity <= holds * 1.05 + 1.0)
}

#[test]
fn a_search_finds_what_a_server_takes() {
    let made = quick_and_slow();
    for (seed, find) in (0..1000).flat_map(|seed| [(seed, Find::Users), (seed, Find::Rate)]) {
        let (capacity, holds, ended, _) = searched(find, &made, seed, 0.0);
        assert!(ended.is_none(), "{ended:?}");
        assert!(is_near(holds, capacity), "{find:?}, seed {seed}");
    }
}

#[test]
fn a_search_has_patience_with_three_trials_in_a_row() {
    let mut given_up = 0;
    let made = quick_and_slow();
    for seed in 0..1000 {
        let (capacity, holds, ended, longest) = searched(Find::Users, &made, seed, 0.1);
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
        let mut runner = simulated(|_, step| {
            let us = [100, other].map(|us| us + rng.random_range(0..4));
            let names: BTreeSet<&str> = step
                .runs
                .iter()
                .filter_map(|run| run.name.as_deref())
                .collect();
            assert_eq!(names.len(), 2, "runs of a block have names of their own");
            let named = |(of, us): (&StepRun, u64)| {
                run(us, |run| {
                    run.plan.run_id = of.name.clone().unwrap_or_default()
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

/// A run of these rows, which take so many microseconds.
fn run_of_two(step: &StepRun, (get_us, head_us): (u64, u64)) -> KeptRun {
    let mut builder = RunBuilder::new(1);
    for measure in &step.task.plan.measures {
        let (test, row, us) = match &*measure.name {
            "Get" => ("Fetch", "Get", get_us),
            _ => ("Look", "Head", head_us),
        };
        builder = builder.test(test, &[(row, "GET")]);
        builder = builder.ok(row, 200, |place| us + place % 7);
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
        let run = |(side, own): (usize, &StepRun)| {
            let noise = rng.random_range(0..5);
            run_of_two(own, ([100, 10_000][side] + noise, 100 + noise))
        };
        whole(step.runs.iter().enumerate().map(run).collect())
    });
    let question = question(0.0);
    let plan = task_of_two(&[]).plan;
    let mut policy = BudgetedBlocks::new(frame(), (SECOND * 24, 0), plan, question, &task_of);
    assert!(perform(&mut policy, &mut runner).ended.is_none());
    let asked = asked.into_inner();
    let with = |row: &str| {
        asked
            .iter()
            .filter(|rows| rows.iter().any(|own| own == row))
            .count()
    };
    assert!(with("Get") >= 2 && with("Get") < with("Head"), "{asked:?}");
    assert_eq!(asked[0], ["Get", "Head"]);
    assert_eq!(asked.last().unwrap(), &["Head"]);
}

#[test]
fn a_budget_that_cannot_be_kept_is_told_once_with_what_it_takes() {
    let task_of = |_: Vec<String>, _: Duration| Ok(Arc::into_inner(task()).unwrap());
    let mut runner = simulated(|_, _| whole(vec![run(100, |_| ()), run(100, |_| ())]));
    runner.each = SECOND * 20;
    let question = question(0.02);
    let plan = task().plan.clone();
    let mut policy = BudgetedBlocks::new(frame(), (SECOND, 0), plan, question, &task_of);
    assert!(perform(&mut policy, &mut runner).ended.is_none());
    let said = runner.said.into_inner();
    assert_eq!(said.len(), 1, "{said:?}");
    let told = "longer than --for: 1 test on each server take part in 2 blocks at least";
    assert!(
        said[0].contains(told) && said[0].contains("(--only)"),
        "{said:?}"
    );
}

#[test]
fn a_diagnosis_repeats_what_it_saw_once_before_it_has_several_users() {
    let once_more = |history: &SeriesHistory<RunStep, StepRuns>| {
        assert_eq!(
            history.steps.len(),
            2,
            "it is asked once, after the first runs"
        );
        Ok(vec![PlannedSuite {
            is_repeat: true,
            ..suite_of("b", 1)
        }])
    };
    let firsts = vec![suite_of("a", 1), suite_of("b", 1)];
    let last = vec![suite_of("a", 8)];
    let mut policy = DiagnosisSuites::new(firsts, last, &once_more, (3, 1));
    let mut titles = Vec::new();
    let mut runner = simulated(|_, step| {
        titles.extend(step.title.clone());
        whole(vec![run(100, |_| ())])
    });
    let CompletedSeries { ended, .. } = perform(&mut policy, &mut runner);
    assert!(ended.is_none());
    let expected = [
        "suite a",
        "suite b",
        "suite b, once more",
        "suite a, 8 users",
    ];
    assert_eq!(titles, expected);
    assert_eq!(policy.not_measured(4), []);
    let missing = policy.not_measured(2);
    let missing: Vec<_> = missing
        .iter()
        .map(|one| (&*one.suite, one.users, one.is_repeat))
        .collect();
    assert_eq!(missing, [("b", 1, true), ("a", 8, false)]);
}
