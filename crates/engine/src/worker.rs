//! One thread of a run, with what its users share.

use std::rc::Rc;
use std::sync::Arc;

use record::{MeasureId, Moments, Nanos, Outcome, Sample};
use tokio::runtime::{LocalOptions, LocalRuntime};
use tokio::task::JoinSet;

use crate::client::ClientConfig;
use crate::error::RunError;
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
    runtime: &LocalRuntime,
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
        let mut at_work = JoinSet::new();
        for user in users(&worker) {
            at_work.spawn_local(user);
        }
        while let Some(user) = at_work.join_next().await {
            // A defect of ours. The server is cleaned up and the rest is kept all the same.
            if let Err(error) = user {
                stage.break_up(format!("a user of the run was lost: {error}"));
            }
        }
    };
    let beat = || worker.vitals.beat(&worker.recorder);
    runtime.block_on(watchdog.guard(&stage.cancel, beat, all_users));
}

/// The event loop of one thread.
pub(crate) fn runtime() -> Result<LocalRuntime, RunError> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build_local(LocalOptions::default())
        .map_err(|error| RunError::Local(format!("starting the event loop failed: {error}")))
}
