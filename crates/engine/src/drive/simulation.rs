//! Runs in simulated time against a simulated server: drivers, windows, pauses and time limits,
//! over thousands of seeded schedules, exactly.
//!
//! Everything is real but time and the server: users, connections (over a local socket), HTTP, the
//! recorder. Only the server and pauses take time, so that a run can be compared with a queueing
//! model to the nanosecond.

mod closed;
mod open;
mod operations;
mod queue;
mod rounds;
mod server;
mod side_by_side;
mod trouble;
mod turns;

use std::ops::ControlFlow;
use std::path::Path;
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use record::{Event, EventKind, Exhausted, Http, Nanos, Outcome, Sample, TestId};
use suite::{Overrides, Plan};
use wire::auth::{AuthScheme, Authenticator};
use wire::target::Target;

use crate::clock::RunClock;
use crate::clock::simulated::SimulatedTime;
use crate::clock::timekeeper::Timekeeper;
use crate::connection::addresses::Destination;
use crate::connection::client::ClientConfig;
use crate::connection::dial::Dialer;
use crate::connection::http1::scratch;
use crate::connection::route::HttpOptions;
use crate::drive::context::{RunContext, Standing, TargetSite};
use crate::drive::rounds::RoundsOfUser;
use crate::drive::started_watches::SharedStopWatches;
use crate::drive::step::prepare_tests;
use crate::drive::turns::Turn;
use crate::drive::worker::work;
use crate::drive::{Drive, LoadDrive, load};
use crate::event_loop::EventLoop;
use crate::event_loop::cancel::Cancel;
use crate::event_loop::patience::Watchdog;
use crate::site::workspace::held::HeldLocks;
use crate::watch::journal::Journal;
use crate::watch::progress::Observer;
use crate::watch::recorder::{KnownWindow, Sink, recorders};
use crate::watch::vitals::Totals;
use server::{SeenRequest, SimulatedServer};

pub(super) const MS: Nanos = 1_000_000;
pub(super) const TIMEOUT: Duration = Duration::from_secs(30);

/// A run that is to be simulated.
pub(super) struct Simulation<'s> {
    suite: &'s str,
    users: u32,
    /// Threads that share the schedule of an open loop.
    threads: u32,
    drive: Drive,
    seed: u64,
    http: Http,
    server: SimulatedServer,
    /// When the run is interrupted.
    interrupted_at: Option<Nanos>,
}

/// Result of a simulated run.
pub(super) struct SimulatedRun {
    /// Samples in the order in which they were recorded.
    samples: Vec<Sample>,
    events: Vec<Event>,
    /// Requests in the order of their arrival at the server.
    seen: Vec<SeenRequest>,
    plan: Arc<Plan>,
    /// Duration of the run.
    took: Nanos,
    /// Greatest lateness of the load generator.
    latest: Nanos,
}

/// One GET, over and over.
pub(super) const GET: &str = "
suite: simulated
needs: http
tests:
  - name: Get
    loop: [{GET: page, measure: Get}]
";

/// A closed loop of this many operations.
fn requests(count: u64) -> LoadDrive {
    LoadDrive {
        requests: Some(count),
        ..LoadDrive::default()
    }
}

/// A closed loop for this long.
fn lasting(duration: Duration) -> LoadDrive {
    LoadDrive {
        duration: Some(duration),
        ..LoadDrive::default()
    }
}

impl<'s> Simulation<'s> {
    fn new(suite: &'s str, users: u32, drive: Drive, server: SimulatedServer) -> Self {
        Simulation {
            suite,
            users,
            threads: 1,
            drive,
            seed: 1,
            http: Http::default(),
            server,
            interrupted_at: None,
        }
    }

    fn load(suite: &'s str, users: u32, load: LoadDrive, server: SimulatedServer) -> Self {
        Simulation::new(suite, users, Drive::Load(load), server)
    }

    fn run(self) -> SimulatedRun {
        let _time = SimulatedTime::begin();
        let directory = tempfile::tempdir().unwrap();
        let socket = directory.path().join("s");
        let spec = suite::parse("simulated", self.suite).unwrap();
        let plan = suite::resolve("simulated", self.suite, &spec, &Overrides::default());
        let plan = Arc::new(plan.unwrap());
        let clock = RunClock::start();
        let events = Arc::new(EventLog::default());
        let context = context(&plan, clock, &events, self.users, None);
        let (samples, seen) = self.done(&context, &socket);
        let generator = context.vitals.take(TestId(0), Exhausted::default());
        SimulatedRun {
            samples,
            events: events.0.lock().unwrap().clone(),
            seen,
            plan,
            took: clock.now(),
            latest: generator.lateness.map_or(0, |late| late.max),
        }
    }

    fn done(self, context: &Arc<RunContext>, socket: &Path) -> (Vec<Sample>, Vec<SeenRequest>) {
        let http = HttpOptions {
            connections: self.http,
            headers: Vec::new(),
            auth: AuthScheme::Auto,
            timeout: TIMEOUT,
        };
        let event_loop = EventLoop::new().unwrap();
        let config = config(context, &http, socket);
        let (mut recorders, collector) = recorders(1);
        let workload = match &self.drive {
            Drive::Load(load) => Some(Arc::new(load::Workload::new(
                context, load, &http, self.seed,
            ))),
            Drive::Rounds(_) => None,
        };
        let window = || {
            workload
                .as_ref()
                .map(|workload| workload.window())
                .unwrap_or_default()
        };
        let mut samples = SampleList::default();
        let mut seen = Vec::new();
        let recorder = recorders.remove(0);
        std::thread::scope(|scope| {
            // The collector takes all samples, outside of simulated time.
            scope.spawn(|| collector.run(&mut samples, window, || ()));
            let server = self.server.clone();
            let users: Vec<u32> = (0..self.users).collect();
            let (drive, seed, threads) = (self.drive.clone(), self.seed, self.threads);
            let interrupted_at = self.interrupted_at;
            work(&event_loop, context, vec![config], recorder, |worker| {
                let anonymous = |_| Authenticator::new(None, AuthScheme::Auto, false);
                let tasks: Vec<load::Task> = match (&drive, &workload) {
                    (Drive::Load(load), Some(workload)) => {
                        let tasks_of_thread = |thread: u32| {
                            let users = users.iter().copied();
                            let users = users.filter(|id| id % threads == thread);
                            let users: Vec<u32> = users.collect();
                            let (share, auth) = ((thread, threads), |_| anonymous(0));
                            load::tasks(workload, load, seed, worker, &users, share, auth)
                        };
                        (0..threads).flat_map(tasks_of_thread).collect()
                    }
                    (Drive::Rounds(rounds), _) => {
                        let tests = prepare_tests(context, worker.configs_of(0), false).unwrap();
                        let user = |id: &u32| {
                            let tests = Rc::clone(&tests);
                            let user = RoundsOfUser::new(
                                *id, context, *rounds, tests, worker, anonymous, seed,
                            );
                            Box::pin(user.run()) as load::Task
                        };
                        users.iter().map(user).collect()
                    }
                    (Drive::Load(_), None) => unreachable!("a load has a workload"),
                };
                let mut tasks = server.serving(socket, tasks);
                if let Some(at) = interrupted_at {
                    let (cancel, clock) = (context.cancel.clone(), context.clock);
                    tasks.push(Box::pin(async move {
                        crate::event_loop::sleep_until(clock.monotonic(at)).await;
                        cancel.cancel();
                    }));
                }
                tasks
            });
            seen = self.server.seen();
            drop(event_loop);
        });
        (samples.0, seen)
    }
}

fn context(
    plan: &Arc<Plan>,
    clock: RunClock,
    events: &Arc<EventLog>,
    users: u32,
    turn: Option<Arc<Turn>>,
) -> Arc<RunContext> {
    let observer: Arc<dyn Observer> = Arc::clone(events) as _;
    let journal = Arc::new(Journal::new(clock, observer, plan.measures.len()));
    Arc::new(RunContext {
        plan: Arc::clone(plan),
        clock,
        cancel: Cancel::default(),
        progress: Arc::default(),
        held: Arc::new(HeldLocks::new(None, "simulated", Arc::clone(&journal))),
        journal,
        users,
        sites: vec![TargetSite::default()],
        standing: Standing::new(plan.tests.len(), users),
        vitals: Totals::default(),
        turn,
        shared_watches: SharedStopWatches::new(&plan.stop_watches),
        conditions: Arc::default(),
        rows: None,
    })
}

fn config(context: &RunContext, http: &HttpOptions, socket: &Path) -> ClientConfig {
    let target = Target::parse("http://simulated/").unwrap();
    let time = Arc::new(Timekeeper::plain(context.clock));
    let tls = crate::tls_config(&crate::TlsOptions::default(), target.scheme()).unwrap();
    let dialer = Dialer::new(
        target.clone(),
        Destination::Unix(socket.to_owned()),
        tls,
        Arc::clone(&time),
        Arc::default(),
        Arc::default(),
        http.timeout,
    );
    ClientConfig {
        dialer,
        root: target.path().to_owned(),
        authority: target.authority(),
        target,
        headers: Vec::new(),
        http: http.connections,
        time,
        timeout: http.timeout,
        watchdog: Rc::new(Watchdog::new(context.clock)),
        scratch: scratch(),
        heads: None,
        closes: Arc::default(),
    }
}

/// Events in the order of their report.
#[derive(Default)]
struct EventLog(Mutex<Vec<Event>>);

impl Observer for EventLog {
    fn event(&self, event: &Event) {
        self.0.lock().unwrap().push(event.clone());
    }
}

#[derive(Default)]
struct SampleList(Vec<Sample>);

impl Sink for SampleList {
    fn take(&mut self, samples: &[Sample], _: KnownWindow) -> ControlFlow<()> {
        self.0.extend_from_slice(samples);
        ControlFlow::Continue(())
    }
}

impl SimulatedRun {
    /// When an event first happened to a test.
    fn at(&self, is_it: impl Fn(&EventKind) -> bool) -> Option<Nanos> {
        let event = self.events.iter().find(|event| is_it(&event.kind));
        event.map(|event| event.at)
    }

    fn window(&self, test: u16) -> (Nanos, Nanos) {
        let test = TestId(test);
        let begun = self.at(|kind| *kind == EventKind::MeasuringStarted { test });
        let ended = self.at(|kind| *kind == EventKind::MeasuringEnded { test });
        (begun.unwrap(), ended.unwrap())
    }

    fn samples_of(&self, name: &str) -> impl Iterator<Item = &Sample> {
        let mut measures = self.plan.measures.iter();
        let index = measures.position(|measure| measure.name == name).unwrap();
        let samples = self.samples.iter();
        samples.filter(move |one| usize::from(one.measure.0) == index)
    }

    /// Number of samples with this outcome.
    fn count(&self, outcome: Outcome) -> usize {
        let samples = self.samples.iter();
        samples.filter(|sample| sample.outcome == outcome).count()
    }
}

fn span(sample: &Sample) -> (Nanos, Nanos) {
    (sample.moments.started, sample.moments.done.unwrap())
}
