//! Whole runs side by side, each with a separate user and server, which take turns with their
//! tests.

use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use record::{EventKind, Http, Nanos, TestId};
use suite::Overrides;
use wire::auth::{AuthScheme, Authenticator};

use super::closed::{drawn, server};
use super::server::SimulatedServer;
use super::{EventLog, MS, TIMEOUT, config, context};
use crate::clock::simulated::SimulatedTime;
use crate::clock::{RunClock, nanos};
use crate::connection::route::HttpOptions;
use crate::drive::Rounds;
use crate::drive::rounds::RoundsOfUser;
use crate::drive::step::prepare_tests;
use crate::drive::turns::{Turn, Turns};
use crate::drive::worker::Worker;
use crate::event_loop::cancel::Cancel;
use crate::event_loop::{EventLoop, next_lost, sleep_until, spawn};
use crate::watch::origins::OriginCounts;
use crate::watch::recorder::recorders;
use crate::watch::server_timings::ServerTimings;
use crate::watch::vitals::Vitals;

const SUITE: &str = "
suite: two
tests:
  - name: First
    requests: 12
    setup:
      - PUT: a
        body: {size: 8}
    loop: [{GET: a, measure: Get}]
    cleanup: [DELETE: a]
  - name: Second
    requests: 5
    loop:
      - PUT: b
        body: {size: 8}
        measure: Put
";

/// The longest time of a request, and of a batch.
const SLOWEST: Nanos = MS;
const BATCH: Nanos = 2 * MS;

/// A request: its run, its time at the server, and its purpose.
#[derive(Debug, Clone, PartialEq, Eq)]
struct TurnedRequest {
    from: Nanos,
    to: Nanos,
    run: usize,
    purpose: String,
}

struct RunBeside {
    server: SimulatedServer,
    work: Rc<dyn Fn(usize) -> Nanos>,
    events: Arc<EventLog>,
    cancel: Cancel,
    ended: Rc<RefCell<Option<Nanos>>>,
}

impl RunBeside {
    fn begin(seed: u64, directory: &Path, turn: Turn, duration: Option<Duration>) -> RunBeside {
        let clock = RunClock::start();
        let work = drawn(seed, MS / 20, SLOWEST);
        let server = server(1, work.clone());
        let spec = suite::parse("simulated", SUITE).unwrap();
        let overrides = Overrides {
            duration,
            ..Overrides::default()
        };
        let plan = Arc::new(suite::resolve("simulated", SUITE, &spec, &overrides).unwrap());
        let events = Arc::new(EventLog::default());
        let turn = Arc::new(turn);
        let context = context(&plan, clock, &events, 1, Some(Arc::clone(&turn)));
        let http = HttpOptions {
            connections: Http::default(),
            headers: Vec::new(),
            auth: AuthScheme::Auto,
            timeout: TIMEOUT,
        };
        let socket = directory.join(seed.to_string());
        let config = Rc::new(config(&context, &http, &socket));
        let worker = Rc::new(Worker {
            config: Rc::clone(&config),
            configs: vec![[Rc::clone(&config)].into()],
            recorder: recorders(1).0.remove(0),
            vitals: Vitals::new(clock, Arc::clone(&context.progress)),
            server_timings: ServerTimings::default(),
            origins: OriginCounts::default(),
        });
        let tests = prepare_tests(&context, &[Rc::clone(&config)], false).unwrap();
        let anonymous = |_| Authenticator::new(None, AuthScheme::Auto, false);
        let rounds = Rounds {
            warmup: 2,
            steady_within: Duration::ZERO,
        };
        let user = RoundsOfUser::new(0, &context, rounds, tests, &worker, anonymous, seed);
        let cancel = context.cancel.clone();
        let ended = Rc::new(RefCell::new(None));
        let end_of_run = Rc::clone(&ended);
        let all = async move {
            let watchdog = &config.watchdog;
            watchdog.guard(&context.cancel, || (), user.run()).await;
            turn.all_over(&context.cancel).await;
            *end_of_run.borrow_mut() = Some(clock.now());
        };
        for task in server.serving(&socket, vec![Box::pin(all)]) {
            spawn(task);
        }
        RunBeside {
            server,
            work: Rc::new(work),
            events,
            cancel,
            ended,
        }
    }

    /// When an event first happened to one of its tests.
    fn at(&self, kind: &EventKind) -> Option<Nanos> {
        let events = self.events.0.lock().unwrap();
        let event = events.iter().find(|event| event.kind == *kind);
        event.map(|event| event.at)
    }
}

/// Runs side by side; one of them may be cancelled.
fn side_by_side(
    seed: u64,
    count: usize,
    parity: usize,
    duration: Option<Duration>,
    cancelled: Option<(usize, Nanos)>,
) -> (Vec<RunBeside>, Vec<TurnedRequest>) {
    let _time = SimulatedTime::begin();
    let directory = tempfile::tempdir().unwrap();
    let clock = RunClock::start();
    let event_loop = EventLoop::new().unwrap();
    let runs = event_loop.run(async {
        let turns = Turns::among(count, parity).into_iter().zip(seed..);
        let begin = |(turn, seed)| RunBeside::begin(seed, directory.path(), turn, duration);
        let runs: Vec<RunBeside> = turns.map(begin).collect();
        if let Some((run, at)) = cancelled {
            let cancel = runs[run].cancel.clone();
            spawn(async move {
                sleep_until(clock.monotonic(at)).await;
                cancel.cancel();
            });
        }
        tokio::select! {
            lost = next_lost() => assert_eq!(lost, None),
            () = sleep_until(clock.monotonic(3_600_000 * MS)) => panic!("a run waits for ever"),
        }
        runs
    });
    let mut all = Vec::new();
    for (run, beside) in runs.iter().enumerate() {
        for (number, seen) in beside.server.seen().into_iter().enumerate() {
            let (from, purpose) = (seen.at, seen.purpose);
            let to = from + (beside.work)(number);
            all.push(TurnedRequest {
                from,
                to,
                run,
                purpose,
            });
        }
    }
    all.sort_by_key(|request| request.from);
    (runs, all)
}

/// The work of a run in one turn.
#[derive(Debug)]
struct TurnedBatch {
    test: usize,
    /// 0 for the preparation.
    number: usize,
    run: usize,
    from: Nanos,
    to: Nanos,
    requests: usize,
}

/// Batches as they are documented: a preparation, then requests for as long as a batch takes.
fn batches(all: &[TurnedRequest], run: usize) -> Vec<TurnedBatch> {
    let mut batches: Vec<TurnedBatch> = Vec::new();
    for request in all.iter().filter(|request| request.run == run) {
        let test = match request.purpose.as_str() {
            "Get" | "First set-up" | "First warm-up" => 0,
            "Put" | "Second set-up" | "Second warm-up" => 1,
            _ => continue,
        };
        let is_measured = matches!(request.purpose.as_str(), "Get" | "Put");
        let number = match batches.last() {
            Some(last) if last.test == test => {
                let is_over = last.number > 0 && request.from - last.from >= BATCH;
                let is_first = last.number == 0 && is_measured;
                last.number + usize::from(is_over || is_first)
            }
            _ => 0,
        };
        let is_same = |last: &&mut TurnedBatch| (last.test, last.number) == (test, number);
        if let Some(last) = batches.last_mut().filter(is_same) {
            last.to = request.to;
            last.requests += 1;
            continue;
        }
        batches.push(TurnedBatch {
            test,
            number,
            run,
            from: request.from,
            to: request.to,
            requests: 1,
        });
    }
    batches
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn runs_measure_in_batches_one_at_a_time_and_for_their_own_time(
        seed in 0..u64::MAX / 2,
        count in 1_usize..5,
        parity in 0_usize..2,
        duration in proptest::option::of(1_u64..30),
    ) {
        let duration = duration.map(Duration::from_millis);
        let (runs, all) = side_by_side(seed, count, parity, duration, None);
        // In any case, only one server is active.
        prop_assert!(all.windows(2).all(|two| two[0].to <= two[1].from));
        let batches_of_run = |run| batches(&all, run);
        let mut turns: Vec<TurnedBatch> = (0..count).flat_map(batches_of_run).collect();
        turns.sort_by_key(|batch| batch.from);
        prop_assert!(turns.is_sorted_by_key(|batch| {
            let is_forward = (batch.test + batch.number + parity).is_multiple_of(2);
            let rank = if is_forward { batch.run } else { count - batch.run };
            (batch.test, batch.number, rank)
        }), "{turns:?}");
        for two in turns.windows(2) {
            prop_assert!(two[0].to <= two[1].from, "{two:?}");
        }
        let is_short = |batch: &TurnedBatch| batch.number == 0 || batch.to - batch.from < BATCH + SLOWEST;
        prop_assert!(turns.iter().all(is_short));
        for (run, beside) in runs.iter().enumerate() {
            prop_assert_eq!(*beside.ended.borrow(), Some(all.last().unwrap().to));
            for (test, requests) in [(0_u16, 12), (1, 5)] {
                let is_own = |batch: &&TurnedBatch| {
                    (batch.run, batch.test) == (run, usize::from(test)) && batch.number > 0
                };
                let measured: Vec<&TurnedBatch> = turns.iter().filter(is_own).collect();
                let begun = beside.at(&EventKind::MeasuringStarted { test: TestId(test) });
                prop_assert_eq!(begun, Some(measured[0].from));
                let time: Nanos = measured.iter().map(|batch| batch.to - batch.from).sum();
                let found: usize = measured.iter().map(|batch| batch.requests).sum();
                match duration.map(nanos) {
                    None => prop_assert_eq!(found, requests),
                    // Waiting for the others does not count.
                    Some(duration) => prop_assert!((duration..duration + SLOWEST).contains(&time)),
                }
            }
        }
    }

    #[test]
    fn a_run_that_is_cancelled_cleans_up_at_once_and_the_others_do_all_of_theirs(
        seed in 0..u64::MAX / 2,
        count in 1_usize..5,
        which in 0_usize..4,
        at in 0..80 * MS,
    ) {
        let which = which % count;
        let (runs, all) = side_by_side(seed, count, 0, None, Some((which, at)));
        let is_clean_up = |request: &TurnedRequest| request.purpose.ends_with("clean-up");
        let late = all.iter().filter(|one| one.run == which && one.from > at);
        let ended = |run: usize| runs[run].ended.borrow().unwrap();
        if ended(which) > at {
            prop_assert!(late.clone().all(is_clean_up), "{:?}", late.collect::<Vec<_>>());
            // A request in flight, and the collection of the test.
            prop_assert!(ended(which) <= at + 4 * SLOWEST, "{}", ended(which) - at);
        }
        let others = all.iter().filter(|one| one.run != which || one.from < at);
        let others: Vec<&TurnedRequest> = others.collect();
        prop_assert!(others.windows(2).all(|two| two[0].to <= two[1].from));
        let last = all.iter().map(|one| one.to).max().unwrap_or(0);
        for run in (0..count).filter(|run| *run != which) {
            for (purpose, requests) in [("Get", 12), ("Put", 5)] {
                let is_own = |one: &&TurnedRequest| one.run == run && one.purpose == purpose;
                prop_assert_eq!(all.iter().filter(is_own).count(), requests);
            }
            prop_assert!(ended(run) <= last.max(at), "{} {last}", ended(run));
        }
    }
}
