//! What a search finds where the truth is known.

use proptest::prelude::*;

use super::*;
use crate::summarise;
use crate::testing::RunBuilder;
use record::Outcome;

/// Searches with a server that holds up to `truth`; returns the answer and the loads tried.
fn search(mut search: Search, mut holds: impl FnMut(Load) -> bool) -> (Answer, Vec<Load>) {
    let mut tried = Vec::new();
    while let Some(load) = search.next_load() {
        search.learn(load, holds(load));
        tried.push(load);
        assert!(tried.len() <= MOST as usize, "{tried:?}");
    }
    (search.answer(), tried)
}

#[test]
fn doubling_bisection_confirmation() {
    let (answer, tried) = search(Search::of_users(1, 10_000), |load| load <= 23.0);
    assert_eq!(
        tried,
        [
            1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 32.0, 23.0, 27.0, 27.0, 25.0, 25.0, 24.0, 24.0, 23.0,
            23.0
        ]
    );
    let found = Answer {
        held: Some(23.0),
        broken: Some(24.0),
        confirmed: true,
    };
    assert_eq!(answer, found);
}

#[test]
fn a_server_that_holds_everything_or_nothing() {
    let (everything, tried) = search(Search::of_users(1, 100), |_| true);
    assert_eq!((everything.held, everything.broken), (Some(100.0), None));
    assert!(everything.confirmed && tried.iter().all(|load| *load <= 100.0));
    let (nothing, tried) = search(Search::of_users(4, 100), |_| false);
    assert_eq!((nothing.held, nothing.broken), (None, Some(1.0)));
    assert!(!nothing.confirmed);
    assert_eq!(tried, [4.0, 4.0, 2.0, 2.0, 1.0, 1.0]);
    let (nothing, _) = search(Search::of_rate(100.0, 1e6, 0.0), |_| false);
    assert_eq!(nothing.held, None);
}

#[test]
fn one_bad_trial_does_not_end_it() {
    let mut seen = 0;
    let (answer, _) = search(Search::of_users(1, 1_000), |load| {
        seen += u32::from(load == 8.0);
        load <= 50.0 && (load != 8.0 || seen != 1)
    });
    assert_eq!((answer.held, answer.broken), (Some(49.0), Some(51.0)));
}

proptest! {
    #[test]
    fn the_answer_is_the_truth(truth in 1_u32..5_000, start in 1_u32..50) {
        let truth = f64::from(truth);
        let (answer, _) = search(Search::of_users(start, 5_000), |load| load <= truth);
        let held = answer.held.unwrap();
        prop_assert!(held <= truth && answer.confirmed);
        prop_assert!(answer.broken.is_none_or(|broken| broken > truth));
        prop_assert!(held * (1.0 + NEAR) + 1.0 >= truth, "{answer:?}");
    }

    #[test]
    fn rates_too(truth in 1.0..1e6_f64) {
        let (answer, tried) = search(Search::of_rate(10.0, 1e6, 0.0), |load| load <= truth);
        prop_assert!(answer.held.unwrap() <= truth);
        prop_assert!(answer.held.unwrap() * 1.06 >= truth, "{answer:?}");
        prop_assert!(tried.len() < 60);
    }

    #[test]
    fn chance_cannot_keep_it_from_ending(answers in prop::collection::vec(any::<bool>(), 200)) {
        let mut answers = answers.into_iter();
        let (_, tried) = search(Search::of_rate(10.0, 1e5, 0.0), |_| answers.next().unwrap());
        prop_assert!(tried.len() <= MOST as usize);
    }

    #[test]
    fn any_text_is_a_condition_or_an_error(text in ".{0,60}") {
        let _ = text.parse::<Condition>();
    }
}

#[test]
fn the_knee_is_where_power_is_greatest() {
    // A closed loop: eight users keep the server busy, more of them only wait.
    let trial = |users: f64| {
        let mean = 1e6 * (users / 8.0_f64).max(1.0);
        Trial {
            load: users,
            per_second: users * 1e9 / mean,
            mean,
        }
    };
    let curve = |loads: &[f64]| loads.iter().copied().map(trial).collect::<Vec<_>>();
    let found = knee(&curve(&[1.0, 2.0, 4.0, 8.0, 16.0, 16.0, 32.0]));
    assert_eq!(found, Some(8.0));
    assert_eq!(knee(&curve(&[1.0, 2.0, 4.0])), None);
    assert_eq!(knee(&[]), None);
    // With the smallest load that was tried, it may lie below; below one user there is nothing.
    assert_eq!(knee(&curve(&[16.0, 32.0, 64.0])), None);
    let busy = |users: f64| Trial {
        per_second: 1e3,
        ..trial(users * 8.0)
    };
    let alone = |loads: [f64; 3]| knee(&loads.map(|load| Trial { load, ..busy(load) }));
    assert_eq!(alone([1.0, 2.0, 4.0]), Some(1.0));
    assert_eq!(alone([2.0, 4.0, 8.0]), None);
}

/// A result of one row, of which one operation in fifty failed.
fn summary() -> Summary {
    let run = RunBuilder::new(1)
        .test("Load", &[("GET", "GET")])
        .ok("GET", 49, |i| 100 + i)
        .ops("GET", 1, Outcome::WrongStatus, |_| 1);
    summarise(&run.build())
}

use crate::Summary;

#[test]
fn conditions_hold_or_do_not() {
    let table = [
        ("p99 < 50ms", true),
        ("p50 < 120us", false),
        ("mean<0.2ms and failures==1", true),
        ("failures == 0", false),
        ("failure_rate <= 2%", true),
        ("failure_rate < 1%", false),
        ("not max > 1s or p999 > 1ns", true),
        ("(p95 / p50) < 2 and operations == 50", true),
        ("100us < p50 < 200us", true),
    ];
    for (text, expected) in table {
        let condition: Condition = text.parse().unwrap();
        assert_eq!(condition.holds(&summary()), Ok(expected), "{text}");
        assert_eq!(condition.to_string(), text);
    }
}

#[test]
fn what_is_no_condition_is_explained() {
    let table = [
        ("", "no condition"),
        ("p98 < 3ms", "there is no `p98`"),
        ("p50 < 3ms or p98 < 3ms", "there is no `p98`"),
        ("p99", "compare something"),
        ("p99 < 3min", "`min` is no unit"),
        ("p99 < 1.2.3ms", "`1.2.3` is no number"),
        ("p99 <", "no condition"),
        ("p99 < 50ms and", "no condition"),
        ("range(100000000)|list == 3", "no condition"),
    ];
    for (text, says) in table {
        let error = text.parse::<Condition>().unwrap_err().to_string();
        assert!(error.contains(says), "{text}: {error}");
    }
    let long = "p99 < 1ms and ".repeat(100);
    assert!(long.parse::<Condition>().is_err());
}
