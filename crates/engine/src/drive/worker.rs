//! One thread of a run, with the state shared by its users.

use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;

use record::{Moments, Nanos, Outcome, Sample, server_of};

use crate::connection::client::{ClientConfig, Trace};
use crate::drive::check::Wrong;
use crate::drive::context::RunContext;
use crate::drive::operation::Operation;
use crate::error::RunError;
use crate::event_loop::{EventLoop, next_lost, spawn};
use crate::watch::origins::OriginCounts;
use crate::watch::recorder::Recorder;
use crate::watch::server_timings::ServerTimings;
use crate::watch::vitals::Vitals;

pub(crate) struct Worker {
    /// Settings for the first server.
    pub(crate) config: Rc<ClientConfig>,
    /// Settings for servers: users are distributed over these, each of which has one for each
    /// target of the plan.
    pub(crate) configs: Vec<Rc<[Rc<ClientConfig>]>>,
    pub(crate) recorder: Recorder,
    pub(crate) vitals: Vitals,
    pub(crate) server_timings: ServerTimings,
    pub(crate) origins: OriginCounts,
}

impl Worker {
    /// The server of a user: users are distributed over all of them.
    pub(crate) fn server_of(&self, user: u32) -> usize {
        server_of(user, self.configs.len())
    }

    pub(crate) fn configs_of(&self, user: u32) -> &Rc<[Rc<ClientConfig>]> {
        &self.configs[self.server_of(user)]
    }

    /// The index of the collection, among all of the run, that is a target of a user.
    pub(crate) fn endpoint_of(&self, user: u32, target: u16) -> usize {
        self.server_of(user) * self.configs_of(user).len() + usize::from(target)
    }

    /// The collection of an operation, by its index, and the address of its connection, if the
    /// server has several.
    pub(crate) fn one_of_addresses(
        &self,
        operation: &Operation,
        address: Option<SocketAddr>,
    ) -> Option<(u16, SocketAddr)> {
        let Operation { user, target, .. } = *operation;
        let config = &self.configs_of(user)[usize::from(target)];
        let has_several = config.dialer.has_several_addresses();
        let address = address.filter(|_| has_several)?;
        Some((self.endpoint_of(user, target) as u16, address))
    }

    pub(crate) fn record(&self, operation: Operation, trace: &Trace, outcome: Outcome) {
        self.recorder.record(Sample {
            measure: operation.measure,
            user: operation.user,
            target: self.endpoint_of(operation.user, operation.target) as u16,
            role: operation.role,
            phase: operation.phase,
            number: operation.number,
            visit: operation.visit,
            parts: operation.parts,
            outcome,
            status: trace.status,
            moments: trace.moments,
            timing: trace.timing,
            connection: trace.connection,
            protocol: trace.protocol,
            stream: trace.stream,
            connect: trace.connect,
            segments: trace.segments,
            resent: trace.resent,
            shares_first: trace.shares_first,
            bytes_sent: trace.bytes_sent,
            bytes_received: trace.bytes_received,
            body_received: trace.body_received,
        });
    }

    /// Records an operation that was planned and is not sent, with the reason.
    pub(crate) fn drop_operation(
        &self,
        context: &RunContext,
        operation: Operation,
        method: &str,
        planned: Option<Nanos>,
        why: &str,
    ) {
        let dropped = Wrong::new(Outcome::Dropped, format!("not sent, because {why}"));
        operation.failed(context, method, &dropped, None);
        let now = context.clock.now();
        let planned = planned.unwrap_or(now);
        let at = planned.max(now);
        let trace = Trace {
            moments: Moments {
                planned,
                started: at,
                sent: None,
                acked: None,
                first: None,
                done: Some(at),
            },
            ..Trace::nothing(self.config.time.without_stamps())
        };
        self.record(operation, &trace, Outcome::Dropped);
    }
}

/// Runs the users of one thread, from the first to the last of them.
pub(crate) fn work<F>(
    event_loop: &EventLoop,
    context: &RunContext,
    configs: Vec<ClientConfig>,
    recorder: Recorder,
    users: impl FnOnce(&Rc<Worker>) -> Vec<F>,
) where
    F: Future<Output = ()> + 'static,
{
    let configs: Vec<Rc<ClientConfig>> = configs.into_iter().map(Rc::new).collect();
    let watchdog = Rc::clone(&configs[0].watchdog);
    let targets = context.plan.targets.len().max(1);
    let worker = Rc::new(Worker {
        config: Rc::clone(&configs[0]),
        configs: configs.chunks(targets).map(Rc::from).collect(),
        recorder,
        vitals: Vitals::new(context.clock, Arc::clone(&context.progress)),
        server_timings: ServerTimings::default(),
        origins: OriginCounts::default(),
    });
    let all_users = async {
        users(&worker).into_iter().for_each(spawn);
        while let Some(panic) = next_lost().await {
            // A defect of Prestan. The server is cleaned up and the other results are kept all the
            // same.
            context.break_up(format!("a user of the run was lost: {panic}"));
        }
    };
    let beat = || worker.vitals.beat(&worker.recorder);
    event_loop.run(watchdog.guard(&context.cancel, beat, all_users));
    let events = worker.server_timings.end().into_iter();
    events
        .chain(worker.origins.end())
        .for_each(|event| context.journal.write(event));
}

/// The event loop of one thread.
pub(crate) fn event_loop() -> Result<EventLoop, RunError> {
    EventLoop::new()
        .map_err(|error| RunError::Local(format!("starting the event loop failed: {error}")))
}
