//! One user: its connections, its collections, its locks, and how it does the steps of a test.
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
mod stop_watch;

use std::rc::Rc;
use std::sync::Arc;

use rand_chacha::ChaCha8Rng;
use record::{EventKind, Http, Nanos, TestId};
use suite::Workspace;
use wire::auth::Authenticator;

use crate::connection::client::{Client, PlainRequest};
use crate::drive::chance;
use crate::drive::check::is_without_response;
use crate::drive::context::{RunContext, Stop};
use crate::drive::driver::{Driver, Numbering, ServerSilence};
use crate::drive::started_watches::StopWatches;
use crate::drive::step::PreparedTest;
use crate::drive::worker::Worker;
use crate::site::probe::LABEL;
use crate::site::retries::{RetriedExchange, perform_with_retries};
use crate::site::workspace::held::HeldLock;
pub(crate) use request::Attempt;
pub(crate) use script::{Phase, Script};
pub(crate) use steps::choose;

pub(crate) struct User {
    /// Its clients for each target of the plan.
    pub(crate) clients: Vec<TargetClients>,
    pub(crate) log: Log,
    /// Random numbers of its operations.
    pub(crate) rng: ChaCha8Rng,
    /// Nothing counts any more: it ends its current operation without a pause.
    pub(crate) is_through: bool,
}

/// A user's clients for one target.
pub(crate) struct TargetClients {
    pub(crate) client: Client,
    /// Further connections, for the files of a page.
    pub(crate) others: Vec<Client>,
}

impl TargetClients {
    pub(crate) fn all(&mut self) -> impl Iterator<Item = &mut Client> {
        self.others.iter_mut().chain([&mut self.client])
    }
}

/// A user without its connections: it records requests, and keeps their effects.
pub(crate) struct Log {
    pub(crate) id: u32,
    pub(crate) context: Arc<RunContext>,
    pub(crate) worker: Rc<Worker>,
    driver: Rc<dyn Driver>,
    /// Latest moment for pauses, and for beginning a file of a page.
    pub(crate) deadline: Nanos,
    pub(crate) silence: ServerSilence,
    locks: Vec<UserLock>,
    pub(crate) watches: StopWatches,
}

/// A lock that a user holds.
struct UserLock {
    /// The index of the target in the plan.
    target: usize,
    path: String,
    token: String,
}

/// Treatment of the remaining steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StepsLeft {
    Done,
    /// The time of their operation is over, and that of their test is not: they are counted as
    /// dropped.
    Dropped,
    /// They are not counted.
    Out,
}

impl User {
    /// A user with this many further connections for the files of a page, and these credentials for
    /// each target.
    pub(crate) fn new(
        id: u32,
        context: &Arc<RunContext>,
        worker: &Rc<Worker>,
        driver: Rc<dyn Driver>,
        authenticator: impl Fn(u16) -> Authenticator,
        seed: u64,
        others: u32,
    ) -> Self {
        let (rng, nonces) = chance::user_sequences(seed, id);
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
                silence: ServerSilence::from(context.clock.now()),
                locks: Vec::new(),
                watches: StopWatches::default(),
            },
            rng,
            is_through: false,
        }
    }

    /// Uses connections as a test requires, on new ones if that differs.
    pub(crate) fn use_http(&mut self, http: Http) {
        self.all_clients().for_each(|client| client.use_http(http));
    }

    pub(crate) fn all_clients(&mut self) -> impl Iterator<Item = &mut Client> {
        self.clients.iter_mut().flat_map(TargetClients::all)
    }

    fn client(&mut self, target: usize) -> &mut Client {
        &mut self.clients[target].client
    }

    /// The script of a test that this user begins.
    pub(crate) fn script(&self, test: &Rc<PreparedTest>) -> Script {
        let clients = self.clients.iter();
        let workplaces = clients.map(|client| self.workplace(client.client.root(), test));
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

    /// True if it sets a test up, for itself or for all.
    fn is_in_charge(&self, script: &Script) -> bool {
        !script.test.shared || self.log.id == 0
    }

    /// Makes the collection of a test, and does its set-up.
    ///
    /// # Errors
    /// The test cannot be done, with the reason.
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

    /// Makes the collection in which the user works at a target; false if it exists already,
    /// because the target is an alias of an earlier one.
    async fn make_workplace(&mut self, script: &Script, target: usize) -> Result<bool, Stop> {
        let context = Arc::clone(&self.log.context);
        let index = self.log.worker.endpoint_of(self.log.id, target as u16);
        let is_alias = context.sites[index].is_alias;
        let path = script.workplace(target);
        let label = self.label(script, Phase::SetUp);
        let mkcol = PlainRequest::bare("MKCOL", path, &label);
        let RetriedExchange {
            exchange,
            may_be_done,
        } = perform_with_retries(self.client(target), mkcol).await;
        let by_first_attempt =
            exchange.repeats("MKCOL") || may_be_done && exchange.trace.status == Some(405);
        match exchange.result {
            Ok(head) if (200..300).contains(&head.status) || by_first_attempt => Ok(true),
            // A collection cannot be made twice (RFC 4918, section 9.3.1).
            Ok(head) if head.status == 405 && is_alias => Ok(false),
            Ok(head) => Err(Stop::Failed(format!(
                "MKCOL {path}: {}; expected 201",
                head.status_text()
            ))),
            Err(failure) => {
                let what = format!("MKCOL {path}: {}", failure.what);
                let has_no_response = is_without_response(failure.outcome);
                // One lost connection is no reason to end a run; a server that is gone is, or the
                // time limit would be waited for repeatedly.
                Err(if has_no_response && !self.is_server_there(target).await {
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

    /// Cleans up a test for this user. Failures repeat when the whole collection of the run is
    /// removed.
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

    /// Enables cleaning up after an interruption, with a longer time limit.
    fn set_cleaning(&mut self, is_cleaning: bool) {
        for clients in &mut self.clients {
            clients.client.ignore_cancel = is_cleaning;
            clients.client.is_patient = is_cleaning;
        }
    }

    /// Releases locks that are still held in a test, which would make later requests fail. True if
    /// there were any.
    pub(crate) async fn release_locks(&mut self, script: &Script) -> bool {
        let locks = self.log.locks_below(script);
        let has_any = !locks.is_empty();
        for UserLock {
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
            if unlocked.result.is_ok_and(|head| head.status < 300) {
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
    /// True if the user begins another step of a test at `now`. Cleaning up continues when the test
    /// or the run is over; nothing else does.
    fn goes_on(&self, test: TestId, phase: Phase, now: Nanos) -> bool {
        phase == Phase::CleanUp || self.driver.goes_on(test, now)
    }

    /// Treatment of the remaining steps of an operation at `now`.
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

    /// Numbering of requests outside of operations: if operations have numbers, by none.
    pub(super) fn beside_operations(&self) -> Numbering {
        if self.driver.is_strict() {
            Numbering::Each
        } else {
            Numbering::Own(0)
        }
    }

    /// Notes a lock that is held, in case that it is not released otherwise.
    fn hold(&mut self, (target, url): (usize, String), path: &str, token: String) {
        self.context.held.taken(HeldLock {
            target: url,
            path: path.to_owned(),
            token: token.clone(),
        });
        self.locks.push(UserLock {
            target,
            path: path.to_owned(),
            token,
        });
    }

    /// Removes the notes of locks at a path.
    fn let_go(&mut self, target: usize, path: &str) {
        let is_there = |lock: &mut UserLock| lock.target == target && lock.path == path;
        for lock in self.locks.extract_if(.., is_there) {
            self.context.held.released(&lock.token);
        }
    }

    /// Removes and returns the locks in the collections of a test.
    fn locks_below(&mut self, script: &Script) -> Vec<UserLock> {
        let is_below = |lock: &mut UserLock| lock.path.starts_with(script.workplace(lock.target));
        self.locks.extract_if(.., is_below).collect()
    }
}
