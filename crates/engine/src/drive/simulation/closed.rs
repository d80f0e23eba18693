//! The closed loop.

use std::time::Duration;

use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use record::{Nanos, Outcome};

use super::server::{SimulatedReply, SimulatedServer};
use super::{GET, MS, Simulation, lasting, queue, span};

/// Work that is drawn between two bounds.
pub(super) fn drawn(
    seed: u64,
    from: Nanos,
    to: Nanos,
) -> impl Fn(usize) -> Nanos + Clone + 'static {
    move |number| {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(number as u64);
        rng.random_range(from..=to)
    }
}

pub(super) fn server(
    processors: usize,
    work: impl Fn(usize) -> Nanos + 'static,
) -> SimulatedServer {
    SimulatedServer::new(processors, move |_, number| {
        SimulatedReply::After(work(number))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn so_many_operations_are_those_of_the_queueing_model(
        seed: u64,
        users in 1_u32..20,
        processors in 1_usize..6,
        requests in 1_u64..150,
    ) {
        let requests = requests.max(u64::from(users));
        let work = drawn(seed, MS, 20 * MS);
        let run = Simulation::load(GET, users, super::requests(requests), server(processors, work.clone())).run();
        let (begun, ended) = run.window(0);
        let work: Vec<Nanos> = (0..requests as usize).map(work).collect();
        let expected = queue::closed(users as usize, processors, begun, &work);
        let mut spans: Vec<_> = run.samples.iter().map(span).collect();
        spans.sort_unstable();
        prop_assert_eq!(spans, expected);
        prop_assert_eq!(run.count(Outcome::Ok) as u64, requests);
        // Each user begins when its last operation has ended, until none is left.
        for user in 0..users {
            let spans: Vec<_> = run.samples.iter().filter(|one| one.user == user).map(span).collect();
            prop_assert!(spans.windows(2).all(|two| two[0].1 == two[1].0), "{spans:?}");
        }
        let numbers: std::collections::BTreeSet<u64> = run.samples.iter().map(|one| one.number).collect();
        prop_assert!(numbers.into_iter().eq(1..=requests));
        prop_assert!(run.samples.iter().all(|one| one.moments.started <= ended));
    }

    #[test]
    fn a_window_opens_in_a_steady_state_and_all_are_at_work_until_what_counts_has_ended(
        seed: u64,
        users in 1_u32..12,
        processors in 1_usize..6,
        duration in 30_u64..2_000,
    ) {
        let work = drawn(seed, MS, 60 * MS);
        let load = lasting(Duration::from_millis(duration));
        let run = Simulation::load(GET, users, load, server(processors, work)).run();
        let (begun, ended) = run.window(0);
        prop_assert_eq!(ended - begun, duration * MS);
        let of = |user: u32| run.samples.iter().filter(move |one| one.user == user).map(span);
        let counts = |(started, _): &(Nanos, Nanos)| (begun..=ended).contains(started);
        let last = run.samples.iter().map(span).filter(counts).map(|(_, done)| done).max();
        for user in 0..users {
            // Each had ended an operation when the window opened.
            let first = of(user).map(|(_, done)| done).min();
            prop_assert!(first.is_some_and(|first| first <= begun), "{user} {first:?} {begun}");
            // And has operations in progress without a gap until the last counted one has ended.
            let mut spans: Vec<_> = of(user).collect();
            spans.sort_unstable();
            prop_assert!(spans.windows(2).all(|two| two[0].1 == two[1].0));
            let until = spans.last().unwrap().1;
            prop_assert!(last.is_none_or(|last| until >= last), "{until} {last:?}");
        }
    }

    #[test]
    fn users_who_think_get_as_much_done_as_the_response_time_law_says(
        users in 1_u32..30,
        work in 1_u64..50,
        pause in 1_u64..100,
    ) {
        let suite = format!(
            "suite: thinking\nneeds: http\ntests:\n  - name: Get\n    loop:\n      \
             - GET: page\n        measure: Get\n      - think: {{constant: {pause}ms}}\n"
        );
        let load = lasting(Duration::from_secs(10));
        // As many processors as users: none waits for another.
        let server = server(users as usize, move |_| work * MS);
        let run = Simulation::load(&suite, users, load, server).run();
        let (begun, ended) = run.window(0);
        let counted = run.samples.iter().filter(|one| (begun..ended).contains(&one.moments.started));
        let expected = f64::from(users) * 10e3 / (work + pause) as f64;
        let off = (counted.count() as f64 - expected).abs();
        // One operation more or less for each user.
        prop_assert!(off <= f64::from(users), "{off} of {expected}");
        // No user pauses to the end when nothing counts any more.
        prop_assert!(run.took <= ended + work * MS + 20 * MS, "{} {ended}", run.took);
    }
}
