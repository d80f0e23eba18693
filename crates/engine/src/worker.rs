//! One thread of a run, with what its users share.

use std::rc::Rc;
use std::sync::Arc;

use record::{MeasureId, Moments, Nanos, Outcome, Sample};

use crate::client::ClientConfig;
use crate::error::RunError;
use crate::event_loop::{EventLoop, next_lost, spawn};
use crate::recorder::Recorder;
use crate::stage::Stage;
use crate::vitals::Vitals;

/// What the users of one thread share.
pub(crate) struct Worker {
    pub(crate) config: Rc<ClientConfig>,
    pub(crate) recorder: Recorder,
    pub(crate) vitals: Vitals,
}

impl Worker {
    /// Records an operation that was to begin at `planned` and was given up at `at` without being
    /// sent.
    pub(crate) fn drop_operation(
        &self,
        measure: MeasureId,
        user: u32,
        number: u64,
        planned: Nanos,
        at: Nanos,
    ) {
        self.recorder.record(Sample {
            measure,
            user,
            number,
            outcome: Outcome::Dropped,
            status: None,
            moments: Moments {
                planned,
                started: at,
                sent: None,
                acked: None,
                first: None,
                done: Some(at),
            },
            timing: self.config.time.without_stamps(),
            connect: None,
            resent: false,
            bytes_sent: 0,
            bytes_received: 0,
        });
    }
}

/// Runs the users of one thread, from the first to the last of them.
pub(crate) fn work<F>(
    event_loop: &EventLoop,
    stage: &Stage,
    config: ClientConfig,
    recorder: Recorder,
    users: impl FnOnce(&Rc<Worker>) -> Vec<F>,
) where
    F: Future<Output = ()> + 'static,
{
    let watchdog = Rc::clone(&config.watchdog);
    let worker = Rc::new(Worker {
        config: Rc::new(config),
        recorder,
        vitals: Vitals::new(stage.clock, Arc::clone(&stage.progress)),
    });
    let all_users = async {
        users(&worker).into_iter().for_each(spawn);
        while let Some(panic) = next_lost().await {
            // A defect of ours. The server is cleaned up and the rest is kept all the same.
            stage.break_up(format!("a user of the run was lost: {panic}"));
        }
    };
    let beat = || worker.vitals.beat(&worker.recorder);
    event_loop.run(watchdog.guard(&stage.cancel, beat, all_users));
}

/// The event loop of one thread.
pub(crate) fn event_loop() -> Result<EventLoop, RunError> {
    EventLoop::new()
        .map_err(|error| RunError::Local(format!("starting the event loop failed: {error}")))
}
