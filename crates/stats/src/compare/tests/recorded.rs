//! Comparisons of recorded runs: of rows, of failures, and of settings that differ.

use record::{
    Event, EventKind, HttpVersion, InsideBatch, InsideCounts, InsideRecord, MeasureId, Outcome,
    Run, Sample,
};

use super::super::*;
use crate::summarise;
use crate::testing::RunBuilder;

/// A recorded run of two rows with these times in microseconds.
fn recorded(id: &str, us: u64) -> Run {
    let builder = RunBuilder::new(1)
        .test("Upload", &[("Put1K", "PUT")])
        .ok("Put1K", 60, |i| us + i % 7)
        .test("Fetch", &[("Get1K", "GET")])
        .ok("Get1K", 60, |i| 50 + i % 5);
    builder.with(|run| run.plan.run_id = id.to_owned()).build()
}

fn of<'a>(run: &'a Run, summary: &'a Summary) -> Side<'a> {
    Side {
        plan: &run.plan,
        env: &run.env,
        summary,
    }
}

fn compare_two(a: &Run, b: &Run) -> Result<Comparison, Difference> {
    let (of_a, of_b) = (summarise(a), summarise(b));
    compare(&[of(a, &of_a)], &[of(b, &of_b)], 0.02)
}

/// Compares two runs, the second of them with a change.
fn changed(change: impl FnOnce(&mut Run)) -> Result<Comparison, Difference> {
    let (a, mut b) = (recorded("a", 100), recorded("b", 100));
    change(&mut b);
    compare_two(&a, &b)
}

/// Compares `count` runs of A with as many of B, each changed.
fn pairs(
    count: usize,
    change_a: impl Fn(usize, &mut Run),
    change_b: impl Fn(usize, &mut Run),
) -> Comparison {
    let runs = |name: &str, change: &dyn Fn(usize, &mut Run)| -> Vec<Run> {
        let run = |index: usize| {
            let mut run = recorded(&format!("{name}{index}"), 100 + index as u64 % 3);
            change(index, &mut run);
            run
        };
        (0..count).map(run).collect()
    };
    let (a, b) = (runs("a", &change_a), runs("b", &change_b));
    let summaries = |runs: &[Run]| -> Vec<Summary> { runs.iter().map(summarise).collect() };
    let (of_a, of_b) = (summaries(&a), summaries(&b));
    fn sides<'a>(runs: &'a [Run], summaries: &'a [Summary]) -> Vec<Side<'a>> {
        let both = runs.iter().zip(summaries);
        both.map(|(run, summary)| of(run, summary)).collect()
    }
    compare(&sides(&a, &of_a), &sides(&b, &of_b), 0.02).unwrap()
}

fn samples_of_first_row(run: &mut Run) -> impl Iterator<Item = &mut Sample> {
    let samples = run.samples.iter_mut();
    samples.filter(|sample| sample.measure.0 == 0)
}

/// Makes the first row take `us` microseconds more, and not quite the same in each run.
fn delay(run: &mut Run, us: u64) {
    for sample in samples_of_first_row(run) {
        let moments = &mut sample.moments;
        moments.first = moments.first.map(|at| at + us * 1_000);
        moments.done = moments.done.map(|at| at + us * 1_000);
    }
}

#[test]
fn rows_are_compared_one_by_one() {
    let slower = pairs(5, |_, _| (), |index, run| delay(run, 48 + index as u64 % 2));
    let verdicts: Vec<_> = slower
        .rows
        .iter()
        .map(|row| (row.name.as_str(), row.verdict))
        .collect();
    assert_eq!(
        verdicts,
        [("Put1K", Verdict::Slower), ("Get1K", Verdict::Same)]
    );
    let ratio = slower.rows[0].ratio.unwrap();
    assert!((1.45..1.52).contains(&ratio.value), "{ratio:?}");
    assert!((1.45..1.52).contains(&ratio.usual), "{ratio:?}");
    let found = ratio.evidence.unwrap();
    assert!(found.p_holm >= found.p && found.p_holm < 0.05, "{found:?}");
    assert_eq!(slower.caveats, [Caveat::OneProcess]);
}

#[test]
fn processes_that_are_not_the_server_are_told() {
    let watched = |processor: u64| {
        move |_: usize, run: &mut Run| {
            run.plan.inside = Some(InsideRecord::default());
            let counted = InsideCounts {
                processor,
                ..InsideCounts::default()
            };
            let batch = InsideBatch {
                measure: MeasureId(0),
                operations: 60,
                lasted: 6_000_000,
                counted,
            };
            let kind = EventKind::Inside(batch);
            run.events.push(Event { at: 0, kind });
        }
    };
    let compared = pairs(1, watched(1_000_000), watched(0));
    assert!(compared.caveats.contains(&Caveat::OtherProcesses('B')));
    assert!(!compared.caveats.contains(&Caveat::OtherProcesses('A')));
    // Rows that cannot be separated are not counted. Their processes need not have been idle.
    let uncounted = |_: usize, run: &mut Run| {
        run.plan.inside = Some(InsideRecord::default());
    };
    let compared = pairs(1, uncounted, uncounted);
    let others = |caveat: &Caveat| matches!(caveat, Caveat::OtherProcesses(_));
    assert!(
        !compared.caveats.iter().any(others),
        "{:?}",
        compared.caveats
    );
}

#[test]
fn one_run_of_each_has_ratios_and_no_verdicts() {
    let one = pairs(1, |_, _| (), |_, run| delay(run, 100));
    assert_eq!(one.caveats, [Caveat::OneRun]);
    let ratio = one.rows[0].ratio.unwrap();
    assert!((1.9..2.1).contains(&ratio.value), "{ratio:?}");
    for row in &one.rows {
        let ratio = row.ratio.unwrap();
        assert_eq!((ratio.evidence, row.verdict), (None, Verdict::Inconclusive));
    }
}

/// Lets this number of operations of the first row fail.
fn fail(run: &mut Run, operations: usize) {
    for sample in samples_of_first_row(run).take(operations) {
        sample.outcome = Outcome::WrongStatus;
    }
}

fn not_supported(run: &mut Run) {
    run.samples.retain(|sample| sample.measure.0 != 0);
    event(run, |test| EventKind::NotSupported {
        test,
        step: None,
        evidence: "405".to_owned(),
    });
}

fn not_set_up(run: &mut Run) {
    run.samples.retain(|sample| sample.measure.0 != 0);
    event(run, |test| EventKind::TestFailed {
        test,
        evidence: "PUT: 500".to_owned(),
    });
}

fn event(run: &mut Run, kind: impl FnOnce(record::TestId) -> EventKind) {
    let kind = kind(run.plan.measures[0].test);
    run.events.push(Event { at: 0, kind });
}

/// The first row of `count` pairs, in which all runs are changed.
fn first_row(
    count: usize,
    change_a: impl Fn(usize, &mut Run),
    change_b: impl Fn(usize, &mut Run),
) -> Compared {
    pairs(count, change_a, change_b).rows.remove(0)
}

#[test]
fn failures_are_compared_too_and_times_all_the_same() {
    use Verdict::{Broken, Inconclusive, NotCompared, Repaired, Same};
    // Pairs; what fails in a run of A and of B; verdicts on failures, turned, and on times.
    type Failed = fn(usize) -> usize;
    let never: Failed = |_| 0;
    let once: Failed = |index| usize::from(index == 3);
    let some: Failed = |_| 20;
    let all: Failed = |_| 60;
    let burst: Failed = |index| if index == 3 { 15 } else { 0 };
    let table = [
        (10, never, once, Inconclusive, Inconclusive, Some(Same)),
        (10, never, burst, Inconclusive, Inconclusive, Some(Same)),
        (10, never, some, Broken, Repaired, Some(Same)),
        (5, never, some, Inconclusive, Inconclusive, Some(Same)),
        (10, some, all, Broken, Repaired, None),
        (2, never, all, Broken, Repaired, None),
        (1, never, all, Inconclusive, Inconclusive, None),
        (10, some, some, Inconclusive, Inconclusive, Some(Same)),
        (10, all, all, NotCompared, NotCompared, None),
    ];
    for (index, (count, a, b, there, back, times)) in table.into_iter().enumerate() {
        let fails = |failed: Failed| move |index: usize, run: &mut Run| fail(run, failed(index));
        let row = first_row(count, fails(a), fails(b));
        let failing = row.failing.unwrap();
        assert_eq!(failing.verdict, there, "{index}: {row:?}");
        assert_eq!(
            row.ratio.map(|ratio| ratio.verdict),
            times,
            "{index}: {row:?}"
        );
        assert_eq!(row.b.operations, 60 * count as u64, "{index}: {row:?}");
        assert_eq!(
            failing.is_total,
            there == Broken && times.is_none() && count == 2
        );
        let turned = first_row(count, fails(b), fails(a));
        assert_eq!(turned.failing.unwrap().verdict, back, "{index}: {turned:?}");
    }
    // A row that is twice as slow and failed once is still slower.
    let slow = first_row(
        10,
        |_, _| (),
        |index, run| {
            delay(run, 100);
            fail(run, usize::from(index == 0));
        },
    );
    let times = slow.ratio.unwrap().verdict;
    assert_eq!((times, slow.verdict), (Verdict::Slower, Verdict::Slower));
    assert_eq!(slow.failing.unwrap().verdict, Inconclusive);
    // Failures are in the family of all tests: both rows have a p-value of times, one of them may
    // be the smaller one.
    let failing = first_row(10, |_, _| (), |_, run| fail(run, 6))
        .failing
        .unwrap();
    assert!(failing.p_holm / failing.p > 1.999, "{failing:?}");
    assert_eq!(failing.pairs_needed, None);
    let early = first_row(5, |_, _| (), |_, run| fail(run, 6))
        .failing
        .unwrap();
    assert_eq!(early.pairs_needed, Some(7), "{early:?}");
}

/// Makes the load generator the bottleneck of the first row.
fn saturate(run: &mut Run) {
    event(run, |test| {
        let generator = crate::testing::generator(test);
        EventKind::Generator(record::Generator {
            cpu: u64::from(generator.workers) * generator.wall,
            ..generator
        })
    });
}

#[test]
fn pairs_that_the_load_generator_may_have_changed_are_left_out() {
    // Pairs in which A or B is saturated and ten times slower; how many are left, and the verdict.
    type Saturated = fn(usize) -> bool;
    let (none, two, five): (Saturated, Saturated, Saturated) =
        (|_| false, |index| index < 2, |index| index < 5);
    let table = [
        (none, none, 0, Verdict::Slower),
        (none, two, 2, Verdict::Slower),
        (two, two, 2, Verdict::Slower),
        (two, |index| index == 5, 3, Verdict::Slower),
        (none, five, 5, Verdict::Inconclusive),
        (none, |_| true, 10, Verdict::Inconclusive),
    ];
    for (a, b, left_out, verdict) in table {
        let change = |is_saturated: Saturated, us: u64| {
            move |index: usize, run: &mut Run| {
                delay(run, us);
                if is_saturated(index) {
                    delay(run, 2_000);
                    saturate(run);
                }
            }
        };
        let compared = pairs(10, change(a, 0), change(b, 50));
        let [row, other] = &compared.rows[..] else {
            panic!("{compared:?}");
        };
        assert_eq!(
            (row.disqualified, row.verdict),
            (left_out, verdict),
            "{row:?}"
        );
        assert_eq!(row.is_disqualified(), left_out >= 5);
        let left = if left_out == 10 { 10 } else { 10 - left_out };
        assert_eq!(row.ratio.unwrap().pairs, left);
        assert!(row.is_open || verdict != Verdict::Inconclusive);
        // The means beside the ratio are those of sound runs, too, where there are some.
        let is_all = left_out == 10;
        assert_eq!(row.b.mean.is_some_and(|mean| mean > 1e6), is_all, "{row:?}");
        assert_eq!((other.disqualified, other.verdict), (0, Verdict::Same));
    }
}

#[test]
fn failures_that_the_load_generator_may_have_caused_break_nothing() {
    let exhausted = |_: usize, run: &mut Run| {
        for sample in samples_of_first_row(run) {
            sample.outcome = Outcome::ConnectFailed;
        }
        saturate(run);
    };
    let row = first_row(10, |_, _| (), exhausted);
    assert_eq!(
        (row.failing, row.verdict),
        (None, Verdict::Inconclusive),
        "{row:?}"
    );
    let row = first_row(10, |_, _| (), |_, run| fail(run, 60));
    assert_eq!(row.verdict, Verdict::Broken);
}

#[test]
fn what_cannot_be_measured_at_all_is_compared_by_what_stands_in_its_way() {
    use Verdict::{Broken, Gained, Inconclusive, Lost, NotCompared, Repaired};
    type Change = fn(usize, &mut Run);
    let (fine, some, all): (Change, Change, Change) =
        (|_, _| (), |_, run| fail(run, 20), |_, run| fail(run, 60));
    let (unsupported, unset): (Change, Change) =
        (|_, run| not_supported(run), |_, run| not_set_up(run));
    let once_unset: Change = |index, run| {
        if index == 3 {
            not_set_up(run)
        }
    };
    let table: [(usize, Change, Change, Verdict, Verdict); 10] = [
        (1, fine, unsupported, Lost, Gained),
        (10, some, unsupported, Lost, Gained),
        (10, all, unsupported, NotCompared, NotCompared),
        (10, unsupported, unsupported, NotCompared, NotCompared),
        (2, fine, unset, Broken, Repaired),
        (1, fine, unset, Inconclusive, Inconclusive),
        (10, some, unset, Broken, Repaired),
        (10, all, unset, NotCompared, NotCompared),
        (10, unset, unset, NotCompared, NotCompared),
        (20, fine, once_unset, Inconclusive, Inconclusive),
    ];
    for (index, (count, a, b, there, back)) in table.into_iter().enumerate() {
        assert_eq!(first_row(count, a, b).verdict, there, "{index}");
        assert_eq!(first_row(count, b, a).verdict, back, "{index}");
    }
}

#[test]
fn what_an_interrupted_run_did_not_reach_is_not_broken() {
    let cut_off = |run: &mut Run| {
        run.samples.retain(|sample| sample.measure.0 != 1);
        let kind = EventKind::Interrupted;
        run.events.push(Event { at: 0, kind });
    };
    let cut = pairs(5, |_, _| (), |_, run| cut_off(run));
    let verdicts: Vec<Verdict> = cut.rows.iter().map(|row| row.verdict).collect();
    assert_eq!(verdicts, [Verdict::Same, Verdict::NotCompared]);
    assert!(cut.caveats.contains(&Caveat::Incomplete(5)));
    // A failure before is a failure all the same.
    let failed = pairs(
        5,
        |_, _| (),
        |_, run| {
            cut_off(run);
            fail(run, 60);
        },
    );
    assert_eq!(failed.rows[0].verdict, Verdict::Broken);
    // The pairs that reached it are compared.
    let last = pairs(
        5,
        |_, _| (),
        |index, run| {
            if index == 4 {
                cut_off(run)
            }
        },
    );
    let ratio = last.rows[1].ratio.unwrap();
    assert_eq!((ratio.verdict, ratio.pairs), (Verdict::Same, 4));
}

#[test]
fn failures_outside_the_window_have_operations_outside_the_window_beside_them() {
    // The second user begins late: earlier operations of the first one are left out.
    let run = |id: &str, failed: usize| {
        let mut run = RunBuilder::new(2)
            .test("Upload", &[("Put1K", "PUT")])
            .ok("Put1K", 60, |_| 9);
        run = run.with(|run| {
            run.plan.run_id = id.to_owned();
            let mut of_second = 0;
            run.samples.retain(|sample| {
                of_second += usize::from(sample.user == 1);
                sample.user == 0 || of_second > 40
            });
            fail(run, failed);
        });
        run.build()
    };
    let compared = compare_two(&run("a", 0), &run("b", 30));
    let row = compared.unwrap().rows.remove(0);
    assert_eq!((row.b.failed, row.b.operations), (30, 80), "{row:?}");
    assert_eq!(row.verdict, Verdict::Inconclusive);
}

#[test]
fn in_an_open_loop_waiting_is_part_of_the_time() {
    // The server responds as fast, and delays every user.
    let run = |id: &str, late: u64| {
        let waits = |run: &mut Run| {
            run.plan.run_id = id.to_owned();
            run.plan.load.pace = crate::testing::open_loop();
            for sample in &mut run.samples {
                sample.moments.started += late;
                sample.moments.sent = sample.moments.sent.map(|at| at + late);
                sample.moments.first = sample.moments.first.map(|at| at + late);
                sample.moments.done = sample.moments.done.map(|at| at + late);
            }
        };
        RunBuilder::new(1)
            .test("Fetch", &[("Get1K", "GET")])
            .ok("Get1K", 200, |i| 100 + i % 7)
            .with(waits)
            .build()
    };
    let (a, b) = (run("a", 0), run("b", 500_000));
    let found = compare_two(&a, &b).unwrap();
    assert_eq!(found.since, Since::Planned);
    let row = &found.rows[0];
    let ratio = row.ratio.unwrap();
    assert!(ratio.value > 4.0 && ratio.usual > 4.0, "{row:?}");
    let waited = summarise(&b).tests[0].first_byte_times().unwrap().mean;
    assert!((row.b.mean.unwrap() - waited).abs() < 1.0, "{row:?}");
    assert_eq!(changed(|_| ()).unwrap().since, Since::Sent);
}

#[test]
fn runs_that_were_not_made_at_the_same_time_are_told() {
    let at = |from: &str, to: &str| {
        let (from, to) = (from.to_owned(), to.to_owned());
        move |run: &mut Run| {
            run.env.started_at = from;
            run.env.ended_at = (!to.is_empty()).then_some(to);
        }
    };
    // The other one goes from 04:06:00 to 04:07:30.
    let table = [
        (at("2026-11-21T04:06:00Z", "2026-11-21T04:06:00Z"), 0),
        (at("2026-11-21T04:07:29Z", "2026-11-21T04:09:00Z"), 0),
        (at("2026-11-21T04:07:30Z", "2026-11-21T04:09:00Z"), 1),
        (at("2026-11-20T04:07:00Z", "2026-11-20T04:08:00Z"), 1),
        (at("2026-11-21T04:06:01Z", ""), 0),
        (at("2026-11-21T05:06:01Z", ""), 1),
    ];
    for (index, (change, apart)) in table.into_iter().enumerate() {
        let found = changed(change).unwrap().caveats;
        assert_eq!(
            found.contains(&Caveat::Apart(1)),
            apart == 1,
            "{index}: {found:?}"
        );
    }
    let itself = changed(|run| run.plan.run_id = "a".to_owned()).unwrap();
    assert!(
        itself.caveats.contains(&Caveat::SameRun(1)),
        "{:?}",
        itself.caveats
    );
    let itself = itself.rows.iter().filter_map(|row| row.ratio);
    assert!(itself.map(|ratio| ratio.value).all(|ratio| ratio == 1.0));
    let alike = pairs(3, |_, _| (), |_, _| ());
    assert!(alike.rows.iter().all(|row| row.verdict == Verdict::Same));
    // A run that is there twice would make chance figures significant.
    let (a, b) = (recorded("a", 100), recorded("b", 104));
    let (of_a, of_b) = (summarise(&a), summarise(&b));
    let (a, b) = (of(&a, &of_a), of(&b, &of_b));
    let twice = compare(&[a, b], &[b, b], 0.02).unwrap_err();
    assert_eq!(twice, Difference::Twice("b".to_owned()));
    assert!(compare(&[a, b], &[b, a], 0.02).is_ok());
}

#[test]
fn what_did_not_do_the_same_is_refused_or_said() {
    type Change = fn(&mut Run);
    let refused: [(Change, &str); 6] = [
        (|run| run.plan.suite.sha256 = "f".repeat(64), "Suite(\""),
        (
            |run| run.plan.clock = record::Clock::Kernel,
            "Clock(User), Clock(Kernel)",
        ),
        (|run| run.plan.load.users = 7, "Users(1), Users(7)"),
        (
            |run| run.plan.load.http.version = HttpVersion::Http10,
            "version: Http10",
        ),
        (
            |run| run.plan.load.pace = record::Pace::Closed,
            "pace: Closed",
        ),
        (
            |run| drop(run.plan.params.insert("depth".into(), 77.into())),
            "Params(",
        ),
    ];
    for (change, says) in refused {
        let said = format!("{:?}", changed(change).unwrap_err());
        assert!(said.contains(says), "{said}");
    }
    let harmless: [(Change, &str); 8] = [
        (
            |run| run.plan.target = "https://127.0.0.1/".into(),
            "Scheme(Some(\"http\")), Scheme(Some(\"https\"))",
        ),
        (|run| run.plan.acks = true, "Acks(false), Acks(true)"),
        (
            |run| run.plan.measures[0].verify = record::Verify::None,
            "Verify([First]), Verify([First, None])",
        ),
        (
            |run| run.plan.load.timeout_s = 1.0,
            "Timeout(30.0), Timeout(1.0)",
        ),
        (|run| run.env.machine.cores = 99, "cores: 99"),
        (|run| run.plan.prestan = "9.9".into(), "Version(\"9.9\")"),
        (|run| run.plan.load.requests = Some(7), "Requests(Some(7))"),
        (|run| run.env.ended_at = None, "Incomplete(1)"),
    ];
    for (change, says) in harmless {
        let said = format!("{:?}", changed(change).unwrap().caveats);
        assert!(said.contains(says), "{said}");
    }
    let nothing = compare(&[], &[], 0.02).unwrap_err();
    assert_eq!(nothing, Difference::Pairs(0, 0));
}
