//! What is said of recorded runs: of rows, of failures, and of what was not the same.

use record::Outcome;

use super::super::*;
use crate::summarise;
use crate::testing::RunBuilder;

/// A recorded run of two rows with these times in microseconds.
fn recorded(id: &str, us: u64) -> record::Run {
    let builder = RunBuilder::new(1)
        .test("Upload", &[("Put1K", "PUT")])
        .ok("Put1K", 60, |i| us + i % 7)
        .test("Fetch", &[("Get1K", "GET")])
        .ok("Get1K", 60, |i| 50 + i % 5);
    builder.with(|run| run.plan.run_id = id.to_owned()).build()
}

fn of<'a>(run: &'a record::Run, summary: &'a Summary) -> Side<'a> {
    Side {
        plan: &run.plan,
        env: &run.env,
        summary,
    }
}

/// Compares two runs, the second of them with a change.
fn changed(change: impl FnOnce(&mut record::Run)) -> Result<Comparison, Difference> {
    let (a, mut b) = (recorded("a", 100), recorded("b", 100));
    change(&mut b);
    let (of_a, of_b) = (summarise(&a), summarise(&b));
    compare(&[of(&a, &of_a)], &[of(&b, &of_b)], 0.02)
}

#[test]
fn rows_are_compared_one_by_one() {
    let slower = changed(|run| *run = recorded("b", 150)).unwrap();
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
    assert!(ratio.p_holm >= ratio.p && ratio.p_holm < 0.05);
    assert_eq!(slower.caveats, [Caveat::OneRun]);
}

/// Lets so many operations of the first row fail.
fn fail(run: &mut record::Run, operations: usize) {
    let of_row = run
        .samples
        .iter_mut()
        .filter(|sample| sample.measure.0 == 0);
    for sample in of_row.take(operations) {
        sample.outcome = Outcome::WrongStatus;
    }
}

fn not_supported(run: &mut record::Run) {
    run.samples.retain(|sample| sample.measure.0 != 0);
    event(run, |test| record::EventKind::NotSupported {
        test,
        step: None,
        evidence: "405".to_owned(),
    });
}

fn not_set_up(run: &mut record::Run) {
    run.samples.retain(|sample| sample.measure.0 != 0);
    event(run, |test| record::EventKind::TestFailed {
        test,
        evidence: "PUT: 500".to_owned(),
    });
}

fn event(run: &mut record::Run, kind: impl FnOnce(record::TestId) -> record::EventKind) {
    let kind = kind(run.plan.measures[0].test);
    run.events.push(record::Event { at: 0, kind });
}

/// The first row of two runs, each with a change.
fn first_row(
    change_a: impl FnOnce(&mut record::Run),
    change_b: impl FnOnce(&mut record::Run),
) -> Compared {
    let (mut a, mut b) = (recorded("a", 100), recorded("b", 100));
    change_a(&mut a);
    change_b(&mut b);
    let (of_a, of_b) = (summarise(&a), summarise(&b));
    let found = compare(&[of(&a, &of_a)], &[of(&b, &of_b)], 0.02);
    found.unwrap().rows.remove(0)
}

#[test]
fn failures_are_compared_too() {
    use Verdict::{Broken, NotCompared, Repaired, Unclear};
    let table = [
        // One failure of many may be chance.
        ((0, 1), Unclear, Unclear),
        ((0, 20), Broken, Repaired),
        ((1, 60), Broken, Repaired),
        ((3, 5), Unclear, Unclear),
        ((7, 7), NotCompared, NotCompared),
        ((60, 60), NotCompared, NotCompared),
    ];
    for ((a, b), there, back) in table {
        let row = first_row(|run| fail(run, a), |run| fail(run, b));
        assert_eq!(row.verdict, there, "{a} and {b}: {row:?}");
        assert_eq!(
            (row.ratio, row.b.failed, row.b.operations),
            (None, b as u64, 60)
        );
        let sure = row.failing.is_some_and(|failing| failing.p_holm < ALPHA);
        assert_eq!(sure, there == Broken, "{row:?}");
        let turned = first_row(|run| fail(run, b), |run| fail(run, a));
        assert_eq!(turned.verdict, back, "{b} and {a}");
    }
    // Failures are in the family of all tests: the other row has a p-value, too.
    let row = first_row(|_| (), |run| fail(run, 6));
    let failing = row.failing.unwrap();
    assert!(
        failing.p < ALPHA && failing.p_holm == (2.0 * failing.p).min(1.0),
        "{failing:?}"
    );
    assert_eq!(row.verdict, Unclear);
}

#[test]
fn what_cannot_be_measured_at_all_is_compared_by_what_stands_in_its_way() {
    use Verdict::{Broken, Gained, Lost, NotCompared, Repaired};
    type Change = fn(&mut record::Run);
    let (fine, some, all): (Change, Change, Change) =
        (|_| (), |run| fail(run, 20), |run| fail(run, 60));
    let table: [(Change, Change, Verdict, Verdict); 8] = [
        (fine, not_supported, Lost, Gained),
        // Only what is ok can be lost or gained.
        (some, not_supported, NotCompared, NotCompared),
        (all, not_supported, NotCompared, NotCompared),
        (not_supported, not_supported, NotCompared, NotCompared),
        (fine, not_set_up, Broken, Repaired),
        (some, not_set_up, Broken, Repaired),
        (all, not_set_up, NotCompared, NotCompared),
        (not_set_up, not_set_up, NotCompared, NotCompared),
    ];
    for (place, (a, b, there, back)) in table.into_iter().enumerate() {
        assert_eq!(first_row(a, b).verdict, there, "{place}");
        assert_eq!(first_row(b, a).verdict, back, "{place}");
    }
}

#[test]
fn what_an_interrupted_run_did_not_reach_is_not_broken() {
    let cut_off = |run: &mut record::Run| {
        run.samples.retain(|sample| sample.measure.0 != 1);
        let kind = record::EventKind::Interrupted;
        run.events.push(record::Event { at: 0, kind });
    };
    let cut = changed(cut_off).unwrap();
    let verdicts: Vec<Verdict> = cut.rows.iter().map(|row| row.verdict).collect();
    assert_eq!(verdicts, [Verdict::Same, Verdict::NotCompared]);
    assert!(cut.caveats.contains(&Caveat::Incomplete(1)));
    // What failed before is a failure all the same.
    let failed = changed(|run| {
        cut_off(run);
        fail(run, 60);
    });
    assert_eq!(failed.unwrap().rows[0].verdict, Verdict::Broken);
}

#[test]
fn failures_outside_the_window_have_operations_outside_the_window_beside_them() {
    // The second user begins late: what the first one did before is left out.
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
    let (a, b) = (run("a", 0), run("b", 30));
    let (of_a, of_b) = (summarise(&a), summarise(&b));
    let row = compare(&[of(&a, &of_a)], &[of(&b, &of_b)], 0.02)
        .unwrap()
        .rows
        .remove(0);
    assert_eq!((row.b.failed, row.b.operations), (30, 80), "{row:?}");
    assert_eq!(row.verdict, Verdict::Broken);
}

#[test]
fn in_an_open_loop_waiting_is_part_of_the_time() {
    // The server answers as fast, and keeps everybody waiting.
    let run = |id: &str, late: u64| {
        let waits = |run: &mut record::Run| {
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
    let (of_a, of_b) = (summarise(&a), summarise(&b));
    let found = compare(&[of(&a, &of_a)], &[of(&b, &of_b)], 0.02).unwrap();
    assert_eq!(found.since, Since::Planned);
    let row = &found.rows[0];
    assert_eq!(row.verdict, Verdict::Slower, "{row:?}");
    let waited = of_b.tests[0].waited().unwrap().mean;
    assert!((row.b.mean.unwrap() - waited).abs() < 1.0, "{row:?}");
    assert_eq!(changed(|_| ()).unwrap().since, Since::Sent);
}

#[test]
fn runs_that_were_not_made_at_the_same_time_are_told() {
    let at = |from: &str, to: &str| {
        let (from, to) = (from.to_owned(), to.to_owned());
        move |run: &mut record::Run| {
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
    for (place, (change, apart)) in table.into_iter().enumerate() {
        let found = changed(change).unwrap().caveats;
        assert_eq!(
            found.contains(&Caveat::Apart(1)),
            apart == 1,
            "{place}: {found:?}"
        );
    }
    let itself = changed(|run| run.plan.run_id = "a".to_owned()).unwrap();
    assert!(
        itself.caveats.contains(&Caveat::SameRun(1)),
        "{:?}",
        itself.caveats
    );
    assert!(itself.rows.iter().all(|row| row.verdict == Verdict::Same));
    // A run that is there twice would make its chance figures sure ones.
    let (a, b) = (recorded("a", 100), recorded("b", 104));
    let (of_a, of_b) = (summarise(&a), summarise(&b));
    let (a, b) = (of(&a, &of_a), of(&b, &of_b));
    let twice = compare(&[a, b], &[b, b], 0.02).unwrap_err().to_string();
    assert!(
        twice.contains("the run b is given more than once"),
        "{twice}"
    );
    assert!(compare(&[a, b], &[b, a], 0.02).is_ok());
}

#[test]
fn what_did_not_do_the_same_is_refused_or_said() {
    type Change = fn(&mut record::Run);
    let refused: [(Change, &str); 6] = [
        (|run| run.plan.suite.sha256 = "f".repeat(64), "the suite"),
        (
            |run| run.plan.clock = record::Clock::Kernel,
            "the clock is user in one",
        ),
        (
            |run| run.plan.load.users = 7,
            "the number of users is 1 in one and 7",
        ),
        (|run| run.plan.load.http.minor = 0, "the way of HTTP"),
        (|run| run.plan.load.pace = record::Pace::Closed, "the load"),
        (
            |run| drop(run.plan.params.insert("depth".into(), 77.into())),
            "the set of parameters",
        ),
    ];
    for (change, says) in refused {
        let said = changed(change).unwrap_err().to_string();
        assert!(said.contains(says), "{said}");
    }
    let harmless: [(Change, &str); 7] = [
        (
            |run| run.plan.target = "https://127.0.0.1/".into(),
            "the scheme of the URL is http in one and https",
        ),
        (|run| run.plan.acks = true, "acknowledgements is not asked"),
        (|run| run.plan.load.timeout_s = 1.0, "the timeout is 30 s"),
        (
            |run| run.env.machine.cores = 99,
            "the machine that measured is",
        ),
        (
            |run| run.plan.prestan = "9.9".into(),
            "the version of prestan",
        ),
        (
            |run| run.plan.load.requests = Some(7),
            "the number of requests",
        ),
        (|run| run.env.ended_at = None, "did not go through"),
    ];
    for (change, says) in harmless {
        let said: Vec<String> = match changed(change) {
            Ok(comparison) => comparison.caveats.iter().map(ToString::to_string).collect(),
            Err(error) => panic!("{error}"),
        };
        assert!(said.iter().any(|said| said.contains(says)), "{said:?}");
    }
    let nothing = compare(&[], &[], 0.02).unwrap_err().to_string();
    assert!(nothing.contains("as many of both"), "{nothing}");
}
