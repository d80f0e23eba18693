//! Rounds with barriers.

use std::time::Duration;

use proptest::prelude::*;
use record::{EventKind, Nanos, Outcome, TestId};

use super::closed::{drawn, server};
use super::server::SeenRequest;
use super::{MS, SimulatedRun, Simulation, span};
use crate::drive::{Drive, Rounds};

const SUITE: &str = "
suite: two
tests:
  - name: First
    requests: REQUESTS
    setup:
      - PUT: a
        body: {size: 8}
    loop:
      - GET: a
        measure: Get
      - think: {uniform: [0ms, 3ms]}
      - PUT: a
        body: {size: 8}
    cleanup: [DELETE: a]
  - name: Second
    shared: true
    setup:
      - PUT: b
        body: {size: 8}
    loop: [{DELETE: b, measure: Delete}]
";

fn run(seed: u64, users: u32, requests: u32, processors: usize) -> SimulatedRun {
    let server = server(processors, drawn(seed, MS, 30 * MS));
    let rounds = Rounds {
        warmup: 2,
        steady_within: Duration::ZERO,
    };
    let suite = SUITE.replace("REQUESTS", &requests.to_string());
    let mut simulation = Simulation::new(&suite, users, Drive::Rounds(rounds), server);
    simulation.seed = seed;
    simulation.run()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn users_meet_before_and_after_what_is_measured(
        seed: u64,
        users in 1_u32..8,
        requests in 1_u32..12,
        processors in 1_usize..5,
    ) {
        let run = run(seed, users, requests, processors);
        prop_assert_eq!(run.count(Outcome::Ok), run.samples.len());
        let times = |is_it: &dyn Fn(&SeenRequest) -> bool| -> Vec<Nanos> {
            run.seen.iter().filter(|one| is_it(one)).map(|one| one.at).collect()
        };
        let mut before = 0;
        for (index, name, measure) in [(0, "First", "Get"), (1, "Second", "Delete")] {
            let of = |phase: &str| {
                let purpose = format!("{name} {phase}");
                times(&|one| one.purpose == purpose)
            };
            let begun = run.at(|kind| *kind == EventKind::MeasuringStarted { test: TestId(index) });
            let begun = begun.unwrap();
            let (set_up, clean_up) = (of("set-up"), of("clean-up"));
            let measured: Vec<_> = run.samples_of(measure).map(span).collect();
            let all_ended = measured.iter().map(|(_, done)| *done).max().unwrap();
            prop_assert!(set_up.iter().chain(&of("warm-up")).all(|at| (before..=begun).contains(at)));
            prop_assert!(measured.iter().all(|(started, _)| *started >= begun));
            prop_assert!(clean_up.iter().all(|at| *at >= all_ended));
            before = *clean_up.iter().max().unwrap();
        }
        // A share each, and more only while others have not done theirs.
        for user in 0..users {
            let own = run.samples_of("Get").filter(|one| one.user == user);
            let spans: Vec<_> = own.map(span).collect();
            prop_assert!(spans.len() >= requests as usize);
            let slowest = (0..users).map(|other| {
                let other = run.samples_of("Get").filter(move |one| one.user == other);
                let mut is_below = other.map(span);
                is_below.nth(requests as usize - 1).unwrap().1
            });
            let slowest = slowest.max().unwrap();
            // A user who is through continues until the rounds of the window have ended, a round at
            // most.
            let late = spans.iter().filter(|(started, _)| *started > slowest + 500 * MS);
            prop_assert_eq!(late.count(), 0);
        }
        // One of the users sets up the shared resource.
        let shared = times(&|one| one.purpose == "Second set-up" && one.method == "PUT");
        prop_assert_eq!(shared.len(), 1);
    }
}
