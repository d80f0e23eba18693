//! A run, from the first request to the last clean-up.

pub(crate) mod clients;
pub(crate) mod machine;
pub(crate) mod outside;
mod plan_record;
pub(crate) mod spec;
mod surroundings;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Arc;

use limits::processors::kept_to;
use limits::{no_thread, room_for};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use record::{Clock, Environment, Event, EventKind, LeftBehind, PlanRecord};
use suite::{TestPlan, Workspace};

use crate::clock::stamps::Stamping;
use crate::clock::timekeeper::{OnClockStep, Timekeeper};
use crate::clock::{RunClock, time_of_day};
use crate::connection::client::{Client, ClientConfig};
use crate::connection::route::Endpoint;
use crate::drive::context::{RunContext, Standing, Stop, TargetSite};
use crate::drive::rounds::RoundsOfUser;
use crate::drive::started_watches::SharedStopWatches;
use crate::drive::step::{PreparedTests, prepare_tests};
use crate::drive::turns::Turn;
use crate::drive::worker::{Worker, event_loop, work};
use crate::drive::{Drive, LoadDrive, Rounds, load};
use crate::error::RunError;
use crate::event_loop::cancel::Cancel;
use crate::event_loop::panic_message;
use crate::event_loop::patience::Watchdog;
use crate::run::clients::{ClientResources, client_config, destinations};
use crate::run::machine::machine;
pub use crate::run::plan_record::plan_record;
use crate::run::spec::{RunPlace, RunSpec};
use crate::site::probe::{INSTEAD, INSTEAD_OF_PUTTING, Probed, probe};
use crate::site::publish::publish;
use crate::site::workspace::held::HeldLocks;
use crate::site::workspace::{self, Leftover, LeftoverState, MadeWorkspace, collection_path};
use crate::watch::conditions::Conditions;
use crate::watch::heads::Heads;
use crate::watch::journal::Journal;
use crate::watch::progress::{Observer, Progress, RowWatch};
use crate::watch::recorder::{KnownWindow, Recorder, Sink, recorders};
use crate::watch::vitals::Totals;

const HEADS_ARE_SHOWN: &str = "requests and responses were shown during the measurement, which takes time: \
    these times do not describe the server";

/// Collections of earlier runs that are checked before a run, at two requests each.
const MOST_LEFTOVERS: usize = 100;

/// The result of a run, without the samples, which the [`Sink`] has.
#[derive(Debug)]
pub struct Finished {
    /// The plan.
    pub plan: PlanRecord,
    /// Its environment.
    pub env: Environment,
    /// Events outside of measured operations, in order.
    pub events: Vec<Event>,
    /// Why nothing could be measured.
    pub error: Option<RunError>,
}

/// Control and observation of a run.
pub struct Watch {
    /// Ends the run early.
    pub cancel: Cancel,
    /// Counts of operations.
    pub progress: Arc<Progress>,
    /// Notified of events.
    pub observer: Arc<dyn Observer>,
    /// Turns of runs of suites side by side.
    pub turn: Option<Arc<Turn>>,
    /// Conditions of steps, as evaluated by the [`Sink`].
    pub conditions: Arc<Conditions>,
    /// Notified of the active row.
    pub rows: Option<Arc<dyn RowWatch>>,
    /// No other run is made at the same time: the network is idle before the tests, so that the
    /// round trip of an idle network can be measured.
    pub is_alone: bool,
}

/// The environment of a run at its beginning.
pub fn environment() -> Environment {
    Environment {
        machine: machine(),
        server: None,
        others: Vec::new(),
        started_at: time_of_day(),
        ended_at: None,
        conclusion: None,
        samples: None,
        counted: Vec::new(),
    }
}

/// Runs a plan: probe, make the collection, measure, remove the collection.
pub fn run(spec: &RunSpec, place: &RunPlace, watch: &Watch, sink: &mut dyn Sink) -> Finished {
    let place = &place.for_run(spec);
    let record = plan_record(spec, place);
    let mut env = environment();
    let clock = RunClock::start();
    watch.observer.began(&env.started_at);
    let journal = Arc::new(Journal::new(
        clock,
        Arc::clone(&watch.observer),
        record.measures.len(),
    ));
    let stamping = match place.clock {
        Clock::User => Stamping::Off,
        Clock::Kernel => Stamping::On { acks: place.acks },
    };
    let held = Arc::new(HeldLocks::new(
        place.lock_tokens.as_deref(),
        &spec.run_id,
        Arc::clone(&journal),
    ));
    let on_step: Arc<dyn OnClockStep> = Arc::clone(&journal) as _;
    let session = Session {
        spec,
        place,
        watch,
        held: &held,
        means: ClientResources {
            time: Arc::new(Timekeeper::new(clock, stamping, on_step)),
            exhaustion: Arc::clone(&watch.progress.exhaustion),
            heads: Heads::wanted_by(&watch.observer, &place.http.headers),
            closes: Arc::default(),
            destinations: destinations(place, spec.seed, &journal),
            opened: Arc::default(),
        },
        journal: &journal,
    };

    if let Some(text) = place.experiment() {
        journal.write(EventKind::Warning { text });
    }
    if session.means.heads.is_some() {
        let text = HEADS_ARE_SHOWN.to_owned();
        journal.write(EventKind::Warning { text });
    }
    let error = session.run(&mut env, sink).err();
    if let Some(error) = &error {
        journal.write(match error {
            RunError::Interrupted => session.watch.cancel.event(),
            other => EventKind::Aborted {
                reason: other.to_string(),
            },
        });
    }
    let endpoints = place.endpoints().zip(&session.means.destinations);
    for (server, (endpoint, destination)) in env.servers_mut().zip(endpoints) {
        server.addresses = destination.used(endpoint.target.host());
    }
    env.ended_at = Some(time_of_day());
    Finished {
        plan: record,
        env,
        events: journal.events(),
        error,
    }
}

/// A collection below which a run works, and the client for unmeasured requests to its server.
struct RunSite {
    endpoint: Endpoint,
    client: Client,
    /// Result of the probe.
    probed: Option<Probed>,
    /// The collection of the run there, once it is made.
    made: Option<MadeWorkspace>,
}

struct Session<'a> {
    spec: &'a RunSpec,
    place: &'a RunPlace,
    watch: &'a Watch,
    means: ClientResources,
    journal: &'a Arc<Journal>,
    held: &'a Arc<HeldLocks>,
}

impl Session<'_> {
    fn run(&self, env: &mut Environment, sink: &mut dyn Sink) -> Result<(), RunError> {
        room_for(self.place.connections(self.spec), self.place.threads).map_err(RunError::Local)?;
        let event_loop = event_loop()?;
        let watchdog = Rc::new(Watchdog::new(self.means.time.clock));
        let cancel = &self.watch.cancel;
        let site =
            |(number, endpoint): (usize, &Endpoint)| self.site(number, endpoint.clone(), &watchdog);
        let mut sites: Vec<RunSite> = self.place.endpoints().enumerate().map(site).collect();
        for site in &mut sites {
            let probed = event_loop.run(watchdog.guard(cancel, || (), self.probe(site)))?;
            let server = &probed.server;
            match &mut env.server {
                first @ None => *first = Some(server.clone()),
                Some(_) if self.spec.plan.targets.is_empty() => {}
                Some(_) => env.others.push(server.clone()),
            }
            site.probed = Some(probed);
        }
        self.watch.progress.reached();
        if self.spec.plan.workspace == Workspace::ReadOnly {
            self.look_around(&sites, env);
            let measured = self.measure(&mut sites, sink);
            self.held.end(false);
            return measured;
        }
        let opened = sites.iter_mut().enumerate().try_for_each(|(number, site)| {
            let opened = self.open_workspace(site, number == 0);
            event_loop.run(watchdog.guard(cancel, || (), opened))
        });
        let furnished = opened.and_then(|()| {
            let mut opened = sites.iter_mut().filter(|site| site.made.is_some());
            opened.try_for_each(|site| {
                let furnished = self.furnish(site);
                event_loop.run(watchdog.guard(cancel, || (), furnished))
            })
        });
        if furnished.is_ok() {
            self.look_around(&sites, env);
        }
        let measured = furnished.and_then(|()| self.measure(&mut sites, sink));
        if sites.iter().all(|site| site.made.is_none()) {
            return measured;
        }
        if let Some(turn) = &self.watch.turn {
            event_loop.run(turn.all_over(cancel));
        }
        let mut is_all_removed = true;
        for site in sites.iter_mut().filter(|site| site.made.is_some()) {
            site.client.ignore_cancel = true;
            let shows_marker = site.made.is_some_and(|made| made.shows_marker);
            let marked_by = (&*self.spec.run_id, shows_marker);
            let target = &site.endpoint.target;
            let client = &mut site.client;
            let removed = workspace::remove(client, target, marked_by, self.held, self.journal);
            is_all_removed &= event_loop.run(watchdog.guard(cancel, || (), removed));
        }
        self.held.end(is_all_removed);
        measured
    }

    fn site(&self, number: usize, endpoint: Endpoint, watchdog: &Rc<Watchdog>) -> RunSite {
        let nonces = ChaCha8Rng::seed_from_u64(self.spec.seed ^ u64::MAX);
        let config = self.client_config((number, &endpoint), watchdog);
        let auth = endpoint.authenticator(self.place.http.auth);
        RunSite {
            client: Client::new(Rc::new(config), auth, nonces),
            endpoint,
            probed: None,
            made: None,
        }
    }

    fn client_config(
        &self,
        numbered_endpoint: (usize, &Endpoint),
        watchdog: &Rc<Watchdog>,
    ) -> ClientConfig {
        let target = &numbered_endpoint.1.target;
        let root = match self.spec.plan.workspace {
            Workspace::Collection | Workspace::Furnished => {
                collection_path(target, &self.spec.run_id)
            }
            Workspace::ReadOnly => target.path().to_owned(),
        };
        client_config(self.place, numbered_endpoint, root, &self.means, watchdog)
    }

    async fn probe(&self, site: &mut RunSite) -> Result<Probed, RunError> {
        let target = &site.endpoint.target;
        let client = &mut site.client;
        let instead = if self.place.files.is_empty() {
            INSTEAD
        } else {
            INSTEAD_OF_PUTTING
        };
        let (path, url, workspace) = (target.path(), target.url(), self.spec.plan.workspace);
        probe(client, path, &url, workspace, instead).await
    }

    /// Makes the collection of the run. All but the first site may be aliases of earlier ones.
    async fn open_workspace(&self, site: &mut RunSite, is_first: bool) -> Result<(), RunError> {
        let run_id = &self.spec.run_id;
        let notes = self.place.made_files.as_deref();
        let (client, target) = (&mut site.client, &site.endpoint.target);
        let (leftovers, others) =
            workspace::leftovers(client, target, Some(run_id), MOST_LEFTOVERS).await;
        for leftover in leftovers {
            self.report_leftover(leftover);
        }
        if others > 0 {
            let url = target.url();
            let text = format!(
                "{others} more collections in {url} have names like those of Prestan, and were not looked at; `prestan \
                 clean` does"
            );
            self.journal.write(EventKind::Warning { text });
        }
        if self.watch.cancel.is_cancelled() {
            return Err(RunError::Interrupted);
        }
        if !is_first && workspace::is_ours(client, target, run_id).await {
            return Ok(());
        }
        // Uninterrupted, so that the state of the server is certain.
        client.ignore_cancel = true;
        let made = workspace::create(client, target, run_id, notes).await?;
        client.ignore_cancel = false;
        site.made = Some(made);
        if let Some(refuses) = made.refuses {
            let text = refuses.in_words();
            self.journal.write(EventKind::Warning { text });
        }
        Ok(())
    }

    /// Puts the files to be fetched into the collection of the run.
    async fn furnish(&self, site: &mut RunSite) -> Result<(), RunError> {
        let root = site.client.root().to_owned();
        let (files, cancel) = (&self.place.files, &self.watch.cancel);
        publish(&mut site.client, &root, files, cancel).await
    }

    /// Reports a leftover that concerns this run; a resource that only has a similar name does not.
    fn report_leftover(&self, leftover: Leftover) {
        let reason = leftover.reason();
        let url = leftover.url;
        match leftover.state {
            LeftoverState::Ended { .. } | LeftoverState::Unseen { .. } => {
                let own = false;
                let left = LeftBehind { url, reason, own };
                self.journal.write(EventKind::LeftBehind(left));
            }
            // A run of the same series: it takes turns with this one.
            LeftoverState::Running { pid } if pid == std::process::id() => {}
            LeftoverState::Running { .. } => {
                let text = format!("{url} is {reason}: two runs at a time disturb each other");
                self.journal.write(EventKind::Warning { text });
            }
            LeftoverState::Foreign | LeftoverState::Replaced | LeftoverState::Filled => {}
        }
    }

    fn measure(&self, sites: &mut [RunSite], sink: &mut dyn Sink) -> Result<(), RunError> {
        // A server that serves one connection at a time would make the users wait for the end of
        // these.
        for site in &mut *sites {
            site.client.close();
        }
        let spec = self.spec;
        let refuses = sites.iter().find_map(|site| site.made?.refuses);
        let plan = refuses.map(|refuses| Arc::new(refuses.applied_to(&self.spec.plan)));
        let context = Arc::new(RunContext {
            plan: plan.unwrap_or_else(|| Arc::clone(&spec.plan)),
            clock: self.means.time.clock,
            cancel: self.watch.cancel.clone(),
            progress: Arc::clone(&self.watch.progress),
            journal: Arc::clone(self.journal),
            held: Arc::clone(self.held),
            users: spec.users,
            sites: sites.iter().map(|site| self.target_site(site)).collect(),
            standing: Standing::new(self.spec.plan.tests.len(), spec.users),
            vitals: Totals::default(),
            turn: self.watch.turn.clone(),
            shared_watches: SharedStopWatches::new(&self.spec.plan.stop_watches),
            conditions: Arc::clone(&self.watch.conditions),
            rows: self.watch.rows.clone(),
        });
        for test in &self.spec.plan.tests {
            if let Some(evidence) = unmet_need(test, sites) {
                let step = None;
                context.stop(test.id, Stop::NotSupported { step, evidence });
            }
        }
        match &spec.drive {
            Drive::Rounds(rounds) => self.rounds(&context, *rounds, sink)?,
            Drive::Load(load) => self.load(&context, load, sink)?,
        }
        for event in self.means.closes.events() {
            self.journal.write(event);
        }
        if self.watch.cancel.is_cancelled() {
            self.journal.write(self.watch.cancel.event());
        }
        Ok(())
    }

    /// Measures the path between this machine and each server of the environment.
    fn look_around(&self, sites: &[RunSite], env: &mut Environment) {
        for (site, server) in sites.iter().zip(env.servers_mut()) {
            let (client, route) = (&site.client, &site.endpoint.route);
            server.same_machine = surroundings::same_machine(client, route);
            if self.watch.is_alone {
                server.round_trip = surroundings::round_trip(client, route);
            }
        }
    }

    fn target_site(&self, site: &RunSite) -> TargetSite {
        let probed = site.probed.as_ref();
        TargetSite {
            allow: probed.map_or(Vec::new(), |probed| probed.server.allow.clone()),
            is_alias: site.made.is_none() && self.spec.plan.workspace == Workspace::Collection,
        }
    }

    fn rounds(
        &self,
        context: &Arc<RunContext>,
        rounds: Rounds,
        sink: &mut dyn Sink,
    ) -> Result<(), RunError> {
        let endpoints: Vec<&Endpoint> = self.place.endpoints().collect();
        let users = |worker: &Rc<Worker>, ids: &[u32], _| {
            let configs = worker.configs.iter();
            let tests = configs.map(|configs| prepare_tests(context, configs, false));
            let tests: Vec<PreparedTests> = match tests.collect() {
                Ok(tests) => tests,
                Err(reason) => {
                    context.break_up(reason);
                    return Vec::new();
                }
            };
            let user = |id: &u32| {
                let auth = |target| {
                    let endpoint = endpoints[worker.endpoint_of(*id, target)];
                    endpoint.authenticator(self.place.http.auth)
                };
                let tests = Rc::clone(&tests[worker.server_of(*id)]);
                RoundsOfUser::new(*id, context, rounds, tests, worker, auth, self.spec.seed).run()
            };
            ids.iter().map(user).collect()
        };
        let enough = || context.end_by_constraint();
        self.at_work(context, sink, KnownWindow::default, enough, &users)
    }

    fn load(
        &self,
        context: &Arc<RunContext>,
        load: &LoadDrive,
        sink: &mut dyn Sink,
    ) -> Result<(), RunError> {
        let (http, seed) = (&self.place.http, self.spec.seed);
        let workload = Arc::new(load::Workload::new(context, load, http, seed));
        let endpoints: Vec<&Endpoint> = self.place.endpoints().collect();
        let tasks = |worker: &Rc<Worker>, ids: &[u32], share| {
            let auth = |number: usize| endpoints[number].authenticator(http.auth);
            load::tasks(&workload, load, seed, worker, ids, share, auth)
        };
        context.record_users();
        let window = || workload.window();
        let enough = || {
            context.end_by_constraint();
            workload.stop();
        };
        self.at_work(context, sink, window, enough, &tasks)?;
        context.record_generator(record::TestId(0));
        Ok(())
    }

    /// Distributes the users over threads, lets them work, and passes their samples on. `tasks`
    /// gets the users of a thread, its index and the number of threads.
    fn at_work<F: Future<Output = ()> + 'static>(
        &self,
        context: &Arc<RunContext>,
        sink: &mut dyn Sink,
        window: impl Fn() -> KnownWindow,
        enough: impl Fn(),
        tasks: &(impl Fn(&Rc<Worker>, &[u32], (u32, u32)) -> Vec<F> + Sync),
    ) -> Result<(), RunError> {
        let threads = self.place.threads.clamp(1, self.spec.users);
        // All of them before any user starts: the users of a thread that fails would be waited for.
        let (recorders, collector) = recorders(threads as usize);
        let body = |thread: u32, recorder: Recorder| {
            let event_loop = event_loop()?;
            let watchdog = Rc::new(Watchdog::new(self.means.time.clock));
            let config = |endpoint| self.client_config(endpoint, &watchdog);
            let configs = self.place.endpoints().enumerate().map(config).collect();
            let ids = (thread..self.spec.users).step_by(threads as usize);
            let ids: Vec<u32> = ids.collect();
            work(&event_loop, context, configs, recorder, |worker| {
                tasks(worker, &ids, (thread, threads))
            });
            Ok(())
        };
        let body = &body;
        let processors = self.place.processors.as_ref();
        let processors = processors.map_or(&[][..], |processors| &processors.worker);
        std::thread::scope(|scope| {
            let workers: Vec<_> = (0..threads)
                .zip(recorders)
                .map(|(thread, recorder)| {
                    let at_work = move || {
                        let work = || kept_to(processors, || body(thread, recorder));
                        let done = catch_unwind(AssertUnwindSafe(work));
                        let done: Result<(), RunError> = done.unwrap_or_else(|panic| {
                            let message = panic_message(&*panic);
                            let text = format!("a thread of the run was lost: {message}");
                            Err(RunError::Local(text))
                        });
                        if let Err(error) = &done {
                            context.break_up(error.to_string());
                        }
                        done
                    };
                    let started = std::thread::Builder::new().spawn_scoped(scope, at_work);
                    started.map_err(|error| {
                        let error = RunError::Local(no_thread(&error));
                        context.break_up(error.to_string());
                        error
                    })
                })
                .collect();
            collector.run(sink, window, enough);
            // All of them before the first error is returned.
            let ended = workers.into_iter().map(|worker| Ok(worker?.join()));
            let ended: Vec<Result<_, RunError>> = ended.collect();
            let mut ended = ended.into_iter();
            ended.try_for_each(|done| done?.unwrap_or_else(|_| unreachable!("panics are caught")))
        })
    }
}

/// Why a test cannot be done by all its servers.
fn unmet_need(test: &TestPlan, sites: &[RunSite]) -> Option<String> {
    let class = &test.needs.as_ref()?.0;
    let targets = test.targets();
    let mut probed_targets = targets.iter().filter_map(|target| {
        let site = sites.get(usize::from(*target))?;
        site.probed.as_ref()
    });
    let has_class = |probed: &Probed| {
        let can_lock = class == "2" && probed.can_be_locked;
        can_lock || probed.server.dav.contains(class)
    };
    let server = &probed_targets.find(|probed| !has_class(probed))?.server;
    let says = match server.dav.as_slice() {
        [] if class == "2" => "OPTIONS gives no DAV header, nor PROPFIND a `supportedlock`".into(),
        [] => "OPTIONS gives no DAV header".into(),
        all => format!("OPTIONS says `DAV: {}`", all.join(", ")),
    };
    Some(format!("the test needs a class {class} server, and {says}"))
}
