//! Conditions on comparisons of recorded runs.

use record::{EventKind, Outcome, Run};
use stats::testing::{self, RunBuilder};

use super::*;
use crate::kept::KeptRun;

/// A run whose operations took `us` microseconds; `failed` of them failed.
fn run(name: &str, us: u64, failed: u64) -> RunBuilder {
    let builder = RunBuilder::new(1).with(|run| run.plan.run_id = name.to_owned());
    let builder = builder.test("Fetch", &[("Get", "GET")]);
    let builder = builder.ok("Get", 60 - failed, |place| us + place % 7);
    builder.ops("Get", failed, Outcome::WrongStatus, |_| us)
}

/// Makes the times of its row unusable.
fn disqualified(builder: RunBuilder) -> RunBuilder {
    builder.event("Get", |test, _| {
        let mut generator = testing::generator(test);
        generator.cpu = generator.wall * u64::from(generator.workers);
        EventKind::Generator(generator)
    })
}

fn comparisons(pairs: Vec<(RunBuilder, RunBuilder)>) -> Comparisons {
    let kept = |run: Run| {
        let summary = stats::summarise(&run);
        KeptRun::new(run, summary, String::new())
    };
    let (a, b): (Vec<KeptRun>, Vec<KeptRun>) = pairs
        .into_iter()
        .map(|(a, b)| (kept(a.build()), kept(b.build())))
        .unzip();
    let [a, b] = [&a, &b].map(|runs| runs.iter().map(KeptRun::side).collect::<Vec<_>>());
    let comparison = stats::compare(&a, &b, 0.02).unwrap();
    let versus = Versus {
        name: "B".to_owned(),
        runs: Vec::new(),
        seeds: Vec::new(),
        notes: Vec::new(),
        comparison,
    };
    Comparisons {
        name: "A".to_owned(),
        runs: Vec::new(),
        seeds: Vec::new(),
        notes: Vec::new(),
        versus: vec![versus],
        incomplete: None,
    }
}

/// Pairs of runs, the B of each with these microseconds and failures.
fn pairs(b: impl IntoIterator<Item = (u64, u64)>) -> Vec<(RunBuilder, RunBuilder)> {
    let pair = |(place, (us, failed)): (usize, (u64, u64))| {
        let a = run(&format!("a{place}"), 100 + place as u64 % 3, 0);
        (a, run(&format!("b{place}"), us, failed))
    };
    b.into_iter().enumerate().map(pair).collect()
}

fn fail_if(condition: &str, undecided: bool) -> FailCondition {
    FailCondition {
        constraint: Constraint::parse(condition).unwrap(),
        undecided,
    }
}

/// The result of the comparison, and the end of its row as a test case.
fn judged(
    comparisons: &Comparisons,
    fail_if: &FailCondition,
) -> (Result<bool, RunnerError>, CaseEnd) {
    let checked = for_rows(fail_if, comparisons, &BTreeMap::new()).unwrap();
    let mut ends = case_ends(comparisons, Some(&checked)).remove(0);
    (judge(comparisons, Some(&checked)), ends.remove(0))
}

#[test]
fn a_slower_row_fails_although_one_of_its_operations_failed() {
    let all = comparisons(pairs(
        (0..8).map(|index| (200 + index % 2, u64::from(index == 3))),
    ));
    let (fails, end) = judged(&all, &fail_if("slower >= 5 %", false));
    assert!(fails.unwrap());
    assert!(matches!(end, CaseEnd::Failed(says) if says.contains("slower")));
    let (fails, end) = judged(&all, &fail_if("slower >= 500 %", false));
    // One operation is too few to know.
    assert!(!fails.unwrap());
    assert!(matches!(end, CaseEnd::Skipped(says) if says.starts_with("undecided: ")));
}

#[test]
fn what_is_undecided_fails_where_that_is_asked_for() {
    let all = comparisons(pairs([(100, 0), (300, 0)]));
    let (fails, end) = judged(&all, &fail_if("slower >= 2 %", false));
    assert!(!fails.unwrap());
    assert!(matches!(end, CaseEnd::Skipped(_)));
    let (fails, end) = judged(&all, &fail_if("slower >= 2 %", true));
    assert!(fails.unwrap());
    assert!(matches!(end, CaseEnd::Failed(_)));
    let finer = fail_if("slower > 0.1 %", false);
    let refused = for_rows(&finer, &all, &BTreeMap::new()).unwrap_err();
    assert!(refused.to_string().contains("--same-within"), "{refused}");
}

#[test]
fn rows_of_which_too_little_is_left_are_inconclusive_and_hide_no_failure() {
    let with_one_left_out = |failed: u64| {
        let mut pairs = pairs([(100, failed), (101, failed)]);
        let (a, b) = pairs.remove(0);
        pairs.insert(0, (a, disqualified(b)));
        comparisons(pairs)
    };
    let fail_if = fail_if("slower >= 5 %", false);
    let alike = with_one_left_out(0);
    for without in [judge(&alike, None), judged(&alike, &fail_if).0] {
        assert!(
            matches!(without, Err(RunnerError::Inconclusive(_))),
            "{without:?}"
        );
    }
    assert!(judged(&with_one_left_out(60), &fail_if).0.unwrap());
}

#[test]
fn what_nobody_could_compare_fails() {
    let broken = |side: &str| [0, 1].map(|place| run(&format!("{side}{place}"), 100, 60));
    let all = comparisons(broken("a").into_iter().zip(broken("b")).collect());
    assert!(judged(&all, &fail_if("slower", false)).0.unwrap());
}
