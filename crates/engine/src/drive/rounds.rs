//! Users go through the tests of a suite, round by round.
//!
//! ```text
//! collection, set-up, warm-up --barrier--> measured rounds --barrier--> clean-up --barrier-->
//! ```
//!
//! A user who has done its share continues until the slowest has, so that all are active as long as
//! the window is open (Xu 2004, section 4.4: only overlapping requests count). Then all continue,
//! uncounted, until the last round has ended that began in the window.

mod warmup;

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use record::{EventKind, Nanos, TestId};
use suite::{Limit, TestPlan};
use wire::auth::Authenticator;

use crate::clock::nanos;
use crate::drive::Rounds;
use crate::drive::check::{Wrong, is_without_response};
use crate::drive::context::{RunContext, Stop};
use crate::drive::driver::{Driver, RequestEnd, ServerSilence};
use crate::drive::step::PreparedTests;
use crate::drive::user::{Phase, Script, User};
use crate::drive::worker::Worker;
use warmup::Warmup;

/// Limit of a user's rounds as a multiple of its share, from the moment when all users are active.
const LONGEST_OVERTIME: u32 = 10;

/// Consecutive operations without a response after which a user abandons a test.
const SILENCE: u32 = 5;

/// Rounds of one run that are done in a turn, before another run does as many: long enough for the
/// first request of a batch, which finds colder caches, to be one of many, and short enough for
/// both runs to see the same machine. For one process compared with itself on a shared machine,
/// ratios of runs of 150 ms had a standard deviation of 4.6 % with batches of 10 ms, and of 1.6 %
/// with 2 ms.
const BATCH: Duration = Duration::from_millis(2);

pub(crate) struct RoundsOfUser {
    user: User,
    context: Arc<RunContext>,
    rounds: Rounds,
    tests: PreparedTests,
}

/// The driver of rounds: a failure ends its test.
struct Strict(Arc<RunContext>);

impl Driver for Strict {
    fn goes_on(&self, test: TestId, _: Nanos) -> bool {
        self.0.goes_on(test)
    }

    fn end_of_pauses(&self) -> Nanos {
        Nanos::MAX
    }

    fn is_strict(&self) -> bool {
        true
    }

    fn request_ended(
        &self,
        silence: &mut ServerSilence,
        end: &RequestEnd<'_>,
    ) -> Result<(), String> {
        let is_silent = |(wrong, _): &(&Wrong, &str)| is_without_response(wrong.outcome);
        let Some((wrong, attempted)) = end.wrong.filter(is_silent) else {
            silence.unanswered = 0;
            return Ok(());
        };
        if silence.unanswered < SILENCE {
            return Ok(());
        }
        let what = &wrong.what;
        Err(format!(
            "{SILENCE} operations in a row had no response; the last: {attempted}: {what}"
        ))
    }
}

impl RoundsOfUser {
    pub(crate) fn new(
        id: u32,
        context: &Arc<RunContext>,
        rounds: Rounds,
        tests: PreparedTests,
        worker: &Rc<Worker>,
        authenticator: impl Fn(u16) -> Authenticator,
        seed: u64,
    ) -> Self {
        let driver = Rc::new(Strict(Arc::clone(context)));
        let connections = tests.iter().map(|test| test.http.parallel).max();
        let others = connections.unwrap_or(1) - 1;
        RoundsOfUser {
            user: User::new(id, context, worker, driver, authenticator, seed, others),
            context: Arc::clone(context),
            rounds,
            tests,
        }
    }

    /// Goes through all tests.
    pub(crate) async fn run(mut self) {
        let context = Arc::clone(&self.context);
        for test in &context.plan.tests {
            self.take_turn(test.id).await;
            self.test(test).await;
        }
    }

    /// With several runs, the first user waits for the turn of this run, and the others for it.
    async fn take_turn(&self, test: TestId) {
        let Some(turn) = &self.context.turn else {
            return;
        };
        let log = &self.user.log;
        if log.id == 0 && !self.context.is_over() {
            let taken = turn.take(usize::from(test.0), &self.context.cancel);
            log.worker.config.watchdog.rest_during(taken).await;
        }
        self.context.meet().await;
    }

    /// Gives the turn to the other runs, and waits until it returns.
    async fn hand_over(&self, test: TestId) {
        let Some(turn) = &self.context.turn else {
            return;
        };
        if self.context.meet().await {
            turn.pass();
        }
        self.context.meet().await;
        self.take_turn(test).await;
    }

    /// Between two rounds: gives the turn away when the batch has lasted long enough. Returns the
    /// waiting time, in nanoseconds.
    ///
    /// Several users do a test in one batch, because fewer of them are active at its edges.
    async fn between_rounds(&mut self, script: &mut Script) -> Nanos {
        let now = self.context.clock.now();
        if self.context.turn.is_none() || self.context.users > 1 || now < script.batch_end {
            return 0;
        }
        self.context.rest();
        let vitals = &self.user.log.worker.vitals;
        vitals.pause();
        self.hand_over(script.test.id).await;
        vitals.resume();
        let resumed = self.context.clock.now();
        script.batch_end = resumed + nanos(BATCH);
        self.user.log.watches.hold(resumed - now);
        resumed - now
    }

    async fn test(&mut self, test: &TestPlan) {
        let context = Arc::clone(&self.context);
        let journal = &context.journal;
        let worker = Rc::clone(&self.user.log.worker);
        let mut script = self.user.script(&self.tests[usize::from(test.id.0)]);
        self.user.use_http(script.test.http);

        if self.user.log.id == 0 {
            journal.write(EventKind::TestStarted { test: test.id });
        }
        if let Err(stop) = self.prepare(&mut script).await {
            context.stop(test.id, stop);
        }
        let leads = context.meet().await;
        self.hand_over(test.id).await;

        let goes_on = context.goes_on(test.id);
        if leads && goes_on {
            journal.write(EventKind::MeasuringStarted { test: test.id });
        }
        if goes_on {
            worker.vitals.enter();
            if let Err(stop) = self.measure(&mut script, test).await {
                context.stop(test.id, stop);
            }
            worker.vitals.leave(&context.vitals);
            context.rest();
        }
        self.through(&mut script);
        if context.meet().await && goes_on {
            context.record_generator(test.id);
        }

        self.user.clean_up(&mut script).await;
        if context.meet().await {
            journal.write(EventKind::TestEnded { test: test.id });
            if let Some(turn) = &context.turn {
                turn.end_test(usize::from(test.id.0));
            }
        }
    }

    /// Notes that this user has done its share, or will not do it.
    fn through(&self, script: &mut Script) {
        if !std::mem::replace(&mut script.through, true) {
            self.context.count_through(script.test.id);
        }
    }

    /// Everything before the clock starts.
    async fn prepare(&mut self, script: &mut Script) -> Result<(), Stop> {
        let set_up = if self.context.is_ended() {
            Ok(())
        } else {
            self.user.set_up(script).await
        };
        if script.test.shared {
            if let Err(stop) = &set_up {
                self.context.stop(script.test.id, stop.clone());
            }
            self.context.meet().await;
        }
        set_up?;
        self.warm_up(script).await
    }

    async fn warm_up(&mut self, script: &mut Script) -> Result<(), Stop> {
        let clock = self.context.clock;
        let mut warmup = Warmup::new(self.rounds.warmup, nanos(self.rounds.steady_within));
        while !warmup.is_over() && self.context.goes_on(script.test.id) && !self.context.is_ended()
        {
            let begun = clock.now();
            self.user.round(script, Phase::WarmUp).await?;
            warmup.add(clock.now() - begun);
        }
        Ok(())
    }

    async fn measure(&mut self, script: &mut Script, test: &TestPlan) -> Result<(), Stop> {
        let context = Arc::clone(&self.context);
        script.start_measuring(context.clock.now() + nanos(BATCH));
        self.user.log.silence = ServerSilence::default();
        context.count_begun(test.id);
        match test.limit {
            Limit::Requests(share) => self.measure_share(script, share).await,
            Limit::Duration(duration) => {
                let mut end = context.clock.now() + nanos(duration);
                while context.goes_on(test.id) {
                    // A run that waits for its turn measures afterwards: at its end it does not
                    // wait, or the time would be missing in the window.
                    if context.clock.now() >= end || context.is_test_ended(test.id) {
                        context.close_window(test.id);
                    } else {
                        end += self.between_rounds(script).await;
                    }
                    if context.is_run_out(test.id) {
                        break;
                    }
                    self.measured_round(script).await?;
                }
                Ok(())
            }
        }
    }

    async fn measure_share(&mut self, script: &mut Script, share: u32) -> Result<(), Stop> {
        let context = Arc::clone(&self.context);
        let test = script.test.id;
        let mut result = Ok(());
        let mut rounds = 0;
        // Rounds that began when all users were active.
        let mut together = 0;
        while rounds < share
            && result.is_ok()
            && context.goes_on(test)
            && !context.is_test_ended(test)
        {
            self.between_rounds(script).await;
            together += u32::from(context.all_begun(test));
            result = self.measured_round(script).await;
            rounds += 1;
        }
        result?;
        self.through(script);
        let most = share.saturating_mul(LONGEST_OVERTIME);
        while (together < most || script.test.loops.len() > 1) && context.goes_on(test) {
            if context.all_through(test) {
                context.close_window(test);
            }
            if context.is_run_out(test) {
                break;
            }
            together += u32::from(context.all_begun(test));
            self.measured_round(script).await?;
        }
        Ok(())
    }

    async fn measured_round(&mut self, script: &mut Script) -> Result<(), Stop> {
        let _under_way = self.context.begin_round(script.test.id);
        self.user.round(script, Phase::Measured).await
    }
}
