//! The source: requests flows of a sink, and sends them after the agreement.

mod busy_waiting;
mod control;
mod counters;
mod datagrams;
#[cfg(test)]
mod gaps;
mod open;
mod plan;
mod readings;
mod sender;
mod sending;
mod stream;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

pub use counters::PacingError;
pub use plan::{FlowOptions, FlowPlan, SourcePlan};
pub use readings::{FlowReading, LoadReading, LoadTotals};

use crate::sink::locked;
use crate::stability::{StabilityRule, StabilityWatch};
use crate::watched::WatchedState;
use crate::{FlowError, SharedToken};
use counters::PacingHistogram;

/// Readings that are kept until they are taken: more than an hour.
const MOST_READINGS: usize = 4096;

/// A source to start.
#[derive(Debug)]
pub struct TrafficSource;

/// Progress of a source.
#[derive(Debug, Default)]
enum SourceState {
    #[default]
    Preparing,
    Running,
    Ended(Box<Result<LoadTotals, FlowError>>),
}

/// State shared by the threads of a source and its user.
#[derive(Debug, Default)]
struct SourceShared {
    /// Progress. It also announces changes of the fields beside it.
    state: WatchedState<SourceState>,
    readings: Mutex<VecDeque<LoadReading>>,
    /// The last requested reading.
    requested: Mutex<Option<LoadReading>>,
    should_stop: AtomicBool,
    wants_reading: AtomicBool,
    pacing: Mutex<Vec<Arc<PacingHistogram>>>,
}

/// A running source. It stops when this is dropped.
#[derive(Debug)]
pub struct SourceHandle {
    shared: Arc<SourceShared>,
    control: Option<JoinHandle<()>>,
}

impl TrafficSource {
    /// Starts a source. It connects, requests flows, and begins to send when the sink has agreed;
    /// [`SourceHandle::ready`] waits for that.
    ///
    /// # Errors
    /// The plan is impossible or a thread cannot be started.
    pub fn start(plan: SourcePlan, token: SharedToken) -> Result<SourceHandle, FlowError> {
        let groups = plan.groups()?;
        let shared = Arc::<SourceShared>::default();
        let for_thread = Arc::clone(&shared);
        let thread = thread::Builder::new().name("traffic-control".to_owned());
        let control = thread
            .spawn(move || {
                let ended = control::run(plan, groups, &token, &for_thread);
                for_thread.state.change(SourceState::Ended(Box::new(ended)));
            })
            .map_err(FlowError::system("start a thread"))?;
        Ok(SourceHandle {
            shared,
            control: Some(control),
        })
    }
}

impl SourceHandle {
    /// Waits until the sink has agreed and sending has begun.
    ///
    /// # Errors
    /// The sink refuses or cannot be reached, or `patience` is over.
    pub fn ready(&self, patience: Duration) -> Result<(), FlowError> {
        let (state, what) = (&self.shared.state, "the sink did not agree");
        state.wait(patience, what, |state| match state {
            SourceState::Preparing => None,
            SourceState::Running => Some(Ok(())),
            SourceState::Ended(ended) => Some(ended.as_ref().clone().map(|_| ())),
        })?
    }

    /// True while flows are sending or being prepared.
    pub fn is_active(&self) -> bool {
        !matches!(*self.shared.state.read(), SourceState::Ended(_))
    }

    /// Readings since the last call, one for each second.
    pub fn readings(&self) -> Vec<LoadReading> {
        locked(&self.shared.readings).drain(..).collect()
    }

    /// A reading of this moment: it covers the time since the last full second.
    ///
    /// # Errors
    /// The source has ended, or no reading arrives within `patience`.
    pub fn reading_now(&self, patience: Duration) -> Result<LoadReading, FlowError> {
        let shared = &self.shared;
        locked(&shared.requested).take();
        shared.wants_reading.store(true, Ordering::Relaxed);
        let what = "the sink did not report";
        shared.state.wait(patience, what, |state| match state {
            SourceState::Ended(_) => {
                let ended = "the source has ended".to_owned();
                Some(Err(FlowError::ControlLost(ended)))
            }
            _ => locked(&shared.requested).take().map(Ok),
        })?
    }

    /// Pacing errors until now.
    pub fn pacing(&self) -> PacingError {
        PacingHistogram::summary(&locked(&self.shared.pacing))
    }

    /// Waits until the load is stable (see [`crate::stability`]); returns the readings since the
    /// last call of [`Self::readings`].
    ///
    /// # Errors
    /// The load is not stable within the time limit of the rule, or the source ends before.
    pub fn wait_until_stable(&self, rule: StabilityRule) -> Result<Vec<LoadReading>, FlowError> {
        let mut watch = StabilityWatch::new(rule);
        let mut seen = Vec::new();
        let shared = &self.shared;
        let stable = shared.state.wait(rule.patience, "", |state| {
            for reading in locked(&shared.readings).drain(..) {
                let is_stable = watch.push(reading.received_bytes_per_second());
                seen.push(reading);
                if is_stable {
                    return Some(Ok(()));
                }
            }
            match state {
                SourceState::Ended(ended) => Some(Err(match ended.as_ref() {
                    Err(error) => error.clone(),
                    Ok(totals) => totals.failure.clone().unwrap_or_else(|| {
                        let early = "the background load ended before it was stable";
                        FlowError::Settings(early.to_owned())
                    }),
                })),
                _ => None,
            }
        });
        match stable {
            Ok(ended) => ended.map(|()| seen),
            Err(FlowError::TimedOut { .. }) => Err(watch.unstable().into()),
            Err(error) => Err(error),
        }
    }

    /// Waits until all flows have ended by themselves.
    ///
    /// # Errors
    /// As for [`Self::stop`]; or `patience` is over.
    pub fn finish(self, patience: Duration) -> Result<LoadTotals, FlowError> {
        let (state, what) = (&self.shared.state, "the flows did not end");
        state.wait(patience, what, |state| match state {
            SourceState::Ended(ended) => Some(ended.as_ref().clone()),
            _ => None,
        })?
    }

    /// Has all flows end soon; [`SourceHandle::stop`] waits for that.
    pub fn ask_to_stop(&self) {
        self.shared.should_stop.store(true, Ordering::Relaxed);
    }

    /// Stops all flows and returns their totals.
    ///
    /// # Errors
    /// Nothing was ever sent, because the sink could not be reached or refused.
    pub fn stop(self) -> Result<LoadTotals, FlowError> {
        self.ask_to_stop();
        self.finish(control::STOPPING)
    }
}

impl Drop for SourceHandle {
    fn drop(&mut self) {
        self.ask_to_stop();
        if let Some(control) = self.control.take() {
            // A panic of that thread has been printed.
            let _ = control.join();
        }
    }
}
