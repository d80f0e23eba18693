use proptest::prelude::*;
use record::{Nanos, Outcome, Pace, Run};

use super::LoadCourse;
use crate::Resolution;
use crate::testing::{RunBuilder, US, details, open_loop};

const MS: Nanos = 1_000 * US;

fn course(run: &Run) -> Option<LoadCourse> {
    details(run, Resolution::for_rows(1))
        .into_iter()
        .next()?
        .load
}

/// An operation each millisecond, sent two milliseconds after it was planned.
fn late(n: u64) -> Run {
    RunBuilder::new(1)
        .with(|run| run.plan.load.pace = open_loop())
        .test("Get", &[("Get", "GET")])
        .ok("Get", n, |_| 100)
        .with(|run| {
            for (index, sample) in run.samples.iter_mut().enumerate() {
                let moments = &mut sample.moments;
                let by = (index as u64 + 2) * MS - moments.started;
                moments.planned = index as u64 * MS;
                moments.started += by;
                for moment in [&mut moments.sent, &mut moments.first, &mut moments.done] {
                    *moment = moment.map(|moment| moment + by);
                }
                sample.status = Some(200);
            }
        })
        .build()
}

#[test]
fn what_was_planned_is_beside_what_was_sent() {
    let mut run = late(1_000);
    for sample in &mut run.samples[600..] {
        sample.outcome = Outcome::Dropped;
        sample.status = None;
        sample.moments.done = None;
    }
    let course = course(&run).unwrap();
    assert!(course.open);
    let planned: u64 = course.parts.iter().map(|part| part.planned).sum();
    let sent: u64 = course.parts.iter().map(|part| part.sent).sum();
    let done: u64 = course.parts.iter().map(|part| part.done).sum();
    assert_eq!((planned, sent, done), (1_000, 600, 600));
    assert!(
        (20..40).contains(&course.parts.len()),
        "{}",
        course.parts.len()
    );
    // Nothing is sent after six tenths of the time, though as much is planned.
    let part = &course.parts[course.parts.len() * 8 / 10];
    assert!(part.planned > 20 && part.sent == 0, "{part:?}");
    let endings: Vec<_> = part
        .endings
        .keys()
        .map(|ending| (ending.status, ending.outcome))
        .collect();
    assert_eq!(endings, [(None, Outcome::Dropped)]);
    // Latencies are those from the schedule.
    let [median, ..] = course.parts[10].percentiles;
    let expected = 2 * MS + 110 * US;
    assert!(
        median.unwrap().abs_diff(expected) < expected / 100,
        "{median:?}"
    );
}

#[test]
fn a_percentile_needs_operations_beyond_it() {
    let run = late(1_000);
    let course = course(&run).unwrap();
    // Some thirty operations each.
    let part = &course.parts[10];
    assert!((25..40).contains(&part.sent), "{part:?}");
    assert!(part.percentiles[1].is_some() && part.percentiles[2].is_none());
    // A dozen are not spread over parts of one each.
    let few = self::course(&late(12)).unwrap();
    assert!((2..=4).contains(&few.parts.len()), "{few:?}");
    assert!(few.parts[1].percentiles[0].is_some(), "{few:?}");
    // Where there are more, parts are longer before they are too few.
    let course = self::course(&late(9_000)).unwrap();
    let has_all = course
        .parts
        .iter()
        .filter(|part| part.percentiles[2].is_some());
    assert!(has_all.count() >= course.parts.len() - 2, "{course:?}");
}

#[test]
fn a_suite_has_no_course() {
    let run = RunBuilder::new(1)
        .test("Get", &[("Get", "GET")])
        .ok("Get", 10, |_| 100)
        .build();
    assert_eq!(run.plan.load.pace, Pace::Rounds);
    assert_eq!(course(&run), None);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_order_of_samples_leaves_no_trace(
        n in 1_u64..400,
        turn in 0_usize..400,
    ) {
        let run = late(n);
        let mut turned = run.clone();
        let turn = turn % turned.samples.len();
        turned.samples.rotate_left(turn);
        prop_assert_eq!(course(&run), course(&turned));
    }
}
