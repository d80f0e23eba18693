//! Load runs: their command lines, their samples, and common properties.

use std::thread;
use std::time::{Duration, Instant};

use record::{EventKind, Outcome as Ended, Run};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use testbed::fault::ServedExchange;

use super::faulty::{Faulty, checked};
use super::rows::rows;
use super::{Outcome, Prestan, Running};

/// A file on the demo server, with its URL at the fault server.
pub(crate) fn file(server: &Faulty, name: &str) -> String {
    std::fs::write(server.demo.root().join(name), "some text").unwrap();
    format!("{}{name}", server.url())
}
/// The demo server behind a fault server without faults.
pub(crate) fn plain() -> Faulty {
    Faulty::new(|builder| builder)
}

/// A suite whose only test reads a file again and again, with these lines above it and these steps
/// behind each reading.
pub(crate) fn reading(above: &str, steps: &str) -> String {
    format!(
        "suite: reading\n{above}tests:\n  - name: Reading\n    setup:\n      - PUT: doc\n        body: {{size: 1KiB}}\n    \
         loop:\n      - GET: doc\n        measure: Read\n{steps}"
    )
}

/// A run of Get1K without end that has measured something.
pub(crate) fn at_work(prestan: Prestan, server: &Faulty, run_id: &str) -> Running {
    let before = server.measured("Get1K").len();
    let running = prestan!(prestan => "{server} --only Get1K -r 1000000 --run-id {run_id}").spawn();
    until("the server has seen measured requests", || {
        server.measured("Get1K").len() > before + 20
    });
    running
}

pub(crate) fn kept(outcome: &Outcome) -> Run {
    rundir::load(&outcome.run()).unwrap()
}

/// When the schedule or the window of a run began.
pub(crate) fn begun(run: &Run) -> u64 {
    let began = |kind: &EventKind| matches!(kind, EventKind::MeasuringStarted { .. });
    let event = run.events.iter().find(|event| began(&event.kind));
    event.unwrap().at
}

/// Operations of a run that ended so.
pub(crate) fn ended(run: &Run, outcome: Ended) -> usize {
    let samples = run.samples.iter();
    samples.filter(|sample| sample.outcome == outcome).count()
}

/// Requests of the run that the server saw, warm-up included, without the probe and requests
/// outside of the run.
pub(crate) fn seen(server: &Faulty, method: &str) -> Vec<ServedExchange> {
    let tag = format!("({method})");
    let mut exchanges = server.exchanges();
    exchanges.retain(|exchange| exchange.method == method && exchange.label().ends_with(&tag));
    exchanges
}

/// Checks the properties of every load run that ended normally, and returns the result: each number
/// once, each operation with one outcome, all in the report, and the report the same again.
#[track_caller]
pub(crate) fn counted(outcome: &Outcome) -> (Value, Run) {
    let result = checked(outcome);
    let run = kept(outcome);
    let mut numbers: Vec<u64> = run.samples.iter().map(|sample| sample.number).collect();
    numbers.sort_unstable();
    let all = 1..=numbers.len() as u64;
    assert!(numbers.iter().copied().eq(all), "{numbers:?}\n{outcome}");
    let reported: u64 = rows(&result).iter().map(operations).sum();
    assert_eq!(reported, run.samples.len() as u64, "{outcome}");
    (result, run)
}

/// All operations of a row, in the window and outside.
pub(crate) fn operations(row: &Value) -> u64 {
    row["operations"].as_u64().unwrap() + row["left_out"].as_u64().unwrap()
}

/// Waits for a visible condition, and fails if it does not become true.
#[track_caller]
pub(crate) fn until(what: &str, mut seen: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(120);
    while !seen() {
        assert!(Instant::now() < deadline, "waited too long until {what}");
        thread::park_timeout(Duration::from_millis(2)); // between two looks
    }
}

pub(crate) fn send(running: &Running, signal: Signal) {
    send_to(running.id(), signal);
}

/// To a process that another one started.
pub(crate) fn send_to(process: u32, signal: Signal) {
    let pid = Pid::from_raw(process.cast_signed()).unwrap();
    kill_process(pid, signal).unwrap();
}
