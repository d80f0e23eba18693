//! Servers that do not respond, and runs that are interrupted.

use std::time::Duration;

use proptest::prelude::*;
use record::{EventKind, Nanos, Outcome, Sample};

use super::server::{SimulatedReply, SimulatedServer};
use super::{GET, MS, Simulation, TIMEOUT, lasting, requests, span};
use crate::clock::nanos;
use crate::drive::LoadDrive;
use crate::event_loop::patience::BEAT;

/// Room for the watchdog, which checks at its beat.
const LATE: Nanos = 10 * MS + 1;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn a_user_without_a_response_gives_up_in_time_and_uses_another_connection(
        // One more than are ever left waiting, or the server would be taken for gone.
        users in 8_u32..16,
        never in proptest::collection::btree_set(0_usize..100, 1..8),
    ) {
        let without_response = never.len();
        let server = SimulatedServer::new(8, move |_, number| if never.contains(&number) { SimulatedReply::Never } else { SimulatedReply::After(7 * MS) });
        let load = requests(200);
        let run = Simulation::load(GET, users, load, server).run();
        prop_assert_eq!(run.count(Outcome::Timeout), without_response);
        prop_assert_eq!(run.count(Outcome::Ok), 200 - without_response);
        let timeout = nanos(TIMEOUT);
        for late in run.samples.iter().filter(|one| one.outcome == Outcome::Timeout) {
            let (started, done) = span(late);
            prop_assert!((timeout..=timeout + LATE).contains(&(done - started)), "{}", done - started);
            let next = run.samples.iter().filter(|one| one.user == late.user && one.number > late.number);
            prop_assert!(next.clone().all(|next| next.connection != late.connection));
        }
    }

    #[test]
    fn a_kept_connection_that_ends_is_opened_anew(users in 1_u32..6, every in 2_usize..9) {
        let server = SimulatedServer::new(4, move |_, number| match (number + 1) % every {
            0 => SimulatedReply::Close,
            _ => SimulatedReply::After(3 * MS),
        });
        let load = requests(120);
        let run = Simulation::load(GET, users, load, server).run();
        // GET may be sent again: only requests fail that met two ends in a row on a fresh
        // connection.
        let failed = run.count(Outcome::Reset);
        prop_assert_eq!(run.count(Outcome::Ok) + failed, 120);
        prop_assert!(run.samples.iter().any(|one| one.resent));
        for lost in run.samples.iter().filter(|one| one.outcome == Outcome::Reset) {
            let same = |one: &&Sample| one.connection == lost.connection && one.number < lost.number;
            prop_assert_eq!(run.samples.iter().find(same), None);
        }
    }

    #[test]
    fn an_interrupted_run_ends_within_its_grace(users in 1_u32..10, at in 1_u64..500, is_hung: bool) {
        let server = SimulatedServer::new(4, move |_, number| if is_hung && number > 20 { SimulatedReply::Never } else { SimulatedReply::After(5 * MS) });
        let load = lasting(Duration::from_secs(3600));
        let mut simulation = Simulation::load(GET, users, load, server);
        simulation.interrupted_at = Some(at * MS);
        let run = simulation.run();
        let most = at * MS + 2_000 * MS + 2 * nanos(BEAT) + 30 * MS;
        prop_assert!(run.took <= most, "{} {most}", run.took);
        let failed = run.samples.iter().filter(|one| one.outcome != Outcome::Ok);
        prop_assert!(failed.clone().all(|one| one.outcome == Outcome::Cancelled));
    }
}

#[test]
fn a_server_that_is_gone_ends_a_load_after_five_seconds() {
    let server = SimulatedServer::new(1, |_, number| match number {
        0..50 => SimulatedReply::After(10 * MS),
        _ => SimulatedReply::Close,
    });
    let load = lasting(Duration::from_secs(600));
    let run = Simulation::load(GET, 3, load, server).run();
    let aborted = |kind: &EventKind| matches!(kind, EventKind::Aborted { .. });
    let aborted = run.at(aborted).unwrap();
    let succeeded = run.samples.iter().filter(|one| one.outcome == Outcome::Ok);
    let last = succeeded.map(|one| span(one).1).max().unwrap();
    let silent = aborted - last;
    // The slowest of the users notices it at its next attempt, after a rest of a second at most.
    assert!((5_000 * MS..6_100 * MS).contains(&silent), "{silent}");
    // It did not get a hundred thousand requests meanwhile.
    assert!(run.samples.len() < 200, "{}", run.samples.len());
}

#[test]
fn a_load_of_which_nothing_is_as_expected_ends_after_five_seconds() {
    let run = |first_that_fails: usize, ends_if_all_fail: bool| {
        let server = SimulatedServer::new(1, move |_, number| {
            if number >= first_that_fails {
                SimulatedReply::Status(302)
            } else {
                SimulatedReply::After(MS)
            }
        });
        let pages = "
suite: pages
needs: http
tests:
  - name: Pages
    loop:
      - page: Page0
        steps: [{GET: page, measure: Get}]
      - think: {constant: 100ms}
";
        let load = LoadDrive {
            duration: Some(Duration::from_secs(20)),
            ends_if_all_fail,
            ..LoadDrive::default()
        };
        Simulation::load(pages, 3, load, server).run()
    };
    let aborted = |kind: &EventKind| matches!(kind, EventKind::Aborted { .. });
    let none = run(0, true);
    let silent = none.at(aborted).unwrap() - none.at(begins_to_measure).unwrap();
    assert!((5_000 * MS..5_200 * MS).contains(&silent), "{silent}");
    // Later failures may end.
    let later = run(30, true);
    assert_eq!(later.at(aborted), None);
    // A search for the load that is too much needs the result that all failed.
    let searched = run(0, false);
    assert_eq!(searched.at(aborted), None);
}

fn begins_to_measure(kind: &EventKind) -> bool {
    matches!(kind, EventKind::MeasuringStarted { .. })
}

#[test]
fn one_failure_after_a_pause_is_no_silent_server() {
    let suite = |steps: &str| {
        format!("suite: pausing\nneeds: http\ntests: [{{name: Get, loop: [{steps}]}}]")
    };
    let (get, think) = ("{GET: page, measure: Get}", "{think: {constant: 10s}}");
    let run = |steps: [&str; 2], server: SimulatedServer| {
        let load = LoadDrive {
            requests: Some(5),
            ends_if_all_fail: true,
            ..LoadDrive::default()
        };
        let run = Simulation::load(&suite(&steps.join(", ")), 1, load, server).run();
        let aborted = |kind: &EventKind| matches!(kind, EventKind::Aborted { .. });
        assert_eq!(run.at(aborted), None);
        assert_eq!(run.count(Outcome::Ok), 4);
        run
    };
    // The request is sent again on a new connection, which ends as well.
    let closes = SimulatedServer::new(1, |_, number| match number {
        2 | 3 => SimulatedReply::Close,
        _ => SimulatedReply::After(MS),
    });
    let closing = run([get, think], closes);
    assert_eq!(closing.count(Outcome::Reset), 1);
    // The first response of all comes long after the window has begun.
    let declines = SimulatedServer::new(1, |_, number| match number {
        0 => SimulatedReply::Status(503),
        _ => SimulatedReply::After(MS),
    });
    let declining = run([think, get], declines);
    assert_eq!(declining.count(Outcome::Refused), 1);
}

#[test]
fn a_window_ends_when_it_is_due_where_the_run_is_interrupted_before_anybody_notices() {
    let server = SimulatedServer::new(4, |_, _| SimulatedReply::After(500 * MS));
    let load = lasting(Duration::from_millis(2));
    let mut simulation = Simulation::load(GET, 2, load, server);
    // All wait for their second response.
    simulation.interrupted_at = Some(950 * MS);
    let (begun, ended) = simulation.run().window(0);
    assert_eq!(ended - begun, 2 * MS);
}

/// Connections opened for LOCK, and for GET, with pauses around 1 s.
fn connections_with_pauses(server: SimulatedServer) -> (usize, usize) {
    let suite = "
suite: pausing
tests:
  - name: Pauses
    loop:
      - LOCK: page
        measure: Lock
      - think: {constant: 1100ms}
      - LOCK: page
        measure: Lock
      - think: {constant: 900ms}
      - GET: page
        measure: Get
      - think: {constant: 900ms}
      - GET: page
        measure: Get
      - think: {constant: 900ms}
";
    let run = Simulation::load(suite, 1, requests(3), server).run();
    assert_eq!(run.count(Outcome::Ok), 12);
    let opened = |name| {
        let samples = run.samples_of(name);
        samples.filter(|one| one.connect.is_some()).count()
    };
    (opened("Lock"), opened("Get"))
}

#[test]
fn what_must_not_be_repeated_is_not_sent_on_a_connection_that_is_about_to_end() {
    let server = || SimulatedServer::new(1, |_, _| SimulatedReply::After(MS));
    let limit = 1_000 * MS;
    assert_eq!(connections_with_pauses(server()).1, 0);
    // The second LOCK meets a connection that has ended. From then on none is sent after a pause of
    // 0.9 s.
    let seen = connections_with_pauses(server().with_idle_limit(limit, ""));
    let announced = "Keep-Alive: timeout=1, max=100\r\n";
    let announced_limit = connections_with_pauses(server().with_idle_limit(limit, announced));
    assert_eq!((seen, announced_limit), ((5, 0), (5, 0)));
}
