//! One user: its connections, where it works, what it holds, and how it does the steps of a test.
//!
//! ```text
//! driver --operation--> steps --request--> send --> judge --> record
//!                         '--page--> its files, one after the other or several at a time
//! ```

mod destination;
mod page;
mod parts;
mod request;
mod script;
mod steps;
pub(crate) mod stop_watch;

use std::rc::Rc;
use std::sync::Arc;

use rand_chacha::ChaCha8Rng;
use record::{EventKind, Http, Nanos, Outcome, TestId};
use suite::Workspace;
use wire::auth::Authenticator;

use crate::connection::client::{Client, PlainRequest};
use crate::drive::chance;
use crate::drive::context::{RunContext, Stop};
use crate::drive::driver::{Driver, Hearing, Numbering};
use crate::drive::step::PreparedTest;
use crate::drive::worker::Worker;
use crate::site::insistence::{Insisted, insist};
use crate::site::probe::LABEL;
use crate::site::workspace::held::HeldLock;
pub(crate) use parts::FoundParts;
pub(crate) use request::Attempt;
pub(crate) use script::{Phase, Script};
pub(crate) use steps::choose;
use stop_watch::StopWatches;

/// One user of a run.
pub(crate) struct User {
    /// Its ways to each target of the plan.
    pub(crate) clients: Vec<TargetClients>,
    pub(crate) log: Log,
    /// What it does is drawn from this.
    pub(crate) rng: ChaCha8Rng,
    /// Nothing counts any more: it ends what it has begun without a pause.
    pub(crate) is_through: bool,
}

/// How a user asks one target.
pub(crate) struct TargetClients {
    pub(crate) client: Client,
    /// Further connections, for the files of a page.
    pub(crate) others: Vec<Client>,
}

impl TargetClients {
    /// All connections.
    pub(crate) fn all(&mut self) -> impl Iterator<Item = &mut Client> {
        self.others.iter_mut().chain([&mut self.client])
    }
}

/// What a user does beside sending requests: it records them, and remembers what they made.
pub(crate) struct Log {
    pub(crate) id: u32,
    pub(crate) context: Arc<RunContext>,
    pub(crate) worker: Rc<Worker>,
    driver: Rc<dyn Driver>,
    /// The user pauses no longer than until then, and begins no file of a page.
    pub(crate) deadline: Nanos,
    pub(crate) hearing: Hearing,
    locks: Vec<OwnLock>,
    pub(crate) watches: StopWatches,
}

/// A lock that a user holds.
struct OwnLock {
    /// The target, by its place in the plan.
    target: usize,
    path: String,
    token: String,
}

/// What becomes of steps that are left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StepsLeft {
    Done,
    /// The time of their operation is over, and that of their test is not: they are counted.
    Dropped,
    /// Nobody counts them.
    Out,
}

impl User {
    /// One that has so many further connections for the files of a page, and these credentials for each target.
    pub(crate) fn new(
        id: u32,
        context: &Arc<RunContext>,
        worker: &Rc<Worker>,
        driver: Rc<dyn Driver>,
        authenticator: impl Fn(u16) -> Authenticator,
        seed: u64,
        others: u32,
    ) -> Self {
        let (rng, nonces) = chance::of_user(seed, id);
        let clients = (0..).zip(worker.configs_of(id).iter());
        let clients = clients.map(|(target, config)| {
            let client = || Client::new(Rc::clone(config), authenticator(target), nonces.clone());
            TargetClients {
                others: (0..others).map(|_| client()).collect(),
                client: client(),
            }
        });
        User {
            clients: clients.collect(),
            log: Log {
                id,
                context: Arc::clone(context),
                worker: Rc::clone(worker),
                driver,
                deadline: Nanos::MAX,
                hearing: Hearing::from(context.clock.now()),
                locks: Vec::new(),
                watches: StopWatches::default(),
            },
            rng,
            is_through: false,
        }
    }

    /// Uses connections as a test says, on new ones where that is not how it used them before.
    pub(crate) fn use_http(&mut self, http: Http) {
        self.all_clients().for_each(|client| client.use_http(http));
    }

    /// All connections to all targets.
    pub(crate) fn all_clients(&mut self) -> impl Iterator<Item = &mut Client> {
        self.clients.iter_mut().flat_map(TargetClients::all)
    }

    /// Its usual way to a target.
    fn client(&mut self, target: usize) -> &mut Client {
        &mut self.clients[target].client
    }

    /// A test that this user begins.
    pub(crate) fn script(&self, test: &Rc<PreparedTest>) -> Script {
        let clients = self.clients.iter();
        let workplaces = clients.map(|own| self.workplace(own.client.root(), test));
        Script::new(Rc::clone(test), self.log.id, workplaces.collect())
    }

    /// The collection in which it works at a target, during this test.
    fn workplace(&self, root: &str, test: &PreparedTest) -> String {
        match (self.log.context.plan.workspace, test.shared) {
            (Workspace::ReadOnly | Workspace::Furnished, _) => root.to_owned(),
            (Workspace::Collection, true) => format!("{root}{}-shared/", test.name),
            (Workspace::Collection, false) => format!("{root}{}-u{}/", test.name, self.log.id),
        }
    }

    /// Whether it sets a test up, for itself or for all.
    fn is_in_charge(&self, script: &Script) -> bool {
        !script.test.shared || self.log.id == 0
    }

    /// Makes the place of a test, and does its set-up.
    ///
    /// # Errors
    /// Why the test cannot be done.
    pub(crate) async fn set_up(&mut self, script: &mut Script) -> Result<(), Stop> {
        if !self.is_in_charge(script) || !self.log.context.goes_on(script.test.id) {
            return Ok(());
        }
        let test = Rc::clone(&script.test);
        if self.log.context.plan.workspace == Workspace::Collection {
            for target in test.targets.iter().map(|target| usize::from(*target)) {
                if self.make_workplace(script, target).await? {
                    script.workplaces_made.push(target);
                }
            }
        }
        script.is_begun = true;
        self.unmeasured(script, &test.setup, Phase::SetUp).await
    }

    /// Makes the collection in which the user works at a target; false where it is there already, because the
    /// target is another way to one before it.
    async fn make_workplace(&mut self, script: &Script, target: usize) -> Result<bool, Stop> {
        let context = Arc::clone(&self.log.context);
        let place = self.log.worker.endpoint_of(self.log.id, target as u16);
        let is_alias = context.sites[place].is_alias;
        let path = script.workplace(target);
        let label = self.label(script, Phase::SetUp);
        let mkcol = PlainRequest::bare("MKCOL", path, &label);
        let Insisted {
            exchange,
            may_be_done,
        } = insist(self.client(target), mkcol).await;
        let by_first_attempt =
            exchange.repeats("MKCOL") || may_be_done && exchange.trace.status == Some(405);
        match exchange.result {
            Ok(answer) if (200..300).contains(&answer.head.status) || by_first_attempt => Ok(true),
            // A collection cannot be made twice (RFC 4918, section 9.3.1).
            Ok(answer) if answer.head.status == 405 && is_alias => Ok(false),
            Ok(answer) => Err(Stop::Failed(format!(
                "MKCOL {path}: {}; expected 201",
                answer.head.status_text()
            ))),
            Err(failure) => {
                let what = format!("MKCOL {path}: {}", failure.what);
                let unanswered = matches!(
                    failure.outcome,
                    Outcome::ConnectFailed | Outcome::Timeout | Outcome::Reset
                );
                // One lost connection is no reason to end a run; a server that is gone is, or
                // the time limit would be waited for again and again.
                Err(if unanswered && !self.is_server_there(target).await {
                    Stop::Unreachable(what)
                } else {
                    Stop::Failed(what)
                })
            }
        }
    }

    async fn is_server_there(&mut self, target: usize) -> bool {
        let client = self.client(target);
        let root = client.root().to_owned();
        let options = PlainRequest::bare("OPTIONS", &root, LABEL);
        client.perform(options).await.result.is_ok()
    }

    /// Undoes what a test did for this user. What cannot be undone here is met once more when
    /// the whole collection of the run is removed.
    pub(crate) async fn clean_up(&mut self, script: &mut Script) {
        let context = Arc::clone(&self.log.context);
        if context.is_aborted() {
            return;
        }
        self.set_cleaning(true);
        if self.is_in_charge(script) && script.is_begun && context.goes_on(script.test.id) {
            let test = Rc::clone(&script.test);
            let cleaned = self.unmeasured(script, &test.cleanup, Phase::CleanUp).await;
            if let Err(stop) = cleaned {
                let (Stop::NotSupported { evidence: why, .. }
                | Stop::Failed(why)
                | Stop::Unreachable(why)) = stop;
                let text = format!("the clean-up of {} failed: {why}", script.test.name);
                context.journal.write(EventKind::Warning { text });
            }
        }
        self.release_locks(script).await;
        for target in std::mem::take(&mut script.workplaces_made) {
            let label = self.label(script, Phase::CleanUp);
            let delete = PlainRequest::bare("DELETE", script.workplace(target), &label);
            self.client(target).perform(delete).await;
        }
        self.set_cleaning(false);
    }

    /// Cleaning up goes on when the run is interrupted, and may take longer than what is measured.
    fn set_cleaning(&mut self, is_cleaning: bool) {
        for own in &mut self.clients {
            own.client.ignore_cancel = is_cleaning;
            own.client.is_patient = is_cleaning;
        }
    }

    /// Releases what is still held in a test: what follows would fail because of that. Whether there was
    /// anything.
    pub(crate) async fn release_locks(&mut self, script: &Script) -> bool {
        let locks = self.log.locks_below(script);
        let has_any = !locks.is_empty();
        for OwnLock {
            target,
            path,
            token,
        } in locks
        {
            let label = self.label(script, Phase::CleanUp);
            let headers = [("Lock-Token", token.as_str())];
            let unlock = PlainRequest {
                headers: &headers,
                ..PlainRequest::bare("UNLOCK", &path, &label)
            };
            let unlocked = self.client(target).perform(unlock).await;
            if unlocked.result.is_ok_and(|answer| answer.head.status < 300) {
                self.log.context.held.released(&token);
            }
        }
        has_any
    }

    /// Value of X-Prestan for a request that is no step.
    fn label(&self, script: &Script, phase: Phase) -> String {
        if let Some(label) = script.test.label() {
            return label.clone();
        }
        let context = &self.log.context;
        let number = match self.log.beside_operations() {
            Numbering::Own(number) => number,
            Numbering::Each => context.progress.next_request(),
        };
        let (suite, test) = (&context.plan.suite.name, &script.test.name);
        format!("{suite}: {number} ({test} {})", phase.name())
    }
}

impl Log {
    /// Whether the user begins another step of a test at `now`. Cleaning up goes on when the test or the
    /// run is over; nothing else does.
    fn goes_on(&self, test: TestId, phase: Phase, now: Nanos) -> bool {
        phase == Phase::CleanUp || self.driver.goes_on(test, now)
    }

    /// What becomes of the steps that are left of an operation at `now`.
    fn what_is_left(&self, test: TestId, phase: Phase, now: Nanos) -> StepsLeft {
        if self.goes_on(test, phase, now) {
            StepsLeft::Done
        } else if phase == Phase::Measured && !self.driver.is_strict() && self.context.goes_on(test)
        {
            StepsLeft::Dropped
        } else {
            StepsLeft::Out
        }
    }

    /// How requests are numbered that are of no operation: where operations have numbers, by none.
    pub(super) fn beside_operations(&self) -> Numbering {
        if self.driver.is_strict() {
            Numbering::Each
        } else {
            Numbering::Own(0)
        }
    }

    /// Keeps in mind that a lock is held, in case that nobody else releases it.
    fn hold(&mut self, (target, url): (usize, String), path: &str, token: String) {
        self.context.held.taken(HeldLock {
            target: url,
            path: path.to_owned(),
            token: token.clone(),
        });
        self.locks.push(OwnLock {
            target,
            path: path.to_owned(),
            token,
        });
    }

    /// Whatever was locked there is no longer.
    fn let_go(&mut self, target: usize, path: &str) {
        let is_there = |lock: &mut OwnLock| lock.target == target && lock.path == path;
        for lock in self.locks.extract_if(.., is_there) {
            self.context.held.released(&lock.token);
        }
    }

    /// The locks in the collections of a test, which are forgotten here.
    fn locks_below(&mut self, script: &Script) -> Vec<OwnLock> {
        let of_it = |lock: &mut OwnLock| lock.path.starts_with(script.workplace(lock.target));
        self.locks.extract_if(.., of_it).collect()
    }
}
