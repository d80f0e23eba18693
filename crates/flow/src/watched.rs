//! A state that a thread changes while another one waits.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::FlowError;
use crate::sink::locked;

/// A state, and the announcement of its changes.
#[derive(Debug, Default)]
pub(crate) struct WatchedState<S> {
    state: Mutex<S>,
    changed: Condvar,
}

impl<S> WatchedState<S> {
    pub(crate) fn read(&self) -> MutexGuard<'_, S> {
        locked(&self.state)
    }

    pub(crate) fn change(&self, state: S) {
        *self.read() = state;
        self.announce();
    }

    /// Announces a change of this, or of the fields beside it.
    pub(crate) fn announce(&self) {
        self.changed.notify_all();
    }

    /// Waits until `find` returns something; it is called after each change.
    pub(crate) fn wait<T>(
        &self,
        patience: Duration,
        what: &str,
        mut find: impl FnMut(&S) -> Option<T>,
    ) -> Result<T, FlowError> {
        let end = Instant::now() + patience;
        let mut state = self.read();
        loop {
            if let Some(found) = find(&state) {
                return Ok(found);
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(FlowError::TimedOut {
                    what: what.to_owned(),
                    seconds: patience.as_secs_f64(),
                });
            }
            let waited = self.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}
