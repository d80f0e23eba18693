//! Operations of several steps, with pauses or failures in between.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use record::{Arrivals, Nanos, Outcome, Stage};

use super::server::{SeenRequest, SimulatedReply, SimulatedServer};
use super::{MS, SimulatedRun, Simulation, lasting, requests};
use crate::drive::{LoadDrive, Pacing};

/// Locks, thinks, saves and unlocks.
fn editor(think: &str) -> String {
    format!(
        "
suite: editing
needs: webdav
tests:
  - name: Edit
    loop:
      - LOCK: file
        measure: Lock
        save: {{token: lock-token}}
      - think: {{constant: {think}}}
      - PUT: file
        body: {{text: text}}
        measure: Save
        headers: {{If: '({{{{ token }}}})'}}
      - UNLOCK: file
        measure: Unlock
        headers: {{Lock-Token: '{{{{ token }}}}'}}
"
    )
}

/// A server with one lock.
fn locking() -> SimulatedServer {
    let is_locked = Cell::new(false);
    SimulatedServer::new(4, move |seen, _| {
        match seen.method.as_str() {
            "LOCK" if is_locked.replace(true) => return SimulatedReply::Status(423),
            "UNLOCK" => is_locked.set(false),
            _ => {}
        }
        SimulatedReply::After(MS)
    })
}

fn open(rate: f64, duration_s: f64) -> LoadDrive {
    LoadDrive {
        pacing: Pacing::Open {
            arrivals: Arrivals::Constant,
            stages: vec![Stage { rate, duration_s }],
            max_waiting: 1_000,
            spin: Duration::ZERO,
        },
        ..LoadDrive::default()
    }
}

fn counts(run: &SimulatedRun, names: &[&str]) -> Vec<usize> {
    names
        .iter()
        .map(|name| run.samples_of(name).count())
        .collect()
}

#[test]
fn warming_up_ends_what_it_has_begun() {
    let load = LoadDrive {
        warmup: 3,
        ..requests(2)
    };
    // The second time through the loop, the pause is as long as warming up may take.
    let run = Simulation::load(&editor("20s"), 1, load, locking()).run();
    assert_eq!(counts(&run, &["Lock", "Save", "Unlock"]), [2, 2, 2]);
    assert_eq!(run.count(Outcome::Ok), 6);
    let locks = run.seen.iter().filter(|seen| seen.method == "LOCK");
    let unlocks = run.seen.iter().filter(|seen| seen.method == "UNLOCK");
    assert_eq!((locks.count(), unlocks.count()), (4, 4));
}

#[test]
fn an_operation_is_done_to_its_end_whatever_ends_the_run() {
    let by_time = lasting(Duration::from_secs(100));
    for load in [requests(2), by_time, open(0.5, 10.0)] {
        let is_one_file = SimulatedServer::new(4, |_, _| SimulatedReply::After(MS));
        let run = Simulation::load(&editor("60s"), 5, load.clone(), is_one_file).run();
        let found = counts(&run, &["Lock", "Save", "Unlock"]);
        let are_whole = found[0] > 0 && found.iter().all(|one| *one == found[0]);
        assert!(are_whole, "{load:?}: {found:?}");
        assert_eq!(run.count(Outcome::Ok), 3 * found[0], "{load:?}");
    }
}

#[test]
fn what_is_left_when_time_is_over_is_counted() {
    let suite = "
suite: slow
needs: http
tests:
  - name: Get
    loop:
      - {GET: a, measure: A}
      - repeat: 3
        steps: [{GET: b, measure: B}]
";
    // Each request takes 28 s, and none begins 60 s after the end of the schedule.
    let server = SimulatedServer::new(4, |_, _| SimulatedReply::After(28_000 * MS));
    let run = Simulation::load(suite, 1, open(1.0, 2.0), server).run();
    assert_eq!(counts(&run, &["A", "B"]), [2, 6]);
    let dropped = run.count(Outcome::Dropped);
    assert_eq!((run.count(Outcome::Ok), dropped), (3, 5));
}

#[test]
fn pauses_rests_and_releasing_locks_are_nobodys_lateness() {
    let thinking = "
suite: thinking
needs: http
tests:
  - name: Get
    loop:
      - think: {constant: 100ms}
      - {GET: page, measure: Get}
";
    let server = SimulatedServer::new(4, |_, _| SimulatedReply::After(MS));
    let run = Simulation::load(thinking, 10, open(50.0, 4.0), server).run();
    assert_eq!(run.count(Outcome::Ok), 200);
    assert!(run.latest <= 2 * MS, "{}", run.latest);

    // A save without its lock is abandoned, and the lock released, which takes a while.
    let locked = "
suite: broken
needs: webdav
tests:
  - name: Edit
    loop:
      - LOCK: file
        save: {token: lock-token}
      - {PUT: file, body: {text: text}}
      - {GET: file, measure: Get}
      - UNLOCK: file
        headers: {Lock-Token: '{{ token }}'}
";
    let mut saved = 0;
    let server = SimulatedServer::new(4, move |seen, _| match seen.method.as_str() {
        "PUT" => {
            saved += 1;
            if saved % 3 == 0 {
                SimulatedReply::Status(507)
            } else {
                SimulatedReply::After(MS)
            }
        }
        "UNLOCK" => SimulatedReply::After(50 * MS),
        _ => SimulatedReply::After(MS),
    });
    let run = Simulation::load(locked, 2, open(60.0, 3.0), server).run();
    let ended = [Outcome::Dropped, Outcome::Ok].map(|outcome| run.count(outcome));
    assert!(ended.iter().all(|count| *count > 10), "{ended:?}");
    assert!(run.latest <= 2 * MS, "{}", run.latest);
}

#[test]
fn nobody_rests_before_what_is_not_sent() {
    let steps: String = (0..10)
        .map(|step| format!("      - {{GET: page{step}, measure: Get{step}}}\n"))
        .collect();
    let suite = format!(
        "
suite: away
needs: http
tests:
  - name: Get
    loop:
      - GET: first
{steps}"
    );
    let is_back = Rc::new(Cell::new(0));
    let back = Rc::clone(&is_back);
    // The server is away for four seconds.
    let server = SimulatedServer::new(64, move |seen, _| {
        if (2_000 * MS..6_000 * MS).contains(&seen.at) {
            return SimulatedReply::Close;
        }
        back.set(seen.at);
        SimulatedReply::After(MS)
    });
    let run = Simulation::load(&suite, 16, open(50.0, 10.0), server).run();
    // As soon as it is back, no user is busy with requests that are not sent.
    let later = run.samples_of("Get0").map(|one| one.moments);
    let later = later.filter(|one| one.planned > 6_100 * MS);
    let waited: Vec<Nanos> = later.map(|one| one.started - one.planned).collect();
    let is_short = waited.len() > 150 && waited.iter().all(|waited| *waited < 50 * MS);
    assert!(is_short, "{waited:?}");
    assert!(is_back.get() > 9_000 * MS);
}

#[test]
fn numbers_are_those_of_operations() {
    let suite = "
suite: numbered
needs: http
tests:
  - name: Get
    setup: [{OPTIONS: page}]
    loop: [{GET: page, measure: Get}]
    cleanup: [{HEAD: page}]
";
    let server = SimulatedServer::new(4, |_, _| SimulatedReply::After(MS));
    let load = LoadDrive {
        warmup: 2,
        ..requests(20)
    };
    let run = Simulation::load(suite, 3, load, server).run();
    let mut numbers: Vec<u64> = run.seen.iter().map(|seen| seen.number).collect();
    numbers.retain(|number| *number > 0);
    numbers.sort_unstable();
    assert!(numbers.into_iter().eq(1..=20));
    // Set-up and clean-up are done without collections, too.
    for (method, purpose) in [("OPTIONS", "Get set-up"), ("HEAD", "Get clean-up")] {
        let is_it = |seen: &&SeenRequest| seen.method == method && seen.purpose == purpose;
        assert_eq!(run.seen.iter().filter(is_it).count(), 3, "{method}");
    }
}

#[test]
fn contents_are_looked_at_once_by_each_user() {
    let suite = "
suite: contents
needs: http
tests:
  - name: Get
    loop:
      - GET: page
        measure: Get
        expect: {contains: [absent]}
";
    let server = SimulatedServer::new(4, |_, _| SimulatedReply::After(MS));
    let run = Simulation::load(suite, 3, requests(30), server).run();
    let counts = (run.count(Outcome::WrongBody), run.count(Outcome::Ok));
    assert_eq!(counts, (3, 27));
}

#[test]
fn what_is_chosen_without_being_measured_is_done_as_often_as_its_weight_says() {
    let suite = "
suite: chosen
needs: http
tests:
  - name: Get
    loop:
      - choose:
          - weight: 3
            steps: [{GET: page, measure: Get}]
          - weight: 1
            steps: [{OPTIONS: page}]
";
    let server = SimulatedServer::new(4, |_, _| SimulatedReply::After(MS));
    let run = Simulation::load(suite, 4, requests(4_000), server).run();
    let is_options = |seen: &&SeenRequest| seen.method == "OPTIONS";
    let requested = run.seen.iter().filter(is_options).count();
    assert_eq!(requested + run.samples.len(), 4_000);
    // Four standard deviations.
    assert!(requested.abs_diff(1_000) < 110, "{requested}");
}

#[test]
fn a_thread_that_is_through_ends_nobodys_schedule() {
    // The last operation of the first thread is 40 s before that of the second.
    let mut load = open(0.025, 120.0);
    load.requests = Some(3);
    let server = SimulatedServer::new(4, |_, _| SimulatedReply::After(MS));
    let mut simulation = Simulation::load(super::GET, 2, load, server);
    simulation.threads = 2;
    let run = simulation.run();
    let counts = (run.count(Outcome::Ok), run.count(Outcome::Dropped));
    assert_eq!(counts, (3, 0));
}
