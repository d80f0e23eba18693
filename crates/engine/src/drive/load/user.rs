//! One user of a load: prepares, does operations as its loop requires, and cleans up.
//!
//! ```text
//! connect --> set-ups --barrier--> warm up --barrier--> operations --barrier--> clean-up
//! ```
//!
//! Rare futures are boxed, and end before users wait for one another: the state of a task has room
//! for all that it may wait for, and there may be tens of thousands.

use std::ops::ControlFlow;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use record::Nanos;
use suite::{OperationPlan, Workspace};
use wire::auth::Authenticator;

use super::operations::Operations;
use super::workload::{UserPhase, Workload};
use crate::clock::nanos;
use crate::drive::context::RunContext;
use crate::drive::driver::{Driver, Numbering, Operating, ServerSilence};
use crate::drive::user::{Phase, Script, User};
use crate::drive::worker::Worker;
use crate::event_loop::sleep;

/// Interval at which an inactive user checks if it is active.
const PIECE_OF_REST: Duration = Duration::from_millis(5);

/// An operation to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Arrival {
    /// Number, from 1.
    pub(super) number: u64,
    /// When it is to begin; `None` for at once.
    pub(super) planned: Option<Nanos>,
    /// Its stage of the schedule.
    pub(super) phase: u16,
    /// The time, if the clock has just been read.
    pub(super) now: Option<Nanos>,
}

pub(super) struct LoadUser {
    pub(super) user: User,
    pub(super) workload: Arc<Workload>,
    pub(super) operations: Rc<Operations>,
    /// State in each test.
    pub(super) scripts: Vec<Script>,
}

pub(super) struct Ready {
    /// True for one of the users.
    pub(super) leads: bool,
    /// There is an operation that can be done.
    pub(super) can_begin: bool,
}

impl LoadUser {
    pub(super) fn new(
        id: u32,
        workload: &Arc<Workload>,
        worker: &Rc<Worker>,
        operations: &Rc<Operations>,
        driver: &Rc<dyn Driver>,
        authenticator: impl Fn(u16) -> Authenticator,
        seed: u64,
    ) -> Self {
        let others = if operations.have_pages() {
            worker.config.http.parallel.saturating_sub(1)
        } else {
            0
        };
        let (context, driver) = (workload.context(), Rc::clone(driver));
        let user = User::new(id, context, worker, driver, authenticator, seed, others);
        let scripts = operations.tests.iter().map(|test| user.script(test));
        LoadUser {
            scripts: scripts.collect(),
            user,
            workload: Arc::clone(workload),
            operations: Rc::clone(operations),
        }
    }

    pub(super) fn context(&self) -> &Arc<RunContext> {
        self.workload.context()
    }

    /// Connects, sets up and warms up, which is not recorded, and waits for the other users to have
    /// done so.
    pub(super) async fn get_ready(&mut self) -> Ready {
        let context = Arc::clone(self.context());
        Box::pin(self.connect()).await;
        if self.is_set_up() {
            Box::pin(self.set_up()).await;
            context.meet().await;
        }
        let can_begin = self.operations.keep_possible(&context);
        if can_begin {
            Box::pin(self.warm_up()).await;
        }
        self.workload.arrive();
        let leads = context.meet().await;
        if leads && !can_begin {
            self.workload.stop();
        }
        self.user.log.silence = ServerSilence::from(context.clock.now());
        Ready { leads, can_begin }
    }

    /// True if there is something to set up or clean up: the same for all users.
    fn is_set_up(&self) -> bool {
        let is_prepared = |script: &Script| {
            let test = &script.test;
            !(test.setup.is_empty() && test.cleanup.is_empty())
        };
        self.context().plan.workspace == Workspace::Collection
            || self.scripts.iter().any(is_prepared)
    }

    async fn connect(&mut self) {
        self.workload.turn_to_connect().await;
        if self.user.log.worker.config.http.ends_connections() {
            return;
        }
        for client in self.user.all_clients() {
            if self.workload.is_over() {
                break;
            }
            // A failure here repeats where it is counted.
            let _ = client.connect().await;
        }
    }

    async fn set_up(&mut self) {
        let context = Arc::clone(self.context());
        for script in &mut self.scripts {
            if let Err(stop) = self.user.set_up(script).await {
                context.stop(script.test.id, stop);
            }
        }
    }

    async fn warm_up(&mut self) {
        let context = Arc::clone(self.context());
        // The measured sequence does not depend on the length of the warm-up.
        let sequence = self.user.rng.clone();
        let begun = context.clock.now();
        let (warmup, warmup_time) = self.workload.warmup();
        let enough = begun.saturating_add(warmup_time);
        // A page of many slow files, or a long pause, is not waited for.
        self.user.log.deadline = if warmup_time == 0 {
            begun.saturating_add(nanos(self.user.log.worker.config.timeout))
        } else {
            enough
        };
        let mut times = 0;
        let mut now = begun;
        while !self.workload.is_over()
            && now < self.user.log.deadline
            && (times < warmup || now < enough)
        {
            let uncounted = |_: &OperationPlan, _: &Operations| Operating {
                visit: Some(0),
                ended: now,
                ..Operating::at_once(Numbering::Own(0))
            };
            let mut operating = self.operation(0, Phase::WarmUp, uncounted).await;
            self.user.log.rest(&mut operating).await;
            self.user.give_way(&operating, now).await;
            times += 1;
            now = context.clock.now();
        }
        self.user.log.deadline = Nanos::MAX;
        self.user.rng = sequence;
    }

    /// Waits until it is one of the active users; breaks if the load is over before.
    pub(super) async fn wait_for_work(&mut self, phase: &mut UserPhase) -> ControlFlow<()> {
        let context = Arc::clone(self.context());
        // The window does not wait for it.
        phase.has_ended_one = true;
        self.workload.settle(phase);
        let begun = context.clock.now();
        while !self.workload.is_over() && !context.conditions.is_at_work(self.user.log.id) {
            sleep(PIECE_OF_REST).await;
        }
        let vitals = &self.user.log.worker.vitals;
        vitals.add_rest(context.clock.now() - begun);
        if self.workload.is_over() {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }

    pub(super) async fn operate(&mut self, arrival: Arrival) -> Operating {
        let number = arrival.number;
        let operating = |operation: &OperationPlan, operations: &Operations| Operating {
            planned: arrival.planned,
            phase: arrival.phase,
            now: arrival.now,
            ended: arrival.now.unwrap_or_default(),
            ..operations.begin(number, operation)
        };
        self.operation(number, Phase::Measured, operating).await
    }

    /// Does the operation of that number; `begin` makes it of its steps.
    async fn operation(
        &mut self,
        number: u64,
        phase: Phase,
        begin: impl FnOnce(&OperationPlan, &Operations) -> Operating,
    ) -> Operating {
        let operations = Rc::clone(&self.operations);
        let Some(drawn) = operations.draw(&mut self.user.rng, number, self.user.log.id) else {
            self.user.is_through = true;
            return Operating {
                ended: self.context().clock.now(),
                ..Operating::at_once(Numbering::Own(0))
            };
        };
        let mut operating = begin(&drawn, &operations);
        let script = &mut self.scripts[usize::from(drawn.test.0)];
        let steps = operations.steps(&drawn);
        let done = self.user.operation(script, steps, phase, &mut operating);
        if let Err(stop) = done.await {
            self.context().stop(drawn.test, stop);
        }
        let script = &self.scripts[usize::from(drawn.test.0)];
        if script.is_broken() && Box::pin(self.user.release_locks(script)).await {
            let now = self.context().clock.now();
            self.user.log.rests_in(phase, now - operating.ended);
            operating.ended = now;
        }
        operating
    }

    /// Cleans up after preparing.
    pub(super) async fn leave(&mut self) {
        if self.is_set_up() {
            self.context().meet().await;
        }
        for script in &mut self.scripts {
            Box::pin(self.user.clean_up(script)).await;
        }
    }
}
