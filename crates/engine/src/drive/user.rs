//! One user: goes through the tests with the others.
//!
//! ```text
//! collection, set-up, warm-up --barrier--> measured rounds --barrier--> clean-up --barrier-->
//! ```
//!
//! A user who has done its share goes on until the slowest has, so that all are at work as long
//! as the window is open (Xu 2004, section 4.4: only overlapping requests count). Then all go on,
//! uncounted, until the last operation has ended that began in the window.

mod round;
mod script;
mod warmup;

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use rand_chacha::ChaCha8Rng;
use record::{EventKind, Nanos, Outcome};
use suite::{Limit, TestPlan, Workspace};
use wire::auth::Authenticator;

use crate::clock::nanos;
use crate::connection::client::{Client, Request};
use crate::drive::stage::{Stage, Stop};
use crate::drive::step::PreparedTests;
use crate::drive::worker::Worker;
use crate::drive::{Rounds, chance};
use crate::site::workspace::held::HeldLock;
use script::{Phase, Script};
use warmup::Warmup;

/// From the moment when all users are at work, a user goes on for at most this many times its share.
const LONGEST_OVERTIME: u32 = 10;

/// Rounds of one run that are done in a turn, before another run does as many: long enough for the
/// first request of a batch, which finds colder caches, to be one of many, and short enough for both
/// runs to see the same machine. Of one process compared with itself on a shared machine, ratios of
/// runs of 150 ms had a standard deviation of 4.6 % with batches of 10 ms, and of 1.6 % with 2 ms.
const BATCH: Duration = Duration::from_millis(2);

/// What a progress bar counts for a user in a test: rounds, or one for a duration.
pub(crate) fn rounds_of(test: &TestPlan) -> u64 {
    match test.limit {
        Limit::Requests(requests) => u64::from(requests),
        Limit::Duration(_) => 1,
    }
}

/// One user of a run.
pub(crate) struct User {
    id: u32,
    client: Client,
    stage: Arc<Stage>,
    rounds: Rounds,
    /// The steps of all tests.
    tests: PreparedTests,
    worker: Rc<Worker>,
    rng: ChaCha8Rng,
    /// Locks that it holds: path and token.
    locks: Vec<(String, String)>,
}

impl User {
    pub(crate) fn new(
        id: u32,
        stage: Arc<Stage>,
        rounds: Rounds,
        tests: PreparedTests,
        worker: Rc<Worker>,
        auth: Authenticator,
        seed: u64,
    ) -> Self {
        let (rng, nonces) = chance::of_user(seed, id);
        let client = Client::new(Rc::clone(worker.config_of(id)), auth, nonces);
        User {
            id,
            client,
            stage,
            rounds,
            tests,
            worker,
            rng,
            locks: Vec::new(),
        }
    }

    /// Goes through all tests.
    pub(crate) async fn run(mut self) {
        let stage = Arc::clone(&self.stage);
        for test in &stage.plan.tests {
            self.take_turn(test).await;
            self.test(test).await;
        }
    }

    /// Where runs take turns, the first user waits for that of this run, and the others for it.
    async fn take_turn(&self, test: &TestPlan) {
        let Some(turn) = &self.stage.turn else { return };
        if self.id == 0 && !self.stage.is_over() {
            let taken = turn.take(usize::from(test.id.0), &self.stage.cancel);
            self.worker.config.watchdog.rest_during(taken).await;
        }
        self.stage.meet().await;
    }

    /// Lets the other runs do what this one has just done, and waits until it may go on.
    async fn hand_over(&self, test: &TestPlan) {
        let Some(turn) = &self.stage.turn else { return };
        if self.stage.meet().await {
            turn.pass();
        }
        self.stage.meet().await;
        self.take_turn(test).await;
    }

    /// Between two rounds: hands over when the batch has lasted long enough. Returns how long this
    /// run waited, in nanoseconds.
    ///
    /// Several users do a test in one batch, because fewer of them are at work at its edges.
    async fn between_rounds(&self, script: &mut Script<'_>) -> Nanos {
        let now = self.stage.clock.now();
        if self.stage.turn.is_none() || self.stage.users > 1 || now < script.batch_end {
            return 0;
        }
        self.worker.vitals.pause();
        self.hand_over(script.test).await;
        self.worker.vitals.resume();
        let resumed = self.stage.clock.now();
        script.batch_end = resumed + nanos(BATCH);
        resumed - now
    }

    async fn test(&mut self, test: &TestPlan) {
        let stage = Arc::clone(&self.stage);
        let steps = Rc::clone(&self.tests[usize::from(test.id.0)]);
        let mut script = Script::new(test, steps, self.workplace(test));

        self.announce(EventKind::TestStarted { test: test.id });
        if let Err(stop) = self.prepare(&mut script).await {
            stage.stop(test.id, stop);
        }
        let leads = stage.meet().await;
        self.hand_over(test).await;

        let goes_on = stage.goes_on(test.id);
        if leads && goes_on {
            stage
                .journal
                .write(EventKind::MeasuringStarted { test: test.id });
        }
        if goes_on {
            self.worker.vitals.enter();
            if let Err(stop) = self.measure(&mut script).await {
                stage.stop(test.id, stop);
            }
            self.worker.vitals.leave(&stage.vitals);
        }
        self.through(&mut script);
        // Rounds of a test that was given up will not be done any more; those of a run that ends
        // early are not done, and the progress says so.
        if !stage.is_over() {
            let left = rounds_of(test).saturating_sub(script.counted);
            stage.progress.add_done(left);
        }
        if stage.meet().await && goes_on {
            stage.tell_of_generator(test.id);
        }

        self.clean_up(&mut script).await;
        if stage.meet().await {
            stage.journal.write(EventKind::TestEnded { test: test.id });
            if let Some(turn) = &stage.turn {
                turn.end_test(usize::from(test.id.0));
            }
        }
    }

    /// Lets the others know that this user has done its share, or will not do it.
    fn through(&self, script: &mut Script<'_>) {
        if !std::mem::replace(&mut script.through, true) {
            self.stage.count_through(script.test.id);
        }
    }

    fn announce(&self, event: EventKind) {
        if self.id == 0 {
            self.stage.journal.write(event);
        }
    }

    /// The collection this user works in, during this test.
    fn workplace(&self, test: &TestPlan) -> String {
        let root = self.client.root();
        match (self.stage.plan.workspace, test.shared) {
            (Workspace::ReadOnly, _) => root.to_owned(),
            (Workspace::Collection, true) => format!("{root}{}-shared/", test.name),
            (Workspace::Collection, false) => format!("{root}{}-u{}/", test.name, self.id),
        }
    }

    /// Everything before the clock starts.
    async fn prepare(&mut self, script: &mut Script<'_>) -> Result<(), Stop> {
        let test = script.test;
        let mine = !test.shared || self.id == 0;
        let set_up = match mine && self.stage.goes_on(test.id) {
            true => self.set_up(script).await,
            false => Ok(()),
        };
        if test.shared {
            if let Err(stop) = &set_up {
                self.stage.stop(test.id, stop.clone());
            }
            self.stage.meet().await;
        }
        set_up?;
        self.warm_up(script).await
    }

    async fn warm_up(&mut self, script: &mut Script<'_>) -> Result<(), Stop> {
        let stage = Arc::clone(&self.stage);
        let mut warmup = Warmup::new(self.rounds.warmup, nanos(self.rounds.steady_within));
        while !warmup.is_over() && stage.goes_on(script.test.id) {
            let begun = stage.clock.now();
            self.round(script, Phase::WarmUp).await?;
            warmup.add(stage.clock.now() - begun);
        }
        Ok(())
    }

    async fn set_up(&mut self, script: &mut Script<'_>) -> Result<(), Stop> {
        if self.stage.plan.workspace == Workspace::Collection {
            self.make_workplace(script).await?;
            script.workplace_made = true;
        }
        let steps = Rc::clone(&script.steps);
        self.steps(script, &steps.setup, Phase::SetUp).await
    }

    async fn make_workplace(&mut self, script: &Script<'_>) -> Result<(), Stop> {
        let path = &script.workplace;
        let label = self.label(script.test, "set-up");
        let exchange = self
            .client
            .perform(Request::bare("MKCOL", path, &label))
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
                Err(match unanswered && !self.is_server_there().await {
                    true => Stop::Unreachable(what),
                    false => Stop::Failed(what),
                })
            }
        }
    }

    async fn is_server_there(&mut self) -> bool {
        let root = self.client.root().to_owned();
        let options = Request::bare("OPTIONS", &root, "prestan: 0 (probe)");
        self.client.perform(options).await.result.is_ok()
    }

    async fn measure(&mut self, script: &mut Script<'_>) -> Result<(), Stop> {
        script.start_measuring(self.stage.clock.now() + nanos(BATCH));
        let stage = Arc::clone(&self.stage);
        let test = script.test;
        stage.count_begun(test.id);
        match test.limit {
            Limit::Requests(share) => self.measure_share(script, share).await,
            Limit::Duration(duration) => {
                let mut end = stage.clock.now() + nanos(duration);
                while stage.goes_on(test.id) {
                    // A run that waits for its turn measures afterwards: at its end it does not wait, or
                    // the time would be missing in the window.
                    match stage.clock.now() >= end {
                        true => stage.close_window(test.id),
                        false => end += self.between_rounds(script).await,
                    }
                    if stage.is_run_out(test.id) {
                        break;
                    }
                    self.round(script, Phase::Measured).await?;
                }
                Ok(())
            }
        }
    }

    async fn measure_share(&mut self, script: &mut Script<'_>, share: u32) -> Result<(), Stop> {
        let stage = Arc::clone(&self.stage);
        let test = script.test.id;
        let mut result = Ok(());
        let mut rounds = 0;
        // Rounds that began when all users were at work.
        let mut together = 0;
        while rounds < share && result.is_ok() && stage.goes_on(test) {
            self.between_rounds(script).await;
            together += u32::from(stage.all_begun(test));
            result = self.round(script, Phase::Measured).await;
            rounds += 1;
            script.counted += 1;
            stage.progress.add_done(1);
        }
        result?;
        self.through(script);
        let most = share.saturating_mul(LONGEST_OVERTIME);
        while together < most && stage.goes_on(test) {
            if stage.all_through(test) {
                stage.close_window(test);
            }
            if stage.is_run_out(test) {
                break;
            }
            together += u32::from(stage.all_begun(test));
            self.round(script, Phase::Measured).await?;
        }
        Ok(())
    }

    /// Undoes what the test did for this user. What cannot be undone here is met once more when
    /// the whole collection of the run is removed.
    async fn clean_up(&mut self, script: &mut Script<'_>) {
        if self.stage.is_aborted() {
            return;
        }
        self.client.ignore_cancel = true;
        self.client.is_patient = true;
        let mine = !script.test.shared || self.id == 0;
        let stopped = !self.stage.goes_on(script.test.id);
        if mine && !stopped {
            let steps = Rc::clone(&script.steps);
            if let Err(stop) = self.steps(script, &steps.cleanup, Phase::CleanUp).await {
                let (Stop::NotSupported { evidence: why, .. }
                | Stop::Failed(why)
                | Stop::Unreachable(why)) = stop;
                let text = format!("the clean-up of {} failed: {why}", script.test.name);
                self.stage.journal.write(EventKind::Warning { text });
            }
        }
        self.release_locks(script.test).await;
        if script.workplace_made {
            let label = self.label(script.test, "clean-up");
            let delete = Request::bare("DELETE", &script.workplace, &label);
            self.client.perform(delete).await;
        }
        self.client.ignore_cancel = false;
        self.client.is_patient = false;
    }

    async fn release_locks(&mut self, test: &TestPlan) {
        for (path, token) in std::mem::take(&mut self.locks) {
            let label = self.label(test, "clean-up");
            let headers = [("Lock-Token", token.as_str())];
            let unlock = Request {
                headers: &headers,
                ..Request::bare("UNLOCK", &path, &label)
            };
            let unlocked = self.client.perform(unlock).await;
            if unlocked.result.is_ok_and(|answer| answer.head.status < 300) {
                self.stage.held.released(&token);
            }
        }
    }

    /// Keeps in mind that a lock is held, in case that nobody else releases it.
    fn hold(&mut self, path: &str, token: String) {
        self.stage.held.taken(HeldLock {
            target: self.client.target(),
            path: path.to_owned(),
            token: token.clone(),
        });
        self.locks.push((path.to_owned(), token));
    }

    /// Whatever was locked there is no longer.
    fn let_go(&mut self, path: &str) {
        for (_, token) in self.locks.extract_if(.., |(locked, _)| locked == path) {
            self.stage.held.released(&token);
        }
    }

    /// Value of X-Prestan for a request that is not measured.
    fn label(&self, test: &TestPlan, phase: &str) -> String {
        let number = self.stage.progress.next_request();
        format!(
            "{}: {number} ({} {phase})",
            self.stage.plan.suite.name, test.name
        )
    }
}
