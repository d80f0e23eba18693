//! A run, from the first question to the last clean-up.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use record::{
    Clock, Environment, EventKind, LeftBehind, Load, PlanRecord, RUN_FORMAT, Run, Sample, Server,
    TestRecord,
};
use suite::{Limit, Plan, TestPlan, Workspace};
use tokio::runtime::Runtime;
use tokio::task::{JoinSet, LocalSet};
use wire::auth::{AuthScheme, Authenticator};

use crate::cancel::Cancel;
use crate::client::{Client, ClientConfig};
use crate::clock::{RunClock, time_of_day};
use crate::connection::scratch;
use crate::dial::Dialer;
use crate::error::RunError;
use crate::journal::Journal;
use crate::limits::room_for;
use crate::machine::machine;
use crate::probe::probe;
use crate::progress::{Observer, Progress};
use crate::settings::{Route, Settings};
use crate::stage::{Stage, Standing, Stop};
use crate::user::{User, rounds_of};
use crate::workspace::{self, Leftover, LeftoverState, collection_path};

/// What came of a run. The record is there in any case, with as much as was measured.
#[derive(Debug)]
pub struct Finished {
    /// What was planned, where, and what happened.
    pub run: Run,
    /// Why nothing could be measured.
    pub error: Option<RunError>,
}

/// How a run is steered and watched.
#[derive(Clone)]
pub struct Watch {
    /// Ends the run early.
    pub cancel: Cancel,
    /// Counts of what is done.
    pub progress: Arc<Progress>,
    /// Is told of events.
    pub observer: Arc<dyn Observer>,
}

/// Runs a plan: probe, make the collection, measure, remove the collection.
pub fn run(plan: Plan, settings: &Settings, watch: &Watch) -> Finished {
    let plan = Arc::new(plan);
    let record = plan_record(&plan, settings);
    let mut env = Environment {
        machine: machine(),
        server: None,
        started_at: time_of_day(),
        ended_at: None,
    };
    let clock = RunClock::start();
    let journal = Arc::new(Journal::new(
        clock,
        Arc::clone(&watch.observer),
        record.measures.len(),
    ));
    let session = Session {
        plan: &plan,
        settings,
        watch,
        clock,
        journal: &journal,
    };

    let (samples, error) = match session.run(&mut env) {
        Ok(samples) => (samples, None),
        Err(error) => {
            journal.write(match &error {
                RunError::Interrupted => EventKind::Interrupted,
                other => EventKind::Aborted {
                    reason: other.to_string(),
                },
            });
            (Vec::new(), Some(error))
        }
    };
    env.ended_at = Some(time_of_day());
    let run = Run {
        plan: record,
        env,
        events: journal.events(),
        samples,
    };
    Finished { run, error }
}

/// The plan as it is kept in the run directory.
pub fn plan_record(plan: &Plan, settings: &Settings) -> PlanRecord {
    let limit = plan.tests.first().map(|test| test.limit);
    PlanRecord {
        format: RUN_FORMAT,
        run_id: settings.run_id.clone(),
        prestan: env!("CARGO_PKG_VERSION").to_owned(),
        suite: plan.suite.clone(),
        target: settings.target.url(),
        clock: Clock::User,
        params: plan.params.clone(),
        load: Load {
            users: settings.users,
            requests: match limit {
                Some(Limit::Requests(requests)) => Some(requests),
                _ => None,
            },
            duration_s: match limit {
                Some(Limit::Duration(duration)) => Some(duration.as_secs_f64()),
                _ => None,
            },
            warmup: settings.warmup,
            timeout_s: settings.timeout.as_secs_f64(),
            seed: settings.seed,
        },
        tests: plan
            .tests
            .iter()
            .map(|test| TestRecord {
                name: test.name.clone(),
            })
            .collect(),
        measures: plan.measures.clone(),
    }
}

/// A run under way.
struct Session<'a> {
    plan: &'a Arc<Plan>,
    settings: &'a Settings,
    watch: &'a Watch,
    clock: RunClock,
    journal: &'a Arc<Journal>,
}

impl Session<'_> {
    fn run(&self, env: &mut Environment) -> Result<Vec<Sample>, RunError> {
        room_for(self.settings.users).map_err(RunError::Local)?;
        let runtime = runtime()?;
        let mut client = self.client();
        let target = &self.settings.target;
        let server = runtime.block_on(probe(
            &mut client,
            target.path(),
            &target.url(),
            self.plan.workspace,
        ))?;
        env.server = Some(server.clone());
        if self.plan.workspace == Workspace::ReadOnly {
            return self.measure(&server);
        }
        runtime.block_on(self.open_workspace(&mut client))?;
        let samples = self.measure(&server);
        client.ignore_cancel = true;
        runtime.block_on(workspace::remove(
            &mut client,
            target,
            &self.settings.run_id,
            self.journal,
        ));
        samples
    }

    fn client(&self) -> Client {
        let nonces = ChaCha8Rng::seed_from_u64(self.settings.seed ^ u64::MAX);
        let config = client_config(self.settings, self.clock, &self.watch.cancel);
        Client::new(Rc::new(config), authenticator(self.settings), nonces)
    }

    async fn open_workspace(&self, client: &mut Client) -> Result<(), RunError> {
        let run_id = &self.settings.run_id;
        for leftover in workspace::leftovers(client, &self.settings.target, Some(run_id)).await {
            self.tell_of(leftover);
        }
        if self.watch.cancel.is_cancelled() {
            return Err(RunError::Interrupted);
        }
        // Three short requests: finishing them leaves no doubt about what is on the server.
        client.ignore_cancel = true;
        workspace::create(client, &self.settings.target, run_id).await
    }

    /// What is on the server and concerns this run; what only has a name like ours does not.
    fn tell_of(&self, leftover: Leftover) {
        let reason = leftover.reason();
        let url = leftover.url;
        match leftover.state {
            LeftoverState::Ended { .. } | LeftoverState::Unseen { .. } => {
                let own = false;
                let left = LeftBehind { url, reason, own };
                self.journal.write(EventKind::LeftBehind(left));
            }
            LeftoverState::Running { .. } => {
                let text = format!("{url} is {reason}: two runs at a time disturb each other");
                self.journal.write(EventKind::Warning { text });
            }
            LeftoverState::Foreign => {}
        }
    }

    fn measure(&self, server: &Server) -> Result<Vec<Sample>, RunError> {
        let settings = self.settings;
        let root = match self.plan.workspace {
            Workspace::Collection => collection_path(&settings.target, &settings.run_id),
            Workspace::ReadOnly => settings.target.path().to_owned(),
        };
        let stage = Arc::new(Stage {
            plan: Arc::clone(self.plan),
            clock: self.clock,
            cancel: self.watch.cancel.clone(),
            progress: Arc::clone(&self.watch.progress),
            journal: Arc::clone(self.journal),
            users: settings.users,
            warmup: settings.warmup,
            root,
            allow: server.allow.clone(),
            standing: Standing::new(self.plan.tests.len(), settings.users),
        });
        self.watch.progress.plan(rounds(self.plan, settings.users));
        for test in &self.plan.tests {
            if let Some(evidence) = unmet_need(test, server) {
                stage.stop(test.id, Stop::NotSupported(evidence));
            }
        }
        let samples = users_at_work(&stage, settings)?;
        if self.watch.cancel.is_cancelled() {
            self.journal.write(EventKind::Interrupted);
        }
        Ok(samples)
    }
}

/// What a progress bar counts: rounds through loops.
fn rounds(plan: &Plan, users: u32) -> u64 {
    let per_user: u64 = plan.tests.iter().map(rounds_of).sum();
    per_user * u64::from(users)
}

fn unmet_need(test: &TestPlan, server: &Server) -> Option<String> {
    let class = &test.needs.as_ref()?.0;
    if server.dav.iter().any(|token| token == class) {
        return None;
    }
    let says = match server.dav.is_empty() {
        true => "OPTIONS gives no DAV header".to_owned(),
        false => format!("OPTIONS says `DAV: {}`", server.dav.join(", ")),
    };
    Some(format!("the test needs a class {class} server, and {says}"))
}

/// Spreads the users over threads, lets them work, and gathers what they measured.
fn users_at_work(stage: &Arc<Stage>, settings: &Settings) -> Result<Vec<Sample>, RunError> {
    let threads = settings.threads.clamp(1, settings.users);
    // All of them before any user starts: those of a thread that cannot would be waited for.
    let runtimes: Vec<Runtime> = (0..threads).map(|_| runtime()).collect::<Result<_, _>>()?;
    let mut samples: Vec<Sample> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .zip(runtimes)
            .map(|(thread, runtime)| {
                let ids = (thread..settings.users).step_by(threads as usize);
                scope.spawn(move || users_of_a_thread(stage, settings, &runtime, ids))
            })
            .collect();
        workers
            .into_iter()
            .flat_map(|worker| worker.join().unwrap_or_default())
            .collect()
    });
    samples.sort_by_key(|sample| (sample.measure, sample.moments.started, sample.user));
    Ok(samples)
}

fn users_of_a_thread(
    stage: &Arc<Stage>,
    settings: &Settings,
    runtime: &Runtime,
    ids: impl Iterator<Item = u32>,
) -> Vec<Sample> {
    let config = Rc::new(client_config(settings, stage.clock, &stage.cancel));
    LocalSet::new().block_on(runtime, async {
        let mut users = JoinSet::new();
        for id in ids {
            let auth = authenticator(settings);
            let user = User::new(
                id,
                Arc::clone(stage),
                Rc::clone(&config),
                auth,
                settings.seed,
            );
            users.spawn_local(user.run());
        }
        let mut samples = Vec::new();
        while let Some(user) = users.join_next().await {
            match user {
                Ok(part) => samples.extend(part),
                // A defect of ours. The server is cleaned up and the rest is kept all the same.
                Err(error) => stage.break_up(format!("a user of the run was lost: {error}")),
            }
        }
        samples
    })
}

fn runtime() -> Result<Runtime, RunError> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| RunError::Local(format!("starting the event loop failed: {error}")))
}

fn client_config(settings: &Settings, clock: RunClock, cancel: &Cancel) -> ClientConfig {
    let dialer = Dialer::new(
        settings.target.clone(),
        settings.route.clone(),
        Arc::clone(&settings.tls),
        clock,
        settings.timeout,
    );
    ClientConfig {
        dialer,
        target: settings.target.clone(),
        authority: settings.target.authority(),
        headers: settings.headers.clone(),
        clock,
        timeout: settings.timeout,
        cancel: cancel.clone(),
        scratch: scratch(),
    }
}

/// Basic sends the password in the clear, so it is sent unasked only where nobody can listen, or
/// where the user has chosen it.
fn authenticator(settings: &Settings) -> Authenticator {
    use wire::target::Scheme;
    let private = settings.target.scheme() == Scheme::Https
        || match &settings.route {
            Route::Unix(_) => true,
            Route::Tcp(addresses) => addresses.iter().all(|address| address.ip().is_loopback()),
        };
    let unasked = private || settings.auth == AuthScheme::Basic;
    Authenticator::new(settings.credentials.clone(), settings.auth, unasked)
}

/// Looks for collections of earlier runs on the target, without touching them.
///
/// # Errors
/// When the target cannot be reached or is not WebDAV.
pub fn find_leftovers(settings: &Settings) -> Result<Vec<Leftover>, RunError> {
    with_client(settings, async |client| {
        let target = &settings.target;
        probe(client, target.path(), &target.url(), Workspace::Collection).await?;
        Ok(workspace::leftovers(client, target, None).await)
    })
}

/// Removes a collection of an earlier run; refuses one that is not
/// [removable](Leftover::is_removable).
///
/// # Errors
/// Why it is still there.
pub fn remove_leftover(
    settings: &Settings,
    leftover: &Leftover,
    force: bool,
) -> Result<(), String> {
    with_client(settings, async |client| {
        Ok(workspace::remove_leftover(client, leftover, force).await)
    })
    .map_err(|error| error.to_string())?
}

fn with_client<T>(
    settings: &Settings,
    work: impl AsyncFnOnce(&mut Client) -> Result<T, RunError>,
) -> Result<T, RunError> {
    let clock = RunClock::start();
    let config = client_config(settings, clock, &Cancel::default());
    let nonces = ChaCha8Rng::seed_from_u64(settings.seed);
    let mut client = Client::new(Rc::new(config), authenticator(settings), nonces);
    let limit = Duration::from_secs(3600);
    runtime()?.block_on(async {
        match tokio::time::timeout(limit, work(&mut client)).await {
            Ok(result) => result,
            Err(_) => Err(RunError::Local(format!("gave up after {limit:?}"))),
        }
    })
}
