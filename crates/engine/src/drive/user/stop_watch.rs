//! Stop-watches: the time from one step to another, as a sample.
//!
//! A stop-watch starts when its step is reached, and stops when the last request or pause before
//! its step ended: neither contains the load generator's processing of a response. It is timed in
//! user space.

use record::{MeasureId, Moments, Nanos, Outcome};

use super::{Phase, Script, User};
use crate::connection::client::Trace;
use crate::drive::check::Wrong;
use crate::drive::driver::Operating;
use crate::drive::operation::Operation;
use crate::drive::started_watches::StartedWatch;

impl User {
    /// Starts a stop-watch; a running one begins anew.
    pub(super) fn start_watch(
        &mut self,
        script: &Script,
        watch: usize,
        phase: Phase,
        operating: &Operating,
    ) {
        if script.is_broken() {
            return;
        }
        let context = &self.log.context;
        let is_first = operating.started.is_none();
        let running = StartedWatch {
            since: context.clock.now(),
            planned: operating.planned.filter(|_| is_first),
            counts: phase == Phase::Measured,
            failed: None,
        };
        if context.plan.stop_watches[watch].is_shared {
            context.shared_watches.start(watch, running);
        } else {
            self.log.watches.start(watch, running);
        }
    }

    /// Stops a stop-watch, if it runs.
    pub(super) fn stop_watch(
        &mut self,
        script: &Script,
        watch: usize,
        phase: Phase,
        operating: &Operating,
    ) {
        let context = &self.log.context;
        let plan = &context.plan.stop_watches[watch];
        let stopped = if plan.is_shared {
            // A step that this user could not do does not end another user's stop-watch.
            (!script.is_broken() && !operating.is_cut)
                .then(|| context.shared_watches.stop(watch, phase == Phase::Measured))
                .flatten()
        } else {
            self.log.watches.stop(watch)
        };
        let Some((running, measure)) = stopped.zip(plan.measure) else {
            return;
        };
        if phase != Phase::Measured || !running.counts {
            return;
        }
        let dropped = script.is_broken().then_some(Outcome::Dropped);
        let failed = running.failed.or(dropped);
        // In an open loop no request may have ended yet.
        let ended = match (operating.started, operating.ended) {
            (None, 0) => context.clock.now(),
            (_, ended) => ended,
        };
        let at = ended.max(running.since);
        self.record_watch(script, measure, running, (at, operating.phase), failed);
    }

    fn record_watch(
        &self,
        script: &Script,
        measure: MeasureId,
        running: StartedWatch,
        (at, phase): (Nanos, u16),
        failed: Option<Outcome>,
    ) {
        let worker = &self.log.worker;
        let trace = Trace {
            moments: Moments {
                planned: running.planned.unwrap_or(running.since),
                started: running.since,
                sent: Some(running.since),
                acked: None,
                first: Some(at),
                done: Some(at),
            },
            ..Trace::nothing(worker.config.time.without_stamps())
        };
        let operation = Operation {
            measure,
            user: self.log.id,
            target: 0,
            role: script.role(),
            number: 0,
            visit: None,
            parts: None,
            phase,
        };
        if let Some(outcome) = failed {
            let why = "an operation failed between its start and its stop";
            let wrong = Wrong::new(outcome, why.to_owned());
            operation.failed(&self.log.context, record::STOP_WATCH, &wrong, None);
        }
        worker.record(operation, &trace, failed.unwrap_or(Outcome::Ok));
    }
}
