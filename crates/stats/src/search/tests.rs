//! Results of a search where the truth is known.

mod simulated;

use proptest::prelude::*;

use super::*;

/// Searches with a server that holds up to `truth`; returns the outcome and the loads tried.
fn search(
    mut search: Search,
    mut holds: impl FnMut(OfferedLoad) -> bool,
) -> (SearchOutcome, Vec<OfferedLoad>) {
    let mut tried = Vec::new();
    while let Some(load) = search.next_load() {
        search.learn(load, holds(load));
        tried.push(load);
        assert!(tried.len() <= MOST as usize, "{tried:?}");
    }
    (search.outcome(), tried)
}

fn held(load: OfferedLoad, held: u32) -> Option<Tested> {
    tested(load, held, 0)
}

fn tested(load: OfferedLoad, held: u32, failed: u32) -> Option<Tested> {
    let trials = Tally { held, failed };
    Some(Tested { load, trials })
}

#[test]
fn a_load_is_tested_confirmed_and_looked_at_again() {
    let table = [
        ((1, 0), LoadState::Open),
        ((5, 0), LoadState::Open),
        ((6, 0), LoadState::Passed),
        // A failure: nine of ten.
        ((8, 1), LoadState::Open),
        ((9, 1), LoadState::Passed),
        ((0, 1), LoadState::Open),
        ((0, 2), LoadState::Failed),
        ((8, 2), LoadState::Failed),
        // In a confirmation, and in a last look that goes well: 18 of 20.
        ((9, 2), LoadState::Open),
        ((17, 2), LoadState::Open),
        ((18, 2), LoadState::Passed),
        ((17, 3), LoadState::Failed),
    ];
    for ((held, failed), expected) in table {
        let trials = Tally { held, failed };
        assert_eq!(state(trials), expected, "{held} held, {failed} failed");
        // Whatever passes has rejected that it holds half of the time.
        assert!(state(trials) != LoadState::Passed || TEST.at_least(trials) > 0.5);
        let is_over = is_confirmed(trials) || has_failed_for_good(trials);
        assert_eq!(is_over, held + failed == 20, "{held} held, {failed} failed");
    }
}

#[test]
fn doubling_bisection_confirmation_last_look() {
    let (outcome, tried) = search(Search::for_users(1, 10_000), |load| load <= 23.0);
    let mut runs: Vec<(OfferedLoad, usize)> = Vec::new();
    for load in tried {
        match runs.last_mut() {
            Some((last, number)) if *last == load => *number += 1,
            _ => runs.push((load, 1)),
        }
    }
    let doubling = [(1.0, 1), (2.0, 1), (4.0, 1), (8.0, 1), (16.0, 1), (32.0, 2)];
    let bisection = [(16.0, 5), (23.0, 6), (27.0, 2), (25.0, 2), (24.0, 2)];
    let end = [(23.0, 14), (24.0, 1)];
    assert_eq!(runs, [&doubling[..], &bisection, &end].concat());
    let found = SearchOutcome {
        holds: held(23.0, 20),
        fails: tested(24.0, 0, 3),
        confirmed: true,
    };
    assert_eq!(outcome, found);
}

#[test]
fn a_server_that_holds_everything_or_nothing() {
    let (everything, tried) = search(Search::for_users(1, 100), |_| true);
    assert_eq!(
        (everything.holds, everything.fails),
        (held(100.0, 20), None)
    );
    assert!(everything.confirmed && tried.iter().all(|load| *load <= 100.0));
    let (nothing, tried) = search(Search::for_users(4, 100), |_| false);
    assert_eq!((nothing.holds, nothing.fails), (None, tested(1.0, 0, 3)));
    assert!(!nothing.confirmed);
    assert_eq!(tried, [4.0, 4.0, 2.0, 2.0, 1.0, 1.0, 1.0]);
    let (nothing, _) = search(Search::for_rate(100.0, 1e6, 0.0), |_| false);
    assert_eq!(nothing.holds, None);
}

#[test]
fn a_bad_moment_does_not_hide_all_larger_loads() {
    // The first two trials with 8 users fail.
    let mut seen = 0;
    let (outcome, _) = search(Search::for_users(1, 1_000), |load| {
        seen += u32::from(load == 8.0);
        load <= 50.0 && (load != 8.0 || seen > 2)
    });
    let holds = outcome.holds.unwrap().load;
    assert!(
        outcome.confirmed && (48.0..=50.0).contains(&holds),
        "{outcome:?}"
    );
}

#[test]
fn an_answer_that_is_not_confirmed_gives_way_to_a_lower_load() {
    // 20 users hold six times and then no more.
    let mut with_twenty = 0;
    let (outcome, _) = search(Search::for_users(1, 1_000), |load| {
        with_twenty += u32::from(load == 20.0);
        load < 20.0 || (load == 20.0 && with_twenty <= 6)
    });
    assert_eq!(outcome.holds, held(19.0, 20));
    assert_eq!(outcome.fails, tested(20.0, 6, 3));
}

#[test]
fn what_is_left_is_estimated() {
    let mut search = Search::for_users(1, 10_000);
    while let Some(load) = search.next_load() {
        let left = search.left();
        assert!(left.likely <= left.most, "{left:?}");
        assert_eq!(left.is_least, search.fails().is_none());
        search.learn(load, load <= 23.0);
    }
    let left = search.left();
    assert_eq!((left.likely, left.is_least), (0, false));
    // 32 failed: four more loads, the confirmation and the last look.
    let mut search = Search::for_users(1, 10_000);
    for load in [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 32.0] {
        search.learn(load, load < 32.0);
    }
    assert!(
        (25..50).contains(&search.left().likely),
        "{:?}",
        search.left()
    );
}

proptest! {
    #[test]
    fn the_answer_is_the_truth(truth in 1_u32..5_000, start in 1_u32..50) {
        let truth = f64::from(truth);
        let (outcome, _) = search(Search::for_users(start, 5_000), |load| load <= truth);
        let holds = outcome.holds.unwrap().load;
        prop_assert!(holds <= truth && outcome.confirmed);
        prop_assert!(outcome.fails.is_none_or(|fails| fails.load > truth));
        prop_assert!(holds * (1.0 + NEAR) + 1.0 >= truth, "{outcome:?}");
    }

    #[test]
    fn rates_too(truth in 1.0..1e6_f64) {
        let (outcome, tried) = search(Search::for_rate(10.0, 1e6, 0.0), |load| load <= truth);
        let holds = outcome.holds.unwrap().load;
        prop_assert!(holds <= truth);
        prop_assert!(holds * 1.06 >= truth, "{outcome:?}");
        prop_assert!(tried.len() < 100);
    }

    #[test]
    fn chance_cannot_keep_it_from_ending(
        answers in prop::collection::vec(any::<bool>(), MOST as usize),
        rate in any::<bool>(),
    ) {
        let mut answers = answers.into_iter();
        let begun = if rate {
Search::for_rate(10.0, 1e5, 0.0)
} else {
Search::for_users(1, 64)
};
        let (outcome, tried) = search(begun, |_| answers.next().unwrap());
        prop_assert!(tried.len() <= MOST as usize);
        let loads = outcome.holds.zip(outcome.fails);
        prop_assert!(loads.is_none_or(|(holds, fails)| holds.load < fails.load));
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
