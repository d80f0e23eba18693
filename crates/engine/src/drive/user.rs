//! One user: its connections, where it works, what it holds, and how it does the steps of a test.
//!
//! ```text
//! driver --operation--> steps --request--> send --> judge --> record
//!                         '--page--> its files, one after the other or several at a time
//! ```

mod page;
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
use crate::site::workspace::held::HeldLock;
pub(crate) use request::Attempt;
pub(crate) use script::{Phase, Script};
pub(crate) use steps::choose;
use stop_watch::StopWatches;

/// One user of a run.
pub(crate) struct User {
    pub(crate) client: Client,
    /// Further connections, for the files of a page.
    pub(crate) others: Vec<Client>,
    pub(crate) log: Log,
    /// What it does is drawn from this.
    pub(crate) rng: ChaCha8Rng,
    /// Nothing counts any more: it ends what it has begun without a pause.
    pub(crate) is_through: bool,
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
    /// Locks that it holds: path and token.
    locks: Vec<(String, String)>,
    pub(crate) watches: StopWatches,
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
    /// One that has so many further connections for the files of a page.
    pub(crate) fn new(
        id: u32,
        context: &Arc<RunContext>,
        worker: &Rc<Worker>,
        driver: Rc<dyn Driver>,
        authenticator: impl Fn() -> Authenticator,
        seed: u64,
        others: u32,
    ) -> Self {
        let (rng, nonces) = chance::of_user(seed, id);
        let client = |nonces| Client::new(Rc::clone(worker.config_of(id)), authenticator(), nonces);
        User {
            others: (0..others).map(|_| client(nonces.clone())).collect(),
            client: client(nonces),
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
        for client in self.others.iter_mut().chain([&mut self.client]) {
            client.use_http(http);
        }
    }

    /// A test that this user begins.
    pub(crate) fn script(&self, test: &Rc<PreparedTest>) -> Script {
        Script::new(Rc::clone(test), self.log.id, self.workplace(test))
    }

    /// The collection in which it works, during this test.
    fn workplace(&self, test: &PreparedTest) -> String {
        let root = self.client.root();
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
        if self.log.context.plan.workspace == Workspace::Collection {
            self.make_workplace(script).await?;
            script.workplace_made = true;
        }
        script.is_begun = true;
        let test = Rc::clone(&script.test);
        self.unmeasured(script, &test.setup, Phase::SetUp).await
    }

    async fn make_workplace(&mut self, script: &Script) -> Result<(), Stop> {
        let path = script.workplace();
        let label = self.label(script, Phase::SetUp);
        let exchange = self
            .client
            .perform(PlainRequest::bare("MKCOL", path, &label))
            .await;
        let by_first_attempt = exchange.repeats("MKCOL");
        match exchange.result {
            Ok(answer) if (200..300).contains(&answer.head.status) || by_first_attempt => Ok(()),
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
                Err(if unanswered && !self.is_server_there().await {
                    Stop::Unreachable(what)
                } else {
                    Stop::Failed(what)
                })
            }
        }
    }

    async fn is_server_there(&mut self) -> bool {
        let root = self.client.root().to_owned();
        let options = PlainRequest::bare("OPTIONS", &root, "prestan: 0 (probe)");
        self.client.perform(options).await.result.is_ok()
    }

    /// Undoes what a test did for this user. What cannot be undone here is met once more when
    /// the whole collection of the run is removed.
    pub(crate) async fn clean_up(&mut self, script: &mut Script) {
        let context = Arc::clone(&self.log.context);
        if context.is_aborted() {
            return;
        }
        self.client.ignore_cancel = true;
        self.client.is_patient = true;
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
        if script.workplace_made {
            let label = self.label(script, Phase::CleanUp);
            let delete = PlainRequest::bare("DELETE", script.workplace(), &label);
            self.client.perform(delete).await;
        }
        self.client.ignore_cancel = false;
        self.client.is_patient = false;
    }

    /// Releases what is still held in a test: what follows would fail because of that. Whether there was
    /// anything.
    pub(crate) async fn release_locks(&mut self, script: &Script) -> bool {
        let locks = self.log.locks_below(script.workplace());
        let has_any = !locks.is_empty();
        for (path, token) in locks {
            let label = self.label(script, Phase::CleanUp);
            let headers = [("Lock-Token", token.as_str())];
            let unlock = PlainRequest {
                headers: &headers,
                ..PlainRequest::bare("UNLOCK", &path, &label)
            };
            let unlocked = self.client.perform(unlock).await;
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
    fn hold(&mut self, target: String, path: &str, token: String) {
        self.context.held.taken(HeldLock {
            target,
            path: path.to_owned(),
            token: token.clone(),
        });
        self.locks.push((path.to_owned(), token));
    }

    /// Whatever was locked there is no longer.
    fn let_go(&mut self, path: &str) {
        for (_, token) in self.locks.extract_if(.., |(locked, _)| locked == path) {
            self.context.held.released(&token);
        }
    }

    /// The locks below a path, which are forgotten here.
    fn locks_below(&mut self, workplace: &str) -> Vec<(String, String)> {
        let of_it = |(path, _): &mut (String, String)| path.starts_with(workplace);
        self.locks.extract_if(.., of_it).collect()
    }
}
