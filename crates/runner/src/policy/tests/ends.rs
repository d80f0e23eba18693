//! Every end of a step, with every policy: the reason of the end of its series, and what is kept.

use std::mem::discriminant;

use engine::{Finished, RunError};
use experiment::{PlannedTrial, TrialRecord, planned_trials};
use record::EventKind;

use super::campaign::{cells, trial as recorded};
use super::*;
use crate::local::whole as went_through;
use crate::run::{CompletedRun, IncompleteRun, PARTNER_ENDED};
use crate::series::{SeriesEnd, StepFailure};

type RunEnd = Result<KeptRun, IncompleteRun>;
type Kind = fn(String) -> RunnerError;

/// A run of a series that the engine ended with `end`, saved or not.
fn over(
    cut_short: Option<EventKind>,
    error: Option<RunError>,
    saved: Result<(), RunnerError>,
) -> RunEnd {
    let run = RunBuilder::new(1).test("Get", &[("Get", "GET")]);
    let run = run.ok("Get", 5, |_| 100);
    let run = cut_short
        .into_iter()
        .fold(run, RunBuilder::run_event)
        .build();
    let summary = stats::summarise(&run);
    let completed = CompletedRun {
        finished: Finished {
            plan: run.plan,
            env: run.env,
            events: run.events,
            error,
        },
        summary: Ok(summary),
        samples: None,
        windows: Vec::new(),
        path: Some("DIR".to_owned()),
        saved,
        beside: Vec::new(),
    };
    completed.keep(true)
}

fn cut_short(kind: EventKind) -> RunEnd {
    over(Some(kind), None, Ok(()))
}

fn aborted(reason: &str) -> RunEnd {
    let reason = reason.to_owned();
    cut_short(EventKind::Aborted { reason })
}

fn without_record(error: RunError) -> RunEnd {
    over(None, Some(error), Ok(()))
}

/// The last run of a step ended with `last`, and so did those beside it.
fn side_by_side(sides: usize, last: RunEnd, gone: Option<RunnerError>) -> MadeStep<StepRuns> {
    let others = (1..sides).map(|_| aborted(PARTNER_ENDED));
    StepRuns::made(Ok(others.chain([last]).collect()), gone)
}

fn not_made(why: RunnerError, has_begun: bool, gone: Option<RunnerError>) -> MadeStep<StepRuns> {
    StepRuns::made(Err(StepFailure { why, has_begun }), gone)
}

fn server_ended() -> Option<RunnerError> {
    let why = "nginx ended during run 1 (signal: 9)";
    Some(RunnerError::Target(why.to_owned()))
}

/// An end of a step: its name, its outcome with a number of runs side by side, the kind of the
/// error (which decides the exit status), the beginning of its message, whether the step has begun,
/// and whether the history keeps its runs.
type StepEnd = (
    &'static str,
    fn(usize) -> MadeStep<StepRuns>,
    (Kind, &'static str),
    (bool, bool),
);

const NOT_BEGUN: (bool, bool) = (false, false);
const BEGUN: (bool, bool) = (true, false);
const KEPT: (bool, bool) = (true, true);
const INTERRUPTED: Kind = RunnerError::Interrupted;
const TARGET: Kind = RunnerError::Target;
const LOCAL: Kind = RunnerError::Local;

/// A runner treats Ctrl-C (SIGINT), SIGTERM and SIGHUP alike; the program ends by the signal that
/// it received.
const ENDS: [StepEnd; 13] = [
    (
        "a signal while servers are started",
        |_| not_made(INTERRUPTED("interrupted".to_owned()), false, None),
        (INTERRUPTED, "interrupted"),
        NOT_BEGUN,
    ),
    (
        "a signal before anything is measured",
        |sides| side_by_side(sides, without_record(RunError::Interrupted), None),
        (
            INTERRUPTED,
            "the run of suite prestan was interrupted before anything was measured; the record of the run is in DIR",
        ),
        BEGUN,
    ),
    (
        "a signal while it is measured",
        |sides| side_by_side(sides, cut_short(EventKind::Interrupted), None),
        (
            INTERRUPTED,
            "the run of suite prestan was interrupted; `prestan report DIR` prints what it measured until then",
        ),
        KEPT,
    ),
    (
        "a signal of which a server ends, too",
        |sides| side_by_side(sides, cut_short(EventKind::Interrupted), server_ended()),
        (INTERRUPTED, "the run of suite prestan was interrupted; "),
        KEPT,
    ),
    (
        "a server ends",
        |sides| side_by_side(sides, aborted("all users failed"), server_ended()),
        (TARGET, "nginx ended during run 1"),
        KEPT,
    ),
    (
        "a server ends after its runs",
        |sides| {
            let runs = (0..sides).map(|_| over(None, None, Ok(())));
            StepRuns::made(Ok(runs.collect()), server_ended())
        },
        (TARGET, "nginx ended during run 1"),
        KEPT,
    ),
    (
        "a server by URL cannot be reached",
        |sides| {
            let error = RunError::Unreachable("connection refused".to_owned());
            side_by_side(sides, without_record(error), None)
        },
        (TARGET, "connection refused"),
        BEGUN,
    ),
    (
        "a run is given up whose server is still there",
        |sides| side_by_side(sides, aborted("the server cannot be reached"), None),
        (
            LOCAL,
            "the run of suite prestan could not be finished: the server cannot be reached; `prestan report DIR`",
        ),
        KEPT,
    ),
    (
        "the disk is full",
        |sides| {
            let why = "the run is not saved completely: No space left on device";
            let saved = Err(LOCAL(why.to_owned()));
            side_by_side(sides, over(None, None, saved), None)
        },
        (
            LOCAL,
            "the run is not saved completely: No space left on device",
        ),
        KEPT,
    ),
    (
        "the disk is full before it begins",
        |_| not_made(LOCAL("No space left on device".to_owned()), false, None),
        (LOCAL, "No space left on device"),
        NOT_BEGUN,
    ),
    (
        "a server cannot be started",
        |_| not_made(TARGET("nginx did not start".to_owned()), false, None),
        (TARGET, "nginx did not start"),
        NOT_BEGUN,
    ),
    (
        "a step cannot be prepared because a server ended",
        |_| not_made(LOCAL("no address".to_owned()), false, server_ended()),
        (TARGET, "nginx ended during run 1"),
        NOT_BEGUN,
    ),
    (
        "what goes on beside it cannot be started",
        |_| not_made(LOCAL("no packets".to_owned()), true, None),
        (LOCAL, "no packets"),
        BEGUN,
    ),
];

/// True if the series ended for that reason.
fn has_reason(ended: &SeriesEnd, kind: Kind, begin: &str) -> bool {
    discriminant(&ended.why) == discriminant(&kind(String::new()))
        && ended.why.to_string().starts_with(begin)
}

/// Ends each of the first steps so, one after the other. `counted` is the number of steps that the
/// policy counts as made.
fn ends_so<P: Policy<Step = RunStep, Outcome = StepRuns>>(
    (name, end, like): (&str, &StepEnd, &KeptRun),
    (steps, sides): (usize, usize),
    policy: impl Fn() -> P,
    counted: impl Fn(&P, &SeriesHistory<RunStep, StepRuns>) -> usize,
) {
    let (end, made, (kind, says), (has_begun, is_kept)) = end;
    for failing in 1..=steps {
        let case = format!("{name}, step {failing}: {end}");
        let mut policy = policy();
        let mut runner = simulated(|number, _: &RunStep| {
            if number == failing {
                made(sides)
            } else {
                whole((0..sides).map(|_| copy(like)).collect())
            }
        });
        let CompletedSeries { history, ended } = perform(&mut policy, &mut runner);
        assert_eq!(runner.made, failing, "{case}");
        let ended = ended.unwrap();
        assert!(has_reason(&ended, *kind, says), "{case}: {ended:?}");
        let found = (ended.step, ended.has_begun);
        assert_eq!(found, (Some(failing), *has_begun), "{case}");
        let kept: Vec<bool> = history.outcomes().map(|made| made.is_whole).collect();
        let mut expected = vec![true; failing - 1];
        expected.extend(is_kept.then_some(false));
        assert_eq!(kept, expected, "{case}");
        let runs = went_through(&history).count();
        assert_eq!(runs, (failing - 1) * sides, "{case}");
        assert_eq!(counted(&policy, &history), failing - 1, "{case}");
    }
}

#[test]
fn whatever_the_policy_a_series_ends_with_the_step_that_does_not_go_through() {
    let (task, like) = (task(), trial(100, false));
    let count = |history: &SeriesHistory<RunStep, StepRuns>| went_through(history).count();
    let order = SweepOrder::new(3, 1, 2, 1);
    let points = at_points(3, &task);
    let drive = |_| Drive::Rounds(Rounds::default());
    let no_part = |_: usize, _: Vec<String>| -> Result<PlannedSuite, RunnerError> {
        unreachable!("nothing is seen once")
    };
    let part = |_: Vec<String>, _: Duration| Ok(task.part(task.plan.clone()));
    for end in &ENDS {
        ends_so(
            ("sweep", end, &like),
            (6, 1),
            || Listed::new(order.steps(&points)),
            |_, history| count(history),
        );
        ends_so(
            ("curve", end, &like),
            (4, 1),
            || Listed::new(curve_steps(&task, &[1, 2, 4, 8], drive, 1)),
            |_, history| count(history),
        );
        ends_so(
            ("search", end, &like),
            (9, 1),
            || trials(Find::Users, Search::for_users(1, 64), &task),
            |policy, history| policy.made(history).1.len(),
        );
        let suites = || {
            let firsts = vec![suite_of("a", 1, &task), suite_of("b", 1, &task)];
            let last = vec![suite_of("a", 8, &task)];
            DiagnosisSuites::new(firsts, last, &no_part, (3, 1))
        };
        ends_so(
            ("diagnosis", end, &like),
            (3, 1),
            suites,
            |policy, history| 3 - policy.not_measured(count(history)).len(),
        );
        let blocks = || {
            let question = question(0.02);
            let plan = task.plan.clone();
            BudgetedBlocks::new(frame(), (SECOND * 60, 0), plan, question, &part)
        };
        ends_so(("blocks", end, &like), (3, 2), blocks, |_, history| {
            count(history) / 2
        });
    }
}

/// An end of a trial in a laboratory, and the number of such trials that end the campaign. A
/// trial's record keeps its failure.
type TrialEnd = (
    &'static str,
    fn(&PlannedTrial) -> MadeStep<TrialRecord>,
    (Kind, &'static str),
    (usize, bool),
);

const TRIAL_ENDS: [TrialEnd; 4] = [
    (
        "a signal",
        |_| Err(INTERRUPTED("interrupted".to_owned())).into(),
        (INTERRUPTED, "interrupted"),
        (1, false),
    ),
    (
        "the disk is full",
        |_| Err(LOCAL("writing the record of a trial: no space".to_owned())).into(),
        (LOCAL, "writing the record of a trial: no space"),
        (1, false),
    ),
    (
        "a server ends",
        |planned| Ok(recorded(planned, Some("nginx ended (signal: 9)"))).into(),
        (TARGET, "3 trials in a row failed: nginx ended"),
        (3, true),
    ),
    (
        "a laboratory cannot be set up",
        |planned| Ok(recorded(planned, Some("no permission"))).into(),
        (TARGET, "3 trials in a row failed: no permission"),
        (3, true),
    ),
];

#[test]
fn a_campaign_ends_for_the_same_reasons() {
    let all = planned_trials(&cells(6), 1, 1, &[]);
    let ends = TRIAL_ENDS.iter();
    let cases = ends.flat_map(|end| (1..=4).map(move |failing| (failing, end)));
    for (failing, (name, made, (kind, says), (needed, is_kept))) in cases {
        let mut runner = simulated(|number, planned: &PlannedTrial| {
            if number < failing {
                Ok(recorded(planned, None)).into()
            } else {
                made(planned)
            }
        });
        let mut policy = CampaignPolicy::new(all.clone());
        let CompletedSeries { history, ended } = perform(&mut policy, &mut runner);
        let case = format!("trial {failing}: {name}");
        assert_eq!(runner.made, failing - 1 + needed, "{case}");
        let kept = failing - 1 + if *is_kept { *needed } else { 0 };
        assert_eq!(history.steps.len(), kept, "{case}");
        let ended = ended.unwrap();
        assert!(has_reason(&ended, *kind, says), "{case}: {ended:?}");
    }
}
